"""A pause that is killed at each of its steps: the session is on disk as it was paused before, or as it is now, whole; and
the next keeper resumes it and pauses it again. Steps up to the last piece are the keeper's; what follows is done by a child of
it, which dies alone (the session goes on) or with its keeper."""
import os
import signal
import subprocess
import time

import pytest
from cell import DEGRADED

PATIENCE = 120
BY_KEEPER = ["begun", "first-piece", "first-whole", "second-piece", "second-whole"]
BY_CHILD = ["manifest", "synced", "named", "proven", "linked", "current", "cleaned"]
# From here on the new generation counts.
NEW = ["current", "cleaned"]


class Keeper:
    def __init__(self, mutant, folder, die=""):
        self.mutant = mutant
        self.socket = os.path.join(folder, "k.sock")
        self.env = dict(os.environ, SNAPCELL_SOCKET=self.socket, SNAPCELL_STORE=os.path.join(folder, "store"), SC_VAULT_DIE=die)
        self.child = subprocess.Popen([mutant, "keeper"], env=self.env, stdin=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while self("ls").returncode != 0:
            assert time.monotonic() < end and self.child.poll() is None
            time.sleep(0.01)

    def __call__(self, *words):
        return subprocess.run([self.mutant, "session", *words], env=self.env, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def python(self, code):
        done = self("run", "s", "--python", "-c", code)
        assert done.returncode == 0, done
        return done.stdout

    def end(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
        return self.child.wait(PATIENCE)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "k"
    path.mkdir(mode=0o700)
    return str(path)


def resumed(mutant, folder):
    """A new keeper with the session, and what is in its file. A child of the last keeper's may still have the session."""
    keeper = Keeper(mutant, folder)
    end = time.monotonic() + PATIENCE
    while keeper("resume", "s").returncode != 0:
        assert time.monotonic() < end
        time.sleep(0.02)
    return keeper, keeper.python("print(open('f').read())").strip()


@pytest.fixture
def paused(mutant, folder):
    """Paused once, with "old" in its file."""
    keeper = Keeper(mutant, folder)
    accept = ["--allow-degraded", ",".join(DEGRADED)] if DEGRADED else []
    done = keeper("start", *accept, "--name", "s")
    assert done.returncode == 0, done
    keeper.python("open('f', 'w').write('old'); open('/tmp/g', 'w').write('g')")
    assert keeper("pause", "s").returncode == 0
    assert keeper.end() == 0


@pytest.mark.usefixtures("paused")
@pytest.mark.parametrize("die", BY_KEEPER + BY_CHILD + [step + "!" for step in BY_CHILD])
def test_killed_at(mutant, folder, die):
    step, is_alone = die.rstrip("!"), die in BY_CHILD
    keeper = Keeper(mutant, folder, die)
    assert keeper("resume", "s").returncode == 0
    keeper.python("open('f', 'w').write('new')")
    done = keeper("pause", "s")
    assert done.returncode != 0, "it was not killed at this step: %s" % done
    if is_alone:
        assert "the process that writes to the disk died" in done.stderr
        assert keeper.python("print(open('f').read())") == "new\n"  # it goes on, and runs again
        assert keeper.end() == 0
    else:
        assert keeper.end() == -signal.SIGKILL
    keeper, found = resumed(mutant, folder)
    assert found == ("new" if step in NEW else "old")
    keeper.python("open('f', 'w').write('next')")
    assert keeper("pause", "s").returncode == 0
    generations = os.listdir(os.path.join(folder, "store", "paused", "s"))
    assert len(generations) == 3 and {"current", ".lock"} < set(generations)
    assert keeper("resume", "s").returncode == 0
    assert keeper.python("print(open('f').read())") == "next\n"
    assert keeper("end", "s").returncode == 0
    assert os.listdir(os.path.join(folder, "store", "paused")) == []
    assert keeper.end() == 0


def test_control(mutant, folder):
    """Nothing dies where no step of that name is."""
    keeper = Keeper(mutant, folder, "no-such-step")
    accept = ["--allow-degraded", ",".join(DEGRADED)] if DEGRADED else []
    assert keeper("start", *accept, "--name", "s").returncode == 0
    assert keeper("pause", "s").returncode == 0
    assert keeper.end() == 0
