"""Bad usage: one line that names option, value and what is allowed; exit status 2; nothing started."""
import os

import pytest

WRONG = [
    # arguments, what the line must name
    ((), ["needs a command"]),
    (("rnu",), ["rnu", "did you mean", "run"]),
    (("xyzzyplugh",), ["xyzzyplugh", "snapcell help"]),
    (("run",), ["needs a FILE"]),
    (("plan",), ["needs a FILE"]),
    (("run", "--memroy", "1G", "x.py"), ["--memroy", "did you mean --memory?"]),
    (("run", "--xyzzyplugh", "x.py"), ["--xyzzyplugh", "snapcell help run"]),
    (("run", "-Z", "x.py"), ["-Z", "snapcell help run"]),
    (("run", "--memory"), ["--memory", "16M to 16T"]),
    (("run", "--memory", "5", "x.py"), ["--memory", "5", "16M"]),
    (("run", "--memory", "lots", "x.py"), ["--memory", "lots", "512M"]),
    (("run", "--memory", "-1", "x.py"), ["--memory", "-1"]),
    (("run", "--memory", "", "x.py"), ["--memory"]),
    (("run", "--memory=99999999999999999999999", "x.py"), ["--memory", "16T"]),
    (("run", "--wall", "1ms", "x.py"), ["--wall", "1ms", "10ms", "24h"]),
    (("run", "--wall", "25h", "x.py"), ["--wall", "25h", "24h"]),
    (("run", "--wall", "0", "x.py"), ["--wall", "0", "10ms"]),
    (("run", "--tasks", "0", "x.py"), ["--tasks", "0", "1", "32768"]),
    (("run", "--tasks", "1.5", "x.py"), ["--tasks", "1.5"]),
    (("run", "--tasks", "0x10", "x.py"), ["--tasks", "0x10"]),
    (("run", "--cpus", "0", "x.py"), ["--cpus", "0"]),
    (("run", "--cpus", "nan", "x.py"), ["--cpus", "nan"]),
    (("run", "--json=yes", "x.py"), ["--json", "yes", "takes no value"]),
    (("run", "--language", "cobol", "x.py"), ["--language", "cobol", "python", "node"]),
    (("run", "--profile", "none", "x.py"), ["--profile", "none", "default", "compute"]),
    (("run", "--overflow", "x", "x.py"), ["--overflow", "x", "cut", "end"]),
    (("run", "--disk-backing", "x", "x.py"), ["--disk-backing", "x", "memory", "image"]),
    (("run", "--allow-degraded", "everything", "x.py"), ["--allow-degraded", "everything", "memory", "landlock"]),
    (("run", "--env", "NOVALUE", "x.py"), ["--env", "NOVALUE", "NAME=VALUE"]),
    (("run", "--env", "=x", "x.py"), ["--env"]),
    (("run", "--file", "missing.csv", "--python", "-c", "1"), ["missing.csv"]),
    (("run", "--file", "/etc/hostname:../x", "--python", "-c", "1"), ["--file", "../x"]),
    (("run", "--file", "/etc/hostname:/x", "--python", "-c", "1"), ["--file", "/x"]),
    (("run", "--dir", "missing", "--python", "-c", "1"), ["missing"]),
    (("run", "--dir", "/etc:/proc:ro", "--python", "-c", "1"), ["--dir", "/proc"]),
    (("run", "--out", "../*", "--python", "-c", "1"), ["--out", "../*"]),
    (("run", "--stdin", "missing", "--python", "-c", "1"), ["--stdin", "missing"]),
    (("run", "--stdin", "-", "--python", "-"), ["--stdin", "-"]),
    (("run", "--cwd", "a/../b", "--python", "-c", "1"), ["--cwd", "a/../b"]),
    (("run", "--root", "missing", "--python", "-c", "1"), ["root", "missing"]),
    (("run", "--venv", "missing", "--python", "-c", "1"), ["venv", "missing"]),
    (("run", "--interpreter", "missing", "--python", "-c", "1"), ["interpreter", "missing"]),
    (("run", "--pin", "a-b", "--python", "-c", "1"), ["--pin", "a-b"]),
    (("run", "--cgroup-parent", "relative", "--python", "-c", "1"), ["--cgroup-parent", "relative"]),
    (("run", "--spec", "missing.json"), ["--spec", "missing.json"]),
    (("run", "missing.py"), ["missing.py"]),
    (("run", "-c", "print(1)"), ["language"]),
    (("run", "--python", "--bash", "missing.py"), ["missing.py"]),
    (("run", "--"), ["needs a FILE"]),
    (("shell", "bash"), ["bash", "--"]),
    (("shell", "--json"), ["--json", "shell"]),
    (("shell", "--memory", "5"), ["--memory", "5", "16M"]),
    (("doctor", "x"), ["doctor", "x"]),
    (("doctor", "--memory", "1G"), ["--memory", "doctor"]),
    (("version", "x"), ["version", "x"]),
    (("help", "xyzzy"), ["xyzzy"]),
    # Contradictions between limits.
    (("run", "--memory", "64M", "--tmp", "128M", "--python", "-c", "1"), ["tmp", "memory"]),
    # Bytes that are no text, and texts without end.
    ((b"run", b"--cwd", b"\xff\xfe", b"x.py"), ["--cwd", "\\xff\\xfe", "UTF-8"]),
    ((b"run", b"--\x1b[31m", b"x.py"), ["\\x1b[31m"]),
    (("run", *sum((["--env", "A%d=%s" % (i, "x" * 30000)] for i in range(36)), []), "--python", "-c", "1"), ["env"]),
    (("run", "--cwd", "/" + "a/" * 4000, "--python", "-c", "1"), ["--cwd"]),
    (("run", "--file", "/etc/hostname:" + "n" * 300, "--python", "-c", "1"), ["--file"]),
]


def name(case):
    return " ".join(w if isinstance(w, str) else repr(w) for w in case)[:60] if isinstance(case, tuple) else ""


@pytest.mark.parametrize("args, words", WRONG, ids=[name(args) for args, _ in WRONG])
def test_wrong(usage, tmp_path, args, words):
    done = usage(*args)
    line = done.stderr.decode("utf-8")
    assert done.returncode == 2, line
    assert done.stdout == b""
    assert line.startswith("snapcell: ") and line.endswith("\n") and line.count("\n") == 1, line
    assert len(line) < 700
    for word in words:
        assert word in line, (word, line)
    assert os.listdir(tmp_path) == []


def test_json_prints_nothing_on_bad_usage(usage):
    done = usage("run", "--json", "--memory", "5", "x.py")
    assert (done.returncode, done.stdout) == (2, b"")


def test_file_as_command(usage, tmp_path):
    (tmp_path / "a.py").write_text("print(1)")
    done = usage("a.py")
    assert done.returncode == 2
    assert b"snapcell run FILE" in done.stderr


def test_program_that_cannot_be_read(usage, tmp_path):
    (tmp_path / "folder.py").mkdir()
    done = usage("run", "folder.py")
    assert done.returncode == 2
    assert b"folder.py" in done.stderr


def test_program_without_a_telling_name(usage, tmp_path):
    (tmp_path / "thing").write_text("just text\n")
    done = usage("run", "thing")
    assert done.returncode == 2
    assert b"thing" in done.stderr and b"language" in done.stderr


@pytest.mark.parametrize("text, words", [
    ("", []),
    ("{", []),
    ("[]", []),
    ('{"code": "1", "language": "python", "memroy": 1}', ["memroy"]),
    ('{"code": "1", "language": "python", "limits": {"memory_bytes": 5}}', ["limits.memory_bytes", "5"]),
    ('{"code": "1", "language": "python", "limits": {"wall_ms": "x"}}', ["limits.wall_ms"]),
    ('{"code": "1", "language": "python", "limits": {"x": 1}}', ["limits.x"]),
    ('{"code": "1", "language": "cobol"}', ["language", "cobol"]),
    ('{"code": 1, "language": "python"}', ["code"]),
])
def test_request_file(usage, tmp_path, text, words):
    (tmp_path / "request.json").write_text(text)
    done = usage("run", "--spec", "request.json")
    line = done.stderr.decode()
    assert done.returncode == 2 and done.stdout == b"", line
    assert line.startswith("snapcell: ") and line.count("\n") == 1
    for word in words:
        assert word in line


def test_too_long_program_on_stdin(usage):
    done = usage("run", "--python", "-", input=b"#" * (16 * 1024 * 1024 + 1))
    assert done.returncode == 2
    assert b"16M" in done.stderr


@pytest.mark.parametrize("args", [("help",), ("--help",), ("-h",)])
def test_help(usage, args):
    done = usage(*args)
    assert (done.returncode, done.stderr) == (0, b"")
    for verb in ("run", "plan", "doctor", "shell", "version", "help"):
        assert ("  " + verb + " ").encode() in done.stdout


@pytest.mark.parametrize("verb", ["run", "plan", "doctor", "shell", "version", "help"])
def test_help_of_a_command(usage, verb):
    by_help, by_option = usage("help", verb), usage(verb, "--help")
    assert by_help.returncode == by_option.returncode == 0
    assert by_help.stdout.startswith(b"Usage: snapcell " + verb.encode())
    if verb != "help":
        assert by_help.stdout == by_option.stdout
    assert max(len(line.decode()) for line in by_help.stdout.splitlines()) <= 80


def test_version(usage):
    done = usage("version")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"snapcell 0.")
    assert usage("--version").stdout == done.stdout


def test_full_stdout(usage):
    with open("/dev/full", "wb") as full:
        done = usage("help", stdout=full)
    assert done.returncode == 125
    assert b"No space left" in done.stderr


def test_closed_descriptors(binary, tmp_path):
    """With stdin, stdout and stderr closed, nothing opened later is mistaken for one of them."""
    (tmp_path / "precious").write_text("precious")
    pid = os.fork()
    if pid == 0:
        os.closerange(0, 3)
        os.chdir(tmp_path)
        os.execv(binary, [binary, "run", "--spec", "precious"])
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 2
    assert (tmp_path / "precious").read_text() == "precious"


def test_completion_knows_every_option(usage):
    """The installed completion and the manual come from the parser's tables; here: run's help lists all limits."""
    text = usage("help", "run").stdout.decode()
    for option in ("wall", "cpu", "memory", "tasks", "cpus", "open-files", "file-size", "disk", "disk-inodes", "tmp",
                   "tmp-inodes", "shm", "io-read", "io-write", "stdout", "stderr", "artifacts", "artifacts-count",
                   "artifacts-depth"):
        assert "  --%s " % option in text
