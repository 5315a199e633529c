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
