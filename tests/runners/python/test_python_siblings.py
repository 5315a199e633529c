"""200 forks of one Python zygote, and what has to be different among them: the rows of docs/fork-correctness.md. In cells forks
can have the number of the process they come from; so here getpid() is made to give all of them the same."""
import json
import os
import sys
import time

import pytest

import forks

SIBLINGS = 200
# Everything has been used before the forks: its state is in the memory that they share.
PRELUDE = """
import email.utils, hashlib, json, logging, math, multiprocessing, os, random, secrets, socket, sqlite3, ssl, ctypes, tempfile
import threading, time, uuid
import numpy as np
PRELUDE_TIME = time.time()
libc = ctypes.CDLL(None)
libc.drand48.restype = ctypes.c_double
database = None
class Own(random.Random):
    def seed(self, *_):
        pass
own = Own(1)
own_generator = np.random.default_rng(1)
own_state = np.random.RandomState(1)
own_bits = np.random.PCG64(1)
def draw():
    return {
        "random": random.random(),
        "random_bits": random.getrandbits(64),
        "random_instance": own.random(),
        "random_new": random.Random().random(),
        "secrets": secrets.token_hex(8),
        "urandom": os.urandom(8).hex(),
        "openssl": ssl.RAND_bytes(8).hex(),
        "uuid1": str(uuid.uuid1()),
        "uuid1_node": uuid.getnode(),
        "uuid4": str(uuid.uuid4()),
        "tempfile": tempfile.mktemp(),
        "numpy_legacy": np.random.rand(),
        "numpy_normal": np.random.normal(),
        "numpy_new": np.random.default_rng().random(),
        "numpy_generator": own_generator.random(),
        "numpy_state": own_state.rand(),
        "numpy_bits": int(own_bits.random_raw()),
        "libc_rand": libc.rand(),
        "libc_drand48": libc.drand48(),
        "sqlite": sqlite3.connect(":memory:").execute("select hex(randomblob(8))").fetchone()[0],
        "message_id": email.utils.make_msgid(domain="here"),
        "authkey": multiprocessing.current_process().authkey.hex(),
    }
draw()
np.random.normal()  # draws two, and keeps one
"""
# What is the same in all of them, or true in each.
RUN = """
told = draw()
told.update(
    hash=hash("snapcell"), order=list({"a", "b", "c", "d", "e"}), pid=os.getpid(), real_pid=int(os.readlink("/proc/self")),
    native=threading.get_native_id(), main=threading.main_thread().native_id, now=time.time(), log=logging._startTime,
    threads=len(os.listdir("/proc/self/task")), cwd=os.getcwd(), cached=multiprocessing.current_process().pid,
    descriptors=[os.readlink("/proc/self/fd/" + n) for n in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + n)],
    shared=[line for line in open("/proc/self/maps") if line.split()[1][1::2] == "ws"],
    one_thread=[name for name in os.environ if name.endswith("_NUM_THREADS")])
thread = threading.Thread(target=told.update, args=({"thread_ran": True},)); thread.start(); thread.join()
print(json.dumps(told))
"""
ROWS = ["random", "random_bits", "random_instance", "random_new", "secrets", "urandom", "openssl", "uuid1", "uuid1_node", "uuid4",
        "tempfile", "numpy_legacy", "numpy_normal", "numpy_new", "numpy_generator", "numpy_state", "numpy_bits", "libc_rand",
        "libc_drand48", "sqlite", "message_id", "authkey"]
# Step of snapcell_runner/forking/apart.py -> rows that siblings share without it.
STEPS = {
    "_libc": ["libc_rand", "libc_drand48"],
    "_numpy": ["numpy_legacy", "numpy_normal"],
    "_openssl": ["openssl"],
    "_sqlite": ["sqlite"],
    "_uuid": ["uuid1_node"],
    "_tempfile": ["tempfile"],
    "_multiprocessing": ["authkey"],
}
INSTANCES = ["random_instance", "numpy_generator", "numpy_state", "numpy_bits"]


def zygote_of(tree, work, same_pid, more=""):
    zygote = forks.Parent([sys.executable, str(tree / "python" / "runner.py"), "--zygote"], work, dict(os.environ, LD_PRELOAD=same_pid))
    said = zygote.prelude("code", PRELUDE + more)
    assert said["status"] == "ok", said["error"]["traceback"]
    assert zygote.serve() == {"op": "forkable"}
    return zygote


def session_of(tree, work, same_pid, more=""):
    session = forks.Parent([sys.executable, str(tree / "python" / "runner.py"), "--forkable"], work, dict(os.environ, LD_PRELOAD=same_pid))
    assert session.run(PRELUDE + more).status == "ok"
    return session


def told_by(child):
    done = child.run(RUN)
    assert done.status == "ok", done.error
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def siblings(tree, tmp_path_factory, same_pid):
    zygote = zygote_of(tree, tmp_path_factory.mktemp("work"), same_pid)
    told = []
    try:
        for _ in range(SIBLINGS):
            child = zygote.fork()
            told.append(dict(told_by(child), outside=child.pid, began=zygote.began))
            zygote.drop(child)
        assert zygote.hang_up() == 0
    finally:
        zygote.close()
    return told


@pytest.mark.parametrize("row", ROWS)
def test_siblings_differ(siblings, row):
    assert len({str(one[row]) for one in siblings}) == SIBLINGS


def test_the_rows_are_all_that_is_drawn(siblings):
    assert set(ROWS) == set(siblings[0]) - {
        "hash", "order", "pid", "real_pid", "native", "main", "now", "log", "threads", "cwd", "cached", "descriptors", "shared",
        "one_thread", "thread_ran", "outside", "began"}


def test_hashes_are_those_of_their_zygote(siblings, tree, work, same_pid):
    """As documented: shared by siblings, not by the forks of two zygotes."""
    assert len({(one["hash"], tuple(one["order"])) for one in siblings}) == 1
    other = zygote_of(tree, work, same_pid)
    try:
        assert told_by(other.fork())["hash"] != siblings[0]["hash"]
    finally:
        other.close()


def test_a_sibling_is_a_process_of_its_own(siblings):
    for one in siblings:
        assert one["pid"] == one["cached"] == 4242  # as all are told here
        assert one["real_pid"] == one["native"] == one["main"] == one["outside"]
    assert len({one["real_pid"] for one in siblings}) == SIBLINGS


def test_time_goes_on(siblings):
    nows = [one["now"] for one in siblings]
    assert nows == sorted(nows)
    assert all(one["began"] < one["log"] <= one["now"] <= time.time() for one in siblings)


def test_nothing_is_inherited_but_memory(siblings):
    for one in siblings:
        assert one["threads"] == 1 and one["thread_ran"] and one["shared"] == [] and one["one_thread"] == []
        kinds = {name.partition(":")[0] for name in one["descriptors"]}
        assert kinds <= {"/dev/null", "pipe", "socket"}
        assert len([name for name in one["descriptors"] if name.startswith("socket:")]) == 1


def without(step):
    return "\nimport snapcell_runner.forking.apart as apart\napart.%s = lambda *_: []\n" % step


@pytest.mark.parametrize("step", STEPS)
def test_no_step_is_needless(tree, work, same_pid, step):
    """Without it, siblings are alike in its rows: so the rows show that it works. In a session, where only this step does it."""
    session = session_of(tree, work, same_pid, without(step))
    try:
        told = [told_by(session.fork()) for _ in range(2)]
        for row in ROWS:
            if row in STEPS[step] + INSTANCES:
                assert told[0][row] == told[1][row], row
            elif step != "_uuid" or row != "uuid1":
                assert told[0][row] != told[1][row], row
    finally:
        session.close()


def test_generators_of_the_prelude_are_found(tree, work, same_pid):
    zygote = zygote_of(tree, work, same_pid, without("find_instances"))
    try:
        told = [told_by(zygote.fork()) for _ in range(2)]
        for row in INSTANCES:
            assert told[0][row] == told[1][row], row
    finally:
        zygote.close()


@pytest.mark.parametrize("step", ["_numpy", "_openssl", "_uuid", "_imports"])
def test_a_fork_that_cannot_go_apart_is_ended_before_any_run(tree, work, same_pid, step):
    zygote = zygote_of(tree, work, same_pid, "\nimport snapcell_runner.forking.apart as apart\napart.%s = lambda: 1 / 0\n" % step)
    try:
        child = zygote.fork()
        assert child.ready == {"op": "not_forkable", "reason": "ZeroDivisionError: division by zero"}
        assert child.wait() == 70
        assert zygote.fork().wait() == 70  # the zygote itself goes on
    finally:
        zygote.close()


def test_what_a_program_seeds_itself_is_as_documented(siblings, tree, work, same_pid):
    zygote = zygote_of(tree, work, same_pid)
    try:
        for _ in range(2):
            done = zygote.fork().run("random.seed(7)\nnp.random.seed(7)\n(round(random.random(), 6), round(float(np.random.rand()), 6))")
            assert done.text == "(0.323833, 0.076308)"
    finally:
        zygote.close()


def test_a_sibling_finds_modules_as_they_were_loaded(tree, work, same_pid):
    zygote = zygote_of(tree, work, same_pid)
    try:
        poison = "import builtins, sys\njson.dumps = None\nbuiltins.len = lambda _: 99\nsys.path.append('/evil')\nos.environ['POISON'] = '1'"
        assert zygote.fork().run(poison).status == "ok"
        assert zygote.fork().run("import sys\n(json.dumps([1]), len('ab'), '/evil' in sys.path, os.environ.get('POISON'))").text == "('[1]', 2, False, None)"
    finally:
        zygote.close()


def test_exit_handlers_of_the_prelude_are_the_forks_own(tree, work, same_pid):
    """A fork runs them at its end, as any copy of a process does; the zygote is not disturbed."""
    zygote = zygote_of(tree, work, same_pid, "\nimport atexit\natexit.register(lambda: open('ended-%s' % os.readlink('/proc/self'), 'x').close())\n")
    try:
        child = zygote.fork()
        child.run("1")
        child.socket.close()
        assert child.wait() == 0
        assert os.listdir(work) == ["ended-%d" % child.pid]
        assert zygote.fork().run("1").status == "ok"
    finally:
        zygote.close()
