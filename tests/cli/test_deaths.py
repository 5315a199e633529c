"""Keepers and gates that are killed: nothing is left, clients are told, and the next one goes on."""
import json
import os
import random
import signal
import subprocess
import threading
import time

import pytest
from conftest import PATIENCE
from gate import GateKeeper
from test_gate import gates, run, spec  # noqa: F401 (fixtures)


def groups():
    """Names of groups that cells have, below every hierarchy's folder for them, with their makers' pids."""
    found = set()
    for folder, names, _ in os.walk("/sys/fs/cgroup"):
        found.update(os.path.join(folder, x) for x in names if x.startswith("snapcell-"))
        if folder.count("/") > 6:
            names[:] = []
    return found


def made_by(pids):
    return {x for x in groups() if int(os.path.basename(x).split("-")[1]) in pids}


def is_there(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(true, what=""):
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def kill(keeper):
    """As nobody can prepare for; the cells that it had."""
    cells = keeper.cells()
    keeper.child.kill()
    keeper.child.wait()
    return cells


def test_a_keeper_that_was_killed_leaves_nothing_once_another_serves(gates, spec):
    first = gates(tenants={"a": spec})
    with first.tenant("a") as a:
        sessions = [a.ask(request="session.start", spec=spec)["ok"]["session"] for _ in range(3)]
        for session in sessions:
            assert a.ask(request="run", session=session, language="python", code="1")["ok"]["status"] == "ok"
        a.begin(request="once", spec=dict(spec, language="python", mode="rich", code="while True: pass"))
        channel = a.begin(request="run", session=sessions[0], language="python", code="while True: pass")
        until(lambda: len(first.cells()) >= 4)
        cells, pid = kill(first), first.child.pid
        with pytest.raises(EOFError):  # who waits sees at once that nobody is there any more
            a.finish(channel)
    until(lambda: not any(map(is_there, cells)))
    second = gates(state=first.state)
    with second.gate() as gate:
        gate.identify(key=second.key("a"))  # its first answer: by now it has taken away what was left
        assert made_by({pid}) == set()
        for session in sessions:
            error = gate.ask(request="run", session=session, language="python", code="1")["error"]
            assert error["kind"] == "ended" and "lost" in error["message"]
        assert gate.ask(request="session.info", session="never")["error"]["kind"] == "not_found"
        assert run(gate, spec)["ok"]["stdout"] == "42\n"
    with second.tenant("b") as other:  # nobody else is told
        assert other.ask(request="session.info", session=sessions[0])["error"]["kind"] == "not_found"
    ends = [x for x in records(second) if x["event"] == "session.end"]
    assert sorted(x["session"] for x in ends if x["why"] == "lost") == sorted(sessions)


def test_sessions_that_ended_are_not_lost(gates, spec):
    first = gates(tenants={"a": spec})
    with first.tenant("a") as a:
        session = a.ask(request="session.start", spec=spec, name="mine")["ok"]["session"]
        a.ask(request="session.end", session=session)
        kill(first)
    second = gates(state=first.state)
    with second.tenant("a") as a:
        assert a.ask(request="session.info", session="mine")["error"]["kind"] == "not_found"
        a.ask(request="session.start", spec=spec, name="mine")
    kill(second)
    third = gates(state=first.state)
    with third.tenant("a") as a:
        assert a.ask(request="session.info", session="mine")["error"]["kind"] == "ended"
        assert a.ask(request="session.start", spec=spec, name="mine")["ok"]["session"] == "mine"
        assert "ok" in a.ask(request="session.info", session="mine")
    assert third.end() == 0
    fourth = gates(state=first.state)
    with fourth.tenant("a") as a:  # one that ends as it should loses none
        assert a.ask(request="session.info", session="mine")["error"]["kind"] == "not_found"


def records(keeper):
    with open(os.path.join(keeper.state, "audit", "audit.jsonl"), "rb") as f:
        return [json.loads(x) for x in f.read().splitlines()]


def test_a_door_outlives_its_keeper(gates, cli, spec, tmp_path):
    """What is said through it while no keeper serves waits for the next one."""
    first = gates(tenants={"a": spec})
    import socket
    door, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with door, theirs:
        kill(first)
        line = ["keeper", "--gate-fd", str(theirs.fileno()), "--state", first.state]
        first.door.close()
        first.door = door
        gate_sock, end = socket.socketpair()
        first.through_the_door(1, end)
        end.close()
        from gate import GateWire
        wire_of_old = GateWire(gate_sock, greet=False)
        child = cli.popen(*line, env=first.env, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        try:
            import struct
            import wire
            wire_of_old.send(wire.frame(8, 0, struct.pack("<II", wire.MAGIC, wire.VERSION)))
            assert wire_of_old.frame()[0] == wire.WELCOME
            assert "ok" in wire_of_old.identify(key=first.key("a"))
        finally:
            child.terminate()
            assert child.wait(PATIENCE) == 0


# ---- under load ----

JOBS = {
    "good": ("print(6*7)", {}, {"ok"}),
    "bad": ("raise SystemExit(3)", {}, {"error"}),
    "endless": ("while True: pass", {"wall_ms": 200}, {"timeout"}),
    "greedy": ("x = bytearray(300 << 20)\nx[::4096] = b'a' * len(x[::4096])", {"memory_bytes": 64 << 20}, {"out_of_memory", "error"}),
    "crowd": ("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", {"wall_ms": 300}, {"timeout", "process_limit", "out_of_memory"}),
    "loud": ("import sys\nwhile True: sys.stdout.write('x' * 65536)", {"wall_ms": 200}, {"timeout", "output_limit"}),
}
# Ours, said as such, are allowed while things are killed; a verdict about the program must be the right one.
OURS = {"sandbox_error", "cancelled"}


class Load:
    """Clients that ask for all kinds of jobs, one after another, until they are told to stop; what came of them."""

    def __init__(self, connect, spec, clients=3, seed=1):
        self.connect, self.spec, self.stopping = connect, spec, False
        self.counts, self.wrong, self.errors = {}, [], []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._go, args=(seed + i,), daemon=True) for i in range(clients)]
        for thread in self.threads:
            thread.start()

    def _go(self, seed):
        choose = random.Random(seed)
        while not self.stopping:
            try:
                with self.connect() as gate:
                    while not self.stopping:
                        self._one(gate, choose.choice(sorted(JOBS)))
            except (EOFError, OSError, AssertionError, KeyError):
                time.sleep(0.05)  # nobody is there: again

    def _one(self, gate, name):
        code, limits, expected = JOBS[name]
        reply = run(gate, self.spec, code, limits=limits)
        with self.lock:
            status = reply["ok"]["status"] if "ok" in reply else reply["error"]["kind"]
            self.counts[name, status] = self.counts.get((name, status), 0) + 1
            if "ok" in reply and status not in expected | OURS:
                self.wrong.append((name, status, reply["ok"]["message"]))
            if "ok" in reply and name == "good" and status == "ok" and reply["ok"]["stdout"] != "42\n":
                self.wrong.append((name, reply["ok"]))

    def answered(self, name="good", status="ok"):
        with self.lock:
            return self.counts.get((name, status), 0)

    def stop(self):
        self.stopping = True
        for thread in self.threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def test_agents_and_programs_that_are_killed_under_load(gates, spec):
    """At random, whatever lives in cells: the keeper goes on, and no program is blamed for it."""
    keeper = gates("--running", "4", tenants={"a": dict(spec, queued=100, cells=100)})
    key = keeper.key("a")

    def connect():
        gate = keeper.gate()
        gate.identify(key=key)
        return gate

    load = Load(connect, spec)
    choose = random.Random(7)
    end = time.monotonic() + 12
    killed = 0
    try:
        while time.monotonic() < end:
            cells = keeper.cells()
            if cells:
                try:
                    os.kill(choose.choice(cells), signal.SIGKILL)
                    killed += 1
                except ProcessLookupError:
                    pass
            time.sleep(0.1)
        # Whole again.
        before = load.answered()
        until(lambda: load.answered() > before + 3, load.counts)
    finally:
        load.stop()
    # A main process that is killed from outside its cell looks as if it had been killed inside: signaled is the truth.
    wrong = [x for x in load.wrong if x[1] != "signaled"]
    assert not wrong and killed > 10, (wrong, killed)
    assert keeper.child.poll() is None


def test_keepers_that_are_killed_under_load(gates, spec):
    """Four times in a row; each time the next one takes over the state, and in the end nothing is left."""
    keepers = [gates("--running", "4", tenants={"a": dict(spec, queued=100, cells=100)})]
    key = keepers[0].key("a")

    def connect():
        gate = keepers[-1].gate()
        gate.identify(key=key)
        assert gate.token
        return gate

    load = Load(connect, spec)
    cells, pids = [], set()
    try:
        for _ in range(4):
            before = load.answered()
            until(lambda b=before: load.answered() > b, load.counts)
            pids.add(keepers[-1].child.pid)
            cells += kill(keepers[-1])
            keepers.append(gates("--running", "4", state=keepers[0].state))
        before = load.answered()
        until(lambda: load.answered() > before + 3, load.counts)
    finally:
        load.stop()
    assert not load.wrong, load.wrong
    until(lambda: not any(map(is_there, cells)))
    until(lambda: made_by(pids) == set())
    assert keepers[-1].end() == 0
    done = keepers[0].cli("audit", "verify", "--json", "--state", keepers[0].state)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["records"] > 10


def test_a_hostile_tenant_does_not_harm_another(gates, spec):
    """One tenant with nothing but hostile jobs, as many as it may have; the other one's verdicts are right, soon, and its own."""
    keeper = gates("--running", "4", tenants={"hostile": dict(spec, queued=200, cells=200), "good": spec})
    keys = {x: keeper.key(x) for x in ("hostile", "good")}

    def connect():
        gate = keeper.gate()
        gate.identify(key=keys["hostile"])
        for _ in range(30):  # waiting ones on top of what the clients ask
            gate.begin(request="once", output="reply", spec=dict(spec, language="python", mode="rich", code=JOBS["crowd"][0],
                                                                 limits=JOBS["crowd"][1]))
        return gate

    load = Load(connect, spec, clients=2)
    try:
        with keeper.gate() as good:
            good.identify(key=keys["good"])
            session = good.ask(request="session.start", spec=spec, name="work")["ok"]["session"]
            for i in range(10):
                assert run(good, spec, "print(%d)" % i)["ok"]["stdout"] == "%d\n" % i
                got = good.ask(request="run", session=session, language="python", code="print(%d)" % i, output="reply")
                assert got["ok"]["stdout"] == "%d\n" % i
            seen = good.ask(request="session.list")["ok"]["sessions"]
            assert [x["session"] for x in seen] == ["work"]
            text = good.ask(request="metrics")["ok"]["text"]
            assert "hostile" not in text
        with keeper.gate() as spy:
            spy.identify(key=keys["hostile"])
            assert spy.ask(request="session.info", session="work")["error"]["kind"] == "not_found"
            assert spy.ask(request="session.end", session="work")["error"]["kind"] == "not_found"
    finally:
        load.stop()
    assert not load.wrong, load.wrong
