#!/usr/bin/env python3
"""What the relay costs beside bare loopback: bench/egress.c is both ends, the origin stands on this machine in a network
namespace of its own.

  bench/egress.py BUILD [ROUNDS [MIB]]

Called by bench/run. Rounds alternate between the two ways; ratios are medians over rounds. As root or in a user namespace
(it makes both by itself).
"""
import ctypes
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

BENCH = pathlib.Path(__file__).resolve().parent
ADDRESS, PORT = "198.51.100.10", "7000"
CONNECTS = 1000
# (what, kind, limit): of the relay's median to the bare one's; or connections a second.
TARGETS = [("down", "throughput", 0.5), ("up", "throughput", 0.5), ("connect", "ratio", 3.0), ("connects", "per_second", 1000)]


def enter():
    line = ["unshare", "--net"]
    if os.geteuid() != 0:
        line += ["--user", "--map-current-user", "--keep-caps"]
    os.execvp(line[0], line + [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "inside"])


def set_up(folder):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "addr", "add", ADDRESS + "/32", "dev", "lo"], check=True)
    if os.geteuid() != 0:
        ctypes.CDLL(None).prctl(47, 4, 0, 0, 0)  # what runs from here on has no rights of ours
    program = os.path.join(folder, "egress")
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-static",
                    str(BENCH / "egress.c"), "-o", program], check=True)
    origin = subprocess.Popen([program, "origin", ADDRESS, PORT])
    while subprocess.run([program, "connects", ADDRESS, PORT, "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        pass
    return program, origin


def ask(line):
    done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True)
    return [int(x) for x in done.stdout.split()]


def measure(snapcell, program, rounds, mib):
    degraded = os.environ.get("SNAPCELL_TEST_DEGRADED", "")
    cell = [snapcell, "run", "--wall", "600s", "--cpus", "2", "--allow", "%s:%s" % (ADDRESS, PORT)]
    cell += ["--allow-degraded", degraded] if degraded else []
    taken = {}
    for number in range(rounds):
        ways = [("bare", [program]), ("cell", [*cell, program])]
        for way, head in ways if number % 2 else ways[::-1]:
            for what, size in (("down", mib), ("up", mib), ("connects", CONNECTS)):
                taken.setdefault((what, way), []).append(ask([*head, what, ADDRESS, PORT, str(size)]))
    return taken


def median(taken, what, way, column=0):
    return statistics.median(x[column] for x in taken[what, way])


def report(taken, mib):
    """Prints a row for each target; how many are missed."""
    missed = 0
    for what, kind, limit in TARGETS:
        if kind == "throughput":
            bare, cell = (mib / 1024 / (median(taken, what, way) / 1e9) for way in ("bare", "cell"))
            value, good = cell / bare, cell / bare >= limit
            text = "%-9s bare %6.2f GiB/s   relay %6.2f GiB/s   ratio %5.2f (at least %.2f)" % (what, bare, cell, value, limit)
        elif kind == "ratio":
            bare, cell = (median(taken, "connects", way) / 1e3 for way in ("bare", "cell"))
            value, good = cell / bare, cell / bare <= limit
            text = "%-9s bare %6.1f us      relay %6.1f us      ratio %5.2f (at most %.2f)" % (what, bare, cell, value, limit)
        else:
            bare, cell = (CONNECTS / (median(taken, "connects", way, 1) / 1e9) for way in ("bare", "cell"))
            good = cell >= limit
            text = "%-9s bare %6.0f /s      relay %6.0f /s      (at least %d)" % (what, bare, cell, limit)
        missed += not good
        print(text, "" if good else "  MISSED")
    return missed


def main():
    if sys.argv[-1] != "inside":
        enter()
    build, *more = sys.argv[1:-1]
    rounds, mib = (int(more[0]) if more else 5), (int(more[1]) if len(more) > 1 else 1024)
    with tempfile.TemporaryDirectory(prefix="snapcell-bench-") as folder:
        program, origin = set_up(folder)
        try:
            missed = report(measure(os.path.join(os.path.abspath(build), "src/cli/snapcell"), program, rounds, mib), mib)
        finally:
            origin.kill()
            origin.wait()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
