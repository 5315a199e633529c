"""Descriptors 0 to 2 and sys.stdin, sys.stdout, sys.stderr. They are real ones, so that programs a run starts read and
write the same."""
import io
import os
import sys

from .channel import high_copy
from .late import late_import

# Events before another program or process may write to the same descriptors.
_STARTS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty"}


class Streams:
    def __init__(self):
        self._keep_copies()
        self._stdin_given = True
        sys.stdout.reconfigure(encoding="utf-8", line_buffering=True)
        sys.stderr.reconfigure(encoding="utf-8", line_buffering=True)
        self._stdout, self._stderr = sys.stdout, sys.stderr
        self.give_stdin(None)
        sys.addaudithook(self._before_others_write)

    def _keep_copies(self):
        with open(os.devnull, "rb") as null:
            self._null = high_copy(null.fileno())
        self._copies = {1: high_copy(1), 2: high_copy(2)}

    def renew(self):
        """Descriptors 0 to 2 are new ones, and the copies of the old have been closed."""
        self._keep_copies()
        self._stdin_given = True
        self.give_stdin(None)

    @property
    def descriptors(self):
        """Those that are kept besides 0 to 2."""
        return {self._null, *self._copies.values()}

    def _before_others_write(self, event, _arguments):
        if event in _STARTS:
            self.flush()

    def give_stdin(self, data):
        """Makes `data` the standard input, or nothing at all."""
        if data is None and not self._stdin_given:
            return
        if data is None:
            os.dup2(self._null, 0)
        else:
            held = _anonymous_file()
            with os.fdopen(held, "r+b", buffering=0) as file:
                left = memoryview(data)
                while left:
                    left = left[file.write(left):]
                file.seek(0)
                os.dup2(held, 0)
        self._stdin_given = data is not None
        sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)

    def mend(self):
        """A run finds standard output and error open, even if the one before closed them."""
        for number, copy in self._copies.items():
            try:
                os.fstat(number)
            except OSError:
                os.dup2(copy, number)
        if self._stdout.closed:
            self._stdout = sys.stdout = sys.__stdout__ = _writer(1, "strict")
        if self._stderr.closed:
            self._stderr = sys.stderr = sys.__stderr__ = _writer(2, "backslashreplace")

    def flush(self):
        """Writes what was printed; whatever a program put in the place of the streams may fail by itself."""
        own = self._stdout, self._stderr
        others = [stream for stream in (sys.stdout, sys.stderr) if stream is not own[0] and stream is not own[1]]
        for stream in (*others, *own):
            try:
                stream.flush()
            except Exception:
                pass


def _writer(fd, errors):
    raw = open(fd, "wb", closefd=False)
    return io.TextIOWrapper(raw, encoding="utf-8", errors=errors, line_buffering=True)


def _anonymous_file():
    try:
        return os.memfd_create("stdin", os.MFD_CLOEXEC)
    except (AttributeError, OSError):
        with late_import("tempfile").TemporaryFile() as file:
            return os.dup(file.fileno())
