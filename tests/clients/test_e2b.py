"""The protocol of E2B: its own clients, unmodified, and what a client that means harm would try. One service for all."""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import pytest
from conftest import PATIENCE

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "e2b"))
from service import Service  # noqa: E402

GONE = "0" * 32


@pytest.fixture(scope="module")
def service(snapcell, accept):
    folder = tempfile.mkdtemp(prefix="snapcell-e2b-")  # a socket's path is short
    made = Service(snapcell, folder, *(["--e2b-degraded", accept[-1]] if accept else []))
    made.folder = folder
    yield made
    assert made.end() == 0
    shutil.rmtree(folder)


@pytest.fixture
def variables(service, clients, tmp_path):
    return dict(os.environ, HOME=str(tmp_path), PYTHONDONTWRITEBYTECODE="1", CLIENTS=os.path.join(clients, "node_modules"), **service.environment())


def older(clients, generation):
    """Where older.json has its packages: for CLIENTS."""
    return os.path.join(clients, "older", generation, "node_modules")


def test_current_javascript(node, variables):
    ran = node(os.path.join(HERE, "e2b/surface.mjs"), env=variables)
    assert (ran.returncode, ran.stdout) == (0, "all of it\n"), ran.stdout + ran.stderr


def test_copies(node, variables):
    ran = node(os.path.join(HERE, "e2b/copies.mjs"), env=variables)
    assert (ran.returncode, ran.stdout) == (0, "all of it\n"), ran.stdout + ran.stderr


def test_older_javascript(node, clients, variables):
    ran = node(os.path.join(HERE, "e2b/older.mjs"), "e2b", env=dict(variables, CLIENTS=older(clients, "e2b-2")))
    assert (ran.returncode, ran.stdout) == (0, "all of it\n"), ran.stdout + ran.stderr


@pytest.fixture(scope="module")
def in_debug_mode(snapcell, accept):
    """The ports are fixed, and anybody's connection may have one of them for a while."""
    folder, end = tempfile.mkdtemp(prefix="snapcell-e2b-"), time.monotonic() + PATIENCE
    made = None
    while not made:
        try:
            made = Service(snapcell, folder, "--e2b-debug", *(["--e2b-degraded", accept[-1]] if accept else []))
        except AssertionError:
            assert time.monotonic() < end, "the ports of debug mode did not come free"
    yield made
    assert made.end() == 0
    shutil.rmtree(folder)


@pytest.mark.parametrize("generation", ["e2b-2", "e2b-1"])
def test_older_javascript_in_debug_mode(in_debug_mode, clients, node, tmp_path, generation):
    env = dict(os.environ, HOME=str(tmp_path), CLIENTS=older(clients, generation), E2B_DEBUG="true")
    ran = node(os.path.join(HERE, "e2b/older.mjs"), "@e2b/code-interpreter", "debug", env=env)
    assert (ran.returncode, ran.stdout) == (0, "all of it\n"), ran.stdout + ran.stderr


def test_debug_mode_serves_one_sandbox_and_nothing_else(in_debug_mode):
    for port in (49983, 49999):
        client = Client("http://127.0.0.1:%d" % port)
        assert client("GET", "/health")[0] == 204
        for method, path in (("GET", "/v2/sandboxes"), ("POST", "/sandboxes"), ("GET", "/v1/sessions"), ("POST", "/v1/run"), ("GET", "/metrics?x")):
            status = client(method, path, {} if method == "POST" else None, X_API_Key=in_debug_mode.key)[0]
            assert status == (200 if path.startswith("/metrics") else 404), path
        assert client("GET", "/health", Host="sandbox.example")[0] == 421
        assert client("GET", "/health", Origin="http://page.example")[0] == 403


def test_current_python(python, variables):
    ran = python(os.path.join(HERE, "e2b/surface.py"), env=variables)
    assert (ran.returncode, ran.stdout) == (0, "all of it\n"), ran.stdout + ran.stderr


def test_frameworks(python, variables):
    ran = python(os.path.join(HERE, "e2b/frameworks.py"), env=variables)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "smolagents": {"answer": {"sum": 90, "given": [1, 2]}, "printed": True, "missing": True, "divided": True},
        "openai_agents": {"answer": "done", "first": True, "failed": True, "kept": True}, "left": 0}


def test_example(python, variables):
    ran = python(os.path.join(HERE, "../../examples/clients/e2b_sandbox.py"), env=variables)
    assert (ran.returncode, ran.stdout) == (0, "328\n47\n"), ran.stdout + ran.stderr


# ---- by hand ----

class Client:
    def __init__(self, address, **headers):
        self.address, self.headers = address, headers

    def __call__(self, method, path, body=None, **headers):
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        sent = {name.replace("_", "-"): value for name, value in {"Content_Type": "application/json", **self.headers, **headers}.items() if value}
        request = urllib.request.Request(self.address + path, data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, self.read(answer)
        except urllib.error.HTTPError as error:
            return error.code, self.read(error)

    @staticmethod
    def read(answer):
        text = answer.read()
        return json.loads(text) if answer.headers.get("Content-Type") == "application/json" else text.decode()


@pytest.fixture
def owner(service):
    return Client(service.address, X_API_Key=service.key)


@pytest.fixture
def sandbox(owner):
    status, made = owner("POST", "/sandboxes", {"templateID": "base", "timeout": 60})
    assert status == 201, made
    yield made
    owner("DELETE", "/sandboxes/" + made["sandboxID"])


def inside(service, sandbox, token=None):
    return Client(service.address, E2b_Sandbox_Id=sandbox["sandboxID"], X_Access_Token=token or sandbox["envdAccessToken"])


def add_key(snapcell, service, tenant):
    done = subprocess.run([snapcell, "key", "add", "--e2b", "--tenant", tenant, "--state", os.path.join(service.folder, "dev")],
                          capture_output=True, text=True, check=True)
    return done.stdout.strip(), done.stderr.split()[2]


def test_keys(snapcell, service, owner):
    assert Client(service.address, X_API_Key=service.native_key)("GET", "/sandboxes") == (200, [])
    for key in ("e2b_00", "e2b_" + "0" * 80, service.key[:-1] + ("0" if service.key[-1] != "0" else "1"), None):
        status, said = Client(service.address, X_API_Key=key)("GET", "/v2/sandboxes")
        assert status == 401 and said["code"] == 401 and set(said) == {"code", "message"}
    assert owner("GET", "/sandboxes") == (200, [])


def test_tenants_are_apart(snapcell, service, owner, sandbox):
    key, key_id = add_key(snapcell, service, "other")
    other, path = Client(service.address, X_API_Key=key), "/sandboxes/" + sandbox["sandboxID"]
    assert other("GET", "/v2/sandboxes") == (200, [])
    for method, place, body in (("GET", path, None), ("DELETE", path, None), ("POST", path + "/timeout", {"timeout": 10}),
                                ("POST", path + "/connect", {"timeout": 10}), ("GET", path + "/metrics", None),
                                ("PUT", path + "/network", {"allow_internet_access": False})):
        assert other(method, place, body)[0] == 404, (method, place)
    assert owner("GET", path)[0] == 200
    # A key that was revoked takes the sandboxes' tokens with it.
    status, theirs = other("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 60})
    assert status == 201 and inside(service, theirs)("GET", "/health")[0] == 204
    assert inside(service, sandbox, theirs["envdAccessToken"])("GET", "/health")[0] == 401
    subprocess.run([snapcell, "key", "revoke", key_id, "--state", os.path.join(service.folder, "dev")], check=True)
    status = 204
    while status == 204:  # it is looked at ten times a second
        status = inside(service, theirs)("GET", "/health")[0]
    assert status == 401


def test_a_token_is_needed_inside(service, sandbox):
    token = sandbox["envdAccessToken"]
    wrong = token[:-1] + ("0" if token[-1] != "0" else "1")
    calls = [("GET", "/health", None), ("GET", "/envs", None), ("GET", "/metrics", None), ("GET", "/files?path=/etc/passwd", None),
             ("POST", "/filesystem.Filesystem/Stat", {"path": "/"}), ("POST", "/process.Process/List", {}),
             ("POST", "/execute", {"code": "1"}), ("GET", "/contexts", None), ("POST", "/contexts", {}),
             ("POST", "/process.Process/SendSignal", {"process": {"pid": 1}, "signal": "SIGNAL_SIGKILL"})]
    for method, path, body in calls:
        assert inside(service, sandbox)(method, path, body)[0] != 401, path
        for given in (wrong, "", token[32:], "x" * 96):
            client = Client(service.address, E2b_Sandbox_Id=sandbox["sandboxID"], X_Access_Token=given)
            assert client(method, path, body)[0] == 401, (path, given)
    # It opens one sandbox from inside, and nothing else.
    assert Client(service.address, X_API_Key=token)("DELETE", "/sandboxes/" + sandbox["sandboxID"])[0] == 401
    assert Client(service.address, X_API_Key=token)("GET", "/sandboxes")[0] == 401


def test_one_that_is_gone(service, owner, sandbox):
    client = inside(service, sandbox)
    assert owner("DELETE", "/sandboxes/" + sandbox["sandboxID"])[0] == 204
    for method, path, body in (("GET", "/health", None), ("POST", "/filesystem.Filesystem/Stat", {"path": "/"}),
                               ("POST", "/execute", {"code": "1"}), ("GET", "/files?path=/", None)):
        status, said = client(method, path, body)
        assert (status, said) == (502, {"sandboxId": sandbox["sandboxID"], "message": "The sandbox was not found", "code": 502}), path
    assert owner("DELETE", "/sandboxes/" + sandbox["sandboxID"]) == (404, {"code": 404, "message": "session: %s: there is none of this name" % sandbox["sandboxID"]})


@pytest.mark.parametrize("field, body", [
    ("autoPause", {"autoPause": True}), ("volumeMounts", {"volumeMounts": [{"name": "a", "path": "/a"}]}), ("mcp", {"mcp": {}}),
    ("wonder", {"wonder": 1}), ("timeout", {"timeout": 0}), ("timeout", {"timeout": 86401}), ("metadata", {"metadata": {"a": 1}}),
    ("denyOut", {"network": {"denyOut": ["203.0.113.1"]}}), ("allowOut", {"network": {"allowOut": ["a b"]}}),
    ("maskRequestHost", {"network": {"maskRequestHost": "x"}}), ("env", {"envVars": {"A=": "1"}}), ("templateID", {"templateID": 1}),
])
def test_what_is_not_served_is_refused(owner, field, body):
    status, said = owner("POST", "/sandboxes", {"templateID": "base", "timeout": 60, **body})
    assert status == 400 and said["code"] == 400 and field in said["message"], said
    assert owner("GET", "/sandboxes") == (200, [])


def test_paths_that_are_not_served(owner):
    for method, path in (("POST", "/v3/templates"), ("GET", "/volumes"), ("POST", "/files/compose")):
        status, said = owner(method, path, None if method == "GET" else {})
        assert status == 501 and said["code"] == 501, path
    assert owner("GET", "/sandboxes/" + GONE)[0] == 404


def test_uploads(service, sandbox):
    client = inside(service, sandbox)
    form = "multipart/form-data; boundary=between"

    def part(name, content, field="file"):
        return ('--between\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\n\r\n%s\r\n' % (field, name, content)).encode()

    status, said = client("POST", "/files", part("x/a", "1") + part("ignored", "2", "other") + part("x/é", "") + b"--between--\r\n", Content_Type=form)
    assert status == 200 and [one["path"] for one in said] == ["/home/user/x/a", "/home/user/x/é"], said
    status, said = client("POST", "/files", part("x/a", "1") + part("x/./a", "2") + b"--between--\r\n", Content_Type=form)
    assert status == 400 and "once" in said["message"]
    assert client("POST", "/files", part("", "1") + b"--between--\r\n", Content_Type=form)[0] == 400
    assert client("POST", "/files", b"1", Content_Type="application/octet-stream")[0] == 400
    assert client("POST", "/files?path=x", b"1", Content_Type="text/plain")[0] == 415
    assert client("POST", "/files?path=x", b"1", Content_Type="application/octet-stream", Content_Encoding="br")[0] == 415
    assert client("POST", "/files?path=x", b"1", Content_Type="application/octet-stream", X_Metadata_A="b")[0] == 400
    assert client("POST", "/files?path=/etc/x", b"1", Content_Type="application/octet-stream")[0] in (400, 403)
    assert client("POST", "/files?path=x&username=root", b"1", Content_Type="application/octet-stream")[0] == 401


def test_messages(service, sandbox):
    client = inside(service, sandbox)
    refused = (("Stat", {"path": "/nowhere"}, 404, "not_found"), ("ListDir", {"path": "/etc/passwd"}, 400, "invalid_argument"),
               ("MakeDir", {"path": "/etc/x"}, 403, "permission_denied"), ("Stat", {"path": "/", "wonder": 1}, 400, "invalid_argument"))
    for method, body, wanted, code in refused:
        status, said = client("POST", "/filesystem.Filesystem/" + method, body)
        assert (status, said["code"]) == (wanted, code), said
    for body in (b"\0\0\0\0\5{}", b"\1\0\0\0\2{}", b"{}", b"\0\0\0\0\2[]"):
        request = urllib.request.Request(service.address + "/process.Process/Start", body, {
            "Content-Type": "application/connect+json", "X-Access-Token": sandbox["envdAccessToken"]}, method="POST")
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            got = answer.read()
        assert got[0] == 2 and int.from_bytes(got[1:5], "big") == len(got) - 5
        assert json.loads(got[5:])["error"]["code"] == "invalid_argument"


# ---- ports ----

ECHO = r"""
import http.server, json
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        if self.headers.get("Upgrade") == "websocket":
            self.close_connection = True
            self.wfile.write(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello")
            return self.wfile.write(self.connection.recv(100).upper())
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        said = json.dumps([self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
    do_GET = do_POST
http.server.ThreadingHTTPServer(("127.0.0.1", 8123), H).serve_forever()
"""


def name_of(sandbox, port=8123):
    return "%d-%s.%s" % (port, sandbox["sandboxID"], sandbox["domain"])


@pytest.fixture
def echo(service, sandbox):
    """A sandbox in which a program listens on port 8123."""
    client = inside(service, sandbox)
    assert client("POST", "/files?path=echo.py", ECHO.encode(), Content_Type="application/octet-stream")[0] == 200
    start = json.dumps({"process": {"cmd": "/usr/bin/python3", "args": ["/home/user/echo.py"]}}).encode()
    request = urllib.request.Request(service.address + "/process.Process/Start", b"\0" + len(start).to_bytes(4, "big") + start, {
        "Content-Type": "application/connect+json", "X-Access-Token": sandbox["envdAccessToken"]}, method="POST")
    asks, end = at_port(service, sandbox), time.monotonic() + PATIENCE
    with urllib.request.urlopen(request, timeout=PATIENCE):
        while asks("GET", "/")[0] == 502:
            assert time.monotonic() < end, "nobody listens"
            time.sleep(0.02)
        yield sandbox


def at_port(service, sandbox, port=8123, token=None):
    return Client(service.address, Host=name_of(sandbox, port), E2B_Traffic_Access_Token=token or sandbox["trafficAccessToken"])


def test_a_port_by_its_name(service, echo):
    status, text = at_port(service, echo)("POST", "/v1/run?a=%20b", b"body", X_Mine="1", Cookie="a=b", X_API_Key=service.key, Authorization="Bearer x")
    method, path, headers, body = json.loads(text)
    assert (status, method, path, body) == (200, "POST", "/v1/run?a=%20b", "body")
    assert (headers["host"], headers["x-mine"]) == ("localhost:8123", "1")
    assert echo["envdAccessToken"] not in text and service.key not in text and "cookie" not in headers and "authorization" not in headers
    # Whatever the path is: nothing of the service's own, nor of what else is served inside, answers there.
    for path in ("/healthz", "/sandboxes", "/health", "/files?path=/", "/", "/metrics"):
        assert json.loads(at_port(service, echo)("GET", path)[1])[1] == path
    # The same by the headers that name sandbox and port.
    by_header = Client(service.address, E2b_Sandbox_Id=echo["sandboxID"], E2b_Sandbox_Port="8123", E2B_Traffic_Access_Token=echo["trafficAccessToken"])
    assert json.loads(by_header("GET", "/metrics")[1])[1] == "/metrics"
    # What their own daemon listens on is the front itself.
    assert Client(service.address, Host=name_of(echo, 49983), X_Access_Token=echo["envdAccessToken"])("GET", "/health")[0] == 204
    status, said = at_port(service, echo, 8124)("GET", "/")
    assert (status, said) == (502, {"sandboxId": echo["sandboxID"], "message": "The sandbox is running but port is not open", "port": 8124, "code": 502})
    assert at_port(service, echo)("TRACE", "/")[0] == 405


def test_a_websocket_by_its_name(service, echo):
    host, _, port = service.address.rpartition("//")[2].rpartition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as sock:
        sock.sendall(("GET /ws HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nE2B-Traffic-Access-Token: %s\r\n\r\n"
                      % (name_of(echo), echo["trafficAccessToken"])).encode())
        said = b""
        while not said.endswith(b"\r\n\r\nhello"):
            piece = sock.recv(4096)
            assert piece, said
            said += piece
        assert said.startswith(b"HTTP/1.1 101 ")
        sock.sendall(b"abc")
        assert sock.recv(3, socket.MSG_WAITALL) == b"ABC"


def test_a_port_is_its_sandbox_own(snapcell, service, owner, echo):
    """Neither another tenant's token nor another sandbox's of the same tenant, nor any key, nor a signed address opens it."""
    key, _ = add_key(snapcell, service, "neighbour")
    made = [client("POST", "/sandboxes", {"templateID": "base", "timeout": 60})[1] for client in (Client(service.address, X_API_Key=key), owner)]
    for other in made:
        token = other["trafficAccessToken"]
        # The other's secret with this one's id is no token, either.
        for given in (token, echo["sandboxID"] + token[32:]):
            assert at_port(service, echo, token=given)("GET", "/")[0] == 401
        assert at_port(service, other)("GET", "/")[0] == 502, "its own port is its own: nobody listens there"
        headers = {"E2b_Sandbox_Id": echo["sandboxID"], "E2b_Sandbox_Port": "8123"}
        assert Client(service.address, E2B_Traffic_Access_Token=token, **headers)("GET", "/")[0] == 401
    for headers in ({}, {"X_API_Key": key}, {"X_API_Key": service.key}, {"Authorization": "Bearer " + service.native_key},
                    {"X_Access_Token": echo["envdAccessToken"]}, {"E2B_Traffic_Access_Token": "x"}):
        assert Client(service.address, Host=name_of(echo), **headers)("GET", "/?signature=v1_x")[0] == 401, headers
    # By no name but the service's, and to no page.
    assert at_port(service, echo)("GET", "/", Host="8123-%s.page.example" % echo["sandboxID"])[0] == 421
    assert at_port(service, echo)("GET", "/", Origin="http://page.example")[0] == 403
    assert at_port(service, echo)("GET", "/", Origin="http://" + name_of(echo))[0] == 403
    gone = {"sandboxID": GONE, "domain": echo["domain"]}
    assert at_port(service, gone, token=GONE + "0" * 64)("GET", "/") == (502, {"sandboxId": GONE, "message": "The sandbox was not found", "code": 502})
    assert at_port(service, echo)("GET", "/")[0] == 200
