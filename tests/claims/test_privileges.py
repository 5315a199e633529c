"""Layer 3: capabilities, ids, no_new_privs."""
import os
import subprocess
import time

from cell import SCALE, all_are, bash, claim, command, expect, python, shares_uid, wall


@claim("capabilities-none", "Every privileged action is refused, whichever way it is asked for.", ["capabilities", "filter"])
def test_privileged(probes):
    calls = ["settimeofday", "clock_settime", "adjtimex", "swapon", "swapoff", "init_module", "finit_module",
             "delete_module", "iopl", "ioperm", "acct", "reboot", "syslog", "kexec_load", "kexec_file_load", "quotactl",
             "quotactl_fd", "open_by_handle", "fanotify_init", "vhangup", "realtime"]
    all_are(probes.run("calls", calls), "EPERM")
    expect(probes.run("calls", ["nice", "nicer", "getpid"]), nice="EACCES", nicer="ok", getpid="ok")
    # uid 0 does not exist in the cell's user namespace; the agent's does, where it has one of its own.
    agents = "EINVAL" if shares_uid() else "EPERM"
    expect(probes.run("paths", ["create=/tmp/f", "chown_root=/tmp/f", "chown_agent=/tmp/f", "chown_self=/tmp/f"]),
           create="ok", chown_root="EINVAL", chown_agent=agents, chown_self="ok")


@claim("capabilities-bounding", "No capability can come back by executing a program: the bounding set is empty.", ["capabilities"])
def test_bounding():
    said = python("import ctypes\nlibc = ctypes.CDLL(None)\n"
                  "print([c for c in range(40) if libc.prctl(23, c, 0, 0, 0) == 1], libc.prctl(39, 0, 0, 0, 0))")
    assert said.stdout == "[] 1\n", said.describe()


@claim("capabilities-files", "Files of other users in a cell stay closed to its program.", ["capabilities", "ids"])
def test_other_files(probes):
    all_are(probes.run("others", ["mem_read=1", "maps=1"]), "EACCES")


@claim("privileges-no-new", "no_new_privs is set: set-id bits and file capabilities are dead, and it cannot be unset.",
       ["no_new_privs"])
def test_no_new_privileges():
    said = python("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
                  "r = libc.prctl(38, 0, 0, 0, 0)\nprint(libc.prctl(39, 0, 0, 0, 0), r, ctypes.get_errno())")
    assert said.stdout == "1 -1 22\n", said.describe()


@claim("ids-program", "The program is uid and gid 1000 everywhere, in no other group, and cannot become anybody else.", ["ids"])
def test_program_ids(probes):
    said = python("import os\nprint(os.getresuid(), os.getresgid(), os.getgroups())\n"
                  "s = os.stat('/home/user')\nprint(s.st_uid, s.st_gid)")
    lines = said.stdout.splitlines()
    assert lines[0] in ("(1000, 1000, 1000) (1000, 1000, 1000) []", "(1000, 1000, 1000) (1000, 1000, 1000) [1000]"), lines
    assert lines[1] == "1000 1000"
    agents = "EINVAL" if shares_uid() else "EPERM"
    got = probes.run("calls", ["setuid_root", "setgid_root", "setresuid_agent", "setgroups", "setuid_self"])
    expect(got, setuid_root="EINVAL", setgid_root="EINVAL", setresuid_agent=agents, setgroups="EPERM", setuid_self="ok")


@claim("ids-host", "On the host a cell's processes are never uid 0; as root every living cell has a uid of its own.", ["ids"],
       needs=["root"])
def test_host_ids():
    line = command("run", "--json", *wall(20), "--bash", "-c", "exec sleep 30")
    runs = [subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for _ in range(2)]
    try:
        owners = [cell_uids(run.pid) for run in runs]
        # In each: the agent under one id, the program under another; none shared, none root's.
        assert all(len(o) == 2 and 0 not in o for o in owners) and not set(owners[0]) & set(owners[1]), owners
    finally:
        for run in runs:
            run.terminate()
            run.wait()


def cell_uids(ancestor):
    """Host uids of the processes below `ancestor` that are in a pid namespace of their own, once `sleep` is there."""
    end = time.monotonic() + 15 * SCALE
    while time.monotonic() < end:
        table = {int(pid): status_of(pid) for pid in filter(str.isdigit, os.listdir("/proc"))}
        below = [s for pid, s in table.items() if s and descends(pid, ancestor, table) and len(s["NSpid"].split()) > 1]
        if any(s["Name"] == "sleep" for s in below):
            return sorted({int(s["Uid"].split()[0]) for s in below})
        time.sleep(0.05)
    return []


def status_of(pid):
    try:
        with open("/proc/%s/status" % pid, encoding="latin-1") as f:
            return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
    except OSError:
        return None


def descends(pid, ancestor, table):
    while pid not in (0, ancestor):
        pid = int(table[pid]["PPid"]) if table.get(pid) else 0
    return pid == ancestor


@claim("ids-keys", "No kernel keyring can be used: they would cross cells of one uid.", ["filter"])
def test_keys(probes):
    all_are(probes.run("calls", ["add_key", "request_key", "keyctl"]), "EPERM")


@claim("ids-oom", "A program cannot protect itself from being killed when memory ends.", ["capabilities", "file system"])
def test_oom_score(probes):
    assert probes.run("calls", ["oom_score"])["oom_score"] in ("EROFS", "EACCES")
    assert bash("cat /proc/self/oom_score_adj").stdout.strip().lstrip("-").isdigit()
