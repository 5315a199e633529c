"""POST /v1/judge: a task built once and tested many times, as `snapcell judge` does it, within what a tenant may have."""
import glob
import json
import os
import signal

import pytest
from conftest import DEGRADED, PATIENCE, UnixConnection, until

SLEEP = "import time; time.sleep(3000)"


def part(**fields):
    return dict(fields, allow_degraded=DEGRADED) if DEGRADED else fields


def python(code, **more):
    return {"run": part(language="python", code=code, limits={"wall_ms": 20000}), "tests": [{}], **more}


def judge(service, task, **more):
    answer = service.post("/v1/judge", task, **more)
    assert answer.status == 200, answer.body
    return answer.json()


def verdicts(report):
    return [x["verdict"] for x in report["tests"]]


def gone(service):
    """No process of a task is left with the keeper."""
    keeper = service.children()["keeper"]
    with open("/proc/%d/task/%d/children" % (keeper, keeper)) as f:
        return not f.read().split()


def test_build_once_run_many(shared):
    """What was built is there for every test and nothing of another; outputs are compared as the task says."""
    program = "#!/bin/sh\nls /home/user\necho old > left\ncat\n"
    task = {"build": part(command=["sh", "-c", "cp main.sh tool && chmod +x tool && echo built"],
                          files=[{"path": "main.sh", "content": program}], outputs=["tool"]),
            "run": part(command=["/build/tool"]), "jobs": 2, "output_bytes": 100,
            "tests": [{"name": "exact", "stdin": "a \n", "expected": "a \n"}, {"stdin": "a \n\n", "expected": "a\n", "compare": "trimmed"},
                      {"stdin": "a \n", "expected": "a\n"}, {"stdin": "a", "expected": "b"}, {"stdin_b64": "/w==", "expected_b64": "/w=="}]}
    report = judge(shared, task)
    assert report["build"]["verdict"] == "accepted" and report["build"]["stdout"] == "built\n"
    assert report["build"]["outputs"] == [{"path": "tool", "size": len(program)}]
    assert verdicts(report) == ["accepted", "accepted", "presentation_error", "wrong_answer", "accepted"]
    assert report["tests"][0]["name"] == "exact" and report["tests"][0]["stdout"] == "a \n"
    assert report["verdict"] == "presentation_error" and report["summary"]["accepted"] == 3


def test_a_checker_and_limits_of_one_test(shared):
    checker = part(language="python", code="import sys\nsys.exit(0 if open(sys.argv[2]).read() == 'fine' else 1)")
    task = python("import sys\nif 'loop' in sys.argv: time = __import__('time').sleep(3000)\nprint('fine', end='')", checker=checker,
                  tests=[{}, {"args": ["loop"], "limits": {"wall_ms": 200}}, {"compare": "exact", "expected": "other"}])
    assert verdicts(judge(shared, task)) == ["accepted", "time_limit", "wrong_answer"]


def test_stop_on_first_failure(shared):
    task = python("print(1)", tests=[{"expected": "1\n"}, {"expected": "2\n"}, {"expected": "1\n"}], stop_on_first_failure=True)
    assert verdicts(judge(shared, task)) == ["accepted", "wrong_answer", "skipped"]
    assert verdicts(judge(shared, dict(task, stop_on_first_failure=False))) == ["accepted", "wrong_answer", "accepted"]


def test_a_build_that_fails(shared):
    task = python("1", build=part(command=["sh", "-c", "echo no >&2; exit 1"], outputs=["x"]))
    report = judge(shared, task)
    assert (report["verdict"], report["build"]["stderr"], verdicts(report)) == ("build_error", "no\n", ["skipped"])


RUN = {"command": ["cat"]}


@pytest.mark.parametrize("task,field", [
    ({}, "run"), ({"run": RUN}, "tests"), ({"run": RUN, "tests": []}, "tests"), ({"run": RUN, "tests": {}}, "tests"),
    ({"run": 1, "tests": [{}]}, "run"), ({"run": RUN, "tests": [1]}, "tests[0]"), ({"run": RUN, "tests": [{}], "job": 1}, "job"),
    ({"run": RUN, "tests": [{}], "jobs": 65}, "jobs"), ({"run": RUN, "tests": [{}], "compare": "fuzzy"}, "compare"),
    ({"run": RUN, "tests": [{}], "pin": True}, "pin"), ({"run": RUN, "tests": [{"compare": "exact"}]}, "tests[0].compare"),
    ({"run": RUN, "tests": [{"stdin": 1}]}, "tests[0].stdin"), ({"run": RUN, "tests": [{"nam": "x"}]}, "tests[0].nam"),
    ({"run": RUN, "tests": [{"stdin_file": "/etc/passwd"}]}, "tests[0].stdin_file"),
    ({"run": RUN, "tests": [{"expected_file": "/etc/passwd"}]}, "tests[0].expected_file"),
    ({"run": {"command": ["cat"], "root": "/"}, "tests": [{}]}, "run.root"), ({"run": {"program": "/bin/true"}, "tests": [{}]}, "run.program"),
    ({"run": {"command": ["cat"], "limits": {"wall_ms": -1}}, "tests": [{}]}, "run.limits.wall_ms"),
    ({"run": {"command": ["cat"], "template": "python"}, "tests": [{}]}, "run.template"),
    ({"run": {"command": ["cat"], "mode": "rich"}, "tests": [{}]}, "run.mode"),
    ({"run": {"command": ["cat"], "files": [{"path": "x", "host": "/etc/passwd"}]}, "tests": [{}]}, "run.files[0].host"),
    ({"run": RUN, "tests": [{}], "build": {"command": ["true"]}}, "build.outputs"),
    ({"run": RUN, "tests": [{}], "build": {"command": ["true"], "out": ["x"]}}, "build.out"),
    ({"run": RUN, "tests": [{}], "checker": {"command": ["true"], "dirs": []}}, "checker.dirs"),
    ({"run": RUN, "tests": [{}], "checker": {"command": ["true"], "stdin": ""}}, "checker.stdin"),
])
def test_wrong_tasks(shared, task, field):
    detail = shared.post("/v1/judge", task).problem(422, "usage", field)
    assert field.split(".")[0].split("[")[0] in detail


def test_who_goes_away_ends_it(service):
    connection = UnixConnection(service.socket)
    body = json.dumps(python(SLEEP, run=part(language="python", code=SLEEP, limits={"wall_ms": 3600000}))).encode()
    connection.request("POST", "/v1/judge", body, {"Content-Type": "application/json"})
    until(lambda: not gone(service), "the task to begin")
    connection.close()
    until(lambda: gone(service), "its processes to be gone")
    assert judge(service, python("1"))["verdict"] == "accepted"


def test_the_end_of_the_service_is_told(services):
    service = services("--drain", "0s")
    connection = UnixConnection(service.socket)
    body = json.dumps(python(SLEEP, run=part(language="python", code=SLEEP, limits={"wall_ms": 3600000}))).encode()
    connection.request("POST", "/v1/judge", body, {"Content-Type": "application/json"})
    until(lambda: not gone(service), "the task to begin")
    service.child.send_signal(signal.SIGTERM)
    try:
        assert connection.getresponse().status in (410, 503)
    except ConnectionError:
        pass  # the gate was sooner
    connection.close()
    assert service.child.wait(PATIENCE) == 0


def test_the_keeper_dies_in_between(service):
    connection = UnixConnection(service.socket)
    body = json.dumps(python(SLEEP, run=part(language="python", code=SLEEP, limits={"wall_ms": 3600000}))).encode()
    connection.request("POST", "/v1/judge", body, {"Content-Type": "application/json"})
    keeper = service.children()["keeper"]
    until(lambda: not gone(service), "the task to begin")
    with open("/proc/%d/task/%d/children" % (keeper, keeper)) as f:
        judging = int(f.read().split()[0])
    os.kill(keeper, signal.SIGKILL)
    response = connection.getresponse()
    assert response.status == 503 and json.loads(response.read())["type"] == "urn:snapcell:problem:keeper_lost"
    connection.close()
    until(lambda: not os.path.exists("/proc/%d" % judging), "the task's process to be gone with it")
    until(lambda: service.get("/readyz").status == 200, "the next keeper")
    assert judge(service, python("1"))["verdict"] == "accepted"


@pytest.fixture
def tenant(services):
    """A service whose key may have two cells of 300 MB together. (service, headers)"""
    service = services()
    with open(service.folder + "/dev/tenants.json", "w", encoding="utf-8") as f:
        json.dump({"version": 1, "standard": {"cells": 2, "memory_bytes": 300 << 20, "allow_degraded": DEGRADED}}, f)
    headers = {"X-API-Key": service.key}
    until(lambda: service.get("/v1/host", headers=headers).status == 403, "the new row")
    return service, headers


def test_a_tenants_bounds_hold_for_all_cells_of_a_task(tenant):
    service, headers = tenant
    task = python("1", jobs=2, tests=[{}, {}, {}])
    task["run"]["limits"]["memory_bytes"] = 150 << 20
    assert verdicts(judge(service, task, headers=headers)) == ["accepted"] * 3
    service.post("/v1/judge", dict(task, jobs=3), headers=headers).problem(403, "forbidden", "limits.memory_bytes")
    task["run"]["limits"]["memory_bytes"] = 50 << 20
    service.post("/v1/judge", dict(task, jobs=3), headers=headers).problem(403, "forbidden", "jobs")
    # The largest cell counts, also that of one test alone.
    large = dict(task, tests=[{}, {"limits": {"memory_bytes": 151 << 20}}])
    service.post("/v1/judge", large, headers=headers).problem(403, "forbidden", "limits.memory_bytes")
    network = dict(task, run=dict(task["run"], network={"mode": "open"}))
    service.post("/v1/judge", network, headers=headers).problem(422, "usage", "run.network")


def test_a_task_waits_for_its_turn(tenant):
    """What a session and another task hold is not there for it, and is again when they have ended."""
    service, headers = tenant
    made = service.post("/v1/sessions", service.cell(limits={"memory_bytes": 64 << 20}), headers=headers).json()["session"]
    task = python("1", jobs=2, tests=[{}, {}])
    task["run"]["limits"]["memory_bytes"] = 64 << 20
    service.post("/v1/judge", dict(task, deadline_ms=300), headers=headers).problem(503, "overloaded")
    assert judge(service, dict(task, jobs=1), headers=headers)["verdict"] == "accepted"
    assert service("DELETE", "/v1/sessions/" + made, headers=headers).status == 200
    for _ in range(3):
        assert judge(service, task, headers=headers)["verdict"] == "accepted"


def test_the_audit_stream_tells_of_it(service):
    """Who, what, how it ended; nothing of what was given to it or said by it."""
    task = python("print(input())", tests=[{"stdin": "s3cret-in", "expected": "s3cret-in\n"}, {"stdin": "x", "expected": "s3cret-out"}],
                  build=part(command=["sh", "-c", "echo s3cret-say; touch a"], outputs=["a"]))
    assert judge(service, task)["verdict"] == "wrong_answer"
    text = "".join(open(x, encoding="utf-8").read() for x in glob.glob(service.folder + "/dev/**/audit*.jsonl", recursive=True))
    records = [x for x in map(json.loads, text.splitlines()) if x.get("request") == "judge"]
    assert [(x["event"], x["verdict"], x["tests"], x["accepted"]) for x in records] == [("run", "wrong_answer", 2, 1)]
    assert records[0]["who"]["tenant"].startswith("uid-") and len(records[0]["spec"]) == len(records[0]["build"]) == 64
    assert "s3cret" not in text
