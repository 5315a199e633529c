"""A date that jumps: keys and records go by it, nothing else does. The date of the keeper's own process is moved, by a library that is preloaded."""
import json
import mmap
import os
import struct
import subprocess

import pytest
from test_gate import gates, run, spec  # noqa: F401 (fixtures)
from test_audit import records, verify

DAY = 86400
WAIT = "import os,time\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('went')"


class Date:
    """Of all programs that are started with it."""

    def __init__(self, folder, monkeypatch):
        library = str(folder / "clock.so")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, os.path.join(os.path.dirname(__file__), "clock.c")], check=True)
        path = folder / "clock"
        path.write_bytes(bytes(mmap.PAGESIZE))
        with open(path, "r+b") as f:
            self.shared = mmap.mmap(f.fileno(), mmap.PAGESIZE)
        monkeypatch.setenv("LD_PRELOAD", library)
        monkeypatch.setenv("SNAPCELL_CLOCK_FILE", str(path))

    def jump(self, seconds):
        """This far from the right date."""
        struct.pack_into("q", self.shared, 0, seconds)


@pytest.fixture
def date(tmp_path, monkeypatch):
    return Date(tmp_path, monkeypatch)


def years(keeper):
    return [int(x["time"][:4]) for x in records(keeper)]


@pytest.mark.parametrize("days", [400, -400])
def test_work_goes_on(gates, cli, spec, date, days):  # noqa: F811
    keeper = gates(tenants={"a": spec})
    with keeper.tenant("a") as a:
        session = a.ask(request="session.start", spec=spec, idle_ms=100000, total_ms=200000)["ok"]["session"]
        waits = a.begin(request="run", session=session, language="python", code=WAIT, output="reply", limits={"wall_ms": 100000})
        assert "ok" in a.ask(request="session.info", session=session)
        date.jump(days * DAY)
        # Neither is a time over that is not, nor does one never end.
        assert run(a, spec)["ok"]["stdout"] == "42\n"
        late = run(a, spec, "while True: pass", limits={"wall_ms": 300})["ok"]
        assert late["status"] == "timeout" and 300 <= late["usage"]["wall_ms"] < 60000
        date.jump(-days * DAY)
        assert a.ask(request="exec", session=session, command=["/usr/bin/touch", "go"])["ok"]["status"] == "ok"
        done = a.finish(waits)[0]["ok"]
        assert (done["status"], done["stdout"]) == ("ok", "went\n"), done
        date.jump(0)
        assert a.ask(request="run", session=session, language="python", code="1")["ok"]["status"] == "ok"
        assert a.ask(request="session.end", session=session)["ok"]["why"] == "ended"
    assert keeper.end() == 0
    assert len(set(years(keeper))) > 2  # it did jump
    status, report = verify(cli, keeper)
    assert status == 0 and report["whole"], report


def test_keys_go_by_the_date(gates, spec, date):  # noqa: F811
    keeper = gates(tenants={"a": spec})
    key = keeper.key("a", "--expires", "10h")
    with keeper.gate() as gate:
        gate.identify(key=key)
        assert "ok" in gate.ask(request="session.list")
        date.jump(DAY)
        assert gate.ask(request="session.list")["error"]["kind"] == "unauthorized"
        assert gate.identify(key=key)["error"]["kind"] == "unauthorized"
        date.jump(0)
        assert "ok" in gate.identify(key=key)
        assert "ok" in gate.ask(request="session.list")
    assert json.loads(keeper.cli("key", "list", "--json", "--state", keeper.state).stdout)["keys"]
