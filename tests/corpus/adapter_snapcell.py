#!/usr/bin/env python3
"""Corpus adapter for Snapcell: one request → one `snapcell run --json`, or a session where an archive is to be unpacked →
one response (README.md has the contract).

The command comes from $SNAPCELL. $SNAPCELL_TEST_DEGRADED lists what the tester accepts to go without on this host
(`memory,cpu,cpus` for an ordinary user without a delegated group). Environment, descriptors and terminal are handed on
as a careless caller would: cleaning up is the product's work.
"""
import base64
import json
import os
import pty
import subprocess
import sys

import forks

STATUS = {
    "ok": "exited", "error": "exited", "syntax_error": "exited", "signaled": "signaled", "timeout": "timeout",
    "cpu_timeout": "cpu", "out_of_memory": "oom", "output_limit": "output_limit", "process_limit": "pids",
    "disk_limit": "disk", "blocked": "rejected", "cancelled": "error", "sandbox_error": "error",
}
LANGUAGES = {"python", "bash", "node", "java", "native"}
MODES = {"normal": [], "validated": [], "session": ["--mode", "rich"], "restricted": ["--mode", "restricted"]}
MIB = 1 << 20


def answer(**fields):
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        json.dump(fields, f)
    sys.exit(0)


def supported(req):
    if req["snapshot"] and not (req["snapshot"]["lang"] == "python" and forks.are_possible()):
        return False
    return req["network"]["mode"] in ("none", "allow") and req["lang"] in LANGUAGES


def mode_options(req):
    policy = req["policy"] or {}
    options = list(MODES[req["mode"]])
    if req["mode"] == "validated":
        options += ["--validate", "block"]
        options += [x for name in policy.get("deny_modules", []) for x in ("--deny-module", name)]
        options += [x for name in policy.get("deny_calls", []) for x in ("--deny-call", name)]
    return options


def limit_options(limits):
    disk = limits["disk_mb"] * MIB
    values = {
        "wall": "%dms" % limits["wall_ms"], "memory": "%dM" % limits["memory_mb"], "tasks": limits["pids"],
        "disk": disk, "tmp": disk, "disk-inodes": limits["inodes"], "tmp-inodes": limits["inodes"],
        "stdout": limits["stdout_bytes"], "stderr": limits["stderr_bytes"],
    }
    if "cpu_ms" in limits:
        values["cpu"] = "%dms" % limits["cpu_ms"]
    return [x for name, value in values.items() for x in ("--" + name, str(value))]


def command_line(req):
    snapcell = os.environ.get("SNAPCELL", "snapcell")
    options = limit_options(req["limits"])
    if os.environ.get("SNAPCELL_TEST_DEGRADED"):
        options += ["--allow-degraded", os.environ["SNAPCELL_TEST_DEGRADED"]]
    if req["snapshot"]:
        line = forks.command_line(req, options, snapcell)
    else:
        line = [snapcell, "run"] + options + mode_options(req)
    if req["network"]["mode"] == "allow":
        # The lab's origins lie in a range that is reserved for documents.
        line += ["--internal", "198.51.100.0/24"]
        line += [x for host in req["network"]["hosts"] for x in ("--allow", host)]
    for name, value in req["env"].items():
        line += ["--env", "%s=%s" % (name, value)]
    for item in req["files"]:
        os.chmod(item["host"], item["mode"])
        line += ["--file", "%s:%s" % (item["host"], item["path"])]
    for path in req["outputs"]:
        line += ["--out", "%s:%s" % (path, req["artifacts_dir"])]
    if req["stdin_b64"] is not None:
        with open("stdin.bin", "wb") as f:
            f.write(base64.b64decode(req["stdin_b64"]))
        line += ["--stdin", os.path.abspath("stdin.bin")]
    if req["snapshot"] and req["lang"] == "python" and req["argv"]:
        return line, ["--language", "python", with_arguments(req)]
    return line, ["--language", req["lang"], req["program"]] + req["argv"]


def with_arguments(req):
    """Code in a fork has no arguments: they stand in its first line."""
    path = os.path.abspath("with-arguments.py")
    with open(req["program"], "rb") as program, open(path, "wb") as f:
        f.write(b"import sys; sys.argv[1:] = %s\n" % ascii(req["argv"]).encode() + program.read())
    return path


def run(line):
    """(output, exit status, peak resident KiB) of the command line."""
    with open("cli.err", "w+b") as err:
        child = subprocess.Popen(line, stdin=None, stdout=subprocess.PIPE, stderr=err, close_fds=False)
        out = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        err.seek(0)
        trouble = err.read()
    return out, trouble, os.waitstatus_to_exitcode(status), usage.ru_maxrss


INTERPRETERS = {"python": ["python3"], "bash": ["bash"], "node": ["node"], "native": []}


def session(*words):
    return subprocess.run([os.environ.get("SNAPCELL", "snapcell"), "session", *words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def run_in_session(req):
    """The same as run, in a session into which the archive is unpacked first, with a keeper of its own."""
    os.mkdir("keeper", 0o700)
    os.environ["SNAPCELL_SOCKET"] = os.path.abspath("keeper/keeper.sock")
    # It closes its stderr as soon as it serves.
    keeper = subprocess.Popen([os.environ.get("SNAPCELL", "snapcell"), "keeper", "--detach"], stderr=subprocess.PIPE,
                              close_fds=False)
    try:
        trouble = keeper.stderr.read()
        return unpack_and_run(req) if not trouble else (b"", trouble, 125, 0)
    finally:
        keeper.terminate()
        keeper.wait(30)


def unpack_and_run(req):
    limits = limit_options(req["limits"])
    if os.environ.get("SNAPCELL_TEST_DEGRADED"):
        limits += ["--allow-degraded", os.environ["SNAPCELL_TEST_DEGRADED"]]
    started = session("start", *limits)
    if started.returncode:
        return started.stdout, started.stderr, started.returncode, 0
    name = started.stdout.decode().strip()
    program = "./" + os.path.basename(req["program"])
    try:
        for words in (["put", "--unpack", name, req["archive"]["host"]], ["put", name, req["program"]]):
            put = session(*words)
            if put.returncode:
                # The archive's members are at fault, or it is no archive: refused before anything ran.
                return put.stdout, put.stderr, 2 if put.returncode == 1 else put.returncode, 0
        return run([os.environ.get("SNAPCELL", "snapcell"), "session", "exec", "--json", name, "--",
                    *INTERPRETERS[req["lang"]], program, *req["argv"]])
    finally:
        session("end", name)


def human_view(line):
    """What a person at a terminal sees."""
    master, slave = pty.openpty()
    child = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave)
    os.close(slave)
    seen = b""
    while len(seen) < MIB:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
    child.wait()
    os.close(master)
    return seen.decode("utf-8", "replace")


def stream(result, name):
    if result.get(name + "_b64") is not None:
        return result[name + "_b64"]
    return base64.b64encode(result.get(name, "").encode()).decode()


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        req = json.load(f)
    if not supported(req):
        answer(status="unsupported")
    if not req["snapshot"] and forks.are_wanted(req):
        req["snapshot"] = forks.EMPTY
    if any("symlink" in item for item in req["files"]):
        answer(status="rejected", error="symbolic links cannot be asked for")
    if req["archive"]:
        out, trouble, code, peak_kib = run_in_session(req)
    else:
        try:
            head, tail = command_line(req)
        except forks.NoFork as why:
            answer(status="error", error=str(why))
        out, trouble, code, peak_kib = run(head + ["--json"] + tail)
    try:
        result = json.loads(out)
    except ValueError:
        # Exit 2 is bad usage: refused before anything was started.
        answer(status="rejected" if code == 2 else "error", error="exit %d, stderr %r, stdout %r" % (code, trouble[-500:], out[-200:]))
    if req["snapshot"] and (forks.age_ms(result) or -1) < req["snapshot"].get("age_ms", 0):
        answer(status="error", error="not in a fork of the template: %s" % result["start"])
    status = STATUS.get(result["status"], "error")
    fields = {"status": status, "error": result.get("message"), "supervisor_rss_mb": peak_kib / 1024}
    if result.get("exit_code") is not None:
        fields["exit_code"] = result["exit_code"]
    if result.get("signal"):
        fields["signal"] = result["signal"]
    for name in ("stdout", "stderr"):
        fields[name + "_b64"] = stream(result, name)
        fields[name + "_truncated"] = result[name + "_truncated"]
    if req["mode"] in ("session", "restricted"):
        fields["result"] = {name: result.get(name) for name in ("value", "locals", "displays", "error")}
    fields["wall_ms"] = result.get("usage", {}).get("wall_ms")
    if not req["archive"] and b"\x1b" in base64.b64decode(fields["stdout_b64"]):
        fields["cli_text"] = human_view(head + tail)
    answer(**fields)


if __name__ == "__main__":
    main()
