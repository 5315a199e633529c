"""Layer 1: nothing of the host is visible or reachable by a kernel name."""
import ctypes
import os
import socket
import subprocess

import cell
from cell import all_are, bash, claim, expect, python

LAYERS = ["namespaces"]


@claim("namespaces-pid", "A program sees no process but the cell's own, and no signal of it reaches one of the host.",
       LAYERS)
def test_pid(probes):
    victim = subprocess.Popen(["sleep", "60"])
    try:
        got = probes.run("others", ["kill=%d" % victim.pid, "signal_zero=%d" % victim.pid, "child_kill"])
        expect(got, kill="ESRCH", signal_zero="ESRCH", child_kill="ok")
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()
    seen = bash("ls -d /proc/[0-9]*; wait; exec true").stdout.split()
    assert "/proc/1" in seen and len(seen) <= 4, seen


@claim("namespaces-network", "A cell has no interface but loopback, which is its own and up; no address outside has a route.",
       LAYERS)
def test_network(probes):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        got = probes.run("network", ["tcp=%d" % port, "route=198.51.100.1", "interface=lo", "other_interface", "own_tcp"])
    expect(got, tcp="ECONNREFUSED", route="ENETUNREACH", interface="ok", other_interface="ENODEV", own_tcp="ok")


@claim("namespaces-abstract-socket", "No abstract unix socket of the host can be reached; the cell's own can.", LAYERS + ["landlock"])
def test_abstract(probes):
    name = "snapcell-claim-%d" % os.getpid()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen()
        got = probes.run("network", ["abstract=" + name, "own_abstract"])
    expect(got, abstract="ECONNREFUSED", own_abstract="ok")


@claim("namespaces-ipc", "System V shared memory of the host cannot be found; the cell has its own.", LAYERS)
def test_ipc(probes):
    libc, key = ctypes.CDLL(None), 0x5EC20000 | os.getpid() & 0xFFFF
    identity = libc.shmget(key, 4096, 0o1666)
    assert identity >= 0
    try:
        got = probes.run("network", ["shm=%d" % key, "own_shm"])
        expect(got, shm="ENOENT", own_shm="ok")
    finally:
        libc.shmctl(identity, 0, None)


@claim("namespaces-hostname", "The host's name is not shown, and the cell's cannot be changed.", LAYERS + ["capabilities", "filter"])
def test_hostname(probes):
    names = python("import socket, os; print(socket.gethostname(), os.uname().nodename)").stdout.split()
    assert names == ["cell", "cell"]
    all_are(probes.run("calls", ["sethostname", "setdomainname"]), "EPERM")


@claim("namespaces-time", "The monotonic clocks of a cell start with it, so that they do not tell how long the host has run.",
       LAYERS)
def test_time():
    said = python("import time\nprint(time.clock_gettime(time.CLOCK_MONOTONIC), time.clock_gettime(time.CLOCK_BOOTTIME),"
                  " open('/proc/uptime').read().split()[0])\na = time.monotonic(); time.sleep(0.01); assert time.monotonic() > a")
    assert said.status == "ok", said.describe()
    # A cell that waited has clocks as old as it is, and one below a zygote goes on from the zygote's.
    start = said.result.get("start", {})
    age_s = (start.get("parked_ms", 0) + start.get("zygote_age_ms", 0)) / 1000
    assert all(float(x) < 60 * cell.SCALE + age_s for x in said.stdout.split()), said.stdout


@claim("namespaces-cgroup", "A cell sees its control group as the root, and no path of the host's groups.", LAYERS)
def test_cgroup():
    paths = [line.split(":", 2)[2] for line in bash("cat /proc/self/cgroup").stdout.split()]
    assert paths and set(paths) == {"/"}, paths


@claim("namespaces-none-shared", "Every namespace of a cell is another one than the host's.", LAYERS)
def test_none_shared():
    kinds = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"]
    inside = bash("readlink " + " ".join("/proc/self/ns/" + k for k in kinds)).stdout.split()
    outside = [os.readlink("/proc/self/ns/" + k) for k in kinds]
    assert len(inside) == len(kinds)
    assert [k for k, a, b in zip(kinds, inside, outside) if a == b] == []


@claim("namespaces-no-new", "A program can make no namespace and join none.", LAYERS + ["filter"])
def test_no_new(probes):
    flags = {"user": "10000000", "mount": "20000", "pid": "20000000", "net": "40000000", "ipc": "8000000",
             "uts": "4000000", "cgroup": "2000000", "time": "80"}
    all_are(probes.run("calls", ["unshare=" + f for f in flags.values()] + ["setns"]), "EPERM")
    # The kernel looks at the low half only; CLONE_NEWTIME cannot be asked for by clone.
    clone = [f for k, f in flags.items() if k != "time"] + ["f000000010000000"]
    all_are(probes.run("calls", ["clone=" + f for f in clone]), "EPERM")
    all_are(probes.run("calls", ["clone=0"]), "ok")
    all_are(probes.run("calls", ["clone3"]), "ENOSYS")
