#!/usr/bin/env python3
"""A service's warm cells under load: a burst of requests at once, and many runs one after another.

  tests/soak/warm.py [--burst N] [--runs N]

The burst goes by HTTP, a connection for each request: every answer must be the right one, whether its cell waited, was forked for it,
or was made for it. Then so many runs in cells that waited, each asked for when the one before is answered and a cell waits again: the
keeper's memory, descriptors, groups, mounts and processes, and its zygote's memory, must be at the end what they were after the first
tenth. At the end nothing may be left. The binary is $SNAPCELL, $SNAPCELL_TEST_DEGRADED what cells go without here. Prints what it
measured; exit 1 when something is not as it should be.
"""
import argparse
import collections
import json
import os
import shutil
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cli")]

from service import DEGRADED, PATIENCE, Connection, Service, groups, quantile  # noqa: E402
from wire import Wire  # noqa: E402

KINDS = ("warm", "fork", "cold")
# More at once than as a service comes. Load and memory shall not hold it up.
AT_ONCE = 48
SERVICE = ["--running", str(AT_ONCE), "--sessions", str(AT_ONCE + 40), "--max-load", "100000", "--min-free", "0"]
TENANTS = {"version": 1, "standard": {"cells": AT_ONCE, "queued": 10000, "allow_degraded": DEGRADED}}
# Of the cells that wait the first is ready when the next is there.
TEMPLATE = {"language": "python", "pool": {"idle": 3, "maximum": 4}}
WAIT = 2
MANY = 1000
RESIDENT_MORE = 2 << 20
# A cell more that waits, and the groups of cells that have just ended.
DESCRIPTORS_MORE = 104
GROUPS_MORE = 40
BLANKS_MORE = 3  # a zygote has one to four blank cells, each of one process


def spec(code):
    value = {"language": "python", "code": code}
    return dict(value, allow_degraded=DEGRADED) if DEGRADED else value


# ---- a burst ----


def post(connection, service, code):
    """(status, text) of a run."""
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + service.key}
    connection.request("POST", "/v1/run", json.dumps(spec(code)), headers)
    response = connection.getresponse()
    return response.status, response.read()


def await_that(what, holds):
    until = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > until:
            raise SystemExit("it never came: " + what)
        time.sleep(0.002)


def prime(service):
    """Until the tenant may have so many at once, and its runs are forks."""
    with open(os.path.join(service.folder, "dev", "tenants.json"), "w", encoding="utf-8") as f:
        json.dump(TENANTS, f)
    connection = Connection(service.socket)

    def is_in_force():
        connection.request("GET", "/v1/host", headers={"Authorization": "Bearer " + service.key})
        response = connection.getresponse()
        response.read()
        return response.status == 403  # no operator any more

    def is_forked():
        status, text = post(connection, service, "1")
        return status == 200 and "zygote_age_ms" in json.loads(text)["start"]

    await_that("the tenant's new row", is_in_force)
    await_that("a fork", is_forked)
    connection.close()


class Burst:
    def __init__(self, service, count):
        self.service, self.wrong, self.kinds, self.times = service, [], collections.Counter(), []
        self.lock, self.gate = threading.Lock(), threading.Barrier(count)
        threads = [threading.Thread(target=self._ask, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _ask(self, number):
        connection = Connection(self.service.socket)
        try:
            connection.connect()
            self.gate.wait(PATIENCE)
            began = time.monotonic()
            status, text = post(connection, self.service, "print(%d)" % number)
            took, trouble, kind = time.monotonic() - began, None, None
            value = json.loads(text)
            if status != 200:
                trouble = "%d: %d %s" % (number, status, text[:200])
            elif (value["status"], value["stdout"]) != ("ok", "%d\n" % number) or value["start"]["kind"] not in KINDS:
                trouble = "%d: %s" % (number, text[:400])
            else:
                kind = value["start"]["kind"]
        except (OSError, ValueError, KeyError, threading.BrokenBarrierError) as e:
            took, trouble, kind = 0, "%d: no answer: %r" % (number, e), None
        finally:
            connection.close()
        with self.lock:
            self.wrong += [trouble] if trouble else []
            self.kinds[kind] += 1
            self.times.append(took)


def burst(service, count):
    prime(service)
    first = state(service)
    began = time.monotonic()
    done = Burst(service, count)
    print("a burst of %d: %.1f s, %s; median %.0f ms, the last %.0f ms" % (
        count, time.monotonic() - began, ", ".join("%d %s" % (done.kinds[kind], kind) for kind in KINDS),
        quantile(done.times, 0.5) * 1000, max(done.times) * 1000), flush=True)
    if not done.kinds["fork"]:
        done.wrong.append("none was forked")
    last = state(service)
    tell("after the burst", last)
    return done.wrong[:20] + grown(first, last, MORE_OF_BURST)


# ---- one after another ----


def below(pid):
    """Its children and theirs."""
    found, todo = [], [pid]
    while todo:
        try:
            with open("/proc/%d/task/%d/children" % (todo[0], todo[0]), encoding="ascii") as f:
                children = [int(x) for x in f.read().split()]
        except OSError:
            children = []
        found += children
        todo = todo[1:] + children
    return found


def zygote_resident(pids):
    """Of the first one's; its forks, which have its name, are younger."""
    for pid in sorted(pids, key=started):
        try:
            with open("/proc/%d/cmdline" % pid, "rb") as f:
                if b"--zygote" not in f.read().split(b"\0"):
                    continue
            return resident(pid)
        except OSError:
            continue
    return 0


def resident(pid):
    with open("/proc/%d/statm" % pid, encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def started(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="latin-1") as f:
            return int(f.read().rsplit(")", 1)[1].split()[19])
    except OSError:
        return 0


def mounts(pid):
    with open("/proc/%d/mountinfo" % pid, encoding="latin-1") as f:
        return f.read().count("\n")


def state(service):
    """What there is when nothing runs: the least of some looks, as a cell may be on its way out or in."""
    seen = []
    for _ in range(20):
        time.sleep(0.1)
        pid = service.keeper()
        pids = below(pid)
        seen.append({"resident": resident(pid), "descriptors": len(os.listdir("/proc/%d/fd" % pid)), "groups": len(groups(pid)),
                     "mounts": mounts(pid), "processes": len(pids), "zygote": zygote_resident(pids)})
    return {key: min(x[key] for x in seen) for key in seen[0]}


def tell(name, now):
    print("%-16s keeper %.1f MiB, %d descriptors, %d groups, %d mounts, %d processes; zygote %.1f MiB" % (
        name, now["resident"] / 2**20, now["descriptors"], now["groups"], now["mounts"], now["processes"], now["zygote"] / 2**20), flush=True)


# What may come beside what was there: of runs one after another, and of a burst, after which the pool is full and buffers are larger.
MORE = {"resident": RESIDENT_MORE, "zygote": RESIDENT_MORE, "descriptors": DESCRIPTORS_MORE, "groups": GROUPS_MORE, "mounts": 0,
        "processes": 2 + BLANKS_MORE}
MORE_OF_BURST = {"zygote": RESIDENT_MORE, "descriptors": DESCRIPTORS_MORE + 160, "groups": GROUPS_MORE + 40, "mounts": 0, "processes": 10 + BLANKS_MORE}


def grown(first, last, most):
    return ["%s: %d, was %d" % (key, last[key], first[key]) for key in most if last[key] > first[key] + most[key]]


class Keeper:
    def __init__(self, service):
        self.path = os.path.join(service.folder, "keeper.sock")

    def connect(self):
        sock = Connection(self.path)
        sock.connect()
        return sock.sock


class Runs:
    """In cells that waited, so many; others come between them, when the zygote is replaced."""

    def __init__(self, wire):
        self.wire, self.kinds, self.number, self.wrong = wire, collections.Counter(), 0, []

    def until(self, warm):
        while self.kinds["warm"] < warm and len(self.wrong) < 20:
            if self.number:
                await_that("a cell that waits", lambda: self._waiting() >= WAIT)
            self._one()

    def _waiting(self):
        text = self.wire.ask(request="metrics")["ok"]["text"]
        return int(text.split("\nsnapcell_parked_cells ")[1].split("\n")[0])

    def _one(self):
        self.number += 1
        told = self.wire.ask(request="once", output="reply", spec=dict(spec("print(%d)" % self.number), mode="rich", template="soak"))
        result = told.get("ok", {})
        if (result.get("status"), result.get("stdout")) != ("ok", "%d\n" % self.number):
            self.wrong.append("run %d: %s" % (self.number, json.dumps(told)[:400]))
        else:
            self.kinds[result["start"]["kind"]] += 1


def one_after_another(service, count):
    began = time.monotonic()
    with Wire(Keeper(service)) as wire:
        runs = Runs(wire)
        seen = []
        for part in range(1, 11) if count >= MANY else (1, 10):
            runs.until(count * part // 10)
            seen.append(state(service))
            tell("after %d runs" % runs.number, seen[-1])
    print("%d warm, %d forked, %d cold in %.0f s" % (*(runs.kinds[kind] for kind in KINDS), time.monotonic() - began), flush=True)
    return runs.wrong + grown(seen[0], seen[-1], MORE)


def with_service(part, options, count):
    """What was wrong with a part of this test in a service of its own, and what that left behind."""
    folder = tempfile.mkdtemp(prefix="snapcell-warm-")
    os.mkdir(os.path.join(folder, "templates"))
    with open(os.path.join(folder, "templates", "soak.json"), "w", encoding="utf-8") as f:
        json.dump(TEMPLATE, f)
    os.environ["SNAPCELL_TEMPLATES"] = os.path.join(folder, "templates")
    service = Service(folder, *options)
    try:
        keeper = service.keeper()
        found = part(service, count)
        found += [] if service.keeper() == keeper else ["the keeper died"]
        pids = below(keeper)
    finally:
        ended = service.end()
        shutil.rmtree(folder, ignore_errors=True)
    found += ["the service ended with %s" % ended] if ended else []
    found += ["process %d is left" % pid for pid in pids if os.path.exists("/proc/%d" % pid)]
    return found + ["group %s is left" % name for name in groups(keeper)[:3]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--burst", type=int, default=500)
    parser.add_argument("--runs", type=int, default=100)
    args = parser.parse_args()
    found = with_service(burst, SERVICE, args.burst) + with_service(one_after_another, [], args.runs)
    for trouble in found:
        print("  " + trouble)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
