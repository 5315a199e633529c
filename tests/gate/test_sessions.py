"""Sessions by HTTP: their lives, contexts, commands."""
import json
import re
import threading

import pytest
from conftest import PATIENCE, parse_events, until


@pytest.fixture
def session(shared):
    answer = shared.post("/v1/sessions", shared.cell())
    assert answer.status == 201, answer.body
    yield "/v1/sessions/" + answer.json()["session"]
    shared("DELETE", answer.headers["location"])


def test_a_life(shared):
    made = shared.post("/v1/sessions", shared.cell(metadata={"who": "me"}, idle_ms=60000, total_ms=120000))
    place = made.headers["location"]
    assert made.status == 201 and place == "/v1/sessions/" + made.json()["session"]
    assert re.fullmatch("[0-9a-f]{32}", made.json()["session"])
    told = shared.get(place).json()
    assert told["metadata"] == {"who": "me"} and 60000 < told["left_ms"] <= 120000
    assert shared.post(place + "/keepalive", {}).json()["idle_left_ms"] > 59000
    assert shared("DELETE", place).json() == {"why": "ended"}
    shared.get(place).problem(404, "not_found", "session")


def test_names_and_filters(shared):
    for name in ("lab-a", "lab-b"):
        assert shared.post("/v1/sessions", shared.cell(name=name, metadata={"kind": name[-1]})).json() == {"session": name}

    def listed(query):
        return sorted(x["session"] for x in shared.get("/v1/sessions?" + query).json()["sessions"])
    assert listed("prefix=lab-") == ["lab-a", "lab-b"]
    assert listed("metadata=kind%3Da") == ["lab-a"] and listed("metadata=kind&prefix=lab-b") == ["lab-b"]
    assert listed("metadata=none") == [] and len(listed("prefix=lab-&limit=1")) == 1
    assert shared.post("/v1/sessions", shared.cell(name="lab-a")).status == 422
    for name in ("lab-a", "lab-b"):
        assert shared("DELETE", "/v1/sessions/" + name).status == 200


@pytest.mark.parametrize("body,field", [
    ({"name": "a b"}, "name"), ({"idle_ms": 1}, "idle_ms"), ({"total_ms": "x"}, "total_ms"),
    ({"metadata": {"a": 1}}, "metadata.a"), ({"metadata": {"a b": "x"}}, "metadata.a b"), ({"metadata": []}, "metadata"),
    ({"metadata": {"a": "x" * 257}}, "metadata.a"), ({"code": "1"}, "code"), ({"spec": {}}, "spec"),
    ({"limits": {"tasks": 0}}, "limits.tasks"),
])
def test_wrong_fields_are_named(shared, body, field):
    shared.post("/v1/sessions", body).problem(422, "usage", field)


@pytest.mark.parametrize("query,field", [("limit=0", "limit"), ("limit=x", "limit"), ("x=1", "x"), ("limit=1&limit=1", "limit"),
                                         ("prefix=%zz", "query"), ("prefix=a%20b", "prefix")])
def test_queries_are_checked(shared, query, field):
    shared.get("/v1/sessions?" + query).problem(422, "usage", field)


def test_contexts_keep_their_state(shared, session):
    def run(code, **more):
        return shared.post(session + "/run", dict(language="python", code=code, **more)).json()
    run("x = 41")
    assert run("x + 1")["value"] == {"text/plain": "42"}
    assert run("x", context="other")["error"]["name"] == "NameError"
    assert sorted(x["name"] for x in shared.get(session + "/contexts").json()["contexts"]) == ["other", "python"]
    assert shared.post(session + "/contexts/python/restart", {}).status == 204
    assert run("x")["error"]["name"] == "NameError"
    shared.post(session + "/contexts/none/restart", {}).problem(404, "not_found", "context")


def test_interrupt(shared, session):
    got = []
    body = {"language": "python", "code": "import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('woken')",
            "limits": {"wall_ms": 100000}}
    thread = threading.Thread(target=lambda: got.append(shared.post(session + "/run", body)))
    thread.start()
    until(lambda: [x for x in shared.get(session).json()["contexts"] if x["state"] == "running"], "the run")
    # It may not sleep yet when it is interrupted: then the interrupt meets the import, and is repeated.
    until(lambda: not thread.is_alive() or (shared.post(session + "/interrupt", {}) and False), "its end")
    thread.join(PATIENCE)
    assert got[0].status == 200 and got[0].json()["status"] in ("ok", "error", "cancelled"), got[0].body


def test_exec(shared, session):
    result = shared.post(session + "/exec", {"command": ["sh", "-c", "read x; echo $x-$Y; exit 3"], "stdin": "in\n", "env": {"Y": "y"}}).json()
    assert (result["status"], result["exit_code"], result["stdout"]) == ("error", 3, "in-y\n")
    shared.post(session + "/exec", {}).problem(422, "usage", "command")
    shared.post(session + "/exec", {"command": ["true"], "limits": {"memory_bytes": 1 << 30}}).problem(422, "usage", "limits.memory_bytes")


def test_a_session_as_events(shared, session):
    events = shared.events(session + "/run", {"language": "python", "code": "print(1)"}, "application/x-ndjson")
    assert [x for name, x in events if name == "stdout"][0]["text"].startswith("1") and events[-1][0] == "end"


def test_no_such_session(shared):
    for method, path, body in (("GET", "", None), ("DELETE", "", None), ("POST", "/run", {"language": "python", "code": "1"}),
                               ("GET", "/files/x", None), ("PUT", "/files/x", b"x"), ("GET", "/folders", None),
                               ("POST", "/commands", {"command": ["true"]}), ("GET", "/watch", None), ("GET", "/metrics", None)):
        shared(method, "/v1/sessions/none" + path, body).problem(404, "not_found", "session")



def test_metrics(shared, session):
    told = shared.get(session + "/metrics").json()
    assert told["cpu_ms"] >= 0 and "memory_peak_bytes" in told


# ---- commands ----

class Followed:
    """A command that a thread of the test's follows by its events."""

    def __init__(self, service, session, body):
        self.connection = service.connect()
        self.connection.request("POST", session + "/commands", json.dumps(body).encode(), {"Content-Type": "application/json"})
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.read()
        name, data = self.event()
        assert name == "start"
        self.path = "%s/commands/%d" % (session, data["process"])

    def event(self):
        line = self.response.readline()
        return parse_events(line, "application/x-ndjson")[0] if line else None

    def until_text(self, wanted):
        text = ""
        while wanted not in text:
            name, data = self.event()
            assert name in ("stdout", "stderr"), (name, data)
            text += data["text"]
        return text

    def end(self):
        while True:
            name, data = self.event()
            if name == "end":
                assert self.event() is None
                self.connection.close()
                return data


def test_stdin_of_a_command(shared, session):
    command = Followed(shared, session, {"command": ["cat"], "stdin": True})
    assert shared.post(command.path + "/stdin", b"one\n").status == 204
    command.until_text("one\n")
    big = b"x" * 700000 + b"\n"
    assert shared.post(command.path + "/stdin?end=true", big).status == 204
    assert len(command.until_text("\n")) == len(big)
    assert command.end()["status"] == "ok"
    shared.post(command.path + "/stdin", b"x").problem(404, "not_found", "process")


def test_one_writer_at_a_time(shared, session):
    command = Followed(shared, session, {"command": ["sh", "-c", "echo ready; sleep 100"], "stdin": True, "limits": {"wall_ms": 200000}})
    command.until_text("ready")
    writer = shared.connect()
    writer.putrequest("POST", command.path + "/stdin")
    writer.putheader("Transfer-Encoding", "chunked")
    writer.endheaders()
    writer.send(b"1\r\nx\r\n")
    until(lambda: shared.post(command.path + "/stdin", b"y").status == 409, "the other writer")
    writer.close()
    until(lambda: shared.post(command.path + "/stdin", b"y").status == 204, "the place to be free")
    assert shared.post(command.path + "/signal", {"signal": "KILL"}).status == 204
    assert command.end()["signal"] == 9


def test_a_terminal(shared, session):
    command = Followed(shared, session, {"command": ["bash", "-i"], "pty": True, "rows": 30, "cols": 91, "env": {"PS1": "> "}})
    shared.post(command.path + "/stdin", b"stty size\n")
    command.until_text("30 91")
    assert shared.post(command.path + "/resize", {"rows": 40, "cols": 17}).status == 204
    shared.post(command.path + "/stdin", b"stty size; exit 5\n")
    command.until_text("40 17")
    assert command.end()["exit_code"] == 5
    shared.post(command.path + "/resize", {"rows": 0, "cols": 1}).problem(422, "usage", "rows")


def test_without_stdin_nothing_is_taken(shared, session):
    command = Followed(shared, session, {"command": ["sh", "-c", "cat; echo end; sleep 100"], "limits": {"wall_ms": 200000}})
    command.until_text("end")
    shared.post(command.path + "/stdin", b"x").problem(409, "conflict", "process")
    shared.post(command.path + "/resize", {"rows": 1, "cols": 1}).problem(409, "conflict", "process")
    assert [x["process"] for x in shared.get(session + "/commands").json()["processes"]]
    shared.post(command.path + "/signal", {"signal": "NONE"}).problem(422, "usage", "signal")
    shared.post(command.path + "/signal", {"signal": "TERM", "whom": "all"}).problem(422, "usage", "whom")
    assert shared.post(command.path + "/signal", {"signal": "TERM"}).status == 204
    assert command.end()["signal"] == 15


def test_in_the_background(shared, session):
    started = shared.post(session + "/commands", {"command": ["sh", "-c", "echo done > out; sleep 1000"], "background": True})
    assert started.status == 200 and started.json()["process"] > 0, started.body
    until(lambda: shared.get(session + "/files/out").status == 200, "its file")


def test_a_client_that_goes_ends_its_command(shared, session):
    command = Followed(shared, session, {"command": ["sleep", "1000"], "limits": {"wall_ms": 2000000}})
    assert len(shared.get(session + "/commands").json()["processes"]) == 1
    # The response holds the socket, too.
    command.response.close()
    command.connection.close()
    until(lambda: not [x for x in shared.get(session + "/commands").json()["processes"] if not x["exited"]], "its end")


def test_a_client_that_goes_interrupts_its_run(shared, session):
    connection = shared.connect()
    body = {"language": "python", "code": "import time; time.sleep(1000)", "limits": {"wall_ms": 2000000}}
    connection.request("POST", session + "/run", json.dumps(body).encode(), {"Content-Type": "application/json"})
    until(lambda: shared.get(session).json()["tasks"], "the run")
    connection.close()
    until(lambda: not shared.get(session).json()["tasks"], "its end")
