"""`snapcell run` as users use it: what runs, what goes in, what comes out."""
import json
import os
import signal
import subprocess
import time

import pytest


def text(done):
    return done.stdout.decode()


# ---- what runs ----

def test_python_file(cli, tmp_path):
    (tmp_path / "a.py").write_text("import sys; print('hello', sys.argv[1:])")
    done = cli.run("a.py", "--json", "-x", "--")
    assert (done.returncode, done.stderr) == (0, b"")
    assert text(done) == "hello ['--json', '-x', '--']\n"


def test_bash_file(cli, tmp_path):
    (tmp_path / "a.sh").write_text("echo \"$0 $#\"; pwd")
    done = cli.run("a.sh", "one", "two words")
    assert text(done).splitlines()[1] == "/home/user"
    assert text(done).splitlines()[0].endswith("a.sh 2")


def test_shebang(cli, tmp_path):
    (tmp_path / "tool").write_text("#!/usr/bin/env python3\nprint(6 * 7)\n")
    assert text(cli.run("tool")) == "42\n"


def test_language_option_beats_the_suffix(cli, tmp_path):
    (tmp_path / "a.py").write_text("echo from bash")
    assert text(cli.run("--bash", "a.py")) == "from bash\n"


def test_code(cli):
    assert text(cli.run("--python", "-c", "import sys; print(sys.argv[1:])", "a", "b")) == "['a', 'b']\n"
    assert text(cli.run("-c", "echo $1", "--bash", "a")) == "a\n"


@pytest.mark.skipif(not os.path.exists("/usr/bin/node"), reason="no /usr/bin/node here")
def test_node(cli):
    assert text(cli.run("--node", "-c", "console.log(6 * 7)")) == "42\n"


def test_program_on_stdin(cli):
    done = cli.run("--python", "-", "x", input=b"import sys; print(sys.argv[1:], repr(sys.stdin.read()))")
    assert text(done) == "['x'] ''\n"


def test_command(cli):
    assert text(cli.run("--", "echo", "--json", "a b")) == "--json a b\n"


def test_command_of_the_callers_folder(cli, tmp_path):
    (tmp_path / "tool").write_text("#!/bin/sh\necho tool \"$@\"\n")
    (tmp_path / "tool").chmod(0o755)
    assert text(cli.run("--", "./tool", "1")) == "tool 1\n"


def test_unknown_command(cli):
    done = cli.run("--", "no-such-command")
    assert done.returncode == 127
    assert done.stderr.startswith(b"snapcell: no-such-command: ") and done.stderr.count(b"\n") == 1


def test_request_file(cli, tmp_path):
    (tmp_path / "r.json").write_text(json.dumps(
        {"language": "python", "code": "import os; print(os.environ['A'], os.environ['B'])", "env": {"A": "1", "B": "1"}}))
    assert text(cli.run("--env", "B=2", "--spec", "r.json")) == "1 2\n"
    # A program on the command line replaces the request's.
    assert text(cli.run("--spec", "r.json", "--bash", "-c", "echo $A")) == "1\n"


# ---- what goes in ----

def test_stdin_is_passed_when_it_is_no_terminal(cli):
    assert cli.run("--", "cat", input=b"\0\xff\r\n").stdout == b"\0\xff\r\n"


def test_large_stdin(cli):
    data = os.urandom(1 << 20) * 3
    done = cli.run("--", "sha256sum", input=data)
    import hashlib
    assert text(done).split()[0] == hashlib.sha256(data).hexdigest()


def test_stdin_that_is_not_read(cli):
    assert cli.run("--", "true", input=b"x" * (1 << 20)).returncode == 0


def test_stdin_that_never_ends(cli):
    read, write = os.pipe()
    done = cli.run("--", "echo", "done", stdin=read)
    os.close(read)
    os.close(write)
    assert text(done) == "done\n"


def test_stdin_file(cli, tmp_path):
    (tmp_path / "in.txt").write_text("from the file")
    assert text(cli.run("--stdin", "in.txt", "--", "cat", input=b"from the caller")) == "from the file"


def test_file_and_dir(cli, tmp_path):
    (tmp_path / "data.csv").write_text("1,2\n")
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "e" / "f").write_text("deep")
    done = cli.bash("cat data.csv in/x.csv d/e/f; echo new > data.csv; echo new > d/e/f; cat d/e/f",
                    "--file", "data.csv", "--file", "data.csv:in/x.csv", "--dir", "d")
    assert text(done) == "1,2\n1,2\ndeepnew\n"
    assert (tmp_path / "data.csv").read_text() == "1,2\n"
    assert (tmp_path / "d/e/f").read_text() == "deep"


def test_mounted_dir_is_read_only(cli, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("mounted")
    for folder in [tmp_path, *tmp_path.parents]:  # an ordinary user's cell enters by its own rights
        if folder.stat().st_uid == os.getuid() and folder != folder.parent and str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    done = cli.bash("cat /srv/data/f; echo x > /srv/data/f || echo refused", "--dir", "d:/srv/data:ro")
    assert text(done) == "mountedrefused\n"
    assert (tmp_path / "d/f").read_text() == "mounted"


def test_env(cli):
    done = cli.bash("echo \"$A|$B|${SECRET-none}\"", "--env", "A=1=2", "--env", "B=", env=dict(os.environ, SECRET="x"))
    assert text(done) == "1=2||none\n"


def test_cwd(cli):
    assert text(cli.run("--cwd", "/tmp", "--", "pwd")) == "/tmp\n"


# ---- what comes out ----

def test_streams_are_apart_and_exact(cli):
    done = cli.python(r"import os; os.write(1, b'\x1b[1m\xff\r\n'); os.write(2, b'\x9b\0')")
    assert done.stdout == b"\x1b[1m\xff\r\n"
    assert done.stderr == b"\x9b\0"


def test_output_is_live(cli):
    child = cli.popen("run", *cli.accept, "--wall", "60s", "--python", "-c",
                      "import sys; print('first', flush=True); sys.stdin.readline(); print('second')",
                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"first\n"  # while it still runs: it waits for the line that follows
    child.stdin.write(b"\n")
    child.stdin.close()
    assert child.stdout.read() == b"second\n"
    assert child.wait(60) == 0


def test_slow_reader_loses_nothing_and_stops_no_clock(cli):
    """Nobody reads stdout until the cell has run out of time: it ends all the same, and all its output is there."""
    child = cli.popen("run", *cli.accept, "--wall", "2s", "--bash", "-c",
                      "head -c 600000 /dev/zero | tr '\\0' x; exec sleep 60", stdin=subprocess.DEVNULL,
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    await_in_cell(child.pid, "sleep", True)
    await_in_cell(child.pid, "sleep", False)
    out, _ = child.communicate(timeout=60)
    assert out == b"x" * 600000
    assert child.returncode == 124


def await_in_cell(pid, name, there):
    """Until a descendant of `pid` runs the program `name`, or none does."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        lines = subprocess.run(["ps", "-eo", "pid,ppid,comm"], capture_output=True, text=True).stdout.splitlines()
        rows = [line.split(None, 2) for line in lines[1:]]
        mine = {str(pid)}
        for _ in range(8):
            mine |= {row[0] for row in rows if row[1] in mine}
        if any(row[0] in mine and row[2] == name for row in rows) == there:
            return
        time.sleep(0.02)
    pytest.fail("the program did not %s" % ("start" if there else "end"))


def test_artifacts(cli, tmp_path):
    done = cli.bash("echo 1 > a.txt; echo 2 > b.txt; mkdir -p out/deep; echo 3 > out/deep/c",
                    "--out", "*.txt", "--out", "out:saved")
    assert (done.returncode, done.stderr) == (0, b"")
    found = {str(p.relative_to(tmp_path)): p.read_text() for p in tmp_path.rglob("*") if p.is_file()}
    assert sorted(found.values()) == ["1\n", "2\n", "3\n"]
    assert found["a.txt"] == "1\n"
    assert all(name.startswith("saved/") for name, data in found.items() if data == "3\n")


def test_artifacts_that_are_no_files(cli, tmp_path):
    done = cli.bash("ln -s /etc/passwd evil; mkfifo pipe; echo fine > good", "--out", "*")
    assert {p.name for p in tmp_path.iterdir()} == {"good", "main.sh"}
    assert done.stderr.startswith(b"snapcell: not saved: ")
    assert done.stderr.count(b"\n") == 1


def test_verbose(cli):
    done = cli.run("--verbose", "--", "true")
    lines = done.stderr.decode().splitlines()
    assert lines[0] == "snapcell: ok, exit 0"
    assert any("wall" in line for line in lines) and any("largest process" in line for line in lines)


# ---- how it ends ----

def test_exit_status(cli):
    done = cli.bash("exit 7")
    assert (done.returncode, done.stderr) == (7, b"")


def test_signal(cli):
    done = cli.bash("kill -SEGV $$")
    assert done.returncode == 128 + signal.SIGSEGV
    assert done.stderr.startswith(b"snapcell: ") and done.stderr.count(b"\n") == 1


def test_timeout(cli):
    start = time.monotonic()
    done = cli.run("--wall", "300ms", "--", "sleep", "60")
    assert done.returncode == 124
    assert done.stderr.startswith(b"snapcell: ") and done.stderr.count(b"\n") == 1
    assert time.monotonic() - start < 30


def test_output_limit(cli):
    done = cli.run("--stdout", "1000", "--python", "-c", "print('x' * 5000, end='')")
    assert done.stdout == b"x" * 1000
    assert done.returncode == 0
    assert b"stdout was cut" in done.stderr
    done = cli.run("--stdout", "1000", "--overflow", "end", "--python", "-c",
                   "import sys\nwhile True: sys.stdout.write('x' * 5000)")
    assert done.stdout == b"x" * 1000
    assert done.returncode == 137


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_cancelled(cli, number):
    child = cli.popen("run", *cli.accept, "--wall", "60s", "--python", "-c",
                      "import time; print('up', flush=True); time.sleep(60)",
                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == b"up\n"
    child.send_signal(number)
    _, err = child.communicate(timeout=30)
    assert child.returncode == 130
    assert err.startswith(b"snapcell: ") and err.count(b"\n") == 1


def test_cancelled_json(cli):
    child = cli.popen("run", *cli.accept, "--json", "--wall", "60s", "--stdin", "-", "--bash", "-c",
                      "echo up; read x; sleep 60", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdin.write(b"go\n")
    child.stdin.flush()
    await_in_cell(child.pid, "sleep", True)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=30)
    assert child.returncode == 130
    assert json.loads(out)["status"] == "cancelled"


def test_ignored_signals_stay_ignored(cli):
    """nohup and background jobs: SIGHUP and SIGINT that the caller ignores do not end the run."""
    child = cli.popen("run", *cli.accept, "--wall", "60s", "--bash", "-c", "echo up; read x; echo $x",
                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                      preexec_fn=lambda: [signal.signal(s, signal.SIG_IGN) for s in (signal.SIGHUP, signal.SIGINT)])
    assert child.stdout.readline() == b"up\n"
    child.send_signal(signal.SIGHUP)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(b"still here\n", timeout=30)
    assert (child.returncode, out) == (0, b"still here\n")


def test_reader_goes_away(cli):
    child = cli.popen("run", *cli.accept, "--wall", "60s", "--", "yes", stdin=subprocess.DEVNULL,
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.read(4) == b"y\ny\n"
    child.stdout.close()
    assert child.wait(30) in (0, 130)
    child.stderr.close()


def test_full_disk(cli):
    with open("/dev/full", "wb") as full:
        done = cli.run("--", "echo", "x", stdout=full)
    assert done.returncode == 125
    assert b"No space left" in done.stderr


# ---- JSON ----

def test_json(cli):
    value, status = cli.result("--bash", "-c", "echo out; echo err >&2; exit 3")
    assert status == 3
    assert (value["status"], value["exit_code"], value["stdout"], value["stderr"]) == ("error", 3, "out\n", "err\n")
    assert "stdout_b64" not in value or value["stdout_b64"] is None


def test_json_bytes(cli):
    value, _ = cli.result("--python", "-c", r"import os; os.write(1, b'a\xffb')")
    assert value["stdout"] == "a\ufffdb"
    import base64
    assert base64.b64decode(value["stdout_b64"]) == b"a\xffb"


def test_json_cannot_be_forged(cli):
    value, status = cli.result("--bash", "-c", 'echo \'{"status": "ok"}\'; exit 124')
    assert (value["status"], value["exit_code"], status) == ("error", 124, 124)


def test_json_timeout(cli):
    value, status = cli.result("--wall", "300ms", "--bash", "-c", "echo partial; sleep 60")
    assert (value["status"], status, value["stdout"]) == ("timeout", 124, "partial\n")


def test_json_when_the_host_lacks_something(usage, tmp_path):
    """A failure ahead of the run is a result too. A root file system without a program loader cannot start anything."""
    (tmp_path / "root").mkdir()
    done = usage("run", "--json", "--allow-degraded", "memory,cpu,cpus,open_files,apparmor", "--root", "root", "--", "/bin/true")
    value = json.loads(done.stdout)
    assert value["status"] != "ok"
    assert done.returncode in (125, 126, 127)


# ---- plan ----

def test_plan_does_nothing(cli, tmp_path):
    (tmp_path / "a.py").write_text("open('x', 'w')")
    before = sorted(os.listdir(tmp_path))
    plan = cli("plan", *cli.accept, "--out", "*", "a.py", "one")
    assert (plan.returncode, plan.stderr) == (0, b"")
    assert b"a.py" in plan.stdout and b"one" in plan.stdout
    assert sorted(os.listdir(tmp_path)) == before


def test_plan_json_is_stable(cli):
    line = ("plan", *cli.accept, "--json", "--memory", "64M", "--python", "-c", "1")
    first, second = cli(*line), cli(*line)
    assert isinstance(json.loads(first.stdout), dict)
    assert first.stdout == second.stdout
    assert cli("plan", *cli.accept, "--json", "--memory", "65M", "--python", "-c", "1").stdout != first.stdout


# ---- doctor ----

def test_doctor(usage):
    done = usage("doctor")
    assert done.returncode in (0, 1)
    assert done.stdout and done.stderr == b""


def test_doctor_json(usage):
    done, plain = usage("doctor", "--json"), usage("doctor")
    value = json.loads(done.stdout)
    assert isinstance(value, dict)
    assert done.returncode == plain.returncode


def test_artifacts_replace_nothing_in_the_current_folder(cli, tmp_path):
    (tmp_path / "kept.txt").write_text("the caller's own\n")
    done = cli.bash("echo program > kept.txt", "--json", "--out", "kept.txt")
    result = json.loads(done.stdout)
    assert (tmp_path / "kept.txt").read_text() == "the caller's own\n"
    assert result["artifacts"] == []
    assert "file of that name" in result["skipped"][0]["why"]


def test_artifacts_replace_in_a_folder_that_was_named(cli, tmp_path):
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "a.txt").write_text("old\n")
    cli.bash("echo new > a.txt", "--out", "a.txt:saved")
    assert (tmp_path / "saved" / "a.txt").read_text() == "new\n"


def test_a_loop_meets_the_wall_clock(cli):
    """The derived processor limit ends at the same moment: the verdict does not hang on which is looked at first."""
    for _ in range(3):
        result, _ = cli.result("--wall", "300ms", "--bash", "-c", "(while :; do :; done) & while :; do :; done")
        assert result["status"] == "timeout" and result["limits_hit"] == ["wall"], result
