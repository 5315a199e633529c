"""Zygotes are made anew by age and count; and all that waits is given up on a machine that is pressed for memory (as root, for the
keeper is told of another machine than this)."""
import ctypes
import os
import re
import time

from conftest import PATIENCE
from test_warm import run
from test_warm_forks import forked
from test_warm_templates import templates  # noqa: F401 (a fixture)

MADE = {"code": "import time\nmade = time.monotonic_ns()"}
LIBC = ctypes.CDLL(None, use_errno=True)
NEW_MOUNTS, PRIVATE, BIND = 0x20000, 0x4000 | 0x40000, 0x1000


class Machine:
    """What /proc/meminfo says to a keeper that is started with `before` as its preexec_fn."""

    def __init__(self, path):
        self.path = str(path)
        self.says(free=0.9)

    def says(self, free):
        with open("/proc/meminfo", encoding="ascii") as f:
            text = f.read()
        total = int(re.search(r"MemTotal: +(\d+)", text).group(1))
        with open(self.path, "w", encoding="ascii") as f:
            f.write(re.sub(r"MemAvailable: +\d+", "MemAvailable: %d" % (total * free), text))

    def before(self):
        for r in (LIBC.unshare(NEW_MOUNTS), LIBC.mount(b"none", b"/", None, PRIVATE, None),
                  LIBC.mount(self.path.encode(), b"/proc/meminfo", None, BIND, None)):
            if r != 0:
                raise OSError(ctypes.get_errno(), "mount")


def await_cells(keeper, wanted):
    until = time.monotonic() + PATIENCE
    while bool(keeper.cells()) != wanted:
        assert time.monotonic() < until, keeper.cells()
        time.sleep(0.05)


def test_a_zygote_has_so_many_forks(templates, keepers):  # noqa: F811
    templates("few", prelude=MADE, pool={"recycle_runs": 3})
    keeper = keepers("--pool", "2")
    made = [forked(keeper, "python", "print(made)", "--template", "few")["stdout"] for _ in range(8)]
    assert len(set(made)) >= 3 and max(made.count(x) for x in made) <= 3, made


def test_a_zygote_gets_so_old(templates, keepers):  # noqa: F811
    templates("young", prelude=MADE, pool={"recycle_ms": 1000})
    keeper = keepers("--pool", "2")
    until, made = time.monotonic() + PATIENCE, set()
    while len(made) < 2:
        assert time.monotonic() < until, made
        made.add(forked(keeper, "python", "print(made)", "--template", "young")["stdout"])
        time.sleep(0.2)


if os.geteuid() == 0:
    def test_all_that_waits_is_given_up_and_made_again(keepers, tmp_path):
        machine = Machine(tmp_path / "meminfo")
        keeper = keepers("--pool", "2", preexec_fn=machine.before)
        forked(keeper, "python", "1")
        await_cells(keeper, True)
        machine.says(free=0.01)
        # Whoever comes is served, from what waits or cold; behind it the keeper looks, and gives back one by one, the zygote last.
        for _ in range(2):
            result = run(keeper, "python", "print(2)")
            assert (result["status"], result["stdout"]) == ("ok", "2\n"), result
            await_cells(keeper, False)
        assert run(keeper, "python", "print(3)")["start"] == {"kind": "cold"}
        machine.says(free=0.9)
        assert forked(keeper, "python", "print(4)")["stdout"] == "4\n"
