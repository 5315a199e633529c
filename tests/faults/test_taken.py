"""What a request brings to a cell that waits: each thing is left out once by a test build, and then missed. With nothing left out all
of it is as asked."""
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

import pytest

import cell

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import wire  # noqa: E402

PATIENCE_S = 60 * cell.SCALE
# Left out: what is asked for, and the part of the result that tells it. No time is near another's: a second is long behind the first
# limit and long before the second.
BRINGS = {
    "env": ({"env": {"GIVEN": "given"}, "code": "import os\nprint(os.environ.get('GIVEN'))"}, {"stdout": "given\n"}),
    "stdin": ({"stdin": "said\n", "code": "import sys\nprint(sys.stdin.read())"}, {"stdout": "said\n\n"}),
    "files": ({"files": [{"path": "sub/file", "content": "text"}], "code": "print(open('sub/file').read())"}, {"stdout": "text\n"}),
    "wall": ({"limits": {"wall_ms": 300}, "code": "import time\ntime.sleep(4)"}, {"status": "timeout"}),
    "cpu": ({"limits": {"cpu_ms": 200, "wall_ms": 60000}, "code": "import time\nwhile time.process_time() < 3: pass"}, {"status": "cpu_timeout"}),
    "stdout": ({"limits": {"stdout_bytes": 1024}, "code": "print('x' * 5000)"}, {"stdout": "x" * 1024}),
    "stderr": ({"limits": {"stderr_bytes": 1024}, "code": "import sys\nsys.stderr.write('x' * 5000)"}, {"stderr": "x" * 1024}),
    "validate": ({"validate": {"on_finding": "block", "deny_modules": ["os"]}, "code": "import os"}, {"status": "blocked"}),
}
# Where processes are limited by themselves only, processor time is no matter of who takes a cell.
STEPS = [name for name in BRINGS if name != "cpu" or "cpu" not in cell.DEGRADED]


class Keeper:
    def __init__(self, mutant, folder, without):
        self.path = os.path.join(folder, "keeper.sock")
        self.process = subprocess.Popen([mutant, "keeper", "--socket", self.path], env=dict(os.environ, SC_TAKEN_MUTANT=without),
                                        stdin=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE_S
        while not os.path.exists(self.path):
            assert self.process.poll() is None and time.monotonic() < until
            time.sleep(0.02)

    def connect(self):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.path)
        return sock

    def end(self):
        self.process.terminate()
        assert self.process.wait(PATIENCE_S) == 0


@pytest.fixture
def taken(mutant):
    """taken(what is left out, request) → the result of a cell that waited."""
    with tempfile.TemporaryDirectory(prefix="taken-") as folder:
        keepers = {}

        def ask(without, request):
            if without not in keepers:
                os.mkdir(os.path.join(folder, without), 0o700)
                keepers[without] = Keeper(mutant, os.path.join(folder, without), without)
            spec = {"language": "python", "mode": "rich", **request, "allow_degraded": cell.DEGRADED}
            if os.environ.get("SNAPCELL_CGROUP_PARENT"):
                spec["cgroup_parent"] = os.environ["SNAPCELL_CGROUP_PARENT"]
            until, result = time.monotonic() + PATIENCE_S, {"start": {"kind": "cold"}}
            with wire.Wire(keepers[without]) as line:
                while result["start"]["kind"] != "warm":
                    # What takes no time, until one waits.
                    first = line.ask(request="once", output="reply", spec={**spec, "code": "1", "files": []})
                    assert time.monotonic() < until, json.dumps(first)
                    time.sleep(0.5)  # for the next to be there; where it is not, all begins again
                    if first["ok"]["start"]["kind"] == "warm":
                        result = line.ask(request="once", output="reply", spec=spec)["ok"]
            return result

        yield ask
        for keeper in keepers.values():
            keeper.end()


def is_as_asked(result, wanted):
    return all(result[name] == value for name, value in wanted.items())


def test_nothing_is_left_out(taken):
    for name in STEPS:
        request, wanted = BRINGS[name]
        result = taken("nothing", request)
        assert is_as_asked(result, wanted), (name, result)


@pytest.mark.parametrize("name", STEPS)
def test_what_is_left_out_is_missed(taken, name):
    request, wanted = BRINGS[name]
    result = taken(name, request)
    assert not is_as_asked(result, wanted), result
