#!/usr/bin/env python3
"""Holds the house's one direction: an include only points down.

Each folder below src/ may include headers of its own and of the folders named beside it here, nothing else. A folder
that is not in the table is an error, so that a new one has to say where it stands. Prints one line for each wrong
include and exits 1, else says how much it looked at.
"""
import os
import re
import sys

# folder: what it may include besides its own. Lowest floor first.
ALLOWED = {
    "base": [],
    "spec": ["base"],
    "host": ["base", "spec"],
    "plan": ["base", "spec", "host"],
    "result": ["base", "spec"],
    "agent": ["base"],
    "net": ["base", "spec", "host", "plan"],
    "cell": ["base", "spec", "host", "plan", "result", "agent", "net"],
    "snap": ["base", "spec", "host", "plan", "result", "agent", "cell"],
    "check": ["base"],
    "judge": ["base", "spec", "host", "plan", "result", "cell", "snap"],
    "keeper": ["base", "spec", "host", "plan", "result", "agent", "cell", "snap", "net", "check", "judge"],
    "gate": ["base", "spec", "result"],
    "api": ["base", "spec", "host", "plan", "result", "agent", "cell", "snap", "net", "check", "judge"],
    "cli": ["base", "spec", "host", "plan", "result", "agent", "cell", "snap", "net", "check", "judge", "keeper", "gate", "api"],
}
# Single headers of a folder that is otherwise closed to another: what both ends of a socket say.
SHARED = {"gate": {"keeper/wire.h"}}
# Who may use the public header: what implements it and what stands on top of it.
PUBLIC_HEADER = "snapcell.h"
PUBLIC_USERS = {"api", "cli"}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SOURCE = (".c", ".h", ".def", ".inc")


def sources(root):
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            if name.endswith(SOURCE):
                yield os.path.join(folder, name)


def judge(folder, target):
    """The complaint about one include, or None."""
    if target == PUBLIC_HEADER:
        return None if folder in PUBLIC_USERS else "only %s may use the public header" % ", ".join(sorted(PUBLIC_USERS))
    if ".." in target.split("/"):
        return "an include path never climbs"
    if "/" not in target:
        # Made by the build, or beside the file: both stay inside the folder.
        return None
    owner = target.split("/")[0]
    if target in SHARED.get(folder, ()):
        return None
    if owner == folder or owner in ALLOWED[folder]:
        return None
    if owner not in ALLOWED:
        return "no such folder in the table of tools/check_layers.py"
    return "%s may only use: %s" % (folder, ", ".join(ALLOWED[folder]) or "nothing")


def check(root):
    wrong, looked = [], 0
    for path in sources(root):
        folder = os.path.relpath(path, root).split(os.sep)[0]
        if folder not in ALLOWED:
            wrong.append("%s: folder %r is not in the table of tools/check_layers.py" % (path, folder))
            continue
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                found = INCLUDE.match(line)
                if not found:
                    continue
                looked += 1
                complaint = judge(folder, found.group(1))
                if complaint:
                    wrong.append("%s:%d: includes \"%s\": %s" % (path, number, found.group(1), complaint))
    return wrong, looked


def main():
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "src")
    wrong, looked = check(root)
    for line in wrong:
        print(line)
    print("layers: %d includes looked at, %d wrong" % (looked, len(wrong)))
    return 1 if wrong or not looked else 0


if __name__ == "__main__":
    sys.exit(main())
