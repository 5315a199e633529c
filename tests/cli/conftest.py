"""What the tests of the command line share. The binary is $SNAPCELL; $SNAPCELL_CGROUP_PARENT is passed through."""
import json
import os
import signal
import socket
import struct
import subprocess

import pytest
from person import Person

PATIENCE = float(os.environ.get("SNAPCELL_TEST_TIME_SCALE", "1")) * 60


class Cli:
    """Runs the binary as a user does. `accept` is what this host cannot give, as options of run, plan and shell."""

    def __init__(self, binary, folder):
        self.binary = binary
        self.folder = folder
        self._accept = None

    def __call__(self, *args, **more):
        """`snapcell ARGS`, with bytes in and out; stdin is empty unless `input` or `stdin` is given."""
        if "input" not in more and "stdin" not in more:
            more["stdin"] = subprocess.DEVNULL
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        more.setdefault("cwd", self.folder)
        return subprocess.run([self.binary, *args], timeout=PATIENCE, **more)

    def popen(self, *args, **more):
        more.setdefault("cwd", self.folder)
        return subprocess.Popen([self.binary, *args], **more)

    @property
    def accept(self):
        if self._accept is None:
            self._accept = self._find_accept()
        return self._accept

    def _find_accept(self):
        tried = []
        told = os.environ.get("SNAPCELL_TEST_DEGRADED")
        if told is not None:
            return ["--allow-degraded", told] if told else []
        for names in ("", "memory,cpu,cpus", "memory,cpu,cpus,open_files,apparmor"):
            options = ["--allow-degraded", names] if names else []
            plan = self("plan", *options, "--", "true")
            if plan.returncode == 0:
                return options
            tried.append(plan.stderr.decode(errors="replace").strip())
        pytest.fail("no cell can be planned on this host: " + " | ".join(tried))

    def run(self, *args, **more):
        """`snapcell run` with what has to be accepted here."""
        return self("run", *self.accept, *args, **more)

    def result(self, *args, **more):
        """`snapcell run --json`: the object, after checking that nothing else was said."""
        done = self.run("--json", *args, **more)
        assert done.stderr == b"", done.stderr
        value = json.loads(done.stdout)
        assert isinstance(value, dict)
        return value, done.returncode

    def python(self, code, *options, **more):
        return self.run(*options, "--python", "-c", code, **more)

    def bash(self, code, *options, **more):
        return self.run(*options, "--bash", "-c", code, **more)


@pytest.fixture(scope="session")
def binary():
    path = os.environ.get("SNAPCELL")
    if not path:
        pytest.fail("SNAPCELL must name the snapcell binary")
    return os.path.abspath(path)


@pytest.fixture
def cli(binary, tmp_path):
    """In an empty folder of the test's own."""
    shared = Cli(binary, str(tmp_path))
    shared._accept = _accept_of(binary)
    return shared


_known = {}


def _accept_of(binary):
    if binary not in _known:
        _known[binary] = Cli(binary, "/")._find_accept()
    return _known[binary]


@pytest.fixture
def usage(binary, tmp_path):
    """The command line for tests that start no cell, so that they run where no cell can be made."""
    return Cli(binary, str(tmp_path))


@pytest.fixture
def sit(cli):
    people = []

    def start(*args, **more):
        people.append(Person(cli, *args, **more))
        return people[-1]

    yield start
    for person in people:
        person.close()


class Keeper:
    """A keeper of the test's own, and `snapcell session` with it."""

    def __init__(self, cli, folder, *options, store=None, **more):
        self.cli = cli
        self.folder = folder
        self.socket = os.path.join(folder, "keeper.sock")
        self.env = dict(os.environ, SNAPCELL_SOCKET=self.socket)
        self.env["SNAPCELL_STORE"] = store or os.environ.get("SNAPCELL_STORE") or folder + "-store"
        self.child = cli.popen("keeper", *options, env=self.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               **more)
        self._await_socket()

    def _await_socket(self):
        """Until it listens: connecting is refused or finds nothing before."""
        while True:
            assert self.child.poll() is None, self.child.stderr.read()
            try:
                self.connect().close()
                return
            except (FileNotFoundError, ConnectionRefusedError):
                pass

    def connect(self):
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.connect(self.socket)
        except OSError:
            sock.close()
            raise
        return sock

    def __call__(self, word, *args, **more):
        """`snapcell session WORD ARGS`."""
        more.setdefault("env", self.env)
        return self.cli("session", word, *args, **more)

    def popen(self, word, *args, **more):
        more.setdefault("env", self.env)
        return self.cli.popen("session", word, *args, **more)

    def start(self, *options):
        """The id of a new session."""
        done = self("start", *self.cli.accept, *options)
        assert (done.returncode, done.stderr) == (0, b""), done.stderr
        return done.stdout.decode().strip()

    def python(self, session, code, *options, **more):
        return self("run", session, "--python", *options, "-c", code, **more)

    def result(self, *args, **more):
        """Of a word with --json: the object."""
        done = self(*args, **more)
        assert done.stderr == b"", done.stderr
        return json.loads(done.stdout)

    def end(self, number=signal.SIGTERM):
        """Ends it, and holds that nothing is left. Its exit status."""
        if self.child.poll() is None:
            self.child.send_signal(number)
        status = self.child.wait(PATIENCE)
        self.child.stderr.close()
        return status

    def cells(self):
        """Processes that live in its cells: those of its children, down to the last."""
        found, todo = [], [self.child.pid]
        while todo:
            try:
                with open("/proc/%d/task/%d/children" % (todo[0], todo[0])) as f:
                    children = [int(x) for x in f.read().split()]
            except (FileNotFoundError, ProcessLookupError):
                children = []
            found += children
            todo = todo[1:] + children
        return found


@pytest.fixture
def keepers(cli, tmp_path):
    """Makes keepers; each has a folder of its own for its socket."""
    made = []

    def make(*options, **more):
        folder = tmp_path / ("keeper%d" % len(made))
        folder.mkdir(mode=0o700)
        made.append(Keeper(cli, str(folder), *options, **more))
        return made[-1]

    yield make
    for keeper in made:
        status = keeper.end()
        assert status in (0, -signal.SIGKILL), status
        if status == 0:
            assert os.listdir(keeper.folder) == []


@pytest.fixture
def keeper(keepers):
    return keepers()


def keeper_pid(path):
    """Who listens there."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
        return struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
