"""Clients that mean no good: what they send is refused or cut off, and nobody else notices."""
import json
import os
import socket
import time

import pytest
from conftest import PATIENCE, until

BODY = b'{"language": "python", "code": "print(1)"}'


class Raw:
    """A connection that says what it likes."""

    def __init__(self, service):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(service.socket)
        self.held = b""

    def send(self, data):
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def read(self):
        """All until the other side ends it."""
        got = b""
        while True:
            try:
                piece = self.sock.recv(65536)
            except ConnectionResetError:
                return got
            if not piece:
                return got
            got += piece

    def status(self):
        """Of the next answer. One that is only a head, 100, leaves what came in the same piece for the next time."""
        while b"\r\n\r\n" not in self.held:
            try:
                piece = self.sock.recv(65536)
            except ConnectionResetError:
                return None
            if not piece:
                return None
            self.held += piece
        head, _, rest = self.held.partition(b"\r\n\r\n")
        status = int(head.split(b" ")[1])
        self.held = rest if status == 100 else b""
        return status

    def close(self):
        self.sock.close()


@pytest.fixture
def raw(shared):
    made = []

    def make():
        made.append(Raw(shared))
        return made[-1]
    yield make
    for connection in made:
        connection.close()
    assert shared.get("/healthz").status == 200


def request(headers, body=BODY, path="/v1/run", method="POST"):
    lines = ["%s %s HTTP/1.1" % (method, path), "Host: x", "Content-Type: application/json"] + headers
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@pytest.mark.parametrize("headers", [
    ["Content-Length: 42", "Content-Length: 42"],
    ["Content-Length: 42", "Transfer-Encoding: chunked"],
    ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
    ["Transfer-Encoding: gzip, chunked"],
    ["Transfer-Encoding: xchunked"],
    ["Content-Length: +42"],
    ["Content-Length: -1"],
    ["Content-Length: 0x10"],
    ["Content-Length: 42, 42"],
])
def test_no_request_is_smuggled(raw, headers):
    """Whatever length it claims: it is refused, nothing behind it is answered, and the connection ends. (Some versions of
    libmicrohttpd write the head of their own refusals twice.)"""
    connection = raw()
    connection.send(request(headers, BODY + b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"))
    got = connection.read()
    assert {x[:3] for x in got.split(b"HTTP/1.1 ")[1:]} <= {b"400", b"413", b"501"}, got
    assert b'{"status":"ok"}' not in got


def test_the_allowed_twins(raw):
    connection = raw()
    connection.send(request(["Content-Length: 2"], b"{}", "/v1/sessions/none/keepalive"))
    assert connection.status() == 404
    connection = raw()
    connection.send(request(["Transfer-Encoding: chunked"], b"2\r\n{}\r\n0\r\n\r\n", "/v1/sessions/none/keepalive"))
    assert connection.status() == 404


def test_requests_in_one_piece_are_answered_in_order(raw):
    connection = raw()
    connection.send(request([], b"", "/healthz", "GET") + request(["Content-Length: 2"], b"{}", "/v1/sessions/none/keepalive") +
                    request(["Connection: close"], b"", "/healthz", "GET"))
    got = connection.read()
    assert [x[:3] for x in got.split(b"HTTP/1.1 ")[1:]] == [b"200", b"404", b"200"]


@pytest.mark.parametrize("data", [b"G\0T / HTTP/1.1\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET  HTTP/1.1\r\nHost: x\r\n\r\n",
                                  b"\xff\xfe GET / HTTP/1.1\r\n\r\n", b"POST /v1/run HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: x\r\n\r\nzz\r\n",
                                  b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
                         ids=["a-nul", "no-version", "odd-version", "no-path", "no-method", "no-chunk", "http2"])
def test_no_http(raw, data):
    connection = raw()
    connection.send(data)
    try:
        status = connection.status()
    except ConnectionResetError:
        status = None
    assert status is None or status >= 400, status


def test_huge_headers(raw):
    connection = raw()
    connection.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\nA: " + b"a" * (1 << 20) + b"\r\n\r\n")
    got = connection.read()
    assert got == b"" or got.split(b" ")[1] in (b"413", b"431", b"414"), got[:200]
    connection = raw()
    connection.send(b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    got = connection.read()
    assert got == b"" or got.split(b" ")[1] in (b"413", b"431", b"414"), got[:200]


def test_many_headers(raw):
    connection = raw()
    connection.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * 100000 + b"\r\n")
    got = connection.read()
    assert got == b"" or int(got.split(b" ")[1]) >= 400


def test_a_body_that_is_too_large(raw):
    connection = raw()
    connection.send(request(["Content-Length: %d" % (65 << 20), "Expect: 100-continue"], b""))
    # It is said at the latest when it comes.
    piece = b" " * (1 << 20)
    for _ in range(65):
        connection.send(piece)
    status = connection.status()
    while status == 100:
        status = connection.status()
    assert status in (413, None)


def test_deep_and_wide_json(raw, shared):
    for body in (b"[" * 100000, b'{"code":' * 50000, b'{"code":' + b"1" * 100000 + b"}", b"[" + b"0," * 300000 + b"0]",
                 b'{"env": {' + b",".join(b'"a%d": "b"' % i for i in range(5000)) + b"}}"):
        answer = shared.post("/v1/run", body)
        assert answer.status == 422, (answer.status, body[:20])


def test_odd_bytes_in_paths(raw):
    for path in (b"/v1/sessions/\xff\xfe", b"/v1/sessions/a%FF", b"/v1/sessions/%2e%2e", b"/v1/../v1/run", b"//v1/run", b"/v1/sessions//files/x",
                 b"/v1/sessions/x/files/..%2f..%2fetc"):
        connection = raw()
        connection.send(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        got = connection.read()
        assert got == b"" or got.split(b" ")[1] in (b"400", b"404", b"405", b"422"), (path, got)


def test_slow_and_half_open_clients_cost_little(shared):
    """A thousand that say half a request, some that vanish in the middle of one, and others are served as ever."""
    slow = []
    for i in range(1000):
        connection = Raw(shared)
        connection.send([b"", b"POST /v1/run HT", request(["Content-Length: 1000"], b"{")][i % 3])
        slow.append(connection)
    assert shared.python("print(2)")["stdout"] == "2\n"
    for connection in slow[::2]:
        connection.close()
    assert shared.python("print(3)")["stdout"] == "3\n"
    for connection in slow[1::2]:
        connection.close()
    assert shared.get("/readyz").status == 200


def test_idle_connections(services):
    """Two thousand that stay, each after a request."""
    service = services("--clients", "2100")
    idle = []
    for _ in range(2000):
        connection = Raw(service)
        connection.send(request([], b"", "/healthz", "GET"))
        assert connection.status() == 200
        idle.append(connection)
    assert service.python("print(4)")["stdout"] == "4\n"
    for connection in idle:
        connection.send(request([], b"", "/healthz", "GET"))
    assert all(connection.status() == 200 for connection in idle[::100])
    for connection in idle:
        connection.close()


def test_beyond_the_most_clients(services):
    service = services("--clients", "3")
    first = [Raw(service) for _ in range(3)]
    for connection in first:
        connection.send(request([], b"", "/healthz", "GET"))
        assert connection.status() == 200
    more = Raw(service)
    more.send(request([], b"", "/healthz", "GET"))
    more.sock.settimeout(0.5)
    with pytest.raises((TimeoutError, ConnectionResetError, BrokenPipeError)):
        if more.status() is None:
            raise ConnectionResetError
    first.pop().close()
    last = []

    def served():
        connection = Raw(service)
        connection.sock.settimeout(5)
        connection.send(request([], b"", "/healthz", "GET"))
        try:
            if connection.status() == 200:
                last.append(connection)
                return True
        except OSError:
            pass
        connection.close()
        return False
    more.close()
    until(served, "a place")
    for connection in first + last:
        connection.close()


def test_who_vanishes_in_an_upload_leaves_the_old_file(shared):
    place = shared.post("/v1/sessions", shared.cell()).headers["location"]
    assert shared("PUT", place + "/files/kept", b"old").status == 200
    connection = Raw(shared)
    connection.send(b"PUT %s/files/kept HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" % place.encode() + b"n" * 500000)
    time.sleep(0.1)
    connection.close()
    until(lambda: [x["name"] for x in shared.get(place + "/folders").json()["entries"]] == ["kept"], "the rest to be taken away")
    assert shared.get(place + "/files/kept").body == b"old"
    assert shared("DELETE", place).status == 200


def test_the_key_is_nowhere_to_be_seen(shared):
    """Not among the arguments and environments of the service's processes, nor in what it says."""
    headers = {"X-API-Key": shared.key}
    assert shared.post("/v1/run", shared.cell(language="python", code="1"), headers=headers).status == 200
    secret = shared.key.encode()
    for pid in list(shared.children().values()) + [shared.child.pid]:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            assert secret not in f.read()
        if os.geteuid() == 0:
            with open("/proc/%d/environ" % pid, "rb") as f:
                assert secret not in f.read()
    assert shared.key not in shared.said()
    for folder, _, names in os.walk(shared.folder + "/dev"):
        for name in names:
            with open(os.path.join(folder, name), "rb") as f:
                assert secret not in f.read()
    answer = shared.post("/v1/run", {"x": json.dumps(headers)}, headers=headers)
    assert secret not in answer.body
