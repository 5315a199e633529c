"""/mcp of the service as its clients have it: the official ones, the inspector, and the public conformance suite."""
import importlib.util
import json
import os
import re
import shutil
import sys
import urllib.parse

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "mcp"))

from proxy import Proxy  # noqa: E402
from seen import TOOLS, check_python, check_typescript  # noqa: E402


def gate_conftest():
    """The service of the gate's tests; its module has the name of ours."""
    spec = importlib.util.spec_from_file_location("gate_conftest", os.path.join(HERE, "../gate/conftest.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def service(snapcell):
    gate = gate_conftest()
    made = gate.Service(snapcell, gate.make_folder())
    yield made
    status, said = made.end(), made.said()
    made.errors.close()
    shutil.rmtree(made.folder)
    assert status == 0, said


@pytest.fixture(scope="module")
def query(accept):
    """What this host cannot give, as a client's configuration says it."""
    return "?spec=" + urllib.parse.quote(json.dumps({"allow_degraded": accept[1].split(",")})) if accept else ""


@pytest.fixture(scope="module")
def url(service, query):
    return "http://127.0.0.1:%d/mcp%s" % (service.port, query)


# ---- clients as they are ----

def test_typescript_client(service, url, node):
    check_typescript(node(os.path.join(HERE, "mcp/client.mjs"), url, service.key))


def test_python_client(service, url, python):
    check_python(python(os.path.join(HERE, "mcp/client.py"), url, service.key))


def test_inspector(service, url, node, clients, tmp_path):
    cli = os.path.join(clients, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
    key = ["--header", "Authorization: Bearer " + service.key]
    call = ["--tool-name", "run_code", "--tool-arg", "language=python", "--tool-arg", "code=6*7"]
    ran = node(cli, "--cli", url, "--transport", "http", *key, "--method", "tools/call", *call, env=dict(os.environ, HOME=str(tmp_path)))
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["structuredContent"]["value"] == "42"


def test_example(service, url, python):
    ran = python(os.path.join(HERE, "../../examples/clients/mcp_http.py"), url, service.key)
    assert (ran.returncode, ran.stdout) == (0, "[value]\n328\n"), ran.stderr


# Scenarios of the suite that this server does not pass, and why.
NOT_PASSED = {
    "tools-call-sampling": "the server asks its client for nothing",
    "tools-call-elicitation": "the server asks its client for nothing",
    "elicitation-sep1034-defaults": "the server asks its client for nothing",
    "elicitation-sep1330-enums": "the server asks its client for nothing",
    "prompts-get-with-args": "wants a prompt that repeats two arguments; ours chooses among its own parts",
    "prompts-get-embedded-resource": "wants a prompt that embeds a resource; ours is text",
    "prompts-get-with-image": "wants a prompt with a picture; ours is text",
}
PASSED = ["server-initialize", "ping", "logging-set-level", "completion-complete", "tools-list", "tools-call-simple-text",
          "tools-call-image", "tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content",
          "tools-call-with-logging", "tools-call-error", "tools-call-with-progress", "server-sse-multiple-streams",
          "resources-list", "resources-read-text", "resources-read-binary", "resources-templates-read",
          "resources-subscribe", "resources-unsubscribe", "prompts-list", "prompts-get-simple", "dns-rebinding-protection"]


def conformance(url, node, clients, tmp_path):
    suite = os.path.join(clients, "node_modules/@modelcontextprotocol/conformance/dist/index.js")
    expected = tmp_path / "expected.yml"
    expected.write_text("server:\n" + "".join("  - %s\n" % name for name in NOT_PASSED))
    ran = node(suite, "server", "--url", url, "--expected-failures", expected, "-o", tmp_path / "results", cwd=tmp_path)
    return ran.returncode, ran.stdout + ran.stderr


def test_conformance(service, query, node, clients, tmp_path):
    """A scenario that is expected to fail and passes is an error of the suite's, too."""
    proxy = Proxy(service.port, service.key, query)
    try:
        status, said = conformance(proxy.url, node, clients, tmp_path)
    finally:
        proxy.close()
    assert status == 0, said[-6000:]
    run = set(re.findall(r"=== Running scenario: (\S+) ===", said)) or {n for n in [*PASSED, *NOT_PASSED] if n in said}
    assert run >= set(PASSED) | set(NOT_PASSED), said[-3000:]
