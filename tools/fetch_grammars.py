#!/usr/bin/env python3
"""Brings the grammars that the checker is built with: fetch_grammars.py OUT.

The generated parsers come as npm packages, through npm as it is set up here, each held to a version and a checksum.
They are kept in a cache (SNAPCELL_GRAMMAR_CACHE, else the user's cache folder), so that one fetch serves every build,
and unpacked into OUT/NAME. Nothing of a package is run. Newer versions must keep a parser version that the packaged
tree-sitter library loads (13 or 14), and a scanner in C.
"""
import base64
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile

# package, version, sha512 of the package file
GRAMMARS = [
    ("tree-sitter-python", "0.23.6",
     "yIM9z0oxKIxT7bAtPOhgoVl6gTXlmlIhue7liFT4oBPF/lha7Ha4dQBS82Av6hMMRZoVnFJI8M6mL+SwWoLD3A=="),
    ("tree-sitter-javascript", "0.23.1",
     "/bnhbrTD9frUYHQTiYnPcxyHORIw157ERBa6dqzaKxvR/x3PC4Yzd+D1pZIMS6zNg2v3a8BZ0oK7jHqsQo9fWA=="),
    ("tree-sitter-typescript", "0.23.2",
     "e04JUUKxTT53/x3Uq1zIL45DoYKVfHH4CZqwgZhPg5qYROl5nQjV+85ruFzFGZxu+QeFVbRTPDRnqL9UbU4VeA=="),
    ("tree-sitter-bash", "0.23.3",
     "36cg/GQ2YmIbeiBeqeuh4fBJ6i4kgVouDaqTxqih5ysPag+zHufyIaxMOFeM8CeplwAK/Luj1o5XHqgdAfoCZg=="),
]
WANTED = (".c", ".h", "LICENSE")


def cache_folder():
    return os.environ.get("SNAPCELL_GRAMMAR_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "snapcell", "grammars")


def is_right(path, checksum):
    try:
        with open(path, "rb") as file:
            return base64.b64encode(hashlib.sha512(file.read()).digest()).decode() == checksum
    except OSError:
        return False


def fetch(package, version, checksum, cache):
    """Path of the package file, fetched if the cache does not have it."""
    kept = os.path.join(cache, "%s-%s.tgz" % (package, version))
    if is_right(kept, checksum):
        return kept
    os.makedirs(cache, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        got = os.path.join(folder, os.path.basename(kept))
        try:
            subprocess.run(["npm", "pack", "--loglevel=error", "--ignore-scripts", "%s@%s" % (package, version)],
                           cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=300)
        except (OSError, subprocess.SubprocessError) as error:
            sys.exit("grammars: %s %s cannot be fetched: %s (npm is needed once; set SNAPCELL_GRAMMAR_CACHE to a "
                     "folder that has the package files to build without)" % (package, version, error))
        if not is_right(got, checksum):
            sys.exit("grammars: %s %s is not the package it was: its checksum differs" % (package, version))
        os.replace(got, kept)
    return kept


def unpack(path, folder, stamp):
    """The C files, under the names they have in the package."""
    with tarfile.open(path) as archive:
        for member in archive:
            parts = member.name.split("/")[1:]
            if not member.isfile() or not member.name.endswith(WANTED) or ".." in parts or \
                    parts[0] in ("bindings", "node_modules", "examples"):
                continue
            target = os.path.join(folder, *parts)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(archive.extractfile(member).read())
    with open(os.path.join(folder, ".version"), "w", encoding="utf-8") as file:
        file.write(stamp)


def main():
    out = sys.argv[1]
    for package, version, checksum in GRAMMARS:
        folder = os.path.join(out, package.removeprefix("tree-sitter-"))
        stamp = "%s %s" % (version, checksum)
        try:
            with open(os.path.join(folder, ".version"), encoding="utf-8") as file:
                if file.read() == stamp:
                    continue
        except OSError:
            pass
        unpack(fetch(package, version, checksum, cache_folder()), folder, stamp)


if __name__ == "__main__":
    main()
