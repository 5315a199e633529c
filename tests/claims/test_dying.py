"""A cell that is being ended is as closed as one that runs: nothing comes off it before its last process is dead."""
import os
import signal
import subprocess

import pytest

from cell import claim, command, wall

# Holds /proc open, so that it needs no mount to find it again, and reads a covered file as fast as it can.
PEEPER = """
import os
proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
os.write(1, b"up\\n")
while True:
    try:
        fd = os.open("cmdline", os.O_RDONLY, dir_fd=proc)
        text = os.read(fd, 4096)
        os.close(fd)
        if text:
            os.write(1, b"LEAK")
    except OSError:
        pass
"""


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(child) for child in f.read().split()]


@claim("end-covers", "While a cell is being ended, by cancelling, by killing snapcell or by killing its process 1, what is covered "
       "in /proc stays covered for as long as any process of it runs.", ["proc", "end"])
@pytest.mark.parametrize("how", ["cancel", "kill-supervisor", "kill-agent"])
def test_covers_outlast_the_program(how):
    for _ in range(20):
        child = subprocess.Popen(command("run", *wall(60), "--python", "-c", PEEPER), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert child.stdout.readline() == b"up\n"
        if how == "cancel":
            child.send_signal(signal.SIGTERM)
        elif how == "kill-supervisor":
            child.kill()
        else:
            agents = [p for p in children_of(child.pid) if open("/proc/%d/cmdline" % p).read() == "init\0"]
            assert len(agents) == 1
            os.kill(agents[0], signal.SIGKILL)
        out, _ = child.communicate()
        assert b"LEAK" not in out
