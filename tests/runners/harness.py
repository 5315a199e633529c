"""Starts a runner outside any cell and speaks docs/runner-protocol.md with it, as the agent and the supervisor would."""
import fcntl
import json
import os
import secrets
import select
import signal
import socket
import subprocess
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUNNERS = os.path.join(TOP, "runners")
PATIENCE_S = float(os.environ.get("SNAPCELL_TEST_TIME_SCALE", "1")) * 30
LINE_MAX = 16 << 20


class Gone(Exception):
    """The runner ended, or said nothing more in time."""


class Run:
    """What one run gave: the result line, its displays, and what it printed meanwhile."""

    def __init__(self, result, displays, stdout, stderr):
        self.result, self.displays, self.stdout, self.stderr = result, displays, stdout, stderr
        self.status, self.exit_code = result["status"], result["exit_code"]
        self.value, self.locals, self.error = result["value"], result["locals"], result["error"]

    @property
    def text(self):
        return self.value and self.value["text/plain"]


class Stream:
    """One of the runner's output pipes, always being read, so that nothing it prints can block it."""

    def __init__(self, fd):
        self.fd, self.lock, self.held, self.ended = fd, threading.Lock(), bytearray(), False
        self.thread = threading.Thread(target=self._keep_reading, daemon=True)
        self.thread.start()

    def _keep_reading(self):
        while not self.ended:
            select.select([self.fd], [], [])
            with self.lock:
                self._read_what_is_there()

    def _read_what_is_there(self):
        while not self.ended and select.select([self.fd], [], [], 0)[0]:
            piece = os.read(self.fd, 1 << 16)
            self.held += piece
            self.ended = not piece

    def take(self):
        """All that has been written so far: what still stands in the pipe belongs to it."""
        with self.lock:
            self._read_what_is_there()
            data, self.held = bytes(self.held), bytearray()
        return data.decode("utf-8", "replace")


class Runner:
    """A living runner. `argv` is the interpreter and its arguments; descriptor 3 is one end of a socket pair. `more_fds`:
    place -> descriptor."""

    def __init__(self, argv, cwd, env=None, more_fds=None):
        ours, theirs = socket.socketpair()
        out, err = os.pipe(), os.pipe()
        wanted = {3: theirs.fileno(), **(more_fds or {})}

        def arrange():
            # Copies above all places first: dup2 onto itself would leave close-on-exec set.
            copies = {place: fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for place, fd in wanted.items()}
            for place, copy in copies.items():
                os.dup2(copy, place)

        self.process = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out[1], stderr=err[1],
                                        preexec_fn=arrange, pass_fds=list(wanted), start_new_session=True)
        theirs.close()
        os.close(out[1])
        os.close(err[1])
        self.socket, self.pending = ours, bytearray()
        self.stdout, self.stderr = Stream(out[0]), Stream(err[0])
        self.ready = self.line()

    def line(self, patience_s=PATIENCE_S):
        """The next object it says."""
        deadline = time.monotonic() + patience_s
        while b"\n" not in self.pending:
            self.socket.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                piece = self.socket.recv(1 << 16)
            except socket.timeout:
                raise Gone("nothing was said in %g s" % patience_s) from None
            except ConnectionResetError:
                piece = b""
            if not piece:
                raise Gone("the runner ended: %s%s" % (self.process and self.process.poll(), self.stderr.take()))
            self.pending += piece
        line, _, rest = bytes(self.pending).partition(b"\n")
        assert len(line) < LINE_MAX
        self.pending = bytearray(rest)
        return json.loads(line.decode("utf-8"), parse_constant=lambda word: refuse("not JSON: " + word))

    def start(self, code, stdin=None, mode="rich", env=None):
        """Sends a run and returns its id. `env` is a block of bytes."""
        code = code.encode() if isinstance(code, str) else code
        run_id = secrets.token_hex(8)
        more = "" if env is None else " %d" % len(env)
        head = "run %s %d %s %s%s\n" % (run_id, len(code), "-" if stdin is None else len(stdin), mode, more)
        self.socket.settimeout(PATIENCE_S)
        self.socket.sendall(head.encode() + (env or b"") + code + (stdin or b""))
        return run_id

    def finish(self, run_id, patience_s=PATIENCE_S):
        """Reads until the result of `run_id`."""
        displays = []
        while True:
            said = self.line(patience_s)
            assert said["id"] == run_id, said
            if said["op"] == "result":
                return Run(said, displays, self.stdout.take(), self.stderr.take())
            assert said["op"] == "display", said
            displays.append(said["data"])

    def run(self, code, stdin=None, mode="rich", patience_s=PATIENCE_S, env=None):
        return self.finish(self.start(code, stdin, mode, env), patience_s)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def wait_for_output(self, word, patience_s=PATIENCE_S):
        """Until `word` has been printed, which then is taken."""
        got, deadline = "", time.monotonic() + patience_s
        while word not in got:
            assert time.monotonic() < deadline, "%r was never printed, but %r" % (word, got)
            time.sleep(0.002)
            got += self.stdout.take()
        return got

    def hang_up(self):
        """Ends the stream and returns the runner's own exit status."""
        self.socket.close()
        return self.process.wait(PATIENCE_S)

    def close(self):
        """Ends it and whatever it started."""
        self.socket.close()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for stream in (self.stdout, self.stderr):
            stream.thread.join(PATIENCE_S)
            os.close(stream.fd)


def refuse(why):
    raise AssertionError(why)
