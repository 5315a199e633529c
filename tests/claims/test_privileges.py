"""Layer 3: capabilities, ids, no_new_privs."""
from cell import all_are, bash, claim, expect, python, shares_uid


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
def test_host_ids(tmp_path):
    import os
    import subprocess

    import cell
    fifo_free = [cell.command("run", "--json", "--bash", *cell.wall(20), "-c", "echo ready; exec sleep 30") for _ in range(2)]
    runs = [subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for line in fifo_free]
    try:
        found = {}
        for run in runs:
            found[run.pid] = sleeping_uids(run.pid, os)
        uids = [uid for group in found.values() for uid in group]
        assert all(len(g) == 1 for g in found.values()), found
        assert 0 not in uids and len(set(uids)) == 2, found
    finally:
        for run in runs:
            run.terminate()
            run.wait()


def sleeping_uids(ancestor, os, tries=200):
    """Host uids of the `sleep` below a process, once it is there."""
    import time
    for _ in range(tries):
        uids, parents, names = set(), {}, {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % pid, encoding="latin-1") as f:
                    text = f.read()
                parents[int(pid)] = int(text.rsplit(")", 1)[1].split()[1])
                names[int(pid)] = text[text.index("(") + 1:text.rindex(")")]
            except OSError:
                continue
        for pid, name in names.items():
            up = pid
            while up not in (0, 1, ancestor):
                up = parents.get(up, 0)
            if name == "sleep" and up == ancestor:
                try:
                    uids.add(os.stat("/proc/%d" % pid).st_uid)
                except OSError:
                    continue
        if uids:
            return uids
        time.sleep(0.05)
    return set()


@claim("ids-keys", "No kernel keyring can be used: they would cross cells of one uid.", ["filter"])
def test_keys(probes):
    all_are(probes.run("calls", ["add_key", "request_key", "keyctl"]), "EPERM")


@claim("ids-oom", "A program cannot protect itself from being killed when memory ends.", ["capabilities", "file system"])
def test_oom_score(probes):
    assert probes.run("calls", ["oom_score"])["oom_score"] in ("EROFS", "EACCES")
    assert bash("cat /proc/self/oom_score_adj").stdout.strip().lstrip("-").isdigit()
