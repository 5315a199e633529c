"""The stream to the supervisor: reads runs, writes lines. Owned by one process: a forked child has lost it."""
import fcntl
import json
import os
import threading

CODE_MAX = 16 << 20
STDIN_MAX = 64 << 20
ENV_MAX = 1 << 20
PRELUDE_MAX = 1 << 20
HEAD_MAX = 200
# Beyond what programs that close or try everything usually count to; lower where the limit of open files is.
HIGH_FDS = (4000, 1000, 200, 50, 10)
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")).encode
_read, _write, _get_ident = os.read, os.write, threading.get_ident


class ProtocolError(Exception):
    """The other side does not speak this protocol: nothing sensible can follow."""


class Request:
    """One run that is asked for. `stdin` is None when none was given; `env` has names and values, as bytes."""

    __slots__ = ("id", "code", "stdin", "mode", "env")

    def __init__(self, run_id, code, stdin, mode, env=()):
        self.id, self.code, self.stdin, self.mode, self.env = run_id, code, stdin, mode, env


class Prelude:
    """A piece of a template's prelude: `kind` is `import` or `code`."""

    __slots__ = ("kind", "body")

    def __init__(self, kind, body):
        self.kind, self.body = kind, body


class Serve:
    """The preludes are over: orders to fork follow, on another descriptor."""


def encoded(message):
    """The line for `message`. Lone surrogates, which UTF-8 cannot say, become question marks."""
    text = _encode(message)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def high_copy(fd):
    """A copy of `fd` out of the way of programs that close what they do not know, and closed in what they start."""
    for lowest in HIGH_FDS:
        try:
            return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, lowest)
        except OSError:
            continue
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


class Channel:
    def __init__(self, fd):
        self._fd = fd
        self._held = bytearray()
        self._lock = threading.Lock()
        self._sender = None

    @classmethod
    def take(cls, fd):
        """Takes descriptor `fd`, which is free afterwards."""
        channel = cls(high_copy(fd))
        os.close(fd)
        os.register_at_fork(after_in_child=channel._lose)
        return channel

    def _lose(self):
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1
        self._lock = threading.Lock()

    def forget(self):
        """Descriptor and all that was read have been closed, or belong to another process: nothing is touched."""
        self._fd = -1
        self._held.clear()

    def renew(self, fd):
        """Speaks by `fd` from now on, and takes it as `take` does."""
        self._fd = high_copy(fd)
        os.close(fd)

    def fileno(self):
        return self._fd

    @property
    def holds_something(self):
        """Whether a part of the next request has been read already."""
        return bool(self._held)

    @property
    def lost(self):
        """Whether this process is a child of the one that speaks."""
        return self._fd < 0

    def _more(self, wanted):
        piece = _read(self._fd, max(wanted, 1 << 16))
        self._held += piece
        return bool(piece)

    def _exactly(self, count):
        while len(self._held) < count:
            if not self._more(count - len(self._held)):
                raise ProtocolError("the stream ended inside a run")
        taken = bytes(memoryview(self._held)[:count])
        del self._held[:count]
        return taken

    def next_request(self):
        """The next Request, Prelude or Serve, or None at the end of the stream."""
        while True:
            end = self._held.find(b"\n", 0, HEAD_MAX)
            if end >= 0:
                break
            if len(self._held) >= HEAD_MAX:
                raise ProtocolError("a line of more than %d bytes" % HEAD_MAX)
            if not self._more(0):
                return None
        line = self._exactly(end + 1)[:-1]
        words = line.decode("ascii", "replace").split(" ")
        if words == ["serve"]:
            return Serve()
        if words[0] == "prelude":
            kind, size = _parse_prelude(words, line)
            return Prelude(kind, self._exactly(size))
        return self._request(words, line)

    def _request(self, words, line):
        run_id, code_bytes, stdin_bytes, mode, env_bytes = _parse_run(words, line)
        env = _parse_env(self._exactly(env_bytes))
        code = self._exactly(code_bytes)
        return Request(run_id, code, None if stdin_bytes is None else self._exactly(stdin_bytes), mode, env)

    def send(self, message):
        self.send_line(encoded(message))

    def send_line(self, line):
        """Whole lines only: displays may come from several threads. One that is asked for by a signal's handler in the
        middle of another, which could only wait for itself, is dropped."""
        me = _get_ident()
        if self._fd < 0 or self._sender == me:
            return
        with self._lock:
            self._sender = me
            try:
                left = memoryview(line + b"\n")
                while left:
                    left = left[_write(self._fd, left):]
            finally:
                self._sender = None


def _parse_prelude(words, line):
    if len(words) != 3 or words[1] not in ("import", "code"):
        raise ProtocolError("not a prelude: %r" % line)
    return words[1], _count(words[2], PRELUDE_MAX)


def _parse_run(words, line):
    if len(words) not in (5, 6) or words[0] != "run" or words[4] not in ("rich", "restricted"):
        raise ProtocolError("not a run: %r" % line)
    return (words[1], _count(words[2], CODE_MAX), None if words[3] == "-" else _count(words[3], STDIN_MAX), words[4],
            _count(words[5], ENV_MAX) if len(words) == 6 else 0)


def _parse_env(block):
    """NAME=VALUE entries, each ended by a null byte, as (name, value) pairs."""
    pairs = [entry.partition(b"=")[::2] for entry in block.split(b"\0")[:-1]]
    if block[-1:] not in (b"", b"\0") or not all(name for name, _ in pairs):
        raise ProtocolError("not an environment: %r" % block[:80])
    return pairs


def _count(word, most):
    if not word.isdecimal() or int(word) > most:
        raise ProtocolError("%r is no number of bytes up to %d" % (word, most))
    return int(word)
