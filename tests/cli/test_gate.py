"""The keeper against a gate: what a connection of its kind may say, and whom it speaks for."""
import json
import os
import socket
import stat
import struct
import subprocess
import time

import pytest
import wire
from conftest import PATIENCE
from gate import HELLO_GATE, PEER, GateKeeper, GateWire
from wire import Wire

NOBODY = {"kind": "unauthorized", "field": "", "message": "the key is not valid"}


@pytest.fixture
def gates(cli, tmp_path):
    """Makes keepers with a door."""
    made = []

    def make(*options, **more):
        folder = tmp_path / ("gate%d" % len(made))
        folder.mkdir(mode=0o700)
        made.append(GateKeeper(cli, str(folder), *options, **more))
        return made[-1]

    yield make
    for keeper in made:
        assert keeper.end() in (0, -9)


@pytest.fixture
def keeper(gates, cli):
    accept = cli.accept[1].split(",") if cli.accept else []
    return gates(tenants={"a": {"allow_degraded": accept}, "b": {"allow_degraded": accept}})


@pytest.fixture
def spec(cli):
    """What has to be accepted here."""
    return {"allow_degraded": cli.accept[1].split(",")} if cli.accept else {}


def run(gate, spec, code="print(6*7)", **more):
    return gate.ask(request="once", output="reply",
                    spec=dict(spec, language="python", mode="rich", code=code, **more))


# ---- the kinds of connection ----

def test_each_kind_has_its_own_hello(keeper):
    with keeper.gate(greet=False) as gate:
        gate.send(wire.hello())
        assert gate.hung_up()
    with Wire(keeper, greet=False) as client:
        client.send(wire.frame(HELLO_GATE, 0, struct.pack("<II", wire.MAGIC, wire.VERSION)))
        assert client.hung_up()
    with keeper.gate() as gate:
        gate.send(wire.frame(HELLO_GATE, 0, struct.pack("<II", wire.MAGIC, wire.VERSION)))
        assert gate.hung_up()


def test_a_client_can_not_speak_for_others(keeper):
    with Wire(keeper) as client:
        error = client.ask(request="identify", key=keeper.key("a"))["error"]
        assert (error["kind"], error["field"]) == ("forbidden", "request")
        for field in ({"as": "0" * 32}, {"priority": 1}, {"deadline_ms": 5}):
            assert client.ask(request="session.list", **field)["error"]["kind"] == "usage"
        assert client.ask(request="session.list") == {"ok": {"sessions": []}}


def test_a_gate_says_for_whom(keeper):
    with keeper.gate() as gate:
        assert gate.ask(request="session.list")["error"] == NOBODY
        assert gate.ask(**{"request": "session.list", "as": "0" * 32})["error"] == NOBODY
        assert gate.ask(**{"request": "session.list", "as": "x"})["error"] == NOBODY
        ok = gate.identify(key=keeper.key("a"))["ok"]
        assert (ok["tenant"], ok["operator"], len(ok["token"])) == ("a", False, 32)
        assert gate.ask(request="session.list") == {"ok": {"sessions": []}}


def test_what_comes_wrongly_through_the_door_is_dropped(keeper):
    with socket.socket(socket.AF_INET) as inet, socket.socket(socket.AF_UNIX) as mine, open("/dev/null", "rb") as null:
        mine.bind("")
        mine.listen(1)
        for sock in (inet, mine, null):
            keeper.through_the_door(1, sock)
            keeper.through_the_door(PEER, sock)
        keeper.through_the_door(7, inet)
        socket.send_fds(keeper.door, [b"short"], [null.fileno()])
        socket.send_fds(keeper.door, [struct.pack("<I", 1) + b"\0" * 16], [null.fileno(), null.fileno()])
        keeper.door.send(struct.pack("<I", 1) + b"\0" * 16)
    with keeper.gate() as gate:
        assert gate.ask(request="session.list")["error"] == NOBODY
    assert keeper.child.poll() is None


def test_the_door_must_be_one(cli, tmp_path):
    ours, theirs = socket.socketpair()
    with ours, theirs, open("/dev/null", "rb") as null:
        for fd in (theirs.fileno(), null.fileno(), 999):
            done = cli("keeper", "--gate-fd", str(fd), "--state", str(tmp_path / "s"), "--socket", str(tmp_path / "d/k"),
                       pass_fds=[theirs.fileno(), null.fileno()])
            assert done.returncode == 2 and b"gate-fd" in done.stderr
    for text in ("0", "x", "-1"):
        assert cli("keeper", "--gate-fd", text).returncode == 2


# ---- keys ----

def test_a_key_is_shown_once_and_kept_as_a_hash(keeper):
    key = keeper.key("a", "--note", "for tests")
    assert key.startswith("sck_") and len(key) == 85
    path = os.path.join(keeper.state, "keys.json")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with open(path, encoding="utf-8") as f:
        text = f.read()
    assert key.rsplit("_", 1)[1] not in text
    listed = json.loads(keeper.cli("key", "list", "--json", "--state", keeper.state).stdout)["keys"]
    assert [(x["tenant"], x["note"]) for x in listed] == [("a", "for tests")] and listed[0]["id"] in key
    assert b"for tests" in keeper.cli("key", "list", "--state", keeper.state).stdout


def test_wrong_keys_get_one_answer(keeper):
    key = keeper.key("a")
    with keeper.gate() as gate:
        for wrong in (key[:-1] + ("0" if key[-1] != "0" else "1"), key[:-1], key + "0", "", "x" * 128,
                      "sck_" + "0" * 16 + "_" + "0" * 64):
            assert gate.identify(key=wrong)["error"] == NOBODY
        assert gate.identify(key="x" * 129)["error"]["kind"] == "usage"
        assert gate.identify(key=key)["ok"]["tenant"] == "a"


def test_a_revoked_key_is_refused(keeper):
    key, other = keeper.key("a"), keeper.key("a")
    with keeper.gate() as gate, keeper.gate() as kept:
        gate.identify(key=key)
        kept.identify(key=other)
        assert keeper.cli("key", "revoke", key.split("_")[1], "--state", keeper.state).returncode == 0
        end = time.monotonic() + PATIENCE
        while gate.ask(request="session.list").get("error") != NOBODY:
            assert time.monotonic() < end
        assert gate.identify(key=key)["error"] == NOBODY
        assert "ok" in kept.ask(request="session.list")
    done = keeper.cli("key", "revoke", "0" * 16, "--state", keeper.state)
    assert done.returncode == 2 and b"none of this id" in done.stderr


def test_a_key_expires(keeper):
    key = keeper.key("a", "--expires", "6s")
    with keeper.gate() as gate:
        assert "ok" in gate.identify(key=key)
        end = time.monotonic() + PATIENCE
        while gate.ask(request="session.list").get("error") != NOBODY:
            assert time.monotonic() < end
            time.sleep(0.05)


def test_one_key_one_token(keeper):
    key = keeper.key("a")
    with keeper.gate() as one, keeper.gate() as other:
        first = one.identify(key=key)["ok"]["token"]
        assert other.identify(key=key)["ok"]["token"] == first
        assert other.identify(key=keeper.key("a"))["ok"]["token"] != first


@pytest.mark.parametrize("options", [[], ["--tenant", "a/b"], ["--tenant", ""], ["--tenant", "a", "--expires", "never"],
                                     ["--tenant", "a", "--note", "x" * 201], ["--tenant", "a", "more"]])
def test_key_add_is_checked(usage, tmp_path, options):
    done = usage("key", "add", "--state", str(tmp_path / "state"), *options)
    assert (done.returncode, done.stdout) == (2, b"")
    assert usage("key", "add", "--state", str(tmp_path / "state"), "--tenant", "a").returncode == 0


def test_the_state_folder_is_ones_own(usage, tmp_path):
    (tmp_path / "open").mkdir()
    os.chmod(tmp_path / "open", 0o750)
    done = usage("key", "list", "--state", str(tmp_path / "open"))
    assert done.returncode == 2 and b"must be 0700" in done.stderr
    os.chmod(tmp_path / "open", 0o700)
    assert usage("key", "list", "--state", str(tmp_path / "open")).returncode == 0


@pytest.mark.parametrize("text, words", [
    ("{", b"keys.json"), ('{"version": 2}', b"must be 1"), ('{"version": 1, "more": 1}', b"more"),
    ('{"version": 1, "keys": [{"id": "x"}]}', b"keys[0].id: must be 16 hexadecimal"),
    ('{"version": 1, "keys": [{"id": "0123456789abcdef"}]}', b"keys[0]: id, hash and tenant"),
])
def test_a_broken_keys_file_is_told(usage, tmp_path, text, words):
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (state / "keys.json").write_text(text)
    done = usage("key", "list", "--state", str(state))
    assert done.returncode == 2 and words in done.stderr, done.stderr


# ---- users at a unix socket ----

def test_a_peer_is_told_by_the_kernel(keeper):
    here, there = socket.socketpair()
    with here, there, keeper.gate() as gate:
        nonce = keeper.show_peer(here)
        assert gate.identify(peer=nonce)["ok"]["tenant"] == "uid-%d" % os.geteuid()
        assert gate.identify(peer=nonce)["error"] == NOBODY
        assert gate.identify(peer="0" * 32)["error"] == NOBODY
        assert gate.identify(peer="no nonce")["error"] == NOBODY
        token = gate.identify(peer=keeper.show_peer(there))["ok"]["token"]
        assert gate.identify(peer=keeper.show_peer(here))["ok"]["token"] == token


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_is_another_tenant(keeper, tmp_path):
    folder = tmp_path / "sock"
    folder.mkdir()
    path = str(folder / "s")
    for above in [folder, tmp_path, *list(tmp_path.parents)[:-2]]:
        os.chmod(above, stat.S_IMODE(os.stat(above).st_mode) | 0o011)
    with socket.socket(socket.AF_UNIX) as listener, keeper.gate() as gate:
        listener.bind(path)
        os.chmod(path, 0o777)
        listener.listen()
        code = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\ns.recv(1)"
        child = subprocess.Popen(["/usr/bin/python3", "-c", code, path], user=65534)
        client, _ = listener.accept()
        with client:
            assert gate.identify(peer=keeper.show_peer(client))["ok"]["tenant"] == "uid-65534"
        assert child.wait(PATIENCE) == 0


# ---- tenants ----

def test_sessions_are_their_tenants(keeper, spec):
    with keeper.tenant("a") as a, keeper.tenant("b") as b, Wire(keeper) as owner:
        mine = a.ask(request="session.start", spec=spec, name="work")["ok"]["session"]
        told = b.ask(request="session.info", session="work")
        never = b.ask(request="session.info", session="never")
        assert told["error"]["kind"] == "not_found"
        assert told["error"]["message"] == never["error"]["message"].replace("never", "work")
        assert b.ask(request="session.list") == {"ok": {"sessions": []}}
        theirs = b.ask(request="session.start", spec=spec, name="work")["ok"]["session"]
        assert mine == theirs == "work"
        for word in ("run.interrupt", "context.list", "process.list", "session.end"):
            assert "ok" in b.ask(request=word, session="work")
        assert a.ask(request="session.info", session="work")["ok"]["tenant"] == "a"
        seen = owner.ask(request="session.list")["ok"]["sessions"]
        assert [x["tenant"] for x in seen] == ["a"]
        assert owner.ask(request="session.end", session="work")["ok"]["why"] == "ended"


def test_a_run_for_a_tenant(keeper, spec):
    with keeper.tenant("a") as a:
        assert run(a, spec)["ok"]["stdout"] == "42\n"


@pytest.mark.parametrize("field, value", [
    ("dirs", [{"host": "/etc", "path": "x"}]), ("root", "/"), ("venv", "/tmp"), ("interpreter", "/usr/bin/python3"),
    ("pin", "0"), ("cgroup_parent", "/x"), ("files", [{"path": "a", "content": ""}, {"path": "b", "host": "/etc/passwd"}]),
    ("validate", {"rules": ["/etc/passwd"]}), ("validate", {"rules": ["x.scm"]}),
])
def test_paths_of_the_host_are_forbidden(keeper, spec, field, value):
    names = {"files": "spec.files[1].host", "validate": "spec.validate.rules"}
    with keeper.tenant("a") as a:
        error = run(a, spec, **{field: value})["error"]
        assert (error["kind"], error["field"]) == ("forbidden", names.get(field, "spec." + field))
        error = a.ask(request="session.start", spec=dict(spec, **{field: value}))["error"]
        assert (error["kind"], error["field"]) == ("forbidden", names.get(field, "spec." + field))


def test_files_that_come_along_are_allowed(keeper, spec):
    with keeper.tenant("a") as a:
        got = run(a, spec, "print(open('a').read())", files=[{"path": "a", "content": "hello"}])
        assert got["ok"]["stdout"] == "hello\n"


def test_a_tenants_ceilings(gates, cli, spec):
    accept = spec.get("allow_degraded", [])
    keeper = gates(tenants={"t": {"templates": ["python"], "session_ms": 60000, "allow_degraded": accept}})
    with keeper.tenant("t") as t, keeper.tenant("other") as other:
        error = t.ask(request="session.start", spec=spec)["error"]
        assert (error["kind"], error["field"]) == ("forbidden", "spec.template")
        error = t.ask(request="session.start", spec=dict(spec, template="node"))["error"]
        assert (error["kind"], error["field"]) == ("forbidden", "spec.template")
        error = t.ask(request="session.start", spec=dict(spec, template="python"), total_ms=60001)["error"]
        assert (error["kind"], error["field"]) == ("forbidden", "total_ms")
        ok = t.ask(request="session.start", spec=dict(spec, template="python"), total_ms=60000)["ok"]
        assert t.ask(request="session.end", session=ok["session"])["ok"]["why"] == "ended"
        error = other.ask(request="session.start", spec={"allow_degraded": ["memory"]})["error"]
        assert (error["kind"], error["field"]) == ("forbidden", "spec.allow_degraded")


@pytest.mark.parametrize("row, words", [
    ({"cells": -1}, b"tenants.t.cells: -1: allowed are 0 to 1024"), ({"cells": 1.5}, b"whole number"),
    ({"cell": 1}, b"did you mean cells"), ({"templates": "x"}, b"tenants.t.templates"),
    ({"allow_degraded": ["everything"]}, b"tenants.t.allow_degraded[0]"), ({"network": 1}, b"tenants.t.network"),
])
def test_a_wrong_tenants_file_is_told(usage, cli, tmp_path, row, words):
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (state / "tenants.json").write_text(json.dumps({"version": 1, "tenants": {"t": row}}))
    done = usage("key", "list", "--state", str(state))
    assert done.returncode == 2 and words in done.stderr, done.stderr
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        done = cli("keeper", "--gate-fd", str(theirs.fileno()), "--state", str(state), "--socket", str(tmp_path / "d/k"),
                   pass_fds=[theirs.fileno()])
    assert done.returncode == 2 and words in done.stderr, done.stderr


def test_tenants_are_read_again(keeper):
    with keeper.tenant("c") as c:
        keeper.write_tenants({"c": {"templates": []}})
        end = time.monotonic() + PATIENCE
        nothing = {"allow_degraded": ["io"]}  # never allowed here; with no template allowed that is told first
        while c.ask(request="session.start", spec=dict(nothing, template="python"))["error"]["field"] != "spec.template":
            assert time.monotonic() < end
        keeper.write_tenants({"c": {"templates": 7}})  # stays as it was
        keeper.key("c")
        assert "error" in c.ask(request="identify", key="x")  # looks at the files
        assert c.ask(request="session.start", spec={"template": "python"})["error"]["field"] == "spec.template"


# ---- when one of the two dies ----

def test_a_gate_that_dies_loses_no_session(keeper, spec):
    key = keeper.key("a")
    gate = keeper.gate()
    gate.identify(key=key)
    session = gate.ask(request="session.start", spec=spec)["ok"]["session"]
    assert gate.ask(request="run", session=session, language="python", code="x = 5")["ok"]["status"] == "ok"
    gate.close()
    with keeper.gate() as again:
        again.identify(key=key)
        got = again.ask(request="run", session=session, language="python", code="print(x)", output="reply")
        assert got["ok"]["stdout"] == "5\n"


def test_many_connections_of_a_gate(keeper):
    made = []
    try:
        for _ in range(256):
            made.append(keeper.gate())
        with keeper.gate(greet=False) as more:
            assert more.frame()[0] == wire.REPLY and more.hung_up()
        with Wire(keeper) as client:
            assert "ok" in client.ask(request="session.list")
    finally:
        for gate in made:
            gate.close()
