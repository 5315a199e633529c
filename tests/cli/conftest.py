"""What the tests of the command line share. The binary is $SNAPCELL; $SNAPCELL_CGROUP_PARENT is passed through."""
import json
import os
import subprocess

import pytest

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
