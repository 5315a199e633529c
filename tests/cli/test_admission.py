"""Turns: what waits, what is refused, and that no tenant takes another's share."""
import time

import pytest
from conftest import PATIENCE
from test_gate import gates, run, spec  # noqa: F401 (fixtures)
from wire import Wire

WAIT = "import os,time\nwhile not os.path.exists('go'): time.sleep(0.01)"


@pytest.fixture
def serve(gates, spec):
    """Serves with rows of tenants, each with what has to be accepted here."""
    def make(*options, **tenants):
        rows = {name: dict(row, **spec) for name, row in tenants.items()}
        return gates(*options, tenants=rows)
    return make


def begin(gate, spec, code, **more):
    limits = more.pop("limits", {})
    wanted = dict(spec, language="python", mode="rich", code=code, limits=dict({"wall_ms": 60000}, **limits))
    return gate.begin(request="once", output="reply", spec=wanted, **more)


def refused(reply, kind):
    error = reply["error"]
    assert error["kind"] == kind, error
    assert 20 <= error["retry_after_ms"] <= 60000
    return error


def hold(gate, spec, **more):
    """A session, which is a cell that stays. Its name."""
    reply = gate.ask(request="session.start", spec=dict(spec, **more))
    assert "ok" in reply, reply
    return reply["ok"]["session"]


def end(gate, session):
    assert "ok" in gate.ask(request="session.end", session=session)


# ---- a tenant's own bounds ----

def test_cells(serve, spec):
    keeper = serve(t={"cells": 2, "queued": 0}, u={"cells": 1})
    with keeper.tenant("t") as t, keeper.tenant("u") as u:
        first, second = hold(t, spec), hold(t, spec)
        refused(t.ask(request="session.start", spec=spec), "too_many")
        refused(run(t, spec), "too_many")
        assert run(u, spec)["ok"]["stdout"] == "42\n"  # somebody else has room
        end(t, first)
        assert run(t, spec)["ok"]["stdout"] == "42\n"
        end(t, second)


def test_what_waits_has_its_turn(serve, spec):
    keeper = serve(t={"cells": 1})
    with keeper.tenant("t") as t:
        session = hold(t, spec)
        waiting = begin(t, spec, "print(1)")
        assert "ok" in t.ask(request="session.list")  # others go on
        end(t, session)
        result = t.finish(waiting)[0]["ok"]
        assert result["stdout"] == "1\n" and result["usage"]["queue_ms"] > 0


@pytest.mark.parametrize("field, quota, limits", [
    ("memory_bytes", {"memory_bytes": 200 << 20}, {"memory_bytes": 128 << 20}),
    ("disk_bytes", {"disk_bytes": 3 << 20}, {"disk_bytes": 2 << 20}),
    ("cpus", {"cpus": 0.75}, {"cpus": 0.5}),
])
def test_sums_of_limits(serve, spec, field, quota, limits):
    keeper = serve(t=dict(quota, queued=0))
    with keeper.tenant("t") as t:
        more = {field: limits[field] * 2}
        error = t.ask(request="session.start", spec=dict(spec, limits=more))["error"]
        assert (error["kind"], error["field"]) == ("forbidden", "spec.limits." + field)
        session = hold(t, spec, limits=limits)
        refused(t.ask(request="session.start", spec=dict(spec, limits=limits)), "too_many")
        end(t, session)
        end(t, hold(t, spec, limits=limits))


def test_no_cells_at_all(serve, spec):
    with serve(t={"cells": 0}).tenant("t") as t:
        assert run(t, spec)["error"]["kind"] == "forbidden"


def test_rate(serve):
    keeper = serve(t={"requests_per_s": 0.2, "burst": 3})
    with keeper.tenant("t") as t, keeper.tenant("u") as u:
        replies = [t.ask(request="session.list") for _ in range(4)]
        assert all("ok" in x for x in replies[:3])
        assert refused(replies[3], "too_many")["retry_after_ms"] <= 5001
        assert "ok" in u.ask(request="session.list")
        until = time.monotonic() + PATIENCE
        while "error" in t.ask(request="session.list"):
            assert time.monotonic() < until
            time.sleep(0.1)


def test_the_queue_of_a_tenant_is_bounded(serve, spec):
    keeper = serve(t={"cells": 1, "queued": 2})
    with keeper.tenant("t") as t:
        session = hold(t, spec)
        waiting = [begin(t, spec, "print(1)"), begin(t, spec, "print(2)")]
        refused(run(t, spec), "too_many")
        end(t, session)
        assert [x[0]["ok"]["stdout"] for x in t.finish_all(waiting).values()] == ["1\n", "2\n"]


def test_the_keepers_queue_is_bounded(serve, spec):
    keeper = serve("--queue", "2", "--running", "1", t={"cells": 1}, u={})
    with keeper.tenant("t") as t, keeper.tenant("u") as u:
        session = hold(t, spec)
        waiting = [begin(t, spec, "print(1)") for _ in range(2)]
        assert refused(run(t, spec), "overloaded")["retry_after_ms"] == 1000
        assert "ok" in u.ask(request="session.list")
        end(t, session)
        for reply, _ in t.finish_all(waiting).values():
            assert reply["ok"]["status"] == "ok"


# ---- order ----

def test_priority(serve, spec):
    keeper = serve(t={"cells": 1})
    with keeper.tenant("t") as t:
        session = hold(t, spec)
        order = {begin(t, spec, "print(1)", priority=x): x for x in (1, 5, 9)}
        order[begin(t, spec, "print(1)", priority=5)] = 5.5
        end(t, session)
        done = []
        while len(done) < 4:
            kind, channel, _ = t.frame()
            if kind == 67:
                done.append(order[channel])
        assert done == [9, 5, 5.5, 1]


def test_a_deadline(serve, spec):
    keeper = serve(t={"cells": 1})
    with keeper.tenant("t") as t:
        session = hold(t, spec)
        error = refused(t.finish(begin(t, spec, "print(1)", deadline_ms=50))[0], "overloaded")
        assert "deadline" in error["message"]
        patient = begin(t, spec, "print(1)", deadline_ms=3600000)
        end(t, session)
        assert t.finish(patient)[0]["ok"]["stdout"] == "1\n"
        for wrong in (0, 3600001, "1"):
            assert t.ask(request="session.list", deadline_ms=wrong)["error"]["field"] == "deadline_ms"
        assert t.ask(request="session.list", priority=10)["error"]["field"] == "priority"


def test_what_waits_can_be_cancelled(serve, spec):
    import wire
    keeper = serve(t={"cells": 1})
    with keeper.tenant("t") as t:
        session = hold(t, spec)
        waiting = begin(t, spec, "print(1)")
        t.send(wire.frame(wire.CANCEL, waiting))
        assert t.finish(waiting)[0]["error"]["kind"] == "ended"
        end(t, session)
        assert run(t, spec)["ok"]["stdout"] == "42\n"


def test_who_goes_takes_what_waits_along(serve, spec):
    keeper = serve(t={"cells": 1, "queued": 1})
    with keeper.tenant("t") as t:
        session = hold(t, spec)
        with keeper.tenant("t") as other:
            begin(other, spec, "print(1)")
            assert "ok" in other.ask(request="session.list")
        until = time.monotonic() + PATIENCE
        while True:  # its place in the queue is free again
            waiting = begin(t, spec, "print(2)", deadline_ms=1)
            if t.finish(waiting)[0]["error"]["kind"] == "overloaded":
                break
            assert time.monotonic() < until
        end(t, session)


def test_the_end_is_told_to_what_waits(serve, spec):
    keeper = serve(t={"cells": 1})
    with keeper.tenant("t") as t:
        hold(t, spec)
        waiting = begin(t, spec, "print(1)")
        assert "ok" in t.ask(request="session.list")
        assert keeper.end() == 0
        assert t.finish(waiting)[0]["error"]["kind"] == "ended"


# ---- shares ----

def test_turns_are_shared_by_weight(serve, spec):
    """One slot, two tenants with a crowd each: the heavy one gets about three times as many turns."""
    keeper = serve("--running", "1", "--pool", "0", heavy={"weight": 3, "queued": 200}, light={"queued": 200},
                   other={})
    with keeper.tenant("heavy") as heavy, keeper.tenant("light") as light, keeper.tenant("other") as first:
        blocker = begin(first, spec, "import time; time.sleep(1)")
        both = {"heavy": (heavy, {begin(heavy, spec, "1") for _ in range(60)}),
                "light": (light, {begin(light, spec, "1") for _ in range(60)})}
        assert first.finish(blocker)[0]["ok"]["status"] == "ok"
        done = {name: 0 for name in both}
        while done["heavy"] < 40:
            kind, _, _ = heavy.frame()
            done["heavy"] += kind == 67
        light.sock.settimeout(0.01)
        try:
            while True:
                done["light"] += light.frame()[0] == 67
        except TimeoutError:
            pass
        assert 4 <= done["light"] <= 28, done


def test_a_crowd_does_not_keep_another_tenant_out(serve, spec):
    """A hostile tenant fills all slots and its queue with endless runs; the other one still gets its turns."""
    keeper = serve("--running", "2", hostile={"queued": 500}, good={})
    with keeper.tenant("hostile") as hostile, keeper.tenant("good") as good:
        for _ in range(100):
            begin(hostile, spec, "while True: pass", limits={"wall_ms": 300})
        for _ in range(3):
            assert run(good, spec)["ok"]["stdout"] == "42\n"
        hostile.sock.settimeout(0.01)
        done = 0
        try:
            while True:
                done += hostile.frame()[0] == 67
        except TimeoutError:
            pass
        assert done < 50  # most of the crowd still waits


def test_parked_cells_are_not_taken_by_another(serve, spec):
    """A tenant that asks for ever new shapes does not push another's warm cells out."""
    keeper = serve("--pool", "4", hostile={}, good={})
    def until_warm():
        end = time.monotonic() + PATIENCE
        while run(good, spec)["ok"]["start"]["kind"] != "warm":
            assert time.monotonic() < end
            time.sleep(0.05)

    with keeper.tenant("hostile") as hostile, keeper.tenant("good") as good:
        until_warm()
        end = time.monotonic() + PATIENCE
        with Wire(keeper) as owner:  # made anew
            while "\nsnapcell_parked_cells 0\n" in owner.ask(request="metrics")["ok"]["text"]:
                assert time.monotonic() < end
        began = time.monotonic()
        for i in range(40):
            assert "ok" in run(hostile, spec, "1", limits={"tasks": 40 + i})
        took_ms = (time.monotonic() - began) * 1000
        start = run(good, spec)["ok"]["start"]
        # It waited all the while but for its own start, and was not made meanwhile.
        assert start["kind"] == "warm" and start["parked_ms"] > took_ms / 2


# ---- pressure ----

def test_a_pressed_machine_lets_one_at_a_time(serve, spec):
    keeper = serve("--min-free", "100", t={})
    with keeper.tenant("t") as t:
        assert run(t, spec)["ok"]["stdout"] == "42\n"
        long = begin(t, spec, "import time; time.sleep(2)")
        assert refused(t.finish(begin(t, spec, "1", deadline_ms=100))[0], "overloaded")
        waiting = begin(t, spec, "print(2)")
        got = t.finish_all([long, waiting])
        assert got[long][0]["ok"]["status"] == "ok"  # waiting harms no verdict
        assert got[waiting][0]["ok"]["stdout"] == "2\n"


@pytest.mark.parametrize("option, value", [("--running", "0"), ("--running", "1025"), ("--queue", "-1"),
                                           ("--min-free", "101"), ("--max-load", "x")])
def test_options_are_checked(usage, option, value):
    done = usage("keeper", option, value)
    assert done.returncode == 2 and option[2:].encode() in done.stderr
