"""The Python SDK, in each interpreter that is there: by the program, by a service's socket, and by TCP with a key."""
import asyncio
import json
import os
import signal
import subprocess
import sys
import time

import pytest
import snapcell
from snapcell import (AsyncSnapcell, CodeExecutionTool, CodeExecutor, Limits, NotForkableError, NotFoundError, Output, Result, SandboxExecutionRequest,
                      Snapcell, UsageError)

BINARY = os.environ["SNAPCELL"]
DEGRADED = [name for name in os.environ.get("SNAPCELL_TEST_DEGRADED", "").split(",") if name]
PATIENCE = float(os.environ.get("SNAPCELL_TEST_TIME_SCALE", "1")) * 120


@pytest.fixture(scope="module", autouse=True)
def store(tmp_path_factory):
    """Where sessions rest on disk: of the tests' own, also for services that clients start."""
    before = os.environ.get("SNAPCELL_STORE")
    os.environ["SNAPCELL_STORE"] = str(tmp_path_factory.mktemp("store"))
    yield
    del os.environ["SNAPCELL_STORE"]
    if before is not None:
        os.environ["SNAPCELL_STORE"] = before


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """(socket, url, key) of a service of the tests' own."""
    folder = tmp_path_factory.mktemp("s")
    state = folder / "state"
    state.mkdir(mode=0o700)
    (state / "tenants.json").write_text(json.dumps({"version": 1, "standard": {"allow_degraded": DEGRADED, "requests_per_s": 100000}}))
    key = subprocess.run([BINARY, "key", "add", "--tenant", "t", "--state", str(state)], check=True, capture_output=True, text=True).stdout.strip()
    child = subprocess.Popen([BINARY, "serve", "--http-socket", str(folder / "http.sock"), "--socket", str(folder / "keeper.sock"), "--listen",
                              "127.0.0.1:0", "--state", str(state), "--drain", "0s"], stdout=subprocess.PIPE, text=True)
    lines = [child.stdout.readline() for _ in range(2)]
    url = [line.split()[-1] for line in lines if "unix:" not in line][0]
    yield str(folder / "http.sock"), url if url.startswith("http") else "http://" + url, key
    child.terminate()
    assert child.wait(PATIENCE) == 0
    child.stdout.close()


@pytest.fixture(params=["program", "socket", "tcp"])
def options(request):
    more = {"allow_degraded": DEGRADED}
    if request.param == "program":
        return more
    socket, url, key = request.getfixturevalue("service")
    return {**more, **({"http_socket": socket} if request.param == "socket" else {"url": url, "api_key": key})}


@pytest.fixture
def cells(options):
    with Snapcell(**options) as made:
        yield made


def test_a_run(cells):
    result = cells.run("import sys; print('out'); print('err', file=sys.stderr); 6 * 7", files={"a/b.txt": "x", "c": b"\xff"})
    assert (result.status, result.text, result.stdout, result.stderr) == ("ok", "42", "out\n", "err\n")
    failed = cells.run("1 / 0")
    assert not failed.ok and failed.error_info.name == "ZeroDivisionError" and failed.error_info.line == 1
    assert cells.run("open('a/b.txt').read() + repr(open('c', 'rb').read())", files={"a/b.txt": "x", "c": b"\xff"}).text == "\"xb'\\\\xff'\""
    assert cells.run("input()", stdin="typed\n").text == "'typed'"
    assert cells.run("process.stdout.write('n')", "node").stdout == "n" and cells.run("echo $A", "bash", env={"A": "b"}).stdout == "b\n"


def test_limits(cells):
    assert cells.run("while True: pass", timeout=0.5).status == "timeout"
    cut = cells.run("print('x' * 100)", limits=Limits(stdout_bytes=10))
    assert cut.stdout == "x" * 10 and cut.stdout_truncated
    with pytest.raises(UsageError, match="wall_ms"):
        cells.run("1", timeout=0.001)
    with pytest.raises(ValueError):
        Limits(memory=1)


def test_a_stream(cells):
    items = list(cells.stream("import time\nfor i in range(3):\n    print(i, flush=True)\n    time.sleep(0.2)\n'v'"))
    assert isinstance(items[-1], Result) and items[-1].text == "'v'" and items[-1].stdout == "0\n1\n2\n"
    assert len(items) > 3 and all(isinstance(item, Output) for item in items[:-1])
    assert "".join(item.text for item in items[:-1]) == "0\n1\n2\n"


def test_a_session(cells, tmp_path):
    with cells.session(files={"given.txt": "g"}) as session:
        session.run("x = 1")
        assert session.run("x + 1").text == "2" and session.run("x", context="other").error_info.name == "NameError"
        assert session.exec("cat; echo e >&2; exit 3", stdin="s").exit_code == 3
        assert session.exec(["printf", "%s", "$HOME"]).stdout == "$HOME"
        assert session.exec("pwd", cwd="/tmp").stdout == "/tmp\n" and session.exec("echo $V", env={"V": "w"}).stdout == "w\n"
        assert "".join(item.text for item in session.stream("print('s')") if isinstance(item, Output)) == "s\n"
        assert session.read_text("given.txt") == "g"
        session.write("d e/f\u00fc.txt", "one")
        session.write("d e/f\u00fc.txt", b" two", append=True)
        assert session.read("d e/f\u00fc.txt") == b"one two" and session.read("d e/f\u00fc.txt", offset=4, length=2) == b"tw"
        assert [entry.name for entry in session.list("d e")] == ["f\u00fc.txt"] and session.stat("d e/f\u00fc.txt").size == 7
        session.rename("d e/f\u00fc.txt", "g")
        session.remove("d e", recursive=True)
        with pytest.raises(OSError) as error:
            session.read("d e")
        assert error.value.code == "ENOENT"
        source = tmp_path / "source"
        (source / "sub").mkdir(parents=True)
        (source / "sub" / "x").write_text("deep")
        (source / "link").symlink_to("/etc/passwd")
        session.upload(str(source), "up")
        assert session.exec("find up | sort").stdout == "up\nup/sub\nup/sub/x\n"
        session.exec("ln -s /etc/passwd up/evil")
        session.download("up", str(tmp_path / "down"))
        assert (tmp_path / "down/sub/x").read_text() == "deep" and not os.path.lexists(tmp_path / "down/evil")
        assert {context["name"] for context in session.contexts()} == {"python", "other"}
        session.restart("python")
        assert session.run("x").error_info.name == "NameError"
        assert session.info().session == session.id and session.id in [one.session for one in cells.sessions()]
        assert cells.attach(session.id).exec("echo same").stdout == "same\n"
        session.keepalive()
        with pytest.raises(NotForkableError):
            session.fork()
    with pytest.raises(snapcell.SnapcellError):
        session.run("1")


def test_copies(cells):
    with cells.session(forkable=True, metadata={"a": "b"}) as session:
        session.run("x = 1\nopen('f', 'w').write('one')")
        assert session.info().forkable
        then = session.snapshot("then-%s" % session.id[:8], metadata={"why": "try"})
        one, two = session.forks(2, idle_s=60)
        with one, two:
            one.run("x = 2")
            assert (one.run("x").text, two.run("x").text, session.run("x").text) == ("2", "1", "1")
            assert one.info().parent == session.id
            with pytest.raises(NotForkableError):
                one.fork()
        assert [kept.parent for kept in cells.snapshots() if kept.snapshot == then] == [session.id]
        session.run("x = 3\nopen('f', 'w').write('three')")
        with cells.session(from_snapshot=then, forkable=True) as again, again.fork() as below:
            assert (again.run("x").text, below.read_text("f")) == ("1", "one")
        with pytest.raises(UsageError, match="env"):
            cells.session(from_snapshot=then, env={"A": "b"})
        session.rollback(then)
        assert (session.run("x").text, session.read_text("f")) == ("1", "one")
        cells.drop_snapshot(then)
        with pytest.raises(NotFoundError):
            session.rollback(then)
        assert then not in [kept.snapshot for kept in cells.snapshots()]


def test_pausing(service):
    with Snapcell(http_socket=service[0], allow_degraded=DEGRADED) as cells:
        pausing(cells)


def pausing(cells):
    with cells.session(secrets={"TOKEN": "hush"}, forkable=True) as session:
        assert session.run("import os; x = 1; open('f', 'w').write('kept'); os.environ['TOKEN']").text == "'hush'"
        with pytest.raises(NotForkableError) as error:
            session.snapshot()
        assert error.value.field == "inherit_secrets"
        cells.drop_snapshot(session.snapshot(inherit_secrets=True))
        assert session.pause() > 0
        assert cells.attach(session.id).info().state == "paused"
        with pytest.raises(UsageError, match="TOKEN"):
            session.resume()
        session.resume(idle_s=60, secrets={"TOKEN": "hush"})
        assert session.run("import os; open('f').read() + os.environ['TOKEN']").text == "'kepthush'"
    with pytest.raises(NotFoundError):
        cells.attach(session.id)


def test_copies_without_waiting_for_each_other(service):
    async def body():
        async with AsyncSnapcell(http_socket=service[0], allow_degraded=DEGRADED) as cells, await cells.session(forkable=True) as session:
            await session.run("x = 1")
            then = await session.snapshot()
            copies = await session.forks(3)
            answers = await asyncio.gather(*(copy.run("x + %d" % i) for i, copy in enumerate(copies)))
            assert [answer.text for answer in answers] == ["1", "2", "3"]
            await session.rollback(then)
            async with await session.fork() as fork, await cells.session(from_snapshot=then) as again:
                assert ((await fork.run("x")).text, (await again.run("x")).text) == ("1", "1")
            for copy in copies:
                await copy.end()
            await cells.drop_snapshot(then)
            assert await session.pause() > 0
            await session.resume()
            assert (await session.run("1")).context_lost

    asyncio.run(body())


def test_many_at_once(cells):
    told = []
    results = cells.batch(["%d * 2" % i for i in range(6)], concurrency=3, progress=lambda done, total: told.append((done, total)))
    assert [result.text for result in results] == [str(i * 2) for i in range(6)]
    assert told == [(i + 1, 6) for i in range(6)]


def test_interrupting(options):
    async def body():
        async with AsyncSnapcell(**options) as cells, await cells.session() as session:
            await session.run("x = 1")
            running = asyncio.ensure_future(session.run("open('up', 'w').close()\nwhile True: pass", timeout=600))
            while (await session.exec("test -e up")).exit_code:
                await asyncio.sleep(0.02)
            assert await session.interrupt() == 1
            assert (await running).status == "cancelled"
            assert (await session.run("x")).text == "1"
            many = await asyncio.gather(*(session.run("%d" % i, context="c%d" % i) for i in range(4)))
            assert [result.text for result in many] == ["0", "1", "2", "3"]
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(cells.run("while True: pass", timeout=600), 1)

    asyncio.run(body())


def test_the_small_request(cells):
    run = lambda code, **more: cells.execute(SandboxExecutionRequest(code_script=code, **more))  # noqa: E731
    good = run("print('hi')")
    assert (good.stdout, good.stderr, good.exit_code, good.is_timeout) == ("hi\n", "", 0, False)
    assert run("import sys; sys.exit(3)").exit_code == 3
    bad = run("1 / 0")
    assert bad.exit_code == 1 and "ZeroDivisionError: division by zero" in bad.stderr
    late = run("print('x', flush=True)\nwhile True: pass", timeout_seconds=1)
    assert (late.stdout, late.exit_code, late.is_timeout) == ("x\n", 124, True)
    if "memory" not in DEGRADED:
        full = run("x = bytearray(10 ** 9)", memory_limit_mb=64)
        assert full.exit_code == -1 and not full.is_timeout and "memory" in full.stderr
    for wrong in ({"timeout_seconds": 0}, {"timeout_seconds": 31}, {"memory_limit_mb": 63}, {"memory_limit_mb": 1025}):
        with pytest.raises(ValueError):
            SandboxExecutionRequest(code_script="1", **wrong)
    asked = SandboxExecutionRequest(code_script="1")
    assert (asked.timeout_seconds, asked.memory_limit_mb) == (5, 256)


def test_check(cells):
    found = cells.check("import subprocess")
    assert not found.allowed and found.findings[0].line == 1
    assert cells.check("x = (").syntax_error and cells.check("print(1)").allowed
    assert not cells.check("import json", deny_modules=["json"]).allowed
    blocked = cells.run("import subprocess", validate=True)
    assert blocked.status == "blocked" and blocked.findings[0].name == "subprocess"


def test_tools(options):
    async def body():
        async with CodeExecutionTool(**options) as tool:
            await tool.run("x = [1, 2]")
            answer = await tool.run("print(sum(x))")
            assert answer["success"] and answer["stdout"] == "3\n" and answer["locals"] == {"x": "[1, 2]"} and "error" not in answer
            assert (await tool.run("nope"))["error"] == "NameError: name 'nope' is not defined"
            assert "success" in await tool.run("while True: pass", timeout=0.5) and (await tool.run("x"))["value"] == "[1, 2]"

    asyncio.run(body())
    with CodeExecutor(**options) as executor:
        assert executor.execute_python_code("6 * 7")["value"] == "42"


def test_notebook_display(cells):
    forms = cells.run("print('<b>'); {'text': 1}")._repr_mimebundle_()
    assert "&lt;b&gt;" in forms["text/html"] and "<b>" not in forms["text/html"] and "{'text': 1}" in forms["text/plain"]
    drawn = cells.run("class P:\n  def _repr_png_(self): return b'\\x89PNG'\nP()")._repr_mimebundle_()
    assert 'src="data:image/png;base64,iVBORw=="' in drawn["text/html"]


def test_a_service_that_is_not_there(tmp_path):
    with Snapcell(http_socket=str(tmp_path / "none")) as cells, pytest.raises(snapcell.SnapcellError) as error:
        cells.run("1")
    assert error.value.kind == "unreachable"


def test_a_wrong_key(service):
    with Snapcell(url=service[1], api_key="wrong") as cells, pytest.raises(snapcell.AuthError):
        cells.run("1")


def test_a_program_that_is_not_there(tmp_path):
    with pytest.raises(snapcell.HostError, match="was not found"):
        Snapcell(binary=str(tmp_path / "none"))


def children(pid):
    found, todo = [], [pid]
    while todo:
        fresh = []
        try:
            # Each thread has the children that it started.
            for thread in os.listdir("/proc/%d/task" % todo[0]):
                with open("/proc/%d/task/%s/children" % (todo[0], thread)) as file:
                    fresh += [int(x) for x in file.read().split()]
        except (FileNotFoundError, ProcessLookupError):
            pass
        found += fresh
        todo = todo[1:] + fresh
    return found


def is_gone(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_nothing_outlives_the_client(how):
    code = ("import snapcell, sys\ncells = snapcell.Snapcell(allow_degraded=%r)\nsession = cells.session()\n"
            "session.exec('true')\nprint('up', flush=True)\nsys.stdin.read()\ncells.close()\n" % DEGRADED)
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "up\n"
    started = children(child.pid)
    assert len(started) >= 3
    if how == "closed":
        child.stdin.close()
    else:
        child.send_signal(signal.SIGKILL)
        child.stdin.close()
    child.wait(PATIENCE)
    child.stdout.close()
    until = time.monotonic() + PATIENCE
    while not all(is_gone(pid) for pid in started):
        assert time.monotonic() < until, [pid for pid in started if not is_gone(pid)]
        time.sleep(0.02)
