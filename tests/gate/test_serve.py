"""The service as a whole: who may speak, what the gate is, what happens when somebody dies or is told to end."""
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading

import pytest
from conftest import DEGRADED, PATIENCE, UnixConnection, until


def status_of(pid):
    with open("/proc/%d/status" % pid) as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


# ---- who may speak ----

def test_health_needs_no_key(shared):
    for tcp in (False, True):
        assert shared.get("/healthz", tcp=tcp).json() == {"status": "ok"}
        assert shared.get("/readyz", tcp=tcp).json() == {"status": "ready"}


def test_a_key_is_needed_on_tcp(shared):
    body = shared.cell(language="python", code="1")
    shared.post("/v1/run", body, tcp=True).problem(401, "unauthorized", "Authorization")
    for wrong in ("Bearer ", "Bearer x", "Basic " + shared.key, "Bearer " + shared.key[:-1] + "x"):
        answer = shared.post("/v1/run", body, tcp=True, headers={"Authorization": wrong})
        assert answer.status == 401 and answer.headers["www-authenticate"].startswith("Bearer")
    for right in ({"Authorization": "Bearer " + shared.key}, {"X-API-Key": shared.key}):
        assert shared.post("/v1/run", body, tcp=True, headers=right).status == 200


def test_a_wrong_key_is_refused_on_the_unix_socket_too(shared):
    answer = shared.post("/v1/run", shared.cell(language="python", code="1"), headers={"X-API-Key": "x"})
    assert answer.status == 401


def test_a_connection_may_change_its_key(shared):
    connection = shared.connect(tcp=True)
    right, wrong = {"X-API-Key": shared.key}, {"X-API-Key": "sck_no"}
    body = shared.cell(language="python", code="1")
    assert shared.post("/v1/run", body, headers=right, connection=connection).status == 200
    assert shared.post("/v1/run", body, headers=wrong, connection=connection).status == 401
    connection.close()


def test_hosts_and_origins(shared):
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost:x", ""):
        shared.get("/healthz", tcp=True, headers={"Host": host}).problem(421, "host_header", "Host")
    for host in ("localhost", "127.0.0.1:%d" % shared.port, "[::1]:1", "LOCALHOST:80"):
        assert shared.get("/healthz", tcp=True, headers={"Host": host}).status == 200
    for tcp in (False, True):
        answer = shared.get("/healthz", tcp=tcp, headers={"Origin": "http://localhost"})
        answer.problem(403, "origin", "Origin")
        assert not [x for x in answer.headers if x.startswith("access-control")]


def test_further_hosts(services):
    service = services("--host", "cells.example")
    assert service.get("/healthz", tcp=True, headers={"Host": "cells.example:443"}).status == 200
    # Names of sandboxes' ports below it are the service's, and want their token; below another name they are not.
    name = "8000-" + "0" * 32
    assert [service.get("/healthz", tcp=True, headers={"Host": name + below}).status
            for below in (".cells.example", ".localhost:1", ".other.example", ".127.0.0.1", ".cells.example.other")] == [401, 401, 421, 421, 421]
    # One that only looks like such a name is no sandbox's.
    assert service.get("/healthz", tcp=True, headers={"Host": "8000-x.cells.example"}).status == 421


def test_the_socket_is_its_users_own(shared):
    assert stat.S_IMODE(os.stat(shared.socket).st_mode) == 0o600


def test_no_such_path_or_method(shared):
    shared.get("/v2").problem(404, "not_found", "path")
    shared.get("/v1/run/").problem(404, "not_found", "path")
    shared.get("/%zz").problem(404, "not_found", "path")
    shared.get("/v1/sessions/%zz").problem(422, "usage", "path")
    answer = shared.get("/v1/run")
    answer.problem(405, "method")
    assert answer.headers["allow"] == "POST"
    shared.get("/healthz?x=1").problem(422, "usage", "x")


# ---- what the gate is ----

def test_the_gate_has_no_right(shared):
    status = status_of(shared.children()["gate"])
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    for which in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
        assert int(status[which], 16) == 0
    uids = set(status["Uid"].split("\t"))
    assert len(uids) == 1
    if os.geteuid() == 0:
        assert uids != {"0"} and status["Groups"].strip() == ""


def test_the_gate_holds_no_file(shared):
    """Sockets, epolls and the like; stdout and stderr are the service's."""
    pid = shared.children()["gate"]
    if os.geteuid() != 0:
        # It is not dumpable: nobody of its own user looks at it either.
        with pytest.raises(PermissionError):
            os.listdir("/proc/%d/fd" % pid)
        return
    kinds = {os.readlink("/proc/%d/fd/%s" % (pid, fd)).split(":")[0] for fd in os.listdir("/proc/%d/fd" % pid)
             if int(fd) > 2}
    assert kinds <= {"socket", "anon_inode"}, kinds


def test_gate_by_hand(binary):
    done = subprocess.run([binary, "gate"], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 2 and b"is started by snapcell serve" in done.stderr


# ---- deaths ----

def test_a_killed_gate_loses_no_session(service):
    service.post("/v1/run", service.cell(language="python", code="1"))
    started = subprocess.run([os.environ["SNAPCELL"], "session", "start", "--socket", service.keeper_socket, "--name", "kept",
                              *(["--allow-degraded", ",".join(DEGRADED)] if DEGRADED else [])], capture_output=True, timeout=PATIENCE)
    assert started.returncode == 0, started.stderr
    first = service.children()["gate"]
    os.kill(first, signal.SIGKILL)
    until(lambda: service.children().get("gate") not in (None, first), "the next gate")
    assert service.python("print(1)")["stdout"] == "1\n"
    told = subprocess.run([os.environ["SNAPCELL"], "session", "info", "--socket", service.keeper_socket, "kept"],
                          capture_output=True, timeout=PATIENCE)
    assert told.returncode == 0, told.stderr
    assert "ended by signal 9" in service.said()


def test_a_killed_keeper_is_told_to_who_waits_and_comes_back(service):
    service.python("1")
    first = service.children()["keeper"]
    connection = service.connect()
    waits = threading.Event()
    got = []

    def run():
        waits.set()
        got.append(service.post("/v1/run", service.cell(language="python", code="import time; time.sleep(60)"),
                                connection=connection))
    thread = threading.Thread(target=run)
    thread.start()
    waits.wait()
    until(lambda: runs_something(first), "the run")
    os.kill(first, signal.SIGKILL)
    thread.join(PATIENCE)
    got[0].problem(503, "keeper_lost", None)
    assert got[0].headers["retry-after"] == "1"
    # On the same connection: its token was the dead keeper's.
    assert service.post("/v1/run", service.cell(language="python", code="1"), connection=connection).status == 200
    connection.close()


def runs_something(pid):
    """Does a process below this one sleep in Python's time.sleep?"""
    todo = [pid]
    while todo:
        try:
            with open("/proc/%d/task/%d/children" % (todo[0], todo[0])) as f:
                children = [int(x) for x in f.read().split()]
        except (FileNotFoundError, ProcessLookupError):
            children = []
        for child in children:
            try:
                with open("/proc/%d/wchan" % child) as f:
                    if f.read() == "hrtimer_nanosleep":
                        return True
            except OSError:
                pass
        todo = todo[1:] + children
    return False


# ---- ends ----

def test_sigterm_lets_requests_finish(service):
    body = service.cell(language="python", code="import time\nprint('began', flush=True)\ntime.sleep(1.5)\nprint('done')")
    connection = service.connect()
    connection.request("POST", "/v1/run", json.dumps(body).encode(),
                       {"Content-Type": "application/json", "Accept": "application/x-ndjson"})
    response = connection.getresponse()
    first = response.readline() + response.readline()
    assert b"began" in first
    service.child.send_signal(signal.SIGTERM)
    rest = response.read()
    assert b"done" in rest and b'"event":"end"' in rest
    assert service.child.wait(PATIENCE) == 0


def test_drain_has_an_end(services):
    service = services("--drain", "0s")
    connection = service.connect()
    body = service.cell(language="python", code="import time\nprint('began', flush=True)\ntime.sleep(300)", limits={"wall_ms": 400000})
    connection.request("POST", "/v1/run", json.dumps(body).encode(),
                       {"Content-Type": "application/json", "Accept": "application/x-ndjson"})
    response = connection.getresponse()
    assert b"start" in response.readline()
    assert service.end() == 0


def test_sighup_changes_gates_and_breaks_nothing(service):
    connection = service.connect()
    assert service.get("/healthz", connection=connection).status == 200
    first = service.children()["gate"]
    service.child.send_signal(signal.SIGHUP)
    until(lambda: service.children().get("gate") != first, "the next gate")
    assert service.python("print(2)")["stdout"] == "2\n"


def test_the_supervisors_death_ends_all(services):
    service = services()
    pids = service.children()
    service.child.kill()
    service.child.wait()
    until(lambda: not any(os.path.exists("/proc/%d" % pid) and status_of(pid)["State"][0] != "Z" for pid in pids.values()),
          "keeper and gate to end")
    os.unlink(service.socket)
    service.child.returncode = 0


# ---- options ----

@pytest.mark.parametrize("options,word", [
    (["--listen", "x"], b"listen"), (["--listen", "127.0.0.1:99999"], b"listen"), (["--clients", "0"], b"clients"),
    (["--drain", "x"], b"drain"), (["operand"], b"operands"), (["--sessions", "0"], b"sessions"),
])
def test_options_are_checked(binary, tmp_path, options, word):
    os.chmod(tmp_path, 0o700)
    done = subprocess.run([binary, "serve", "--dev", "--socket", "k.sock", "--http-socket", "h.sock", "--listen", "127.0.0.1:0", *options],
                          cwd=tmp_path, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 2 and word in done.stderr, done.stderr


def test_nothing_to_listen_on(binary, tmp_path):
    done = subprocess.run([binary, "serve", "--socket", str(tmp_path / "k")], capture_output=True, timeout=PATIENCE)
    assert done.returncode == 2 and b"nothing to listen on" in done.stderr


# ---- the configuration file ----

def test_every_wrong_line_is_named(binary, tmp_path):
    path = tmp_path / "serve.conf"
    path.write_text("# a comment\n\nclients = none\n  pool=3\nsessions = 0\nlisten = nowhere\nhots = x\naudit-strict = 1\n"
                    "config = x\ndev\nqueue = 5\n")
    done = subprocess.run([binary, "serve", "--config", str(path)], capture_output=True, timeout=PATIENCE)
    assert done.returncode == 2
    said = done.stderr.decode().splitlines()
    assert [int(re.search(r":(\d+): ", x).group(1)) for x in said] == [3, 5, 6, 7, 8, 9, 10], said
    assert "clients" in said[0] and "sessions" in said[1] and "listen" in said[2] and "host" in said[3]


def test_a_configuration_that_is_not_there(binary, tmp_path):
    done = subprocess.run([binary, "serve", "--config", str(tmp_path / "none")], capture_output=True, timeout=PATIENCE)
    assert done.returncode == 2 and b"No such file" in done.stderr


def test_it_is_read_again(services, tmp_path):
    path = tmp_path / "serve.conf"
    path.write_text("host = one.example, two.example\n".replace(", ", ","))
    service = services("--config", str(path))

    def status(host):
        return service.get("/healthz", tcp=True, headers={"Host": host}).status
    assert (status("one.example"), status("two.example"), status("three.example")) == (200, 200, 421)
    path.write_text("host = three.example\nclients = nonsense\n")
    service.child.send_signal(signal.SIGHUP)
    until(lambda: "the configuration stays as it was" in service.said(), "the complaint")
    assert "serve.conf:2: clients" in service.said() and status("one.example") == 200
    path.write_text("host = three.example\n")
    service.child.send_signal(signal.SIGHUP)
    until(lambda: status("three.example") == 200, "the new host")
    assert status("one.example") == 421


def test_listeners_from_a_service_manager(binary, tmp_path):
    """As systemd hands them over: descriptors from 3, LISTEN_FDS and LISTEN_PID."""
    os.chmod(tmp_path, 0o700)
    with socket.socket(socket.AF_UNIX) as given:
        given.bind(str(tmp_path / "given.sock"))
        given.listen(10)
        line = "import os, sys\nos.dup2(%d, 3)\nos.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))\nos.execv(sys.argv[1], sys.argv[1:])" % given.fileno()
        with subprocess.Popen([sys.executable, "-c", line, binary, "serve", "--dev", "--socket", str(tmp_path / "k.sock")],
                              pass_fds=[given.fileno()], stdout=subprocess.PIPE, cwd="/") as child:
            said = [child.stdout.readline() for _ in range(3)]
            assert b"given by the service manager" in said[0] and said[1].startswith(b"e2b-key ") and said[2].startswith(b"key ")
            connection = UnixConnection(str(tmp_path / "given.sock"))
            connection.request("GET", "/healthz")
            assert connection.getresponse().status == 200
            connection.close()
            child.terminate()
            assert child.wait(PATIENCE) == 0
    assert sorted(os.listdir(tmp_path)) == ["dev", "given.sock"]
