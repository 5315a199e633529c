"""What the keeper tells of all that happens: `metrics` and `events`."""
import json
import re
import time

import pytest
from conftest import PATIENCE
import wire
from test_gate import gates, run, spec  # noqa: F401 (fixtures)
from wire import Wire


@pytest.fixture
def keeper(gates, spec):
    return gates(tenants={"a": spec, "b": spec, "boss": dict(spec, operator=True)})


def metrics(connection):
    """{line's name and labels: value}, after checking the form."""
    text = connection.ask(request="metrics")["ok"]["text"]
    told, kinds = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in kinds and kind in ("counter", "gauge", "histogram")
            kinds[name] = kind
        elif not line.startswith("# HELP "):
            found = re.fullmatch(r'([a-z_]+)(\{[a-z_]+="[^"\\]*"(?:,[a-z_]+="[^"\\]*")*\})? (\S+)', line)
            assert found, line
            assert re.sub("_(bucket|sum|count)$", "", found[1]) in kinds or found[1] in kinds, line
            told[found[1] + (found[2] or "")] = float(found[3])
    return told


def test_counters(keeper, spec):
    with keeper.tenant("a") as a, keeper.tenant("boss") as boss, Wire(keeper) as client:
        run(a, spec)
        run(a, spec, "1/0")
        run(a, spec, root="/")
        a.ask(request="identify", key="none")
        session = a.ask(request="session.start", spec=spec)["ok"]["session"]
        told = metrics(boss)
        assert told['snapcell_results_total{status="ok"}'] == told['snapcell_results_total{status="error"}'] == 1
        assert told['snapcell_refused_total{kind="forbidden"}'] == told['snapcell_refused_total{kind="unauthorized"}'] == 1
        starts = [told['snapcell_starts_total{start="%s"}' % x] for x in ("warm", "fork", "cold")]
        assert sum(starts) == 2
        for kind, count in zip(("warm", "fork", "cold"), starts):
            assert told['snapcell_start_seconds_bucket{start="%s",le="+Inf"}' % kind] == count
            assert told['snapcell_start_seconds_count{start="%s"}' % kind] == count
        assert told['snapcell_start_seconds_sum{start="cold"}'] > 0
        assert told["snapcell_queue_seconds_count"] == 2
        assert told["snapcell_sessions"] >= 1 and told["snapcell_descriptors"] > 10
        assert told["snapcell_audit_lost_total"] == 0 and told["snapcell_state_broken"] == 0
        # Those of the two runs may just be on their way out.
        assert 1 <= told['snapcell_tenant_cells{tenant="a"}'] <= 3
        assert told['snapcell_tenant_results_total{tenant="a"}'] == 2
        a.ask(request="session.end", session=session)
        end = time.monotonic() + PATIENCE
        while metrics(client)['snapcell_tenant_cells{tenant="a"}'] != 0:
            assert time.monotonic() < end


def test_memory_of_cells(keeper, cli, spec):
    if "memory" in spec.get("allow_degraded", []):
        return  # no group counts it here; that it is 0 then is held below
    with keeper.tenant("a") as a, Wire(keeper) as client:
        session = a.ask(request="session.start", spec=spec)["ok"]["session"]
        # A run's answer shows that the cell is in its group; it still holds its interpreter then.
        assert a.ask(request="run", session=session, language="python", code="x = 'x' * 10000000")["ok"]["status"] == "ok"
        told = metrics(client)
        assert 10000000 < told["snapcell_cell_memory_bytes_mean"] <= told["snapcell_cell_memory_bytes_largest"]
        assert told["snapcell_cell_memory_bytes_largest"] <= told["snapcell_cells_memory_bytes"]


def test_denials_by_rule(keeper, spec):
    with keeper.tenant("a") as a, Wire(keeper) as client:
        run(a, spec, "import ctypes; ctypes.CDLL(None).unshare(0x10000000)")
        told = {k: v for k, v in metrics(client).items() if k.startswith("snapcell_denials_total{") and '"unshare"' in k}
        assert list(told.values()) == [1], told


def test_a_tenant_sees_its_own_figures_only(keeper, spec):
    with keeper.tenant("a") as a, keeper.tenant("b") as b:
        run(a, spec)
        told = metrics(b)
        assert told and all(x.startswith("snapcell_tenant_") and 'tenant="b"' in x for x in told)
        assert metrics(a)['snapcell_tenant_results_total{tenant="a"}'] == 1


def test_a_broken_file_of_the_state_is_told(keeper):
    with keeper.tenant("a") as a, Wire(keeper) as client:
        keeper.write_tenants({"a": {"cells": "x"}})
        a.ask(request="identify", key="x")
        assert metrics(client)["snapcell_state_broken"] == 1


# ---- events ----

def watch(connection):
    channel = connection.begin(request="events")
    assert connection.await_event(channel, "started") == {}
    return channel


def events(connection, channel, count):
    """The next so many."""
    lines = b""
    while lines.count(b"\n") < count:
        kind, about, payload = connection.frame()
        if about == channel:
            assert kind == wire.OUTPUT, payload
            lines += payload[8:]
    return [json.loads(x) for x in lines.splitlines()]


def test_events(keeper, spec):
    with keeper.tenant("a") as a, keeper.tenant("b") as b, keeper.tenant("boss") as boss, \
            keeper.tenant("a") as mine, keeper.tenant("b") as other:
        own, theirs, all_of_them = watch(mine), watch(other), watch(boss)
        session = a.ask(request="session.start", spec=spec)["ok"]["session"]
        a.ask(request="run", session=session, language="python", code="1")
        a.ask(request="session.end", session=session)
        run(b, spec)
        expected = [("session.start", "a"), ("run", "a"), ("session.end", "a"), ("run", "b")]
        assert [(x["event"], x["who"]["tenant"]) for x in events(boss, all_of_them, 4)] == expected
        assert [(x["event"], x["who"]["tenant"]) for x in events(mine, own, 3)] == expected[:3]
        mine.send(wire.frame(wire.CANCEL, own))
        reply, streams = mine.finish(own)
        assert reply == {"ok": {}} and streams == {}
        # The other tenant saw its own run and nothing before it.
        assert [x["event"] for x in events(other, theirs, 1)] == ["run"]


def test_the_channel_of_a_watcher_is_taken(keeper):
    with keeper.tenant("a") as a:
        channel = watch(a)
        a.send(wire.request(channel, {"request": "session.list", "as": a.token}))
        assert a.hung_up()


def test_the_end_is_told_to_who_watches(keeper):
    with Wire(keeper) as client:
        channel = watch(client)
        assert keeper.end() == 0
        assert client.finish(channel)[0]["error"]["kind"] == "ended"


def test_events_without_a_gate(keepers, cli, spec):
    plain = keepers()
    with Wire(plain) as client, Wire(plain) as watcher:
        channel = watch(watcher)
        run(client, spec)
        assert events(watcher, channel, 1)[0]["status"] == "ok"
        assert metrics(client)['snapcell_results_total{status="ok"}'] == 1


def test_a_watcher_that_does_not_read_is_told_what_it_missed(keeper):
    """More than a MiB of lines, and what the sockets hold."""
    with keeper.tenant("a") as a, Wire(keeper) as watcher:
        channel = watch(watcher)
        for _ in range(16000):
            assert run(a, {}, root="/")["error"]["kind"] == "forbidden"
        watcher.sock.settimeout(5)
        told = 0
        try:
            while True:
                told += len(events(watcher, channel, 1))
        except TimeoutError:
            watcher.sock.settimeout(60)
        assert 1000 < told < 16000
        run(a, {}, root="/")
        assert events(watcher, channel, 2)[0] == {"event": "missed", "count": 16000 - told}
