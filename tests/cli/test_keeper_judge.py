"""`judge` at the keeper itself: what a gate's request may hold, and how it ends."""
import os
import signal

import pytest
from conftest import PATIENCE
from test_gate import gates, spec  # noqa: F401 (fixtures)
from wire import CANCEL, Wire, frame

SLEEP = "import time; time.sleep(3000)"


def task(spec, code="print(1)", **more):
    return {"run": dict(spec, language="python", code=code, limits={"wall_ms": int(PATIENCE * 1000)}), "tests": [{}], **more}


def test_a_user_at_the_keepers_own_socket(keeper, spec, tmp_path):
    """Who could run it themselves may name files of theirs."""
    (tmp_path / "in").write_text("x")
    with Wire(keeper) as client:
        reply = client.ask(request="judge", judge=task(spec, "print(input())", tests=[{"stdin_file": str(tmp_path / "in"), "expected": "x\n"}]))
        assert reply["ok"]["verdict"] == "accepted", reply


def test_cancelled_it_tells_what_was_done(keeper, spec):
    with Wire(keeper) as client:
        begun = client.begin(request="judge", judge=task(spec, SLEEP))
        client.send(frame(CANCEL, begun))
        client.send(frame(CANCEL, begun))
        reply = client.finish(begun)[0]
        assert reply["ok"]["verdict"] != "accepted", reply
        assert client.ask(request="judge", judge=task(spec))["ok"]["verdict"] == "accepted"


def test_who_waits_is_told_of_the_keepers_end(keeper, spec):
    with Wire(keeper) as client:
        begun = client.begin(request="judge", judge=task(spec, SLEEP))
        assert client.ask(request="session.list")["ok"]["sessions"] == []  # taken, as those before it were
        with open("/proc/%d/task/%d/children" % (keeper.child.pid, keeper.child.pid)) as f:
            assert f.read().split()
        keeper.child.send_signal(signal.SIGTERM)
        assert client.finish(begun)[0]["error"]["kind"] == "ended"
    assert keeper.child.wait(PATIENCE) == 0


@pytest.mark.parametrize("change,field", [
    ({"run": {"program": "/bin/true"}}, "judge.run.program"), ({"run": {"command": ["cat"], "root": "/"}}, "judge.run.root"),
    ({"run": {"command": ["cat"], "dirs": [{"host": "/etc", "path": "x"}]}}, "judge.run.dirs"),
    ({"run": {"command": ["cat"], "pin": "0"}}, "judge.run.pin"), ({"pin": True}, "judge.pin"),
    ({"run": {"command": ["cat"], "cgroup_parent": "/x"}}, "judge.run.cgroup_parent"),
    ({"run": {"command": ["cat"], "files": [{"path": "x", "host": "/etc/passwd"}]}}, "judge.run.files[0].host"),
    ({"build": {"command": ["true"], "outputs": ["x"], "venv": "/x"}}, "judge.build.venv"),
    ({"checker": {"command": ["true"], "interpreter": "/x"}}, "judge.checker.interpreter"),
    ({"tests": [{}, {"stdin_file": "/etc/passwd"}]}, "judge.tests[1].stdin_file"),
    ({"tests": [{"expected_file": "/etc/passwd"}]}, "judge.tests[0].expected_file"),
    ({"run": {"command": ["cat"], "allow_degraded": ["landlock"]}}, "judge.run.allow_degraded"),
])
def test_what_a_gate_may_not_ask(gates, spec, change, field):
    """The keeper holds it, whatever a gate lets through; the same task without it is taken."""
    keeper = gates(tenants={"t": dict(spec)})
    with keeper.tenant("t") as gate:
        error = gate.ask(request="judge", judge=dict(task(spec), **change))["error"]
        assert (error["kind"], error["field"]) == ("forbidden", field), error
        assert error["message"].startswith(field)
        assert gate.ask(request="judge", judge=task(spec))["ok"]["verdict"] == "accepted"


def test_a_tenant_that_may_only_use_templates(gates, spec):
    keeper = gates(tenants={"t": dict(spec, templates=["python-data"])})
    with keeper.tenant("t") as gate:
        assert gate.ask(request="judge", judge=task(spec))["error"]["field"] == "judge"


def test_a_time_that_has_passed_ends_it(gates, spec):
    keeper = gates(tenants={"t": dict(spec, session_ms=1000)})
    with keeper.tenant("t") as gate:
        reply = gate.ask(request="judge", judge=task(spec, SLEEP, tests=[{}, {}]))
        assert reply["ok"]["tests"][1]["verdict"] == "skipped", reply


def test_what_is_wrong_is_told_by_its_path(keeper, spec):
    with Wire(keeper) as client:
        for request, field in (({}, "judge"), ({"judge": 1}, "judge"), ({"judge": {"run": {"command": ["cat"]}, "tests": [{"x": 1}]}}, "judge.tests[0].x"),
                               ({"judge": {"run": {"command": ["cat"]}}}, "judge.tests"), ({"judge": task(spec), "spec": {}}, "spec")):
            error = client.ask(request="judge", **request)["error"]
            assert (error["kind"], error["field"]) == ("usage", field), error
    assert os.path.exists(keeper.socket)
