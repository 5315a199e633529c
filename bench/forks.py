#!/usr/bin/env python3
"""Forks of one Node zygote, one after another, each with another piece of work: the proof that an unmodified Node bears it.

    bench/forks.py [--forks 5000] [--build DIR] [--node PROGRAM] [--modules FOLDER]

FOLDER holds `node_modules`: what is there of better-sqlite3, sharp and @node-rs/bcrypt has its native code loaded before the forks,
and used in them. Forks are made outside of cells (tests/runners/forks.py), so that what fails is Node. Says
how many were right, and the median and 99th percentile of the time from an order to `ready`. Exits 1 unless all were right.
"""
import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
ADDONS = {
    "better-sqlite3": """
        const Database = require('better-sqlite3'); const db = new Database(':memory:');
        db.exec('create table t (n integer)'); const add = db.prepare('insert into t values (?)');
        for (let i = 0; i < 1000; i++) add.run(i);
        if (db.prepare('select sum(n) s from t').get().s === 499500) console.log('better-sqlite3')""",
    "sharp": """
        const sharp = require('sharp');
        const made = await sharp({ create: { width: 64, height: 64, channels: 3, background: 'red' } }).resize(8).png().toBuffer();
        if (made.length > 50) console.log('sharp')""",
    "@node-rs/bcrypt": """
        const { hash, verify } = require('@node-rs/bcrypt');
        if (await verify('word', await hash('word', { cost: 4 }))) console.log('@node-rs/bcrypt')""",
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forks", type=int, default=5000)
    parser.add_argument("--build", default=str(TOP / "build"))
    parser.add_argument("--node", default="node")
    parser.add_argument("--modules")
    return parser.parse_args()


def zygote_in(forks, tree, work, node):
    shim = str(tree / "fork" / "libsnapcell-nodefork.so")
    return forks.Parent([node, "--single-threaded", "--v8-pool-size=0", str(tree / "node" / "runner.js"), "--zygote"], work,
                        dict(os.environ, LD_PRELOAD=shim, UV_USE_IO_URING="0"))


def measure(forks, harness, zygote, work, count):
    """Milliseconds of each fork, and what went wrong."""
    times, wrong = [], []
    for number in range(count):
        name = list(work)[number % len(work)]
        began = time.monotonic()
        child = None
        try:
            child = zygote.fork()
            times.append(1000 * (time.monotonic() - began))
            done = child.run("{" + work[name] + "}")
            if (done.status, done.stdout) != ("ok", name + "\n"):
                wrong.append("%d %s: %s %s %s" % (number, name, done.status, done.error, done.stderr))
        except (forks.Refused, harness.Gone, AssertionError) as trouble:
            wrong.append("%d %s: %s" % (number, name, trouble))
        finally:
            if child is not None:
                zygote.drop(child)
    return times, wrong


def main():
    args = arguments()
    os.environ["SNAPCELL_BUILD"] = args.build
    sys.path[:0] = [str(TOP / "tests" / "runners"), str(TOP / "tests" / "runners" / "node")]
    sys.dont_write_bytecode = True
    import forks
    import harness
    import test_node_forks as tests
    work = dict(tests.WORK)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="forks-"))
    try:
        tree, cwd = forks.tree(folder / "snapcell"), folder / "work"
        cwd.mkdir()
        zygote = zygote_in(forks, tree, cwd, args.node)
        if args.modules:
            (cwd / "node_modules").symlink_to(pathlib.Path(args.modules).resolve() / "node_modules")
        addons = [name for name in ADDONS if args.modules and os.path.isdir(os.path.join(args.modules, "node_modules", name))]
        for name in addons:
            said = zygote.prelude("import", name)
            assert said["status"] == "ok", said
            work[name] = ADDONS[name]
        said = zygote.serve()
        if said != {"op": "forkable"}:
            sys.exit("not forkable: %s" % said["reason"])
        times, wrong = measure(forks, harness, zygote, work, args.forks)
        zygote.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    times = sorted(times) or [0]
    for line in wrong[:20]:
        print("wrong: %s" % line)
    print("node %s%s: %d of %d forks were right; to ready: median %.1f ms, p99 %.1f ms" % (
        zygote.ready["version"], "".join(", " + name for name in addons), args.forks - len(wrong), args.forks, times[len(times) // 2], times[len(times) * 99 // 100]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
