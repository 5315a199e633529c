"""The audit stream: what stands in it, that it is whole, and what happens when it can not be written."""
import glob
import hashlib
import json
import os
import resource
import signal
import subprocess

import pytest
from test_gate import gates, keeper, run, spec  # noqa: F401 (fixtures)
from wire import Wire

SECRET = "very-secret-4711"


def files(keeper):
    folder = os.path.join(keeper.state, "audit")
    return sorted(glob.glob(folder + "/audit-*.jsonl")) + [folder + "/audit.jsonl"]


def lines(keeper):
    return [line for name in files(keeper) for line in open(name, "rb").read().splitlines()]


def records(keeper, event=None):
    return [x for x in map(json.loads, lines(keeper)) if event in (None, x["event"])]


def verify(cli, keeper, *options):
    done = cli("audit", "verify", "--json", "--state", keeper.state, *options)
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


# ---- what stands in it ----

def test_a_run(keeper, spec):
    key = keeper.key("a")
    with keeper.gate() as gate:
        gate.identify(key=key)
        code = "import os; print(os.environ['TOKEN'])"
        got = run(gate, spec, code, env={"TOKEN": SECRET}, stdin=SECRET, files=[{"path": "f", "content": SECRET}])
        assert got["ok"]["stdout"] == SECRET + "\n"
        run(gate, spec, code, env={"TOKEN": "another"})
        run(gate, spec, "raise SystemExit(3)")
        run(gate, spec, "while True: pass", limits={"wall_ms": 100})
    first, second, failed, late = records(keeper, "run")
    assert first["who"] == {"tenant": "a", "key": key.split("_")[1]}
    assert (first["request"], first["status"], first["network"]) == ("once", "ok", "none")
    assert first["code"] == second["code"] == hashlib.sha256(code.encode()).hexdigest()
    assert first["spec"] != second["spec"]  # the file
    assert first["limits"]["memory_bytes"] > 0 and first["usage"]["wall_ms"] > 0
    assert (failed["status"], failed["exit_code"], late["status"]) == ("error", 3, "timeout")
    everything = b"".join(lines(keeper))
    assert SECRET.encode() not in everything and key.rsplit("_", 1)[1].encode() not in everything


def test_denials(keeper, spec):
    with keeper.tenant("a") as a:
        run(a, spec, "import os\ntry: os.unshare(0x10000000)\nexcept (OSError, AttributeError): pass\n"
                     "import ctypes; ctypes.CDLL(None).unshare(0x10000000)")
    denials = records(keeper, "run")[0]["denials"]
    assert any(x["action"] == "unshare" and x["count"] >= 1 for x in denials), denials


def test_a_session(keeper, spec):
    with keeper.tenant("a") as a:
        session = a.ask(request="session.start", spec=dict(spec, env={"TOKEN": SECRET}))["ok"]["session"]
        a.ask(request="run", session=session, language="python", code="1/0")
        a.ask(request="exec", session=session, command=["/bin/echo", SECRET])
        channel = a.begin(request="file.write", session=session, path="x/y")
        a.finish(channel)
        a.ask(request="file.list", session=session, path=".")
        a.ask(request="session.end", session=session)
    started, ran, executed, wrote, ended = records(keeper)[1:]
    assert [x["event"] for x in (started, ran, executed, wrote, ended)] == ["session.start", "run", "run", "file", "session.end"]
    assert all(x["session"] == session and x["who"]["tenant"] == "a" for x in (started, ran, executed, wrote, ended))
    assert ran["spec"] == started["spec"] and ran["code"] == hashlib.sha256(b"1/0").hexdigest()
    assert (ran["status"], executed["request"], executed["status"]) == ("error", "exec", "ok")
    assert (wrote["request"], wrote["path"], wrote["outcome"]) == ("file.write", "x/y", "file")
    assert ended["why"] == "ended"
    assert SECRET.encode() not in b"".join(lines(keeper))


def test_refusals(keeper, spec):
    with keeper.tenant("a") as a:
        run(a, spec, root="/")
        key = keeper.key("a")
        a.ask(request="identify", key=key[:-4] + "xxxx")
        a.ask(**{"request": "session.list", "as": "0" * 32})
    refused = records(keeper, "forbidden")
    assert [(x["who"]["tenant"], x["request"], x["field"]) for x in refused] == [("a", "once", "spec.root")]
    assert [x["count"] for x in records(keeper, "unauthorized")] == [1]  # the second one is told with the next
    assert key[:-4].encode() not in b"".join(lines(keeper))


def test_the_keepers_own_user_is_told_too(keeper, cli, spec):
    with Wire(keeper) as client:
        run(client, spec)
    assert records(keeper, "run")[0]["who"] == {"uid": os.geteuid()}


def test_a_run_that_nobody_waits_for(keeper, spec):
    with keeper.tenant("a") as a:
        a.begin(request="once", spec=dict(spec, language="python", mode="rich", code="import time; time.sleep(50)"))
        assert "ok" in a.ask(request="session.list")
    assert keeper.end() == 0
    assert [x.get("status", x.get("outcome")) for x in records(keeper, "run")] in (["cancelled"], ["unanswered"])


# ---- the chain ----

def test_it_is_whole(keeper, cli, spec):
    with keeper.tenant("a") as a:
        for _ in range(3):
            run(a, spec, "1")
        assert keeper.end() == 0
    status, report = verify(cli, keeper)
    told = lines(keeper)
    assert status == 0 and report["whole"] and report["records"] == report["last"] == len(told) == 5
    assert report["head"] == hashlib.sha256(told[-1]).hexdigest()
    assert json.loads(told[0])["prev"] == "0" * 64
    for before, after in zip(told, told[1:]):
        assert json.loads(after)["prev"] == hashlib.sha256(before).hexdigest()
    assert oct(os.stat(files(keeper)[-1]).st_mode & 0o777) == "0o600"


def change(text):
    return text.replace(b'"status":"error"', b'"status":"ok"', 1)


def swap(text):
    told = text.splitlines(keepends=True)
    return b"".join([told[0], told[2], told[1], *told[3:]])


@pytest.mark.parametrize("harm, words", [
    (change, "line 3: its prev"), (swap, "line 2: its number"), (lambda x: x[:-5], "half a line"),
    (lambda x: b"".join(x.splitlines(keepends=True)[:1] + x.splitlines(keepends=True)[2:]), "line 2: its number"),
    (lambda x: x + b"{}\n", "seq or prev is missing"), (lambda x: x + b"garbage\n", "no JSON"),
])
def test_changes_are_found(keeper, cli, spec, harm, words):
    with keeper.tenant("a") as a:
        run(a, spec, "1/0")
        run(a, spec, "1")
        assert keeper.end() == 0
    assert verify(cli, keeper)[0] == 0
    name = files(keeper)[-1]
    with open(name, "rb") as f:
        text = f.read()
    with open(name, "wb") as f:
        f.write(harm(text))
    status, report = verify(cli, keeper)
    assert status == 1 and words in report["broken"], report


def test_an_end_that_was_cut_off_is_found_by_what_was_told_before(keeper, cli, spec):
    with keeper.tenant("a") as a:
        run(a, spec, "1")
        assert keeper.end() == 0
    report = verify(cli, keeper)[1]
    anchor = "%d:%s" % (report["last"], report["head"])
    assert verify(cli, keeper, "--expect", anchor)[0] == 0
    name = files(keeper)[-1]
    with open(name, "rb") as f:
        told = f.read().splitlines(keepends=True)
    with open(name, "wb") as f:
        f.write(b"".join(told[:-1]))
    assert verify(cli, keeper)[0] == 0  # whole as far as it goes
    assert verify(cli, keeper, "--expect", anchor)[0] == 1
    for wrong in ("x", "0:" + "0" * 64, "1:" + "0" * 63, "1"):
        assert verify(cli, keeper, "--expect", wrong)[0] == 2


def test_it_goes_on_after_a_kill(gates, cli, spec):
    first = gates(tenants={"a": spec})
    with first.tenant("a") as a:
        run(a, spec, "1")
    first.child.kill()
    first.child.wait()
    with open(files(first)[-1], "ab") as f:
        f.write(b'{"seq":3,"half a li')
    second = gates(state=first.state)
    with second.tenant("a") as a:
        run(a, spec, "1")
    assert second.end() == 0
    status, report = verify(cli, second)
    assert (status, report["records"]) == (0, 5), report


def test_files_are_put_aside(gates, cli, spec):
    keeper = gates("--audit-size", "4K", tenants={"a": spec})
    with keeper.tenant("a") as a:
        for _ in range(20):
            run(a, spec, "1")
    names = files(keeper)
    assert len(names) > 4 and all(os.path.getsize(x) <= 4096 for x in names)
    assert keeper.end() == 0
    assert verify(cli, keeper)[1]["records"] == 22
    again = gates("--audit-size", "4K", state=keeper.state)
    assert again.end() == 0
    assert verify(cli, keeper)[1]["records"] == 24
    os.unlink(names[0])  # moved to another place by the operator
    status, report = verify(cli, keeper)
    assert status == 0 and report["first"] > 1
    os.unlink(files(keeper)[1])
    assert verify(cli, keeper)[0] == 1


def test_one_writer_at_a_time(keeper, cli, tmp_path):
    import socket
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        done = cli("keeper", "--gate-fd", str(theirs.fileno()), "--state", keeper.state, "--socket", str(tmp_path / "o/k"),
                   pass_fds=[theirs.fileno()])
    assert done.returncode == 2 and b"another keeper uses this folder" in done.stderr


# ---- when it can not be written ----

def full_after(size):
    """Before the keeper starts: no file of its may grow beyond; writing more is an error and no signal."""
    def before():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    return {"preexec_fn": before, "restore_signals": False}


def make_room(keeper):
    subprocess.run(["prlimit", "--pid", str(keeper.child.pid), "--fsize=unlimited:unlimited"], check=True)


def fill(gate, spec):
    """Until records can not be written any more; refused requests leave one each, and need no file of a cell's."""
    for _ in range(40):
        run(gate, spec, root="/")


def test_what_could_not_be_written_is_counted(gates, cli, spec):
    keeper = gates(tenants={"a": spec}, **full_after(4096))
    with keeper.tenant("a") as a:
        fill(a, spec)
        make_room(keeper)
        assert run(a, spec)["ok"]["stdout"] == "42\n"
        last = records(keeper)[-1]
        assert last["event"] == "run" and last["lost"] > 0
        lost = last["lost"]
        assert run(a, spec)["ok"]["status"] == "ok"
        assert "lost" not in records(keeper)[-1]
    assert keeper.end() == 0
    status, report = verify(cli, keeper)
    assert (status, report["lost"]) == (0, lost)
    assert report["records"] + lost == 44  # start, 40 refusals, 2 runs, end


def test_strict_refuses_work_then(gates, cli, spec):
    keeper = gates("--audit-strict", tenants={"a": spec}, **full_after(4096))
    with keeper.tenant("a") as a:
        error = {"kind": "not_found"}
        while error["kind"] == "not_found":
            fill(a, spec)
            error = a.ask(request="process.list", session="none")["error"]
        assert error["kind"] == "overloaded" and "audit" in error["message"] and error["retry_after_ms"] == 5000
        assert a.ask(request="session.start", spec=spec)["error"]["kind"] == "overloaded"
        assert "ok" in a.ask(request="session.list")
        make_room(keeper)
        assert run(a, spec)["ok"]["stdout"] == "42\n"
    assert [x["event"] for x in records(keeper)[-2:]] == ["audit.resumed", "run"]
    assert records(keeper, "audit.resumed")[0]["lost"] > 0
