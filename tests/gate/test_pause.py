"""Sessions on disk, by HTTP: pausing, resuming, and whose they are."""
import json
import os
import signal

from conftest import DEGRADED, until


def start(service, name, key=None, **more):
    answer = service.post("/v1/sessions", service.cell(name=name, **more), headers=key)
    assert answer.status == 201, answer.body
    return "/v1/sessions/" + name


def run(service, session, code, key=None):
    answer = service.post(session + "/run", {"language": "python", "code": code}, headers=key)
    assert answer.status == 200 and answer.json()["status"] == "ok", answer.body
    return answer.json()


def pause(service, session, key=None):
    told = service.post(session + "/pause", {}, headers=key)
    assert told.status == 200 and told.json()["bytes"] > 0, told.body


def write(service, tenants, standard=None):
    """Other rows of tenants; in force once the tenant that is no operator is seen not to be."""
    rows = {"version": 1, "standard": dict({"allow_degraded": DEGRADED}, **(standard or {})), "tenants": tenants}
    with open(service.folder + "/dev/tenants.json", "w", encoding="utf-8") as f:
        json.dump(rows, f)
    until(lambda: service.get("/v1/host", headers={"X-API-Key": service.key}).status == 403, "the new rows")


def test_a_session_is_paused_and_goes_on(shared):
    session = start(shared, "a", idle_ms=100000, total_ms=200000, env={"E": "e"})
    run(shared, session, "import os\nx = 1\nopen('f', 'w').write(os.environ['E'])")
    pause(shared, session)
    told = shared.get(session).json()
    assert (told["session"], told["state"], [x["name"] for x in told["contexts"]]) == ("a", "paused", ["python"])
    assert told["tenant"].startswith("uid-") and "uid" not in told
    assert [x["state"] for x in shared.get("/v1/sessions?prefix=a").json()["sessions"]] == ["paused"]
    for word, body in (("/run", {"language": "python", "code": "1"}), ("/fork", {}), ("/pause", {})):
        shared.post(session + word, body).problem(409, "conflict", "session")
    shared.get(session + "/metrics").problem(409, "conflict", "session")
    shared.post("/v1/sessions", shared.cell(name="a")).problem(422, "usage", "name")
    assert shared.post(session + "/resume", {"idle_ms": 50000}).json() == {"session": "a"}
    shared.post(session + "/resume", {}).problem(409, "busy", "session")
    told = shared.get(session).json()
    assert told["idle_left_ms"] <= 50000 and 100000 < told["left_ms"] <= 200000
    result = run(shared, session, "import os\nprint(open('f').read(), os.environ['E'], 'x' in globals())")
    assert result["stdout"] == "e e False\n" and result["context_lost"]
    assert shared("DELETE", session).status == 200
    shared.post(session + "/resume", {}).problem(404, "not_found", "session")


def test_it_is_refused(shared):
    session = start(shared, "b")
    assert shared.post(session + "/commands", {"command": ["sleep", "1000"], "background": True}).status == 200
    shared.post(session + "/pause", {}).problem(409, "busy", "session")
    shared.post(session + "/pause", {"memory": True}).problem(422, "usage", "memory")
    shared.post("/v1/sessions/none/pause", {}).problem(404, "not_found", "session")
    shared.post("/v1/sessions/none/resume", {}).problem(404, "not_found", "session")
    shared.post(session + "/resume", {"idle_ms": 1}).problem(422, "usage", "idle_ms")
    assert shared("DELETE", session).status == 200


def test_a_paused_one_is_ended(shared):
    session = start(shared, "c")
    pause(shared, session)
    assert shared("DELETE", session).json() == {"why": "ended"}
    shared.get(session).problem(404, "not_found", "session")
    assert not os.path.exists(os.path.join(shared.folder, "store/paused/c"))


def test_tenants_have_their_own(shared):
    """One at the unix socket, one by a key; both use the same name."""
    key = {"X-API-Key": shared.key}
    mine, theirs = start(shared, "same"), start(shared, "same", key)
    run(shared, mine, "open('f', 'w').write('mine')")
    run(shared, theirs, "open('f', 'w').write('theirs')", key)
    pause(shared, mine)
    shared.get("/v1/sessions/none", headers=key).problem(404, "not_found", "session")
    assert [x.get("state") for x in shared.get("/v1/sessions", headers=key).json()["sessions"]] == [None]
    pause(shared, theirs, key)
    assert shared("DELETE", mine).status == 200
    mine = start(shared, "mine")
    pause(shared, mine)
    for word in ("resume", "pause", "fork"):
        shared.post("/v1/sessions/mine/" + word, {}, headers=key).problem(404, "not_found", "session")
    shared("DELETE", mine, headers=key).problem(404, "not_found", "session")
    shared.get(mine, headers=key).problem(404, "not_found", "session")
    assert shared.post(theirs + "/resume", {}, headers=key).status == 200
    assert run(shared, theirs, "print(open('f').read())", key)["stdout"] == "theirs\n"
    assert shared("DELETE", theirs, headers=key).status == 200
    assert shared("DELETE", mine).status == 200


def test_quotas(services):
    service = services()
    key = {"X-API-Key": service.key}
    write(service, {"dev": {"cells": 1, "paused": 1, "queued": 0, "session_ms": 100000}})
    session = start(service, "a", key)
    pause(service, session, key)
    other = start(service, "b", key)
    service.post(other + "/pause", {}, headers=key).problem(409, "busy", "session")
    refused = service.post(session + "/resume", {}, headers=key)
    refused.problem(429, "too_many")
    service.post(session + "/resume", {"total_ms": 100001}, headers=key).problem(403, "forbidden", "total_ms")
    assert service("DELETE", other, headers=key).status == 200
    assert service.post(session + "/resume", {}, headers=key).status == 200
    assert service.get(session, headers=key).json()["left_ms"] <= 100000
    pause(service, session, key)
    # What the tenant may do may have changed meanwhile.
    write(service, {"dev": {"memory_bytes": 1 << 20}})
    until(lambda: service.post(session + "/resume", {}, headers=key).status == 403, "the new row")
    service.post(session + "/resume", {}, headers=key).problem(403, "forbidden", "limits.memory_bytes")
    assert service("DELETE", session, headers=key).status == 200


def test_it_outlives_the_keeper(services):
    service = services()
    session = start(service, "a", files=[{"path": "f", "content": "kept"}])
    pause(service, session)
    keeper = service.children()["keeper"]
    os.kill(keeper, signal.SIGKILL)
    until(lambda: service.children().get("keeper", keeper) != keeper and service.get("/readyz").status == 200, "the next keeper")
    until(lambda: service.post(session + "/resume", {}).status == 200, "the session")
    assert service.get(session + "/files/f").body == b"kept"
    assert service("DELETE", session).status == 200
