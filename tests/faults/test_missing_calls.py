"""Kernels without an optional system call: a run fails in one line before the program starts, or does the documented
other thing; never quietly less, and nothing is left behind."""
import os
import json
import subprocess

import pytest

import cell
import conftest

# Numbers of x86-64. "works": there is a documented other way, so the run must be whole; "fails": the run must be
# refused with exit 125 and one line.
CALLS = {
    "pidfd_send_signal": (424, "works"), "pidfd_open": (434, "works"), "clone3": (435, "fails"), "close_range": (436, "works"),
    "openat2": (437, "fails"), "epoll_pwait2": (441, "works"), "mount_setattr": (442, "fails"), "open_tree": (428, "fails"),
    "move_mount": (429, "fails"), "fsopen": (430, "fails"), "fsconfig": (431, "fails"), "fsmount": (432, "fails"),
    "landlock_create_ruleset": (444, "fails"), "landlock_restrict_self": (446, "fails"), "seccomp": (317, "fails"),
    "memfd_create": (319, "fails"), "execveat": (322, "works"), "setns": (308, "fails"), "unshare": (272, "fails"),
    "prlimit64": (302, "works"), "getrandom": (318, "works"), "statx": (332, "works"), "copy_file_range": (326, "works"),
    "pidfd_getfd": (438, "works"), "signalfd4": (289, "works"), "timerfd_create": (283, "works"), "eventfd2": (290, "works"),
    "inotify_init1": (294, "works"), "capset": (126, "fails"), "process_madvise": (440, "works"), "faccessat2": (439, "works"),
    "renameat2": (316, "works"),
}
# Either answer is right where only the caller's kernel decides whether the call is met at all.
PROGRAM = "print(6 * 7)"


@pytest.fixture(scope="session")
def nosys(tmp_path_factory):
    out = tmp_path_factory.mktemp("nosys") / "nosys"
    subprocess.run(["cc", "-O1", "-static", "-o", out, os.path.join(conftest.HERE, "nosys.c")], check=True)
    return str(out)


def left_over():
    groups = [os.path.join(d, n) for d, names, _ in os.walk("/sys/fs/cgroup") for n in names if n.startswith("snapcell-")]
    files = [n for d in ("/tmp", "/dev/shm", "/run") for n in os.listdir(d) if n.startswith(("snapcell-cell", ".snapcell"))]
    with open("/proc/self/mountinfo", encoding="latin-1") as f:
        return sorted(groups), sorted(files), f.read().count("\n")


def run_without(nosys, number):
    line = cell.command("run", "--json", "--python", *cell.wall(20), "-c", PROGRAM)
    return subprocess.run([nosys, str(number)] + line, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60 * cell.SCALE, check=False)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_missing(nosys, name):
    number, outcome = CALLS[name]
    before = left_over()
    ran = run_without(nosys, number)
    if outcome == "works":
        result = json.loads(ran.stdout)
        assert (ran.returncode, result["status"], result["stdout"]) == (0, "ok", "42\n"), (ran.stdout, ran.stderr)
    else:
        assert ran.returncode == 125, (ran.returncode, ran.stdout, ran.stderr)
        assert "42" not in ran.stdout
        said = ran.stderr or json.loads(ran.stdout)["message"]
        assert said.strip() and said.strip().count("\n") == 0, said
    assert left_over() == before
