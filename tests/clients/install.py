#!/usr/bin/python3
"""Installs the clients that the tests drive, in the versions of package.json and requirements.txt, from their registries.

  tests/clients/install.py        prints the folder: node_modules/, older/GENERATION/node_modules/ (older.json) and venv/ are in it, and venv-3.N/ of the oldest and
                                  the newest Python that is there, in which only the Python SDK is tested

The folder is kept for the next time, named by what is asked for: $SNAPCELL_CLIENTS_CACHE/HASH, by default below
/var/tmp/snapcell-clients-UID. It is readable by everybody, so that tests of an ordinary user can run what is in it.
"""
import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys

NPM_INSTALL = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"]
HERE = os.path.dirname(os.path.abspath(__file__))
ASKED = ("package.json", "older.json", "requirements.txt", "constraints.txt", "requirements-sdk.txt")


def parent():
    folder = os.environ.get("SNAPCELL_CLIENTS_CACHE") or "/var/tmp/snapcell-clients-%d" % os.getuid()
    os.makedirs(folder, mode=0o755, exist_ok=True)
    st = os.lstat(folder)
    if st.st_uid != os.getuid() or st.st_mode & 0o022:
        sys.exit("%s: is not only ours; it must belong to uid %d and be written by nobody else" % (folder, os.getuid()))
    return folder


def name():
    digest = hashlib.sha256(sys.version.encode())
    for file in ASKED:
        with open(os.path.join(HERE, file), "rb") as f:
            digest.update(f.read())
    return digest.hexdigest()[:16]


def run(line, folder):
    done = subprocess.run(line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit("%s: ended with %d:\n%s" % (" ".join(line), done.returncode, done.stdout[-4000:]))


def other_interpreters():
    """{"3.9": path, …}: of Pythons that are there beside Debian's, by PATH or by pyenv."""
    found = {}
    root = shutil.which("pyenv") and subprocess.run(["pyenv", "root"], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    for minor in range(9, 20):
        name = "python3.%d" % minor
        for path in [shutil.which(name), *sorted(glob.glob("%s/versions/*/bin/%s" % (root, name)))]:
            if path and subprocess.run([path, "-c", "import venv"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
                found.setdefault("3.%d" % minor, path)
    return found


def fill_interpreters(folder):
    """Of the oldest that the SDK is for, and of the newest."""
    there = other_interpreters()
    versions = sorted(there, key=lambda version: int(version.partition(".")[2]))
    for version in {*versions[:1], *versions[-1:]}:
        path = there[version]
        run([path, "-m", "venv", "venv-" + version], folder)
        run(["venv-%s/bin/pip" % version, "install", "--quiet", "--disable-pip-version-check", "-r", "requirements-sdk.txt"], folder)


def fill_older(folder):
    """Packages of the same names in older versions, each generation in a folder of its own."""
    with open(os.path.join(HERE, "older.json"), encoding="utf-8") as f:
        generations = json.load(f)
    for name, packages in generations.items():
        place = os.path.join(folder, "older", name)
        os.makedirs(place)
        with open(os.path.join(place, "package.json"), "w", encoding="utf-8") as f:
            json.dump({"private": True, "dependencies": packages}, f)
        run(NPM_INSTALL, place)


def fill(folder):
    for file in ASKED:
        shutil.copy(os.path.join(HERE, file), folder)
    run(NPM_INSTALL, folder)
    fill_older(folder)
    run(["/usr/bin/python3", "-m", "venv", "venv"], folder)
    run(["venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt",
         "-r", "requirements-sdk.txt", "-c", "constraints.txt"], folder)
    fill_interpreters(folder)
    run(["chmod", "-R", "a+rX", "."], folder)


def main():
    os.umask(0o022)
    top = parent()
    folder = os.path.join(top, name())
    if not os.path.exists(os.path.join(folder, "complete")):
        shutil.rmtree(folder, ignore_errors=True)
        # A venv knows its own path: it is made where it stays, and marked when it is whole.
        os.makedirs(folder, mode=0o755)
        fill(folder)
        with open(os.path.join(folder, "complete"), "w", encoding="ascii"):
            pass
    print(folder)


if __name__ == "__main__":
    main()
