"""Forms of values of the JavaScript runner: displays, bundles, bounds, and objects that do harm when looked at."""
import os

import pytest

import harness

RUNNER = os.path.join(harness.RUNNERS, "node", "runner.js")
NODE = os.environ.get("SNAPCELL_TEST_NODE", "node")
INSPECT = "Symbol.for('nodejs.util.inspect.custom')"


@pytest.fixture
def node(start):
    return start(NODE, RUNNER)


def test_displays(node):
    done = node.run("""display([1]); display.html('<b>'); display.markdown('*m*'); display.latex('$x$'); display.svg('<svg/>')
        display.json({ a: null }); display.png(Buffer.from('png')); display.jpeg(new Uint8Array([106, 112, 103])); display.text('t')""")
    assert done.displays == [
        {"text/plain": "[ 1 ]", "application/json": [1]}, {"text/plain": "<b>", "text/html": "<b>"},
        {"text/plain": "*m*", "text/markdown": "*m*"}, {"text/plain": "$x$", "text/latex": "$x$"},
        {"text/plain": "<image/svg+xml>", "image/svg+xml": "<svg/>"},
        {"text/plain": "<application/json>", "application/json": {"a": None}},
        {"text/plain": "<image/png>", "image/png": "cG5n"}, {"text/plain": "<image/jpeg>", "image/jpeg": "anBn"},
        {"text/plain": "t"}]
    assert node.run("display.png(5)").error["message"] == "this cannot be shown as image/png"


@pytest.mark.parametrize("function", ["() => bundle", "async () => bundle", "() => Promise.resolve(bundle)"])
def test_objects_that_give_their_own_forms(node, function):
    done = node.run("""const bundle = { 'text/plain': 'p', 'text/html': '<i>', 'image/png': Buffer.from('png'), 'x/unknown': 1,
        'application/vnd.some+json': { a: 1 } }
        ;({ [Symbol.for('Jupyter.display')]: %s })""" % function)
    assert done.value == {"text/plain": "p", "text/html": "<i>", "image/png": "cG5n", "application/vnd.some+json": {"a": 1}}


@pytest.mark.parametrize("value, text", [
    ("({ [%s]() { for (;;); } })" % INSPECT, "<repr timed out>"),
    ("({ [%s]() { throw new TypeError('no') } })" % INSPECT, "<repr failed: TypeError>"),
    ("({ [Symbol.for('Jupyter.display')]() { for (;;); } })", "<repr timed out>"),
    ("({ [Symbol.for('Jupyter.display')]() { return new Promise(() => {}) } })", "<repr timed out>"),
    ("({ toJSON() { for (;;); } })", "<repr timed out>"),
    ("new Proxy({}, { get() { for (;;); }, ownKeys() { for (;;); } })", "{}"),
    ("({ get a() { for (;;); } })", "{ a: [Getter] }"),
])
def test_objects_that_do_harm_when_looked_at(node, value, text):
    done = node.run("var kept = 1; %s" % value)
    assert (done.status, done.text) == ("ok", text)
    assert node.run("kept").text == "1"


def test_variables_that_do_harm_when_looked_at(node):
    done = node.run("""const loop = { [%s]() { for (;;); } }, bad = { [%s]() { throw 1 } }, good = [1]
        const flood = { [%s]() { return 'x'.repeat(1e7) } }, many = Array.from({ length: 1e6 }, () => ({ a: [{}] }))
        Object.defineProperty(globalThis, 'getter', { get() { for (;;); }, enumerable: true })""" % ((INSPECT,) * 3))
    assert done.status == "ok"
    assert (done.locals["loop"], done.locals["bad"], done.locals["good"]) == ("<repr timed out>", "<repr failed: number>", "[ 1 ]")
    assert len(done.locals["flood"]) <= 4096 and done.locals["flood"].endswith("\u2026")
    assert len(done.locals["many"]) <= 4096 and "getter" not in done.locals


def test_bounds_of_texts(node):
    assert len(node.run("'x'.repeat(1e6)").text) <= 65536
    done = node.run("display.html('x'.repeat(9 << 20))")
    assert list(done.displays[0]) == ["text/plain"] and "left out" in done.displays[0]["text/plain"]
    many = node.run("for (let i = 0; i < 5000; i++) display(i)")
    assert len(many.displays) == 1001 and "more was displayed" in many.displays[-1]["text/plain"]
    large = node.run("for (let i = 0; i < 5; i++) display.html('x'.repeat(7 << 20))")
    assert len(large.displays) == 3 and "more was displayed" in large.displays[-1]["text/plain"]
    names = node.run("for (let i = 0; i < 3000; i++) globalThis['name' + i] = 'x'.repeat(3000)")
    assert len(names.locals) <= 1000 and sum(map(len, names.locals.values())) <= 1 << 20


@pytest.mark.parametrize("value", ["2 ** 63", "1n", "NaN", "[undefined]", "({ f() {} })", "new Map()", "Symbol('x')", "() => 1",
                                   "const loop = {}; loop.loop = loop; loop"])
def test_what_json_does_not_know_is_text_only(node, value):
    done = node.run(value)
    assert done.status == "ok" and list(done.value) == ["text/plain"]


def test_texts_are_always_whole_characters(node):
    done = node.run(r"const half = '\ud800', cut = 'x' + '\u{1f600}'.repeat(3000); display.text(half); half")
    assert done.value["application/json"] == "\ufffd" and done.displays == [{"text/plain": "\ufffd"}]
    assert "\ud83d" not in done.locals["cut"]
