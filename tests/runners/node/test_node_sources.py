"""What rewrite.js makes of sources: top-level declarations and imports are found, and nothing else is taken for one."""
import os
import subprocess

import pytest

import harness

NODE = os.environ.get("SNAPCELL_TEST_NODE", "node")
RUNNER = os.path.join(harness.RUNNERS, "node", "runner.js")
REWRITE = os.path.join(harness.RUNNERS, "node", "rewrite.js")
SCRIPT = """const { rewrite } = require(process.argv[1])
process.stdout.write(rewrite(require('fs').readFileSync(0, 'utf8'), (name) => name === 'fetch').replaceAll('\\u0268mport', 'IMPORT'))"""


def rewritten(source):
    return subprocess.run([NODE, "-e", SCRIPT, REWRITE], input=source.encode(), stdout=subprocess.PIPE, check=True,
                          timeout=60).stdout.decode()


@pytest.mark.parametrize("source, expected", [
    ("const x = 1, y = 2", "var   x = 1, y = 2"),
    ("let x", "var x=undefined"),
    ("let a, b = f(1, 2), c;", "var a=undefined, b = f(1, 2), c=undefined;"),
    ("let a = 1\nb, c", "var a = 1\nb, c"),
    ("let a = b\n++c, d", "var a = b\n++c, d"),
    ("let a = () => {}\nb, c", "var a = () => {}\nb, c"),
    ("let a = b\n  .c, d", "var a = b\n  .c, d=undefined"),
    ("const { a, b: { c } } = o", "var   { a, b: { c } } = o"),
    ("const { fetch } = o", "let   { fetch } = o"),
    ("const a = fetch", "var   a = fetch"),
    ("class A {}\n[1]", "var A=class A {};\n[1]"),
    ("class A extends f(class {}, {}) { static { const x = 1 } }", "var A=class A extends f(class {}, {}) { static { const x = 1 } };"),
    ("x = class {}\nclass B {}", "x = class {}\nvar B=class B {};"),
    ("import 'm'", "await IMPORT.names('m',[])"),
    ("import d, * as n from 'm'", "var n=await IMPORT.names('m',['default']),{'default':d}=n".replace("'default':", "default:")),
    ("import {\n  a,\n  b as c,\n} from 'm'\nd", "var {a:a,b:c}=await IMPORT.names('m',['a','b'])\n\n\n\nd"),
    ("import j from 'j' with { type: 'json' }", "var {default:j}=await IMPORT.names('j',['default'],{with:{ type: 'json' }})"),
    ("a(await import('m'), import.meta.url)", "a(await IMPORT('m'), IMPORT.meta.url)"),
    ("`${`${import('a')}`} import('b')`", "`${`${IMPORT('a')}`} import('b')`"),
    ("a / import('b') / c", "a / IMPORT('b') / c"),
    ("#!/usr/bin/env node\nconst x = 1", "#!/usr/bin/env node\nvar   x = 1"),
    ("const a = 1 // let b\n/* const c */ let d", "const a = 1 // let b\n/* const c */ let d"
     .replace("const a", "var   a").replace("let d", "var d=undefined")),
    ("if (x) /'/.test(y)\nconst z = 1", "if (x) /'/.test(y)\nvar   z = 1"),
    ("a = b / c; const d = /[/'\"]/g.exec(e)", "a = b / c; var   d = /[/'\"]/g.exec(e)"),
    ("f(x)\n/'/.y / 1 // '\nconst z = 1", "f(x)\n/'/.y / 1 // '\nvar   z = 1"),
    ("x = {} / 1; const y = 2", "x = {} / 1; var   y = 2"),
    ("{} /'/.test(x)\nconst y = 2", "{} /'/.test(x)\nvar   y = 2"),
    ("a = b ? { c: 1 } : { d: /}/ }\nconst e = 1", "a = b ? { c: 1 } : { d: /}/ }\nvar   e = 1"),
    ("l: { const x = 1 }\nconst y = 2", "l: { const x = 1 }\nvar   y = 2"),
    ("x = function () { return { const: 1 } } / 2\nlet y = 1", "x = function () { return { const: 1 } } / 2\nvar y = 1"),
    ("const f = async (x) => { const y = 1 }, g = 1", "var   f = async (x) => { const y = 1 }, g = 1"),
])
def test_declarations_are_found(source, expected):
    assert rewritten(source) == expected


@pytest.mark.parametrize("source", [
    "for (const x of y) { let z; class A {} }", "function f() { const x = 1; class A {} }", "o.class; o.import('x'); o.let",
    "({ import() {}, class: 1, const: 2, let: 3, get let() { return 1 } })", "'const x = 1'", "`const x = ${1}; let y`",
    "// const x = 1", "/const x = 1/", "x = class A {}", "let = 1", "let\n= 1", "switch (x) { case 1: let y }",
    "const x", "const a = 1; const a = 2", "let a = 'unterminated", "if (", "a ? class {} : class {}", "",
])
def test_nothing_else_is_touched(source):
    assert rewritten(source) == source


def test_lines_stay_where_they_are(start):
    node = start(NODE, RUNNER)
    done = node.run("import {\n readFileSync\n} from 'fs'\nclass A {\n}\nlet x,\n y\nnull.z")
    assert (done.status, done.error["line"]) == ("error", 8)


@pytest.mark.parametrize("code, value", [
    ("const s = `a${`b${1 + 1}`}`; s", "'ab2'"),
    ("const g = 2, i = 3; const r = 12\n/g/i; r", "2"),
    ("let i = 1, x = i++ / 2 /1; x", "0.5"),
    ("const a = { b: 1 }, { b } = a; b", "1"),
    ("let async = 1, of = 2, get = 3; async + of + get", "6"),
    ("class A { #p = 1; static s = /}/; get p() { return this.#p } }\n(new A).p", "1"),
    ("label: for (const x of [1, 2]) { for (;;) continue label }\nconst done = 1; done", "1"),
    ("const \u00e4\u6587 = 1; \u00e4\u6587", "1"),
    ("const \\u0061b = 4; ab", "4"),
    ("let x = 1; { let x = 2 }\nx", "1"),
    ("const f = function* () { yield /}/ ; yield 1 / 1 }; [...f()].length", "2"),
    ("'use strict'; const x = (function () { return this })(); x", None),
    ("const n = 1_000n + 0x1Fn; n", "1031n"),
    ("const o = { a: { b: null } }; o?.a?.b ?? 'none'", "'none'"),
    ("var x = 1; let y = x\n(function () {})", None),
    ("const big = [" + "1," * 200000 + "]; big.length", "200000"),
    ("const deep = " + "[" * 500 + "]" * 500 + "; 1", "1"),
], ids=lambda text: str(text)[:40])  # pytest puts a test's name into the environment, which has an end
def test_sources_that_are_hard_to_read(start, code, value):
    done = start(NODE, RUNNER).run(code)
    if value is not None:
        assert (done.error, done.text) == (None, value)
