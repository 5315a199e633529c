"""Reading code first: `snapcell check`, and the first step of `snapcell run`."""
import json
import os
import time

import pytest

BAD = "x = 1\n\nimport subprocess\nprint('ran')\n"


def check(cli, *args, **more):
    """`snapcell check --json`: the report and the exit status."""
    done = cli("check", *cli.accept, "--json", *args, **more)
    assert done.stderr == b"", done.stderr
    return json.loads(done.stdout), done.returncode


def test_report(cli, tmp_path):
    (tmp_path / "a.py").write_text(BAD)
    report, status = check(cli, "a.py")
    assert (report["allowed"], status) == (False, 1)
    [finding] = report["findings"]
    assert finding["rule"] == "process-start" and finding["severity"] == "error" and finding["name"] == "subprocess"
    assert (finding["line"], finding["column"], finding["snippet"]) == (3, 8, "import subprocess")
    assert finding["message"] and finding["advice"]


def test_nothing_is_found(cli):
    assert check(cli, "--python", "-c", "print(sum(range(10)))") == ({"allowed": True, "findings": []}, 0)
    assert check(cli, "--bash", "-c", "") == ({"allowed": True, "findings": []}, 0)


def test_text(cli, tmp_path):
    (tmp_path / "a.py").write_text(BAD)
    done = cli("check", *cli.accept, "a.py")
    assert done.stdout.decode().startswith("a.py:3:8: error: Starts another process. [process-start]\n")
    assert (done.stderr, done.returncode) == (b"", 1)
    done = cli("check", *cli.accept, "--python", "-", input=b"print(1)")
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)


def test_text_moves_no_terminal(cli, tmp_path):
    (tmp_path / "\x1b[2Jx.py").write_text("import os  # \x1b]0;title\x07\n")
    done = cli("check", *cli.accept, "--deny-module", "os", "\x1b[2Jx.py")
    assert b"\x1b" not in done.stdout and b"\\x1b" in done.stdout


@pytest.mark.parametrize("args,source", [
    (["--node"], b"eval('1')"), (["--bash"], b"eval x"), (["--python"], b"eval('1')"),
])
def test_languages(cli, args, source):
    report, status = check(cli, *args, "-", input=source)
    assert report["findings"][0]["rule"] == "dynamic-execution" and status == 1


@pytest.mark.parametrize("name", ["a.ts", "a.tsx", "a.mts", "a.js", "a.mjs", "a.sh", "a.py"])
def test_languages_by_suffix(cli, tmp_path, name):
    (tmp_path / name).write_text("eval ('1')\n" if name != "a.sh" else "eval 1\n")
    assert check(cli, name)[0]["findings"][0]["rule"] == "dynamic-execution"


SYNTAX = [
    ("--python", "x = 1\nif x\n  pass\n", "Syntax error: expected ':' (line 2)"),
    ("--python", "x = (\n", "Syntax error: '(' was never closed (line 1)"),
    ("--python", "def f():\nreturn 1\n", "(line 2)"),
    ("--python", "print 'x'\n", "Syntax error: Missing parentheses in call to 'print'"),
    ("--node", "let a = 1;\nlet a = 2;\n", "Syntax error: Identifier 'a' has already been declared (line 2)"),
    ("--node", "if (x {\n", "Syntax error: Unexpected token"),
    ("--bash", "x=1\nif true; then\n", "Syntax error: syntax error: unexpected end of file (line 3)"),
    ("--bash", "echo )\n", "(line 1)"),
]


@pytest.mark.parametrize("language,source,says", SYNTAX)
def test_syntax_errors_are_the_interpreters_own(cli, language, source, says):
    report, status = check(cli, language, "-", input=source.encode())
    assert says in report["syntax_error"] and report["syntax_error"].startswith("Syntax error: ")
    assert (report["allowed"], status) == (False, 1)
    result, status = cli.result("--validate", "block", language, "-c", source)
    assert result["status"] == "syntax_error" and result["message"] == report["syntax_error"] and status != 0


def test_nothing_runs_before_a_syntax_error_at_the_end(cli):
    result, _ = cli.result("--validate", "report", "--python", "-c", "print('ran')\nif x\n")
    assert (result["status"], result["stdout"]) == ("syntax_error", "")


def test_what_is_no_syntax_error(cli):
    assert "syntax_error" not in check(cli, "--node", "-c", "import fs from 'fs'; export const a = await 1;")[0]
    assert "syntax_error" not in check(cli, "--python", "-c", "# coding: utf-8\nx = '\\d'\nassert (x, 1)\n")[0]
    result, status = cli.result("--mode", "rich", "--validate", "block", "--python", "-c",
                                "import asyncio\nawait asyncio.sleep(0)\n7\n")
    assert (result["status"], status) == ("ok", 0)


def test_blocked(cli):
    done = cli.run("--validate", "block", "--deny-module", "subprocess", "--python", "-c", BAD)
    assert done.returncode == 126 and done.stdout == b"" and b"Blocked: subprocess (line 3)" in done.stderr
    result, status = cli.result("--validate", "block", "--python", "-c", BAD)
    assert (result["status"], result["message"], status) == ("blocked", "Blocked: subprocess (line 3)", 126)
    assert (result["allowed"], result["stdout"]) == (False, "") and result["findings"][0]["line"] == 3


def test_only_reported(cli):
    result, status = cli.result("--validate", "report", "--python", "-c", BAD)
    assert (result["status"], result["stdout"], status) == ("ok", "ran\n", 0)
    assert result["allowed"] is False and result["findings"][0]["rule"] == "process-start"
    result, _ = cli.result("--validate", "report", "--mode", "rich", "--python", "-c", BAD)
    assert result["stdout"] == "ran\n" and result["findings"][0]["rule"] == "process-start"


def test_allowed_runs(cli):
    result, status = cli.result("--validate", "block", "--python", "-c", "print(1)")
    assert (result["stdout"], result["allowed"], result["findings"], status) == ("1\n", True, [], 0)
    assert "findings" not in cli.result("--python", "-c", "print(1)")[0]


def test_a_note_blocks_nothing(cli, tmp_path):
    (tmp_path / "notes.scm").write_text("; language: python\n; rule: a-call\n; severity: note\n; message: Calls.\n(call) @at\n")
    result, _ = cli.result("--validate", "block", "--rules", "./notes.scm", "--python", "-c", "print(1)")
    assert (result["stdout"], result["allowed"]) == ("1\n", True) and result["findings"][0]["rule"] == "a-call"


def test_rules_of_ones_own(cli, tmp_path):
    (tmp_path / "own.scm").write_text("; language: python\n; rule: no-print\n; message: Prints.\n; names: builtins.print\n")
    report, _ = check(cli, "--rules", "own.scm", "--rules", "strict", "--python", "-c", "p = print\np(1)\nimport platform\n")
    assert [(f["rule"], f["line"]) for f in report["findings"]] == [("no-print", 1), ("no-print", 2), ("environment", 3)]


@pytest.mark.parametrize("rules,says", [
    ("nonsense", b"default, strict"), ("missing.scm", b"missing.scm"), ("wrong.scm", b"wrong.scm line 2"),
    ("binary.scm", b"must be UTF-8"),
])
def test_wrong_rules_are_bad_usage(cli, tmp_path, rules, says):
    (tmp_path / "wrong.scm").write_text("; language: python\n; severity: error\n")
    (tmp_path / "binary.scm").write_bytes(b"\xff")
    for verb in (["check", *cli.accept], ["run", *cli.accept, "--validate", "block"]):
        done = cli(*verb, "--rules", rules, "--python", "-c", "1")
        assert done.returncode == 2 and says in done.stderr, done.stderr


@pytest.mark.parametrize("args", [["check"], ["check", "a.py", "b.py"], ["check", "--", "true"], ["check", "missing.py"],
                                  ["check", "--java", "-c", "x"], ["check", "-c", "x"], ["check", "--wall", "1s", "x"]])
def test_bad_usage(usage, args):
    assert usage(*args).returncode == 2


def test_bytes_that_are_no_text(cli, tmp_path):
    (tmp_path / "a.py").write_bytes(b"# \0\n# \xff\r# \xff\n")
    report, _ = check(cli, "a.py")
    assert [(f["rule"], f["line"]) for f in report["findings"]] == [("nul-byte", 1), ("invalid-utf8", 2)]
    assert report["syntax_error"].startswith("Syntax error: ")


HOSTILE = {
    "brackets": "(" * 10000 + ")" * 10000, "minuses": "x = " + "-" * 200000 + "1", "attributes": "a" + ".b" * 100000,
    "numbers": "x = [" + "1," * 400000 + "]", "calls without an end": "f(" * 50000, "quotes": "'" * 100001,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_sources_end_in_time(cli, tmp_path, name):
    (tmp_path / "a.py").write_text(HOSTILE[name])
    start = time.monotonic()
    done = cli("check", *cli.accept, "--json", "a.py")
    assert done.returncode in (0, 1) and json.loads(done.stdout).keys() >= {"allowed", "findings"}
    assert time.monotonic() - start < 20


def test_largest_source(cli, tmp_path):
    (tmp_path / "a.py").write_text("value = compute(1, 'text', [2, 3])\n" * 150000)
    done = cli("check", *cli.accept, "--json", "a.py")
    assert done.returncode in (0, 1), done.stderr
    (tmp_path / "b.py").write_bytes(b"#" * (16 * 1024 * 1024 + 1))
    assert cli("check", *cli.accept, "b.py").returncode == 2
