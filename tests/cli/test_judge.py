"""`snapcell judge`: build once, run many, and what untrusted programs cannot do to each other or to the verdict."""
import glob
import json
import os
import random
import signal
import subprocess
import time

import pytest

ADD = "#include <stdio.h>\nint main(void) { long a, b; scanf(\"%ld %ld\", &a, &b); printf(\"%ld\\n\", a + b); }\n"


@pytest.fixture
def judge(cli, tmp_path):
    """Runs a task: the report, after checking that exit status and verdict agree."""

    def run(task, *options):
        path = tmp_path / "task.json"
        path.write_text(json.dumps(task))
        done = cli("judge", *cli.accept, str(path), "--json", *options)
        assert done.stderr == b"", done.stderr
        report = json.loads(done.stdout)
        expected = {"accepted": 0, "sandbox_error": 125}.get(report["verdict"], 1)
        assert done.returncode == expected
        assert len(report["tests"]) == len(task["tests"]) == report["summary"]["tests"]
        return report

    return run


@pytest.fixture
def over_memory(cli):
    """How a program ends that wants too much: where only single processes can be limited, by its own failed allocation."""
    return "runtime_error" if "memory" in "".join(cli.accept) else "memory_limit"


def verdicts(report):
    return [test["verdict"] for test in report["tests"]]


def compiled(source, *flags, **more):
    """A task whose build is C source, run as /build/a.out."""
    return {"build": {"command": ["gcc", "-O2", "-o", "a.out", "a.c", *flags], "files": [{"path": "a.c", "content": source}],
                      "outputs": ["a.out"], "limits": {"wall_ms": 30000}},
            "run": {"command": ["/build/a.out"], "limits": {"wall_ms": 2000, "memory_bytes": 64 << 20}}, **more}


def python(source, **more):
    return {"run": {"language": "python", "code": source, "limits": {"wall_ms": 5000, "memory_bytes": 128 << 20}}, **more}


# ---- build once, run many ----

def test_c(judge):
    report = judge(compiled(ADD, tests=[{"name": "small", "stdin": "1 2\n", "expected": "3\n"},
                                        {"name": "large", "stdin": "4000000000 1\n", "expected": "4000000001\n"},
                                        {"name": "wrong", "stdin": "1 1\n", "expected": "3\n"}]))
    assert report["verdict"] == "wrong_answer"
    assert verdicts(report) == ["accepted", "accepted", "wrong_answer"]
    assert [test["name"] for test in report["tests"]] == ["small", "large", "wrong"]
    assert report["tests"][2]["message"] == "the output differs in line 1"
    assert report["build"]["verdict"] == "accepted"
    assert [output["path"] for output in report["build"]["outputs"]] == ["a.out"]
    assert report["summary"]["accepted"] == 2 and report["summary"]["failed"] == 1
    assert "stdout" not in report["tests"][0]


def test_build_error(judge):
    report = judge(compiled("int main(void) { return x; }\n", tests=[{}, {}]))
    assert report["verdict"] == report["build"]["verdict"] == "build_error"
    assert "undeclared" in report["build"]["stderr"]
    assert verdicts(report) == ["skipped", "skipped"]


@pytest.mark.parametrize("script, why", [("true", "left none of its outputs"),
                                         ("head -c 2000000 /dev/zero > a.out", "pass the limits on artifacts"),
                                         ("ln -s /etc/passwd a.out", "left none of its outputs"),
                                         ("sleep 60", "wall-clock limit")])
def test_builds_that_leave_nothing_good(judge, script, why):
    report = judge({"build": {"language": "bash", "code": script, "outputs": ["a.out"],
                              "limits": {"wall_ms": 1000, "artifacts_bytes": 1000000}},
                    "run": {"command": ["/build/a.out"]}, "tests": [{}]})
    assert report["verdict"] == "build_error"
    assert why in report["build"]["message"]
    if "ln -s" in script:
        assert report["build"]["skipped"] == [{"path": "a.out", "why": "symlink"}]


def test_many_outputs(judge):
    script = "mkdir -p lib/deep; echo one > lib/a; echo two > lib/deep/b; echo no > other\n" \
             "printf '#!/bin/sh\\ncat /build/lib/a /build/lib/deep/b; ls /build' > run; chmod 700 run"
    report = judge({"build": {"language": "bash", "code": script, "outputs": ["run", "lib/**"]},
                    "run": {"command": ["/build/run"]}, "tests": [{"expected": "one\ntwo\nlib\nrun\n"}]})
    assert verdicts(report) == ["accepted"], report


@pytest.mark.skipif(not os.path.exists("/usr/bin/javac"), reason="no /usr/bin/javac here")
def test_java(judge):
    source = "import java.util.*; class Add { public static void main(String[] a) { Scanner s = new Scanner(System.in);" \
             " System.out.println(s.nextInt() + s.nextInt()); } }"
    limits = {"wall_ms": 30000, "memory_bytes": 1 << 30, "cpus": 2}
    report = judge({"build": {"command": ["javac", "Add.java"], "files": [{"path": "Add.java", "content": source}],
                              "outputs": ["*.class"], "limits": limits},
                    "run": {"command": ["java", "-Xmx256m", "-cp", "/build", "Add"], "limits": limits},
                    "tests": [{"stdin": "1 2", "expected": "3\n"}, {"stdin": "5 6", "expected": "11\n"}]})
    assert verdicts(report) == ["accepted", "accepted"], report


def test_without_a_build(judge):
    report = judge(python("import sys; print(sum(map(int, sys.stdin.read().split())))",
                          tests=[{"stdin": "1 2 3", "expected": "6\n"}, {"stdin": "", "expected": "0\n"}, {"expected": "0\n"}]))
    assert report["build"] is None
    assert verdicts(report) == ["accepted"] * 3


# ---- what tests bring ----

def test_files_bytes_and_arguments(judge, tmp_path):
    (tmp_path / "in").write_bytes(bytes(range(256)) * 5000)
    (tmp_path / "out").write_bytes(bytes(range(256)) * 5000)
    echo = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()); sys.stdout.write(' '.join(sys.argv[1:]))"
    task = python(echo, tests=[{"stdin_file": str(tmp_path / "in"), "expected_file": str(tmp_path / "out")},
                               {"stdin_b64": "/wAK", "expected_b64": "/wAK"},
                               {"args": ["b", "c d"], "expected": "a b c d"},
                               {"expected": "a"}])
    task["run"]["limits"]["stdout_bytes"] = 4 << 20
    assert verdicts(judge(task)) == ["accepted", "accepted", "wrong_answer", "wrong_answer"]
    task["run"]["args"] = ["a"]
    assert verdicts(judge(task)) == ["wrong_answer", "wrong_answer", "accepted", "accepted"]


def test_ways_to_compare(judge):
    task = python("print('1 2  '); print()", tests=[{"expected": "1 2\n"}, {"expected": "1 2\n", "compare": "trimmed"},
                                                    {"expected": "1 2  \n\n", "compare": "exact"},
                                                    {"expected": "1 3\n", "compare": "trimmed"},
                                                    {"expected": "no", "compare": "none"}])
    assert verdicts(judge(task)) == ["presentation_error", "accepted", "accepted", "wrong_answer", "accepted"]


def test_limits_of_one_test(judge, over_memory):
    hog = "import sys; x = bytearray(int(sys.argv[1]) << 20); x[::4096] = b'x' * len(x[::4096]); print('done')"
    report = judge(python(hog, tests=[{"args": ["10"]}, {"args": ["100"], "limits": {"memory_bytes": 64 << 20}},
                                      {"args": ["60"]}, {"args": ["1"]}]))
    assert verdicts(report) == ["accepted", over_memory, "accepted", "accepted"]
    if over_memory == "memory_limit":
        assert report["tests"][2]["memory_peak_bytes"] > report["tests"][3]["memory_peak_bytes"] + (30 << 20)


def test_shown_output_is_bounded(judge):
    report = judge(python("import sys; print('o' * 50); print('e' * 50, file=sys.stderr)", tests=[{}], output_bytes=10))
    assert report["tests"][0]["stdout"] == "o" * 10 and report["tests"][0]["stderr"] == "e" * 10


# ---- verdicts ----

VERDICTS = [
    ("return 0;", "accepted"),
    ("return 3;", "runtime_error"),
    ("raise(SIGSEGV);", "runtime_error"),
    ("for (;;);", "time_limit"),
    ("pause();", "time_limit"),
    ("for (size_t n = 1 << 20;; ) memset(malloc(n), 1, n);", "over memory"),
    ("for (;;) puts(\"flood\");", "output_limit"),
    ("for (;;) fork();", "time_limit"),
]


def test_verdicts(judge, over_memory):
    cases = "\n".join("case %d: { %s } break;" % (i, code) for i, (code, _) in enumerate(VERDICTS))
    source = "#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n" \
             "int main(int argc, char **argv) { switch (atoi(argv[1])) { %s } return 0; }\n" % cases
    # Only what never ends has little time: a slow machine must not make the others slow verdicts.
    task = compiled(source, "-w", tests=[{"args": [str(i)], "limits": {"wall_ms": 700 if verdict == "time_limit" else 30000}}
                                         for i, (_, verdict) in enumerate(VERDICTS)])
    task["run"]["limits"].update(tasks=16)
    task["run"]["overflow"] = "end"
    report = judge(task)
    wanted = [over_memory if verdict == "over memory" else verdict for _, verdict in VERDICTS]
    assert verdicts(report) == wanted, report
    assert report["tests"][1]["exit_code"] == 3
    assert report["tests"][2]["signal_name"] == "SIGSEGV"


def test_a_flood_that_is_cut_is_no_answer(judge):
    task = compiled("#include <stdio.h>\nint main(void) { for (int i = 0; i < 100000; i++) puts(\"x\"); }\n",
                    tests=[{"expected": "x\n" * 50}])
    task["run"]["limits"]["stdout_bytes"] = 100
    assert verdicts(judge(task)) == ["output_limit"]


def test_processor_time_to_the_millisecond(judge):
    burn = "#include <time.h>\n#include <stdlib.h>\n" \
           "int main(int n, char **v) { while (clock() < atol(v[1]) * CLOCKS_PER_SEC / 1000); }\n"
    report = judge(compiled(burn, tests=[{"args": ["100"]}, {"args": ["150"]}]))
    first, second = (test["cpu_ms"] for test in report["tests"])
    assert 100 <= first < 140 and 150 <= second < 190, (first, second)


def test_stop_on_first_failure(judge):
    task = python("print(input())", tests=[{"stdin": text, "expected": "1\n"} for text in ("1", "2", "1")])
    assert verdicts(judge(task)) == ["accepted", "wrong_answer", "accepted"]
    task["stop_on_first_failure"] = True
    report = judge(task)
    assert verdicts(report) == ["accepted", "wrong_answer", "skipped"]
    assert report["summary"]["skipped"] == 1 and report["verdict"] == "wrong_answer"


def test_pinned(judge):
    ask = python("import os; print(len(os.sched_getaffinity(0)))", tests=[{}, {"args": ["x"]}], output_bytes=10)
    report = judge(dict(ask, pin=True))
    assert [test["stdout"] for test in report["tests"]] == ["1\n", "1\n"]
    mine = sorted(os.sched_getaffinity(0))
    report = judge(dict(ask, pin=",".join(map(str, mine))))
    assert [test["stdout"] for test in report["tests"]] == ["%d\n" % len(mine)] * 2


def test_lanes_come_to_the_same(judge):
    tests = [{"name": str(i), "stdin": "%d 1" % i, "expected": "%d\n" % (i + 1 + (i % 7 == 0))} for i in range(40)]
    one = judge(compiled(ADD, tests=tests))
    four = judge(compiled(ADD, tests=tests), "--jobs", "4")
    assert verdicts(one) == verdicts(four) == ["wrong_answer" if i % 7 == 0 else "accepted" for i in range(40)]


# ---- checkers ----

CHECKER = """
import sys
source, output, expected = (open(path).read() for path in sys.argv[1:])
assert sorted(sys.argv[1:]) == ["expected", "input", "output"], sys.argv
print("looked at " + output.strip(), file=sys.stderr)
if output == "crash":
    sys.exit(3)
if output == "loop":
    while True: pass
if output == "late":
    sys.exit(2)
sys.exit(0 if abs(float(output) - float(expected)) < 1e-6 and source == "in" else 1)
"""


def test_checker(judge):
    outputs = ["0.3333333333", "0.34", "late", "crash", "loop"]
    report = judge(python("import sys; sys.stdin.read(); print(end=sys.argv[1])",
                          tests=[{"stdin": "in", "args": [x], "expected": "0.33333333"} for x in outputs],
                          checker={"language": "python", "code": CHECKER, "limits": {"wall_ms": 1500}}))
    assert verdicts(report) == ["accepted", "wrong_answer", "presentation_error", "checker_error", "checker_error"], report
    assert report["tests"][1]["message"] == "looked at 0.34"


def test_a_checker_is_not_asked_about_a_crash(judge):
    report = judge(python("print(1/0)", tests=[{}], checker={"command": ["true"]}))
    assert verdicts(report) == ["runtime_error"]


def test_output_that_does_not_fit_the_checkers_cell(judge):
    report = judge(python("print('x' * 900000)", tests=[{}],
                          checker={"command": ["true"], "limits": {"disk_bytes": 65536}}))
    assert verdicts(report) == ["checker_error"]
    assert "do not fit" in report["tests"][0]["message"]


# ---- what programs cannot do ----

def test_what_was_built_cannot_be_changed(judge):
    attack = """
import os, sys
def attempt(what, *args):
    try:
        what(*args)
        print("done:", what.__name__)
    except OSError as e:
        print(e.errno)
attempt(open, "/build/attack.py", "w")
attempt(open, "/build/new", "w")
attempt(os.unlink, "/build/attack.py")
attempt(os.rename, "/build/attack.py", "/build/x")
attempt(os.chmod, "/build/attack.py", 0o777)
attempt(os.mkdir, "/build/d")
attempt(os.symlink, "/etc", "/build/l")
attempt(os.truncate, "/build/attack.py", 0)
print(sorted(os.listdir("/build")))
"""
    report = judge({"build": {"command": ["true"], "files": [{"path": "attack.py", "content": attack, "mode": "0777"}],
                              "outputs": ["attack.py"]},
                    "run": {"command": ["python3", "/build/attack.py"]}, "tests": [{}, {}], "output_bytes": 2000})
    for test in report["tests"]:
        lines = test["stdout"].splitlines()
        assert set(lines[:-1]) <= {"30", "13", "1"} and "30" in lines, test["stdout"]
        assert len(lines) == 9 and lines[-1] == "['attack.py']"


def test_tests_do_not_see_each_other(judge):
    leave = """
import glob, os
left = [p for p in ("/home/user/mark", "/tmp/mark", "/dev/shm/mark") if os.path.exists(p)]
for p in ("/home/user/mark", "/tmp/mark", "/dev/shm/mark"):
    open(p, "w").write("x")
if os.fork() == 0:
    os.setsid()
    os.execvp("sleep", ["sleep", "1000"])
others = [p for p in glob.glob("/proc/[0-9]*/cmdline") if b"sleep" in open(p, "rb").read()]
print(left, len(others) <= 1)
"""
    report = judge(python(leave, tests=[{"expected": "[] True\n"}] * 6))
    assert verdicts(report) == ["accepted"] * 6, report


def test_what_is_expected_is_not_in_the_cell(judge):
    secret = "%032x" % random.getrandbits(128)
    look = """
import os, sys
seen = []
def note(path):
    try:
        data = open(path, "rb").read(1 << 20)
    except OSError:
        return
    if bytes.fromhex(sys.argv[1])[::-1].hex().encode() in data:
        seen.append(path)
for top in ("/home", "/tmp", "/build", "/etc", "/run", "/dev/shm"):
    for folder, _, names in os.walk(top):
        for name in names:
            note(os.path.join(folder, name))
for process in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline", "mountinfo", "comm", "cgroup"):
        note("/proc/%s/%s" % (process, name))
print(seen)
"""
    # The program knows what to look for only in a form that it does not itself hold.
    hint = bytes.fromhex(secret)[::-1].hex()
    report = judge(python(look, tests=[{"args": [hint], "expected": secret, "compare": "none"}], output_bytes=2000))
    assert report["tests"][0]["stdout"] == "[]\n", report


def start(cli, folder, task):
    """A judge under way, which keeps what it builds in `folder`/disk."""
    (folder / "disk").mkdir()
    (folder / "task.json").write_text(json.dumps(task))
    return cli.popen("judge", *cli.accept, "task.json", "--json", stdout=subprocess.PIPE,
                     env=dict(os.environ, SNAPCELL_DISK_DIR=str(folder / "disk")))


def traces(pid, folder):
    """What it has left."""
    groups = glob.glob("/sys/fs/cgroup/**/snapcell-%d-*" % pid, recursive=True)
    mounts = [line for line in open("/proc/self/mountinfo") if "snapcell-judge" in line]
    return groups + os.listdir(folder / "disk") + mounts


def test_two_hundred_tests_leave_nothing(cli, tmp_path):
    tests = [{"stdin": "%d %d" % (i, i), "expected": "%d\n" % (2 * i)} for i in range(200)]
    running = start(cli, tmp_path, compiled(ADD, tests=tests))
    out, _ = running.communicate(timeout=60)
    assert json.loads(out)["summary"]["accepted"] == 200
    assert traces(running.pid, tmp_path) == []


def test_cancelled(cli, tmp_path):
    running = start(cli, tmp_path, compiled("int main(void) { for (;;); }", tests=[{}] * 3))
    time.sleep(1)
    begun = time.monotonic()
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=20)
    assert traces(running.pid, tmp_path) == []
    assert time.monotonic() - begun < 5
    assert running.returncode == 130
    assert verdicts(json.loads(out))[-1] == "skipped"


# ---- the command line ----

def test_lines_for_people(cli, tmp_path):
    (tmp_path / "task.json").write_text(json.dumps(python("print(3)", tests=[
        {"name": "good", "expected": "3\n"}, {"name": "bad\nline", "expected": "4\n"}])))
    done = cli("judge", *cli.accept, "task.json")
    lines = done.stdout.decode().splitlines()
    assert (done.returncode, len(lines)) == (1, 3)
    assert lines[0].split()[:2] == ["accepted", "good"]
    assert lines[1].startswith("wrong_answer") and "bad\\x0aline" in lines[1] and lines[1].endswith("differs in line 1")
    assert lines[2] == "wrong_answer: 1 of 2 tests accepted"


def test_a_broken_build_for_people(cli, tmp_path):
    (tmp_path / "task.json").write_text(json.dumps(compiled("int main(void) { return x; }", tests=[{}])))
    done = cli("judge", *cli.accept, "task.json")
    assert done.returncode == 1
    assert b"undeclared" in done.stderr and b"snapcell: build: " in done.stderr
    assert done.stdout == b"build_error: 0 of 1 tests accepted\n"


@pytest.mark.parametrize("task, said", [
    ("{", "request: line 1"),
    ('{"tests": [{}]}', "run: missing"),
    ('{"run": {"command": ["true"]}, "tests": [{"limits": {"wall": 1}}]}', "tests[0].limits.wall: unknown field"),
    ('{"run": {"command": ["true"]}, "tests": []}', "tests: none"),
])
def test_bad_tasks(usage, tmp_path, task, said):
    (tmp_path / "task.json").write_text(task)
    done = usage("judge", "task.json")
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr.decode()


def test_bad_usage(usage, tmp_path):
    (tmp_path / "task.json").write_text('{"run": {"command": ["true"]}, "tests": [{}]}')
    for words, said in [([], "needs one operand"), (["a", "b"], "needs one operand"), (["nowhere.json"], "No such file"),
                        (["task.json", "--jobs", "0"], "--jobs 0: allowed 1 to 64"),
                        (["task.json", "--wall", "1s"], "no such option")]:
        done = usage("judge", *words)
        assert done.returncode == 2 and said in done.stderr.decode(), done.stderr
