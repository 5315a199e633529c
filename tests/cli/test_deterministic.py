"""`--deterministic`: byte for byte the same, run for run, and something else with another seed (docs/deterministic.md)."""
import json
import os

import pytest

# What follows from the seed.
SEEDED = {
    "hash-order": ("python", "print(hash('a'), {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}, hash(b'x'))"),
    "random": ("python", "import random; print(random.random(), random.sample(range(99), 9), random.SystemRandom().random())"),
    "uuid": ("python", "import uuid; print(uuid.uuid4(), uuid.uuid4(), uuid.uuid1())"),
    "tempfile": ("python", "import tempfile; print(tempfile.mktemp(), tempfile.mkdtemp(), tempfile.NamedTemporaryFile().name)"),
    "secrets": ("python", "import os, secrets; print(secrets.token_hex(40), os.urandom(33), os.getrandom(7))"),
    "processes": ("python", "import multiprocessing, random, uuid\ndef f(n): return n, str(uuid.uuid4())\n"
                            "for n in range(3):\n    with multiprocessing.Pool(1) as pool: print(pool.map(f, [n]))\nprint(uuid.uuid4())"),
    "fork": ("python", "import os\nprint(os.urandom(4).hex(), flush=True)\n"
                       "if not os.fork(): print('child', os.urandom(4).hex(), flush=True); os._exit(0)\n"
                       "os.wait(); print(os.urandom(4).hex())"),
    "math-random": ("node", "console.log(Math.random(), [1, 2, 3].map(() => Math.random()), require('vm').runInNewContext('Math.random()'))"),
    "bash-random": ("bash", "echo $RANDOM $RANDOM $SRANDOM; mktemp -u; bash -c 'echo $RANDOM'"),
}
# What is the same whatever the seed.
FIXED = {
    "wall-clock": ("python", "import time, datetime; print(time.time(), time.time_ns(), datetime.datetime.now(), datetime.date.today(), time.ctime())"),
    "sleep": ("python", "import time; a = time.time(); time.sleep(0.03); print(time.time() - a)"),
    "addresses": ("python", "print(object(), [object() for _ in range(5)], {object() for _ in range(9)})"),
    "listing": ("python", "import os\nfor n in range(40): open('f%d' % (n * 7 % 40), 'w').close()\nprint(os.listdir(), [e.name for e in os.scandir('/')])"),
    "identity": ("python", "import os, socket, time, locale\nprint(os.getpid(), os.getuid(), os.getgid(), socket.gethostname(), time.tzname, "
                           "locale.setlocale(locale.LC_ALL, ''), os.cpu_count(), os.sched_getaffinity(0), sorted(os.environ.items()))"),
    "date": ("node", "console.log(Date.now(), new Date().toString(), process.pid, require('os').cpus().length, require('os').hostname())"),
    "shell": ("bash", "echo $EPOCHREALTIME $EPOCHSECONDS $SECONDS $$ $BASHPID; date +%s.%N; nproc; printf '%(%F %T)T\\n' -1"),
    "perl": ("bash", "perl -e 'print time, chr(10)'"),
}
ALL = {**SEEDED, **FIXED}


@pytest.fixture
def output(cli):
    """What a program printed, once it has ended well in a cell of its own."""

    def run(program, *options):
        language, code = program
        done = cli.run("--json", *options, "--" + language, "-c", code)
        result = json.loads(done.stdout)
        assert (done.stderr, result["status"], result["stderr"]) == (b"", "ok", ""), result
        assert result["start"] == {"kind": "cold"}
        assert result["stdout"]
        return result["stdout"]

    return run


@pytest.mark.parametrize("name", sorted(ALL))
@pytest.mark.parametrize("mode", ["plain", "rich"])
def test_twice_the_same(output, name, mode):
    if name == "processes" and mode == "rich":
        name = "fork"  # children of a pool import the program's file, which rich code has not
    options = ("--deterministic=7", "--mode", mode)
    assert output(ALL[name], *options) == output(ALL[name], *options)


@pytest.mark.parametrize("name", sorted(SEEDED))
def test_another_seed_differs(output, name):
    assert len({output(SEEDED[name], "--deterministic=%d" % seed) for seed in (0, 1, 4294967294)}) == 3


@pytest.mark.parametrize("name", sorted(set(FIXED) - {"addresses", "identity"}))
def test_any_seed_is_the_same(output, name):
    assert output(FIXED[name], "--deterministic=1") == output(FIXED[name], "--deterministic=2")


def test_without_it_runs_differ(output):
    """The twins: none of this is so by itself."""
    for name in ("hash-order", "random", "math-random", "bash-random"):
        assert len({output(SEEDED[name]) for _ in range(3)}) > 1, name
    assert "2020" not in output(FIXED["wall-clock"])


def test_restricted(output):
    code = ("python", "import random, datetime\nprint(random.random(), hash('x'), datetime.datetime.now(), {'a', 'b', 'c', 'd', 'e', 'f'})")
    runs = [output(code, "--mode", "restricted", "--deterministic=%d" % seed) for seed in (3, 3, 4)]
    assert runs[0] == runs[1] != runs[2]
    assert "2020-01-01" in runs[0]


def test_numpy(output):
    code = ("python", "import numpy as np; print(np.random.rand(3), np.random.default_rng().random(3), np.random.randint(1000, size=4))")
    runs = [output(code, "--deterministic=%d" % seed) for seed in (3, 3, 4)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("start, seen", [("2021-05-06T07:08:09Z", "2021-05-06 07:08:09"), ("2021-05-06", "2021-05-06 00:00:00"),
                                         ("1620284889.25", "2021-05-06 07:08:09.250")])
def test_the_clock_begins_where_it_is_told(output, start, seen):
    options = ("--deterministic", "--clock-start", start)
    assert output(("python", "import datetime; print(datetime.datetime.now())"), *options).startswith(seen)
    assert output(("node", "console.log(new Date().toISOString().replace('T', ' '))"), *options).startswith(seen)
    assert output(("bash", "date '+%F %T.%N'"), *options).startswith(seen)


def test_the_clock_goes_on(output):
    """By a microsecond with each reading, so that no loop waits for ever, and by what was slept."""
    code = "import time\na = time.time()\nwhile time.time() < a + 0.2: pass\nb = time.time_ns(); time.sleep(0.5); print(time.time_ns() - b)"
    assert int(output(("python", code), "--deterministic")) == 500001000


def test_monotonic_clocks_are_the_kernels(output):
    code = "import time\na = time.monotonic(); time.sleep(0.2); print(0.2 <= time.monotonic() - a < 20, time.monotonic() < 60)"
    assert output(("python", code), "--deterministic") == "True True\n"


def test_processors_are_as_many_as_asked(output):
    code = "import os; print(os.cpu_count(), len(os.sched_getaffinity(0)), os.environ['OMP_NUM_THREADS'])"
    for asked, told in (("1", "1 1 1"), ("3", "3 3 3"), ("0.5", "1 1 1"), ("12", "12 12 12")):
        assert output(("python", code), "--deterministic", "--cpus", asked) == told + "\n"
    own = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); print(len(os.sched_getaffinity(0)))"
    assert output(("python", own), "--deterministic", "--cpus", "3") == "1\n"


def test_what_the_caller_sets_is_joined_or_wins(output):
    code = "import os; print(os.environ['LD_PRELOAD'], os.environ['NODE_OPTIONS'], os.environ['TZ'], hash('a') == 4644417185603328019)"
    said = output(("python", code), "--deterministic", "--env", "NODE_OPTIONS=--no-warnings", "--env", "TZ=Asia/Tokyo",
                  "--env", "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libm.so.6").split()
    assert said[0].endswith(":/usr/lib/x86_64-linux-gnu/libm.so.6") and said[0] != said[0].rpartition(":")[2]
    assert said[1].startswith("--require=") and said[2:4] == ["--no-warnings", "Asia/Tokyo"]
    assert output(("node", "console.log(Math.random())"), "--deterministic", "--env", "NODE_OPTIONS=--no-warnings") == \
        output(("node", "console.log(Math.random())"), "--deterministic")


def test_native_programs_have_the_clock(cli, tmp_path):
    source = tmp_path / "when.c"
    source.write_text("#include <stdio.h>\n#include <stdlib.h>\n#include <sys/time.h>\n#include <time.h>\nint main(void) { struct timeval v; "
                      "gettimeofday(&v, 0); printf(\"%ld %ld %ld\\n\", (long)time(0), (long)v.tv_sec, (long)v.tv_usec); srand(time(0)); "
                      "printf(\"%d %p\\n\", rand(), (void *)&v); }\n")
    runs = [cli.run("--deterministic", "--file", str(source), "--", "bash", "-c", "gcc -w when.c -o when && ./when").stdout for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0].startswith(b"1577836800 1577836800 0\n")


if os.geteuid() == 0:  # others have no disk image
    def test_disk_image(output):
        options = ("--disk-backing", "image", "--disk", "32M")
        listed = [output(FIXED["listing"], "--deterministic", *options) for _ in range(3)]
        assert len(set(listed)) == 1
        assert len({output(FIXED["listing"], *options) for _ in range(3)}) > 1


def test_a_judges_runs(cli, tmp_path):
    task = tmp_path / "task.json"
    run = {"language": "python", "code": "import random, time; print(random.random(), time.time())", "deterministic": {"seed": 5, "clock_start": 86400}}
    task.write_text(json.dumps({"run": run, "tests": [{"expected": ""}, {"expected": ""}], "output_bytes": 200}))
    report = json.loads(cli("judge", *cli.accept, "--json", str(task)).stdout)
    outputs = [test["stdout"] for test in report["tests"]]
    assert outputs[0] == outputs[1]
    assert " 86400.0" in outputs[0]


def test_never_warm(keepers):
    """A parked cell's interpreter has chosen its seeds: asked for ever so often, such a run is cold."""
    keeper = keepers()
    line = ("run", "--warm", "--json", *keeper.cli.accept, "--mode", "rich", "--deterministic=2", "--python", "-c", "import random; print(random.random())")
    results = [json.loads(keeper.cli(*line, env=keeper.env).stdout) for _ in range(4)]
    assert [result["start"] for result in results] == [{"kind": "cold"}] * 4
    assert len({result["stdout"] for result in results}) == 1


def test_a_session(keepers):
    """All of a session's runs, in their order."""
    keeper = keepers()

    def told():
        session = keeper.cli("session", "start", *keeper.cli.accept, "--deterministic=9", env=keeper.env).stdout.decode().strip()
        said = [keeper.cli("session", "run", session, "--python", "-c", code, env=keeper.env).stdout
                for code in ("import random, time; print(random.random())", "print(random.random(), time.time(), hash('s'))")]
        said.append(keeper.cli("session", "exec", session, "--", "bash", "-c", "echo $RANDOM; date", env=keeper.env).stdout)
        assert keeper.cli("session", "end", session, env=keeper.env).returncode == 0
        assert all(said), said
        return said
    assert told() == told()


@pytest.mark.parametrize("options, said", [
    (("--deterministic=4294967296",), "--deterministic 4294967296: allowed: on, off, or a seed from 0 to 4294967295"),
    (("--deterministic=-1",), "--deterministic -1: allowed: on, off, or a seed"),
    (("--deterministic=",), "--deterministic \"\": allowed: on, off, or a seed"),
    (("--clock-start", "2020-01-01"), "--clock-start allowed only together with deterministic"),
    (("--deterministic", "--clock-start", "2020-02-30"), "--clock-start 2020-02-30: must be a time from 1970 to 2200"),
    (("--deterministic", "--clock-start", "1969-12-31"), "--clock-start 1969-12-31: must be a time"),
    (("--deterministic", "--clock-start", "2200-01-02"), "--clock-start 2200-01-02: must be a time"),
    (("--deterministic", "--clock-start", "7258118401"), "--clock-start 7258118401: must be a time"),
    (("--deterministic", "--clock-start", "2020-01-01T10:00"), "--clock-start 2020-01-01T10:00: must be a time"),
])
def test_what_is_refused(cli, options, said):
    done = cli.run(*options, "--", "true")
    assert done.returncode == 2
    assert said in done.stderr.decode()


def test_off(output):
    code = ("python", "import time; print(time.time() > 1600000000)")
    assert output(code, "--deterministic=5", "--deterministic=off") == "True\n"
