"""The switch that has the same claims proven in cells that were there before the program.

SNAPCELL_CLAIMS_START=started: cells that wait with an interpreter started in them; =forked: cells whose interpreter is a fork of
a zygote. The program of a claim then takes the interpreter's place by an exec, so that it stands where a request's code stands.
"""
import atexit
import json
import os
import subprocess
import tempfile
import time

START = os.environ.get("SNAPCELL_CLAIMS_START", "")
# keeper's options for each kind.
KEEPERS = {"started": ["--no-zygotes"], "forked": []}

# Claims, or one case of them, that are not about such cells, with the reasons.
NOT_HERE = {
    "deterministic-layout": "a deterministic run has a cell of its own, always cold",
    "end-artifacts": "artifacts are of runs in cells of their own",
    "end-covers[kill-agent]": "looks for the agent among snapcell's children; a keeper's cells have their agents below the keeper, or their zygote",
    "end-groups": "looks for groups named after its own snapcell; those of a keeper are the soak tests'",
    "filter-compute": "interpreters that wait start programs, which the profile compute does not allow",
    "ids-host": "looks for processes below its own snapcell; that ids of cells below a zygote differ is the unit test cell-fork's",
    "fs-directory-read-only": "a folder is mounted when a cell is made: such runs are always cold",
    "judge-build-read-only": "a judge's cells are never ahead",
    "judge-tests-apart": "a judge's cells are never ahead",
    "session-walls": "about commands of sessions",
    "warm-walls": "compares cells of both kinds by itself",
    "session-filter": "about commands of sessions",
    "session-servers": "about commands of sessions",
    "session-moves": "about commands of sessions",
    "session-crowd": "about commands of sessions",
    "session-apart": "about commands of sessions",
    "session-end": "about sessions",
}

FLAGS = {"--json", "--raw", "-v"}
# What a request brings to a cell that waits; all else is part of the cell's shape.
BROUGHT = {"--stdout", "--stderr", "--stdin", "--env", "--file"}
# Processor time, which follows the wall clock, is part of it where only processes by themselves can be limited.
if "cpu" not in os.environ.get("SNAPCELL_TEST_DEGRADED", "").split(","):
    BROUGHT |= {"--wall", "--cpu"}
# Slow machines (an emulated one) take this many times as long.
SOON_S = 60 * float(os.environ.get("SNAPCELL_TEST_SCALE", "1"))

_keeper = {}
# Runs so far in cells of the wanted kind; a claim that made none proved nothing here.
runs = 0


def keeper():
    """The socket of the keeper that all claims share."""
    if not _keeper:
        folder = tempfile.TemporaryDirectory(prefix="claims-")  # a socket's path must be short
        path = os.path.join(folder.name, "keeper.sock")
        process = subprocess.Popen([os.environ.get("SNAPCELL", "snapcell"), "keeper", "--socket", path, "--pool", "12", *KEEPERS[START]],
                                   stdin=subprocess.DEVNULL)
        _keeper.update(folder=folder, path=path, process=process)
        atexit.register(end_keeper)
        until = time.monotonic() + SOON_S
        while not os.path.exists(path):
            assert process.poll() is None and time.monotonic() < until, "the keeper does not serve"
            time.sleep(0.02)
    return _keeper["path"]


def end_keeper():
    _keeper["process"].terminate()
    _keeper["process"].wait(SOON_S)
    _keeper["folder"].cleanup()


def split(args):
    """ARGS of `snapcell run` → (options, language, argv of the program inside, files that it needs)."""
    args, options, language = [str(a) for a in args], [], None
    while args and args[0].startswith("-") and args[0] not in ("-c", "--"):
        name = args.pop(0)
        if name in ("--python", "--bash"):
            language = name[2:]
        elif name == "--language":
            language = args.pop(0)
        else:
            options += [name] if name in FLAGS or "=" in name else [name, args.pop(0)]
    if args[0] == "-c":
        return options, language, [{"python": "python3", "bash": "bash"}[language], *args], []
    if args[0] == "--":
        return options, "python", args[1:], []
    assert language == "native", args
    name = os.path.basename(args[0])
    return options, "python", ["./" + name, *args[1:]], ["--file", "%s:%s" % (args[0], name)]


def launcher(language, argv):
    """Code that becomes the program."""
    if language == "bash":
        return "exec " + " ".join("'%s'" % a.replace("'", "'\\''") for a in argv)
    # As whoever starts a program from Python does: what the interpreter ignores for itself is not for others.
    return ("import os, signal\nfor n in (signal.SIGXFSZ, signal.SIGPIPE): signal.signal(n, signal.SIG_DFL)\nos.execvp(%r, %r)"
            % (argv[0], argv))


def shape(options):
    """The options that make a cell's shape."""
    kept = [x for i, x in enumerate(options) if x not in BROUGHT and not (i and options[i - 1] in BROUGHT)]
    return [x for x in kept if x not in FLAGS]


def is_wanted(start):
    if START == "forked":
        return start["kind"] in ("warm", "fork") and "zygote_age_ms" in start
    return start["kind"] == "warm" and "zygote_age_ms" not in start


def line_of(snapcell, options, language, tail):
    return [snapcell, "run", "--warm", "--socket", keeper(), "--mode", "rich", *options, "--" + language, "-c", *tail]


def prime(snapcell, options, language):
    """Returns when a cell of this shape and kind has just been handed out, so that there are more."""
    kept = shape(options)
    until = time.monotonic() + SOON_S
    while True:
        ran = subprocess.run(line_of(snapcell, ["--json", *kept], language, [":" if language == "bash" else "1"]), capture_output=True,
                             stdin=subprocess.DEVNULL, check=False)
        try:
            start = json.loads(ran.stdout)["start"]
        except (ValueError, KeyError):
            raise AssertionError("exit %d: %s %s" % (ran.returncode, ran.stdout[-500:], ran.stderr[-500:])) from None
        if is_wanted(start):
            return
        assert time.monotonic() < until, "no cell of that kind: %s" % json.dumps(start)
        time.sleep(0.1)


def command(snapcell, args):
    """The command line that has the same program run in a cell of the wanted kind, which is there by now."""
    options, language, argv, files = split(args)
    prime(snapcell, options, language)
    count()
    # A cell that waits is there for the next, too, once the keeper was left alone for a moment.
    time.sleep(0.3 if START == "started" else 0)
    return line_of(snapcell, [*options, *files], language, [launcher(language, argv)])


def count():
    global runs
    runs += 1
