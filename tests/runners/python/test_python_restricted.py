"""Restricted mode of the Python runner: the contract, attacks that must fail, and ordinary programs that must not."""
import os
import sys
import textwrap

import pytest

import harness
import restricted_attacks_in_steps  # noqa: F401  (adds to ATTACKS)
import restricted_programs_near  # noqa: F401  (adds to PROGRAMS)
from restricted_attacks import ATTACKS
from restricted_programs import PROGRAMS
from test_python_runs import RUNNER, interpreters, short


def with_interpreters(names, versions_of):
    """Parameters (python, name): every interpreter that is there, with what is of its version."""
    pairs = [pytest.param(python, name, id="%s-%s" % (short(python), name)) for version, python in interpreters().items()
             for name in names if versions_of(name)[0] <= version < versions_of(name)[1]]
    return pytest.mark.parametrize("python, name", pairs)


EVERYWHERE = pytest.mark.parametrize("python", interpreters().values(), ids=short)


def attack_versions(name):
    return ATTACKS[name][1], ATTACKS[name][2] or (9,)


def restricted(start, python=sys.executable):
    runner = start(python, RUNNER, "--restricted")
    return lambda code, **more: runner.run(textwrap.dedent(code), mode="restricted", **more)


# ---- the contract ----

def test_a_calculation(start):
    done = restricted(start)("x = [i**2 for i in range(10)]; print(sum(x))")
    assert (done.status, done.stdout, done.locals) == ("ok", "285\n", {"x": "[0, 1, 4, 9, 16, 25, 36, 49, 64, 81]"})


def test_a_refused_builtin_is_not_there(start):
    run = restricted(start)
    for name in ("open", "exec", "eval", "compile", "globals", "locals", "vars", "breakpoint", "help", "exit", "quit",
                 "__import__", "__builtins__", "__loader__", "__spec__", "__file__", "display", "copyright", "license"):
        error = run("1\n%s('/etc/passwd')" % name).error
        assert (error["name"], error["message"], error["line"]) == ("NameError", "name '%s' is not defined" % name, 2)


def test_a_refused_import(start):
    run = restricted(start)
    for name in ("os", "sys", "subprocess", "builtins", "importlib", "ctypes", "pickle", "json.decoder", "inspect", "gc"):
        error = run("import " + name).error
        assert error["name"] == "ImportError"
        assert error["message"].startswith("import of '%s' is not allowed; allowed are: bisect, collections, " % name)


def test_a_refused_attribute(start):
    done = restricted(start)("print('never')\nx = 1\nx.__base__")
    assert (done.status, done.exit_code, done.stdout) == ("error", 1, "")
    assert (done.error["name"], done.error["line"]) == ("AttributeError", 3)
    assert done.error["message"] == "access to attribute '__base__' is not allowed"
    done = restricted(start)("print('first')\ngetattr(1, '__cl' + 'ass__')")
    assert (done.stdout, done.error["name"], done.error["line"]) == ("first\n", "AttributeError", 2)
    assert "snapcell_runner" not in done.error["traceback"]


def test_input_values_errors_and_state(start):
    run = restricted(start)
    assert run("input() + '!'", stdin=b"hi\n").text == "'hi!'"
    assert run("input()").error["name"] == "EOFError"
    assert run("a = 5\ndef f(x):\n    return x + a").status == "ok"
    assert run("f(1)").text == "6"
    assert run("raise SystemExit(3)").exit_code == 3
    assert run("def f(:").status == "syntax_error"
    error = run("def g():\n    return 1 / 0\ng()").error
    assert (error["name"], error["line"]) == ("ZeroDivisionError", 2)
    assert '    return 1 / 0\n' in error["traceback"]


def test_interrupt(start):
    runner = start(sys.executable, RUNNER, "--restricted")
    run_id = runner.start("print('on')\nwhile True: pass", mode="restricted")
    runner.wait_for_output("on")
    runner.interrupt()
    assert runner.finish(run_id).status == "interrupted"


def test_only_its_own_mode(start):
    runner = start(sys.executable, RUNNER, "--restricted")
    runner.socket.sendall(b"run 0123456789abcdef 0 - rich\n")
    assert runner.process.wait(harness.PATIENCE_S) == 1


@EVERYWHERE
def test_every_allowed_module_can_be_imported(start, python):
    run = restricted(start, python)
    names = ("math statistics random itertools functools collections collections.abc json re datetime decimal fractions string "
             "textwrap heapq bisect operator copy dataclasses enum typing time").split()
    for name in names:
        done = run("import %s\nimport %s as again" % (name, name))
        assert done.error is None, (name, done.error)
        assert done.locals == {}
    assert run("import time\ntime.monotonic() > 0").text == "True"


@EVERYWHERE
def test_no_module_leads_to_another(start, python):
    """Whatever an allowed module gives, and what that gives: no module among it, and nothing that can be written."""
    done = restricted(start, python)("""\
        import math, statistics, random, itertools, functools, collections, json, re, datetime, decimal, fractions, string
        import textwrap, heapq, bisect, operator, copy, dataclasses, enum, typing, time
        seen, found = [], []
        def walk(value, path, depth):
            for name in dir(value):
                try:
                    inner = getattr(value, name)
                except Exception:
                    continue
                if str(inner).startswith("<module") and path + name != "collectionsabc":
                    found.append(path + "." + name)
                if hasattr(inner, "__call__") and str(type(inner)) == "<class 'type'>" and inner is not type and "metaclass" in str(inner):
                    found.append(path + "." + name)
                if depth and not any(inner is s for s in seen):
                    seen.append(inner)
                    walk(inner, path + "." + name, depth - 1)
        for m in (math, statistics, random, itertools, functools, collections, json, re, datetime, decimal, fractions, string,
                  textwrap, heapq, bisect, operator, copy, dataclasses, enum, typing, time):
            walk(m, str(m)[9:-2], 2)
        found""")
    assert done.text in ("[]", "['collections.abc']"), (done.text, done.error)


# ---- attacks ----

@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Runners kept for a module's tests: an attack that fails leaves nothing behind that the next could use."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "helper.py").write_text("pass\n")
    (folder / "textwrap.py").write_text("SHADOW = 'ESCAPED'\n")
    kept = {}

    def get(python, *options):
        if (python, options) not in kept:
            kept[python, options] = harness.Runner([python, RUNNER, *options], folder)
        return kept[python, options]
    yield get
    for runner in kept.values():
        runner.close()


@with_interpreters(ATTACKS, attack_versions)
def test_an_attack_fails(shared, python, name):
    done = shared(python, "--restricted").run(ATTACKS[name][0], mode="restricted")
    assert "ESCAPED" not in done.stdout + done.stderr
    assert done.status in ("ok", "error", "syntax_error")


@pytest.mark.parametrize("name", [name for name in ATTACKS if ATTACKS[name][3] and
                                  attack_versions(name)[0] <= sys.version_info[:2] < attack_versions(name)[1]])
def test_an_attack_bites_where_nothing_restricts_it(start, work, name):
    (work / "helper.py").write_text("pass\n")
    assert "ESCAPED" in start(sys.executable, RUNNER).run(ATTACKS[name][0]).stdout


# ---- ordinary programs ----

@with_interpreters(PROGRAMS, lambda name: (PROGRAMS[name][1], (9,)))
def test_an_ordinary_program_runs_unharmed(start, python, name):
    code = PROGRAMS[name][0]
    expected = start(python, RUNNER).run(code)
    assert expected.error is None, expected.error["traceback"]
    done = restricted(start, python)(code)
    assert done.error is None, done.error["traceback"]
    assert done.stdout == expected.stdout
