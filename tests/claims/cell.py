"""Runs things in a cell through the command line, and the words that claims are written in."""
import ctypes
import errno
import fnmatch
import functools
import json
import os
import subprocess

import ahead

HERE = os.path.dirname(os.path.abspath(__file__))
SNAPCELL = os.environ.get("SNAPCELL", "snapcell")
# What this host lacks for this user, accepted so that the rest can be tested: "memory,cpu,cpus".
DEGRADED = [x for x in os.environ.get("SNAPCELL_TEST_DEGRADED", "").split(",") if x]
# Slow machines (an emulated one) take this many times as long.
SCALE = float(os.environ.get("SNAPCELL_TEST_SCALE", "1"))
ROOT = os.geteuid() == 0
# A cell that waited may be gone again when it is asked for, and the run is made in another kind of cell: once more then.
ATTEMPTS = 30


def claim(identity, sentence, layers, needs=()):
    """Marks a test as the proof of one promise. tools/gen_claims.py writes docs/claims.md from these.

    `needs`: what has to be there for the claim to be made at all, of "memory", "cpu", "cpus" (not degraded on this
    host), "apparmor", "root", "disk" (io limits can be set), "landlock6" (Linux 6.12).
    """
    def mark(test):
        test.claim = {"id": identity, "sentence": sentence, "layers": layers, "needs": list(needs)}
        return test
    return mark


def has_limited_disk():
    """Whether a plan with an io limit is accepted: not where the host's files lie on no block device."""
    return subprocess.run(command("plan", "--io-write", "1M", "--", "true"), capture_output=True, check=False).returncode == 0


def selected(identity, patterns):
    return any(fnmatch.fnmatchcase(identity, p) for p in patterns.split(","))


class Cell:
    """What one run came to."""

    def __init__(self, line, ran):
        self.line, self.code, self.errors = line, ran.returncode, ran.stderr.decode("utf-8", "replace")
        try:
            self.result = json.loads(ran.stdout)
        except ValueError:
            raise AssertionError("no result from %s\nexit %d\nstdout %r\nstderr %s" % (
                " ".join(map(str, line)), ran.returncode, ran.stdout[:500], self.errors)) from None

    def __getattr__(self, name):
        return self.result[name]

    def said(self):
        """The JSON object that a probe printed."""
        try:
            return json.loads(self.result["stdout"])
        except ValueError:
            raise AssertionError("the probe did not finish: %s" % self.describe()) from None

    def describe(self):
        return "%s\n%s" % (" ".join(map(str, self.line)), json.dumps(self.result, indent=1)[:3000])


def command(verb, *args):
    line = [SNAPCELL, verb]
    if DEGRADED and verb in ("run", "plan", "shell", "judge"):
        line += ["--allow-degraded", ",".join(DEGRADED)]
    if verb == "run" and ahead.START:
        return ahead.command(SNAPCELL, [*line[2:], *args])
    return line + [str(a) for a in args]


def run(*args, stdin=None, timeout=60, env=None, **more):
    """`snapcell run --json ARGS…` → Cell. Raises when there was no result."""
    for _ in range(ATTEMPTS):
        line = command("run", "--json", *args)
        ran = subprocess.run(line, input=stdin, stdin=subprocess.DEVNULL if stdin is None else None, capture_output=True,
                             timeout=timeout * SCALE, env=dict(os.environ, **(env or {})), check=False, **more)
        cell = Cell(line, ran)
        if not ahead.START or ahead.is_wanted(cell.start):
            return cell
    raise AssertionError("no cell of that kind: %s" % cell.describe())


def wall(seconds):
    """Options for a wall clock that only a hang reaches."""
    return ["--wall", "%gs" % (seconds * SCALE)]


def bash(code, *args, **more):
    return run("--bash", *wall(20), *args, "-c", code, **more)


def python(code, *args, **more):
    return run("--python", *wall(20), *args, "-c", code, **more)


@functools.lru_cache
def shares_uid():
    """Rootless without a subordinate id, agent and program have one uid; results say so."""
    return run("--", "/bin/true").result.get("agent_shares_uid", False)


@functools.lru_cache
def landlock_abi():
    """Landlock's version on this host, asked of the kernel."""
    return ctypes.CDLL(None).syscall(444, None, 0, 1)


class Probes:
    """The static programs of probes/, built once a session."""

    def __init__(self, folder):
        self.folder = str(folder)

    def path(self, name):
        out = os.path.join(self.folder, name)
        if not os.path.exists(out):
            subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-Wall", "-static", "-pthread", "-o", out,
                            os.path.join(HERE, "probes", name + ".c")], check=True)
        return out

    def run(self, name, attempts, *options, **more):
        """Runs attempts in a cell → {attempt: answer}, the answers as words (see word())."""
        cell = self.cell(name, attempts, *options, **more)
        return {attempt: word(answer) for attempt, answer in cell.said().items()}

    def cell(self, name, attempts, *options, **more):
        return run("--language", "native", *wall(20), *options, self.path(name), *attempts, **more)


def word(answer):
    """0 → "ok", an errno → its name, a signal → "SIG31"."""
    if answer == 0:
        return "ok"
    return "SIG%d" % -answer if answer < 0 else errno.errorcode.get(answer, str(answer))


def expect(answers, **wanted):
    """Compares {attempt: word} with wanted; names in `wanted` are attempts up to their "="."""
    got = {a.split("=")[0]: w for a, w in answers.items()}
    assert got == wanted, "\ngot    %s\nwanted %s" % (got, wanted)


def all_are(answers, wanted):
    wrong = {a: w for a, w in answers.items() if w != wanted}
    assert answers and not wrong, "wanted %s, got %s" % (wanted, wrong)
