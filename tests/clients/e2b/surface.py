"""The current Python SDK, sync and async, through its public surface. Ends with 0 when all of it holds."""
import asyncio
import http.client
import time
import urllib.request

from e2b import CommandExitException, InvalidArgumentException, NotFoundException, PtySize, SandboxQuery, TimeoutException
from e2b_code_interpreter import AsyncSandbox, Sandbox


def raises(kind, words, call, *args, **more):
    try:
        call(*args, **more)
    except kind as error:
        assert words in str(error), error
        return error
    raise AssertionError("%s: was not raised" % kind.__name__)


def until(true):
    while not true():
        time.sleep(0.01)


def runs(sandbox):
    told = []
    first = sandbox.run_code("import os, sys\nprint('é', os.environ['X'])\nprint('e', file=sys.stderr)\nx = 40\nx + 2",
                             on_stdout=lambda piece: told.append(piece.line), on_result=lambda result: told.append(result.text))
    assert first.text == "42" and "".join(first.logs.stdout) == "é 1\n" and first.logs.stderr == ["e\n"], first
    assert "".join(told) == "é 1\n42" and first.execution_count == 1
    assert sandbox.run_code("x").text == "40"
    error = sandbox.run_code("1 / 0").error
    assert (error.name, error.value) == ("ZeroDivisionError", "division by zero") and "line 1" in error.traceback
    assert sandbox.run_code("let y = 20; y + 1", language="javascript").text == "21"
    shown = sandbox.run_code("class T:\n    def _repr_html_(self): return '<b>t</b>'\ndisplay(T())").results
    assert [(one.is_main_result, one.html) for one in shown] == [(False, "<b>t</b>")]
    raises(TimeoutException, "timed out", sandbox.run_code, "while True: pass", timeout=1)
    assert sandbox.run_code("x").text == "40", "an interrupted run keeps the variables"
    shell = sandbox.run_code("# two\n!echo \"a\" é; cd /; pwd\n\n !pwd \\\n  ; exit 3")
    assert (shell.error, shell.results, "".join(shell.logs.stdout)) == (None, [], "a é\n/\n/home/user\n"), shell
    assert sandbox.run_code("1\n!echo a").error.name == "SyntaxError"
    context = sandbox.create_code_context(cwd="/tmp")
    assert sandbox.run_code("import os; os.getcwd()", context=context).text == "/tmp"
    assert context.id in [one.id for one in sandbox.list_code_contexts()]
    sandbox.restart_code_context(context)
    sandbox.remove_code_context(context)
    assert context.id not in [one.id for one in sandbox.list_code_contexts()]


def files(sandbox):
    files = sandbox.files
    assert files.write("a é.txt", "héllo").path == "/home/user/a é.txt"
    assert files.read("a é.txt") == "héllo" and files.read("a é.txt", format="bytes") == "héllo".encode()
    assert b"".join(files.read("a é.txt", format="stream")) == "héllo".encode()
    files.write_files([{"path": "m/1", "data": b"one"}, {"path": "m/n/2", "data": ""}])
    assert files.read("m/n/2") == ""
    large = bytes(range(256)) * 12000
    files.write("large", large)
    assert files.read("large", format="bytes") == large
    raises(NotFoundException, "does not exist", files.read, "nope")
    assert [(one.path, one.type.value) for one in files.list("m", depth=2)] == \
        [("/home/user/m/1", "file"), ("/home/user/m/n", "dir"), ("/home/user/m/n/2", "file")]
    info = files.get_info("m/1")
    assert (info.size, info.permissions, info.owner) == (3, "-rw-r--r--", "user")
    assert files.exists("m/1") and not files.exists("m/9")
    assert files.make_dir("d") and not files.make_dir("d")
    assert files.rename("m/1", "m/moved").path == "/home/user/m/moved"
    files.remove("m")
    assert not files.exists("m")
    watcher = files.watch_dir("d")
    files.write("d/new", "1")
    seen = []
    until(lambda: seen.extend(watcher.get_new_events()) or [one for one in seen if (one.type.value, one.name) == ("create", "new")])
    watcher.stop()
    with urllib.request.urlopen(sandbox.download_url("d/new")) as answer:
        assert answer.read() == b"1"


def commands(sandbox):
    commands = sandbox.commands
    result = commands.run("echo out; echo err >&2; pwd; echo $A $X", envs={"A": "a"}, cwd="/tmp")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "out\n/tmp\na 1\n", "err\n")
    assert raises(CommandExitException, "3", commands.run, "exit 3").exit_code == 3
    raises(InvalidArgumentException, "/nowhere", commands.run, "true", cwd="/nowhere")
    raises(TimeoutException, "timed out", commands.run, "sleep 600", timeout=1)
    cat = commands.run("cat", background=True, stdin=True)
    other = commands.connect(cat.pid)
    assert cat.pid in [one.pid for one in commands.list()]
    commands.send_stdin(cat.pid, "line\n")
    commands.close_stdin(cat.pid)
    assert cat.wait().stdout == "line\n" and other.wait().exit_code == 0
    assert commands.run("sleep 600", background=True).kill() and not commands.kill(999999)
    terminal = sandbox.pty.create(PtySize(rows=24, cols=80))
    sandbox.pty.resize(terminal.pid, PtySize(rows=40, cols=100))
    sandbox.pty.send_stdin(terminal.pid, b"stty size; exit\n")
    shown = []
    terminal.wait(on_pty=lambda piece: shown.append(piece))
    assert b"40 100" in b"".join(shown), shown


def ports(sandbox):
    """By the name that get_host makes, which not every resolver knows to be loopback's."""
    name, _, port = sandbox.get_host(8123).rpartition(":")
    assert name == "8123-%s.localhost" % sandbox.sandbox_id
    server = sandbox.commands.run("python3 -m http.server 8123", background=True)

    def status(headers):
        asked = http.client.HTTPConnection("127.0.0.1", int(port))
        asked.request("GET", "/", headers={"Host": sandbox.get_host(8123), **headers})
        try:
            return asked.getresponse().status
        finally:
            asked.close()

    until(lambda: status({"E2B-Traffic-Access-Token": sandbox.traffic_access_token}) == 200)
    assert status({}) == 401
    server.kill()


def control(sandbox):
    info = sandbox.get_info()
    assert (info.template_id, info.metadata, info.state.value) == ("code-interpreter-v1", {"k": "v w"}, "running")
    sandbox.set_timeout(500)
    assert 400 < sandbox.get_info().end_at.timestamp() - time.time() < 501
    assert sandbox.get_metrics()[0].mem_total > 0 and sandbox.is_running()
    listed = Sandbox.list(query=SandboxQuery(metadata={"k": "v w"})).next_items()
    assert [one.sandbox_id for one in listed] == [sandbox.sandbox_id]
    assert Sandbox.connect(sandbox.sandbox_id).run_code("x").text == "40"
    raises(NotFoundException, "", Sandbox.get_info, "nope")
    assert sandbox.kill() and not sandbox.kill() and not sandbox.is_running()


async def other_way():
    sandbox = await AsyncSandbox.create(timeout=300)
    assert (await sandbox.run_code("40 + 2")).text == "42"
    assert (await sandbox.commands.run("echo a")).stdout == "a\n"
    await sandbox.files.write("f", "x")
    assert await sandbox.files.read("f") == "x" and [one.name for one in await sandbox.files.list(".")] == ["f"]
    seen = []
    watch = await sandbox.files.watch_dir(".", on_event=lambda event: seen.append(event.name))
    await sandbox.files.write("g", "y")
    while "g" not in seen:
        await asyncio.sleep(0.01)
    await watch.stop()
    terminal = await sandbox.pty.create(PtySize(rows=24, cols=80), on_data=lambda piece: seen.append(piece))
    await sandbox.pty.send_stdin(terminal.pid, b"exit\n")
    await terminal.wait()
    first, second = await asyncio.gather(sandbox.commands.run("sleep 0.1; echo 1"), sandbox.commands.run("echo 2"))
    assert (first.stdout, second.stdout) == ("1\n", "2\n")
    assert await sandbox.is_running() and await sandbox.kill()


def main():
    sandbox = Sandbox.create(metadata={"k": "v w"}, envs={"X": "1"}, timeout=300)
    for part in (runs, files, commands, ports, control):
        part(sandbox)
    asyncio.run(other_way())
    print("all of it")


if __name__ == "__main__":
    main()
