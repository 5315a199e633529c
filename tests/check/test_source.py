"""Sources that are made to be misread, and sources that are made to hurt the reader."""
import time

import pytest


def rules(checker, source, language="python", **how):
    return [f["rule"] for f in checker.findings(source, language, **how)]


def test_nul_bytes(checker):
    findings = checker.findings(b"x = 1\n# \0\nimport os\n", deny_modules=["os"])
    assert [(f["rule"], f["line"]) for f in findings] == [("nul-byte", 2), ("denied", 3)]
    assert "nul-byte" in rules(checker, b"a\0b", "node") and "nul-byte" in rules(checker, b"a\0b", "bash")


@pytest.mark.parametrize("source", [
    b"# -*- coding: latin-1 -*-\n", b"#!/usr/bin/python\n# vim: set fileencoding=utf-7 :\n", b"\x0c# coding=rot13\n",
    b"#coding:unicode_escape", b"# coding: \t cp1252\r", b"\xef\xbb\xbf# coding: latin-1\n", b"\n# coding: utf_16\n",
    b"# decoding: gbk\n",
])
def test_encoding_cookies(checker, source):
    assert rules(checker, source) == ["encoding-cookie"]


@pytest.mark.parametrize("source", [
    b"# -*- coding: utf-8 -*-\n", b"#!/x\n# coding: UTF_8\n", b"# coding: ascii\n", b"\n\n# coding: latin-1\n",
    b"x = 1\n# coding: latin-1\n", b"x = '# coding: latin-1'\n", b"# encoding is fine\n",
])
def test_what_is_no_cookie(checker, source):
    assert rules(checker, source) == []


def test_cookies_are_pythons_own(checker):
    assert rules(checker, b"// coding: latin-1\n", "node") == rules(checker, b"# coding: latin-1\n", "bash") == []


def test_line_ends(checker):
    for end in ("\n", "\r", "\r\n"):
        [finding] = checker.findings(end.join(["x = 1", "# y", "import os", "z"]), deny_modules=["os"])
        assert (finding["line"], finding["column"], finding["snippet"]) == (3, 8, "import os")


def test_invalid_utf8(checker):
    assert rules(checker, b"x = '\xff'\nimport os", deny_modules=["os"]) == ["invalid-utf8", "denied"]
    [note] = checker.findings(b"echo '\xff'", "bash")
    assert (note["rule"], note["severity"]) == ("invalid-utf8", "note")


def test_byte_order_mark(checker):
    [finding] = checker.findings(b"\xef\xbb\xbfimport os", deny_modules=["os"])
    assert finding["column"] == 8


def test_columns_count_characters_and_snippets_are_safe(checker):
    [finding] = checker.findings("x = 'ä𝄞\x1b[2J'; import os" + " " * 200, deny_modules=["os"])
    assert finding["column"] == 22 and "\x1b" not in finding["snippet"] and "\\x1b" in finding["snippet"]
    assert 100 < len(finding["snippet"]) <= 130


def test_what_the_grammar_does_not_understand_is_a_note(checker):
    [note] = checker.findings("x = 1\nnot python at all $$\n", sets=["default"])
    assert (note["rule"], note["severity"]) == ("partly-read", "note")


def test_findings_are_bounded(checker):
    findings = checker.findings("eval(1)\n" * 1000, sets=["default"])
    assert len(findings) == 201 and findings[-1]["rule"] == "more-findings"


@pytest.mark.parametrize("source,expected", ids=["round", "unclosed", "minuses", "curly"], argvalues=[
    ("(" * 10000 + ")" * 10000, "too-deep"), ("[" * 10000, "partly-read"), ("x = " + "-" * 100000 + "1", "too-deep"),
    ("x = " + "{1:" * 10000 + "1" + "}" * 10000, "too-deep"),
])
def test_nesting(checker, source, expected):
    start = time.monotonic()
    assert expected in rules(checker, source, sets=["default"])
    assert time.monotonic() - start < 4


def test_nesting_in_other_languages(checker):
    assert "too-deep" in rules(checker, "[" * 10000 + "]" * 10000, "node")
    assert "too-deep" in rules(checker, "$(" * 10000 + ")" * 10000, "bash")


def test_long_chains(checker):
    source = "a0 = eval\n" + "".join("a%d = a%d\n" % (i + 1, i) for i in range(3000)) + "a3000('1')\n"
    assert "denied" in rules(checker, source, deny_calls=["eval"])
    assert rules(checker, "x = " + ".a" * 5000 + "\n", sets=["default"])
    assert rules(checker, "x = x.y\ny = y[0](y)\nz = w\nw = z\nw()\n", deny_calls=["eval"]) == []


def test_large_sources(checker):
    start = time.monotonic()
    source = "value = compute(1, 'text', [2, 3])\n" * 150000 + "import os\n"
    assert len(source) > 5_000_000
    found = rules(checker, source, deny_modules=["os"])
    assert set(found) & {"denied", "unreadable", "too-large"}
    assert time.monotonic() - start < 10
    start = time.monotonic()
    assert "denied" in rules(checker, "x = [" + "1," * 300000 + "]\nimport os\n", deny_modules=["os"])
    assert time.monotonic() - start < 10


def test_many_bindings_of_one_name(checker):
    source = "x = 1\n" * 50000 + "x = eval\n" + "x(1)\n" * 1000
    start = time.monotonic()
    assert "denied" in rules(checker, source, deny_calls=["eval"])
    assert time.monotonic() - start < 10


def test_a_reading_does_not_remember_the_one_before(checker):
    assert rules(checker, "import os", deny_modules=["os"]) == ["denied"]
    assert rules(checker, "import os") == []
    assert rules(checker, "os.x", deny_modules=["os"]) == []


def test_a_broken_request_ends_the_program(fresh_checker):
    fresh_checker.process.stdin.write(b"\xff" * 8)
    fresh_checker.process.stdin.flush()
    assert fresh_checker.process.wait(10) == 1
