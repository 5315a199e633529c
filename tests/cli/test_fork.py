"""`snapcell session fork`, `snapshot` and `rollback`: what copies have, that nobody else is touched, and what is refused."""
import json
import time

import pytest
from conftest import PATIENCE
from wire import Wire


@pytest.fixture
def keeper(keepers):
    return keepers()


def said(done):
    assert done.returncode == 0, done
    return done.stdout.decode()


def forkable(keeper, name="a"):
    assert keeper.start("--forkable", "--name", name) == name
    return name


def forks(keeper, name, *options):
    return said(keeper("fork", name, *options)).split()


def refused(done, *words):
    assert done.returncode == 2, done
    for word in words:
        assert word in done.stderr.decode(), done.stderr


def names(keeper):
    return sorted(one["session"] for one in keeper.result("ls", "--json")["sessions"])


def info(keeper, name):
    return json.loads(said(keeper("info", name)))


MAKES = """
import os, random, tempfile, uuid
table = {"n": [1, 2, 3], "t": ("x", 1.5)}
class Kept:
    def __init__(self): self.calls = 0
    def __call__(self): self.calls += 1; return self.calls
kept = Kept(); kept()
os.makedirs("d/e"); open("d/e/lines", "w").write("one\\ntwo\\nthree\\n")
os.link("d/e/lines", "d/e/same"); os.symlink("e/lines", "d/link"); open("/tmp/of_tmp", "w").write("t")
lines = open("d/e/lines"); lines.readline()
log = open("log", "a"); log.write("begin\\n"); log.flush()
os.chdir("d")
random.seed(5)
"""
TELLS = """
log.write("more\\n"); log.flush()
print(table, kept(), lines.readline().strip(), os.getcwd(), sorted(os.listdir(".")), open("/tmp/of_tmp").read(),
      os.stat("e/lines").st_ino == os.stat("e/same").st_ino, os.readlink("link"), open("../log").read().split())
"""


def test_copies_go_on_where_the_session_stood(keeper):
    session = forkable(keeper)
    said(keeper.python(session, MAKES))
    copies = forks(keeper, session, "-n", "8", "--name", "copy")
    assert copies == ["copy-%d" % i for i in range(1, 9)]
    told = "{'n': [1, 2, 3], 't': ('x', 1.5)} 2 two /home/user/d ['e', 'link'] t True e/lines ['begin', 'more']\n"
    for name in [session, *copies]:
        assert said(keeper.python(name, TELLS)) == told
    random = "print(random.random(), uuid.uuid4(), os.urandom(8).hex(), tempfile.mktemp(), os.getpid())"
    found = [said(keeper.python(name, random)).split() for name in copies]
    for column in range(4):
        assert len({line[column] for line in found}) == len(copies), found


def test_nobody_sees_what_another_does(keeper):
    session = forkable(keeper)
    said(keeper.python(session, "x = 0\nopen('f', 'w').write('0')"))
    copies = forks(keeper, session, "-n", "4")
    for number, name in enumerate([*copies, session], 1):
        said(keeper.python(name, "x = %d\nopen('f', 'w').write(str(x))\nopen('/dev/shm/s', 'x').close()\nopen('of%d', 'x').close()" %
                           (number, number)))
    for number, name in enumerate([*copies, session], 1):
        assert said(keeper.python(name, "import os\nprint(x, open('f').read(), sorted(os.listdir('.')))")) == \
            "%d %d ['f', 'of%d']\n" % (number, number, number)
        assert said(keeper("exec", name, "--", "sh", "-c", "echo $$; cat f")).split()[1] == str(number)


def test_200_states(keeper):
    """Of one session, a copy of each state that it goes through; each is what the session was then."""
    session = forkable(keeper)
    said(keeper.python(session, "state = []\nlog = open('log', 'w')"))
    for step in range(200):
        said(keeper.python(session, "state.append(%d)\nprint(%d, file=log, flush=True)" % (step, step)))
        (copy,) = forks(keeper, session)
        assert said(keeper.python(copy, "print(len(state), state[-1], log.tell() == len(open('log').read()), len(open('log').readlines()))")) == \
            "%d %d True %d\n" % (step + 1, step, step + 1)
        assert keeper("end", copy).returncode == 0
    assert said(keeper.python(session, "print(len(state), len(open('log').readlines()))")) == "200 200\n"


def test_the_session_may_end_before_its_copies(keeper):
    session = forkable(keeper)
    said(keeper.python(session, "import subprocess\nx = 7\nopen('f', 'w').write('of it')"))
    copies = forks(keeper, session, "-n", "3")
    # What it left behind ends with it, however independent it made itself; copies do not.
    said(keeper.python(session, "p = subprocess.Popen(['sh', '-c', 'setsid sleep 1000 & setsid sleep 1000'])"))
    assert keeper("end", session).returncode == 0
    assert names(keeper) == sorted(copies)
    for name in copies:
        assert said(keeper.python(name, "print(x, open('f').read())")) == "7 of it\n"
    assert keeper.start("--name", session) == session, "its name is free"
    assert keeper("end", session).returncode == 0
    for name in copies:
        assert keeper.cells()
        assert keeper("end", name).returncode == 0
    until = time.monotonic() + PATIENCE
    while keeper.cells():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_session_is_paused_without_its_copies(keeper):
    session = forkable(keeper)
    said(keeper.python(session, "x = 7"))
    (copy,) = forks(keeper, session)
    assert keeper("pause", session).returncode == 0
    assert said(keeper.python(copy, "print(x)")) == "7\n"
    assert keeper("resume", session).returncode == 0
    assert said(keeper.python(copy, "print(x)")) == "7\n"
    said(keeper.python(session, "x = 1"))
    (other,) = forks(keeper, session)
    assert keeper("end", session).returncode == 0
    assert said(keeper.python(other, "print(x)")) == "1\n"


def test_an_interpreter_that_dies_leaves_the_copies(keeper):
    session = forkable(keeper)
    said(keeper.python(session, "import os\nx = 1"))
    (copy,) = forks(keeper, session)
    assert keeper.python(session, "os._exit(3)").returncode == 3
    assert said(keeper.python(copy, "print(x)")) == "1\n"
    assert said(keeper.python(session, "print('x' in globals())")) == "False\n"
    assert keeper.python(copy, "os._exit(4)").returncode == 4
    assert said(keeper.python(copy, "print('x' in globals())")) == "False\n"


def test_snapshots(keeper):
    session = forkable(keeper)
    said(keeper.python(session, "x = 1\nopen('f', 'w').write('one')"))
    assert said(keeper("snapshot", session, "--name", "then")) == "then\n"
    said(keeper.python(session, "x = 2\nopen('f', 'w').write('two')\nopen('g', 'w').close()"))
    tells = "import os\nprint(x, open('f').read(), sorted(os.listdir('.')))"
    assert "snapshot of a" in said(keeper("ls"))
    for words in (("run", "then", "--python", "-c", "1"), ("exec", "then", "--", "true"), ("snapshot", "then"), ("ls", "then")):
        refused(keeper(*words), "then", "snapshot")
    for _ in range(3):
        (name,) = said(keeper("start", "--from", "then")).split()
        assert said(keeper.python(name, tells + "\nx = 5")) == "1 one ['f']\n"
        told = info(keeper, name)
        assert (told["parent"], told["snapshot"], told["generation"], told["forkable"]) == ("a", "then", 2, False)
    assert keeper("rollback", session, "then").returncode == 0
    assert said(keeper.python(session, tells)) == "1 one ['f']\n"
    assert keeper("end", "then").returncode == 0
    assert said(keeper.python(session, tells)) == "1 one ['f']\n"
    refused(keeper("rollback", session, "then"), "then", "none of this name")
    refused(keeper("start", "--from", "then"), "then", "none of this name")
    assert said(keeper.python(session, tells)) == "1 one ['f']\n"


def test_after_a_rollback_it_is_forked_again(keeper):
    assert keeper.start("--forkable", "--name", "a", "--total", "2h", "--idle", "1h") == "a"
    said(keeper.python("a", "x = 1"))
    said(keeper("snapshot", "a", "--name", "then"))
    for time_again in range(3):
        assert keeper("rollback", "a", "then").returncode == 0
        told = info(keeper, "a")
        assert (told["forkable"], told["snapshot"], told["generation"]) == (True, "then", 2)
        assert told["left_ms"] > 3600000 and told["idle_left_ms"] > 1800000
        assert said(keeper.python("a", "print(x)\nx = 10 + %d" % time_again)) == "1\n"
        copies = forks(keeper, "a", "-n", "3")
        for name in copies:
            assert said(keeper.python(name, "print(x)")) == "%d\n" % (10 + time_again)
            assert keeper("end", name).returncode == 0


def test_generations_of_rollbacks(keeper):
    """Two at least; then it ends with a word, and the session goes on."""
    session, depth = forkable(keeper), 0
    said(keeper.python(session, "x = 0"))
    while True:
        kept = keeper("snapshot", session, "--name", "s%d" % depth)
        if kept.returncode != 0:
            break
        if keeper("rollback", session, "s%d" % depth).returncode != 0:
            break
        depth += 1
        assert said(keeper.python(session, "x += 1\nprint(x)")) == "%d\n" % depth
    refused(keeper("fork", session), "cannot be forked")
    assert depth >= 3, "two that can be forked, and one that cannot"
    assert said(keeper.python(session, "print(x)")) == "%d\n" % depth
    assert keeper("rollback", session, "s0").returncode == 0
    assert said(keeper.python(session, "print(x)")) == "0\n"
    assert info(keeper, session)["forkable"]


THREAD = "import threading, time\nt = threading.Thread(target=time.sleep, args=(1000,), daemon=True, name='mine')\nt.start()"
STRAY = "import subprocess, time\nsubprocess.run(['sh', '-c', 'setsid sleep 1000 &'])"


@pytest.mark.parametrize("code, word", [
    (THREAD, "2 threads are running: mine"),
    ("import subprocess\np = subprocess.Popen(['sleep', '1000'])", "other processes were started"),
    (STRAY, "another process runs: sleep"),
    ("import socket\ns = socket.socketpair()", "socket"),
    ("import os\np = os.pipe()", "pipe"),
    ("f = open('gone', 'w')\nimport os\nos.remove('gone')", "gone"),
    ("import mmap\nm = mmap.mmap(-1, 4096)", "memory is shared"),
], ids=["thread", "child", "stray", "socket", "pipe", "removed", "shared"])
def test_what_cannot_be_carried_is_refused(keeper, code, word):
    session = forkable(keeper)
    said(keeper.python(session, "x = 3\n" + code))
    for words in (("fork", session), ("fork", session, "-n", "3"), ("snapshot", session)):
        refused(keeper(*words), "cannot be forked", word)
    with Wire(keeper) as wire:
        assert wire.ask(request="session.fork", session=session)["error"]["kind"] == "not_forkable"
    until = time.monotonic() + PATIENCE
    while names(keeper) != [session]:
        assert time.monotonic() < until
    assert said(keeper.python(session, "print(x)")) == "3\n"


def test_other_refusals(keeper):
    keeper.start("--name", "plain")
    refused(keeper("fork", "plain"), "--forkable")
    refused(keeper("fork", "none"), "none of this name")
    session = forkable(keeper)
    refused(keeper("fork", session, "-n", "65"), "65", "1 to 64")
    refused(keeper("fork", session, "-n", "0"), "0", "1 to 64")
    refused(keeper("start", "--from", session, "--env", "A=b"), "env", "--from")
    refused(keeper("rollback", session, "plain"), "none of this name")
    said(keeper.python(session, "x = 1"))
    said(keeper("run", session, "--bash", "-c", "true"))
    refused(keeper("fork", session), "bash")
    assert keeper("restart", session, "bash").returncode == 0
    until = time.monotonic() + PATIENCE
    while keeper("fork", session, "--name", "copy").returncode != 0:
        assert time.monotonic() < until
    assert said(keeper.python("copy", "print(x)")) == "1\n"
    refused(keeper("fork", "copy"), "--forkable")
    refused(keeper("fork", session, "--name", "copy"), "copy", "alive")
    assert names(keeper) == ["a", "copy", "plain"]


def test_nothing_may_be_under_way(keeper):
    session = forkable(keeper)
    said(keeper.python(session, "x = 1"))
    assert keeper("exec", session, "--background", "--", "sleep", "1000").returncode == 0
    with Wire(keeper) as wire:
        assert wire.ask(request="session.fork", session=session)["error"]["kind"] == "busy"
    refused(keeper("snapshot", session), "under way")
    assert names(keeper) == [session]


def test_copies_of_copies(keeper):
    session = forkable(keeper)
    said(keeper.python(session, "x = 1"))
    (first,) = forks(keeper, session, "--forkable")
    said(keeper.python(first, "x += 1"))
    (second,) = forks(keeper, first)
    assert keeper("end", first).returncode == 0
    assert keeper("end", session).returncode == 0
    assert said(keeper.python(second, "print(x)")) == "2\n"
    told = info(keeper, second)
    assert (told["parent"], told["generation"], told["forkable"]) == (first, 2, False)


def test_the_keepers_end_leaves_nothing(keeper):
    session = forkable(keeper)
    said(keeper.python(session, "x = 1"))
    (first,) = forks(keeper, session, "--forkable")
    forks(keeper, first, "-n", "2")
    said(keeper("snapshot", session))
    assert keeper("end", session).returncode == 0
    keeper.end()
    assert not keeper.cells()


def test_a_sessions_time_is_not_its_copies(keeper):
    assert keeper.start("--forkable", "--name", "short", "--total", "3s") == "short"
    said(keeper.python("short", "x = 7"))
    until = time.monotonic() + PATIENCE
    (copy,) = forks(keeper, "short")
    while names(keeper) != [copy]:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert said(keeper.python(copy, "print(x)")) == "7\n"
    assert keeper("end", copy).returncode == 0
    while keeper.cells():
        assert time.monotonic() < until
        time.sleep(0.1)
