"""Copies of sessions by HTTP: forks, snapshots, sessions from snapshots, rollbacks; and whose they are."""
import json
import os

import pytest
from conftest import DEGRADED, until


def start(service, key=None, **more):
    answer = service.post("/v1/sessions", service.cell(**dict({"forkable": True}, **more)), headers=key)
    assert answer.status == 201, answer.body
    return "/v1/sessions/" + answer.json()["session"]


def python(service, session, code, key=None):
    answer = service.post(session + "/run", {"language": "python", "code": code}, headers=key)
    assert answer.status == 200 and answer.json()["status"] == "ok", answer.body
    return answer.json()["stdout"]


def end(service, place, key=None):
    assert service("DELETE", place, headers=key).json() == {"why": "ended"}


def listed(service, what, key=None):
    return sorted(one[what] for one in service.get("/v1/%ss" % what, headers=key).json()[what + "s"])


@pytest.fixture
def session(shared):
    place = start(shared, name="work")
    python(shared, place, "x = 1\nopen('f', 'w').write('one')")
    yield place
    end(shared, place)


TELLS = "print(x, open('f').read())"


def test_forks(shared, session):
    made = shared.post(session + "/fork", {"copies": 3, "name": "try", "metadata": {"of": "work"}, "idle_ms": 60000})
    assert made.status == 201 and made.json() == {"sessions": ["try-1", "try-2", "try-3"]}, made.body
    for name in made.json()["sessions"]:
        place = "/v1/sessions/" + name
        assert python(shared, place, TELLS + "\nx = 2\nopen('f', 'w').write('two')") == "1 one\n"
        told = shared.get(place).json()
        assert (told["parent"], told["generation"], told["forkable"], told["metadata"]) == ("work", 1, False, {"of": "work"})
        assert told["idle_left_ms"] <= 60000
        end(shared, place)
    assert python(shared, session, TELLS) == "1 one\n"
    (alone,) = shared.post(session + "/fork", {}).json()["sessions"]
    assert len(alone) == 32
    end(shared, "/v1/sessions/" + alone)


def test_snapshots(shared, session):
    kept = shared.post(session + "/snapshot", {"name": "then", "metadata": {"why": "try"}})
    assert kept.status == 201 and kept.json() == {"snapshot": "then"} and kept.headers["location"] == "/v1/snapshots/then"
    python(shared, session, "x = 2\nopen('f', 'w').write('two')")
    told = shared.get("/v1/snapshots/then").json()
    assert (told["snapshot"], told["parent"], told["metadata"]) == ("then", "work", {"why": "try"}) and "state" not in told
    assert listed(shared, "snapshot") == ["then"] and listed(shared, "session") == ["work"]
    assert shared.get("/v1/snapshots?prefix=o").json() == {"snapshots": []}

    made = shared.post("/v1/sessions", {"from": "then", "name": "again", "metadata": {"a": "b"}, "forkable": True, "total_ms": 90000})
    assert made.status == 201 and made.headers["location"] == "/v1/sessions/again", made.body
    again = shared.get("/v1/sessions/again").json()
    assert (again["snapshot"], again["parent"], again["metadata"], again["forkable"]) == ("then", "work", {"a": "b"}, True)
    assert again["left_ms"] <= 90000
    assert python(shared, "/v1/sessions/again", TELLS) == "1 one\n"
    assert shared.post(session + "/rollback", {"snapshot": "then"}).json() == {"session": "work", "forkable": True}
    assert python(shared, session, TELLS) == "1 one\n"
    end(shared, "/v1/sessions/again")
    end(shared, "/v1/snapshots/then")
    shared.get("/v1/snapshots/then").problem(404, "not_found", "snapshot")
    assert python(shared, session, TELLS) == "1 one\n"


def test_a_session_is_forked_as_soon_as_it_is_there(shared):
    """Its cell may not be sealed yet when it is asked."""
    for _ in range(20):
        place = start(shared)
        made = shared.post(place + "/fork", {})
        assert made.status == 201, made.body
        for other in (place, "/v1/sessions/" + made.json()["sessions"][0]):
            end(shared, other)


def test_refusals(shared, session):
    plain = start(shared, forkable=False, name="plain")
    for word in ("/fork", "/snapshot"):
        assert "--forkable" in shared.post(plain + word, {}).problem(409, "not_forkable")
        shared.post("/v1/sessions/none" + word, {}).problem(404, "not_found", "session")
    shared.post(session + "/fork", {"copies": 65}).problem(422, "usage", "copies")
    shared.post(session + "/fork", {"copies": 0}).problem(422, "usage", "copies")
    shared.post(session + "/fork", {"count": 1}).problem(422, "usage", "count")
    shared.post(session + "/fork", {"name": "plain"}).problem(422, "usage", "name")
    shared.post(session + "/rollback", {}).problem(422, "usage", "snapshot")
    for other in ("none", "plain"):
        shared.post(session + "/rollback", {"snapshot": other}).problem(404, "not_found", "snapshot")
        shared.post("/v1/sessions", {"from": other}).problem(404, "not_found", "from")
        shared.get("/v1/snapshots/" + other).problem(404, "not_found", "snapshot")
        shared("DELETE", "/v1/snapshots/" + other).problem(404, "not_found", "snapshot")
    for field, value in (("env", {"A": "b"}), ("limits", {"tasks": 9}), ("template", "python"), ("priority", 1)):
        shared.post("/v1/sessions", {"from": "plain", field: value}).problem(422, "usage", field)
    end(shared, plain)
    python(shared, session, "import threading, time\nt = threading.Thread(target=time.sleep, args=(1000,), daemon=True)\nt.start()")
    assert "thread" in shared.post(session + "/fork", {}).problem(409, "not_forkable")
    assert listed(shared, "session") == ["work"]


def test_nothing_may_be_under_way(shared, session):
    assert shared.post(session + "/commands", {"command": ["sleep", "1000"], "background": True}).status == 200
    shared.post(session + "/snapshot", {}).problem(409, "busy", "session")
    assert shared.post(session + "/commands/1/signal", {"signal": "KILL"}).status == 204
    until(lambda: not shared.get(session + "/commands").json()["processes"], "its end")
    kept = shared.post(session + "/snapshot", {}).json()["snapshot"]
    for word, body in (("/run", {"language": "python", "code": "1"}), ("/exec", {"command": ["true"]})):
        shared.post("/v1/sessions/%s%s" % (kept, word), body).problem(409, "conflict", "session")
    end(shared, "/v1/snapshots/" + kept)


# ---- tenants ----

def test_tenants_see_their_own_only(shared, session):
    """One at the unix socket, one by a key; both use the same names."""
    key = {"X-API-Key": shared.key}
    shared.post(session + "/snapshot", {"name": "mine"})
    assert listed(shared, "snapshot", key) == [] and listed(shared, "session", key) == []
    other = start(shared, key, name="other")
    shared.post("/v1/sessions", {"from": "mine"}, headers=key).problem(404, "not_found", "from")
    shared.post(other + "/rollback", {"snapshot": "mine"}, headers=key).problem(404, "not_found", "snapshot")
    shared.get("/v1/snapshots/mine", headers=key).problem(404, "not_found", "snapshot")
    shared("DELETE", "/v1/snapshots/mine", headers=key).problem(404, "not_found", "snapshot")
    shared.post(session + "/fork", {}, headers=key).problem(404, "not_found", "session")
    shared.post(session + "/snapshot", {}, headers=key).problem(404, "not_found", "session")
    python(shared, other, "x = 'of the other'\nopen('f', 'w').close()", key)
    assert shared.post(other + "/snapshot", {"name": "mine"}, headers=key).status == 201
    assert shared.post(session + "/rollback", {"snapshot": "mine"}).status == 200
    assert python(shared, session, TELLS) == "1 one\n"
    end(shared, "/v1/snapshots/mine")
    assert listed(shared, "snapshot", key) == ["mine"] and listed(shared, "snapshot") == []
    made = shared.post("/v1/sessions", {"from": "mine"}, headers=key).json()["session"]
    assert python(shared, "/v1/sessions/" + made, "print(x)", key) == "of the other\n"
    for place in ("/v1/snapshots/mine", other, "/v1/sessions/" + made):
        end(shared, place, key)


def test_copies_count_into_the_quota(services):
    service = services()
    key = {"X-API-Key": service.key}
    rows = {"cells": 4, "memory_bytes": 600 << 20, "allow_degraded": DEGRADED, "session_ms": 100000}
    with open(service.folder + "/dev/tenants.json", "w", encoding="utf-8") as f:
        json.dump({"version": 1, "standard": {"allow_degraded": DEGRADED}, "tenants": {"dev": rows}}, f)
    until(lambda: service.get("/v1/host", headers=key).status == 403, "the new row")
    limits = {"memory_bytes": 128 << 20}
    session = start(service, key, limits=limits)
    python(service, session, "x = 1", key)
    service.post(session + "/fork", {"copies": 5}, headers=key).problem(403, "forbidden", "copies")
    copies = service.post(session + "/fork", {"copies": 2}, headers=key).json()["sessions"]
    service.post(session + "/fork", {"total_ms": 100001}, headers=key).problem(403, "forbidden", "total_ms")
    refused = service.post(session + "/fork", {"copies": 2}, headers=key)
    refused.problem(429, "too_many")
    assert int(refused.headers["retry-after"]) >= 1
    kept = service.post(session + "/snapshot", {}, headers=key).json()["snapshot"]
    assert service.get("/v1/snapshots/" + kept, headers=key).json()["left_ms"] <= 100000
    for word, body in (("/fork", {}), ("/snapshot", {}), ("/rollback", {"snapshot": kept})):
        service.post(session + word, body, headers=key).problem(429, "too_many")
    service.post("/v1/sessions", {"from": kept}, headers=key).problem(429, "too_many")
    other = start(service)  # another tenant's has room
    python(service, other, "x = 1")
    assert service.post(other + "/fork", {}).status == 201
    end(service, "/v1/sessions/" + copies[0], key)
    made = service.post("/v1/sessions", {"from": kept}, headers=key)
    assert made.status == 201, made.body
    # Memory is what is short now: two copies of 128M beside four cells of theirs.
    for place in ("/v1/sessions/" + copies[1], "/v1/sessions/" + made.json()["session"], "/v1/snapshots/" + kept, session):
        end(service, place, key)
    big = start(service, key, limits={"memory_bytes": 256 << 20})
    assert service.post(big + "/fork", {}, headers=key).status == 201
    service.post(big + "/fork", {}, headers=key).problem(429, "too_many")
    service.post(big + "/fork", {"copies": 3}, headers=key).problem(403, "forbidden", "copies")


def test_an_operator_may_forbid_forkable_sessions(services):
    service = services()
    key = {"X-API-Key": service.key}
    with open(service.folder + "/dev/tenants.json", "w", encoding="utf-8") as f:
        json.dump({"version": 1, "standard": {"allow_degraded": DEGRADED}, "tenants": {"dev": {"forkable": False}}}, f)
    until(lambda: service.get("/v1/host", headers=key).status == 403, "the new row")
    service.post("/v1/sessions", service.cell(forkable=True), headers=key).problem(403, "forbidden", "forkable")
    end(service, start(service, key, forkable=False), key)
    end(service, start(service))


SECRET = "hush-4711-very"


def test_secrets(services):
    service = services()
    key = {"X-API-Key": service.key}
    work = start(service, key, name="work", secrets={"TOKEN": SECRET})
    asks = "import os\nprint(os.environ.get('TOKEN'))"
    assert python(service, work, asks, key) == SECRET + "\n"
    for word in ("/fork", "/snapshot"):
        service.post(work + word, {}, headers=key).problem(409, "not_forkable", "inherit_secrets")
    assert service.post(work + "/snapshot", {"name": "then", "inherit_secrets": True}, headers=key).status == 201
    (copy,) = service.post(work + "/fork", {"inherit_secrets": True}, headers=key).json()["sessions"]
    assert python(service, "/v1/sessions/" + copy, asks, key) == SECRET + "\n"
    service.post("/v1/sessions", {"from": "then"}, headers=key).problem(409, "not_forkable", "inherit_secrets")
    service.post(work + "/rollback", {"snapshot": "then"}, headers=key).problem(409, "not_forkable", "inherit_secrets")
    assert service.post(work + "/rollback", {"snapshot": "then", "inherit_secrets": True}, headers=key).status == 200
    again = service.post("/v1/sessions", {"from": "then", "inherit_secrets": True, "name": "again"}, headers=key)
    assert again.status == 201 and python(service, "/v1/sessions/again", asks, key) == SECRET + "\n"
    service.post("/v1/sessions", service.cell(inherit_secrets=True)).problem(422, "usage", "inherit_secrets")
    service.post("/v1/sessions", service.cell(secrets={"A": 1})).problem(422, "usage", "secrets.A")
    service.post("/v1/run", service.cell(language="python", code="1", secrets={"A": "x"})).problem(422, "usage", "secrets")
    pause = service.post(work + "/pause", {}, headers=key)
    assert pause.status == 200, pause.body
    assert "given again" in service.post(work + "/resume", {}, headers=key).problem(422, "usage", "secrets")
    assert service.post(work + "/resume", {"secrets": {"TOKEN": SECRET}}, headers=key).status == 200
    assert python(service, work, asks, key) == SECRET + "\n"
    for path in ("/v1/sessions", work, "/v1/snapshots", "/metrics"):
        assert SECRET.encode() not in service.get(path, headers=key).body
    for place, _, files in os.walk(service.folder):
        for name in (x for x in files if not x.endswith(".sock")):
            with open(os.path.join(place, name), "rb") as f:
                assert SECRET.encode() not in f.read(), name
