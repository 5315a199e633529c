"""Zygotes and what is forked from them, outside any cell: orders of the kind PLAIN, which only the fork library's test build
takes. Speaks docs/runner-protocol.md and src/agent/fork_order.h."""
import array
import ctypes
import os
import secrets
import shutil
import signal
import socket
import struct
import time

import harness

BUILD = os.environ.get("SNAPCELL_BUILD", os.path.join(harness.TOP, "build"))
LIBRARY = os.path.join(BUILD, "runners", "fork", "libsnapcell-fork-test.so")
VERSION, PLAIN = 1, 1
REPORT, STDIN, STDOUT, STDERR, RUNNER, SOCKET = range(6)
ORDER = struct.Struct("=IIIIiIq64s64s")
ANSWER = struct.Struct("=Iii28s96s")
REPORTED = struct.Struct("=i28s96s")


def tree(folder):
    """The runners as they lie in a cell, with the fork library's test build."""
    shutil.copytree(harness.RUNNERS, folder, ignore=shutil.ignore_patterns("__pycache__", "*.c", "*.h", "*.map", "meson.build"))
    (folder / "fork").mkdir(exist_ok=True)
    shutil.copy(LIBRARY, folder / "fork" / "libsnapcell-fork.so")
    for extra in EXTRAS:
        shutil.copy(os.path.join(BUILD, "runners", extra), folder / "fork")
    return folder


EXTRAS = ["fork/libsnapcell-nodefork.so", "fork/snapcell-fork-addon.node", "fork/snapcell-fork-bash.so"]


class Refused(Exception):
    """The answer to an order: (errno, step, words)."""


def adopt_orphans():
    """Forks become our children when the process between is gone, so that their ends are known."""
    PR_SET_CHILD_SUBREAPER = 36
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


def text_of(field):
    return field.rstrip(b"\0").decode("utf-8", "replace")


class Orders:
    """Our end of a fork socket."""

    def __init__(self):
        self.ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.ours.settimeout(harness.PATIENCE_S)

    def send(self, cwd, fds):
        """`fds`: by their places. Returns the pid that is answered."""
        bits = sum(1 << place for place in fds)
        order = ORDER.pack(VERSION, 7, PLAIN, bits, 0, 0, time.time_ns(), secrets.token_bytes(64), b"")
        rights = array.array("i", [fds[place] for place in sorted(fds)])
        self.ours.sendmsg([order, os.fsencode(cwd) + b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        number, pid, code, step, words = ANSWER.unpack(self.ours.recv(4096))
        assert number == 7
        if code < 0:
            raise Refused(-code, text_of(step), text_of(words))
        return pid

    def close(self):
        self.ours.close()
        self.theirs.close()


class Fork(harness.Runner):
    """A runner that was forked; `ready` is what it said first."""

    def __init__(self, orders, cwd, has_socket=False):
        self.socket, runner = socket.socketpair()
        report, reported = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        out, err = os.pipe(), os.pipe()
        null = os.open(os.devnull, os.O_RDONLY)
        self.orders = Orders() if has_socket else None
        fds = {REPORT: reported.fileno(), STDIN: null, STDOUT: out[1], STDERR: err[1], RUNNER: runner.fileno()}
        if has_socket:
            fds[SOCKET] = self.orders.theirs.fileno()
        self.pending, self.process, self.status = bytearray(), None, None
        self.stdout, self.stderr = harness.Stream(out[0]), harness.Stream(err[0])
        try:
            self.pid = orders.send(cwd, fds)
        finally:
            for one in (runner, reported):
                one.close()
            for fd in (null, out[1], err[1]):
                os.close(fd)
            if has_socket:
                self.orders.theirs.close()
        self._let_go(report)
        self.ready = self.line()

    @staticmethod
    def _let_go(report):
        report.settimeout(harness.PATIENCE_S)
        code, step, words = REPORTED.unpack(report.recv(4096))
        assert code == 0, (code, step, words)
        report.send(b"g")
        report.close()

    def interrupt(self):
        os.kill(self.pid, signal.SIGINT)

    def wait(self):
        """Its exit status, or minus the signal that it died by."""
        deadline = time.monotonic() + harness.PATIENCE_S
        while self.status is None:
            assert time.monotonic() < deadline, "the fork has not ended"
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            else:
                time.sleep(0.002)
        return self.status

    def close(self):
        self.socket.close()
        if self.orders:
            self.orders.close()
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()
        for stream in (self.stdout, self.stderr):
            stream.thread.join(harness.PATIENCE_S)
            os.close(stream.fd)


class Parent(harness.Runner):
    """A runner with a fork socket: a zygote, or one that is forked between its runs."""

    def __init__(self, argv, cwd, env=None):
        adopt_orphans()
        self.began = time.time()
        self.orders, self.cwd, self.forks = Orders(), cwd, []
        super().__init__(argv, cwd, env, more_fds={4: self.orders.theirs.fileno()})
        self.orders.theirs.close()

    def prelude(self, kind, body):
        body = body.encode()
        self.socket.sendall(b"prelude %s %d\n" % (kind.encode(), len(body)) + body)
        said = self.line()
        assert said["op"] == "prelude"
        return said

    def serve(self):
        self.socket.sendall(b"serve\n")
        return self.line()

    def fork(self, has_socket=False):
        fork = Fork(self.orders, self.cwd, has_socket)
        self.forks.append(fork)
        return fork

    def drop(self, fork):
        self.forks.remove(fork)
        fork.close()

    def hang_up(self):
        """Ends the orders and returns the zygote's exit status."""
        self.orders.close()
        return self.process.wait(harness.PATIENCE_S)

    def close(self):
        for fork in self.forks:
            fork.close()
        self.orders.close()
        super().close()
