"""The n-th allocation fails, for every n that a run reaches: the command line answers with one line and 125 (or does
without), is never ended by a signal, and leaves nothing behind."""
import json
import os
import signal
import subprocess

import pytest

import cell
import conftest

# No run needs so many; the loop ends where the n-th is not reached any more.
MOST = 20000


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    out = tmp_path_factory.mktemp("shim") / "shim.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", out, os.path.join(conftest.HERE, "shim.c")], check=True)
    return str(out)


def groups_of(pid):
    return [os.path.join(d, n) for d, names, _ in os.walk("/sys/fs/cgroup") for n in names if n.startswith("snapcell-%d-" % pid)]


def run_failing(shim, number, mark, line):
    """(reached, what was wrong or None)."""
    env = dict(os.environ, LD_PRELOAD=shim, SNAPCELL_FAIL_AT=str(number), SNAPCELL_FAIL_MARK=mark)
    child = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        out, err = child.communicate(timeout=30 * cell.SCALE)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
        return True, "allocation %d: hangs" % number
    reached = os.path.exists(mark)
    if reached:
        os.unlink(mark)
    said = "allocation %d: exit %d, stdout %r, stderr %r" % (number, child.returncode, out[-300:], err[-300:])
    # 1 is the doctor's word for a blocker: what it could not look at for want of memory counts as one.
    if child.returncode not in ((0, 1, 125) if "doctor" in line else (0, 125)):
        return reached, said
    if child.returncode == 125 and not (err.strip().count("\n") == 0 and err.strip() or out.startswith("{")):
        return reached, said
    if child.returncode == 0 and json.loads(out).get("status", "ok") != "ok":
        return reached, said
    if groups_of(child.pid):
        return reached, "allocation %d: left %s" % (number, groups_of(child.pid))
    return reached, None


@pytest.mark.parametrize("verb, tail", [
    ("run", [*cell.wall(20), "--", "/bin/true"]),
    ("run", [*cell.wall(20), "--mode", "rich", "--language", "python", "-c", "print(1)\n2"]),
    ("plan", ["--", "/bin/true"]),
    ("doctor", []),
], ids=["run", "run-rich", "plan", "doctor"])
def test_every_allocation(shim, tmp_path, verb, tail):
    line = cell.command(verb, "--json", *tail)
    wrong, number = [], 1
    while number < MOST:
        reached, trouble = run_failing(shim, number, str(tmp_path / "mark"), line)
        if trouble:
            wrong.append(trouble)
        if not reached:
            break
        number += 1
    assert number > 20, "only %d allocations: is the shim loaded?" % number
    assert not wrong, "%d of %d:\n%s" % (len(wrong), number, "\n".join(wrong[:10]))
