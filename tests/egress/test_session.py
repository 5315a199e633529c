"""Sessions with a network: what each command is told, and that the session's cell keeps its rules."""
import json
import os
import signal

import pytest
from conftest import INTERNAL, denials


class Session:
    def __init__(self, cells, *rules):
        self.cells = cells
        self.env = {"SNAPCELL_SOCKET": os.path.join(cells.folder, "keeper.sock")}
        self.keeper = cells.lab.order(start=[cells.binary, "keeper"], env=self.env)["pid"]
        while True:
            done = self.call("ls")
            if done.code == 0:
                break
        done = self.call("start", *cells.accept, *INTERNAL, *rules)
        assert done.code == 0, done.err
        self.name = done.out.decode().strip()

    def call(self, *words):
        return self.cells.snapcell("session", *words, env=self.env)

    def execute(self, *words):
        done = self.call("exec", "--json", self.name, "--", *words)
        assert done.out, done.err
        return json.loads(done.out)

    def run(self, code):
        done = self.call("run", "--json", "--python", "-c", code, self.name)
        assert done.out, done.err
        return json.loads(done.out)


@pytest.fixture
def start(cells):
    made = []

    def make(*rules):
        made.append(Session(cells, *rules))
        return made[-1]
    yield make
    for session in made:
        os.kill(session.keeper, signal.SIGTERM)


def test_commands_are_told_their_own_refusals(start):
    session = start("--allow", "allowed.test")
    assert session.execute("curl", "-sS", "http://allowed.test/hello")["stdout"].startswith("origin-ok")
    for _ in range(2):
        refused = session.execute("curl", "-sS", "http://denied.test/hello")
        assert refused["exit_code"] == 6
        assert denials(refused)["denied.test"]["count"] >= 1
    fine = session.execute("curl", "-sS", "http://allowed.test/hello")
    assert denials(fine) == {}
    assert {x["name"] for x in fine["network"]} == {"allowed.test", "denied.test"}


def test_contexts_have_it_too(start):
    session = start("--allow", "allowed.test")
    result = session.run("import urllib.request; urllib.request.urlopen('http://allowed.test/hello').read()[:9]")
    assert result["value"]["text/plain"] == "b'origin-ok'", result


def test_rules_are_changed_while_it_lives(start, cells):
    session = start("--allow", "allowed.test:9,80")
    connect = "import socket; print(socket.create_connection(('198.51.100.20', 80), 20).getpeername()[0])"
    assert "ConnectionRefusedError" in session.execute("python3", "-c", connect)["stderr"]
    done = session.call("exec", "--background", session.name, "--", "python3", "-c", """
import socket
s = socket.create_connection(('allowed.test', 9), 20); s.recv(1); open('open', 'w').close()
try:
    while s.recv(100): pass
    how = 'ended'
except ConnectionResetError: how = 'reset'
open('how', 'w').write(how)
""")
    assert done.code == 0, done.err
    wait = "until [ -e %s ]; do sleep 0.05; done; cat %s"
    session.execute("bash", "-c", wait % ("open", "open"))
    changed = session.call("network", session.name, *INTERNAL, "--allow", "allowed.test:80", "--allow", "198.51.100.20:80")
    assert changed.code == 0, changed.err
    assert session.execute("bash", "-c", wait % ("how", "how"))["stdout"] == "reset"
    assert session.execute("python3", "-c", connect)["stdout"] == "198.51.100.20\n"
    assert session.execute("curl", "-sS", "http://allowed.test/hello")["stdout"].startswith("origin-ok")
    assert session.call("network", session.name, "--network", "none").code == 0
    assert "ConnectionRefusedError" in session.execute("python3", "-c", connect)["stderr"]
    assert session.execute("curl", "-sS", "http://allowed.test/hello")["exit_code"] == 6
    for words, says in (((), b"needs --network"), (("--allow", "a b"), b"--allow a b: allowed: a name"), (("--memory", "1G"), b"no such option")):
        refused = session.call("network", session.name, *words)
        assert refused.code == 2 and says in refused.err, refused.err


def test_a_session_without_a_network_cannot_be_given_one(start):
    session = start()
    refused = session.call("network", session.name, "--allow", "allowed.test")
    assert refused.code == 2 and b"made without one" in refused.err, refused.err


def test_what_stands_behind_stays(start, cells):
    """As a template's rules do."""
    spec = os.path.join(cells.folder, "spec.json")
    with open(spec, "w", encoding="utf-8") as f:
        json.dump({"network": {"mode": "open", "internal": ["198.51.100.0/24"],
                               "within": {"rules": [{"allow": "allowed.test"}], "internal": ["198.51.100.0/24"]}}}, f)
    session = start("--spec", spec)
    for rules in ((), ("--network", "open"), ("--allow", "*:*")):
        if rules:
            assert session.call("network", session.name, *INTERNAL, *rules).code == 0
        assert session.execute("curl", "-sS", "http://allowed.test/hello")["stdout"].startswith("origin-ok")
        assert session.execute("curl", "-sS", "http://denied.test/hello")["exit_code"] == 6
