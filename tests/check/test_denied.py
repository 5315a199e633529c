"""Lists of denied modules and calls hold however the thing is written: each source here reaches for something on the
list (or for what leads around any list) and must have a finding of severity error."""
import pytest

MODULES = ["os", "sys", "subprocess", "socket", "ctypes", "importlib", "shutil", "pickle", "builtins", "random"]
CALLS = ["eval", "exec", "compile", "open", "__import__", "getattr", "input", "os.system"]

PYTHON = {
    "plain import": "import os",
    "below": "import os.path",
    "alias": "import os as harmless\nharmless.sep",
    "in a list": "import json, os, re",
    "from": "from os import sep",
    "from with alias": "from subprocess import run as r\nr(['id'])",
    "star": "from os import *\nprint(sep)",
    "inside a function": "def f():\n    import os\n    return os",
    "behind a semicolon": "x = 1; import os",
    "after a line continuation": "import \\\n    os",
    "after a form feed": "\x0cimport os",
    "behind a bare carriage return": "# harmless\rimport os\r",
    "the C module below": "import posix\nposix.system('id')",
    "io's open": "import io\nio.open('x')",
    "_io's open": "import _io\n_io.open('x')",
    "module of a module": "import random as r\nr._os.system('id')",
    "module of another module": "import tempfile\ntempfile._os.sep",
    "module below a path": "import pathlib\npathlib.os.sep",
    "from a module": "from tempfile import _os as o\no.sep",
    "another denied module carried along": "import statistics\nstatistics.random.random()",
    "dunder import": "m = __import__('o' 's')",
    "dunder import by pieces": "a = 'o'\nb = 's'\nm = __import__(a + b)",
    "by join": "m = __import__(''.join(['o', 's']))",
    "by join of a string": "m = __import__(''.join('os'))",
    "by lower": "m = __import__('OS'.lower())",
    "by f-string": "x = 's'\nm = __import__(f'o{x}')",
    "by escapes": "m = __import__('\\x6f\\163')",
    "computed": "m = __import__('so'[::-1])",
    "computed by a function": "def name():\n    return 'os'\nm = __import__(name())",
    "augmented": "n = 'o'\nn += 's'\nm = __import__(n)",
    "alias of import": "i = __import__\ni('os')",
    "walrus": "(i := __import__)('os')",
    "import in a list": "fs = [__import__]\nfs[0]('os')",
    "import as default": "def f(i=__import__):\n    return i('os')",
    "import in a dict": "{'a': __import__}['a']('os')",
    "import by map": "list(map(__import__, ['os']))",
    "import with splat": "__import__(*['os'])",
    "builtins module": "import builtins as b\nb.eval('1')",
    "builtins dict": "__builtins__.__dict__['ev' + 'al']('1')",
    "builtins either way": "b = __builtins__\n(b if isinstance(b, dict) else b.__dict__)['__imp' + 'ort__']('os')",
    "builtins by vars": "vars(__builtins__)['eval']('1')",
    "builtins by globals": "globals()['__builtins__']",
    "builtins by self": "print.__self__.eval('1')",
    "builtins by len": "len.__self__.__dict__['eval']('1')",
    "name from globals": "exec_ = globals().get('ex' + 'ec')",
    "sys.modules": "import sys\nsys.modules['o' + 's'].system('id')",
    "sys.modules get": "from sys import modules as m\nm.get('os')",
    "sys of another": "import inspect\ninspect.sys.modules['os']",
    "getattr": "import math\ngetattr(math, 'pi')",
    "getattr of everything": "g = getattr\ng(1, 'real')",
    "eval in a list": "run = [eval][0]\nrun('1')",
    "eval as decorator": "@eval\nclass X: pass",
    "exec in a lambda": "f = lambda: exec\nf()('1')",
    "eval by conditional": "f = print if 0 else eval\nf('1')",
    "eval as keyword default": "sorted([1], key=eval)",
    "eval hidden by a name that is deleted": "eval = 1\ndel eval\neval('1')",
    "eval hidden in a branch": "if False:\n    eval = print\neval('1')",
    "eval hidden in a comprehension": "[0 for eval in ()]\neval('1')",
    "eval hidden in another function": "def f():\n    eval = print\neval('1')",
    "eval hidden in a class": "class A:\n    eval = print\n    def f(self): return eval('1')",
    "eval hidden too late": "eval('1')\ndef eval(x): return x",
    "eval declared global": "def f():\n    eval = 1\n    def g():\n        global eval\n        eval('1')\n    g()\nf()",
    "unicode name": "ｅｖａｌ('1')",
    "unicode module": "import ｏｓ",
    "unicode alias": "import os as ℋ\nH.sep",
    "unicode attribute": "().__class__.__ｓubclasses__()",
    "subclasses": "().__class__.__base__.__subclasses__()",
    "globals of a function": "def f(): pass\nf.__globals__['__builtins__']",
    "frames": "import traceback\ntry: 1/0\nexcept Exception as e: e.__traceback__.tb_frame.f_globals",
    "generator frame": "g = (i for i in [1])\ng.gi_frame.f_back.f_builtins",
    "loader": "__loader__.load_module('os')",
    "spec": "__spec__.loader",
    "class pattern": "import math\nmatch math:\n    case object(__loader__=l): l.load_module('os')",
    "getattribute": "object.__getattribute__(1, '__class__')",
    "attrgetter": "from operator import attrgetter\nattrgetter('__globals__')(print)",
    "operator reflection": "import operator as o\no.methodcaller('__subclasses__')(object)",
    "pickle": "import pickle\npickle.loads(b'')",
    "its C module": "import _pickle\n_pickle.loads(b'')",
    "pkgutil": "import pkgutil\npkgutil.resolve_name('os:system')",
    "runpy": "import runpy\nrunpy.run_path('x')",
    "timeit": "import timeit\ntimeit.timeit('import os')",
    "code": "import code\ncode.interact()",
    "inspect": "import inspect\ninspect.currentframe().f_back",
    "gc": "import gc\ngc.get_objects()",
    "codecs": "import codecs\n(exec)(codecs.decode('cnff', 'rot13'))",
    "type annotations": "import typing\nclass A:\n    x: 'eval(1)'\ntyping.get_type_hints(A)",
    "main's own attribute": "import __main__\n__main__.x",
    "breakpoint": "breakpoint()",
    "format field": "'{0.__globals__[os]}'.format(print)",
    "format of str": "str.format('{0.__self__.__dict__}', print)",
    "formatter": "import string\nstring.Formatter().format('{0.__globals__}', print)",
    "open by another name": "import codecs\ncodecs.open('x')",
    "open in its class": "from io import FileIO\nFileIO('x')",
    "processes of asyncio": "import asyncio\nasyncio.create_subprocess_exec('id')",
    "forward reference": "import typing\ntyping.ForwardRef('eval(1)')",
    "tcl": "import tkinter\ntkinter.Tcl().eval('exec id')",
    "reduce over getattr": "import functools\nfunctools.reduce(getattr, ['a'], 1)",
    "eval as itself": "eval = eval\neval('1')",
    "eval as itself in a class": "class A:\n    eval = eval\nA.eval('1')",
    "open as itself, wrapped": "class A:\n    open = staticmethod(open)\nA.open('x')",
    "eval as a default of eval": "def eval(f=eval): return f('1')\neval()",
    "eval that a function deletes": "eval = 1\ndef f():\n    global eval\n    del eval\nf()\neval('1')",
    "format that is called later": "f = '{0.__glob' 'als__}'.format\nf(print)",
    "fields of a formatter": "import string\nstring.Formatter().get_field('0.__self__', (print,), {})",
    "open of a carried module": "import json\njson.codecs.open('x')",
    "a terminal's process": "import pty\npty.spawn('sh')",
    "processes of the loop": "import asyncio\nasyncio.get_event_loop().subprocess_exec(1, 2)",
    "processes of multiprocessing": "import multiprocessing.util as u\nu.spawnv_passfds(b'/bin/sh', [], [])",
    "numpy's pickles": "import numpy as np\nnp.load('x', allow_pickle=True)",
    "torch's pickles": "import torch\ntorch.load('x')",
    "text that sympy evaluates": "import sympy\nsympy.sympify('1')",
    "plural forms": "import gettext\ngettext.c2py('1')",
    "an extension of SQLite": "import sqlite3\nsqlite3.connect('x').enable_load_extension(True)",
    "starred": "a, *b = [eval, 1]\na('1')",
    "tuple swap": "a, b = print, __import__\nb('os')",
    "loop over a display": "for f in (print, eval):\n    f('1')",
    "loop over names": "for n in ['os', 'sys']:\n    __import__(n)",
    "nested function's default": "def f(g=lambda: __import__): return g()('os')\nf()",
    "class attribute": "class A:\n    e = eval\nA.e('1')",
    "class body import": "class A:\n    import os",
    "exception's context": "try:\n    import nothing as os\nexcept ImportError:\n    import os",
    "star of a star": "from tempfile import *\n_os.system('id')",
    "raw string": "__import__(r'os')",
    "bytes decoded": "__import__(b'os'.decode())",
    "chr": "__import__(chr(111) + chr(115))",
    "type of a module": "type(__builtins__)('x').__getattribute__",
    "async frame": "async def f(): pass\nc = f()\nc.cr_frame.f_globals",
    "nested f-string": "f'{().__class__.__base__.__subclasses__()}'",
    "f-string call": "f'{eval(1)}'",
    "lambda default": "(lambda x=eval: x('1'))()",
    "conditional import": "if 1: import os",
    "import in try": "try: import os\nfinally: pass",
    "semicolon in class": "class A: x = 1; import os",
    "type alias": "type X = eval('1')\nX.__value__",
    "print's neighbour": "print >> eval('1'), 2",
    "chained assignment": "a = b = eval\nb('1')",
    "annotated assignment": "a: object = eval\na('1')",
    "subscript of a call": "[f for f in [eval]][0]('1')",
    "dict get": "{'e': eval}.get('e')('1')",
    "global statement": "def f():\n    global m\n    import os as m\nf()\nm.system('id')",
    "with": "import contextlib\nwith contextlib.nullcontext(eval) as e:\n    e('1')",
    "help": "help()",
    "exec statement": "exec 'import os'",
    "inside something not understood": "match x:\n  case 1 2 3: $ eval(1)\nimport os",
    "after many brackets": "x = " + "[" * 150 + "]" * 150 + "\nimport os",
}


@pytest.mark.parametrize("name", PYTHON)
def test_reached_in_python(checker, name):
    findings = checker.findings(PYTHON[name], deny_modules=MODULES, deny_calls=CALLS)
    assert any(f["severity"] == "error" for f in findings), findings


NODE = {
    "require": "require('child_process').exec('id')",
    "with node:": "require('node:child_process')",
    "import": "import {exec} from 'child_process'",
    "import with alias": "import {exec as run} from 'child_process'; run('id')",
    "import all": "import * as c from 'child_process'",
    "import for its effects": "import 'child_process'",
    "export from": "export * from 'child_process'",
    "dynamic import": "const c = await import('child_process')",
    "below": "require('fs/promises')",
    "by pieces": "require('child_' + 'process')",
    "by template": "const x = 'process'; require(`child_${x}`)",
    "by join": "require(['child', 'process'].join('_'))",
    "by escapes": "require('child\\x5fprocess')",
    "computed": "require('ssecorp_dlihc'.split('').reverse().join(''))",
    "alias of require": "const r = require; r('child_process')",
    "module.require": "module.require('child_process')",
    "main module": "process.mainModule.require('child_process')",
    "require handed on": "['child_process'].map(require)",
    "createRequire": "import {createRequire as c} from 'module'; c(import.meta.url)('child_process')",
    "binding": "process.binding('spawn_sync')",
    "built-in module": "process.getBuiltinModule('child_process')",
    "destructured": "const {execSync: e} = require('child_process')",
    "eval": "eval('1')",
    "indirect eval": "(0, eval)('1')",
    "global eval": "globalThis['ev' + 'al']('1')",
    "eval of this": "this.eval('1')",
    "computed on the global": "globalThis[['e', 'v', 'a', 'l'].reverse()]",
    "Function": "new Function('return 1')()",
    "constructor": "(() => {}).constructor('return 1')()",
    "constructor of constructor": "''.constructor.constructor('return 1')()",
    "constructor by string": "[]['constructor']['constructor']('return 1')()",
    "constructor kept": "const F = (() => {}).constructor; F('return process')()",
    "constructor destructured": "const {constructor: F} = () => {}; F('return 1')()",
    "escaped identifier": "\\u0065val('1')",
    "escaped identifier with braces": "ev\\u{61}l('1')",
    "setTimeout with text": "setTimeout('evil()', 0)",
    "with": "with (process) { binding('fs') }",
    "Reflect": "Reflect.get(globalThis, 'eval')('1')",
    "shadowed in a block only": "{ let eval = 1 }\neval('1')",
    "vm": "require('vm').runInNewContext('1')",
    "behind a bare carriage return": "// harmless\reval('1')",
    "arguments of the module": "arguments[1]('child_process')",
    "hidden by a comment of HTML": "let x = 1; x <!--eval('1')\n",
    "descriptor": "Object.getOwnPropertyDescriptor((()=>{}).__proto__, 'constructor').value('1')()",
    "global handed on": "Object.keys(globalThis)",
    "worker": "new (require('worker_threads').Worker)('1', {eval: true})",
    "optional call": "eval?.('1')",
    "optional member": "globalThis?.eval('1')",
    "comma in brackets": "globalThis[(0, 'eval')]('1')",
    "class field": "class A { x = eval('1') }",
    "default parameter": "function f(e = eval) { e('1') } f()",
    "spread": "Math.max(...[eval])",
    "getter": "({get a() { return require('child_process') }}).a",
    "tagged template": "Function`return 1```",
    "label and block": "a: { require('child_process') }",
    "async import": "(async () => { await import('node:fs/promises') })()",
    "var in a block": "{ var r = require } r('fs')",
    "behind a line separator": "// harmless\u2028eval('1')",
}


@pytest.mark.parametrize("name", NODE)
def test_reached_in_javascript(checker, name):
    findings = checker.findings(NODE[name], language="node", name="a.js", deny_modules=["child_process", "fs", "vm"],
                                deny_calls=["eval", "Function"])
    assert any(f["severity"] == "error" for f in findings), findings


def test_typescript_and_tsx(checker):
    source = "import * as c from 'child_process';\nconst x: number = <number>1;\nenum A { B }\n"
    assert [f["name"] for f in checker.findings(source, "node", "a.ts", deny_modules=["child_process"])] == ["child_process"]
    source = "import c = require('child_process');\n"
    assert checker.findings(source, "node", "a.ts", deny_modules=["child_process"])
    source = "const a = <div>{eval('1')}</div>;\n"
    assert checker.findings(source, "node", "a.tsx", deny_calls=["eval"])


BASH = {
    "plain": "curl x",
    "by its path": "/usr/bin/curl x",
    "quoted": "c'ur'l x",
    "double quotes": 'c"ur"l x',
    "backslash": "\\curl x",
    "backslash inside": "cu\\rl x",
    "ANSI quotes": "$'\\x63url' x",
    "variable": "x=curl; $x y",
    "pieces": "a=cu; ${a}rl y",
    "computed": "$(echo curl) x",
    "positional": "$1 x",
    "command": "command curl x",
    "env": "env A=1 curl x",
    "xargs": "echo a | xargs -n 1 curl",
    "exec": "exec curl x",
    "timeout": "timeout 5 curl x",
    "find": "find . -exec curl {} \\;",
    "substitution": "x=$(curl y)",
    "in a condition": "if curl x; then :; fi",
    "in a function": "f() { curl x; }",
    "in the background": "curl x &",
    "eval": "eval 'cur''l x'",
    "pipe into a shell": "echo Y3VybA== | base64 -d | bash",
    "text for a shell": "bash -c 'curl x'",
    "string for a shell": "bash <<< 'curl x'",
    "document for a shell": "sh <<EOF\ncurl x\nEOF",
    "sourced": "source <(echo curl x)",
    "device": "exec 3<>/dev/tcp/example.com/80",
    "array": "c=(curl x); \"${c[@]}\"",
    "set by read": "read c; $c x",
}


@pytest.mark.parametrize("name", BASH)
def test_reached_in_bash(checker, name):
    findings = checker.findings(BASH[name], language="bash", deny_calls=["curl", "wget"])
    assert any(f["severity"] == "error" for f in findings), findings


def test_the_finding_names_what_was_denied(checker):
    [finding] = checker.findings("x = 1\n\nimport subprocess as s\n", deny_modules=["subprocess"])
    assert finding["rule"] == "denied" and finding["name"] == "subprocess"
    assert (finding["line"], finding["column"], finding["snippet"]) == (3, 8, "import subprocess as s")
    assert finding["message"] and finding["advice"]


def test_words_are_no_uses(checker):
    source = ('# import os; eval("x")\ntext = "import os; exec(1); __import__(2)"\nclass E:\n    system = 1\n'
              '    def execute(self, opened): return opened + self.system\n'
              '    def eval(self): return 1\nE().eval()\nx = {"os": 1}["os"]\nprint(text.format(os=1))\n')
    assert checker.findings(source, deny_modules=["os", "subprocess"],
                            deny_calls=["eval", "exec", "open", "__import__"]) == []


def test_own_names_are_the_programs_own(checker):
    source = "def compile(x):\n    return x\n\ndef f(input, open=1):\n    return input + open + compile(2)\nprint(f(1))\n"
    assert checker.findings(source, deny_calls=["compile", "input", "open"]) == []
