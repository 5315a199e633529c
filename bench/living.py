"""What living and parked cells cost beside the bare thing: bench/living.c and bench/warm.c measure, this compares and judges.

Called by bench/run; by itself:  bench/living.py BUILD ROUNDS
"""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

BENCH = pathlib.Path(__file__).resolve().parent
# (group, way, against, kind, limit): a difference of medians in ms, or a ratio of medians.
TARGETS = [
    ("python-value", "library", "exec", "difference_ms", 0.3),
    ("python-print", "library", "exec", "difference_ms", 0.3),
    ("python-function", "library", "exec", "difference_ms", 0.3),
    ("python-value", "keeper", "exec", "difference_ms", 0.3),
    ("python-print", "keeper", "exec", "difference_ms", 0.3),
    ("python-function", "keeper", "exec", "difference_ms", 0.3),
    ("output-100MB", "run", "pipe", "ratio", 2.0),
    ("output-100MB", "session", "pipe", "ratio", 2.0),
    ("check-200-lines", "checker", None, "absolute_ms", 1.0),
    ("python-hot", "warm-byte", "bare-bash", "ratio", 0.15),
    ("python-idle", "warm-byte", "bare-bash", "ratio", 0.27),
    ("python-hot", "warm", None, "absolute_ms", 0.5),
    ("node-hot", "warm", None, "absolute_ms", 0.7),
    ("bash-hot", "warm", None, "absolute_ms", 0.7),
]


def compile_parts(build, out):
    sources = sorted(str(path) for path in (BENCH.parent / "src" / "api").glob("*.c"))
    libraries = subprocess.run(["pkg-config", "--libs", "jansson", "libsystemd", "libevent_core"], stdout=subprocess.PIPE, text=True,
                               check=True).stdout.split()
    for name, more in (("living", sources), ("warm", [])):
        command = [os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror",
                   f"-I{BENCH.parent}/src", f"-I{BENCH.parent}/include", f"{BENCH}/{name}.c", *more, f"{build}/src/keeper/libsnapcell-keeper.a",
                   f"{build}/src/libsnapcell-core.a", *libraries, "-o", f"{out}/{name}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            sys.exit(f"bench/living.py: {done.stdout}")


def source_of_200_lines():
    """A file as people's programs are: functions, classes, strings, loops."""
    part = '''
class Account{n}:
    """Counts what comes and goes."""

    def __init__(self, owner, balance=0):
        self.owner = owner
        self.balance = balance
        self.history = []

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError(f"amount must be positive, not {{amount}}")
        self.balance += amount
        self.history.append(("deposit", amount))
        return self.balance

    def report(self):
        lines = [f"{{kind:>10}} {{amount:8.2f}}" for kind, amount in self.history]
        return "\\n".join([self.owner, *lines])

'''
    return "".join(part.format(n=n) for n in range(10))


def samples(build, out, rounds):
    """{group: {way: [ms]}}, with a keeper of our own."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        socket = os.path.join(folder, "keeper.sock")
        source = os.path.join(folder, "source.py")
        with open(source, "w", encoding="ascii") as f:
            f.write(source_of_200_lines())
        # It closes its stderr as soon as it serves.
        keeper = subprocess.Popen([f"{build}/src/cli/snapcell", "keeper", "--detach", "--socket", socket], stderr=subprocess.PIPE)
        try:
            trouble = keeper.stderr.read()
            if trouble:
                sys.exit("bench/living.py: " + trouble.decode())
            lines = []
            for harness in (["living", f"{BENCH}/baseline.py", socket, source, str(rounds)], ["warm", socket, str(rounds)]):
                done = subprocess.run([f"{out}/{harness[0]}", *harness[1:]], stdout=subprocess.PIPE, text=True, check=False)
                if done.returncode:
                    sys.exit("bench/living.py: the harness failed")
                lines += done.stdout.splitlines()
        finally:
            keeper.terminate()
            keeper.wait()
    found = {}
    for line in lines:
        _, group, way, ns = line.split("\t")
        found.setdefault(group, {}).setdefault(way, []).append(int(ns) / 1e6)
    return found


def quantile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def table(found):
    lines = ["living cells: ms", f"  {'what':<18}{'way':<10}{'p50':>9}{'p99':>9}{'n':>7}"]
    for group, ways in found.items():
        for way, values in ways.items():
            lines.append(f"  {group:<18}{way:<10}{statistics.median(values):9.3f}{quantile(values, 0.99):9.3f}{len(values):7d}")
    return "\n".join(lines)


def judge(found):
    """[{group, way, kind, limit, value, met}]"""
    verdicts = []
    for group, way, against, kind, limit in TARGETS:
        value = statistics.median(found[group][way])
        if kind == "difference_ms":
            value -= statistics.median(found[group][against])
        elif kind == "ratio":
            value /= statistics.median(found[group][against])
        verdicts.append({"group": group, "way": way, "against": against, "kind": kind, "limit": limit, "value": round(value, 3),
                         "met": value <= limit})
    return verdicts


def verdict_text(verdicts):
    return "\n".join(f"  {'met ' if v['met'] else 'LOST'}  {v['group']:<18}{v['way']:<10}{v['kind']:<14} {v['value']:7.3f} "
                     f"(at most {v['limit']}){' against ' + v['against'] if v['against'] else ''}" for v in verdicts)


def measure(build, out, rounds):
    """Prints its tables; returns what goes into the report."""
    compile_parts(build, out)
    found = samples(build, out, rounds)
    verdicts = judge(found)
    print(table(found))
    print(verdict_text(verdicts), flush=True)
    return {"verdicts": verdicts, "samples_ms": found}


if __name__ == "__main__":
    (BENCH / "out").mkdir(exist_ok=True)
    measure(pathlib.Path(sys.argv[1]).resolve(), BENCH / "out", int(sys.argv[2]))
