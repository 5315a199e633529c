"""What a bench may not leave behind: mounts, control groups, processes, files."""

import glob
import os


def _groups():
    found = set()
    for top, folders, _ in os.walk("/sys/fs/cgroup"):
        found.update(os.path.join(top, name) for name in folders if name.startswith("snapcell-"))
    return found


def _processes():
    """Processes of cells: their program is an agent from a memfd, or they wait as zombies below this one."""
    found = set()
    for path in glob.glob("/proc/[0-9]*/comm"):
        try:
            with open(path) as comm:
                if "snapcell" in comm.read():
                    found.add(path.split("/")[2])
        except OSError:
            pass
    return found


def look():
    with open("/proc/self/mounts") as mounts:
        mounted = set(mounts.read().splitlines())
    return {"mount": mounted, "control group": _groups(), "process": _processes(),
            "file": set(glob.glob("/tmp/snapcell*") + glob.glob("/run/snapcell*/*"))}


def compare(before, after):
    return [f"{kind} {item}" for kind in before for item in sorted(after[kind] - before[kind])]
