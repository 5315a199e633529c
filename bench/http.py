#!/usr/bin/env python3
"""What POST /v1/run costs: print(1) in Python on the unix socket, by 1, 8 and 64 clients, beside the keeper asked directly.

    bench/http.py [--build DIR] [--requests N] [--pool N] [--idle N]

Starts a service of its own and ends it. Prints for each way and number of clients: p50 and p99 in ms, requests a second. With one
client each request waits 20 ms for the one before to be cleared away, and the pool to be filled. The client is Python, on the same
processors: its own share is in all figures. The difference of the two ways at one client is what the gate adds. At last as many sessions
as --idle says, 1,000, each of which has run one line of Python: what each of them costs, and what a run costs beside them.
"""
import argparse
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

SESSION_DESCRIPTORS, SPARE_DESCRIPTORS = 45, 1000
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests", "cli"))
sys.dont_write_bytecode = True

import wire  # noqa: E402

CODE = {"language": "python", "code": "print(1)"}


class Http:
    """A connection that is kept."""

    def __init__(self, folder):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.path.join(folder, "http.sock"))
        self.file = self.sock.makefile("rb")
        body = json.dumps(CODE).encode()
        self.request = b"POST /v1/run HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    def run(self):
        self.sock.sendall(self.request)
        status, length = self.file.readline(), 0
        while True:
            line = self.file.readline()
            if line in (b"\r\n", b""):
                break
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        answer = json.loads(self.file.read(length))
        assert b" 200 " in status and answer["stdout"] == "1\n", answer
        return answer["start"]["kind"]


class Keeper:
    """The same by frames, without a gate."""

    def __init__(self, folder):
        class Place:
            @staticmethod
            def connect():
                sock = socket.socket(socket.AF_UNIX)
                sock.connect(os.path.join(folder, "keeper.sock"))
                return sock
        self.wire = wire.Wire(Place)

    def run(self):
        answer = self.wire.ask(request="once", spec=dict(CODE, mode="rich"), output="reply")
        assert answer["ok"]["stdout"] == "1\n", answer
        return answer["ok"]["start"]["kind"]


class HttpInfo(Http):
    """No cell at all: what a session tells of itself. This and the next one differ by the gate alone."""

    def __init__(self, folder):
        super().__init__(folder)
        self.request = b"GET /v1/sessions/bench HTTP/1.1\r\nHost: x\r\n\r\n"

    def run(self):
        self.sock.sendall(self.request)
        length = 0
        while True:
            line = self.file.readline()
            if line == b"\r\n":
                break
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        assert b"idle_left_ms" in self.file.read(length)


class KeeperInfo(Keeper):
    def run(self):
        assert "ok" in self.wire.ask(request="session.info", session="bench")


def measure(way, folder, clients, requests):
    times, warm, lock = [], [0], threading.Lock()

    def client():
        own = way(folder)
        own.run()
        for _ in range(max(1, requests // clients)):
            if clients == 1:
                time.sleep(0.02)
            start = time.perf_counter()
            kind = own.run()
            took = time.perf_counter() - start
            with lock:
                times.append(took)
                warm[0] += kind == "warm"
    threads = [threading.Thread(target=client) for _ in range(clients)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - begin
    times.sort()
    print("%-10s %3d clients   p50 %8.2f ms   p99 %8.2f ms   %7.0f/s   warm %3.0f %%" % (
        way.__name__.lower(), clients, times[len(times) // 2] * 1e3, times[int(len(times) * 0.99)] * 1e3,
        len(times) / seconds, 100 * warm[0] / len(times)), flush=True)


class Service:
    """A service of its own, by whom it is used: `with`."""

    def __init__(self, build, *options):
        self.folder = tempfile.mkdtemp(prefix="snapcell-http-")
        self.child = subprocess.Popen([os.path.join(build, "src/cli/snapcell"), "serve", "--dev", "--socket", os.path.join(self.folder, "keeper.sock"),
                                       "--listen", "127.0.0.1:0", *options], stdout=subprocess.PIPE)

    def __enter__(self):
        line = b""
        while not line.startswith(b"key"):
            line = self.child.stdout.readline()
            assert self.child.poll() is None
        self.key = line.split()[1].decode()
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, method, path, body=None):
        """(status, body) of one request with the service's key."""
        data = b"" if body is None else json.dumps(body).encode()
        head = "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-API-Key: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(os.path.join(self.folder, "http.sock"))
            sock.sendall((head % (method, path, self.key, len(data))).encode() + data)
            with sock.makefile("rb") as answer:
                status, _, text = answer.read().partition(b"\r\n\r\n")
        return int(status.split()[1]), text

    def let_have(self, cells):
        """So many at once for its tenants."""
        path = os.path.join(self.folder, "dev", "tenants.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                value = json.load(f)
        else:
            value = {"version": 1}
        value.setdefault("standard", {})["cells"] = cells
        with open(path + ".new", "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as f:
            json.dump(value, f)
        os.rename(path + ".new", path)

    def keeper_rss(self):
        for pid in subprocess.run(["pgrep", "-P", str(self.child.pid)], capture_output=True, text=True, check=True).stdout.split():
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                if f.read().split(b"\0")[1:2] != [b"keeper"]:
                    continue
            with open("/proc/%s/statm" % pid, encoding="ascii") as f:
                return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        raise RuntimeError("no keeper")

    def metrics(self):
        text = self.ask("GET", "/metrics")[1].decode()
        return {name: float(value) for name, value in (x.rsplit(" ", 1) for x in text.splitlines() if not x.startswith("#"))}


def clients(args):
    with Service(args.build, "--pool", args.pool, "--sessions", "256") as service:
        owner = Keeper(service.folder)
        owner.wire.ask(request="session.start", spec={}, name="bench")
        own = Http(service.folder)
        own.request = b'POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{"name":"bench"}'
        own.sock.sendall(own.request)
        assert b" 201 " in own.file.readline()
        for way in (KeeperInfo, HttpInfo):
            measure(way, service.folder, 1, args.requests)
        for number in (1, 8, 64):
            for way in (Keeper, Http):
                if way is Keeper and number > 32:
                    continue  # it has 64 clients at most
                measure(way, service.folder, number, args.requests)


def possible(wanted, descriptors):
    """So many sessions as a keeper may have descriptors for."""
    most = (descriptors - SPARE_DESCRIPTORS) // SESSION_DESCRIPTORS
    if most < wanted:
        print("%d idle sessions, not %d: nobody here may have more than %d descriptors" % (most, wanted, descriptors), flush=True)
    return min(most, wanted)


def idle(args):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    args.idle = possible(args.idle, hard)
    with Service(args.build, "--pool", args.pool, "--sessions", str(args.idle + 24), "--max-load", "1000") as service:
        service.let_have(args.idle + 24)
        before, rss = service.metrics(), service.keeper_rss()
        begun = time.perf_counter()
        for _ in range(args.idle):
            status, made = service.ask("POST", "/v1/sessions", {"idle_ms": 3600000})
            assert status == 201, made
            status, ran = service.ask("POST", "/v1/sessions/%s/run" % json.loads(made)["session"], {"language": "python", "code": "x = 1"})
            assert status == 200 and json.loads(ran)["status"] == "ok", ran
        seconds, after = time.perf_counter() - begun, service.metrics()
        print("%d idle sessions, made in %.0f s: each %.2f MB of memory charged to its cell, %.0f kB in the keeper, %.1f descriptors" % (
            args.idle, seconds, after["snapcell_cell_memory_bytes_mean"] / 1e6, (service.keeper_rss() - rss) / 1e3 / args.idle,
            (after["snapcell_descriptors"] - before["snapcell_descriptors"]) / args.idle), flush=True)
        measure(Http, service.folder, 1, args.requests)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--pool", default="16")
    parser.add_argument("--idle", type=int, default=1000, help="sessions at most 1,000; 0: none")
    args = parser.parse_args()
    if args.requests:
        clients(args)
    if args.idle:
        idle(args)


if __name__ == "__main__":
    main()
