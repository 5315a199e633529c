"""Python zygotes and sessions that are forked: what is told, carried over, refused. docs/fork-correctness.md."""
import errno
import os
import re
import sys

import pytest

import forks
import harness
from test_python_runs import interpreters, short

CANNOT_COMPLY = 70


@pytest.fixture
def zygote(parent, tree):
    return parent(sys.executable, str(tree / "python" / "runner.py"), "--zygote")


@pytest.fixture
def session(parent, tree):
    return parent(sys.executable, str(tree / "python" / "runner.py"), "--forkable")


def fork_of(zygote):
    assert zygote.serve() == {"op": "forkable"}
    return zygote.fork()


@pytest.mark.parametrize("python", interpreters().values(), ids=short)
@pytest.mark.parametrize("mode", ["rich", "restricted"])
def test_on_every_interpreter(parent, tree, python, mode):
    options = ["--restricted"] if mode == "restricted" else []
    zygote = parent(python, str(tree / "python" / "runner.py"), *options, "--zygote")
    zygote.prelude("code", "import random\nx = 20")
    for child in (fork_of(zygote), zygote.fork()):
        done = child.run("print(x)\ny = [x]\nx + 1", mode=mode)
        assert (done.status, done.text, done.stdout, done.locals) == ("ok", "21", "20\n", {"y": "[20]"})
    assert zygote.hang_up() == 0


def test_an_interrupt_ends_a_forks_run(zygote):
    child = fork_of(zygote)
    run_id = child.start("print('on', flush=True)\nwhile True: pass")
    child.wait_for_output("on")
    child.interrupt()
    assert child.finish(run_id).status == "interrupted"
    assert child.run("1").text == "1"


def test_input_and_children_of_a_fork(zygote):
    zygote.prelude("import", "subprocess")
    child = fork_of(zygote)
    code = "import subprocess, sys\nprint(input(), flush=True)\nsubprocess.run(['cat']); subprocess.run(['sh', '-c', 'ls /proc/self/fd'])"
    assert child.run(code, stdin=b"one\ntwo\n").stdout.split() == ["one", "0", "1", "2", "3"]
    assert child.run("sys.stdin.read()").text == "''"


# ---- preludes ----

def test_a_fork_has_what_the_prelude_defined(zygote):
    assert zygote.prelude("import", "json") == {"op": "prelude", "status": "ok", "error": None}
    zygote.prelude("code", "import math\ntable = {'a': 1}\ndef twice(n):\n    return 2 * n")
    child = fork_of(zygote)
    assert child.ready == zygote.ready
    done = child.run("import sys\nx = twice(table['a'])\n(x, math.pi > 3, 'json' in sys.modules)")
    assert (done.status, done.text) == ("ok", "(2, True, True)")
    # What the prelude made is not the run's doing, until the run changes it.
    assert done.locals == {"x": "2"}
    assert child.run("table = 7").locals == {"x": "2", "table": "7"}


@pytest.mark.parametrize("kind, body, name, words", [
    ("import", "no_such_module", "ModuleNotFoundError", "no_such_module"),
    ("import", "broken", "ZeroDivisionError", "broken.py"),
    ("code", "1 +", "SyntaxError", "<prelude>"),
    ("code", "def f():\n    return 1 / 0\nf()", "ZeroDivisionError", 'File "<prelude>", line 2, in f'),
    ("code", "raise SystemExit(3)", "SystemExit", "3"),
])
def test_a_broken_prelude_is_told_with_its_traceback(zygote, work, kind, body, name, words):
    (work / "broken.py").write_text("x = 1 / 0\n")
    said = zygote.prelude(kind, body)
    assert (said["status"], said["error"]["name"]) == ("error", name)
    assert words in said["error"]["traceback"]
    assert "snapcell_runner" not in said["error"]["traceback"]


def test_an_ordinary_runner_takes_preludes_until_its_first_run(start, tree):
    runner = start(sys.executable, str(tree / "python" / "runner.py"))
    runner.socket.sendall(b"prelude code 5\nx = 1")
    assert runner.line() == {"op": "prelude", "status": "ok", "error": None}
    done = runner.run("x")
    assert (done.text, done.locals) == ("1", {})
    runner.socket.sendall(b"prelude code 5\nx = 1")
    assert runner.process.wait(harness.PATIENCE_S) == 1
    assert "a prelude after a run" in runner.stderr.take()


def test_a_zygote_has_no_runs(zygote):
    zygote.start("1")
    assert zygote.process.wait(harness.PATIENCE_S) == 1
    assert "a zygote has no runs" in zygote.stderr.take()


def test_an_ordinary_runner_is_not_told_to_serve(start, tree):
    runner = start(sys.executable, str(tree / "python" / "runner.py"))
    runner.socket.sendall(b"serve\n")
    assert runner.process.wait(harness.PATIENCE_S) == 1


# ---- what is not forked ----

UNFORKABLE = {
    "a thread": ("import threading\nthreading.Thread(target=threading.Event().wait, daemon=True, name='worker').start()",
                 "2 threads are running: worker"),
    "a child": ("import subprocess\np = subprocess.Popen(['sleep', '60'])", "other processes were started"),
    "shared memory": ("import mmap\nm = mmap.mmap(-1, 4096)", "memory is shared: /dev/zero (deleted)"),
    "a socket": ("import socket\ns = socket.socket()", "cannot be carried over: socket:"),
    "a pipe": ("import os\np = os.pipe()", "cannot be carried over: pipe:"),
    "a removed file": ("import os\nf = open('gone', 'w')\nos.unlink('gone')", "gone (deleted)"),
    "a file without a name": ("import os\nf = os.memfd_create('x')", "/memfd:x (deleted)"),
}


@pytest.mark.parametrize("code, words", UNFORKABLE.values(), ids=UNFORKABLE)
def test_a_zygote_that_cannot_be_forked_says_why(zygote, code, words):
    assert zygote.prelude("code", code)["status"] == "ok"
    said = zygote.serve()
    assert said["op"] == "not_forkable"
    assert words in said["reason"]
    assert zygote.process.wait(harness.PATIENCE_S) == 0


@pytest.mark.parametrize("code, words", UNFORKABLE.values(), ids=UNFORKABLE)
def test_a_session_that_cannot_be_forked_says_why_and_goes_on(session, code, words):
    session.run("x = 41\n" + code)
    with pytest.raises(forks.Refused) as refused:
        session.fork()
    assert refused.value.args[0] == errno.EBUSY
    assert words in refused.value.args[2]
    assert session.run("x + 1").text == "42"


def test_a_runner_without_its_library_says_so(parent, tree, tmp_path):
    copy = forks.tree(tmp_path / "tree")
    os.unlink(copy / "fork" / "libsnapcell-fork.so")
    zygote = parent(sys.executable, str(copy / "python" / "runner.py"), "--zygote")
    said = zygote.serve()
    assert said["op"] == "not_forkable"
    assert "the fork library cannot be loaded" in said["reason"]


# ---- forks of sessions ----

def test_forks_of_a_session_have_its_memory_and_go_apart(session):
    session.run("x = [1]\ndef f():\n    return len(x)")
    children = [session.fork() for _ in range(3)]
    for n, child in enumerate(children):
        done = child.run("x.append(%d)\n(f(), x)" % n)
        assert done.text == "(2, [1, %d])" % n
    assert session.run("(f(), x)").text == "(1, [1])"


def test_a_fork_counts_its_runs_on(session):
    session.run("x = 1")
    child = session.fork()
    assert '"<run 2>"' in child.run("1/0").error["traceback"]


def test_a_fork_with_a_socket_is_forked_again(session):
    session.run("x = 1")
    child = session.fork(has_socket=True)
    child.run("x += 1")
    grandchild = forks.Fork(child.orders, session.cwd)
    session.forks.append(grandchild)
    assert grandchild.run("x").text == "2"
    child.orders.close()
    assert child.run("x").text == "2"


def test_orders_wait_while_a_run_is_under_way(session):
    run_id = session.start("import time\nprint('on', flush=True)\ntime.sleep(0.3)\ny = 5")
    session.wait_for_output("on")
    child = session.fork()
    assert session.finish(run_id).status == "ok"
    assert child.run("y").text == "5"


def test_open_files_go_along(session, work):
    (work / "data").write_text("one\ntwo\nthree\n")
    session.run("""
f = open('data'); f.readline()
log = open('log', 'a'); log.write('parent\\n'); log.flush()
""")
    child = session.fork()
    assert child.run("log.write('child\\n'); log.flush()\nf.readline()").text == r"'two\n'"
    assert session.run("f.readline()").text == r"'two\n'"
    assert (work / "log").read_text() == "parent\nchild\n"


def test_modules_may_close_their_files_after_a_fork(session, work):
    (work / "data").write_text("one")
    session.run("import os\nfiles = [open('data') for _ in range(3)]\nfor f in files: os.register_at_fork(after_in_child=f.close)")
    done = session.fork().run("[f.closed for f in files]")
    assert (done.text, done.stderr) == ("[True, True, True]", "")
    assert session.run("[f.read() for f in files]").text == "['one', 'one', 'one']"


def test_matplotlib_is_forked(zygote):
    """It keeps font files open, and closes them after a fork."""
    zygote.prelude("import", "matplotlib.pyplot")
    done = fork_of(zygote).run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('hello')\nplt.show()")
    assert (done.status, done.stderr, "image/png" in done.displays[0]) == ("ok", "", True)


def test_a_fork_that_cannot_have_its_files_ends_before_any_run(session, work):
    (work / "data").write_text("one")
    session.run("import os\nf = open('data')\nos.register_at_fork(before=lambda: os.unlink('data'))")
    child = session.fork()
    assert child.ready["op"] == "not_forkable"
    assert re.fullmatch(r"descriptor 5: .*work/data: No such file or directory", child.ready["reason"])
    assert child.wait() == CANNOT_COMPLY
    assert session.run("f.read()").text == "'one'"


def test_the_event_loop_goes_along_with_its_tasks(session, work):
    (work / "data").write_text("one")
    session.run("""
import asyncio, signal
f = open('data')
ticks = 0
async def tick():
    global ticks
    while True:
        await asyncio.sleep(0.001)
        ticks += 1
task = asyncio.create_task(tick())
got = asyncio.Event()
asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, got.set)
await asyncio.sleep(0.05)
""")
    child = session.fork()
    for one in (child, session, session.fork()):
        done = one.run("""
before = ticks
while ticks < before + 5:
    await asyncio.sleep(0.001)
signal.raise_signal(signal.SIGUSR1)
await got.wait()
process = await asyncio.create_subprocess_exec('echo', 'hi', stdout=-1)
(f.read(), (await process.communicate())[0])""")
        assert (done.status, done.text) == ("ok", r"('one', b'hi\n')"), done.error
