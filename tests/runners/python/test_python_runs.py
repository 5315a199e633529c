"""The Python runner in rich mode: values, errors, streams, interrupts, and what a hostile program does to its results."""
import glob
import json
import os
import re
import sys
import textwrap
import time

import pytest

import harness

RUNNER = os.path.join(harness.RUNNERS, "python", "runner.py")
SQUARES = "[0, 1, 4, 9, 16, 25, 36, 49, 64, 81]"


def interpreters():
    """By version: this one, and other CPythons from 3.9 on that lie about: named, or kept by pyenv."""
    found = {sys.version_info[:2]: sys.executable}
    named = os.environ.get("SNAPCELL_TEST_PYTHONS", "").split(":")
    kept = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")))
    for path in [p for p in named if p] + kept:
        version = re.search(r"/(\d+)\.(\d+)[^/]*/bin/", path)
        if version and (3, 9) <= tuple(map(int, version.groups())):
            found.setdefault(tuple(map(int, version.groups())), path)
    return dict(sorted(found.items()))


def short(path):
    return path.replace("/", "-").strip("-")


@pytest.fixture(params=interpreters().values(), ids=short)
def any_python(request, start):
    return start(request.param, RUNNER)


@pytest.fixture
def python(start):
    return start(sys.executable, RUNNER)


def run(runner, code, **more):
    return runner.run(textwrap.dedent(code), **more)


# ---- on every interpreter ----

def test_says_what_it_is(any_python):
    ready = any_python.ready
    assert (ready["op"], ready["protocol"], ready["language"]) == ("ready", 1, "python")
    assert re.fullmatch(r"3\.\d+\.\d+", ready["version"])


def test_value_output_and_locals(any_python):
    done = run(any_python, "x = [i**2 for i in range(10)]; print(sum(x))\nx")
    assert (done.status, done.exit_code, done.error) == ("ok", 0, None)
    assert (done.stdout, done.text, done.locals) == ("285\n", SQUARES, {"x": SQUARES})


def test_names_are_kept(any_python):
    run(any_python, "import math\ndef f(n):\n    return n + base\nbase = 40")
    done = run(any_python, "f(2)")
    assert (done.text, done.locals) == ("42", {"base": "40"})


def test_no_value(any_python):
    for code in ("x = 1", "None", "", "# nothing", "print(1)"):
        assert run(any_python, code).value is None


def test_error(any_python):
    done = run(any_python, """\
        def half(n):
            return 1 / n
        half(0)""")
    assert (done.status, done.exit_code, done.error["name"]) == ("error", 1, "ZeroDivisionError")
    assert (done.error["message"], done.error["line"]) == ("division by zero", 2)
    lines = done.error["traceback"].splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert [x.strip() for x in lines if "File" in x] == ['File "<run 1>", line 3, in <module>', 'File "<run 1>", line 2, in half']
    assert "    return 1 / n" in lines and "    half(0)" in lines


def test_chained_errors_have_no_frames_of_the_runner(any_python):
    trace = run(any_python, """\
        try:
            {}["no"]
        except KeyError as error:
            raise ValueError("yes") from error""").error["traceback"]
    assert "KeyError: 'no'" in trace and "direct cause" in trace and trace.endswith("ValueError: yes\n")
    assert "snapcell_runner" not in trace and "runner.py" not in trace


def test_syntax_error_runs_nothing(any_python):
    done = run(any_python, "print('never')\nx = (1,\n)\nif x\n    pass")
    assert (done.status, done.exit_code, done.stdout) == ("syntax_error", 1, "")
    assert (done.error["name"], done.error["line"]) == ("SyntaxError", 4)
    assert "line 4" not in done.error["message"]
    assert done.error["traceback"].startswith('  File "<run 1>", line 4\n')


@pytest.mark.parametrize("code", [b"x = '\xff'", b"a = 1\0", b"(" * 10000], ids=["not UTF-8", "NUL", "brackets"])
def test_what_is_no_text_of_a_program(any_python, code):
    done = any_python.run(code)
    assert (done.status, done.exit_code) == ("syntax_error", 1)
    assert run(any_python, "1").text == "1"


def test_await_at_top_level(any_python):
    done = run(any_python, """\
        import asyncio
        async def double(n):
            await asyncio.sleep(0.001)
            return 2 * n
        task = asyncio.create_task(double(20))
        await task + 2""")
    assert done.text == "42"
    assert run(any_python, "await double(4)").text == "8"
    assert run(any_python, "asyncio.run(double(3))").text == "6"


def test_await_that_raises(any_python):
    trace = run(any_python, """\
        async def bad():
            raise ValueError("no")
        await bad()""").error
    assert (trace["name"], trace["line"]) == ("ValueError", 2)
    assert "asyncio" not in trace["traceback"] and "snapcell_runner" not in trace["traceback"]


def test_exit_codes(any_python):
    for word, code, said in (("3", 3, ""), ("", 0, ""), ("None", 0, ""), ("'bye'", 1, "bye\n"), ("256 + 7", 7, ""), ("-1", 255, "")):
        done = run(any_python, "import sys; sys.exit(%s)" % word)
        assert (done.status, done.exit_code, done.stderr, done.error) == ("exit", code, said, None)
    assert run(any_python, "1").text == "1"


def test_interrupt_keeps_state(any_python):
    run(any_python, "kept = 1")
    for loop in ("while True: pass", "import time; time.sleep(100)", "import asyncio; await asyncio.sleep(100)"):
        run_id = any_python.start("print('on', flush=True); " + loop if loop[0] != "w" else "print('on')\n" + loop)
        any_python.wait_for_output("on")
        any_python.interrupt()
        done = any_python.finish(run_id)
        assert (done.status, done.exit_code, done.error["name"]) == ("interrupted", 130, "KeyboardInterrupt")
    assert run(any_python, "kept").text == "1"


def test_main_is_a_module(any_python):
    done = run(any_python, """\
        import dataclasses, pickle, inspect, __main__
        @dataclasses.dataclass
        class Point:
            x: int
        def area(r):
            return r * r
        back = pickle.loads(pickle.dumps(Point(3)))
        print(back, __name__, __main__.Point is Point, pickle.loads(pickle.dumps(area))(3))
        print(inspect.getsource(area), end="")
        print(inspect.getsource(Point), end="")""")
    assert done.error is None, done.error
    assert done.stdout == ("Point(x=3) __main__ True 9\ndef area(r):\n    return r * r\n"
                           "@dataclasses.dataclass\nclass Point:\n    x: int\n")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(any_python, method):
    done = run(any_python, """\
        import multiprocessing
        FACTOR = 10
        def times(n):
            return n * FACTOR
        if __name__ == "__main__":
            with multiprocessing.get_context("%s").Pool(2) as pool:
                print(pool.map(times, [1, 2, 3]))""" % method)
    assert (done.stdout, done.error, done.stderr) == ("[10, 20, 30]\n", None, "")


def test_future_imports_hold_for_later_runs(any_python):
    run(any_python, "from __future__ import annotations")
    assert run(any_python, "def f(a: no_such_name): pass\nf.__annotations__").text == "{'a': 'no_such_name'}"


# ---- streams ----

def test_input_reads_what_is_given(python):
    done = run(python, "name = input('name? ')\n(name, input())", stdin=b"Ann\nx\n")
    assert (done.text, done.stdout) == ("('Ann', 'x')", "name? ")
    assert run(python, "import sys\nsys.stdin.buffer.read()", stdin=b"x\xff\n").text == "b'x\\xff\\n'"
    assert run(python, "import os\nos.read(0, 10)", stdin=b"raw").text == "b'raw'"


def test_input_meets_the_end(python):
    for stdin in (None, b""):
        done = run(python, "input()", stdin=stdin)
        assert (done.error["name"], done.error["message"]) == ("EOFError", "EOF when reading a line")
    run(python, "input()", stdin=b"one\ntwo\n")
    assert run(python, "input()").error["name"] == "EOFError"


def test_programs_started_share_the_streams_in_order(python):
    done = run(python, """\
        import os, subprocess
        print("a ", end="")
        subprocess.run(["sh", "-c", "read line; echo b $line"])
        print("c")
        os.system("echo d")
        print("e", end="")""", stdin=b"word\n")
    assert done.stdout == "a b word\nc\nd\ne"


def test_warnings_go_to_stderr(python):
    done = run(python, "import warnings\nwarnings.warn('old')")
    assert done.stderr == "<run 1>:2: UserWarning: old\n  warnings.warn('old')\n"


def test_closed_streams_are_open_again(python):
    run(python, "import sys\nsys.stdout.close()\nsys.stderr.close()")
    assert run(python, "print('back')\nprint('here', file=sys.stderr)").stdout == "back\n"
    run(python, "import os\nos.close(1)")
    assert run(python, "print('again')").stdout == "again\n"


def test_replaced_stdout_does_not_replace_the_result(python):
    done = run(python, "import sys\nclass W:\n    def write(self, t): pass\n    def flush(self): 1 / 0\nsys.stdout = W()\nprint('x')\n5")
    assert (done.status, done.text) == ("ok", "5")


# ---- what else a program does ----

def test_descriptor_3_is_not_there(python):
    done = run(python, """\
        import os, subprocess
        try:
            os.fstat(3)
        except OSError as error:
            print(error.errno)
        listing = subprocess.run(["ls", "/proc/self/fd"], capture_output=True, text=True).stdout.split()
        print([n for n in listing if int(n) > 3])""")
    assert done.stdout == "9\n[]\n"


def test_a_forked_child_does_not_speak(python):
    done = run(python, """\
        import os
        pid = os.fork()
        if pid == 0:
            display("from the child")
            x = 1 / 0
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        "parent\"""")
    assert (done.text, done.displays) == ("'parent'", [])
    assert done.stdout == "'from the child'\n1\n"
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert run(python, "1").text == "1"


def test_threads_left_running_go_on(python):
    done = run(python, """\
        import threading, time
        stop = threading.Event()
        def tick():
            while not stop.wait(0.01):
                print("tick")
        thread = threading.Thread(target=tick)
        thread.start()""")
    assert done.status == "ok"
    python.wait_for_output("tick")
    assert run(python, "stop.set(); thread.join(); 7").text == "7"


@pytest.mark.parametrize("before", [None, "1", "import signal\nsignal.signal(signal.SIGINT, signal.SIG_DFL)"],
                         ids=["no run", "a run", "a run that took the signal"])
def test_interrupt_between_runs_does_nothing(python, before):
    if before:
        run(python, before)
    for _ in range(20):
        python.interrupt()
    assert run(python, "2").text == "2"


def test_an_interrupt_lands_in_its_run_or_nowhere(python):
    """Short runs, interrupted at any moment: each has a result, and the next one works."""
    for n in range(300):
        run_id = python.start("n = %d\nfor i in range(%d): pass\nn" % (n, n * 20))
        python.interrupt()
        done = python.finish(run_id)
        assert done.status in ("ok", "interrupted") and (done.status != "ok" or done.text == str(n))
    assert run(python, "'alive'").text == "'alive'"


def test_a_handler_of_the_program_does_not_outlive_its_run(python):
    run(python, "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)")
    run_id = python.start("print('on')\nwhile True: pass")
    python.wait_for_output("on")
    python.interrupt()
    assert python.finish(run_id).status == "interrupted"


def test_keyboard_interrupt_of_the_programs_own_is_an_error(python):
    assert run(python, "raise KeyboardInterrupt").status == "error"


def test_the_work_folder_is_importable_and_shadows_nothing_of_the_runner(python, work):
    for name in ("json", "channel", "context", "traceback", "asyncio", "snapcell_runner"):
        (work / (name + ".py")).write_text("raise SystemExit('shadowed')\n")
    (work / "helper.py").write_text("value = 42\n")
    assert run(python, "import helper\nhelper.value").text == "42"
    assert run(python, "1 / 0").error["name"] == "ZeroDivisionError"
    assert run(python, "async def f(): return 5\nawait f()").text == "5"


def test_arguments_are_the_programs(python):
    assert run(python, "import sys\nsys.argv").text == "['']"


def test_environment_comes_with_a_run(python):
    done = python.run("import os\nos.environ['A'], os.environ['B'], os.environb[b'C']", env=b"A=1\0B=x=y\n\0C=\xff\0")
    assert done.text == "('1', 'x=y\\n', b'\\xff')"
    assert python.run("os.environ['A'], os.popen('echo $B').read()").text == "('1', 'x=y\\n')"


@pytest.mark.parametrize("env", [b"A=1", b"=1\0", b"\0"])
def test_an_environment_that_is_none_ends_it(python, env):
    with pytest.raises(harness.Gone):
        python.run("1", env=env)


def test_the_end_of_the_stream_ends_it(python):
    run(python, "import atexit\natexit.register(print, 'bye')")
    assert python.hang_up() == 0
    assert python.stdout.take() == "bye\n"


def test_it_ends_when_spoken_to_wrongly(start):
    for line in (b"walk 1 2 3 4\n", b"run 00 -1 - rich\n", b"run 00 5 - fast\n", b"run 00 99999999999 - rich\n",
                 b"run 00 0 - restricted\n", b"x" * 5000):
        runner = start(sys.executable, RUNNER)
        runner.socket.sendall(line)
        assert runner.process.wait(harness.PATIENCE_S) == 1


# ---- hostile words ----

BAD_WORDS = {
    "raises": ("raise ValueError('x')", "<repr failed: ValueError>"),
    "loops": ("while True: pass", "<repr timed out>"),
    "exits": ("import sys; sys.exit(3)", "<repr failed: SystemExit>"),
    "no text": ("return 5", "<repr failed: TypeError>"),
    "recursion": ("return repr(self)", "<repr failed: RecursionError>"),
}


@pytest.mark.parametrize("name", BAD_WORDS)
def test_a_bad_repr_harms_only_its_text(python, name):
    body, text = BAD_WORDS[name]
    done = run(python, "class Bad:\n    def __repr__(self):\n        %s\nkept = 1\nx = Bad()\nx" % body)
    assert (done.status, done.text) == ("ok", text)
    assert done.locals == {"kept": "1", "x": text}


def test_a_flood_is_cut(python):
    done = run(python, "class Bad:\n    def __repr__(self):\n        return 'x' * 10**7\nx = Bad()\nx")
    assert (len(done.text), done.text[-1]) == (64 << 10, "\u2026")
    assert (len(done.locals["x"]), done.locals["x"][-1]) == (4096, "\u2026")


def test_many_loops_are_bounded_together(python):
    began = time.monotonic()
    done = run(python, "class Bad:\n    def __repr__(self):\n        while True: pass\nfor i in range(50): globals()['x%d' % i] = Bad()")
    assert time.monotonic() - began < 10 and done.locals["x49"] == "<repr timed out>"


def test_the_programs_own_alarm_still_rings(python):
    done = run(python, """\
        import signal, time
        rung = []
        signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        class Words:
            def __repr__(self):
                return "w"
        display(Words())
        time.sleep(0.2)
        rung""")
    assert (done.text, done.displays) == ("[1]", [{"text/plain": "w"}])


def test_large_values_cost_little(python):
    run(python, "a = list(range(10**7)); b = 'x' * 10**8; c = bytes(10**8); d = [a] * 1000; e = 1 << 10**8; f = {1: b, 2: a}; s = set(a)")
    began = time.monotonic()
    done = run(python, "d")
    assert time.monotonic() - began < 1
    assert all(len(text) <= 4096 for text in done.locals.values())
    assert done.locals["e"] == "<int of 100000001 bits>" and done.locals["a"].startswith("[0, 1, 2, ")


def test_locals_are_bounded(python):
    done = run(python, "for i in range(5000): globals()['n%d' % i] = i")
    assert len(done.locals) == 1000
    done = run(python, "for i in range(5000): globals()['n%d' % i] = chr(1) * 4000")
    assert len(json.dumps(done.locals, ensure_ascii=False)) < 3 << 20


def test_texts_are_what_repr_says(python):
    values = ["[1, 'a', 2.5, None, True, (1,), (), [], {}, set(), {1}, frozenset({2}), b'x', ...]", "'it\\'s'", "range(3)",
              "__import__('collections').OrderedDict(a=1)", "__import__('collections').Counter('aab')", "{'a': [1, {2: 3}]}.items()",
              "__import__('collections').deque([1, 2], 5)", "__import__('collections').defaultdict(list, a=[1])", "bytearray(b'ab')",
              "type('L', (list,), {})([1, 2])", "type('D', (dict,), {})(a=1)", "type('S', (set,), {})([1])", "1j", "-0.0", "10**50",
              "__import__('array').array('i', [1, 2])", "__import__('collections').namedtuple('P', 'x y')(1, [2])"]
    for value in values:
        assert run(python, value).text == run(python, "print(repr(%s))" % value).stdout[:-1]
    assert run(python, "x = [1]; x.append(x); x").text == "[1, [...]]"
    assert run(python, "d = {}; d[1] = d; d").text == "{1: {...}}"


def test_lone_surrogates_are_sent(python):
    done = run(python, "x = '\\ud800'\nclass W:\n    def __repr__(self): return '\\ud800'\nW()")
    assert (done.text, done.locals["x"]) == ("?", "'\\ud800'")


def test_a_dead_interpreter_is_seen_as_such(python):
    run_id = python.start("import os\nos._exit(3)")
    with pytest.raises(harness.Gone):
        python.finish(run_id)
    assert python.process.wait() == 3


def test_a_program_that_overwrites_what_it_finds_keeps_its_exit_code(python):
    done = run(python, """\
        import gc, json, sys, types
        json.dumps = json.JSONEncoder.encode = lambda *a, **k: '{"status": "ok", "exit_code": 0}'
        frame = sys._getframe()
        while frame:
            for name in list(frame.f_globals):
                if name in ("result", "status", "exit_code", "ok", "error"):
                    frame.f_globals[name] = 0
            frame = frame.f_back
        for o in gc.get_objects():
            if type(o) is dict and "exit_code" in o:
                o["exit_code"] = 0
        sys.modules["json"] = types.ModuleType("json")
        raise SystemExit(5)""")
    assert (done.status, done.exit_code) == ("exit", 5)
    assert run(python, "40 + 2").text == "42"
