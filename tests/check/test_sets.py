"""The built-in sets: each rule finds what it is about, under its name, and knows the written-out form of it."""
import pytest

# rule: sources
DEFAULT_PYTHON = {
    "process-start": ["import subprocess", "import os\nos.system('id')", "import os as o\nx = o\nx.popen('id')",
                      "from os import execv as e\ne('x', [])", "import asyncio\nasyncio.create_subprocess_exec('id')",
                      "import os\ngetattr(os, 'sys' + 'tem')('id')", "import posix\nposix.fork()",
                      "import importlib\nimportlib.import_module('subprocess')", "a, b = 1, __import__('pty')\nb.spawn('sh')",
                      "import os\ndef f(run=os.system):\n    run('id')", "import os\nvars(os)['system']('id')"],
    "dynamic-execution": ["eval('1')", "exec(open('x').read())", "import pickle\npickle.loads(b'')",
                          "from code import interact", "compile('1', 'x', 'eval')", "import numpy as np\nnp.load('x', allow_pickle=True)", "import yaml\nyaml.load('x')"],
    "dynamic-import": ["__import__('json')", "import importlib\nimportlib.import_module(input())",
                       "import importlib.util", "list(map(__import__, []))"],
    "dynamic-attribute": ["import os\ngetattr(os, input())", "import sys\nsys.modules[input()]", "globals()[input()]"],
    "module-as-value": ["import os\nf(os)", "import os\n[os][0].system('id')", "import os\nclass A:\n    o = os"],
    "network": ["import socket", "import urllib.request", "from http.client import HTTPConnection", "import requests"],
    "native-code": ["import ctypes", "from cffi import FFI", "import numpy\nnumpy.ctypeslib.load_library('a', '.')"],
    "reflection": ["().__class__.__bases__", "f.__globals__", "import sys\nsys._getframe()", "getattr(f, '__co' 'de__')"],
    "file-outside": ["open('/etc/passwd')", "open('../x')", "open('a/../../x')", "from pathlib import Path\nPath('/root')",
                     "import io\nio.open('/etc/' + 'shadow')",
                     "open(file='/etc/passwd')", "import shutil\nshutil.copy('x', '/etc/x')", "import os\nos.rename('a', '../a')", "import os\nos.listdir('/')", "p = '/etc/passwd'\nopen(p)",
                     "import pandas as pd\npd.read_csv('/srv/x.csv')", "open('/home/user2/x')"],
    "system-change": ["import os\nos.setuid(0)", "import resource\nresource.setrlimit(1, (1, 1))"],
    "encoded-payload": ["import base64\nexec(base64.b64decode('eA=='))", "import marshal, zlib\nmarshal.loads(zlib.decompress(b''))"],
}
DEFAULT_NODE = {
    "process-start": ["require('child_process')", "import {spawn} from 'node:child_process'", "process.kill(1)"],
    "dynamic-execution": ["eval('1')", "new Function('a', 'b')", "setTimeout('x()', 1)", "require('vm').runInThisContext('1')",
                          "(function () {}).constructor('x')()"],
    "dynamic-import": ["require(x)", "import(x)", "['a'].map(require)", "process.binding('fs')"],
    "dynamic-attribute": ["globalThis[x]", "require('fs')[x]"],
    "module-as-value": ["f(process)"],
    "network": ["fetch('http://x')", "require('net')", "import http from 'http'"],
    "native-code": ["require('ffi-napi')"],
    "reflection": ["x.__proto__ = y", "with (a) b()"],
    "file-outside": ["require('fs').readFileSync('/etc/passwd')", "import {readFile as r} from 'fs/promises'; r('../x')",
                     "const {open} = require('fs').promises; open('/root/' + 'x')"],
    "encoded-payload": ["eval(atob('eA=='))", "eval(Buffer.from('eA==', 'base64').toString())"],
}
DEFAULT_BASH = {
    "dynamic-execution": ["eval x", "echo x | sh", "bash -c 'ls'", "python3 - <<E\nE"],
    "dynamic-command": ["$x", "\"$1\" a"],
    "network": ["curl x", "wget x", "cat < /dev/tcp/a/1", "env ssh a", "git clone x"],
    "system-change": ["sudo ls", "chroot / ls"],
    "file-outside": ["cat /etc/passwd", "echo x > /etc/x", "cd /", "rm -rf ../x", "p=/etc/shadow; cat $p",
                     "wc -l < /etc/passwd", "exec 3< ../x"],
}
CASES = [(language, rule, source)
         for language, rules in (("python", DEFAULT_PYTHON), ("node", DEFAULT_NODE), ("bash", DEFAULT_BASH))
         for rule, sources in rules.items() for source in sources]


@pytest.mark.parametrize("language,rule,source", CASES)
def test_default_finds(checker, language, rule, source):
    found = [f["rule"] for f in checker.findings(source, language, sets=["default"])]
    assert rule in found


STRICT = [
    ("python", "namespace", "globals()"), ("python", "environment", "import os\nos.getenv('x')"),
    ("python", "dynamic-attribute", "getattr(x, y)"), ("python", "process-start", "import threading\nthreading.Thread()"),
    ("node", "environment", "process.env.HOME"), ("node", "process-start", "require('worker_threads')"),
    ("bash", "dynamic-execution", "source x"), ("bash", "process-control", "kill 1"), ("bash", "file-delete", "rm x"),
]


@pytest.mark.parametrize("language,rule,source", STRICT)
def test_strict_finds_more(checker, language, rule, source):
    assert rule in [f["rule"] for f in checker.findings(source, language, sets=["strict"])]
    assert rule not in [f["rule"] for f in checker.findings(source, language, sets=["default"])]


def test_every_built_in_set_compiles_for_its_grammars(checker):
    for language, names in {"python": ["a.py"], "node": ["a.js", "a.ts", "a.tsx"], "bash": ["a.sh"]}.items():
        for name in names:
            for one in ("default", "strict", "guard"):
                assert checker.raw("", language=language, name=name, sets=[one]) == {"findings": []}


OWN = """; language: python
; rule: no-print
; severity: warning
; message: Prints,
;   which is not wanted.
; advice: Return it.
; names: builtins.print
;        logging.*

; rule: shell
; severity: error
; message: Through a shell.
((call function: (_) @f arguments: (argument_list (keyword_argument name: (identifier) @k value: (true)))) @at
 (#name? @f "subprocess.*") (#eq? @k "shell"))

; rule: loops
; severity: note
; message: Loops.
[(for_statement) (while_statement)] @at

; rule: secret
; severity: error
; message: A secret.
((assignment left: (identifier) @n right: (string)) (#match? @n "password|token") (#not-any-of? @n "token_type"))
"""


def own(text, name="own.scm"):
    return {"name": name, "text": text}


def test_rules_of_ones_own(checker):
    source = "print(1)\nimport logging\nimport subprocess as s\ns.run('x', shell=True)\nfor x in y: pass\npassword = 'x'\ntoken_type = 'y'\n"
    found = [(f["rule"], f["severity"], f["line"]) for f in checker.findings(source, files=[own(OWN)])]
    assert found == [("no-print", "warning", 1), ("no-print", "warning", 2), ("shell", "error", 4), ("loops", "note", 5),
                     ("secret", "error", 6)]
    [first, *_] = checker.findings(source, files=[own(OWN)])
    assert (first["message"], first["advice"]) == ("Prints, which is not wanted.", "Return it.")


def test_rules_of_another_language_are_left_out(checker):
    assert checker.findings("print(1)", files=[own("; language: node\n; rule: a\n; names: print")]) == []


@pytest.mark.parametrize("text,says", [
    ("", 'must say "; language: NAME"'),
    ("; language: cobol\n; rule: a", 'must say "; language: NAME"'),
    ("; language: python\n", "holds no rule"),
    ("; language: python\n; severity: error", 'line 2: "severity" stands before the first rule'),
    ("; language: python\n; rule: a\n; severity: bad", 'line 3: severity "bad": allowed are error, warning, note'),
    ("; language: python\n; rule: a\n(nonsense) @at", "line 3: the grammar has no such node type"),
    ("; language: python\n; rule: a\n(call nonsense: (_)) @at", "line 3: the grammar has no such field"),
    ("; language: python\n; rule: a\n(call", "not a pattern"),
    ("; language: python\n; rule: a\n((call) @a (#nonsense? @a \"x\"))", "unknown predicate: nonsense?"),
    ("; language: python\n; rule: a\n((call) @a (#eq? @a))", "too few or too many arguments"),
    ("; language: python\n; rule: a\n((call) @a (#match? @a \"(\"))", "not a regular expression"),
])
def test_wrong_rules_say_what_is_wrong(checker, text, says):
    error = checker.raw("1", language="python", name="a.py", files=[own(text)])["error"]
    assert error["field"] == "rules" and says in error["message"] and error["message"].startswith("own.scm")


def test_unknown_sets_and_languages(checker):
    error = checker.raw("", language="python", sets=["nonsense"])["error"]
    assert error == {"field": "rules", "message": 'rules: "nonsense": allowed are default, strict, and files'}
    assert checker.raw("", language="java")["error"]["field"] == "language"
