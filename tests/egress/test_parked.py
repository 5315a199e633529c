"""Cells that wait with a network of no rules: a request's own are in force when it takes one, and are nobody else's."""
import contextlib
import json
import os
import signal
import time

import pytest
from conftest import INTERNAL, denials
from test_process import children, wait_for

PATIENCE_S = 60


class Keeper:
    def __init__(self, cells, *options):
        self.cells = cells
        self.env = {"SNAPCELL_SOCKET": os.path.join(cells.folder, "keeper.sock")}
        self.pid = cells.lab.order(start=[cells.binary, "keeper", *options], env=self.env)["pid"]
        while cells.snapcell("session", "ls", env=self.env).code != 0:
            time.sleep(0.02)

    def once(self, code, *rules):
        done = self.cells.snapcell("run", "--warm", "--json", "--mode", "rich", "--python", *self.cells.accept,
                                   *(INTERNAL if rules else []), *rules, "-c", code, env=self.env)
        assert done.out, done.err
        return json.loads(done.out)

    def warm(self, code, *rules):
        """Asked until a cell that waited served it."""
        until = time.monotonic() + PATIENCE_S
        while True:
            result = self.once(code, *rules)
            if result["start"]["kind"] != "cold":
                return result
            assert time.monotonic() < until, result
            time.sleep(0.1)


@pytest.fixture
def keeper(cells):
    made = Keeper(cells, "--pool", "2")
    yield made
    os.kill(made.pid, signal.SIGTERM)


GET = "import urllib.request\ntry: print(urllib.request.urlopen('http://%s/hello', timeout=20).read()[:9].decode())\nexcept OSError as e: print('failed')"


def test_the_rules_come_with_the_request(keeper):
    cold = keeper.once(GET % "allowed.test", "--allow", "allowed.test")
    warm = keeper.warm(GET % "allowed.test", "--allow", "allowed.test")
    assert cold["start"]["kind"] == "cold"
    assert (warm["stdout"], warm["denials"]) == (cold["stdout"], cold["denials"]) == ("origin-ok\n", [])
    for result in (cold, warm):
        assert [(x["name"], x["verdict"]) for x in result["network"] if x["what"] == "connection"] == [("allowed.test", "allowed")], result


def test_what_an_earlier_request_may_reach_is_refused_to_the_next(keeper):
    assert keeper.warm(GET % "allowed.test", "--allow", "allowed.test")["stdout"] == "origin-ok\n"
    refused = keeper.warm(GET % "allowed.test", "--allow", "both.test")
    assert refused["stdout"] == "failed\n"
    assert "allowed.test" in denials(refused)
    assert {x["name"] for x in refused["network"]} == {"allowed.test"}


def test_a_request_without_a_network_gets_none_of_these_cells(keeper):
    keeper.warm(GET % "allowed.test", "--allow", "allowed.test")
    bare = keeper.warm(GET % "allowed.test")
    assert (bare["stdout"], "network" in bare) == ("failed\n", False), bare


def test_addresses_are_refused_at_once(keeper):
    dial = "import socket\nfor port in (80, 9):\n    try: socket.create_connection(('198.51.100.20', port), 20); print('open')\n    except OSError as e: print(type(e).__name__)"
    assert keeper.warm(dial, "--allow", "198.51.100.20:80")["stdout"] == "open\nConnectionRefusedError\n"
    assert keeper.warm(dial, "--allow", "198.51.100.20:9")["stdout"].split()[0] == "ConnectionRefusedError"


def egress_of(keeper):
    return [pid for pid, status in children(keeper.pid) if status["Name"] == "snapcell-egress" and status["Seccomp"] == "2"]


def test_a_cell_whose_egress_process_died_serves_nobody(keeper):
    keeper.warm(GET % "allowed.test", "--allow", "allowed.test")
    for pid in wait_for(lambda: egress_of(keeper)):
        with contextlib.suppress(ProcessLookupError):  # the one of the cell that was used ends by itself
            os.kill(pid, signal.SIGKILL)
    assert keeper.once(GET % "allowed.test", "--allow", "allowed.test")["stdout"] == "origin-ok\n"
