"""Node zygotes: what is told, refused, and what their forks can do."""
import json
import os
import re
import time

import pytest

import forks
import harness
from test_node_runs import HANGS

NODE = os.environ.get("SNAPCELL_TEST_NODE", "node")


def zygote_in(parent, tree, *preloads):
    shim = ":".join((str(tree / "fork" / "libsnapcell-nodefork.so"), *preloads))
    return parent(NODE, "--single-threaded", "--v8-pool-size=0", str(tree / "node" / "runner.js"), "--zygote",
                  env=dict(os.environ, LD_PRELOAD=shim, UV_USE_IO_URING="0"))


@pytest.fixture
def zygote(parent, tree):
    return zygote_in(parent, tree)


def fork_of(zygote):
    assert zygote.serve() == {"op": "forkable"}
    return zygote.fork()


def test_a_fork_has_what_the_prelude_defined(zygote):
    assert zygote.prelude("import", "path") == {"op": "prelude", "status": "ok", "error": None}
    assert zygote.prelude("code", "const table = { a: 1 }; function twice(n) { return 2 * n }")["status"] == "ok"
    child = fork_of(zygote)
    assert child.ready == zygote.ready
    done = child.run("const x = twice(table.a); console.log(x); x")
    assert (done.status, done.text, done.stdout, done.locals) == ("ok", "2", "2\n", {"x": "2"})
    assert zygote.hang_up() == 0


def test_the_rehearsal_leaves_the_programs_console_alone(zygote):
    prelude = "const calls = []; console.log = (...words) => calls.push(words)"
    assert zygote.prelude("code", prelude)["status"] == "ok"
    child = fork_of(zygote)
    assert child.run("calls.length").text == "0"
    own = "const { Writable } = require('stream'); let got = ''; Object.defineProperty(process, 'stderr', { value: " \
          "new Writable({ write(bytes, encoding, done) { got += bytes; done(); } }) }); console.error('mine'); got"
    done = child.run(own)
    assert (done.text, done.stdout, done.stderr) == ("'mine\\n'", "", "")


@pytest.mark.parametrize("kind, body, name, words", [
    ("import", "no-such-module", "Error", "Cannot find module 'no-such-module'"),
    ("import", "./broken.js", "TypeError", "broken.js:1"),
    ("code", "const = 1", "SyntaxError", "<prelude>:1"),
    ("code", "function f() { return null.x }\nf()", "TypeError", "f (<prelude>:1:"),
])
def test_a_broken_prelude_is_told_with_its_stack(zygote, work, kind, body, name, words):
    (work / "broken.js").write_text("null.x\n")
    said = zygote.prelude(kind, body)
    assert (said["status"], said["error"]["name"]) == ("error", name)
    assert words in said["error"]["traceback"]


def test_modules_of_both_kinds(zygote, work):
    (work / "old.js").write_text("exports.n = 1; globalThis.loads = (globalThis.loads || 0) + 1\n")
    (work / "new.mjs").write_text("export const n = 2; globalThis.loads = (globalThis.loads || 0) + 1\n")
    for name in ("./old.js", "./new.mjs"):
        assert zygote.prelude("import", name)["status"] == "ok"
    assert fork_of(zygote).run("require('./old.js').n + (await import('./new.mjs')).n + 10 * loads").text == "23"


def test_an_ordinary_runner_takes_preludes_until_its_first_run(start, tree):
    runner = start(NODE, str(tree / "node" / "runner.js"))
    runner.socket.sendall(b"prelude code 11\nconst x = 1")
    assert runner.line() == {"op": "prelude", "status": "ok", "error": None}
    done = runner.run("x")
    assert (done.text, done.locals) == ("1", {})
    runner.socket.sendall(b"prelude code 11\nconst x = 1")
    with pytest.raises(harness.Gone):
        runner.line()


def test_a_zygote_has_no_runs(zygote):
    zygote.start("1")
    assert zygote.process.wait(harness.PATIENCE_S) == 1


UNFORKABLE = {
    "a timer": ("setTimeout(() => {}, 60000)", "still waited for: Timeout"),
    "a server": ("require('net').createServer().listen(0)", "TCPServerWrap"),
    "a child": ("require('child_process').spawn('sleep', ['60'])", "ProcessWrap"),
    "a file": ("require('fs').openSync('package.json', 'w')", "cannot be carried over"),
}


@pytest.mark.parametrize("code, words", UNFORKABLE.values(), ids=UNFORKABLE)
def test_a_zygote_that_cannot_be_forked_says_why(zygote, code, words):
    assert zygote.prelude("code", code)["status"] == "ok"
    said = zygote.serve()
    assert said["op"] == "not_forkable"
    assert words in said["reason"]
    assert zygote.process.wait(harness.PATIENCE_S) == 0


def test_threads_of_the_preludes_are_not_forked(zygote):
    zygote.prelude("code", "new (require('worker_threads').Worker)('setInterval(() => {}, 1000)', { eval: true }).unref()")
    said = zygote.serve()
    if said["op"] == "forkable":  # it depends on the version what is seen first
        with pytest.raises(forks.Refused) as refused:
            zygote.fork()
        said = {"reason": refused.value.args[2]}
    assert re.fullmatch(r"\d+ threads? are running besides Node's own|something is still waited for: .*|descriptor .*", said["reason"])


def test_work_on_files_in_a_prelude_does_not_hinder(zygote):
    zygote.prelude("code", "const text = String(await require('fs').promises.readFile('/proc/self/comm'))")
    child = fork_of(zygote)
    assert child.run("text === String(await require('fs').promises.readFile('/proc/self/comm'))").text == "true"


@pytest.mark.parametrize("missing, words", [
    ("libsnapcell-fork.so", "libsnapcell-fork.so: cannot open"), ("snapcell-fork-addon.node", "Cannot find module"),
])
def test_what_is_missing_is_told(parent, tmp_path, missing, words):
    copy = forks.tree(tmp_path / "tree")
    os.unlink(copy / "fork" / missing)
    said = zygote_in(parent, copy).serve()
    assert said["op"] == "not_forkable"
    assert words in said["reason"]


def test_a_node_without_the_shim_says_so(parent, tree):
    zygote = parent(NODE, "--single-threaded", "--v8-pool-size=0", str(tree / "node" / "runner.js"), "--zygote")
    assert zygote.serve() == {"op": "not_forkable", "reason": "libsnapcell-nodefork.so is not preloaded"}


# ---- what a fork can do ----

# Each prints what it is called when it has worked.
WORK = {
    "garbage": "let kept = []; for (let i = 0; i < 1e6; i++) kept.push({ i }); kept = kept.length; if (kept === 1e6) console.log('garbage')",
    "compiled": "const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2)); if (fib(25) === 75025) console.log('compiled')",
    "timers": "const began = Date.now(); await new Promise((done) => setTimeout(done, 20)); if (Date.now() - began >= 19) console.log('timers')",
    "fetch": """
        const server = require('http').createServer((request, answer) => answer.end('hello ' + request.url));
        await new Promise((done) => server.listen(0, '127.0.0.1', done));
        const text = await (await fetch(`http://127.0.0.1:${server.address().port}/you`)).text();
        server.closeAllConnections(); server.close();
        if (text === 'hello /you') console.log('fetch')""",
    "files": """
        const { promises: files } = require('fs');
        await files.writeFile('file', 'text'); if (String(await files.readFile('file')) === 'text') console.log('files')""",
    "workers": """
        const { Worker } = require('worker_threads');
        const told = await new Promise((done, fail) => new Worker('require("worker_threads").parentPort.postMessage(7)', { eval: true })
            .on('message', done).on('error', fail));
        if (told === 7) console.log('workers')""",
    "children": """
        const { execFile, execFileSync } = require('child_process');
        const later = await new Promise((done) => execFile('echo', ['later'], (error, text) => done(text)));
        const env = String(execFileSync('env'));
        if (later === 'later\\n' && !env.includes('LD_PRELOAD')) console.log('children')""",
    "signals": """
        const got = new Promise((done) => process.once('SIGUSR2', done));
        process.kill(process.pid, 'SIGUSR2'); await got; console.log('signals')""",
    "wasm": """
        const bytes = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 127, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 6, 1, 4, 0, 65, 42, 11);
        const { instance } = await WebAssembly.instantiate(bytes); if (instance.exports.f() === 42) console.log('wasm')""",
    "crypto": """
        const { scrypt } = require('crypto');
        const key = await new Promise((done) => scrypt('a', 'b', 16, { N: 16 }, (error, made) => done(made)));
        if (key.length === 16) console.log('crypto')""",
    "compression": """
        const { gzip, gunzip } = require('zlib'); const { promisify } = require('util');
        if (String(await promisify(gunzip)(await promisify(gzip)('text'))) === 'text') console.log('compression')""",
    "descriptors": """
        const names = require('fs').readdirSync('/proc/self/fd').filter((n) => n > 4).map((n) => { try { return require('fs').readlinkSync('/proc/self/fd/' + n) } catch { return '/dev/null' } });
        if (names.every((name) => /^(\\/dev\\/null|pipe:|socket:|anon_inode:\\[event)/.test(name))) console.log('descriptors')""",
}


@pytest.mark.parametrize("name", WORK)
def test_a_fork_can_do_what_node_does(zygote, name):
    zygote.prelude("import", "http")
    fork_of(zygote)
    for child in (zygote.forks[0], zygote.fork()):
        done = child.run("{" + WORK[name] + "}")
        assert (done.status, done.stdout, done.stderr) == ("ok", name + "\n", ""), done.error
        child.socket.close()
        assert child.wait() == 0
    assert zygote.hang_up() == 0


def test_all_of_it_in_one_fork(zygote):
    child = fork_of(zygote)
    for name, code in WORK.items():
        assert child.run("{" + code + "}").stdout == name + "\n"


@pytest.mark.parametrize("code", HANGS.values(), ids=HANGS)
def test_interrupts_of_a_fork(zygote, code):
    child = fork_of(zygote)
    for _ in range(2):
        run_id = child.start(code)
        child.wait_for_output("on") if "console" in code else time.sleep(0.1)
        child.interrupt()
        done = child.finish(run_id)
        assert (done.status, done.exit_code) == ("interrupted", 130)
        assert child.run("1 + 1").text == "2"


def test_an_interrupt_between_two_runs_does_nothing(zygote):
    child = fork_of(zygote)
    child.interrupt()
    assert child.run("process.on('SIGINT', () => {}); 1").text == "1"
    child.interrupt()
    assert child.run("2").text == "2"


def test_exits_of_a_fork(zygote):
    child = fork_of(zygote)
    assert child.run("process.exit(3)").exit_code == 3
    assert child.run("1").text == "1"


# ---- siblings ----

SIBLINGS = 200
PRELUDE = """
const crypto = require('crypto');
function draw() {
  return {
    random: Math.random(), uuid: crypto.randomUUID(), number: crypto.randomInt(2 ** 40), bytes: crypto.randomBytes(8).toString('hex'),
    values: String(crypto.getRandomValues(new Uint32Array(2))), web: globalThis.crypto.randomUUID(),
    key: crypto.generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }).d,
    folder: require('fs').mkdtempSync(require('os').tmpdir() + '/fork-'),
  };
}
const first = draw(); require('fs').rmdirSync(first.folder); const began = performance.now();
"""
RUN = """
const told = draw(); require('fs').rmdirSync(told.folder);
console.log(JSON.stringify({ ...told, pid: process.pid, real: Number(require('fs').readlinkSync('/proc/self')), now: Date.now(),
  later: performance.now() > began, age: process.uptime() > 0 && process.uptime() < 1000, native: String(Math.random),
  kind: Math.random instanceof Function }))
"""
ROWS = ["random", "uuid", "number", "bytes", "values", "web", "key", "folder", "pid"]


@pytest.fixture(scope="module")
def siblings(tree, tmp_path_factory, same_pid):
    def parent(*argv, env):
        return forks.Parent(list(argv), tmp_path_factory.mktemp("work"), env)
    zygote, told = zygote_in(parent, tree, same_pid), []
    try:
        assert zygote.prelude("code", PRELUDE)["status"] == "ok"
        assert zygote.serve() == {"op": "forkable"}
        for _ in range(SIBLINGS):
            child = zygote.fork()
            told.append(dict(json.loads(child.run(RUN).stdout), outside=child.pid))
            zygote.drop(child)
    finally:
        zygote.close()
    return told


@pytest.mark.parametrize("row", ROWS)
def test_siblings_differ(siblings, row):
    assert len({str(one[row]) for one in siblings}) == SIBLINGS


def test_a_sibling_is_a_process_of_its_own(siblings):
    for one in siblings:
        assert one["pid"] == one["real"] == one["outside"]


def test_time_goes_on(siblings):
    nows = [one["now"] for one in siblings]
    assert nows == sorted(nows)
    assert all(one["later"] and one["age"] for one in siblings)


def test_random_looks_as_ever(siblings):
    assert {(one["native"], one["kind"]) for one in siblings} == {("function random() { [native code] }", True)}


def siblings_without(parent, tree, same_pid, code):
    """What two forks draw when a step of theirs has been changed."""
    zygote = zygote_in(parent, tree, same_pid)
    apart = json.dumps(str(tree / "node" / "apart.js"))
    assert zygote.prelude("code", PRELUDE + "const { steps } = require(%s); %s" % (apart, code))["status"] == "ok"
    assert zygote.serve() == {"op": "forkable"}
    return [zygote.fork() for _ in range(2)]


@pytest.mark.parametrize("step, rows", [("dropKept", ["uuid", "web", "number"]), ("renewNumbers", ["random"])])
def test_no_step_is_needless(parent, tree, same_pid, step, rows):
    told = [json.loads(child.run(RUN).stdout) for child in siblings_without(parent, tree, same_pid, "steps.%s = () => {}" % step)]
    for row in ROWS:
        if row in rows:
            assert told[0][row] == told[1][row], row
        else:
            assert told[0][row] != told[1][row], row


def test_a_fork_that_cannot_go_apart_is_ended_before_any_run(parent, tree, same_pid):
    for child in siblings_without(parent, tree, same_pid, "steps.renewNumbers = () => { throw new Error('no numbers') }"):
        assert child.ready == {"op": "not_forkable", "reason": "no numbers"}
        assert child.wait() == 70
