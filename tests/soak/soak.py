#!/usr/bin/env python3
"""1,000 runs in a row and 50 at once leave groups, mounts, processes and files as they were; 1,000 runs in one process
leave that process's descriptors and memory as they were. Counts are of what carries our name or is this host's whole."""
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import time

SNAPCELL = os.environ.get("SNAPCELL", "snapcell")
MANY = os.path.join(os.environ.get("SNAPCELL_BUILD", "build"), "tests", "soak", "soak-many")
DEGRADED = os.environ.get("SNAPCELL_TEST_DEGRADED", "")
IN_A_ROW, AT_ONCE = 1000, 50
FOLDERS = ["/tmp", "/var/tmp", "/dev/shm", "/run", os.path.expanduser("~"), os.environ.get("XDG_RUNTIME_DIR", "/run")]


# Commands that were started here. On a machine that others use too, only what came of these is counted.
STARTED = set()
ALONE = os.environ.get("CI") == "true"


def groups():
    return sorted(os.path.join(folder, name) for folder, names, _ in os.walk("/sys/fs/cgroup") for name in names
                  if name.startswith("snapcell-") and (ALONE or int(name.split("-")[1]) in STARTED))


def processes():
    """Programs and helpers of cells that are still there: what has our name, in this session or of no living parent."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="latin-1") as f:
                name, rest = f.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        session = int(rest.split()[3])
        if name.startswith("snapcell") and (ALONE or session == os.getsid(0)):
            found.append(path)
    return found


def lines(path):
    with open(path, encoding="latin-1") as f:
        return f.read().count("\n")


def files():
    found = sorted(p for folder in set(FOLDERS) for p in glob.glob(folder + "/*snapcell*") + glob.glob(folder + "/.snapcell*"))
    return found if ALONE else [p for p in found if STARTED & {int(n) for n in re.findall(r"\d+", os.path.basename(p))}]


def snapshot():
    return {
        "groups": groups(),
        "mounts": lines("/proc/self/mountinfo"),
        "processes": len(processes()),
        "files": files(),
        "loop devices": sorted(glob.glob("/sys/block/loop*/loop")),
        "system V memory": lines("/proc/sysvipc/shm") if ALONE else 0,
    }


def line(*args):
    accept = ["--allow-degraded", DEGRADED] if DEGRADED else []
    return [SNAPCELL, "run", "--json"] + accept + list(args)


def one(index):
    """None, or what was wrong with a run."""
    word = "run-%d" % index
    status, out, err = start(line("--wall", "60s", "--", "/bin/echo", word))
    try:
        result = json.loads(out)
    except ValueError:
        return "run %d: exit %d, %r" % (index, status, err[-300:])
    if result["status"] != "ok" or result["stdout"] != word + "\n":
        return "run %d: %s" % (index, out[:500])
    return None


def start(command):
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    STARTED.add(child.pid)
    out, err = child.communicate()
    return child.returncode, out, err


def is_more(was, now):
    """Of lists: what was not there. What others left before us, and take away meanwhile, is no growth."""
    return now > was if isinstance(now, int) else bool(set(now) - set(was))


def settled(before):
    """What is more than before, after the dying have had three seconds."""
    end = time.monotonic() + 3
    while True:
        now = snapshot()
        grown = {k: (before[k], now[k]) for k in before if is_more(before[k], now[k])}
        if not grown or time.monotonic() > end:
            return grown
        time.sleep(0.1)


def stage(name, before, work):
    start = time.monotonic()
    wrong = [w for w in work() if w]
    grown = settled(before)
    print("%-20s %6.1f s, %d wrong" % (name, time.monotonic() - start, len(wrong)), flush=True)
    for text in wrong[:5]:
        print("  " + text)
    for key, (was, now) in grown.items():
        print("  %s: %s before, %s after" % (key, was, now))
    return not wrong and not grown


def many_in_one_process():
    status, out, err = start([MANY, str(IN_A_ROW), DEGRADED])
    return [None if status == 0 else "%s exit %d: %s%s" % (MANY, status, out, err)]


def at_once():
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(one, range(2 * AT_ONCE)))


def main():
    if os.getsid(0) != os.getpid():
        os.setsid()
    assert one(0) is None, one(0)
    before = snapshot()
    good = stage("%d in a row" % IN_A_ROW, before, lambda: [one(i) for i in range(IN_A_ROW)])
    good = stage("%d at once" % AT_ONCE, before, at_once) and good
    good = stage("%d in one process" % IN_A_ROW, before, many_in_one_process) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
