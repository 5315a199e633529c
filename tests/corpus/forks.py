"""Runs of the corpus in forks of a template that has run its prelude: one keeper for each prelude, which stays for the next
runs of the same, in $SNAPCELL_CORPUS_KEEPERS. Who made that folder ends them with `end_all`."""
import contextlib
import fcntl
import hashlib
import json
import os
import signal
import subprocess
import time

PATIENCE_S = 60
PAUSE_S = 0.1
IDLE_EXIT = "60s"
# A run that changes nothing.
PROBE = ["--json", "--language", "python", "-c", "pass"]


# A template that loads nothing, for cases that are about something else.
EMPTY = {"lang": "python", "prelude": "pass"}


class NoFork(Exception):
    """No fork of the template was to be had."""


def are_possible():
    return "SNAPCELL_CORPUS_KEEPERS" in os.environ


def are_wanted(req):
    """Shall this case, which asks for no fork, run in one? With $SNAPCELL_CORPUS_START=forked all that can."""
    return (os.environ.get("SNAPCELL_CORPUS_START") == "forked" and are_possible() and req["lang"] == "python" and
            req["mode"] in ("normal", "session") and req["network"]["mode"] == "none" and not req["archive"] and not req["outputs"])


def start_keeper(home, snapshot, snapcell):
    template = {"language": snapshot["lang"], "prelude": {"code": snapshot["prelude"]}, "pool": {"idle": 1, "maximum": 4}}
    os.mkdir(os.path.join(home, "templates"))
    with open(os.path.join(home, "templates", "snapshot.json"), "w", encoding="utf-8") as f:
        json.dump(template, f)
    keeper = subprocess.Popen([snapcell, "keeper", "--detach", "--idle-exit", IDLE_EXIT, "--socket", os.path.join(home, "keeper.sock")],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              env=dict(os.environ, SNAPCELL_TEMPLATES=os.path.join(home, "templates")))
    trouble = keeper.stderr.read()  # it closes it as soon as it serves
    if trouble:
        raise NoFork(trouble.decode("utf-8", "replace"))
    with open(os.path.join(home, "pid"), "w", encoding="ascii") as f:
        f.write(str(keeper.pid))


@contextlib.contextmanager
def keeper_of(snapshot, snapcell):
    """The folder of the keeper that has, or now gets, this template."""
    name = hashlib.sha256(json.dumps(snapshot, sort_keys=True).encode()).hexdigest()[:12]
    home = os.path.join(os.environ["SNAPCELL_CORPUS_KEEPERS"], name)
    os.makedirs(home, mode=0o700, exist_ok=True)
    with open(os.path.join(home, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(os.path.join(home, "keeper.sock")):
            start_keeper(home, snapshot, snapcell)
    yield home


def age_ms(result):
    """How long ago the template's prelude had been run; None: not in a fork of it."""
    return result["start"].get("zygote_age_ms")


def command_line(req, options, snapcell):
    """The beginning of a command line whose run is in a fork of a template that is old enough."""
    snapshot = req["snapshot"]
    with keeper_of(snapshot, snapcell) as home:
        line = [snapcell, "run", "--warm", "--mode", "rich", "--socket", os.path.join(home, "keeper.sock"), "--template", "snapshot"] + options
        until = time.monotonic() + PATIENCE_S
        while True:
            probe = subprocess.run(line + PROBE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            result = json.loads(probe.stdout) if probe.returncode == 0 else None
            if result and (age_ms(result) or -1) >= snapshot.get("age_ms", 0):
                return line
            if time.monotonic() > until:
                raise NoFork("no fork after %d s: %s %s" % (PATIENCE_S, probe.stdout[-500:], probe.stderr[-500:]))
            time.sleep(PAUSE_S)


def end_all(folder):
    """Ends the keepers of this folder and waits until they are gone."""
    for name in os.listdir(folder):
        try:
            with open(os.path.join(folder, name, "pid"), encoding="ascii") as f:
                pid = int(f.read())
            os.kill(pid, signal.SIGTERM)
        except (OSError, ValueError):
            continue
        until = time.monotonic() + PATIENCE_S
        while os.path.exists(os.path.join(folder, name, "keeper.sock")) and time.monotonic() < until:
            time.sleep(PAUSE_S)
