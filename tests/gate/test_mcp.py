"""/mcp as bytes: sessions, streams that are gone on with, and clients that send what real ones do not."""
import json
import os
import signal
import urllib.parse

import pytest
from conftest import DEGRADED, until

BOTH = "application/json, text/event-stream"
QUERY = "?spec=" + urllib.parse.quote(json.dumps({"allow_degraded": DEGRADED})) if DEGRADED else ""
FIRST = {"jsonrpc": "2.0", "id": 0, "method": "initialize",
         "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}


def call(tool, number, /, **arguments):
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments, "_meta": {"progressToken": 0}}}


def code(text, number=1, language="python", timeout_s=600):
    return call("run_code", number, language=language, code=text, **({"timeout_s": timeout_s} if timeout_s else {}))


class Stream:
    """A request whose answer is read event by event."""

    def __init__(self, service, method, headers, body=None):
        self.connection = service.connect()
        if body is not None:
            headers = dict(headers, **{"Content-Type": "application/json"})
        self.connection.request(method, "/mcp", json.dumps(body).encode() if body is not None else None, headers)
        self.response = self.connection.getresponse()
        self.status = self.response.status

    def event(self):
        """{"id", "data", …}; None at the end."""
        found = {}
        while True:
            line = self.response.readline()
            if not line:
                return None
            name, _, value = line.rstrip(b"\n").partition(b": ")
            if name == b"" and not value and found:
                return found
            if name:
                found[name.decode()] = value.decode()

    def message(self):
        """The next with something in it: (id, message); None at the end."""
        while (event := self.event()) is not None:
            if event["data"]:
                return event["id"], json.loads(event["data"])
        return None

    def until(self, true):
        """Messages up to the first of this kind."""
        seen = []
        while not seen or not true(seen[-1][1]):
            got = self.message()
            assert got, seen
            seen.append(got)
        return seen

    def rest(self):
        seen = []
        while got := self.message():
            seen.append(got)
        self.close()
        return seen

    def close(self):
        self.response.close()
        self.connection.close()


class Peer:
    def __init__(self, service, revision="2025-11-25", query=QUERY, **more):
        self.service, self.more = service, more
        first = json.loads(json.dumps(FIRST))
        first["params"]["protocolVersion"] = revision
        answer = service("POST", "/mcp" + query, first, headers=self.headers(), **more)
        assert answer.status == 200, answer.body
        self.result = answer.json()["result"]
        self.id = answer.headers["mcp-session-id"]
        self.revision = self.result["protocolVersion"]
        assert self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202

    def headers(self, **others):
        own = {"Accept": BOTH}
        if hasattr(self, "id"):
            own.update({"Mcp-Session-Id": self.id, "MCP-Protocol-Version": self.revision})
        return dict(own, **others)

    def post(self, body, **headers):
        return self.service("POST", "/mcp", body, headers=self.headers(**headers), **self.more)

    def ask(self, method, params=None, number=7):
        answer = self.post({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}, Accept="application/json")
        assert answer.status == 200, answer.body
        return answer.json()

    def run(self, text, **more):
        """The structured result, by JSON alone."""
        answer = self.post(code(text, **more), Accept="application/json")
        assert answer.status == 200, answer.body
        return answer.json()["result"]["structuredContent"]

    def stream(self, body):
        return Stream(self.service, "POST", self.headers(), body)

    def listen(self, **headers):
        return Stream(self.service, "GET", self.headers(**headers))

    def delete(self):
        return self.service("DELETE", "/mcp", headers=self.headers(), **self.more)


@pytest.fixture
def peer(shared):
    made = Peer(shared)
    yield made
    made.delete()


def is_answer(message):
    return "method" not in message


def refused(answer, status, code_):
    assert (answer.status, answer.headers["content-type"]) == (status, "application/json"), answer.body
    value = answer.json()
    assert (value["jsonrpc"], value["id"], value["error"]["code"]) == ("2.0", None, code_), value
    return value["error"]["message"]


def no_cells(service):
    until(lambda: service.get("/v1/sessions").json() == {"sessions": []}, "the cells to be gone")


# ---- sessions ----

def test_a_session(peer):
    assert peer.run("x = 41")["status"] == "ok" and peer.run("x + 1")["value"] == "42"
    assert len(peer.id) == 32 and set(peer.id) <= set("0123456789abcdef")
    assert peer.ask("ping")["result"] == {}


def test_delete_ends_the_cell_and_what_runs_in_it(services):
    service = services()
    peer = Peer(service)
    general, running = peer.listen(), peer.stream(code("echo up; sleep 600", language="bash"))
    running.until(lambda m: m.get("params", {}).get("message") == "up\n")
    assert [s["tasks"] for s in service.get("/v1/sessions").json()["sessions"]]
    assert peer.delete().status == 204
    assert running.rest() == [] and general.rest() == []
    no_cells(service)
    refused(peer.delete(), 404, -32001)


def test_what_is_made_while_its_client_goes_is_gone_too(services):
    service = services()
    for _ in range(3):
        peer = Peer(service)
        running = peer.stream(code("1"))
        assert peer.delete().status == 204
        running.close()
    no_cells(service)


def test_sessions_are_their_tenants_own(shared):
    """On the unix socket it is the user's, by key another's."""
    key = {"Authorization": "Bearer " + shared.key}
    mine = Peer(shared)
    for method, body in (("POST", code("1")), ("GET", None), ("DELETE", None)):
        answer = shared(method, "/mcp", body, headers=dict(mine.headers(), **key), tcp=True)
        message = refused(answer, 404, -32001)
        unknown = shared(method, "/mcp", body, headers=dict(mine.headers(), **dict(key, **{"Mcp-Session-Id": "0" * 32})), tcp=True)
        assert refused(unknown, 404, -32001) == message
    assert mine.run("1")["status"] == "ok"
    mine.delete()


def test_a_key_is_needed_by_tcp(shared):
    shared("POST", "/mcp", FIRST, headers={"Accept": BOTH}, tcp=True).problem(401, "unauthorized", "Authorization")
    told = shared("POST", "/mcp", FIRST, headers={"Accept": BOTH, "Authorization": "Bearer " + shared.key}, tcp=True)
    assert told.status == 200
    headers = {"Mcp-Session-Id": told.headers["mcp-session-id"], "Accept": BOTH}
    shared("DELETE", "/mcp", headers=headers, tcp=True).problem(401, "unauthorized", "Authorization")
    assert shared("DELETE", "/mcp", headers=dict(headers, Authorization="Bearer " + shared.key), tcp=True).status == 204


def test_there_are_so_many_and_no_more(services):
    service = services()
    peers = [Peer(service) for _ in range(64)]
    answer = service("POST", "/mcp", FIRST, headers={"Accept": BOTH})
    assert "64" in refused(answer, 429, -32000) and answer.headers["retry-after"] == "1"
    by_key = {"Accept": BOTH, "Authorization": "Bearer " + service.key}
    assert service("POST", "/mcp", FIRST, headers=by_key, tcp=True).status == 200
    assert peers[0].delete().status == 204
    Peer(service)


def test_two_at_once_know_nothing_of_each_other(shared, peer):
    other = Peer(shared)
    peer.run("x = 1")
    assert other.run("'x' in globals()")["value"] == "False"
    other.delete()


# ---- what is refused ----

@pytest.mark.parametrize("origin, host, status", [
    ("http://evil.example", None, 403), ("null", None, 403), ("http://localhost.evil.example", None, 403), ("http://localhost:1@evil.example", None, 403),
    ("ftp://localhost", None, 403), ("http://localhost:3000", None, 200), ("https://127.0.0.1", None, 200), (None, "evil.example", 421),
    ("http://evil.example", "evil.example", 421),
])
def test_origin_and_host(shared, origin, host, status):
    headers = {"Accept": BOTH, "Authorization": "Bearer " + shared.key, **({"Origin": origin} if origin else {}), **({"Host": host} if host else {})}
    answer = shared("POST", "/mcp", FIRST, headers=headers, tcp=True)
    assert answer.status == status, answer.body
    assert not [x for x in answer.headers if x.startswith("access-control")]
    if status == 200:
        headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
        assert shared("DELETE", "/mcp", headers=headers, tcp=True).status == 204


@pytest.mark.parametrize("body, headers, status, number", [
    (b"{", {}, 400, -32700), (b"", {}, 400, -32700), (b"7", {}, 400, -32700), (b"[", {}, 400, -32700), (b'{"a":1,"a":2}', {}, 400, -32700),
    (b"{}", {}, 400, -32600), (b"[]", {}, 400, -32600), (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', {}, 400, -32600),
    (b"[" + json.dumps(code("1")).encode() + b"]", {}, 400, -32600),
    (b"[" + b"1," * 250000 + b"1]", {}, 413, -32600), (b'"' + b"a" * (33 << 20) + b'"', {}, 413, -32600),
    (b"{}", {"Accept": "text/html"}, 406, -32000), (b"{}", {"MCP-Protocol-Version": "1999-01-01"}, 400, -32000),
    (b"{}", {"MCP-Protocol-Version": ""}, 400, -32000), (b"{}", {"Mcp-Session-Id": "x" * 5000}, 404, -32001), (b"{}", {"Mcp-Session-Id": ""}, 404, -32001),
])
def test_bad_posts(peer, body, headers, status, number):
    refused(peer.post(body, **headers), status, number)
    assert peer.ask("ping")["result"] == {}


@pytest.mark.parametrize("body", [{"jsonrpc": "2.0", "id": 1, "method": "server/discover"}, {"jsonrpc": "2.0", "method": "initialize"}, code("1")])
def test_nothing_without_a_session(shared, body):
    answer = shared("POST", "/mcp", body, headers={"Accept": BOTH})
    assert "mcp-session-id" not in answer.headers
    if body["method"] == "initialize":
        assert (answer.status, answer.body) == (202, b"")
    else:
        refused(answer, 400, -32000)


def test_an_initialize_that_fails_makes_no_session(shared):
    answer = shared("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}, headers={"Accept": BOTH})
    assert answer.status == 200 and answer.json()["error"]["code"] == -32602 and "mcp-session-id" not in answer.headers


def test_other_refusals(shared, peer):
    shared("POST", "/mcp", b"{}", headers=dict(peer.headers(), **{"Content-Type": "text/plain"})).problem(415, "media_type", "Content-Type")
    shared("PUT", "/mcp", {}).problem(405, "method")
    shared("POST", "/mcp?session=1", FIRST).problem(422, "usage", "session")
    refused(shared.get("/mcp", headers={"Accept": "application/json", "Mcp-Session-Id": peer.id}), 406, -32000)
    refused(shared.get("/mcp", headers={"Accept": "text/event-stream"}), 400, -32000)


@pytest.mark.parametrize("spec, field", [
    ('{"limits": {"wall_ms": 1}}', "spec.limits.wall_ms"), ("[]", "spec"), ("{", "spec"), ('{"name": "x"}', "spec.name"), ('{"root": "/"}', "spec.root"),
    ('{"files": [{"path": "a", "host": "/etc/shadow"}]}', "spec.files[0].host"), ('{"idle_ms": 1}', "spec.idle_ms"),
])
def test_a_wrong_spec_is_told_at_once(shared, spec, field):
    shared("POST", "/mcp?spec=" + urllib.parse.quote(spec), FIRST, headers={"Accept": BOTH}).problem(422, "usage", field)


def test_the_spec_is_that_of_the_cell(shared):
    spec = shared.cell(env={"A": "a b"}, limits={"wall_ms": 400})
    query = "?spec=%s&template=python" % urllib.parse.quote(json.dumps(spec))
    peer = Peer(shared, query=query)
    assert peer.run("import os; os.environ['A']")["value"] == "'a b'"
    assert peer.run("while True: pass", timeout_s=None)["status"] in ("timeout", "cpu_timeout")
    peer.delete()


# ---- requests and answers ----

def test_accept_decides_the_form(peer):
    answer = peer.post(code("6 * 7"))
    assert answer.headers["content-type"] == "text/event-stream" and b"id: " in answer.body
    assert peer.post(code("6 * 7"), Accept="*/*").headers["content-type"] == "application/json"
    at_once = {"jsonrpc": "2.0", "id": 3, "method": "tools/list"}
    assert peer.post(at_once).headers["content-type"] == "application/json"
    assert peer.post(at_once, Accept="text/event-stream").headers["content-type"] == "text/event-stream"


@pytest.mark.parametrize("revision, primed", [("2025-11-25", True), ("2025-06-18", False), ("2024-11-05", False)])
def test_only_those_who_know_it_are_primed(shared, revision, primed):
    peer = Peer(shared, revision)
    stream = peer.stream(code("1"))
    first = stream.event()
    assert (first["data"] == "") == primed and ("retry" in first) == primed
    assert is_answer(stream.rest()[-1][1])
    peer.delete()


def test_an_id_is_one_request_at_a_time(peer):
    running = peer.stream(code("echo up; sleep 600", "same", "bash"))
    running.until(lambda m: m.get("params", {}).get("message") == "up\n")
    assert "under way" in refused(peer.post(code("1", "same")), 400, -32600)
    peer.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "same"}})
    assert [m for _, m in running.rest() if is_answer(m)] == []
    assert peer.run("1", number="same")["value"] == "1"


def test_cancelling_a_request_that_waits_for_json(peer, shared):
    connection = shared.connect()
    connection.request("POST", "/mcp", json.dumps(code("open('up', 'w'); import time; time.sleep(600)", "long")).encode(),
                       dict(peer.headers(Accept="application/json"), **{"Content-Type": "application/json"}))
    until(lambda: '"up"' in json.dumps(peer.ask("tools/call", {"name": "list_files", "arguments": {}}, 8)), "the run to be under way")
    assert peer.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "long"}}).status == 202
    response = connection.getresponse()
    assert response.status == 409 and json.loads(response.read())["error"]["code"] == -32000
    connection.close()


def test_batches_of_the_revision_that_has_them(shared):
    peer = Peer(shared, "2025-03-26")
    batch = [{"jsonrpc": "2.0", "id": i, "method": "ping"} for i in ("a", "b")] + [{"jsonrpc": "2.0", "method": "notifications/x"}]
    assert sorted(x["id"] for x in peer.post(batch).json()) == ["a", "b"]
    both = [code("1", 1), code("2", 2)]
    assert sorted(x["id"] for x in peer.post(both, Accept="application/json").json()) == [1, 2]
    seen = [m["id"] for _, m in peer.stream(both).rest() if is_answer(m)]
    assert sorted(seen) == [1, 2]
    assert peer.post([{"jsonrpc": "2.0", "method": "notifications/x"}]).status == 202
    assert "twice" in refused(peer.post([code("1", 1), code("2", 1)]), 400, -32600)
    peer.delete()


# ---- streams ----

def test_a_stream_is_gone_on_with(peer):
    """The connection is cut while a program runs; nothing of what it says is lost, nothing told twice."""
    running = peer.stream(code("echo 1; until [ -e go ]; do sleep 0.05; done; echo 2; echo 3; echo end", 1, "bash"))
    seen = running.until(lambda m: m.get("params", {}).get("message") == "1\n")
    running.close()
    peer.ask("tools/call", {"name": "write_file", "arguments": {"path": "go", "content": ""}}, 2)
    again = peer.listen(**{"Last-Event-ID": seen[-1][0]})
    assert again.status == 200
    rest = again.rest()
    ids = [i for i, _ in seen + rest]
    assert len(set(ids)) == len(ids) and {i.split("-")[0] for i in ids} == {ids[0].split("-")[0]}
    answer = rest[-1][1]
    assert answer["id"] == 1 and answer["result"]["structuredContent"]["stdout"] == "1\n2\n3\nend\n"
    told = [m["params"].get("message", "") for _, m in seen + rest if m.get("method") == "notifications/progress"]
    assert "".join(told) == "1\n2\n3\nend\n"
    # And once more, although it is over.
    assert peer.listen(**{"Last-Event-ID": rest[-2][0]}).rest() == rest[-1:]
    assert peer.listen(**{"Last-Event-ID": rest[-1][0]}).rest() == []


def test_who_comes_again_takes_the_stream_over(peer):
    running = peer.stream(code("echo up; until [ -e go ]; do sleep 0.05; done", 1, "bash"))
    place = running.until(lambda m: m.get("params", {}).get("message") == "up\n")[-1][0]
    again = peer.listen(**{"Last-Event-ID": place})
    assert [m for _, m in running.rest() if is_answer(m)] == []
    peer.ask("tools/call", {"name": "write_file", "arguments": {"path": "go", "content": ""}}, 2)
    assert [m["id"] for _, m in again.rest() if is_answer(m)] == [1]


@pytest.mark.parametrize("event_id", ["x", "-", "1-", "-1", "0-1", "00-0", "0-00", "99-0", "0x0-0", "18446744073709551616-0", "0-18446744073709551616", "a" * 4000])
def test_ids_that_are_none(peer, event_id):
    stream = peer.listen(**{"Last-Event-ID": event_id})
    body = json.loads(stream.response.read())
    assert stream.status == 400 and body["error"]["code"] == -32000, body
    stream.close()


def test_old_streams_are_not_kept_for_ever(peer):
    places = [peer.stream(code("1")).rest()[-1][0] for _ in range(20)]
    stream = peer.listen(**{"Last-Event-ID": places[0]})
    assert stream.status == 400 and "not kept any more" in stream.response.read().decode()
    stream.close()
    assert peer.listen(**{"Last-Event-ID": places[-1]}).rest() == []


def test_one_reads_the_general_stream(peer):
    first, second = peer.listen(), peer.listen()
    assert (first.status, second.status) == (200, 409)
    second.close()
    first.close()
    until(lambda: peer.listen().status == 200, "the first to be gone")


def test_watched_files_are_told_on_the_general_stream(peer):
    uri = "snapcell:///home/user/in/a.txt"
    listener = peer.listen()
    assert peer.ask("resources/subscribe", {"uri": uri})["result"] == {}
    assert peer.ask("resources/subscribe", {"uri": "file:///etc/passwd"})["error"]["code"] == -32002
    peer.run("import os; os.mkdir('in'); open('in/b.txt', 'w').close()")
    peer.run("open('in/a.txt', 'w').write('x')")
    assert listener.message()[1] == {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}}
    peer.run("1")
    peer.run("os.remove('in/a.txt')")
    assert listener.message()[1]["params"] == {"uri": uri}
    peer.ask("tools/call", {"name": "write_file", "arguments": {"path": "in/a.txt", "content": "y"}})
    place, told = listener.message()
    assert told["params"] == {"uri": uri}
    listener.close()
    # What comes while nobody listens is told afterwards, once.
    peer.ask("tools/call", {"name": "reset", "arguments": {}})
    again = peer.listen(**{"Last-Event-ID": place})
    assert again.message()[1]["params"] == {"uri": uri}
    assert peer.ask("resources/unsubscribe", {"uri": uri})["result"] == {}
    peer.run("os.listdir()")
    assert peer.delete().status == 204
    assert again.rest() == []


def test_so_many_subscriptions(peer):
    uris = ["snapcell:///tmp/%d" % i for i in range(65)]
    answers = [peer.ask("resources/subscribe", {"uri": uri}) for uri in uris]
    assert [("result" in x) for x in answers] == [True] * 64 + [False] and answers[-1]["error"]["code"] == -32600
    assert peer.run("1")["value"] == "1"


# ---- when others end ----

def test_the_keeper_dies(services):
    service = services()
    peer = Peer(service)
    peer.run("x = 1")
    running = peer.stream(code("echo up; sleep 600", 1, "bash"))
    running.until(lambda m: m.get("params", {}).get("message") == "up\n")
    os.kill(service.children()["keeper"], signal.SIGKILL)
    answer = running.rest()[-1][1]
    assert answer["result"]["isError"] is True, answer
    until(lambda: service.get("/readyz").status == 200, "the next keeper")
    told = peer.run("'x' in globals()")
    assert (told["value"], told["new_session"]) == ("False", True)
    peer.delete()


def test_another_gate_knows_no_session_of_the_first(services):
    service = services()
    peer = Peer(service)
    peer.run("1")
    listener = peer.listen()
    gate = service.children()["gate"]
    service.child.send_signal(signal.SIGHUP)
    assert listener.rest() == []
    until(lambda: service.children().get("gate") not in (gate, None), "the next gate")
    refused(peer.post(code("1")), 404, -32001)
    no_cells(service)


def test_a_service_that_ends_waits_for_no_listener(services):
    service = services()
    peer = Peer(service)
    peer.run("1")
    listener = peer.listen()
    assert service.end() == 0
    assert listener.rest() == []
