"""What the tests of the runners share: `start(argv…)` gives a living runner in a work folder of its own. Names of test files
are unique across the folders below, for pytest takes them as modules."""
import subprocess

import pytest

import forks
import harness


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def start(work):
    """Starts runners, and ends them with the test."""
    started = []

    def starter(*argv, env=None):
        started.append(harness.Runner(list(argv), work, env))
        return started[-1]
    yield starter
    for runner in started:
        runner.close()


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    """The runners' files as they lie in a cell, the fork library beside them."""
    return forks.tree(tmp_path_factory.mktemp("snapcell") / "snapcell")


@pytest.fixture
def parent(work):
    """Starts runners that can be forked, and ends them, and their forks, with the test."""
    started = []

    def starter(*argv, env=None):
        started.append(forks.Parent(list(argv), work, env))
        return started[-1]
    yield starter
    for runner in started:
        runner.close()


@pytest.fixture(scope="session")
def same_pid(tmp_path_factory):
    """A library that gives every process the same number."""
    folder = tmp_path_factory.mktemp("pid")
    (folder / "pid.c").write_text("long getpid(void) { return 4242; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "pid.so", folder / "pid.c"], check=True)
    return str(folder / "pid.so")
