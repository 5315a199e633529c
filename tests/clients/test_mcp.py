"""`snapcell mcp` as its clients have it: the official ones, the inspector, and a rude one."""
import json
import os
import signal
import socket
import struct
import subprocess
import sys

import pytest
from conftest import PATIENCE

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "mcp"))

from seen import TOOLS, check_python, check_typescript  # noqa: E402
from stdio import Client  # noqa: E402


@pytest.fixture
def server(snapcell, accept):
    return [snapcell, "mcp", *accept]


@pytest.fixture
def client(server, environment):
    made = Client(server, environment)
    made.start()
    yield made
    assert made.end(PATIENCE) == 0


def text_of(result):
    return "".join(item["text"] for item in result["content"] if item["type"] == "text")


# ---- clients as they are ----

def test_typescript_client(server, environment, node):
    check_typescript(node(os.path.join(HERE, "mcp/client.mjs"), *server, env=environment))


def test_python_client(server, environment, python):
    check_python(python(os.path.join(HERE, "mcp/client.py"), *server, env=environment))


def test_inspector(server, environment, node, clients):
    cli = os.path.join(clients, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
    listed = node(cli, "--cli", *server, "--method", "tools/list", env=environment)
    assert listed.returncode == 0, listed.stderr
    assert [tool["name"] for tool in json.loads(listed.stdout)["tools"]] == TOOLS


# ---- the rest by hand ----

@pytest.mark.parametrize("asked, got", [("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"),
                                        ("2025-11-25", "2025-11-25"), ("2099-01-01", "2025-11-25")])
def test_negotiation(server, environment, asked, got):
    client = Client(server, environment)
    assert client.start(asked)["protocolVersion"] == got
    result = client.call("run_code", language="python", code="6 * 7")
    assert ("structuredContent" in result) == (got >= "2025-06-18")
    tool = client.ask("tools/list")["result"]["tools"][0]
    assert ("outputSchema" in tool) == (got >= "2025-06-18") and ("annotations" in tool) == (got >= "2025-03-26")
    assert client.end(PATIENCE) == 0


@pytest.mark.parametrize("line, code", [("{", -32700), ("[]", -32600), ("7", -32700), ('{"jsonrpc": "1.0", "id": 9, "method": "ping"}', -32600),
                                        ('{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
                                        ('{"jsonrpc": "2.0", "id": 9, "method": "ping", "params": []}', -32600),
                                        ('{"jsonrpc": "2.0", "id": 9, "method": "tools/destroy"}', -32601),
                                        ('{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "rm"}}', -32602),
                                        ('{"jsonrpc": "2.0", "id": 9, "method": "resources/read", "params": {"uri": "file:///etc/passwd"}}', -32002),
                                        ('{"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": {"cursor": "x"}}', -32602),
                                        ('{"jsonrpc": "2.0", "id": 9, "method": "logging/setLevel", "params": {"level": "loud"}}', -32602),
                                        pytest.param("[" * 100000, -32700, id="deep"),
                                        pytest.param("[" + "1," * 250000 + "1]", -32600, id="many")])
def test_bad_messages_are_answered(client, line, code):
    client.write(line)
    answer = client.read()
    assert answer["error"]["code"] == code, answer
    assert client.ask("ping")["result"] == {}


def test_an_oversized_message_is_refused_and_the_next_is_heard(client):
    client.write('{"jsonrpc": "2.0", "id": 9, "method": "ping", "params": {"x": "%s"}}' % ("a" * (34 << 20)))
    assert client.read()["error"]["code"] == -32600
    assert client.ask("ping")["result"] == {}


def test_nothing_before_initialize(server, environment):
    client = Client(server, environment)
    assert client.ask("ping")["result"] == {}
    assert client.ask("tools/list")["error"]["code"] == -32600
    client.start()
    assert client.ask("tools/list")["result"]
    assert client.end(PATIENCE) == 0


@pytest.mark.parametrize("tool, arguments, says", [
    ("run_code", {"code": "1"}, "language: is missing"),
    ("run_code", {"language": "python", "code": 1}, "code: is of type integer: must be string"),
    ("run_code", {"language": "python", "code": "1", "timeout": 3}, "timeout: there is no such argument; did you mean timeout_s"),
    ("run_code", {"language": "python", "code": "1", "timeout_s": 0}, "timeout_s: 0: allowed are 0.01 to 3600"),
    ("run_code", {"language": "python", "code": "1", "files": [{"path": "a", "contents": "b"}]}, "files[0].contents: there is no such argument; did you mean content"),
    ("run_code", {"language": "python", "code": "1", "files": [{"path": "a"}]}, "exactly one of content and content_b64"),
    ("run_code", {"language": "python", "code": "1", "files": [{"path": "a", "content_b64": "%"}]}, "content_b64: is no base64"),
    ("run_code", {"language": "python", "code": "1", "context": "a b"}, "context"),
    ("read_file", {"path": "nowhere"}, "list_files tells what there is"),
    ("write_file", {"path": "/etc/passwd", "content": ""}, "Only /home/user, /tmp and /dev/shm can be written"),
    ("list_files", {"path": ""}, "path: is empty"),
])
def test_errors_that_a_model_can_act_on(client, tool, arguments, says):
    result = client.call(tool, **arguments)
    assert result["isError"] is True and says in text_of(result), result


@pytest.mark.parametrize("code, status, hint", [("while True: pass", "timeout", "timeout_s"), ("import os; os._exit(3)", "error", ""),
                                                ("x = (", "syntax_error", "")])
def test_what_ended_a_run(client, code, status, hint):
    result = client.call("run_code", language="python", code=code, timeout_s=1)
    assert result["isError"] is True and result["structuredContent"]["status"] == status, result
    assert hint in result["structuredContent"].get("hint", "") and hint in text_of(result)


def test_state_is_kept_and_reset(client):
    run = lambda code, **more: client.call("run_code", language="python", code=code, **more)["structuredContent"]  # noqa: E731
    run("x = 1; open('kept', 'w').close()")
    run("x = 2", context="other")
    assert run("x")["value"] == "1" and run("x", context="other")["value"] == "2"
    client.call("reset", context="python")
    assert run("x")["error"]["name"] == "NameError" and run("x", context="other")["value"] == "2"
    assert run("import os; os.path.exists('kept')")["value"] == "True"
    client.call("reset")
    assert run("import os; os.path.exists('kept')")["value"] == "False"


def test_an_ended_session_is_told(server, environment):
    client = Client([*server, "--total", "2s"], environment)
    client.start()
    client.call("run_code", language="python", code="x = 1")
    result = {}
    # On a slow machine the new one may be over again before the run is.
    while not result.get("structuredContent", {}).get("new_session") or result["structuredContent"]["status"] != "ok":
        result = client.call("run_code", language="python", code="'x' in globals()")
    assert result["structuredContent"]["value"] == "False" and "new one" in text_of(result)
    assert client.end(PATIENCE) == 0


def test_files_come_back(client):
    made = client.call("run_code", language="python", code="open('out.csv', 'w').write('a,b\\n'); open('out.bin', 'wb').write(b'\\xff')",
                       return_files=["out.bin", "nowhere"], files=[{"path": "in/x.txt", "content": "x"}])
    assert made["structuredContent"]["files"] == [{"path": "out.bin", "size": 1}, {"path": "out.csv", "size": 4}]
    links = [c["uri"] for c in made["content"] if c["type"] == "resource_link"]
    assert links == ["snapcell:///home/user/out.bin", "snapcell:///home/user/out.csv"]
    assert [c["resource"]["blob"] for c in made["content"] if c["type"] == "resource"] == ["/w=="]
    assert "nowhere: No such file or directory" in text_of(made)
    assert client.call("read_file", path="in/x.txt")["structuredContent"]["text"] == "x"
    part = client.call("read_file", path="out.csv", offset=1, length=2)["structuredContent"]
    assert (part["text"], part["more"]) == (",b", True)


def test_output_is_cut_where_asked(client):
    result = client.call("run_command", command="yes | head -c 100000", max_output_bytes=1000)["structuredContent"]
    assert len(result["stdout"]) == 1000 and result["stdout_truncated"] is True


def test_check_code_runs_nothing(client):
    found = client.call("check_code", language="python", code="import subprocess\nopen('ran', 'w')")["structuredContent"]
    assert found["allowed"] is False and found["findings"][0]["line"] == 1
    assert client.call("check_code", language="python", code="x = (")["structuredContent"]["syntax_error"]
    assert client.call("check_code", language="python", code="print(1)")["structuredContent"] == {"allowed": True, "findings": []}
    assert "ran" not in text_of(client.call("list_files"))
    blocked = client.call("run_code", language="python", code="import subprocess", check="block")
    assert blocked["isError"] is True and blocked["structuredContent"]["status"] == "blocked"


def test_cancelling_ends_the_work(client):
    client.send("tools/call", {"name": "run_code", "arguments": {"language": "bash", "code": "echo up > up; sleep 600"}}, "endless")
    while "up" not in text_of(client.call("list_files")):
        pass
    client.send("notifications/cancelled", {"requestId": "endless"})
    # Runs of one context wait for each other: this one comes through only when the other has ended.
    assert client.call("run_code", language="bash", code="echo after")["structuredContent"]["stdout"] == "after\n"
    assert client.ask("ping")["result"] == {}
    assert not [m for m in client.notices if m.get("id") == "endless"]


def cells_of(pid):
    found, todo = [], [pid]
    while todo:
        try:
            with open("/proc/%d/task/%d/children" % (todo[0], todo[0]), encoding="ascii") as f:
                children = [int(x) for x in f.read().split()]
        except (FileNotFoundError, ProcessLookupError):
            children = []
        found += children
        todo = todo[1:] + children
    return found


def is_gone(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii") as f:
            return f.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("how", ["end of stdin", "SIGTERM", "SIGKILL"])
def test_nothing_outlives_the_server(server, environment, how):
    client = Client(server, environment)
    client.start()
    client.send("tools/call", {"name": "run_command", "arguments": {"command": "echo up > up; sleep 600", "timeout_s": 900}}, "endless")
    while "up" not in text_of(client.call("list_files")):
        pass
    started = cells_of(client.child.pid)
    assert len(started) >= 3
    if how == "end of stdin":
        client.child.stdin.close()
    else:
        client.child.send_signal(getattr(signal, how))
    assert client.child.wait(PATIENCE) == {"end of stdin": 0, "SIGTERM": 130, "SIGKILL": -signal.SIGKILL}[how]
    while not all(is_gone(pid) for pid in started):
        pass
    folder = os.path.dirname(environment["SNAPCELL_SOCKET"])
    while os.listdir(folder):
        pass


def test_a_running_keeper_may_be_used(snapcell, server, environment, accept):
    client = Client([*server, "--socket", environment["SNAPCELL_SOCKET"]], environment)
    client.start()
    assert client.call("run_code", language="python", code="1")["structuredContent"]["value"] == "1"
    assert client.end(PATIENCE) == 0
    listed = subprocess.run([snapcell, "session", "ls", "--json"], env=environment, capture_output=True, check=True)
    assert json.loads(listed.stdout) == {"sessions": []}
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(environment["SNAPCELL_SOCKET"])
        pid = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    os.kill(pid, signal.SIGTERM)
    while not is_gone(pid):
        pass


def test_usage(snapcell, environment):
    wrong = subprocess.run([snapcell, "mcp", "file.py"], env=environment, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    assert wrong.returncode == 2 and b"takes no operands" in wrong.stderr
    wrong = subprocess.run([snapcell, "mcp", "--memory", "1"], env=environment, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    assert wrong.returncode == 2 and b"memory" in wrong.stderr


def test_example(snapcell, accept, environment, python):
    ran = python(os.path.join(HERE, "../../examples/clients/mcp_stdio.py"), snapcell, *accept, env=environment)
    assert (ran.returncode, ran.stdout) == (0, "[value]\n328\n"), ran.stderr
