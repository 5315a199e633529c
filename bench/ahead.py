"""What cells that are there ahead of their request cost: forks of zygotes and of living sessions, making one that waits, and the
memory that such a one has for itself.

Called by bench/run; by itself:  bench/ahead.py BUILD ROUNDS

Everything is asked of a keeper over its socket, from this process, whose own share of each exchange is some 0.1 ms. Ways take turns
with a bare `bash -c :`.
"""
import contextlib
import glob
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

BENCH = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(BENCH.parent / "tests" / "cli"))

import wire  # noqa: E402

IDLE_S = 0.02
PATIENCE_S = 60
MB = 1 << 20
LANGUAGES = {
    "python": {"language": "python", "code": "print(1)"},
    "pandas": {"language": "python", "imports": ["pandas"], "code": "import pandas\nprint(1)"},
    "node": {"language": "node", "code": "console.log(1)"},
    "bash": {"language": "bash", "code": "echo 1"},
}
# What a run really does with what it has: a table of some thousands of rows and a sum over it, or the like.
WORK = {
    "python": "import json\nrows = [{'n': i, 'text': str(i) * 8} for i in range(20000)]\nprint(len(json.dumps(rows)))",
    "pandas": "import pandas\nt = pandas.DataFrame({'a': range(20000), 'b': [i % 7 for i in range(20000)]})\nprint(t.groupby('b').a.sum())",
    "node": "const rows = Array.from({length: 20000}, (_, n) => ({n, text: String(n).repeat(8)})); console.log(JSON.stringify(rows).length)",
    "bash": "for ((i = 0; i < 20000; i++)); do rows[i]=$i$i$i; done; echo ${#rows[@]}",
}
STATES_MB = (10, 100, 500)
# (group, way, limit): a median in ms, or MB.
TARGETS = [
    ("python", "fork-hot", 1.5), ("pandas", "fork-hot", 2.2), ("node", "fork-hot", 2.5),
    ("session-100MB", "fork", 15), ("session-100MB", "parent", 5),
    ("python", "parked-MB", 1.8), ("pandas", "parked-MB", 2.5), ("node", "parked-MB", 1.8),
]


class Keeper:
    """One of our own that keeps at most `pool` cells ahead."""

    def __init__(self, build, folder, pool):
        self.path = os.path.join(folder, "keeper-%d.sock" % pool)
        self.process = subprocess.Popen([f"{build}/src/cli/snapcell", "keeper", "--socket", self.path, "--pool", str(pool)],
                                        stdin=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE_S
        while not os.path.exists(self.path):
            if self.process.poll() is not None or time.monotonic() > until:
                sys.exit("bench/ahead.py: the keeper does not serve")
            time.sleep(0.02)

    def connect(self):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.path)
        return sock

    def end(self):
        self.process.terminate()
        self.process.wait()

    def groups(self):
        """Memory groups of its cells."""
        for top in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup"):
            pattern = "%s/%s/snapcell-%d-*" % (top, os.environ.get("SNAPCELL_CGROUP_PARENT", "").strip("/") or "**", self.process.pid)
            found = glob.glob(pattern, recursive=True)
            if found:
                return set(found)
        return set()


@contextlib.contextmanager
def keeper_of(build, pool):
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        keeper = Keeper(build, folder, pool)
        try:
            yield keeper
        finally:
            keeper.end()


def good(reply):
    if "ok" not in reply or reply["ok"].get("status", "ok") != "ok":
        sys.exit("bench/ahead.py: %s" % reply)
    return reply["ok"]


def spec_of(what):
    parent = os.environ.get("SNAPCELL_CGROUP_PARENT")
    return {"mode": "rich", **what, **({"cgroup_parent": parent} if parent else {})}


def once(line, what):
    """(ms to the first byte of output, ms to the answer, result) of one run."""
    begin = time.monotonic_ns()
    channel = line.begin(request="once", spec=spec_of(what))
    kind = None
    while kind != wire.OUTPUT:
        kind, _, payload = line.frame()
        if kind == wire.REPLY:
            sys.exit("bench/ahead.py: no output: %r" % payload)
    first = time.monotonic_ns()
    result = good(line.finish(channel)[0])
    return (first - begin) / 1e6, (time.monotonic_ns() - begin) / 1e6, result


def bare_bash():
    begin = time.monotonic_ns()
    subprocess.run(["/bin/bash", "-c", ":"], check=True)
    return (time.monotonic_ns() - begin) / 1e6


def is_forked(result):
    return "zygote_age_ms" in result["start"]


def prime(line, what):
    until = time.monotonic() + PATIENCE_S
    while not is_forked(once(line, what)[2]):
        if time.monotonic() > until:
            sys.exit("bench/ahead.py: no zygote of %s" % what)
        time.sleep(0.2)


class Samples:
    def __init__(self):
        self.found = {}

    def add(self, group, way, value):
        self.found.setdefault(group, {}).setdefault(way, []).append(value)


# ---- forks of zygotes ----

def forks(build, rounds, samples):
    """A pool of one is empty as soon as requests follow each other: what comes second is forked when it is asked for."""
    with keeper_of(build, 1) as keeper, wire.Wire(keeper) as line:
        for name, what in LANGUAGES.items():
            prime(line, what)
            for _ in range(rounds):
                time.sleep(IDLE_S)
                samples.add(name, "bare-bash", bare_bash())
                for way in ("idle", "hot", "hot"):
                    if way == "idle":
                        time.sleep(IDLE_S)
                    first, end, result = once(line, what)
                    kind = result["start"]["kind"]
                    kind = kind if kind == "fork" else "parked" if is_forked(result) else kind
                    samples.add(name, "%s-%s" % (kind, way), first)
                    samples.add(name, "%s-%s-end" % (kind, way), end)


# ---- cells that wait ----

def read_mb(group):
    for name in ("memory.usage_in_bytes", "memory.current"):
        with contextlib.suppress(OSError), open(os.path.join(group, name), encoding="ascii") as f:
            return int(f.read()) / MB
    return None


def settled(keeper):
    """The groups, when nothing has come or gone for a while."""
    seen, since = None, time.monotonic()
    while time.monotonic() < since + 0.5:
        now = keeper.groups()
        if now != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.01)
    return seen


def parked(build, rounds, samples):
    """What a waiting cell is charged for, agent, page tables and kernel objects among it; and what a run made of it at most."""
    with keeper_of(build, 1) as keeper, wire.Wire(keeper) as line:
        for name, what in LANGUAGES.items():
            prime(line, what)
            zygotes = set()
            for _ in range(max(2, rounds // 4)):
                before = settled(keeper)
                result = once(line, {**what, "code": WORK[name]})[2]
                after = settled(keeper)
                zygotes = before & after if not zygotes else zygotes & before & after
                fresh = [read_mb(group) for group in after - before]
                if result["start"]["kind"] == "warm" and is_forked(result):
                    samples.add(name, "worked-MB", result["usage"]["memory_peak_bytes"] / MB)
                if len(fresh) == 1 and fresh[0] is not None:
                    samples.add(name, "parked-MB", fresh[0])
            made(line, what, name, rounds, samples)


def made(line, what, name, rounds, samples):
    """From an answer to the moment at which the next one waits, as the result of who takes it tells; the quiet that is waited for
    before (2 ms) is part of it."""
    for _ in range(rounds):
        once(line, what)
        begin = time.monotonic_ns()
        time.sleep(0.2)
        taken = time.monotonic_ns()
        start = once(line, what)[2]["start"]
        if start["kind"] == "warm" and "zygote_age_ms" in start:
            samples.add(name, "made", (taken - begin) / 1e6 - start["parked_ms"])


# ---- forks of sessions ----

STATE = "state = [bytes([i %% 256]) * 4096 for i in range(%d)]"
# The parent's own clock: it ticks each millisecond but while it is being forked, and tells the longest gap.
CLOCK = """
import signal, time
last, longest = time.monotonic_ns(), 0
def tick(*_):
    global last, longest
    now = time.monotonic_ns()
    longest, last = max(longest, now - last), now
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
"""


def bare_forks(size, rounds):
    """What os.fork() takes in an interpreter outside of any cell, with the same state."""
    code = ("import os, time\n" + STATE % (size * MB // 4096) + "\nfor _ in range(%d):\n"
            "    begin = time.monotonic_ns()\n    pid = os.fork()\n    if pid == 0: os._exit(0)\n"
            "    print(time.monotonic_ns() - begin)\n    os.waitpid(pid, 0)" % rounds)
    ran = subprocess.run(["/usr/bin/python3", "-I", "-c", code], capture_output=True, text=True, check=True)
    return [int(line) / 1e6 for line in ran.stdout.split()]


def sessions(build, rounds, samples):
    """`fork`: from the request to the answer that the copy is ready. `parent`: for how long its interpreter stood still meanwhile."""
    with keeper_of(build, 0) as keeper, wire.Wire(keeper) as line:
        for size in STATES_MB:
            spec = {**spec_of({"forkable": True, "limits": {"memory_bytes": 2 << 30}}), "mode": "plain"}
            session = good(line.ask(request="session.start", spec=spec))["session"]

            def run(code):
                reply, output = line.finish(line.begin(request="run", session=session, language="python", code=code))
                good(reply)
                return output.get(wire.STDOUT, b"").decode()

            for value in bare_forks(size, max(2, rounds // 2)):
                samples.add("session-%dMB" % size, "bare-fork", value)
            run(STATE % (size * MB // 4096))
            run(CLOCK)
            for _ in range(max(2, rounds // 2)):
                run("longest = 0")
                begin = time.monotonic_ns()
                copies = good(line.ask(request="session.fork", session=session))["sessions"]
                samples.add("session-%dMB" % size, "fork", (time.monotonic_ns() - begin) / 1e6)
                samples.add("session-%dMB" % size, "parent", int(run("print(longest)")) / 1e6 - 1)
                for name in copies:
                    good(line.ask(request="session.end", session=name))
            good(line.ask(request="session.end", session=session))


# ---- the whole ----

def quantile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def table(found):
    lines = ["cells ahead: ms, and MB where it says so", f"  {'what':<15}{'way':<16}{'p50':>9}{'p99':>9}{'n':>6}"]
    for group, ways in found.items():
        lines += [f"  {group:<15}{way:<16}{statistics.median(values):9.3f}{quantile(values, 0.99):9.3f}{len(values):6d}"
                  for way, values in sorted(ways.items())]
    return "\n".join(lines)


def judge(found):
    """[{group, way, limit, value, met}]; value and met None: it was never so."""
    verdicts = []
    for group, way, limit in TARGETS:
        values = found.get(group, {}).get(way)
        value = round(statistics.median(values), 3) if values else None
        verdicts.append({"group": group, "way": way, "limit": limit, "value": value, "met": value <= limit if values else None})
    return verdicts


def verdict_text(verdicts):
    marks = {True: "met ", False: "LOST", None: "-   "}
    return "\n".join(f"  {marks[v['met']]}  {v['group']:<15}{v['way']:<16}{v['value'] if v['value'] is not None else 'not measured'} "
                     f"(at most {v['limit']})" for v in verdicts)


def measure(build, rounds):
    """Prints its tables; returns what goes into the report."""
    samples = Samples()
    for part in (forks, parked, sessions):
        begin = time.monotonic()
        part(build, rounds, samples)
        print(f"{part.__name__}: {time.monotonic() - begin:.0f} s", flush=True)
    verdicts = judge(samples.found)
    print(table(samples.found))
    print(verdict_text(verdicts), flush=True)
    return {"verdicts": verdicts, "samples": samples.found}


if __name__ == "__main__":
    measure(pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]))
