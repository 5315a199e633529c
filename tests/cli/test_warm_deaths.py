"""A parked cell that dies around the moment at which it is taken: the run is served all the same, and never twice."""
import json
import os
import random
import signal
import threading
import time

import pytest
from conftest import PATIENCE
from test_warm import once, run, warm
from wire import CANCEL, Wire, frame

SAYS = "import time\nprint('begun', flush=True)\ntime.sleep(%s)\nprint('done')"


def stat(pid):
    """(state, parent, processor time) of a process; None when it is dead, also when nobody has asked how."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else (fields[0], int(fields[1]), int(fields[11]) + int(fields[12]))


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def await_state(pids, fits):
    until = time.monotonic() + PATIENCE
    while not all(fits(stat(pid)) for pid in pids):
        assert time.monotonic() < until
        time.sleep(0.01)


def is_zygote(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            return b"--zygote" in f.read().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False


def gauges(keeper, *names):
    with Wire(keeper) as wire:
        text = wire.ask(request="metrics")["ok"]["text"]
    return [int(text.split("\nsnapcell_%s " % name)[1].split("\n")[0]) for name in names]


def with_forks(keeper, cells):
    """The zygote's cell is none that waits. Its forks have agents of their own, and its shepherd; which agent has which fork is
    not told here, nor which agents are of blank cells, which have nothing else: these are cells of one process here."""
    parked, taken, blank = gauges(keeper, "parked_cells", "sessions", "blank_cells")
    found = [cell for cell in cells if len(cell) != 1 and not (len(cell) > 2 and is_zygote(cell[2]))]
    agents = [cell[0] for cell in cells if len(cell) == 1]
    forks = [(cell[1], pid) for cell in cells if len(cell) > 2 and is_zygote(cell[2]) for pid in cell[3:]]
    if len(found) + len(forks) != parked + taken or len(agents) != len(forks) + blank:
        return None  # one is being made, or is on its way out
    return found + [[agent, *fork] for agent, fork in zip(agents, forks)] + [[agent] for agent in agents[len(forks):]]


def look(keeper):
    """Each of its cells as a list of (process, state, processor time), process 1 first: agent, shepherd, interpreter. None: it is
    no time to look."""
    known = {pid: stat(pid) for pid in keeper.cells()}
    known = {pid: now for pid, now in known.items() if now}
    cells = [[pid] for pid, now in known.items() if now[1] == keeper.child.pid]
    for cell in cells:
        for above in cell:
            cell += [pid for pid, now in known.items() if now[1] == above]
    cells = with_forks(keeper, cells) if keeper.forks else cells
    return cells and [[(pid, known[pid][0], known[pid][2]) for pid in cell] for cell in cells]


def cells_of(keeper):
    """Its parked cells, when they are whole and have come to rest."""
    until, last = time.monotonic() + PATIENCE, None
    while True:
        cells = look(keeper)
        if cells and cells == last and all({state for _, state, _ in cell} == {"S"} and len(cell) in (1, 3) for cell in cells):
            return [[pid for pid, _, _ in cell] for cell in cells]
        assert time.monotonic() < until
        last = cells
        time.sleep(0.02)


def parts(cells, which):
    """Of each of these."""
    chosen = {"all": slice(None), "agent": slice(0, 1), "shepherd": slice(1, 2), "interpreter": slice(2, 3)}[which]
    return [pid for cell in cells for pid in cell[chosen]]


@pytest.fixture(params=["forked", "started"])
def keeper(keepers, request):
    made = keepers(*([] if request.param == "forked" else ["--no-zygotes"]))
    made.forks = request.param == "forked"
    warm(made, "python", "1")
    return made


EACH = pytest.mark.parametrize("which", ["all", "agent", "shepherd", "interpreter"])


@EACH
def test_it_is_dead_before(keeper, which):
    for _ in range(2):
        pids = parts(cells_of(keeper), which)
        send(pids, signal.SIGKILL)
        await_state(pids, lambda now: now is None)
        result = run(keeper, "python", "print(2)")
        assert (result["status"], result["stdout"]) == ("ok", "2\n"), result


@pytest.mark.parametrize("which", ["all", "agent", "interpreter"])
def test_it_dies_with_the_request_unread(keeper, which):
    """Stopped first, so that it is taken alive and reads nothing of what it is handed."""
    for _ in range(2):
        cells = cells_of(keeper)
        pids, asleep = parts(cells, which), parts(cells, "agent" if which in ("all", "agent") else "interpreter")
        send(asleep, signal.SIGSTOP)
        await_state(asleep, lambda now: now is None or now[0] in "Tt")
        with Wire(keeper) as wire:
            asked = wire.begin(**once(keeper, "print(2)"))
            wire.ask(request="session.list")  # it has been taken by now
            send(pids, signal.SIGKILL)
            result = wire.finish(asked)[0]["ok"]
        assert (result["status"], result["stdout"]) == ("ok", "2\n"), result


def test_files_are_given_again(keeper):
    files = [{"path": "a", "content": "in a"}, {"path": "b/c", "content": "in c"}]
    for which in ("agent", "interpreter", "all"):
        cells = cells_of(keeper)
        pids, agents = parts(cells, which), parts(cells, "agent")
        send(agents, signal.SIGSTOP)
        await_state(agents, lambda now: now is None or now[0] in "Tt")
        with Wire(keeper) as wire:
            asked = wire.begin(**once(keeper, "print(open('a').read(), open('b/c').read())", files=files))
            wire.ask(request="session.list")
            send(pids, signal.SIGKILL)
            send(agents, signal.SIGCONT)
            result = wire.finish(asked)[0]["ok"]
        assert (result["status"], result["stdout"]) == ("ok", "in a in c\n"), result


@EACH
def test_what_has_begun_is_not_begun_again(keeper, which):
    shown, until = False, time.monotonic() + PATIENCE
    while not shown:
        assert time.monotonic() < until
        cells = cells_of(keeper)
        with Wire(keeper) as wire:
            asked = wire.begin(**{**once(keeper, SAYS % 5), "output": "stream"})
            output = b""
            while output != b"begun\n":
                kind, about, payload = wire.frame()
                assert about == asked
                output += payload[8:]
            killed = len(look(keeper) or ()) == len(cells)  # none was made for it
            if killed:
                send(parts(cells, which), signal.SIGKILL)
            else:
                wire.send(frame(CANCEL, asked))
            reply, streams = wire.finish(asked)
        result = reply["ok"]
        shown = killed and result["start"]["kind"] == "warm"
        assert not shown or result["status"] in ("signaled", "sandbox_error") and streams == {}, (result, streams)


def test_100_deaths_around_the_hand_over(keeper):
    """Before, at, and after it: what a client gets is all of one run, or the end of one that had begun."""
    chance = random.Random(4)
    ends, kinds = {"ok": 0, "ended": 0}, set()
    until = time.monotonic() + 5 * PATIENCE
    for i in range(100):
        assert time.monotonic() < until
        which = ("all", "agent", "shepherd", "interpreter")[i % 4]
        pids = keeper.cells() if which == "all" else parts(cells_of(keeper), which)
        with Wire(keeper) as wire:
            killer = threading.Timer(chance.uniform(0, 0.004), send, (pids, signal.SIGKILL))
            killer.start()
            result = wire.ask(**once(keeper, SAYS % 0.001))["ok"]
            killer.join()
        kinds.add(result["start"]["kind"])
        if result["status"] == "ok":
            assert result["stdout"] == "begun\ndone\n", result
            ends["ok"] += 1
        else:
            assert result["status"] in ("signaled", "sandbox_error"), json.dumps(result)
            assert "begun\ndone\n".startswith(result["stdout"]), json.dumps(result)
            # A request that found no parked cell has what was made for it, which only "all" can end: with its zygote; or a blank cell,
            # whose agent is one of all the agents.
            assert result["start"]["kind"] == "warm" or which in ("all", "agent") and keeper.forks, json.dumps(result)
            ends["ended"] += 1
    assert ends["ok"] > 0 and "warm" in kinds, json.dumps(ends)
