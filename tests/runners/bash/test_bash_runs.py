"""The Bash runner: one kept shell, its variables, errors, input, interrupts and ends."""
import os
import signal

import pytest

import harness

RUNNER = os.path.join(harness.RUNNERS, "bash", "runner.bash")
HANGS = {
    "a loop": "echo on; while :; do :; done; echo NO",
    "a loop of arithmetic": "echo on; for ((;;)); do ((y++)); done; echo NO",
    "a program": "echo on; sleep 1000; echo NO",
    "a pipeline": "echo on; sleep 1000 | cat; echo NO",
    "a subshell": "echo on; (while :; do :; done); echo NO",
    "a command substitution": "echo on; x=$(sleep 1000); echo NO",
    "functions in loops": "g() { while :; do for i in 1 2; do :; done; done; }; echo on; while :; do g; echo NO; done; echo NO",
    "recursion": "echo on; h() { sleep 0.01; h; echo NO; }; h; echo NO",
    "many loops": "echo on; " + "while :; do " * 20 + "sleep 0.01; " + "done; " * 20 + "echo NO",
    "a condition": "echo on; if sleep 1000; then echo NO; else echo NO; fi",
    "waiting": "sleep 1000 & echo on; wait; echo NO",
    "reading": "echo on; read x < <(sleep 1000); echo NO",
    "errexit": "set -e; echo on; sleep 1000; echo NO",
}


@pytest.fixture
def bash(start):
    return start("bash", "--norc", "--noprofile", RUNNER)


def interrupt(runner):
    """As the supervisor does it: the process group gets the signal."""
    os.killpg(runner.process.pid, signal.SIGINT)


def test_it_is_ready(bash):
    assert (bash.ready["op"], bash.ready["protocol"], bash.ready["language"]) == ("ready", 1, "bash")


@pytest.mark.parametrize("first, second, output", [
    ("x=1", "echo $x", "1\n"), ("cd /usr", "pwd", "/usr\n"), ("f() { echo f $1; }", "f 2", "f 2\n"),
    ("declare -A m=([a]=1); declare -i n=5", "n+=2; echo ${m[a]} $n", "1 7\n"), ("alias ll='echo LL'", "ll", "LL\n"),
    ("shopt -s extglob nullglob", "echo @(a|b)*.none; shopt -q extglob && echo on", "\non\n"), ("export E=1", "env | grep ^E=", "E=1\n"),
    ("exec 5>&1", "echo five >&5", "five\n"), ("set -o pipefail", "false | true; echo $?", "1\n"), ("set -u", "[[ $- == *u* ]] && echo on", "on\n"),
    ("set -f", "echo *", "*\n"), ("trap 'echo usr' USR1", "kill -USR1 $$; echo done", "usr\ndone\n"), ("set -- a b", "echo $#", "2\n"),
    ("IFS=:", "v=a:b; printf '%s,' $v", "a,b,"),
])
def test_the_shell_is_kept(bash, first, second, output):
    bash.run(first)
    done = bash.run(second)
    assert (done.stdout, done.stderr) == (output, "")


@pytest.mark.parametrize("code, status, exit_code", [
    ("true", "ok", 0), ("false", "error", 1), ("(exit 42)", "error", 42), ("nonsense-command", "error", 127), ("", "ok", 0),
    ("# nothing", "ok", 0), ("false; true", "ok", 0), ("kill -9 $BASHPID &\nwait $!", "error", 137),
])
def test_status_is_the_codes_own(bash, code, status, exit_code):
    done = bash.run(code)
    assert (done.status, done.exit_code, done.value) == (status, exit_code, None)
    if done.status == "error":
        assert done.error == {"name": "ExitStatus", "message": "exit status %d" % done.exit_code, "traceback": "", "line": None}


def test_messages_name_the_run_and_the_line(bash):
    bash.run("f() {\n  nonsense\n}")
    done = bash.run("\n# comment\nnonsense\ncat <<X\n$LINENO\nX\necho $LINENO $0")
    assert done.stderr == "<run 2>: line 3: nonsense: command not found\n"
    assert done.stdout.endswith("7 <run 2>\n")


@pytest.mark.parametrize("code, line, words", [
    ("echo ran\nif true; then\nfi", 3, "syntax error near unexpected token `fi'"), ("echo ran\necho 'a", 2, "unexpected EOF"),
    ("echo ran; )", 1, "syntax error near unexpected token `)'"), ("for", 1, "syntax error near unexpected token `newline'"),
    ("echo ran\nx=(", 2, "unexpected EOF"), ("echo ran\ncase x in", None, "syntax error: unexpected end of file"),
])
def test_syntax_errors_are_found_before_anything_runs(bash, code, line, words):
    done = bash.run(code)
    assert (done.status, done.exit_code, done.stdout, done.stderr) == ("syntax_error", 1, "", "")
    assert done.error["name"] == "SyntaxError" and done.error["message"].startswith(words)
    assert line is None or done.error["line"] == line
    assert done.error["traceback"].startswith("<run 1>: line ") and "set -n" not in done.error["traceback"]
    assert bash.run("echo fine").stdout == "fine\n"


@pytest.mark.parametrize("code", [
    "if", " while true", "time time fi", "echo \"", "echo \"$x\" \"", "x=1 y=(", "select", "coproc", "echo a[", "function", "done\n", "esac \"\"",
])
def test_words_alone_may_be_no_syntax_either(bash, code):
    """Lines of plain words are not parsed ahead; these are almost such lines."""
    done = bash.run(code)
    expected = ("ok", "a[\n", "") if code == "echo a[" else ("syntax_error", "", "")
    assert (done.status, done.stdout, done.stderr) == expected


def test_plain_words_are_no_syntax_error_whatever_was_set(bash):
    bash.run("set -uf; shopt -s extglob nocasematch; IFS=:; unset() { echo NO; }; alias begin='if true; then'")
    assert bash.run("begin").status == "syntax_error"
    bash.run("unalias begin; x='a  b'")
    for code in ('echo "$x" if', '  echo "$x" if\n', 'y=1 echo "$x" if', '"echo" "$x" "if"'):
        done = bash.run(code)
        assert (done.status, done.stdout, done.stderr) == ("ok", "a  b if\n", "")
    done = bash.run('"if"')
    assert (done.status, done.exit_code, done.stderr) == ("error", 127, "<run %d>: line 1: if: command not found\n" % 8)


def test_what_is_no_syntax_error(bash):
    assert bash.run("shopt -s extglob\n[[ ab == !(x) ]] && echo yes").stdout == "yes\n"
    assert bash.run("cat <<X\nunended").stdout == "unended\n"
    assert bash.run("alias begin='if true; then'\nbegin echo yes; fi").status in ("ok", "syntax_error")


def test_null_bytes_are_refused(bash):
    for code in (b"echo a\0b", b"\0\0", b"echo " + b"x" * 9000 + b"\0"):
        done = bash.run(code)
        assert (done.status, done.stdout) == ("syntax_error", "") and "null byte" in done.error["message"]
    assert bash.run("echo " + "x" * 100000).stdout == "x" * 100000 + "\n"
    assert bash.run(b"printf '%s' '\xc3\xa4\xff' | wc -c").stdout == "3\n"


def test_input(bash):
    for given in (b"a\0\n\xff", b"", None, b"\0" * 300000):
        assert bash.run("wc -c", stdin=given).stdout == "%d\n" % len(given or b"")
    assert bash.run("read a; echo [$a]; cat", stdin=b"1\n2\n").stdout == "[1]\n2\n"
    assert bash.run("read a || echo end").stdout == "end\n"


def test_locals(bash):
    done = bash.run(r"""text='a"\ 	'$'\n\x01'; number=5; list=(1 'b c'); declare -A map=([k]=v); _hidden=1; f() { :; }
        empty=; declare unset; long=$(printf '%05000d' 1); bad=$'\xff\xfe'; uni='äß€😀'; left=1 count=2 name=3 REPLY=4
        many=({1..5000}); declare -n ref=number""")
    assert done.locals.pop("long") == "0" * 4093 + "\u2026"
    assert set(done.locals.pop("bad")) == {"\ufffd"}
    assert done.locals.pop("many") == "(5000 elements)"
    done.locals.pop("ref", None), done.locals.pop("unset", None)
    assert done.locals == {"text": 'a"\\ \t\n\x01', "number": "5", "list": "([0]=1 [1]=b c)", "map": "([k]=v)", "empty": "",
                           "uni": "äß€😀", "left": "1", "count": "2", "name": "3"}
    cut = bash.run("euro=$(printf '\u20ac%.0s' {1..3000})").locals["euro"]
    assert cut.strip("\u20ac") == "\u2026" and len(cut.encode()) <= 4096
    lots = bash.run("printf -v w %02000d 1; for i in {1..2000}; do declare v$i=$w; done")
    assert len(lots.locals) <= 1000 and sum(map(len, lots.locals.values())) <= 1 << 20


def test_options_of_a_run_do_not_reach_the_runner(bash):
    assert bash.run("set -x; echo a").stderr == "++ echo a\n"
    assert bash.run("echo b").stderr == "++ echo b\n"
    assert bash.run("set +x; set -eu; IFS=; set -f -C").status == "ok"
    assert bash.run("x=1; shopt -s nocasematch failglob nullglob").locals == {"x": "1"}
    assert bash.run("echo still").stdout == "still\n"


def test_commands_that_a_run_redefines_do_not_reach_the_runner(bash):
    bash.run('for w in read printf trap set echo cd source break shopt test cat rm head; do builtin eval "$w() { :; }"; done')
    bash.run("eval() { :; }")
    assert bash.run("x=1", stdin=b"abc").locals["x"] == "1"


@pytest.mark.parametrize("code, exit_code, output", [
    ("exit 3", 3, ""), ("false; exit", 1, ""), ("f() { exit 4; }; while :; do f; done", 4, ""), ("set -e; echo a; false; echo NO", 1, "a\n"),
    ("set -u; echo $undefined; echo NO", None, ""), ("trap 'echo bye' EXIT; exit 5", 5, "bye\n"), ("exit 256", 0, ""),
])
def test_an_exit_ends_the_context(bash, code, exit_code, output):
    done = bash.run(code)
    assert (done.status, done.stdout) == ("exit", output)
    assert exit_code is None or done.exit_code == exit_code
    assert bash.process.wait(harness.PATIENCE_S) == done.exit_code


def test_exits_of_subshells_end_nothing(bash):
    done = bash.run("(exit 3); echo $?; x=$(exit 4); echo $?; exit 5 | cat; { exit 6; } & wait $!; echo $?")
    assert (done.status, done.stdout) == ("ok", "3\n4\n6\n")


@pytest.mark.parametrize("what", HANGS)
def test_interrupts(bash, what):
    bash.run("kept=1; keep() { echo kept; }")
    run = bash.start(HANGS[what])
    bash.wait_for_output("on\n")
    interrupt(bash)
    done = bash.finish(run)
    assert (done.status, done.exit_code) == ("interrupted", 130)
    assert "NO" not in done.stdout
    assert bash.run("echo $kept; keep; for i in 1 2; do echo $i; done").stdout == "1\nkept\n1\n2\n"


def test_interrupts_between_runs_do_nothing(bash):
    bash.run("x=1")
    for _ in range(5):
        interrupt(bash)
    assert bash.run("echo $x").stdout == "1\n"


def test_errexit_outlives_an_interrupt(bash):
    bash.run("set -e")
    test_interrupts(bash, "a loop")
    assert bash.run("false; echo NO").status == "exit"


def test_background_jobs_live_on_and_have_no_stream(bash):
    # Without job control bash has its jobs ignore SIGINT, once they are that far.
    bash.run("sleep 1000 & job=$!; until grep -q '^SigIgn:.*[67]$' /proc/$job/status; do :; done")
    interrupt(bash)
    assert bash.run("kill -0 $job && echo lives").stdout == "lives\n"
    assert bash.run("ls -l /proc/self/fd | grep -c socket; kill $job").stdout == "0\n"


def test_redirections_of_the_shell_stay(bash, work):
    bash.run("exec 6>&1 >out; echo one")
    bash.run("echo two")
    assert bash.run("exec >&6; echo three").stdout == "three\n"
    assert (work / "out").read_text() == "one\ntwo\n"


def test_hundreds_of_runs(bash):
    for i in range(200):
        assert bash.run("x=%d; echo $x" % i).stdout == "%d\n" % i


def test_environment_comes_with_a_run(bash):
    env = "A=1\0B=x=y $(id)\0C=\xe9\n\0E=\0".encode("latin-1")
    assert bash.run('echo "$A,$B,$E"; bash -c \'echo "$B"\'', env=env).stdout == "1,x=y $(id),\nx=y $(id)\n"
    assert bash.run('echo "$A"; [[ -v E ]] && echo set; printf %s "$C" | od -An -tx1').stdout == "1\nset\n e9 0a\n"


@pytest.mark.parametrize("env", [b"a[$(touch evil)]=1\0", b"1=2\0", b"A\0"])
def test_an_environment_that_is_none_ends_it(bash, env, work):
    with pytest.raises(harness.Gone):
        bash.run("echo 1", env=env)
    assert not (work / "evil").exists()


def test_the_end_of_the_stream_ends_it(bash):
    bash.run("x=1")
    assert bash.hang_up() == 0


def test_broken_requests_end_it(bash):
    bash.socket.sendall(b"run zz 1 - rich\n")
    with pytest.raises(harness.Gone):
        bash.line()
