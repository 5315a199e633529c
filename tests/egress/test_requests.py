"""Rules about requests: what method and path a rule names is let through, nothing else is, and nothing of it arrives."""
from conftest import INTERNAL, denials, records
from test_rules import out

ASK = """
def ask(sock, line, more="", body=""):
    try:
        sock.sendall(("%s HTTP/1.1\\r\\nHost: allowed.test\\r\\n%s\\r\\n%s" % (line, more, body)).encode())
        data = b""
        while b"\\r\\n\\r\\n" not in data and (part := sock.recv(4096)): data += part
        head, _, rest = data.partition(b"\\r\\n\\r\\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\\r\\n")[0])
        while len(rest) < length: rest += sock.recv(4096)
        return head.split()[1].decode()
    except OSError as e: return errno.errorcode[e.errno]
def one(line, more="", body=""): return ask(dial("allowed.test", 80), line, more, body)
"""
RULE = {"allow": "allowed.test:80", "http": ["GET /hello", "GET /big*", "POST /in/*"]}


def test_what_a_rule_names_passes_and_the_rest_does_not(cells, lab):
    result = cells.spec({"rules": [RULE]}, ASK + """
print(one("GET /hello"), one("GET /hello?a=1"), one("GET /big?10"), one("POST /in/x", "Content-Length: 3\\r\\n", "abc"))
print(one("GET /other"), one("POST /hello"), one("GET /big/../other"), one("GET /hell"))
s = dial("allowed.test", 80); print(ask(s, "GET /hello"), ask(s, "GET /hello"), ask(s, "GET /other"))
print(get("http://allowed.test/hello")[:9])
""")
    gone = "ECONNRESET"
    assert out(result) == ["200 404 200 200", " ".join([gone] * 4), "200 200 " + gone, "origin-ok"]
    asked = {x[4] for x in lab.seen("http")}
    assert asked == {"/hello", "/hello?a=1", "/big?10"}
    reasons = {x["reason"] for x in records(result, what="connection", verdict="denied")}
    assert {"no rule allows this request: GET /other", "no rule allows this request: POST /hello",
            "it cannot be told whom a request is for, or where it ends", "no rule allows this request: GET /hell"} == reasons
    assert denials(result, "connect")["allowed.test:80"]["rule"] in ("http", "http_host")


def test_bodies_and_chunks_arrive_as_they_were_sent(cells, lab):
    result = cells.spec({"rules": [RULE]}, ASK + """
body = "GET /other HTTP/1.1\\r\\nHost: allowed.test\\r\\n\\r\\n" * 3000
s = dial("allowed.test", 80)
print(ask(s, "POST /in/y", "Content-Length: %d\\r\\n" % len(body), body), ask(s, "GET /hello"))
""")
    assert out(result) == ["200 200"]
    [post] = [x for x in lab.seen() if x[0] == "post"]
    assert post == ["post", "/in/y", "GET /other HTTP/1.1\r\nHost: allowed.test\r\n\r\n" * 3000]


def test_only_requests_go_out(cells, lab):
    result = cells.spec({"rules": [{"allow": "allowed.test:7-80", "http": ["* /*"]}], "check_names": False}, ASK + """
print(outcome(dial("allowed.test", 7), b"x"), outcome(dial("allowed.test", 80), b"\\x16\\x03\\x01\\x00\\x05hello"))
print(one("GET /hello", "Upgrade: websocket\\r\\nConnection: Upgrade\\r\\n"), one("GET /hello", "X-HTTP-Method-Override: DELETE\\r\\n"))
print(outcome(dial("allowed.test", 80), b"GET /hello HTTP/1.1\\r\\nHost: denied.test\\r\\n\\r\\n"))
print(one("GET /hello"))
""")
    assert out(result) == ["ECONNRESET ECONNRESET"] * 2 + ["ECONNRESET", "200"]
    assert [x[4] for x in lab.seen("http")] == ["/hello"]


def test_every_layer_must_allow_a_request(cells, lab):
    within = {"rules": [{"allow": "allowed.test:80", "http": ["GET /hello", "GET /in"]}], "internal": [x for x in INTERNAL if x[0] != "-"]}
    result = cells.spec({"rules": [{"allow": "*"}], "within": within}, ASK + 'print(one("GET /hello"), one("GET /big?1"))')
    assert out(result) == ["200 ECONNRESET"]
    assert [x[4] for x in lab.seen("http")] == ["/hello"]


def test_budgets_are_those_of_the_rule_that_allows_the_request(cells):
    rules = [{"allow": "allowed.test:80", "http": ["GET /hello"]}, {"allow": "allowed.test:80", "http": ["GET /big*"], "bytes_in": 3000}]
    result = cells.spec({"rules": rules}, ASK + """
while one("GET /big?1000") == "200": pass
print(one("GET /big?1000"), one("GET /hello"))
""")
    assert out(result) == ["ECONNRESET 200"]
    assert any("budget of bytes_in is used up" in x["reason"] for x in records(result, what="connection", verdict="denied"))
