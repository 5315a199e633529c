#!/usr/bin/env python3
"""What POST /v1/run costs: print(1) in Python on the unix socket, by 1, 8 and 64 clients, beside the keeper asked directly.

    bench/http.py [--build DIR] [--requests N] [--pool N]

Starts a service of its own and ends it. Prints for each way and number of clients: p50 and p99 in ms, requests a second. With one
client each request waits 20 ms for the one before to be cleared away, and the pool to be filled. The client is Python, on the same
processors: its own share is in all figures. The difference of the two ways at one client is what the gate adds.
"""
import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--pool", default="16")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="snapcell-http-")
    child = subprocess.Popen([os.path.join(args.build, "src/cli/snapcell"), "serve", "--dev", "--socket", os.path.join(folder, "keeper.sock"),
                              "--listen", "127.0.0.1:0", "--pool", args.pool, "--sessions", "256"], stdout=subprocess.PIPE)
    try:
        while not child.stdout.readline().startswith(b"key"):
            assert child.poll() is None
        owner = Keeper(folder)
        owner.wire.ask(request="session.start", spec={}, name="bench")
        uid = Http(folder)
        uid.request = b'POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{"name":"bench"}'
        uid.sock.sendall(uid.request)
        assert b" 201 " in uid.file.readline()
        for way in (KeeperInfo, HttpInfo):
            measure(way, folder, 1, args.requests)
        for clients in (1, 8, 64):
            for way in (Keeper, Http):
                if way is Keeper and clients > 32:
                    continue  # it has 64 clients at most
                measure(way, folder, clients, args.requests)
    finally:
        child.terminate()
        child.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
