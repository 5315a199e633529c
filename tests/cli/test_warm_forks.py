"""Parked cells whose interpreters are forks of one that has loaded everything."""
import json
import os
import signal
import time

import pytest
from conftest import PATIENCE
from test_warm import PRINTS, READS, once, run, settled, told, warm
from test_warm_templates import templates  # noqa: F401 (a fixture)
from wire import CANCEL, OUTPUT, Wire, frame


# Fewer than the sessions that a keeper allows at once.
BURST = 60


@pytest.fixture
def keeper(keepers):
    return keepers("--pool", "4")


def forked(keeper, language, code, *options, kinds=("warm", "fork"), **more):
    """The result of a run by a fork: asked for until it was one. Zygotes are made in quiet."""
    until = time.monotonic() + PATIENCE
    while True:
        result = run(keeper, language, code, *options, **more)
        start = result["start"]
        assert ("zygote_age_ms" in start) <= (start["kind"] != "cold"), start
        if start["kind"] in kinds and "zygote_age_ms" in start:
            return result
        assert time.monotonic() < until
        time.sleep(0.2)


@pytest.mark.parametrize("language", sorted(PRINTS))
def test_forks_tell_what_cold_cells_tell(keeper, language):
    options = ("--env", "GIVEN=a=b c")
    cold = run(keeper, language, PRINTS[language], *options)
    assert cold["start"] == {"kind": "cold"}
    assert told(forked(keeper, language, PRINTS[language], *options)) == told(cold)


@pytest.mark.parametrize("language", sorted(READS))
def test_files_and_stdin(keeper, language, tmp_path):
    source = tmp_path / "source.txt"
    source.write_text("in a file")
    options = ("--file", "%s:sub/in.txt" % source)
    cold = run(keeper, language, READS[language], *options, input=b"and stdin\n")
    assert cold["stdout"].split() == "in a file and stdin".split(), cold
    assert told(forked(keeper, language, READS[language], *options, input=b"and stdin\n")) == told(cold)


def test_restricted(keeper):
    code = "x = 6\nprint(x)\nx * 7"
    cold = run(keeper, "python", code, "--mode", "restricted")
    assert told(forked(keeper, "python", code, "--mode", "restricted")) == told(cold)
    assert forked(keeper, "python", "open('/etc/passwd')", "--mode", "restricted")["status"] == "error"


def test_a_fork_lists_its_interfaces(keeper):
    """A session's forks cannot (docs/limits-of-isolation.md), those of a zygote can."""
    assert forked(keeper, "python", "import socket\nprint(socket.if_nameindex())")["stdout"] == "[(1, 'lo')]\n"


def test_the_cell_of_a_fork_is_as_any(keeper):
    """Ids, rights, filter, and what can be written; the walls themselves are held by the tests of forks in cells."""
    code = ("import os, resource\nimport stat\nprint(resource.getrlimit(resource.RLIMIT_NPROC))\nstatus = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
            "print(os.getuid(), os.getgid(), [status[name].split() for name in ('CapEff', 'CapBnd', 'NoNewPrivs', 'Threads')])\n"
            "print(sorted(os.listdir('/proc/self/fd')), os.getcwd(), os.listdir('.'), os.listdir('/tmp'), os.listdir('/dev/shm'))\n"
            "for place in ('.', '/tmp', '/dev/shm'): open(place + '/made', 'w').write('x')")
    cold = run(keeper, "python", code)
    assert cold["status"] == "ok", cold
    for _ in range(3):
        result = forked(keeper, "python", code)
        assert (result["status"], result["stdout"]) == ("ok", cold["stdout"]), result


def test_one_load_for_many_and_no_two_alike(templates, keepers):  # noqa: F811
    templates("ours", prelude={"imports": ["random", "uuid"], "code": "import time\nmade = time.monotonic_ns()"})
    keeper = keepers()
    lines = [forked(keeper, "python", "import random, uuid\nprint(made)\nprint(random.random(), uuid.uuid4())",
                    "--template", "ours")["stdout"].splitlines() for _ in range(6)]
    assert len({line[0] for line in lines}) == 1 and len({line[1] for line in lines}) == 6, lines


def test_what_cannot_be_forked_is_started(templates, keepers):  # noqa: F811
    templates("threads", prelude={"code": "import threading, time\nthreading.Thread(target=time.sleep, args=(3600,), daemon=True).start()"})
    keeper = keepers()
    until, result = time.monotonic() + PATIENCE, {"start": {"kind": "cold"}}
    while result["start"]["kind"] == "cold":
        assert time.monotonic() < until
        result = run(keeper, "python", "print(1)", "--template", "threads")
        assert (result["status"], result["stdout"]) == ("ok", "1\n"), result
        time.sleep(0.2)
    assert result["start"]["kind"] == "warm" and "zygote_age_ms" not in result["start"], result
    assert result["start"]["trouble"].startswith("not forkable: ") and "thread" in result["start"]["trouble"], result
    listed = {x["name"]: x for x in json.loads(keeper.cli("template", "ls", "--json").stdout)}
    assert "broken" not in json.dumps(listed["threads"]), listed
    # Who wants none is told nothing.
    plain = warm(keepers("--no-zygotes"), "python", "print(1)", "--template", "threads")
    assert set(plain["start"]) == {"kind", "parked_ms", "template"}, plain


def test_a_run_that_ends_its_interpreter_is_answered_at_once(keeper):
    """Not when its time is up: how it ended is told by two cells, in either order."""
    for code, status in [("import os\nos._exit(3)", "error"), ("import os\nos.execv('/bin/true', ['true'])", "ok")] * 10:
        begin = time.monotonic()
        result = forked(keeper, "python", code, "--wall", "90s")
        assert result["status"] == status and time.monotonic() - begin < 80, result


def test_a_burst_falls_to_forks(keeper):
    """All at once, before any is answered; tests/soak/warm.py has more of them."""
    forked(keeper, "python", "1")
    before = settled(keeper)
    with Wire(keeper) as wire:
        asked = [wire.begin(**once(keeper, "import os; print(%d, os.environ['N'])" % i, env={"N": str(i)})) for i in range(BURST)]
        replies = wire.finish_all(asked)
    results = [replies[channel][0]["ok"] for channel in asked]
    for number, result in enumerate(results):
        assert (result["status"], result["stdout"]) == ("ok", "%d %d\n" % (number, number)), result
    kinds = {result["start"]["kind"] for result in results}
    assert "fork" in kinds and kinds <= {"warm", "fork", "cold"}, kinds
    after = settled(keeper)
    # The pool is full now: its four cells, the zygote, and four blank cells, which are agents and nothing else. The control groups of
    # ended cells may still be held.
    assert after[1] <= max(before[1], 4 * 2 + 3 + 4) and after[0] < before[0] + 8 * 64 + 64, (before, after)
    assert json.loads(keeper("ls", "--json").stdout) == {"sessions": []}


FULL = "import os, time\nfor _ in range(100):\n    if os.fork() == 0: time.sleep(600)\nprint('full', flush=True)\ntime.sleep(600)"


def test_cells_that_are_full_take_no_forks_from_others(keeper):
    """The kernel counts their processes with their zygote's, whose limit must have room for that."""
    if keeper.cli.accept:
        pytest.skip("this host counts no processes of a whole cell: then all of a zygote's share its limit")
    forked(keeper, "python", "1")
    with Wire(keeper) as full, Wire(keeper) as wire:
        asked = [full.begin(**{**once(keeper, FULL, limits={"wall_ms": 600000}), "output": "stream"}) for _ in range(2)]
        said = {channel: b"" for channel in asked}
        while any(text != b"full\n" for text in said.values()):
            kind, about, payload = full.frame()
            assert kind == OUTPUT, payload
            said[about] += payload[8:]
        kinds = []
        while kinds[-1:] != ["fork"]:  # nothing is made ahead while something runs
            result = wire.ask(**once(keeper, "print(2)"))["ok"]
            assert (result["status"], result["stdout"]) == ("ok", "2\n") and result["start"]["kind"] != "cold", result
            kinds.append(result["start"]["kind"])
            assert len(kinds) <= 5, kinds
        for channel in asked:
            full.send(frame(CANCEL, channel))
        for reply, _ in full.finish_all(asked).values():
            assert reply["ok"]["status"] == "cancelled" and reply["ok"]["start"]["kind"] in ("warm", "fork"), reply


def test_a_zygote_that_dies_takes_no_run_along(keeper):
    forked(keeper, "python", "1")
    for _ in range(3):
        for pid in keeper.cells():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        result = run(keeper, "python", "print(2)")
        assert (result["status"], result["stdout"]) == ("ok", "2\n"), result
    assert forked(keeper, "python", "print(3)")["stdout"] == "3\n"


def test_its_end_leaves_nothing(keepers):
    keeper = keepers()
    forked(keeper, "python", "1")
    cells = keeper.cells()
    assert cells
    assert keeper.end() == 0
    until = time.monotonic() + PATIENCE
    while [pid for pid in cells if os.path.exists("/proc/%d" % pid)]:
        assert time.monotonic() < until, json.dumps(cells)
        time.sleep(0.05)


def test_200_forks_leave_nothing(keeper):
    forked(keeper, "python", "1")
    with Wire(keeper) as wire:
        def run_100():
            for i in range(100):
                assert wire.ask(**once(keeper, "print(%d)" % i))["ok"]["stdout"] == "%d\n" % i
            return settled(keeper)

        before, after = run_100(), run_100()
    assert after[1] == before[1] and after[0] < before[0] + 64, (before, after)
