"""Faults on purpose, met by the service as a whole: it answers again afterwards, nobody is blamed for what was not his, and nothing is left."""
import http.client
import json
import os
import random
import signal
import subprocess
import threading
import time

import pytest
from conftest import PATIENCE, Service, make_folder, until

JOBS = {
    "good": ("print(%d)", {"wall_ms": 100000}, {"ok"}),
    "bad": ("print(%d); raise SystemExit(3)", {"wall_ms": 100000}, {"error"}),
    "endless": ("print(%d)\nwhile True: pass", {"wall_ms": 200}, {"timeout"}),
    "crowd": ("import os\nprint(%d)\nwhile True:\n    try: os.fork()\n    except OSError: pass", {"wall_ms": 300},
              {"timeout", "process_limit", "out_of_memory"}),
}


class Load:
    """Clients with jobs of all kinds, one after another, each with a number of its own; what came of them."""

    def __init__(self, service, names=tuple(sorted(JOBS)), clients=3, ours=("sandbox_error", "cancelled")):
        self.ours = set(ours)
        self.service, self.names, self.stopping, self.lock = service, names, False, threading.Lock()
        self.counts, self.wrong, self.next = {}, [], 1000
        self.threads = [threading.Thread(target=self._go, args=(seed,), daemon=True) for seed in range(clients)]
        for thread in self.threads:
            thread.start()

    def _go(self, seed):
        choose = random.Random(seed)
        while not self.stopping:
            try:
                self._one(choose.choice(self.names))
            except (OSError, http.client.HTTPException):
                self._count("cut off", "")
                time.sleep(0.02)

    def _count(self, name, status):
        with self.lock:
            self.counts[name, status] = self.counts.get((name, status), 0) + 1

    def _one(self, name):
        with self.lock:
            self.next += 1
            number = self.next
        code, limits, right = JOBS[name]
        answer = self.service.post("/v1/run", self.service.cell(language="python", code=code % number, limits=limits))
        if answer.status != 200:
            self._count(name, answer.status)
            ours = answer.status == 500 and answer.json()["type"] == "urn:snapcell:problem:sandbox"
            if answer.status not in (429, 503) and not ours:
                self.wrong.append((name, answer.status, answer.body))
            return
        result = answer.json()
        self._count(name, result["status"])
        # What is ours may fail while things are taken away; then it says so.
        if result["status"] not in right | self.ours:
            self.wrong.append((name, result["status"], result["message"]))
        if result["status"] == "ok" and result["stdout"] != "%d\n" % number:
            self.wrong.append((name, number, result["stdout"]))

    def answered(self, name="good", status="ok"):
        with self.lock:
            return self.counts.get((name, status), 0)

    def go_on(self, more=3):
        """Until so many more good jobs were answered as they should."""
        before = self.answered()
        until(lambda: self.answered() >= before + more, str(self.counts))

    def stop(self):
        self.stopping = True
        for thread in self.threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        assert not self.wrong, self.wrong


def metrics(service):
    text = service.get("/metrics", headers={"X-API-Key": service.key}).body.decode()
    return {name: float(value) for name, value in (x.rsplit(" ", 1) for x in text.splitlines() if not x.startswith("#"))}


def is_idle(service):
    now = metrics(service)
    return now["snapcell_sessions"] == 0 and now["snapcell_running"] == 0 and now["snapcell_queued"] == 0


def verify(service):
    done = subprocess.run([os.environ["SNAPCELL"], "audit", "verify", "--json", "--state", service.folder + "/dev"], capture_output=True,
                          timeout=PATIENCE)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return json.loads(done.stdout)


def test_gates_that_are_killed_under_load(service):
    """Again and again, at whatever it does: who was cut off asks again, and no run of his is left."""
    service.python("1")
    keeper = service.children()["keeper"]
    load = Load(service)
    try:
        for _ in range(5):
            load.go_on(2)
            os.kill(until(lambda: service.children().get("gate"), "a gate"), signal.SIGKILL)
        load.go_on()
    finally:
        load.stop()
    assert service.children()["keeper"] == keeper
    until(lambda: is_idle(service), "runs of clients that were cut off to end")
    assert service.python("print(2)")["stdout"] == "2\n"
    verify(service)


def groups_of(pids):
    """Of cells that these keepers made."""
    return [name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names
            if name.startswith("snapcell-") and name.split("-")[1] in {str(pid) for pid in pids}]


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def test_keepers_that_are_killed_under_load(service):
    """Clients are told, the supervisor starts the next one, and that one takes away what was left."""
    load, dead, cells = Load(service), [], []
    try:
        for _ in range(3):
            load.go_on(2)
            dead.append(until(lambda: service.children().get("keeper"), "a keeper"))
            cells += below(dead[-1])
            os.kill(dead[-1], signal.SIGKILL)
        load.go_on()
    finally:
        load.stop()
    until(lambda: not any(map(is_alive, cells)), "cells of killed keepers to end")
    until(lambda: not groups_of(dead), "their groups to be removed")
    until(lambda: is_idle(service), "all runs to end")
    verify(service)


def below(pid):
    """All processes that came of this one."""
    found, todo = [], [pid]
    while todo:
        try:
            with open("/proc/%d/task/%d/children" % (todo[0], todo[0]), encoding="utf-8") as f:
                children = [int(x) for x in f.read().split()]
        except OSError:
            children = []
        found += children
        todo = todo[1:] + children
    return found


def test_agents_zygotes_and_programs_that_are_killed_under_load(services):
    """At random, whatever lives below the keeper. Who kills a program from outside its cell looks like the program itself."""
    service = services()
    keeper, choose, killed = service.children()["keeper"], random.Random(11), 0
    load = Load(service, names=("good", "bad", "endless"), ours=("sandbox_error", "cancelled", "signaled"))
    try:
        for _ in range(40):
            before = sum(load.counts.values())
            alive = until(lambda: below(keeper), "a cell")
            try:
                os.kill(choose.choice(alive), signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass
            until(lambda b=before: sum(load.counts.values()) > b, str(load.counts))
        load.go_on()
    finally:
        load.stop()
    assert killed > 10 and service.children()["keeper"] == keeper, killed
    until(lambda: is_idle(service), "all runs to end")
    assert service.python("print(3)")["stdout"] == "3\n"


def test_a_gate_that_dies_in_an_upload_leaves_the_old_file(service):
    place = service.post("/v1/sessions", service.cell()).headers["location"]
    assert service("PUT", place + "/files/kept", b"old").status == 200
    uploads = []
    for _ in range(3):
        connection = service.connect()
        connection.connect()
        connection.sock.sendall(b"PUT %s/files/kept HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" % place.encode() + b"n" * 500000)
        uploads.append(connection)
    first = service.children()["gate"]
    os.kill(first, signal.SIGKILL)
    until(lambda: service.children().get("gate") not in (None, first), "the next gate")
    for connection in uploads:
        with pytest.raises((OSError, http.client.HTTPException)):
            http.client.HTTPResponse(connection.sock, method="PUT").begin()
        connection.close()
    until(lambda: [x["name"] for x in service.get(place + "/folders").json()["entries"]] == ["kept"], "the rest to be taken away")
    assert service.get(place + "/files/kept").body == b"old"
    assert service("PUT", place + "/files/kept", b"new").status == 200
    assert service("DELETE", place).status == 200


# ---- what the machine runs out of; to take it away from the service alone is for root ----

SYS_SETHOSTNAME = 170  # on x86-64
PIDS = "/sys/fs/cgroup/pids"

if os.geteuid() == 0 and os.access(PIDS, os.W_OK):  # version 1; in version 2 a service's own group holds no processes
    @pytest.fixture
    def pids_group():
        """A group of the test's, for the service and all its cells."""
        path = "%s/snapcell-faults-%d" % (PIDS, os.getpid())
        os.mkdir(path)
        yield path
        until(lambda: remove(path), "the group's processes to end")

    def remove(path):
        """With the groups of cells that are left."""
        for folder, _, _ in os.walk(path, topdown=False):
            try:
                os.rmdir(folder)
            except OSError:
                return False
        return True

    def test_no_process_can_be_made(pids_group, services, monkeypatch):
        monkeypatch.delenv("SNAPCELL_CGROUP_PARENT", raising=False)

        def enter():
            with open(pids_group + "/cgroup.procs", "w", encoding="utf-8") as f:
                f.write("0")

        def bound(value):
            with open(pids_group + "/pids.max", "w", encoding="utf-8") as f:
                f.write(str(value))

        def used():
            with open(pids_group + "/pids.current", encoding="utf-8") as f:
                return int(f.read())
        service = services("--pool", "0", preexec_fn=enter)
        assert service.python("print(1)")["stdout"] == "1\n"
        until(lambda: is_idle(service), "the run to end")
        pids = service.children()
        load = Load(service, names=("good", "bad", "crowd"))
        try:
            # From a few beyond the three processes to none: cells fail at whatever they have come to.
            for more in (12, 6, 3, 1, 0):
                bound(used() + more)
                before = sum(load.counts.values())
                until(lambda b=before: sum(load.counts.values()) >= b + 6, str(load.counts))
            bound("max")
            load.go_on()
        finally:
            bound("max")
            load.stop()
        assert sum(load.answered(name, what) for name in load.names for what in ("sandbox_error", 500, 503)) > 0, load.counts
        assert service.children() == pids
        until(lambda: is_idle(service), "all runs to end")


if os.geteuid() == 0:
    def test_cells_that_can_not_be_sealed(binary, tmp_path):
        """A call is missing that each cell needs: that is ours, for a command, code and a batch's job alike, whether the cell died before
        the program was asked for or behind it."""
        nosys, wrapper = tmp_path / "nosys", tmp_path / "snapcell"
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults", "nosys.c")
        subprocess.run(["cc", "-O1", "-static", "-o", nosys, source], check=True)
        wrapper.write_text("#!/bin/sh\nexec %s %d %s \"$@\"\n" % (nosys, SYS_SETHOSTNAME, binary))
        wrapper.chmod(0o755)
        service = Service(str(wrapper), make_folder())
        try:
            for fields in [{"command": ["true"]}, {"language": "python", "code": "1"}] * 5:
                answer = service.post("/v1/run", service.cell(**fields))
                assert answer.status == 200 and answer.json()["status"] == "sandbox_error" or answer.problem(500, "sandbox"), answer.body
            job = json.dumps({"id": "a", "spec": service.cell(command=["true"])}).encode()
            answer = service.post("/v1/batch", job, headers={"Content-Type": "application/x-ndjson"})
            told = json.loads(answer.body.splitlines()[0])
            assert "sandbox" in json.dumps(told.get("error", told.get("result", told))), told
            until(lambda: is_idle(service), "all runs to end")
        finally:
            status = service.end()
            service.errors.close()
            subprocess.run(["rm", "-r", service.folder], check=True)
        assert status == 0


class SmallDisk:
    """A file system of two megabytes at a folder, and how to fill it."""

    def __init__(self, folder):
        os.mkdir(folder, 0o700)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "none", folder], check=True)
        self.folder, self.filler = folder, os.path.join(folder, "filler")

    def fill(self):
        with open(self.filler, "ab", buffering=0) as f:
            for piece in (65536, 4096, 1):
                try:
                    while True:
                        f.write(b"x" * piece)
                except OSError:
                    pass

    def empty(self):
        os.unlink(self.filler)

    def close(self):
        subprocess.run(["umount", self.folder], check=True)


if os.geteuid() == 0:
    @pytest.fixture
    def small(binary):
        """Makes services whose state and disk images lie on a small disk."""
        made = []

        def make(*options):
            folder = make_folder()
            disk = SmallDisk(folder + "/dev")
            env = dict(os.environ, SNAPCELL_DISK_DIR=folder + "/dev")
            made.append((Service(binary, folder, *options, env=env), disk))
            return made[-1]
        yield make
        for service, disk in made:
            status = service.end()
            service.errors.close()
            disk.close()
            subprocess.run(["rm", "-r", service.folder], check=True)
            assert status == 0

    def image(service):
        return service.post("/v1/run", service.cell(language="python", code="print(open('f', 'w').write('x' * 100000))",
                                                    disk_backing="image", limits={"disk_bytes": 16 << 20}))

    def test_the_disk_is_full(small):
        service, disk = small("--pool", "0")  # a cell that was made ahead has its image
        key = {"X-API-Key": service.key}
        place = service.post("/v1/sessions", service.cell(), headers=key).headers["location"]
        assert service("PUT", place + "/files/kept", b"kept", headers=key).status == 200
        assert image(service).json()["stdout"] == "100000\n"

        def lost():
            disk.fill()  # what ended cells had is free only now
            assert service.python("print(1)")["stdout"] == "1\n"
            return metrics(service)["snapcell_audit_lost_total"] >= 2
        until(lost, "records to be lost, and counted")  # the file's last page may have room for some
        assert "image" in image(service).problem(500, "sandbox")
        assert service.get(place + "/files/kept", headers=key).body == b"kept"
        added = subprocess.run([os.environ["SNAPCELL"], "key", "add", "--state", disk.folder, "--tenant", "t"], capture_output=True,
                               timeout=PATIENCE)
        assert added.returncode != 0 and b"No space left" in added.stderr, added.stderr
        disk.empty()
        assert image(service).json()["stdout"] == "100000\n"
        assert service("DELETE", place, headers=key).status == 200  # the keys are what they were
        until(lambda: is_idle(service), "all runs to end")
        assert verify(service)["lost"] >= 2

    def test_the_disk_is_full_and_records_must_be(small):
        service, disk = small("--audit-strict")
        assert service.python("print(1)")["stdout"] == "1\n"
        disk.fill()
        body = service.cell(language="python", code="print(1)")
        # The first one finds it out at its end, at the latest.
        until(lambda: service.post("/v1/run", body).status == 503, "work to be refused")
        answer = service.post("/v1/sessions", service.cell())
        assert "audit" in answer.problem(503, "overloaded") and int(answer.headers["retry-after"]) > 0
        assert service.get("/healthz").status == 200
        disk.empty()
        until(lambda: service.post("/v1/run", body).status == 200, "work to be taken again")
        assert verify(service)["lost"] > 0
