"""Somebody at a terminal, at which `snapcell` was started."""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

PATIENCE = 30


class Person:
    """Sits at a terminal at which `snapcell` was started."""

    def __init__(self, cli, *args, stdout_only=False, rows=24, columns=80):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.terminal = slave
        self.before = termios.tcgetattr(slave)

        def take_terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.child = subprocess.Popen(
            [cli.binary, *args], cwd=cli.folder, stdin=subprocess.DEVNULL if stdout_only else slave, stdout=slave,
            stderr=slave, pass_fds=(slave,), preexec_fn=None if stdout_only else take_terminal,
            env=dict(os.environ, TERM="dumb"))
        self.seen = b""

    def type(self, data):
        os.write(self.master, data)

    def _read(self, patience):
        ready, _, _ = select.select([self.master], [], [], patience)
        if not ready:
            return False
        self.seen += os.read(self.master, 65536)
        return True

    def await_text(self, pattern):
        """Until `pattern` was shown; returns the match and forgets all up to its end."""
        end = time.monotonic() + PATIENCE
        while True:
            found = re.search(pattern, self.seen, re.S)
            if found:
                self.seen = self.seen[found.end():]
                return found
            assert time.monotonic() < end, (pattern, self.seen)
            self._read(1)

    def leave(self):
        """The exit status, and what was shown to the end."""
        end = time.monotonic() + PATIENCE
        while self.child.poll() is None:
            assert time.monotonic() < end, self.seen
            self._read(0.05)
        while self._read(0):
            pass
        return self.child.returncode, self.seen

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        os.close(self.master)
        os.close(self.terminal)

    def modes(self):
        return termios.tcgetattr(self.terminal)
