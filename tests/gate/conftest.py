"""What the tests of the service share: a real `snapcell serve` of the test's own, and an HTTP client for it. The binary is
$SNAPCELL; $SNAPCELL_CGROUP_PARENT is passed through; $SNAPCELL_TEST_DEGRADED is what cells go without here."""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

PATIENCE = float(os.environ.get("SNAPCELL_TEST_TIME_SCALE", "1")) * 60
DEGRADED = [x for x in os.environ.get("SNAPCELL_TEST_DEGRADED", "").split(",") if x]


def until(true, what="it"):
    end = time.monotonic() + PATIENCE
    while True:
        value = true()
        if value:
            return value
        assert time.monotonic() < end, "waited in vain for " + what
        time.sleep(0.02)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("snapcell", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {k.lower(): v for k, v in response.getheaders()}
        self.body = response.read()

    def json(self):
        return json.loads(self.body)

    def problem(self, status, kind, field=None):
        """Holds that it is this problem document; its detail."""
        assert self.status == status, (self.status, self.body)
        assert self.headers["content-type"] == "application/problem+json"
        value = self.json()
        assert value["type"] == "urn:snapcell:problem:" + kind and value["status"] == status, value
        assert value.get("field") == field, value
        return value["detail"]


class Service:
    """`snapcell serve --dev` in a folder of its own."""

    def __init__(self, binary, folder, *options, **more):
        self.folder = folder
        self.keeper_socket = os.path.join(folder, "keeper.sock")
        self.socket = os.path.join(folder, "http.sock")
        more.setdefault("env", dict(os.environ, SNAPCELL_STORE=os.path.join(folder, "store")))
        self.errors = open(os.path.join(folder, "errors"), "w+b")
        self.child = subprocess.Popen(
            [binary, "serve", "--dev", "--socket", self.keeper_socket, "--listen", "127.0.0.1:0", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors, cwd="/", **more)
        said = {}
        while "key" not in said:
            line = self.child.stdout.readline().decode()
            assert line, self.said()
            word, _, rest = line.strip().partition(" ")
            said.setdefault(word, []).append(rest)
        self.key = said["key"][0]
        self.port = int([x for x in said["listening"] if "http://" in x][0].rsplit(":", 1)[1])

    def said(self):
        self.errors.flush()
        self.errors.seek(0)
        return self.errors.read().decode()

    def connect(self, tcp=False):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE) if tcp else UnixConnection(self.socket)

    def __call__(self, method, path, body=None, headers=None, tcp=False, connection=None):
        own = connection or self.connect(tcp)
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        own.request(method, path, body, headers)
        answer = Answer(own.getresponse())
        if not connection:
            own.close()
        return answer

    def post(self, path, body, **more):
        return self("POST", path, body, **more)

    def get(self, path, **more):
        return self("GET", path, **more)

    def cell(self, **fields):
        """A body with what has to be accepted here."""
        return dict(fields, allow_degraded=DEGRADED) if DEGRADED else fields

    def run(self, **fields):
        answer = self.post("/v1/run", self.cell(**fields))
        assert answer.status == 200, answer.body
        return answer.json()

    def python(self, code, **fields):
        return self.run(language="python", code=code, **fields)

    def events(self, path, body, accept="text/event-stream"):
        """All events of a stream, as (name, data)."""
        answer = self.post(path, body, headers={"Accept": accept})
        assert answer.status == 200, answer.body
        assert answer.headers["content-type"] == accept
        return parse_events(answer.body, accept)

    def children(self):
        """{"keeper": pid, "gate": pid} of those that live."""
        found = {}
        with open("/proc/%d/task/%d/children" % (self.child.pid, self.child.pid)) as f:
            pids = [int(x) for x in f.read().split()]
        for pid in pids:
            try:
                with open("/proc/%d/cmdline" % pid, "rb") as f:
                    words = f.read().split(b"\0")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if len(words) > 1 and words[0] == b"snapcell":
                found[words[1].decode()] = pid
        return found

    def end(self, number=signal.SIGTERM):
        if self.child.poll() is None:
            self.child.send_signal(number)
        status = self.child.wait(PATIENCE)
        self.child.stdout.close()
        return status


def parse_events(body, accept="text/event-stream"):
    events = []
    if accept == "application/x-ndjson":
        for line in body.decode().splitlines():
            value = json.loads(line)
            events.append((value["event"], value["data"]))
        return events
    for block in body.decode().split("\n\n"):
        if block:
            lines = block.split("\n")
            assert len(lines) == 2 and lines[0].startswith("event: ") and lines[1].startswith("data: "), block
            events.append((lines[0][7:], json.loads(lines[1][6:])))
    return events


@pytest.fixture(scope="session")
def binary():
    path = os.environ.get("SNAPCELL")
    if not path:
        pytest.fail("SNAPCELL must name the snapcell binary")
    return os.path.abspath(path)


def make_folder():
    """Short: a socket's path has room for 107 bytes."""
    return tempfile.mkdtemp(prefix="snapcell-gate-")


@pytest.fixture
def services(binary):
    """Makes services; each ends well and leaves no socket."""
    made = []

    def make(*options, **more):
        made.append(Service(binary, make_folder(), *options, **more))
        return made[-1]

    yield make
    for service in made:
        status = service.end()
        left = sorted(x for x in os.listdir(service.folder) if x != "store")
        said = service.said()
        service.errors.close()
        shutil.rmtree(service.folder)
        assert status == 0, (status, said)
        assert left == ["dev", "errors"], left


@pytest.fixture(scope="module")
def shared(binary):
    """One for the tests of a file that leave it as it is."""
    service = Service(binary, make_folder())
    yield service
    status = service.end()
    said = service.said()
    service.errors.close()
    shutil.rmtree(service.folder)
    assert status == 0, (status, said)


@pytest.fixture
def service(services):
    return services()
