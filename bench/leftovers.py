"""What a bench may not leave behind: mounts, control groups, processes, files."""

import glob
import os


def _is_alive(pid):
    return os.path.exists(f"/proc/{pid}")


def _groups():
    """Groups are named snapcell-<pid of the maker>-…: one whose maker lives belongs to a run that is not over."""
    found = set()
    for top, folders, _ in os.walk("/sys/fs/cgroup"):
        for name in folders:
            words = name.split("-")
            if words[0] == "snapcell" and len(words) > 2 and not _is_alive(words[1]):
                found.add(os.path.join(top, name))
    return found


def _orphans():
    """Agents that outlived their supervisor."""
    found = set()
    for folder in glob.glob("/proc/[0-9]*"):
        try:
            if "snapcell-agent" not in os.readlink(folder + "/exe"):
                continue
            with open(folder + "/stat") as stat:
                if stat.read().rsplit(")", 1)[1].split()[1] == "1":
                    found.add(os.path.basename(folder))
        except OSError:
            pass  # it ended meanwhile, or is not ours to look at
    return found


def look():
    with open("/proc/self/mounts") as mounts:
        mounted = set(mounts.read().splitlines())
    return {"mount": mounted, "control group": _groups(), "orphaned agent": _orphans(),
            "file": set(glob.glob("/run/snapcell*/*"))}


def compare(before, after):
    return [f"{kind} {item}" for kind in before for item in sorted(after[kind] - before[kind])]
