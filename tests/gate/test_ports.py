"""Requests to a port that a program in a session listens on: passed on to it and to nothing else, and what it answers is a stranger's."""
import http.client
import json
import socket
import threading

import pytest
from conftest import PATIENCE, until

SERVER = r"""
import http.server, json, os, socketserver, sys, time
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do(self):
        path, length = self.path, int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if path == "/ws":
            self.close_connection = True
            if self.headers.get("Upgrade") != "websocket" or self.headers.get("Connection") != "Upgrade": return self.wfile.write(b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n")
            self.wfile.write(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + self.headers["Sec-WebSocket-Key"].encode() + b"\r\n\r\nhello")
            while data := self.connection.recv(65536):
                if data.endswith(b"bye"): return self.wfile.write(b"last word")
                self.connection.sendall(data.upper())
            with open("/tmp/ended", "a") as f: return f.write("x")
        if path == "/raw": return self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\nto the end")
        if path == "/odd": return self.wfile.write(b"hello, I am no HTTP\r\n\r\n")
        if path == "/two": return self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")
        if path == "/cut": return self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        if path == "/early": return self.wfile.write(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate")
        if path == "/slow":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
            while not os.path.exists("/tmp/go"): time.sleep(0.02)
            return self.wfile.write(b"6;x=y\r\nsecond\r\n0\r\nT: x\r\n\r\n")
        if path.startswith("/big"): answer = b"x" * int(path[4:])
        else: answer = json.dumps({"method": self.command, "path": path, "headers": dict(self.headers.items()), "body": body.decode("latin-1")}).encode()
        self.send_response(204 if path == "/none" else 418 if path == "/teapot" else 200)
        self.send_header("Content-Type", "application/x-test")
        self.send_header("Set-Cookie", "a=b")
        self.send_header("X-Own", "kept")
        self.send_header("Keep-Alive", "timeout=5")
        if path != "/none": self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD" and path != "/none": self.wfile.write(answer)
    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do
    def log_message(self, *_): pass
class S(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    def handle_error(self, *_): pass
S(("127.0.0.1", 8080), H).serve_forever()
"""


@pytest.fixture(scope="module")
def served(shared):
    """(service, the path of a session's port 8080)"""
    session = "/v1/sessions/" + shared.post("/v1/sessions", shared.cell()).json()["session"]
    started = shared.post(session + "/commands", {"command": ["/usr/bin/python3", "-c", SERVER], "background": True})
    assert started.status == 200, started.body
    port = session + "/ports/8080"
    until(lambda: shared.get(port + "/").status == 200, "the server inside")
    yield shared, port
    shared("DELETE", session)


def test_requests_are_passed_on_as_they_came(served):
    service, port = served
    answer = service.get(port + "/a%2Fb/%C3%A9?x=%20&y", headers={"X-Mine": "1", "Accept": "text/x", "Connection": "x-hop", "X-Hop": "2", "Cookie": "c=d"})
    said = answer.json()
    assert (answer.status, said["method"], said["path"], said["body"]) == (200, "GET", "/a%2Fb/%C3%A9?x=%20&y", "")
    fields = {k.lower(): v for k, v in said["headers"].items()}
    assert (fields["host"], fields["connection"], fields["x-mine"], fields["accept"]) == ("localhost:8080", "close", "1", "text/x")
    assert not {"x-hop", "cookie", "authorization", "x-api-key", "upgrade"} & set(fields)
    assert service.get(port).json()["path"] == "/" and service.get(port + "?a").json()["path"] == "/?a"


def test_answers_come_back_as_they_are_but_for_what_is_ours(served):
    service, port = served
    answer = service.get(port + "/teapot")
    assert (answer.status, answer.headers["content-type"], answer.headers["x-own"]) == (418, "application/x-test", "kept")
    assert answer.headers["content-security-policy"].startswith("sandbox") and answer.headers["cache-control"] == "no-store"
    assert "set-cookie" not in answer.headers and "keep-alive" not in answer.headers
    assert len(service.get(port + "/big3000000").body) == 3000000
    assert service.get(port + "/raw").body == b"to the end" and service.get(port + "/early").body == b"late"
    assert (service.get(port + "/none").status, service("HEAD", port + "/x").status) == (204, 200)


def test_methods_and_bodies(served):
    service, port = served
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        said = service(method, port + "/m", b"x" * 300000, headers={"Content-Type": "text/plain"}).json()
        assert (said["method"], len(said["body"])) == (method, 300000)
    service("POST", port + "/m", iter([b"a", b"b"])).problem(400, "framing", "Transfer-Encoding")
    assert service("TRACE", port + "/m").status == 405


def test_an_answer_comes_while_it_is_made(served):
    service, port = served
    own = service.connect()
    own.request("GET", port + "/slow")
    answer = own.getresponse()
    assert answer.headers["Content-Type"] == "text/event-stream" and answer.read(5) == b"first"
    session = port[:port.index("/ports")]
    assert service("PUT", session + "/files//tmp/go", b"").status == 200
    assert answer.read() == b"second"
    own.close()


def test_what_is_no_answer(served):
    service, port = served
    for path in ("/odd", "/two"):
        service.get(port + path).problem(502, "port", "port")
    with pytest.raises(http.client.IncompleteRead):
        service.get(port + "/cut")
    assert service.get(port + "/").status == 200


def test_nothing_else_can_be_reached(served):
    """Neither another port, nor the host's own loopback, nor without a key, nor a session of nobody's."""
    service, port = served
    own = port.rsplit("/", 1)[0] + "/"
    service.get(own + "8081/").problem(502, "port", "port")
    host = socket.create_server(("127.0.0.1", 0))
    seen = []
    threading.Thread(target=lambda: seen.append(host.accept()), daemon=True).start()
    service.get(own + "%d/" % host.getsockname()[1]).problem(502, "port", "port")
    assert not seen
    for wrong in ("0", "65536", "x", "8080x", "-1", "99999999999"):
        service.get(own + wrong + "/").problem(422, "usage", "port")
    service.get(port + "/", tcp=True).problem(401, "unauthorized", "Authorization")
    said = service.get(port + "/", tcp=True, headers={"Authorization": "Bearer " + service.key}).json()
    assert service.key not in json.dumps(said)
    service.get("/v1/sessions/nobody/ports/8080/").problem(404, "not_found", "session")


class Raw:
    """A client that upgrades its connection."""

    def __init__(self, service, path):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(service.socket)
        self.sock.sendall(("GET %s HTTP/1.1\r\nHost: snapcell\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
                           "Sec-WebSocket-Key: abc\r\n\r\n" % path).encode())
        self.head = self.read_to(b"\r\n\r\n").decode().lower()

    def read_to(self, end):
        data = b""
        while not data.endswith(end):
            byte = self.sock.recv(1)
            assert byte, data
            data += byte
        return data

    def read(self, size):
        data = b""
        while len(data) < size and (part := self.sock.recv(size - len(data))):
            data += part
        return data


def test_websockets(served):
    """Both ways at once, a megabyte each way, and an end from either side."""
    service, port = served
    raw = Raw(service, port + "/ws")
    assert raw.head.startswith("http/1.1 101 ") and "sec-websocket-accept: abc" in raw.head and "upgrade: websocket" in raw.head, raw.head
    assert raw.read(5) == b"hello"
    raw.sock.sendall(b"abc")
    assert raw.read(3) == b"ABC"
    sender = threading.Thread(target=raw.sock.sendall, args=(b"y" * 1000000,))
    sender.start()
    assert raw.read(1000000) == b"Y" * 1000000
    sender.join()
    raw.sock.sendall(b"bye")
    assert raw.read(100) == b"last word"
    raw.sock.close()
    session = port[:port.index("/ports")]
    many = [Raw(service, port + "/ws") for _ in range(20)]
    for raw in many:
        raw.sock.close()
    until(lambda: len(service.get(session + "/files//tmp/ended").body) >= 20, "the program's word of their ends")
    # Whoever does not agree answers as always, and what was not asked for is not agreed to.
    assert Raw(service, port + "/none").head.startswith("http/1.1 204 ")
    assert service.get(port + "/ws").status == 400


def test_the_service_ends_with_an_upgraded_connection_open(services):
    service = services()
    session = "/v1/sessions/" + service.post("/v1/sessions", service.cell()).json()["session"]
    service.post(session + "/commands", {"command": ["/usr/bin/python3", "-c", SERVER], "background": True})
    until(lambda: service.get(session + "/ports/8080/").status == 200, "the server inside")
    raw = Raw(service, session + "/ports/8080/ws")
    assert raw.read(5) == b"hello"
    service("DELETE", session)
    assert raw.read(1) == b""
    assert service.end() == 0 and "ended by signal" not in service.said()
