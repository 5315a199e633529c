"""`snapcell session` as people use it: what keeps, what goes in and out, what is said when something is wrong."""
import json
import os
import select
import signal
import stat
import subprocess
import tarfile
import time

import pytest
from conftest import PATIENCE, keeper_pid


@pytest.fixture
def work(keeper):
    """A session named `work`."""
    assert keeper.start("--name", "work") == "work"
    return keeper


def text(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def said(done, status):
    assert done.returncode == status, (done.returncode, done.stderr)
    return done.stderr.decode()


# ---- sessions ----

def test_an_id_is_random(keeper):
    first, second = keeper.start(), keeper.start()
    assert first != second
    assert len(first) == 32 and int(first, 16) >= 0
    listed = keeper.result("ls", "--json")["sessions"]
    assert sorted(x["session"] for x in listed) == sorted([first, second])


def test_a_name_is_given_once(work):
    assert "must be another" in said(work("start", *work.cli.accept, "--name", "work"), 2)
    assert "letters, digits" in said(work("start", "--name", "a/b"), 2)


def test_an_unknown_session(keeper):
    assert "session: nosuch: there is none of this name" in said(keeper("run", "nosuch", "--python", "-c", "1"), 2)


def test_no_keeper_and_so_no_session(cli, tmp_path):
    env = dict(os.environ, SNAPCELL_SOCKET=str(tmp_path / "keeper.sock"))
    assert "no keeper runs" in said(cli("session", "ls", env=env), 2)


def test_limits_of_the_spec_are_checked(keeper):
    assert "--memory" in said(keeper("start", "--memory", "1K"), 2)
    assert "--total" in said(keeper("start", "--total", "soon"), 2)
    assert "--idle 25h: must be a duration like 90s or 10m, 1s to 24h" in said(keeper("start", "--idle", "25h"), 2)


def test_end(work):
    assert work("end", "work").returncode == 0
    assert text(work("ls")) == ""
    assert said(work("end", "work"), 2)


def test_the_idle_time_ends_it(keeper):
    keeper.start("--name", "short", "--idle", "1s")
    end = time.monotonic() + PATIENCE
    while text(keeper("ls")):
        assert time.monotonic() < end


def test_the_first_start_starts_a_keeper(cli, tmp_path):
    path = str(tmp_path / "keeper.sock")
    env = dict(os.environ, SNAPCELL_SOCKET=path, CALLERS_SECRET="canary-of-the-caller")
    os.chmod(tmp_path, 0o700)
    started = [cli.popen("session", "start", *cli.accept, env=env, stdout=subprocess.PIPE) for _ in range(4)]
    ids = {child.communicate(timeout=PATIENCE)[0].decode().strip() for child in started}
    pid = keeper_pid(path)
    try:
        # Four at once, and one keeper has all of their sessions.
        assert len(ids) == 4 and "" not in ids
        listed = json.loads(cli("session", "ls", "--json", env=env).stdout)["sessions"]
        assert {x["session"] for x in listed} == ids
        # A daemon: a session of its own, and nothing of the caller's.
        assert os.getsid(pid) == pid
        assert os.readlink("/proc/%d/cwd" % pid) == "/"
        with open("/proc/%d/environ" % pid, "rb") as f:
            assert b"canary" not in f.read()
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    finally:
        handle = os.pidfd_open(pid)
        os.kill(pid, signal.SIGTERM)
        assert select.select([handle], [], [], PATIENCE)[0]
        os.close(handle)
    assert os.listdir(tmp_path) == []


# ---- runs ----

def test_state_is_kept(work):
    assert text(work.python("work", "x = 6")) == ""
    assert text(work.python("work", "x * 7")) == "42\n"


def test_output_comes_before_the_value(work):
    done = work.python("work", "import sys; print('out', end=''); print('err', file=sys.stderr); 5")
    assert (text(done), done.stderr) == ("out\n5\n", b"err\n")


def test_an_error_is_told_and_nothing_is_lost(work):
    done = work.python("work", "y = 3\n1/0")
    assert "ZeroDivisionError: division by zero" in said(done, 1)
    assert text(work.python("work", "y")) == "3\n"


def test_contexts_are_apart(work):
    work.python("work", "x = 1")
    assert "NameError" in said(work.python("work", "x", "--context", "other"), 1)
    names = {x["name"] for x in work.result("info", "work")["contexts"]}
    assert names == {"python", "other"}


def test_restart_forgets(work):
    work.python("work", "x = 1")
    assert work("restart", "work", "python").returncode == 0
    assert "NameError" in said(work.python("work", "x"), 1)
    assert "none of this name" in said(work("restart", "work", "nosuch"), 2)


def test_json_has_everything(work):
    result = work.result("run", "work", "--json", "--python", "-c", "print('hi'); [1, 2]")
    assert (result["status"], result["stdout"], result["value"]["text/plain"]) == ("ok", "hi\n", "[1, 2]")


def test_code_from_a_file_and_from_stdin(work, tmp_path):
    (tmp_path / "a.py").write_text("print('from a file')")
    assert text(work("run", "work", "a.py")) == "from a file\n"
    assert text(work("run", "work", "--python", "-", input=b"print('from stdin')")) == "from stdin\n"
    assert "needs a language" in said(work("run", "work", "-c", "1"), 2)
    assert "one FILE" in said(work("run", "work", "--python"), 2)


def test_stdin_of_a_run(work, tmp_path):
    (tmp_path / "in").write_bytes(b"one\n\xff\n")
    done = work.python("work", "import sys; sys.stdin.buffer.read()", "--stdin", "in")
    assert text(done) == "b'one\\n\\xff\\n'\n"


def test_a_run_has_limits_of_its_own(work):
    work.python("work", "x = 1")
    done = work.python("work", "while True: pass", "--wall", "300ms")
    assert "wall-clock" in said(done, 124)
    assert text(work.python("work", "x")) == "1\n"
    done = work.python("work", "print('a' * 5000)", "--stdout", "1K")
    assert len(done.stdout) == 1024 and b"stdout was cut" in done.stderr
    assert "--memory" in said(work("run", "work", "--memory", "1G", "--python", "-c", "1"), 2)


def test_sigint_interrupts_and_keeps_state(work):
    work.python("work", "x = 1")
    child = work.popen("run", "work", "--python", "-c", "x = 2; print('on', flush=True); import time; time.sleep(100)",
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == b"on\n"
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 130 and b"KeyboardInterrupt" in err
    assert text(work.python("work", "x")) == "2\n"


def test_interrupt_from_elsewhere(work):
    child = work.popen("run", "work", "--python", "-c", "print('on', flush=True); import time; time.sleep(100)",
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == b"on\n"
    assert work("interrupt", "work").returncode == 0
    child.communicate(timeout=PATIENCE)
    assert child.returncode == 130


# ---- reading code first ----

def test_a_crowded_cell_is_told_as_its_limit(keeper):
    """What a stranger has left running takes every process: that is no fault of Snapcell's."""
    keeper.start("--name", "work", "--tasks", "30")
    # It goes on trying: what we ask for meanwhile takes places of its own, and gives them back.
    crowd = ("import os, time\nwhile True:\n try:\n  if os.fork() == 0: time.sleep(1000)\n"
             " except OSError: time.sleep(0.01)")
    assert keeper("exec", "--background", "work", "--", "python3", "-c", crowd).returncode == 0
    end = time.monotonic() + PATIENCE
    while keeper("exec", "work", "--", "sh", "-c", "true & wait $!").returncode == 0:
        assert time.monotonic() < end
    if "memory" in " ".join(keeper.cli.accept):
        # Without a group only what programs start is refused, not what is asked for from outside.
        assert keeper("exec", "work", "--", "true").returncode == 0
        return
    while keeper("exec", "work", "--", "true").returncode == 0:
        assert time.monotonic() < end
    for args in (["exec", "--json", "work", "--", "true"], ["run", "--json", "work", "--python", "-c", "1"]):
        told = json.loads(keeper(*args).stdout)
        assert (told["status"], told["limits_hit"]) == ("process_limit", ["tasks"]), told
    assert keeper("kill", "work", "1").returncode == 0
    end = time.monotonic() + PATIENCE
    while keeper("exec", "work", "--", "true").returncode != 0:
        assert time.monotonic() < end


def test_a_restricted_run_starts_nothing_of_the_home_folder(work):
    """Python runs lines of *.pth files of the user's own packages before its program; whoever may upload files could write one."""
    plant = """
import os, site
folder = site.getusersitepackages()
os.makedirs(folder)
for line, name in (("import sys; print('planted')", "x.pth"), ("print('planted')", "usercustomize.py"),
                   ("print('planted')", "sitecustomize.py")):
    with open(os.path.join(folder, name), "w") as f:
        f.write(line + "\\n")
"""
    assert work("exec", "work", "--", "python3", "-c", plant).returncode == 0
    assert b"planted" in work("exec", "work", "--", "python3", "-c", "1").stdout
    done = work("run", "work", "--python", "--mode", "restricted", "-c", "print('mine')")
    assert (done.returncode, done.stdout) == (0, b"mine\n")


def test_code_is_read_first(work):
    done = work.python("work", "x = 1\nimport subprocess", "--validate", "block")
    assert said(done, 126).startswith("snapcell: Blocked: subprocess (line 2)")
    assert "NameError" in said(work.python("work", "x"), 1)
    assert text(work.python("work", "x = 2; x", "--validate", "block")) == "2\n"
    result = work.result("run", "work", "--json", "--validate", "report", "--python", "-c", "import subprocess; 'ran'")
    assert (result["status"], result["allowed"], result["value"]["text/plain"]) == ("ok", False, "'ran'")
    assert "SyntaxError" in said(work.python("work", "x = (", "--validate", "report"), 1)
    assert "default, strict" in said(work.python("work", "1", "--rules", "nosuch"), 2)
    assert "rich, restricted" in said(work.python("work", "1", "--mode", "plain"), 2)


def test_wrong_rules_are_bad_usage(work, tmp_path, monkeypatch):
    (tmp_path / "wrong.scm").write_text("; language: python\n; severity: error\n")
    (tmp_path / "own.scm").write_text("; language: python\n; rule: no-print\n; message: Prints.\n; names: builtins.print\n")
    monkeypatch.chdir(tmp_path)
    assert "wrong.scm line 2" in said(work.python("work", "1", "--rules", "wrong.scm"), 2)
    assert "missing.scm" in said(work.python("work", "1", "--rules", "missing.scm"), 2)
    assert "Blocked: print" in said(work.python("work", "print(1)", "--rules", "own.scm"), 126)
    # A session whose spec names them tells it at its first run, and lives on.
    work.start("--name", "ruled", "--rules", "wrong.scm")
    assert "wrong.scm line 2" in said(work.python("ruled", "1"), 2)
    assert text(work.python("ruled", "2", "--rules", "own.scm")) == "2\n"


def test_a_session_may_ask_for_it_once(keeper):
    keeper.start("--name", "read", "--deny-module", "json")
    assert "Blocked" in said(keeper.python("read", "import json"), 126)
    assert text(keeper.python("read", "import math; math.floor(2.5)")) == "2\n"
    # Its own word counts more.
    assert text(keeper.python("read", "import json; 1", "--deny-call", "eval")) == "1\n"


def test_control_bytes_are_shown_at_a_terminal(work, sit):
    os.environ["SNAPCELL_SOCKET"] = work.socket
    try:
        person = sit("session", "run", "work", "--python", "-c", "print('\\x1b[31m'); '\\x9b'", stdout_only=True)
        status, seen = person.leave()
    finally:
        del os.environ["SNAPCELL_SOCKET"]
    assert status == 0
    assert seen == b"^[[31m\r\n'\\x9b'\r\n"


def test_a_file_is_shown_at_a_terminal(work, sit):
    assert work("put", "work", "-", "f", input=b"\x1b[31mred\x9b\n" + b"x" * 300000 + b"\n").returncode == 0
    os.environ["SNAPCELL_SOCKET"] = work.socket
    try:
        person = sit("session", "get", "work", "f", "-", stdout_only=True)
        status, seen = person.leave()
    finally:
        del os.environ["SNAPCELL_SOCKET"]
    assert status == 0
    assert seen == b"^[[31mred\\x9b\r\n" + b"x" * 300000 + b"\r\n"
    # Nothing but the bytes anywhere else.
    assert work("get", "work", "f", "-").stdout.startswith(b"\x1b[31mred\x9b\n")


# ---- commands ----

def test_exec(work):
    done = work("exec", "work", "--cwd", "/tmp", "--env", "A=b", "--", "sh", "-c", "pwd; echo $A; echo err >&2; exit 3")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"/tmp\nb\n", b"err\n")


@pytest.mark.parametrize("options", [[], ["--forkable"]], ids=["session", "forkable"])
def test_files_move_between_folders(keeper, options):
    """As in any cell: no wall between the folders of one file system."""
    work = keeper.start(*options)
    made = "import os\nfor name in 'ab': os.mkdir(name)\nfor name in 'xy': open('a/' + name, 'w').close()\n"
    moved = "os.rename('a/x', 'b/x')\nos.link('a/y', 'b/y')\nprint(sorted(os.listdir('b')))"
    assert text(keeper("run", work, "--python", "-c", made + moved)) == "['x', 'y']\n"
    assert text(keeper("exec", work, "--", "python3", "-c", "import os\nos.rename('b/x', 'a/z')\nprint(sorted(os.listdir('a')))")) == "['y', 'z']\n"


def test_exec_that_is_not_there(work):
    assert "nosuch" in said(work("exec", "work", "--", "nosuch"), 127)
    assert "nosuch" in said(work("exec", "work", "--", "nosuch", stdin=subprocess.PIPE), 127)
    assert "COMMAND behind --" in said(work("exec", "work", "ls"), 2)


def test_exec_with_a_file_as_stdin(work, tmp_path):
    (tmp_path / "in").write_bytes(b"bytes\0\xff")
    with open(tmp_path / "in", "rb") as source:
        assert work("exec", "work", "--", "cat", stdin=source).stdout == b"bytes\0\xff"


def test_exec_speaks_with_a_pipe(work):
    """What was said is answered before stdin ends."""
    child = work.popen("exec", "work", "--", "cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for word in (b"one\n", b"two\n"):
        child.stdin.write(word)
        child.stdin.flush()
        assert child.stdout.readline() == word
    child.stdin.close()
    assert child.wait(PATIENCE) == 0
    child.stdout.close()


def test_exec_takes_much_through_a_pipe(work):
    data = os.urandom(1 << 20) * 8
    child = work.popen("exec", "work", "--", "cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    out, _ = child.communicate(data, timeout=PATIENCE)
    assert child.returncode == 0 and out == data


def test_exec_limits(work):
    assert said(work("exec", "work", "--wall", "200ms", "--", "sleep", "100"), 124)
    assert said(work("exec", "work", "--wall", "200ms", "--", "sleep", "100", stdin=subprocess.PIPE), 124)


def test_background(work):
    number = text(work("exec", "work", "--background", "--", "sleep", "1000")).strip()
    [process] = work.result("ps", "work", "--json")["processes"]
    assert (str(process["process"]), process["command"], process["background"]) == (number, "sleep", True)
    assert work("kill", "work", number).returncode == 0
    end = time.monotonic() + PATIENCE
    while work.result("ps", "work", "--json")["processes"]:
        assert time.monotonic() < end
    assert "none of this number" in said(work("kill", "work", number), 2)
    assert "must be a signal's name" in said(work("kill", "work", "--signal", "NOSUCH", number), 2)


def test_a_terminal(work, sit):
    os.environ["SNAPCELL_SOCKET"] = work.socket
    try:
        person = sit("session", "exec", "work", "--pty", "--", "bash", "--norc", "-i", rows=33, columns=77)
        person.type(b"stty size; tty\n")
        person.await_text(rb"33 77\r\n.*/dev/pts/\d+\r\n")
        person.type(b"exit 7\n")
        status, _ = person.leave()
    finally:
        del os.environ["SNAPCELL_SOCKET"]
    assert status == 7
    assert person.modes() == person.before


# ---- files ----

def test_put_and_get_a_file(work, tmp_path):
    data = os.urandom(3 << 20)
    (tmp_path / "data").write_bytes(data)
    os.chmod(tmp_path / "data", 0o750)
    assert work("put", "work", "data").returncode == 0
    assert work("exec", "work", "--", "stat", "-c", "%a %s", "data").stdout == b"750 %d\n" % len(data)
    assert work("get", "work", "data", "back").returncode == 0
    assert (tmp_path / "back").read_bytes() == data
    assert work("get", "work", "/home/user/data", "-").stdout == data
    assert sorted(os.listdir(tmp_path)) == ["back", "data", "keeper0"]


def test_put_from_stdin(work):
    assert "needs DST" in said(work("put", "work", "-", input=b"x"), 2)
    assert work("put", "work", "-", "x", input=b"from stdin").returncode == 0
    assert work("get", "work", "x", "-").stdout == b"from stdin"


def test_put_and_get_a_folder(work, tmp_path):
    (tmp_path / "tree/sub").mkdir(parents=True)
    for i in range(50):
        (tmp_path / "tree" / ("n%02d" % i)).write_text(str(i))
    (tmp_path / "tree/sub" / ("long" * 50)).write_text("long")
    (tmp_path / "tree/link").symlink_to("n00")
    assert work("put", "work", "tree").returncode == 0
    assert work("exec", "work", "--", "readlink", "tree/link").stdout == b"n00\n"
    done = work("get", "work", "tree", "back")
    assert done.returncode == 0 and b"link: left out" in done.stderr
    for path in (tmp_path / "tree").rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert (tmp_path / "back" / path.relative_to(tmp_path / "tree")).read_bytes() == path.read_bytes()
    assert not (tmp_path / "back/link").exists()
    assert "must be a new folder" in said(work("get", "work", "tree", "back/sub/" + "long" * 50), 2)


def test_archives(work, tmp_path):
    (tmp_path / "a").write_text("content")
    for name, mode in (("a.tar", "w"), ("a.tar.gz", "w:gz"), ("a.tgz", "w:gz")):
        with tarfile.open(tmp_path / name, mode) as archive:
            archive.add(tmp_path / "a", "in/a")
        assert work("put", "work", "--unpack", name, "from-" + name).returncode == 0
        assert work("get", "work", "from-%s/in/a" % name, "-").stdout == b"content"
    subprocess.run(["python3", "-m", "zipfile", "-c", "a.zip", "a"], cwd=tmp_path, check=True)
    assert work("put", "work", "--unpack", "a.zip", "z").returncode == 0
    assert work("get", "work", "z/a", "-").stdout == b"content"
    (tmp_path / "bad.tgz").write_text("no archive")
    assert "could not unpack" in said(work("put", "work", "--unpack", "bad.tgz"), 125)
    assert "must be a .tar" in said(work("put", "work", "--unpack", "a"), 2)


def test_small_operations(work):
    assert work("mkdir", "work", "-p", "a/b/c").returncode == 0
    assert "File exists" in said(work("mkdir", "work", "a"), 1)
    work("put", "work", "-", "a/x", input=b"12345")
    assert work("mv", "work", "a/x", "a/y").returncode == 0
    listed = {x["name"]: x for x in work.result("ls", "--json", "work", "a")}
    assert listed["y"]["size"] == 5 and listed["b"]["type"] == "folder"
    assert "Directory not empty" in said(work("rm", "work", "a"), 1)
    assert work("rm", "work", "-r", "a").returncode == 0
    assert "No such file" in said(work("ls", "work", "a"), 1)
    assert "/etc/x: " in said(work("put", "work", "-", "/etc/x", input=b""), 1)
    assert "Is a directory" in said(work("put", "work", "-", "/home/user/..", input=b""), 1)


def test_a_name_makes_up_no_lines(work):
    assert work("exec", "work", "--", "bash", "-c", "mkdir d; touch d/$'x\\n-0755  99 forged'; ln -s $'y\\nforged' d/z").returncode == 0
    lines = text(work("ls", "work", "d")).splitlines()
    assert [x.split()[5:] for x in lines] == [["99", "forged"], ["->", "y\\x0aforged"]], lines
    assert lines[0].split()[4] == "x\\x0a-0755"


def test_watch(work):
    child = work.popen("watch", "work", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # It watches from some moment on: the first that is told is one of many. A file is written beside its place first.
    told = b""
    for i in range(1000):
        work("put", "work", "-", "new%d" % i, input=b"x")
        if select.select([child.stdout], [], [], 0.1)[0]:
            told = child.stdout.read1()
            break
    while b"made new" not in told:
        told += child.stdout.readline()
    work("mkdir", "work", "folder")
    while b"made folder/\n" not in told:
        told += child.stdout.readline()
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=PATIENCE)
    assert child.returncode == 0


def test_words_that_are_none(usage):
    assert "needs a word: start, ls" in said(usage("session"), 2)
    assert "no such word" in said(usage("session", "frobnicate"), 2)
    assert b"session run ID" in usage("session", "run", "--help").stdout
    assert b"session run ID" in usage("help", "session", "run").stdout


@pytest.mark.parametrize("word", ["run", "exec", "put", "get", "rm", "mkdir", "mv", "watch", "info", "ps", "kill", "restart",
                                  "interrupt", "end"])
def test_words_need_an_id(usage, word):
    assert "needs the ID of a session" in said(usage("session", word), 2)
