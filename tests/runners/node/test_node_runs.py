"""The JavaScript runner: what is kept between runs, values, errors, standard streams, interrupts and exits."""
import os
import signal

import pytest

import harness

RUNNER = os.path.join(harness.RUNNERS, "node", "runner.js")
NODE = os.environ.get("SNAPCELL_TEST_NODE", "node")
HANGS = {
    "a loop": "console.log('on'); for (;;);",
    "a loop that catches everything": "console.log('on'); for (;;) { try { for (;;); } catch {} finally { console.log('!') } }",
    "a loop after an await": "await new Promise((done) => setTimeout(done, 1)); console.log('on'); for (;;);",
    "a loop in a timer": "setTimeout(() => { console.log('on'); for (;;); }, 1); await new Promise(() => {})",
    "promises without end": "console.log('on'); for (;;) await null;",
    "waiting": "console.log('on'); await new Promise(() => {})",
    "a regular expression": "console.log('on'); /^(a+)+$/.test('a'.repeat(40) + 'b')",
}


@pytest.fixture
def node(start):
    return start(NODE, RUNNER)


def test_it_is_ready(node):
    assert (node.ready["op"], node.ready["protocol"], node.ready["language"]) == ("ready", 1, "node")


@pytest.mark.parametrize("first, second, value", [
    ("const x = 1", "x + 1", "2"),
    ("const x = 1", "const x = 2; x", "2"),
    ("const x = 1", "let x = 2; x", "2"),
    ("let x = 1", "var x = 2; x", "2"),
    ("let x = 1", "let x; x", None),
    ("function x() {}", "const x = 3; x", "3"),
    ("const x = () => 1", "function x() { return 4 } x()", "4"),
    ("class X { a() { return 1 } }", "class X { a() { return 5 } }\nnew X().a()", "5"),
    ("const { a, b: [c = 2, ...d] } = { a: 1, b: [undefined, 7, 8] }", "[a, c, d.length].join()", "'1,2,2'"),
    ("const f = () => y; const y = 1", "const y = 6; f()", "6"),
    ("const x = 8", "const x = (() => { throw 1 })()", None),
])
def test_names_are_kept_and_declared_again(node, first, second, value):
    assert node.run(first).status == "ok"
    assert node.run(second).text == value


def test_a_failed_declaration_leaves_the_name_as_it_was(node):
    node.run("const x = 8")
    assert node.run("const x = (() => { throw 1 })()").status == "error"
    assert node.run("x").text == "8"


@pytest.mark.parametrize("code, text, json", [
    ("1 + 1", "2", 2), ("'a'", "'a'", "a"), ("null", "null", None), ("if (true) { 5 }", "5", 5), ("await 7", "7", 7),
    ("const l = [3]; for (const i of l) i", "3", 3), ("({ a: [1] })", "{ a: [ 1 ] }", {"a": [1]}),
    ("async function main() { return 9 }\nmain()", "9", 9),
    ("new Date(0)", "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00.000Z"),
])
def test_value_of_the_last_statement(node, code, text, json):
    done = node.run(code)
    assert (done.status, done.exit_code, done.text) == ("ok", 0, text)
    assert done.value["application/json"] == json


@pytest.mark.parametrize("code", ["", "// nothing", "const x = 1", "undefined", "function f() {}", "class A {}", ";"])
def test_no_value(node, code):
    done = node.run(code)
    assert (done.status, done.value) == ("ok", None)


def test_locals_leave_out_what_is_no_data(node):
    done = node.run("""import path from 'path'
        const fs = require('fs'), x = 1, _hidden = 2, f = () => 1, list = [1, { a: 2 }]
        class A {}
        let late""")
    assert done.locals == {"x": "1", "list": "[ 1, { a: 2 } ]", "late": "undefined"}


def test_a_name_of_the_global_object_is_hidden_from_runs_only(node):
    assert node.run("const { setTimeout } = require('timers/promises'); await setTimeout(1, 'own')").text == "'own'"
    assert node.run("globalThis.setTimeout === setTimeout").text == "false"
    assert node.run("await new Promise((done) => globalThis.setTimeout(done, 1, 'old'))").text == "'old'"


def test_modules_of_the_work_folder(node, work):
    (work / "es.mjs").write_text("export const one = 1; export default 'd'; export { one as 'odd name' }")
    (work / "cjs.cjs").write_text("module.exports = { two: 2 }")
    (work / "data.json").write_text("[3]")
    assert node.run("""import d, { one, one as uno, 'odd name' as odd } from './es.mjs'
        import * as all
          from './es.mjs';
        import './es.mjs'
        ;[d, one, uno, odd, all.one, require('./cjs.cjs').two, require('./data.json')[0], (await import('./es.mjs')).one].join()
        """).text == "'d,1,1,1,1,2,3,1'"
    missing = node.run("import { three } from './es.mjs'")
    assert "does not provide an export named 'three'" in missing.error["message"]
    assert node.run("import x from './nowhere.mjs'").status == "error"
    assert node.run("import.meta.dirname === process.cwd() && import.meta.resolve('./a.js').endsWith('/a.js')").text == "true"
    assert node.run("require.main === module").text == "true"


def test_errors_show_the_users_lines_and_nothing_else(node):
    node.run("\nfunction inner() {\n  null.x\n}")
    done = node.run("\n\ninner()")
    assert (done.status, done.exit_code, done.value) == ("error", 1, None)
    assert done.error["name"] == "TypeError" and done.error["line"] == 3
    assert done.error["traceback"].split("\n")[1:] == ["    at inner (<run 1>:3:8)", "    at <run 2>:3:1"]
    printed = node.run("console.error(new Error('told'))")
    assert printed.stderr == "Error: told\n    at <run 3>:1:15\n"


@pytest.mark.parametrize("code, name, message", [
    ("throw 5", "Uncaught", "5"),
    ("throw 'text'", "Uncaught", "text"),
    ("throw null", "Uncaught", "null"),
    ("await Promise.reject(new RangeError('r'))", "RangeError", "r"),
    ("Promise.reject(new RangeError('last'))", "RangeError", "last"),
    ("JSON.parse('(')", "SyntaxError", None),
    ("throw new Proxy({}, { get() { throw 1 } })", "Uncaught", None),
    ("function f() { f() } f()", "RangeError", "Maximum call stack size exceeded"),
])
def test_whatever_is_thrown(node, code, name, message):
    done = node.run(code)
    assert (done.status, done.error["name"]) == ("error", name)
    assert message is None or done.error["message"] == message


@pytest.mark.parametrize("code, line", [
    ("console.log('ran')\nlet = = 1", 2), ("console.log('ran')\n\n)", 3), ("console.log('ran'); `", 1),
    ("console.log('ran')\nconst a = 1\nconst a = 2", 3), ("import x from 'fs'\nconsole.log('ran')\nif (", 3), ("const x", 1),
    ("console.log('ran')\nreturn 5", 2),
])
def test_syntax_errors_are_found_before_anything_runs(node, code, line):
    done = node.run(code)
    assert (done.status, done.exit_code, done.stdout) == ("syntax_error", 1, "")
    assert done.error["name"] == "SyntaxError" and done.error["line"] == line
    assert done.error["traceback"].startswith("<run 1>:%d\n" % line)


def test_what_nobody_waits_for_is_printed_and_kills_nothing(node):
    done = node.run("""setTimeout(() => { throw new Error('late') }, 1)
        Promise.reject(new Error('lost'))
        await new Promise((done) => setTimeout(done, 20)); 'alive'""")
    assert (done.status, done.text) == ("ok", "'alive'")
    assert "Uncaught Error: lost" in done.stderr and "Uncaught Error: late" in done.stderr
    own = node.run("""process.on('uncaughtException', (error) => console.log('own ' + error.message))
        setTimeout(() => { throw new Error('late') }, 1)
        await new Promise((done) => setTimeout(done, 20))""")
    assert (own.stdout, own.stderr) == ("own late\n", "")


def test_output_keeps_its_order_with_that_of_children(node):
    done = node.run("""console.log('one'); console.error('warned')
        require('child_process').execSync('echo two', { stdio: 'inherit' })
        process.stdout.write('three\\n'); require('fs').writeSync(1, 'four\\n')""")
    assert (done.stdout, done.stderr) == ("one\ntwo\nthree\nfour\n", "warned\n")


def test_all_output_comes_before_the_result(node):
    done = node.run("process.stdout.write('x'.repeat(3e6)); process.stdout.end('y'); console.log('z')")
    assert done.stdout == "x" * 3000000 + "yz\n"


@pytest.mark.parametrize("code", [
    "require('fs').readFileSync(0, 'latin1')",
    "require('fs').readFileSync('/dev/stdin', 'latin1')",
    "let s = ''; for await (const part of process.stdin) s += part.toString('latin1'); s",
    "require('child_process').execSync('cat', { stdio: ['inherit', 'pipe', 'inherit'] }).toString('latin1')",
])
def test_input_is_given_in_every_way(node, code):
    for given in (b"a\0\n\xff", b"", None, b"again"):
        assert node.run(code, stdin=given).value["application/json"] == (given or b"").decode("latin1")


def test_lines_of_input(node):
    assert node.run("""import { createInterface } from 'node:readline'
        const lines = []
        for await (const line of createInterface({ input: process.stdin })) lines.push(line)
        lines.join('+')""", stdin=b"a\nb\n").text == "'a+b'"


def test_the_input_file_does_not_stay(node, tmp_path, start):
    folder = tmp_path / "tmp"
    folder.mkdir()
    other = start(NODE, RUNNER, env=dict(os.environ, TMPDIR=str(folder)))
    assert other.run("require('fs').readdirSync(process.env.TMPDIR).length", stdin=b"x").text == "0"


def test_children_do_not_inherit_the_stream(node):
    done = node.run("require('child_process').execSync('ls -l /proc/self/fd', { stdio: 'inherit' })")
    assert "socket" not in done.stdout


def test_exit_ends_the_run_and_keeps_the_context(node):
    node.run("const kept = 1")
    done = node.run("try { process.exit(3) } catch { console.log('caught') } finally { console.log('finally') }")
    assert (done.status, done.exit_code, done.stdout) == ("exit", 3, "")
    assert node.run("setTimeout(() => process.exit(4), 1); await new Promise(() => {})").exit_code == 4
    assert node.run("process.exitCode = 6; process.exit()").exit_code == 6
    assert node.run("process.exit()").exit_code == 0
    assert node.run("kept").text == "1"


@pytest.mark.parametrize("what", HANGS)
def test_interrupts(node, what):
    node.run("const kept = 1")
    run = node.start(HANGS[what])
    node.wait_for_output("on")
    node.interrupt()
    done = node.finish(run)
    assert (done.status, done.exit_code) == ("interrupted", 130)
    assert node.run("kept").text == "1"


def test_an_interrupt_reaches_children_that_are_waited_for(node):
    run = node.start("require('child_process').execFileSync('bash', ['-c', 'echo on; exec sleep 1000'], { stdio: 'inherit' })")
    node.wait_for_output("on")
    os.killpg(node.process.pid, signal.SIGINT)
    # What the child's death throws may end the run before the interrupt does.
    assert node.finish(run).status in ("interrupted", "error")


def test_interrupts_between_runs_do_nothing(node):
    node.run("process.on('SIGINT', () => console.log('taken'))")
    for _ in range(5):
        node.interrupt()
    for _ in range(5):
        node.run("0")  # one that is still on its way may meet the run that begins, each of them one run
    assert node.run("1").text == "1"
    test_interrupts(node, "waiting")


def test_hundreds_of_runs(node):
    for i in range(300):
        assert node.run("const x = %d; x" % i).text == str(i)


def test_environment_comes_with_a_run(node):
    env = "A=1\0B=x=y\0C=é\0".encode()
    assert node.run("[process.env.A, process.env.B, process.env.C].join()", env=env).text == "'1,x=y,é'"
    assert node.run("require('child_process').execSync('echo $B').toString()").text == "'x=y\\n'"


def test_the_end_of_the_stream_ends_it(node):
    node.run("setInterval(() => {}, 1000)")
    assert node.hang_up() == 0


def test_broken_requests_end_it(node):
    node.socket.sendall(b"run zz 1 - rich\n")
    with pytest.raises(harness.Gone):
        node.line()
