"""What passes through a connection, whom it is for, how it ends, and how much of it there may be."""
from conftest import denials, records
from test_rules import out


def test_sni_must_be_the_name_that_was_looked_up(cells, lab):
    code = """
def tls(host, name):
    context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
    try:
        with context.wrap_socket(socket.create_connection((host, 443), 20), server_hostname=name) as s:
            s.sendall(b"GET /hello HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n" % (name or "x").encode())
            return s.recv(20)[:12]
    except OSError as e: return "failed"
print(tls("allowed.test", "allowed.test"), tls("allowed.test", "denied.test"), tls("allowed.test", None))
"""
    result = cells.python(["--allow", "allowed.test"], code)
    assert out(result) == ["b'HTTP/1.1 200' failed b'HTTP/1.1 200'"]
    assert denials(result, "connect")["denied.test:443"]["rule"] == "tls_sni"
    assert ["sni", "denied.test"] not in lab.seen()
    result = cells.spec({"rules": [{"allow": "allowed.test"}], "check_names": False}, code)
    assert out(result) == ["b'HTTP/1.1 200' b'HTTP/1.1 200' b'HTTP/1.1 200'"]


def test_host_must_be_the_name_that_was_looked_up(cells, lab):
    result = cells.python(["--allow", "allowed.test"], """
for head in ("Host: allowed.test", "Host: denied.test", "Host: allowed.test\\r\\nHost: denied.test", "X: y"):
    s = dial("allowed.test", 80); print(outcome(s, ("GET /hello HTTP/1.1\\r\\n%s\\r\\n\\r\\n" % head).encode())[:14])
s = dial("allowed.test", 80); s.sendall(b"GET /hello HTTP/1.1\\r\\nHo"); time.sleep(0.3); print(outcome(s, b"st: denied.test\\r\\n\\r\\n"))
""")
    assert out(result) == ["b'HTTP/1.1 200", "ECONNRESET", "ECONNRESET", "b'HTTP/1.1 200", "ECONNRESET"]
    assert denials(result, "connect")["denied.test:80"]["rule"] == "http_host"
    assert {x[3] for x in lab.seen("http")} == {"allowed.test", None}


def test_half_close_both_ways(cells, lab):
    result = cells.python(["--allow", "allowed.test:7-10"], """
s = dial("allowed.test", 7); s.sendall(b"one"); s.shutdown(socket.SHUT_WR)
data = b""
while (more := s.recv(100)): data += more
print(data)
s = dial("allowed.test", 10); print(s.recv(10), s.recv(10))
for _ in range(100): s.sendall(b"x" * 10000)
s.close(); print("sent")
""")
    assert out(result) == ["b'one[end]'", "b'bye' b''", "sent"]
    [record] = records(result, port=10)
    assert record["bytes_out"] == 1000000 and record["bytes_in"] == 3


def test_a_reset_is_passed_on(cells):
    assert out(cells.python(["--allow", "allowed.test:8"], "print(outcome(dial('allowed.test', 8)))")) == ["ECONNRESET"]


def test_bytes_are_the_same_both_ways(cells):
    result = cells.python(["--allow", "allowed.test:7"], """
import hashlib, threading
s = dial("allowed.test", 7); data = os.urandom(1 << 20) * 24; got = hashlib.sha256(); n = 0
threading.Thread(target=lambda: (s.sendall(data), s.shutdown(socket.SHUT_WR))).start()
while (more := s.recv(1 << 20)): got.update(more); n += len(more)
print(n - 5, got.hexdigest() == hashlib.sha256(data + b"[end]").hexdigest())
""")
    assert out(result) == ["%d True" % (24 << 20)]


def test_a_slow_origin_holds_nobody_up(cells):
    result = cells.python(["--allow", "allowed.test:*"], """
slow = [dial("allowed.test", 9) for _ in range(20)]
print(all(s.recv(1) == b"." for s in slow)); print(get("http://allowed.test/hello")[:9])
""")
    assert out(result) == ["True", "origin-ok"]
    result = cells.python(["--allow", "allowed.test:9"], "s = dial('allowed.test', 9)\nwhile True: s.recv(10)\n", "--wall", "1s")
    assert result["status"] == "timeout"
    assert records(result, port=9)[0]["bytes_in"] >= 1


def test_many_connections(cells):
    result = cells.python(["--allow", "allowed.test:7"], """
good = 0
for _ in range(500):
    s = dial("allowed.test", 7); s.sendall(b"x"); good += s.recv(1) == b"x"; s.close()
print(good)
""")
    assert out(result) == ["500"]
    assert records(result, what="connection")[0]["count"] == 500


def test_budget_of_connections(cells):
    result = cells.spec({"rules": [{"allow": "allowed.test:7"}], "connections": 3}, """
held = [dial("allowed.test", 7) for _ in range(3)]
print([outcome(s) for s in held], outcome(dial("allowed.test", 7)))
held[0].close()
while (last := outcome(dial("allowed.test", 7))) == "ECONNRESET": time.sleep(0.05)
print(last)
""")
    assert out(result) == ["[\"b'x'\", \"b'x'\", \"b'x'\"] ECONNRESET", "b'x'"]
    assert denials(result, "connect")["allowed.test:7"]["rule"] == "connections"


def test_budget_of_bytes(cells):
    for field, way in (("bytes_in", "get('http://allowed.test/big?1000000')"), ("bytes_out", "outcome(dial('allowed.test', 10), b'x' * 30000)")):
        result = cells.spec({"rules": [{"allow": "allowed.test:7-80"}], field: 20000}, """
%s
while (last := outcome(dial("allowed.test", 7))) != "ECONNRESET": time.sleep(0.05)
print(last)
""" % way)
        assert out(result) == ["ECONNRESET"]
        assert denials(result, "connect")["allowed.test:7"]["rule"] == field
        assert sum(x[field] for x in records(result, what="connection")) <= 20000


def test_bandwidth(cells):
    result = cells.spec({"rules": [{"allow": "allowed.test"}], "bytes_per_second": 1000000}, """
begun = time.monotonic(); n = len(get("http://allowed.test/big?1500000", 50)); print(n, time.monotonic() - begun > 1.0)
""")
    assert out(result) == ["1500000 True"]


def test_every_request_of_a_connection_must_be_for_the_name(cells, lab):
    result = cells.python(["--allow", "allowed.test"], """
def ask(sock, text):
    data = b""
    try:
        sock.sendall(text.encode().replace(b"\\n", b"\\r\\n"))
        while not data.endswith(b"80 allowed.test") and (more := sock.recv(4096)): data += more
        return data.split(b"\\r\\n")[0]
    except OSError as e: return errno.errorcode[e.errno]
ours = "GET /hello HTTP/1.1\\nHost: allowed.test\\n\\n"
s = dial("allowed.test", 80); print(ask(s, ours), ask(s, ours), ask(s, ours.replace("allowed", "denied")))
s = dial("allowed.test", 80); print(ask(s, ours), ask(s, "GET /hello HTTP/1.1\\nHost: denied.test\\n\\n"))
s = dial("allowed.test", 80); print(ask(s, ours + ours.replace("allowed", "denied")))
s = dial("allowed.test", 80); print(ask(s, "POST /x HTTP/1.1\\nHost: allowed.test\\nContent-Length: 4\\nTransfer-Encoding: chunked\\n\\n0\\n\\n"))
s = dial("allowed.test", 80); print(ask(s, "PRI * HTTP/2.0\\n\\nSM\\n\\n"))
""")
    fine, gone = "b'HTTP/1.1 200 OK'", "ECONNRESET"
    lines = out(result)
    assert lines[0] == "%s %s %s" % (fine, fine, gone) and lines[1] == "%s %s" % (fine, gone)
    assert lines[2:] == [gone, gone, gone]
    assert denials(result, "connect")["denied.test:80"]["count"] == 3
    assert {x[3] for x in lab.seen("http")} == {"allowed.test"}


def test_what_servers_take_for_a_request_is_looked_at(cells, lab):
    """Empty lines first, any word as a method, a target instead of Host, a line that comes in pieces."""
    result = cells.python(["--allow", "allowed.test:7,80"], """
for head in ("\\r\\nGET /hello HTTP/1.1\\r\\nHost: %s", "get /hello HTTP/1.1\\r\\nHost: %s", "GET http://%s/hello HTTP/1.1\\r\\nA: b",
             "GET /hello HTTP/1.1\\r\\nHost: %s\\r\\nA : b", "g|/hello HTTP/1.1\\r\\nHost: %s"):
    for name in ("allowed.test", "denied.test"):
        s = dial("allowed.test", 80); parts = (head % name).split("|"); s.sendall(parts[0].encode())
        if len(parts) > 1: time.sleep(0.3); parts[1] = "et " + parts[1]
        print(outcome(s, ("".join(parts[1:]) + "\\r\\nConnection: close\\r\\n\\r\\n").encode())[:11])
s = dial("allowed.test", 7); s.sendall(b"EHLO x\\r\\n"); print(s.recv(4))
s = dial("allowed.test", 7); s.sendall(b"x" * 20000); print(s.recv(1)); s.sendall(b"y HTTP/1.1"); print("on")
""")
    lines = out(result)
    gone = "ECONNRESET"
    assert lines[1::2][:5] == [gone] * 5, lines
    assert lines[4].startswith("b'HTTP/1.1") and lines[6] == gone, lines
    # This origin hangs up on an empty line, and says to the other two that it does not know the method.
    assert gone not in (lines[0], lines[2], lines[8]) and lines[10:] == ["b'EHLO'", "b'x'", "on"], lines
    assert {x[3] for x in lab.seen("http")} <= {"allowed.test", None}
