#!/usr/bin/env python3
"""A service at full load for as long as it is told: good, bad and hostile jobs of two tenants, by HTTP on the unix socket.

  tests/soak/service.py [--minutes N] [--clients N]

Every job has a number of its own that only its own answer may hold: none is lost, none answered twice or with another's. Verdicts must be
right. What the keeper holds is compared at rest, before and after: then it has parked cells and what its kinds of cells share, however much there was to do. The
latency of the last third must be that of the first. The binary is $SNAPCELL, $SNAPCELL_TEST_DEGRADED what cells go without here. Prints what it
measured, and what is not as it should be in lines that begin with WRONG; then the exit status is 1.
"""
import argparse
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

SNAPCELL = os.environ.get("SNAPCELL", "snapcell")
DEGRADED = [x for x in os.environ.get("SNAPCELL_TEST_DEGRADED", "").split(",") if x]
PATIENCE = 120
# Of jobs that end by themselves: no slow machine makes them late.
LONG = {"wall_ms": 100000}
# What a keeper at rest may hold more for each parked cell more; there may be none more of its kinds, of which the first look has all.
DESCRIPTORS_OF_A_CELL = 60
# name: (code, limits, statuses that are right); %d is the job's number.
JOBS = {
    "good": ("print(%d)", LONG, {"ok"}),
    "value": ("%d", LONG, {"ok"}),
    "bad": ("print(%d, flush=True); raise SystemExit(3)", LONG, {"error"}),
    "syntax": ("print(%d", LONG, {"syntax_error", "error"}),
    "endless": ("print(%d, flush=True)\nwhile True: pass", {"wall_ms": 300}, {"timeout"}),
    "crowd": ("print(%d, flush=True)\nimport os\nwhile True:\n    try: os.fork()\n    except OSError: pass", {"wall_ms": 300},
              {"timeout", "process_limit", "out_of_memory"}),
    "loud": ("import sys\nprint(%d)\nwhile True: sys.stdout.write('x' * 65536)", {"wall_ms": 300, "stdout_bytes": 100000},
             {"timeout", "output_limit"}),
    "full": ("print(%d, flush=True)\nf = open('x', 'wb')\nwhile True: f.write(b'x' * 65536)", {"wall_ms": 2000, "disk_bytes": 1 << 20},
             {"error", "disk_limit", "timeout"}),
}
WEIGHTS = {"good": 12, "value": 6, "bad": 4, "syntax": 2, "endless": 1, "crowd": 1, "loud": 1, "full": 1}
REFUSED = {429, 503}


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("snapcell", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Service:
    def __init__(self, folder, *options):
        self.folder = folder
        self.socket = os.path.join(folder, "http.sock")
        self.errors = open(os.path.join(folder, "errors"), "w+b")
        self.child = subprocess.Popen([SNAPCELL, "serve", "--dev", "--socket", os.path.join(folder, "keeper.sock"), "--listen",
                                       "127.0.0.1:0", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors, cwd="/")
        self.key = None
        while not self.key:
            line = self.child.stdout.readline().decode()
            if not line:
                self.errors.seek(0)
                sys.exit("it does not serve: " + self.errors.read().decode())
            word, _, rest = line.strip().partition(" ")
            self.key = rest if word == "key" else None

    def keeper(self):
        with open("/proc/%d/task/%d/children" % (self.child.pid, self.child.pid), encoding="utf-8") as f:
            for pid in map(int, f.read().split()):
                with open("/proc/%d/cmdline" % pid, "rb") as g:
                    if g.read().split(b"\0")[1:2] == [b"keeper"]:
                        return pid
        sys.exit("the keeper is gone")

    def end(self):
        self.child.send_signal(signal.SIGTERM)
        return self.child.wait(PATIENCE)


def is_own(value, number):
    """Does its output begin with the number? Time may be up before the interpreter came to say it."""
    own = "%d\n" % number
    return value["stdout"].startswith(own) or value["status"] == "timeout" and value["stdout"] == ""


class Clients:
    def __init__(self, service, count):
        self.service, self.stopping, self.lock = service, False, threading.Lock()
        self.asked, self.answered, self.refused, self.next = 0, 0, 0, 0
        self.wrong, self.times = [], []
        self.threads = [threading.Thread(target=self._go, args=(i,), daemon=True) for i in range(count)]
        for thread in self.threads:
            thread.start()

    def _go(self, seed):
        choose = random.Random(seed)
        # Half of them are the tenant of the key, half that of this user.
        headers = {"Content-Type": "application/json"}
        if seed % 2:
            headers["Authorization"] = "Bearer " + self.service.key
        connection = Connection(self.service.socket)
        names, weights = list(WEIGHTS), list(WEIGHTS.values())
        while not self.stopping:
            with self.lock:
                self.next += 1
                number = 1000000000 + self.next
                self.asked += 1
            try:
                self._one(connection, headers, choose.choices(names, weights)[0], number)
            except (OSError, http.client.HTTPException, ValueError, KeyError) as e:
                with self.lock:
                    self.wrong.append("no answer to %d: %r" % (number, e))
                connection.close()
                connection = Connection(self.service.socket)

    def _one(self, connection, headers, name, number):
        code, limits, right = JOBS[name]
        body = {"language": "python", "code": code % number, "limits": limits}
        if DEGRADED:
            body["allow_degraded"] = DEGRADED
        began = time.monotonic()
        connection.request("POST", "/v1/run", json.dumps(body), headers)
        response = connection.getresponse()
        text = response.read()
        took = time.monotonic() - began
        if response.status in REFUSED:
            with self.lock:
                self.refused += 1
                self.asked -= 1
            time.sleep(0.1)
            return
        value = json.loads(text)
        trouble = None
        if response.status != 200:
            trouble = "%s: %d %s" % (name, response.status, text[:200])
        elif value["status"] not in right:
            trouble = "%s: %s: %s" % (name, value["status"], value["message"])
        elif name == "value" and value["value"]["text/plain"] != str(number):
            trouble = "value: another's: %s" % value["value"]
        elif name not in ("value", "syntax") and not is_own(value, number):
            trouble = "%s: another's output, or none: %s" % (name, value["stdout"][:40])
        with self.lock:
            self.answered += 1
            if trouble:
                self.wrong.append(trouble)
            if name == "good":
                self.times.append((time.monotonic(), took))

    def stop(self):
        self.stopping = True
        for thread in self.threads:
            thread.join(PATIENCE)


def ask(service, name, number, key):
    """One job, alone."""
    code, limits, _ = JOBS[name]
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = "Bearer " + service.key
    body = {"language": "python", "code": code % number, "limits": limits}
    if DEGRADED:
        body["allow_degraded"] = DEGRADED
    connection = Connection(service.socket)
    connection.request("POST", "/v1/run", json.dumps(body), headers)
    connection.getresponse().read()
    connection.close()


def metrics(service):
    connection = Connection(service.socket)
    connection.request("GET", "/metrics", headers={"Authorization": "Bearer " + service.key})
    text = connection.getresponse().read().decode()
    connection.close()
    pairs = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in pairs}


def look(service):
    """What the keeper holds: resident bytes, descriptors, parked and blank cells."""
    told = metrics(service)
    with open("/proc/%d/statm" % service.keeper(), encoding="utf-8") as f:
        resident = int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {"resident": resident, "busy": told["snapcell_sessions"], "parked": told["snapcell_parked_cells"], "blank": told["snapcell_blank_cells"],
            "descriptors": told["snapcell_descriptors"]}


def at_rest(service, before=None):
    """The first look at which nothing runs and, after `before`, no more is held than then; or the last one before patience ends.
    Ended cells take a moment to go."""
    end = time.monotonic() + PATIENCE
    while True:
        now = look(service)
        if not now["busy"] and not (before and grown(before, now)) or time.monotonic() > end:
            return now
        time.sleep(0.1)


def groups(pid):
    return [name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names if name.startswith("snapcell-%d-" % pid)]


def grown(before, now):
    """What of the keeper's has grown."""
    found = []
    if now["resident"] > before["resident"] * 1.3 + (16 << 20):
        found.append("memory: %d MiB, was %d" % (now["resident"] >> 20, before["resident"] >> 20))
    more = max(0, now["parked"] + now["blank"] - before["parked"] - before["blank"])
    if now["descriptors"] > before["descriptors"] + DESCRIPTORS_OF_A_CELL * more + 20:
        found.append("descriptors: %d with %d parked and %d blank cells, were %d with %d and %d" % (
            now["descriptors"], now["parked"], now["blank"], before["descriptors"], before["parked"], before["blank"]))
    return found


def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))] if values else float("nan")


def slower(early, late):
    """What no neighbour's noise explains: jobs alone take up to two seconds, and the median of good ones waits for few."""
    if early and late and quantile(late, 0.5) > 5 * quantile(early, 0.5) + 0.5:
        return ["latency: median %.1f ms, was %.1f" % (quantile(late, 0.5) * 1000, quantile(early, 0.5) * 1000)]
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--clients", type=int, default=8)
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="snapcell-service-")
    service = Service(folder)
    try:
        status = soak(service, args)
    finally:
        ended = service.end() if service.child.poll() is None else service.child.returncode
        service.errors.seek(0)
        print(service.errors.read().decode(errors="replace")[-2000:], end="")
        shutil.rmtree(folder, ignore_errors=True)
    if ended != 0:
        print("WRONG: the service ended with %s" % ended)
        status = 1
    return status


def warm_up(service):
    """One of each job for each tenant: from then on all kinds of cells are there."""
    for number, name in enumerate(JOBS):
        for key in (False, True):
            ask(service, name, 1 + number, key)
    return at_rest(service)


def load(service, args):
    """The clients that are done, and the times of good jobs in the first and the last third."""
    clients = Clients(service, args.clients)
    began = time.monotonic()
    time.sleep(args.minutes * 60)
    ended = time.monotonic()
    clients.stop()
    third = (ended - began) / 3
    early = [took for at, took in clients.times if at < began + third]
    late = [took for at, took in clients.times if at >= ended - third]
    print("%.0f s, %d clients: %d answers (%.0f/s), %d refused; print: median %.1f ms, p99 %.1f ms" % (
        ended - began, args.clients, clients.answered, clients.answered / (ended - began), clients.refused,
        quantile(early + late, 0.5) * 1000, quantile(early + late, 0.99) * 1000))
    return clients, early, late


def soak(service, args):
    keeper = service.keeper()
    before = warm_up(service)
    clients, early, late = load(service, args)
    found = clients.wrong[:20] + slower(early, late)
    if clients.asked != clients.answered:
        found.append("%d asked, %d answered" % (clients.asked, clients.answered))
    if service.keeper() != keeper:
        found.append("the keeper died")
    after = at_rest(service, before)
    found += grown(before, after)
    if after["busy"]:
        found.append("%d cells are busy" % after["busy"])
    print("keeper at rest: %d MiB, %d descriptors, %d parked cells before; %d MiB, %d, %d after" % (
        before["resident"] >> 20, before["descriptors"], before["parked"],
        after["resident"] >> 20, after["descriptors"], after["parked"]))
    if service.end() == 0 and groups(keeper):
        found.append("groups are left: %s" % groups(keeper)[:3])
    for line in found:
        print("WRONG: %s" % line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
