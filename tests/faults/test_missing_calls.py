"""Kernels without an optional system call: a run fails in one line before the program starts, or does the documented
other thing; never quietly less, and nothing is left behind."""
import os
import json
import subprocess

import pytest

import cell
import conftest

# Numbers of x86-64. "works": there is another way, or only the program would use it, so the run must be whole; "fails":
# the run must be refused with exit 125 and one line; "either": whether it is met at all depends on the host's groups.
CALLS = {
    "clone3": (435, "fails"), "pidfd_open": (434, "fails"), "pidfd_send_signal": (424, "fails"), "close_range": (436, "fails"),
    "execveat": (322, "fails"), "memfd_create": (319, "fails"), "openat2": (437, "fails"), "open_tree": (428, "fails"),
    "move_mount": (429, "fails"), "fsopen": (430, "fails"), "fsconfig": (431, "fails"), "fsmount": (432, "fails"),
    "mount_setattr": (442, "fails"), "setns": (308, "fails"), "unshare": (272, "fails"), "landlock_create_ruleset": (444, "fails"),
    "landlock_add_rule": (445, "fails"), "landlock_restrict_self": (446, "fails"), "seccomp": (317, "fails"), "capset": (126, "fails"),
    "prlimit64": (302, "fails"), "signalfd4": (289, "fails"), "eventfd2": (290, "either"), "inotify_init1": (294, "either"),
    "epoll_pwait2": (441, "works"), "timerfd_create": (283, "works"), "getrandom": (318, "works"), "statx": (332, "works"),
    "copy_file_range": (326, "works"), "renameat2": (316, "works"), "faccessat2": (439, "works"), "process_madvise": (440, "works"),
    "pidfd_getfd": (438, "works"), "io_uring_setup": (425, "works"), "kcmp": (312, "works"), "rseq": (334, "works"),
}
PROGRAM = "print('it', 'ran', sep='-')"


@pytest.fixture(scope="session")
def nosys(tmp_path_factory):
    out = tmp_path_factory.mktemp("nosys") / "nosys"
    subprocess.run(["cc", "-O1", "-static", "-o", out, os.path.join(conftest.HERE, "nosys.c")], check=True)
    return str(out)


def groups_of(pid):
    return [os.path.join(d, n) for d, names, _ in os.walk("/sys/fs/cgroup") for n in names if n.startswith("snapcell-%d-" % pid)]


def run_without(nosys, number):
    """(pid, exit status, stdout, stderr) of a run on such a kernel."""
    line = cell.command("run", "--json", "--python", *cell.wall(20), "-c", PROGRAM)
    child = subprocess.Popen([nosys, str(number)] + line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    out, err = child.communicate(timeout=60 * cell.SCALE)
    return child.pid, child.returncode, out, err


@pytest.mark.parametrize("name", sorted(CALLS))
def test_missing(nosys, name):
    number, outcome = CALLS[name]
    pid, status, out, err = run_without(nosys, number)
    if outcome == "works" or outcome == "either" and status == 0:
        result = json.loads(out)
        assert (status, result["status"], result["stdout"]) == (0, "ok", "it-ran\n"), (out, err)
    else:
        assert status == 125 and "it-ran" not in out, (status, out, err)
        said = err or json.loads(out)["message"]
        assert said.strip() and said.strip().count("\n") == 0, said
    assert groups_of(pid) == []
