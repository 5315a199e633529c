"""Bash zygotes: preludes, what is refused, forks and how they are unlike each other."""
import os
import signal
import time

import pytest

import forks
import harness
from test_bash_runs import HANGS

SIBLINGS = 200


@pytest.fixture
def zygote(parent, tree):
    return zygote_in(parent, tree)


def zygote_in(parent, tree):
    return parent("bash", "--norc", "--noprofile", str(tree / "bash" / "runner.bash"), "--zygote")


def fork_of(zygote):
    assert zygote.serve() == {"op": "forkable"}
    return zygote.fork()


def test_a_fork_has_what_the_prelude_defined(zygote):
    assert zygote.prelude("import", "cat") == {"op": "prelude", "status": "ok", "error": None}
    code = "declare -A table=([a]=1); twice() { echo $((2 * $1)); }; shopt -s extglob; alias hi='echo hi'"
    assert zygote.prelude("code", code)["status"] == "ok"
    child = fork_of(zygote)
    assert child.ready == zygote.ready
    done = child.run("x=$(twice ${table[a]}); echo $x; hi")
    assert (done.status, done.stdout, done.locals) == ("ok", "2\nhi\n", {"x": "2"})
    assert zygote.hang_up() == 0


@pytest.mark.parametrize("kind, body, name, words", [
    ("import", "no-such-command", "NotFound", "no-such-command: no such command"),
    ("code", "if", "SyntaxError", "syntax error"),
    ("code", "(exit 3)", "ExitStatus", "exit status 3"),
    ("code", "a\0b", "SyntaxError", "null byte"),
])
def test_a_broken_prelude_is_told(zygote, kind, body, name, words):
    said = zygote.prelude(kind, body)
    assert (said["status"], said["error"]["name"]) == ("error", name)
    assert words in said["error"]["message"]


def test_options_of_a_prelude_are_for_the_code(zygote):
    assert zygote.prelude("code", "set -u")["status"] == "ok"
    assert zygote.prelude("code", "set -x; set -e; true")["status"] == "ok"
    child = fork_of(zygote)
    done = child.run("echo yes; set +x")
    assert (done.stdout, "+ echo yes\n" in done.stderr, "__snapcell" in done.stderr) == ("yes\n", True, False)
    done = child.run("false; echo NO")
    assert (done.status, done.exit_code, done.stdout) == ("exit", 1, "")


def test_an_ordinary_runner_takes_preludes_until_its_first_run(start, tree):
    runner = start("bash", "--norc", "--noprofile", str(tree / "bash" / "runner.bash"))
    runner.socket.sendall(b"prelude code 3\nx=1")
    assert runner.line() == {"op": "prelude", "status": "ok", "error": None}
    done = runner.run("echo $x; y=2")
    assert (done.stdout, done.locals) == ("1\n", {"y": "2"})
    runner.socket.sendall(b"prelude code 3\nx=1")
    with pytest.raises(harness.Gone):
        runner.line()


def test_a_zygote_has_no_runs(zygote):
    zygote.start("echo")
    assert zygote.process.wait(harness.PATIENCE_S) == 1


UNFORKABLE = {
    "a job": ("sleep 60 &", "other processes were started"),
    "a file": ("exec 7</etc/passwd", "descriptor 7 cannot be carried over: /etc/passwd"),
    "a coprocess": ("coproc cat", "other processes were started"),
}


@pytest.mark.parametrize("code, words", UNFORKABLE.values(), ids=UNFORKABLE)
def test_a_zygote_that_cannot_be_forked_says_why(zygote, code, words):
    assert zygote.prelude("code", code)["status"] == "ok"
    said = zygote.serve()
    assert said["op"] == "not_forkable"
    assert words in said["reason"]
    assert zygote.process.wait(harness.PATIENCE_S) == 0


@pytest.mark.parametrize("missing, words", [
    ("libsnapcell-fork.so", "libsnapcell-fork.so: cannot open"), ("snapcell-fork-bash.so", "cannot load the builtin"),
])
def test_what_is_missing_is_told(parent, tmp_path, missing, words):
    copy = forks.tree(tmp_path / "tree")
    os.unlink(copy / "fork" / missing)
    said = zygote_in(parent, copy).serve()
    assert said["op"] == "not_forkable"
    assert words in said["reason"]


@pytest.mark.parametrize("code", HANGS.values(), ids=HANGS)
def test_interrupts_of_a_fork(zygote, code):
    child = fork_of(zygote)
    run_id = child.start(code)
    child.wait_for_output("on")
    time.sleep(0.02)
    os.killpg(child.pid, signal.SIGINT)
    done = child.finish(run_id)
    assert (done.status, "NO" in done.stdout) == ("interrupted", False)
    assert child.run("echo well").stdout == "well\n"


def test_a_fork_is_a_whole_shell(zygote):
    child = fork_of(zygote)
    done = child.run("read line; echo $line; cat; sleep 0.01 & wait $!; echo $?; ls /proc/self/fd", stdin=b"one\ntwo\n")
    assert done.stdout.split() == ["one", "two", "0", "0", "1", "2", "3"]
    assert child.run("type snapcell_fork").status == "error"
    done = child.run("trap 'echo bye' EXIT; exit 4")
    assert (done.status, done.exit_code, done.stdout) == ("exit", 4, "bye\n")
    assert child.wait() == 4


# ---- siblings ----

RUN = 'echo "$RANDOM$RANDOM$RANDOM $SRANDOM$SRANDOM $(mktemp -u) $$ $BASHPID $(ps -o pgid= -p $$) $PPID $SECONDS $EPOCHSECONDS"'


@pytest.fixture(scope="module")
def siblings(tree, tmp_path_factory):
    def parent(*argv):
        return forks.Parent(list(argv), tmp_path_factory.mktemp("work"))
    zygote, told = zygote_in(parent, tree), []
    try:
        assert zygote.prelude("code", "RANDOM=1; x=$RANDOM$SRANDOM; SECONDS=1000")["status"] == "ok"
        assert zygote.serve() == {"op": "forkable"}
        for _ in range(SIBLINGS):
            child = zygote.fork()
            told.append((child.run(RUN).stdout.split(), child.pid, zygote.process.pid))
            zygote.drop(child)
    finally:
        zygote.close()
    return told


@pytest.mark.parametrize("row, place", [("RANDOM", 0), ("SRANDOM", 1), ("mktemp", 2), ("$$", 3)])
def test_siblings_differ(siblings, row, place):
    assert len({words[place] for words, _, _ in siblings}) == SIBLINGS


def test_a_sibling_is_a_process_of_its_own(siblings):
    for words, pid, zygote in siblings:
        assert words[3] == words[4] == words[5] == str(pid)
        assert words[6] != str(os.getppid()) and words[6] != str(zygote)


def test_time_goes_on(siblings):
    assert all(int(words[7]) < 900 for words, _, _ in siblings)
    times = [int(words[8]) for words, _, _ in siblings]
    assert times == sorted(times)


def test_the_step_is_not_needless(zygote):
    zygote.prelude("code", "RANDOM=1; __snapcell_go_apart() { :; }")
    zygote.serve()
    assert len({zygote.fork().run("echo $RANDOM").stdout for _ in range(3)}) == 1


def test_a_fork_that_cannot_go_apart_is_ended_before_any_run(zygote):
    zygote.prelude("code", "__snapcell_go_apart() { return 1; }")
    child = fork_of(zygote)
    assert child.ready == {"op": "not_forkable", "reason": "the numbers could not be begun anew"}
    assert child.wait() == 70
