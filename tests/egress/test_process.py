"""The egress process itself: what it may do, and how long it lives."""
import json
import os
import signal
import time

import pytest
from conftest import INTERNAL
from test_rules import out

PATIENCE = 60


def status_of(pid):
    try:
        with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
            return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    except OSError:
        return {}


def children(pid):
    """(pid, status) of the living children."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            status = status_of(int(name))
            if status.get("PPid") == str(pid) and not status["State"].startswith("Z"):
                found.append((int(name), status))
    return found


def wait_for(condition):
    until = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < until
        time.sleep(0.02)
    return value


@pytest.fixture
def living(cells, lab):
    """(supervisor, its egress process, status) of a cell that sleeps."""
    started = lab.order(start=[cells.binary, "run", "--wall", "300s", *cells.accept, *INTERNAL, "--allow", "allowed.test", "--", "sleep", "300"])["pid"]

    def sealed():
        return [x for x in children(started) if x[1]["Name"] == "snapcell-egress" and x[1]["Seccomp"] == "2"]
    [(pid, status)] = wait_for(sealed)
    yield started, pid, status
    try:
        os.kill(started, signal.SIGKILL)
    except ProcessLookupError:
        pass


def test_it_has_no_privilege(living):
    supervisor, _, status = living
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(status[name], 16) == 0, (name, status)
    assert status["NoNewPrivs"] == "1" and status["Threads"] == "1"
    uids = {int(x) for x in status["Uid"].split() + status["Gid"].split()}
    if os.geteuid() == 0:
        assert len(uids) == 1 and 0 not in uids
        assert status["Groups"].strip() == ""
        [program] = [x for x in children(supervisor) if x[1]["Name"] != "snapcell-egress"]
        assert status["Uid"] != program[1]["Uid"]
    else:
        assert uids == {os.geteuid(), os.getegid()}


def test_nobody_of_its_user_looks_into_it(living):
    _, pid, _ = living
    if os.geteuid() == 0:
        assert os.stat("/proc/%d/fd" % pid).st_uid == 0
    else:
        with pytest.raises(PermissionError):
            os.listdir("/proc/%d/fd" % pid)


def test_it_ends_with_its_owner(living):
    supervisor, pid, _ = living
    os.kill(supervisor, signal.SIGKILL)
    wait_for(lambda: status_of(pid).get("State", "Z").startswith("Z"))


def test_without_it_the_cell_has_no_network_and_the_result_says_so(cells, lab):
    """Killed by somebody who may; the cell goes on."""
    folder = cells.folder
    os.chmod(folder, 0o777)
    program, answer = os.path.join(folder, "wait.sh"), os.path.join(folder, "answer.json")
    with open(program, "w", encoding="ascii") as f:
        f.write("sleep 4; curl -sS -m 5 http://allowed.test/hello || echo failed\n")
    line = " ".join([cells.binary, "run", "--json", "--wall", "60s", *cells.accept, *INTERNAL, "--allow", "allowed.test", program])
    started = lab.order(start=["bash", "-c", "exec %s >%s.part" % (line, answer)])["pid"]
    [(pid, _)] = wait_for(lambda: [x for x in children(started) if x[1]["Name"] == "snapcell-egress" and x[1]["Seccomp"] == "2"])
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not status_of(started) or status_of(started)["State"].startswith("Z"))
    with open(answer + ".part", encoding="utf-8") as f:
        result = json.load(f)
    assert result["stdout"] == "failed\n" and result["status"] == "ok", result
    assert [x["resource"] for x in result["denials"] if x["action"] == "egress"] == ["the egress process"]


def test_a_cell_without_rules_has_none(cells, lab):
    """Nothing of this is paid for without need."""
    started = lab.order(start=[cells.binary, "run", *cells.accept, "--wall", "300s", "--", "sleep", "300"])["pid"]
    try:
        wait_for(lambda: children(started))
        assert [x for x in children(started) if x[1]["Name"] == "snapcell-egress"] == []
    finally:
        os.kill(started, signal.SIGKILL)


def test_a_rich_run_has_it_too(cells):
    result = cells.python(["--allow", "allowed.test"], "get('http://allowed.test/hello')[:9]", "--mode", "rich")
    assert result["value"]["text/plain"] == "'origin-ok'", result
    assert result["network"][0]["name"] == "allowed.test"
    assert out(result) == []
