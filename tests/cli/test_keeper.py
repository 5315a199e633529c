"""The keeper against its clients: who may speak, what is bounded, what is left when somebody dies."""
import os
import resource
import signal
import socket
import stat
import struct
import subprocess
import time

import pytest
import wire
from conftest import PATIENCE
from wire import Wire


def until(true):
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


# ---- the place ----

def test_modes_and_end(keepers):
    keeper = keepers()
    assert stat.S_IMODE(os.stat(keeper.socket).st_mode) == 0o600
    keeper.start()
    assert keeper.cells()
    with Wire(keeper):
        cells = keeper.cells()
        assert keeper.end() == 0
    assert os.listdir(keeper.folder) == []
    assert not any(is_alive(pid) for pid in cells)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_other_signals_end_it_too(keepers, number):
    keeper = keepers()
    keeper.start()
    assert keeper.end(number) == 0
    assert os.listdir(keeper.folder) == []


def test_two_cannot_serve_one_path(keeper):
    done = keeper.cli("keeper", env=keeper.env)
    assert done.returncode == 2 and b"another keeper serves it" in done.stderr
    keeper.start()


def test_a_stale_socket_is_replaced(keepers, cli):
    first = keepers()
    first.child.kill()
    first.child.wait()
    assert os.path.exists(first.socket)
    second = cli.popen("keeper", env=first.env)
    try:
        def serves():
            try:
                first.connect().close()
                return True
            except (ConnectionRefusedError, FileNotFoundError):  # the old socket, and none for a moment
                return False
        until(serves)
    finally:
        second.terminate()
        assert second.wait(PATIENCE) == 0
    assert os.listdir(first.folder) == []


def test_what_is_no_socket_is_left_alone(cli, tmp_path):
    os.chmod(tmp_path, 0o700)
    (tmp_path / "file").write_text("precious")
    done = cli("keeper", "--socket", str(tmp_path / "file"))
    assert done.returncode == 125 and (tmp_path / "file").read_text() == "precious"
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_that_others_can_enter_is_refused(cli, tmp_path):
    folder = tmp_path / "open"
    folder.mkdir()
    os.chmod(folder, 0o755)
    done = cli("keeper", "--socket", str(folder / "k"))
    assert done.returncode == 2 and b"must be 0700" in done.stderr
    (tmp_path / "link").symlink_to(folder)
    assert cli("keeper", "--socket", str(tmp_path / "link/k")).returncode == 125


def test_idle_exit(keepers):
    keeper = keepers("--idle-exit", "1s")
    with Wire(keeper):
        time.sleep(1.5)  # a client keeps it: longer than it waits
        assert keeper.child.poll() is None
    assert keeper.child.wait(PATIENCE) == 0


def test_options_are_checked(cli):
    for options in (["--sessions", "0"], ["--sessions", "x"], ["--idle-exit", "never"], ["operand"]):
        assert cli("keeper", *options).returncode == 2


# ---- who may speak ----

@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_is_refused(keeper, tmp_path):
    session = keeper.start()
    # With the folders out of the way it is the credentials that refuse.
    folders = [keeper.folder, *map(str, [tmp_path, *list(tmp_path.parents)[:-2]])]
    modes = {folder: stat.S_IMODE(os.stat(folder).st_mode) for folder in folders}
    for folder, mode in modes.items():
        os.chmod(folder, mode | 0o011)
    os.chmod(keeper.socket, 0o666)
    code = ("import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
            "try:\n    s.sendall(bytes.fromhex(sys.argv[2]))\nexcept BrokenPipeError:\n    pass\n"
            "sys.stdout.buffer.write(s.recv(4096))\n"
            "try:\n    print(s.recv(10))\nexcept ConnectionResetError:\n    print(b'')")
    done = subprocess.run(["/usr/bin/python3", "-c", code, keeper.socket, wire.hello().hex()], user=65534, group=65534,
                          extra_groups=[], capture_output=True, timeout=PATIENCE)
    for folder, mode in modes.items():
        os.chmod(folder, mode)
    assert b"belongs to another user" in done.stdout, done
    assert done.stdout.endswith(b"b''\n")
    assert keeper("info", session).returncode == 0


def test_too_many_clients(keeper):
    wires = [Wire(keeper) for _ in range(64)]
    try:
        with Wire(keeper, greet=False) as one_more:
            kind, channel, payload = one_more.frame()
            assert (kind, channel) == (wire.REPLY, 0) and b"too many clients" in payload
        done = keeper("ls")
        assert done.returncode == 2 and b"too many clients" in done.stderr
    finally:
        for one in wires:
            one.close()
    until(lambda: keeper("ls").returncode == 0)


def test_too_many_sessions(keepers):
    keeper = keepers("--sessions", "2")
    keeper.start()
    first = keeper.start()
    done = keeper("start", *keeper.cli.accept)
    assert done.returncode == 125 and b"end one" in done.stderr
    keeper("end", first)
    keeper.start()


# ---- what may be said ----

@pytest.mark.parametrize("data", [
    wire.hello(magic=1),
    wire.request(1, {"request": "session.list"}),
    wire.hello() + wire.hello(),
    wire.hello() + wire.frame(99, 1),
    wire.hello() + wire.frame(wire.WELCOME),
    wire.hello() + struct.pack("<IHH", 65537, wire.DATA, 1),
    wire.hello() + wire.frame(wire.MORE, 1, b"x"),
    wire.hello() + wire.frame(wire.REQUEST, 0, b"x" * 20),
    wire.hello() + wire.frame(wire.REQUEST, 1, struct.pack("<II", 2, 0) + b"{}x"),
    wire.hello() + wire.frame(wire.REQUEST, 1, struct.pack("<II", 0xffffffff, 0) + b"{}"),
    wire.hello() + wire.frame(wire.REQUEST, 1, struct.pack("<II", 100, 0) + b"{}") * 2,
    wire.hello() + wire.frame(wire.CANCEL, 1, b"x"),
])
def test_a_broken_protocol_ends_the_connection(keeper, data):
    with Wire(keeper, greet=False) as client:
        client.send(data)
        welcomed = 0
        try:
            while client.frame()[0] == wire.WELCOME:
                welcomed += 1
            raise AssertionError("answered")
        except EOFError:
            pass
        assert welcomed <= 1
    assert keeper("ls").returncode == 0


def test_another_version_is_told_ours(keeper):
    with Wire(keeper, greet=False) as client:
        client.send(wire.hello(version=99))
        kind, _, payload = client.frame()
        assert kind == wire.WELCOME and struct.unpack("<II", payload) == (wire.MAGIC, wire.VERSION)
        client.send(wire.request(1, {"request": "session.list"}))
        assert client.hung_up()


@pytest.mark.parametrize("value, field, words", [
    (b"{", "request", "not JSON"),
    (b"[]", "request", "an object"),
    (b"{}", "request", "missing"),
    (b"[" + b"[]," * 300000 + b"0]", "request", "200000 JSON values"),
    (b"1" * 5000, "request", "200000 JSON values"),
    ({"request": 7}, "request", "a string"),
    ({"request": "session.lst"}, "request", "did you mean session.list"),
    ({"request": "session.list", "session": "x"}, "session", "unknown field"),
    ({"request": "session.info"}, "session", "missing"),
    ({"request": "session.info", "session": "../x"}, "session", "letters, digits"),
    ({"request": "session.start", "spec": {"limits": {"wall_ms": 1}}}, "spec.limits.wall_ms", "allowed"),
    ({"request": "session.start", "idle_ms": 1}, "idle_ms", "allowed are 1000"),
    ({"request": "run", "session": "x", "language": "python"}, "code", "missing"),
    ({"request": "run", "session": "x", "language": "java", "code": "1"}, "language", "python, node, bash"),
    ({"request": "run", "session": "x", "language": "bash", "code": "1", "mode": "restricted"}, "mode", "python"),
    ({"request": "run", "session": "x", "language": "python", "code": "1", "limits": {"memory_bytes": 1 << 30}},
     "limits.memory_bytes", "whole session"),
    ({"request": "exec", "session": "x"}, "command", "missing"),
    ({"request": "file.read", "session": "x"}, "path", "missing"),
    ({"request": "file.read", "session": "x", "path": ""}, "path", "empty"),
    ({"request": "file.read", "session": "x", "path": "a\0b"}, "path", "NUL"),
    ({"request": "file.chmod", "session": "x", "path": "a", "mode": "999"}, "mode", "octal"),
    ({"request": "process.signal", "session": "x", "process": 1, "signal": "FOO"}, "signal", "signal's name"),
], ids=lambda x: str(x)[:60])  # pytest puts a test's name into the environment, which has an end
def test_requests_are_refused_by_field(keeper, value, field, words):
    with Wire(keeper) as client:
        client.send(wire.request(1, value))
        error = client.finish(1)[0]["error"]
        assert (error["kind"], error["field"]) == ("usage", field) and words in error["message"], error
        assert client.ask(request="session.list") == {"ok": {"sessions": []}}


def test_a_long_request_comes_in_pieces(keeper):
    session = keeper.start()
    with Wire(keeper) as client:
        code = "x = %r\nlen(x)" % ("a" * 1000000)
        reply = client.ask(request="run", session=session, language="python", code=code)
        assert reply["ok"]["value"]["text/plain"] == "1000000"


def test_input_beyond_the_credit(keeper):
    session = keeper.start()
    with Wire(keeper) as client:
        channel = client.begin(request="command", session=session, command=["sleep", "1000"])
        client.await_event(channel, "started")
        # The cell takes some of it, and nobody reads the rest.
        piece = wire.frame(wire.DATA, channel, b"x" * 65536)
        with pytest.raises(ConnectionError):
            for _ in range(1000):
                client.send(piece)
    assert keeper("info", session).returncode == 0


def test_several_requests_on_one_connection(keeper):
    session = keeper.start()
    with Wire(keeper) as client:
        slow = client.begin(request="run", session=session, language="python", context="a",
                            code="import time; time.sleep(0.5); 'slow'")
        quick = client.begin(request="run", session=session, language="python", context="b", code="'quick'")
        order = []
        while len(order) < 2:
            kind, channel, _ = client.frame()
            if kind == wire.REPLY:
                order.append(channel)
        assert order == [quick, slow]


def test_cancel(keeper):
    session = keeper.start()
    with Wire(keeper) as client:
        channel = client.begin(request="command", session=session, command=["sleep", "1000"])
        client.await_event(channel, "started")
        client.send(wire.frame(wire.CANCEL, channel))
        assert client.finish(channel)[0]["ok"]["status"] == "cancelled"


def test_code_is_only_read(keeper):
    session = keeper.start()
    with Wire(keeper) as client:
        def ask(**fields):
            return client.finish(client.begin(request="check", session=session, **fields))[0]
        found = ask(language="python", code="import subprocess; open('ran', 'w')")["ok"]
        assert found["allowed"] is False and found["findings"][0]["rule"] == "process-start"
        assert ask(language="bash", code="if", validate={"rules": ["strict"]})["ok"]["syntax_error"]
        assert ask(language="node", code="1 + 1")["ok"] == {"allowed": True, "findings": []}
        assert ask(language="java", code="1")["error"]["field"] == "language"
        assert ask(language="python", code="1", validate={"rules": ["none.scm"]})["error"]["kind"] == "usage"
        channel = client.begin(request="file.stat", session=session, path="ran")
        assert client.finish(channel)[0]["error"]["code"] == "ENOENT"


def test_cancel_while_the_code_is_read(keeper):
    session = keeper.start()
    with Wire(keeper) as client:
        for _ in range(5):
            channel = client.begin(request="run", session=session, language="python", validate={},
                                   code="x = 1\n" * 20000 + "import time; time.sleep(1000)")
            client.send(wire.frame(wire.CANCEL, channel))
            assert client.finish(channel)[0]["ok"]["status"] == "cancelled"


def test_the_end_while_code_is_read(keeper):
    session = keeper.start()
    with Wire(keeper) as client:
        channels = [client.begin(request="run", session=session, language="python", validate={}, context="c%d" % i,
                                 code="x = 1\n" * 20000) for i in range(4)]
        assert keeper("end", session).returncode == 0
        for reply, _ in client.finish_all(channels).values():
            assert "ok" in reply or reply["error"]["kind"] in ("ended", "not_found"), reply


# ---- bounds and deaths ----

def test_a_slow_client_makes_the_cell_wait(keeper):
    session = keeper.start()
    with Wire(keeper) as client:
        channel = client.begin(request="command", session=session, no_stdin=True, command=[
            "sh", "-c", "while head -c 1048576 /dev/zero; do date +%s >>ticks; done"])
        client.await_event(channel, "started")

        def written():
            done = keeper("get", session, "ticks", "-")
            return len(done.stdout.splitlines())

        # It writes until all that lies between is full, and then no more.
        last = -1
        until(lambda: written() > 0)
        while last != (last := written()):
            time.sleep(0.3)
        assert 0 < last < 64
        with open("/proc/%d/status" % keeper.child.pid) as f:
            resident = [int(x.split()[1]) for x in f if x.startswith("VmRSS")][0]
        assert resident < 64 * 1024
        # Once the client reads, it goes on.
        taken = 0
        while taken < (last + 2) << 20:
            taken += len(client.frame()[2])
        until(lambda: written() > last)


def test_a_client_that_is_killed_in_a_run(keeper):
    session = keeper.start()
    keeper.python(session, "x = 1")
    child = keeper.popen("run", session, "--python", "-c", "x = 2; print('on', flush=True); import time; time.sleep(1000)",
                         stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"on\n"
    child.kill()
    child.wait()
    child.stdout.close()
    # Its run is interrupted, so that the next one has its turn; the state is there.
    done = keeper.python(session, "x")
    assert (done.returncode, done.stdout) == (0, b"2\n")


def test_a_client_that_is_killed_while_it_writes(keeper):
    """What it had written is not left in a hidden file."""
    keeper.start("--name", "work")
    with Wire(keeper) as client:
        channel = client.begin(request="file.write", session="work", path="new")
        client.send(wire.frame(wire.DATA, channel, b"x" * 60000))
        until(lambda: keeper.result("ls", "--json", "work"))
    until(lambda: not keeper.result("ls", "--json", "work"))


def test_a_client_that_is_killed_with_a_command(keeper):
    session = keeper.start()
    child = keeper.popen("exec", session, "--", "sh", "-c", "echo on; exec sleep 1000", stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"on\n"
    assert len(keeper.result("ps", session, "--json")["processes"]) == 1
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()
    until(lambda: keeper.result("ps", session, "--json")["processes"] == [])


def test_a_keeper_that_is_killed_leaves_no_cell(keepers):
    keeper = keepers()
    session = keeper.start()
    keeper("exec", session, "--background", "--", "sleep", "1000")
    cells = keeper.cells()
    assert cells
    keeper.child.kill()
    keeper.child.wait()
    until(lambda: not any(is_alive(pid) for pid in cells))


def test_the_end_is_told_to_who_waits(keepers):
    keeper = keepers()
    session = keeper.start()
    with Wire(keeper) as client:
        channel = client.begin(request="command", session=session, no_stdin=True, command=["sleep", "1000"])
        client.await_event(channel, "started")
        keeper.child.send_signal(signal.SIGTERM)
        assert client.finish(channel)[0]["error"]["kind"] == "ended"
    assert keeper.child.wait(PATIENCE) == 0


def test_a_session_that_ends_tells_its_runs(keeper):
    session = keeper.start()
    with Wire(keeper) as client:
        channel = client.begin(request="command", session=session, no_stdin=True, command=["sleep", "1000"])
        client.await_event(channel, "started")
        assert keeper("end", session).returncode == 0
        reply = client.finish(channel)[0]
        assert reply.get("error", {}).get("kind") == "ended" or reply["ok"]["status"] == "cancelled"


def test_twenty_sessions_at_once(keeper):
    ids = [keeper.start() for _ in range(20)]
    wires = [Wire(keeper) for _ in ids]
    try:
        channels = [client.begin(request="run", session=session, language="python", code="me = %d\nme * me" % i)
                    for i, (client, session) in enumerate(zip(wires, ids))]
        for i, (client, channel) in enumerate(zip(wires, channels)):
            assert client.finish(channel)[0]["ok"]["value"]["text/plain"] == str(i * i)
    finally:
        for client in wires:
            client.close()


def test_descriptors_for_many_sessions(keepers):
    """The usual soft limit would be used up by some twenty cells."""
    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

    keeper = keepers(preexec_fn=lower)
    for _ in range(5):
        keeper.start()
    assert len(keeper.result("ls", "--json")["sessions"]) == 5


def test_only_sockets_are_spoken_to(cli, tmp_path):
    """A socket whose other end is no keeper."""
    path = str(tmp_path / "k")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(1)
        child = cli.popen("session", "ls", "--socket", path, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        other, _ = listener.accept()
        other.recv(4096)
        other.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        other.close()
        _, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 125 and b"keeper" in err
