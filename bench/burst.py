#!/usr/bin/env python3
"""What a service's keeper does with more at once than cells wait: print(1) in Python.

  bench/burst.py [--build DIR] [--burst N] [--seconds S]

Starts a service of its own, as it comes but for a tenant's queue, and ends it. The burst goes by HTTP on the unix socket, a connection for
each request, all sent before one is answered: the keeper lets four for each processor run at once, the others wait for their turn. The
sustained rate is that of the keeper asked directly, by one client that has 1, 4 or 16 requests under way and sends the next one at
each answer, so that no time is left in which cells could be made ahead. The clients are Python, on the same processors. bench/run
calls it with `--program ahead`.
"""
import argparse
import collections
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

BENCH = pathlib.Path(__file__).resolve().parent
TESTS = BENCH.parent / "tests"
sys.dont_write_bytecode = True

UNDER_WAY = (1, 4, 16)


def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))]


def kinds_text(kinds):
    return ", ".join("%d %s" % (kinds[kind], kind) for kind in ("warm", "fork", "cold"))


def burst(warm, service, count):
    warm.prime(service)
    done = warm.Burst(service, count)
    if done.wrong:
        sys.exit("bench/burst.py: " + done.wrong[0])
    times = [took * 1e3 for took in done.times]
    print("  burst of %-4d  first %8.1f ms   p50 %8.1f ms   last %8.1f ms   %6.0f/s   %s" % (
        count, min(times), quantile(times, 0.5), max(times), count / max(times) * 1e3, kinds_text(done.kinds)), flush=True)
    return {"burst": count, "times_ms": times, "kinds": dict(done.kinds)}


def sustained(warm, service, under_way, seconds):
    kinds, began = collections.Counter(), time.monotonic()
    with warm.Wire(warm.Keeper(service)) as wire:
        request = {"request": "once", "output": "reply", "spec": dict(warm.spec("print(1)"), mode="rich")}
        open_channels = {wire.begin(**request) for _ in range(under_way)}
        while open_channels:
            channel, reply = wire.finish_any(open_channels)
            open_channels.remove(channel)
            if reply.get("ok", {}).get("stdout") != "1\n":
                sys.exit("bench/burst.py: " + json.dumps(reply)[:400])
            kinds[reply["ok"]["start"]["kind"]] += 1
            if time.monotonic() < began + seconds:
                open_channels.add(wire.begin(**request))
    rate = sum(kinds.values()) / (time.monotonic() - began)
    print("  sustained, %2d under way   %6.0f fresh cells/s   %s" % (under_way, rate, kinds_text(kinds)), flush=True)
    return {"under_way": under_way, "per_second": rate, "kinds": dict(kinds)}


def measure(build, count, seconds):
    """Prints its table; returns what goes into the report."""
    os.environ["SNAPCELL"] = os.path.join(build, "src/cli/snapcell")
    # The soak test's, which reads the environment. Python's own http is meant there, not bench/http.py.
    sys.path[:] = [str(TESTS / "soak"), str(TESTS / "cli")] + [x for x in sys.path if pathlib.Path(x or ".").resolve() != BENCH]
    import warm
    folder = tempfile.mkdtemp(prefix="snapcell-burst-")
    service = warm.Service(folder, "--max-load", "100000", "--min-free", "0")
    try:
        print("a burst, and no pause", flush=True)
        return [burst(warm, service, count)] + [sustained(warm, service, n, seconds) for n in UNDER_WAY]
    finally:
        service.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(BENCH.parent / "build"))
    parser.add_argument("--burst", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=10)
    args = parser.parse_args()
    measure(args.build, args.burst, args.seconds)
