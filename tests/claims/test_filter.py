"""Layer 8: system calls."""
import pytest

from cell import all_are, bash, claim, expect, python, run, wall

SOCKETS = {  # family,type,protocol: what comes back
    "1,1,0": "ok", "1,2,0": "ok", "2,1,0": "ok", "2,2,0": "ok", "10,1,6": "ok", "16,3,0": "ok",
    "2,3,1": "EPERM",  # raw
    "2,2,1": "EPERM",  # ping
    "17,3,0": "EPERM",  # packet
    "16,3,12": "EPROTONOSUPPORT",  # netfilter
    "16,3,15": "EPROTONOSUPPORT",  # uevent
    "38,5,0": "EAFNOSUPPORT",  # alg
    "40,1,0": "EAFNOSUPPORT",  # vsock
    "29,3,1": "EAFNOSUPPORT",  # can
    "44,3,0": "EAFNOSUPPORT",  # xdp
    "31,3,1": "EAFNOSUPPORT",  # bluetooth
}


@claim("filter-refused", "Calls that reach deep into the kernel are refused: tracing, bpf, perf, userfaultfd, io_uring, handles.",
       ["filter"])
def test_refused(probes):
    calls = ["bpf", "perf", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "name_to_handle",
             "open_by_handle", "fanotify_init", "lookup_dcookie", "modify_ldt", "migrate_pages", "move_pages", "kcmp"]
    all_are(probes.run("calls", calls), "EPERM")
    all_are(probes.run("calls", ["getpid", "personality_ask"]), "ok")
    assert probes.run("calls", ["landlock"])["landlock"] in ("ok", "EOPNOTSUPP")


@claim("filter-unknown", "A call that no policy line names is ENOSYS when the kernel's table does not have it, so that programs fall back.",
       ["filter"])
def test_unknown(probes):
    all_are(probes.run("calls", ["unknown", "clone3", "old_aio"]), "ENOSYS")


@claim("filter-foreign-abi", "32-bit and x32 calls end the process with SIGSYS.", ["filter"])
def test_foreign(probes):
    all_are(probes.run("calls", ["int80", "x32"]), "SIG31")


@claim("filter-personality", "A program cannot switch protections of its memory off by its personality.", ["filter"])
def test_personality(probes):
    expect(probes.run("calls", ["personality", "personality_ask"]), personality="EPERM", personality_ask="ok")


@claim("filter-sockets", "Sockets are unix, TCP and UDP, and netlink for asking addresses; the rest is refused as unknown.", ["filter"])
@pytest.mark.parametrize("ask", sorted(SOCKETS))
def test_sockets(probes, ask):
    assert probes.run("network", ["socket=" + ask]) == {"socket=" + ask: SOCKETS[ask]}


@claim("filter-network-setup", "The cell's network cannot be changed from inside.", ["filter", "capabilities"])
def test_network_setup(probes):
    expect(probes.run("network", ["interface_down", "interface=lo"]), interface_down="EPERM", interface="ok")


@claim("filter-denials", "A refused call of interest stands in the result: layer, action, rule, count and a hint.", ["filter"])
def test_denials(probes):
    cell = probes.cell("calls", ["unshare=10000000", "unshare=10000000", "bpf"])
    by_action = {d["action"]: d for d in cell.denials}
    assert by_action["unshare"]["layer"] == "seccomp" and by_action["unshare"]["count"] == 2, cell.describe()
    assert by_action["unshare"]["rule"] and by_action["unshare"]["hint"] and "bpf" in by_action, cell.describe()
    assert probes.cell("calls", ["getpid"]).denials == []


@claim("filter-compute", "Under the profile `compute` there is no socket and no program after the first.", ["filter"])
def test_compute(probes):
    got = probes.run("network", ["socket=2,1,0", "socket=1,1,0"], "--profile", "compute")
    assert set(got.values()) == {"EPERM"}, got
    said = python("import os\ntry:\n    os.execv('/bin/true', ['true'])\nexcept OSError as e:\n    print(e.errno)\n"
                  "print(sum(range(10)))", "--profile", "compute")
    assert said.stdout == "1\n45\n", said.describe()
    assert bash("/bin/true && echo ran").stdout == "ran\n"


@claim("filter-own-filter", "A program may lock itself in further, and what it adds cannot take anything away.", ["filter"])
def test_own_filter():
    # An allow-everything filter on top changes nothing.
    code = ("import ctypes, struct, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
            "insn = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))\n"
            "class P(ctypes.Structure):\n    _fields_ = [('n', ctypes.c_ushort), ('f', ctypes.c_void_p)]\n"
            "p = P(1, ctypes.addressof(insn))\nprint(libc.syscall(317, 1, 0, ctypes.byref(p)))\n"
            "print(libc.unshare(0x10000000), ctypes.get_errno())\n")
    assert python(code).stdout == "0\n-1 1\n"


@claim("filter-terminal", "Nothing can be typed into a terminal from inside.", ["filter"])
def test_terminal():
    code = ("import fcntl, os, pty\nm, s = pty.openpty()\n"
            "for cmd in (0x5412, 0x541C, 0x100005412):\n    try:\n        fcntl.ioctl(s, cmd & 0xffffffff, b'x')\n        print('ok')\n"
            "    except OSError as e:\n        print(e.errno)\n")
    assert run("--python", *wall(20), "-c", code).stdout == "1\n1\n1\n"
