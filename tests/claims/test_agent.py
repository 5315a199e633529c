"""Process 1 of the cell is out of the program's reach."""
import os

import ahead
from cell import all_are, bash, claim, landlock_abi, shares_uid, word

LAYERS = ["ids", "no_new_privs", "filter"]


@claim("agent-signals", "No signal of the program reaches the agent, by no call.", LAYERS + ["landlock"])
def test_signals(probes):
    attempts = ["kill=1", "stop=1", "tgkill=1", "queue=1", "signal_zero=1", "pidfd_kill=1"]
    cell = probes.cell("others", attempts + ["child_kill"])
    got = {a: word(x) for a, x in cell.said().items()}
    assert got.pop("child_kill") == "ok" and cell.status == "ok", cell.describe()
    if shares_uid() and landlock_abi() < 6:
        # Only the kernel's rule for process 1 is left: it gets no signal from inside that it does not handle.
        return
    all_are(got, "EPERM")


@claim("agent-memory", "The agent's memory cannot be read or written, and nobody can trace it.", LAYERS)
def test_memory(probes):
    all_are(probes.run("others", ["attach=1", "seize=1", "read_memory=1", "write_memory=1"]), "EPERM")
    all_are(probes.run("others", ["mem_read=1", "maps=1", "environ=1"]), "EACCES")
    # Where the file's owner is the program's own uid, the read-only mount of /proc answers; below a zygote it never is.
    is_owner = shares_uid() and ahead.START != "forked"
    all_are(probes.run("others", ["mem_write=1", "clear_refs=1", "oom_write=1"]), "EROFS" if is_owner else "EACCES")


@claim("agent-descriptors", "The agent's descriptors, root and program file cannot be opened through /proc, nor taken.", LAYERS)
def test_descriptors(probes):
    all_are(probes.run("others", ["fd_open=1", "root=1", "exe=1", "cwd=1"]), "EACCES")
    if not shares_uid():
        all_are(probes.run("others", ["fd_list=1"]), "EACCES")
    all_are(probes.run("others", ["steal_fd=1"]), "EPERM")


@claim("agent-id", "The agent's uid is neither root's nor the program's; where there is only one for both, the result says so.",
       ["ids"])
def test_id():
    uids = bash("sed -n 's/^Uid:\\t//p' /proc/1/status").stdout.split()
    assert uids == ["1000" if shares_uid() else "999"] * 4, uids


@claim("agent-limits", "The agent's limits, processors, scheduling and priority cannot be changed; a program's own can.", LAYERS)
def test_limits(probes):
    all_are(probes.run("others", ["prlimit_set=1", "affinity=1", "scheduler=1", "priority=1"]), "EPERM")
    all_are(probes.run("others", ["self_prlimit", "self_affinity"]), "ok")


@claim("agent-priority", "The agent of root's cells runs before their programs. These have the caller's own priority, and no way to the "
       "agent's.", ["priority", "program_priority", "limits"], needs=["root"])
def test_priority():
    own = os.getpriority(os.PRIO_PROCESS, 0)
    said = bash("cut -d' ' -f19 /proc/1/stat; nice; nice -n -1 nice 2>&1 | tail -1").stdout.split("\n")
    assert said[0] == str(max(own - 10, -20)) and said[1:3] == [str(own)] * 2, said


@claim("agent-own-memory", "A program's processes cannot trace or read each other either.", ["filter"])
def test_tracing(probes):
    all_are(probes.run("calls", ["ptrace_child", "kcmp", "process_madvise", "process_mrelease"]), "EPERM")
