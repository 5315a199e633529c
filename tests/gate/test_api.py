"""What is told about the API, and the requests around cells: programs as they are, reading code, templates, the host."""
import re
import subprocess

import pytest
from conftest import DEGRADED, PATIENCE, until


# ---- programs as they are ----

def test_a_command(shared):
    result = shared.run(command=["sh", "-c", "cat; echo -$A; exit 4"], stdin="in", env={"A": "a"},
                        files=[{"path": "f", "content": ""}])
    assert (result["status"], result["exit_code"], result["stdout"]) == ("error", 4, "in-a\n")
    assert "value" not in result


@pytest.mark.parametrize("language,code,wanted", [
    ("python", "import sys; print(sys.argv[1:])", "['x', 'y z']\n"),
    ("bash", "echo $# \"$2\"", "2 y z\n"),
    ("node", "console.log(process.argv.slice(2))", "[ 'x', 'y z' ]\n"),
])
def test_code_as_a_program(shared, language, code, wanted):
    result = shared.run(language=language, code=code, mode="plain", args=["x", "y z"], limits={"wall_ms": 30000})
    assert (result["status"], result["stdout"]) == ("ok", wanted), result


def test_a_command_as_events(shared):
    events = shared.events("/v1/run", shared.cell(command=["echo", "x"]), "application/x-ndjson")
    assert [name for name, _ in events] == ["start", "stdout", "end"]


def test_nothing_is_left_of_them(shared):
    shared.run(command=["true"])
    shared.post("/v1/run", shared.cell(command=["true"], limits={"tasks": 0})).problem(422, "usage", "limits.tasks")
    until(lambda: shared.get("/v1/sessions").json() == {"sessions": []}, "their cells to be gone")


@pytest.mark.parametrize("body,field", [
    ({}, "code"), ({"code": "1", "language": "bash", "command": ["x"]}, "command"), ({"code": "1"}, "language"),
    ({"code": "1", "language": "native"}, "language"), ({"command": []}, "command"),
    ({"command": ["x"], "priority": 10}, "priority"), ({"command": ["x"], "deadline_ms": 0}, "deadline_ms"),
])
def test_what_runs_must_be_said_once(shared, body, field):
    shared.post("/v1/run", body).problem(422, "usage", field)


# ---- around cells ----

def test_check(shared):
    told = shared.post("/v1/check", shared.cell(language="python", code="import os\nos.system('x')")).json()
    assert told["allowed"] is False and told["findings"][0]["line"] == 2
    assert shared.post("/v1/check", shared.cell(language="python", code="print(1)")).json()["allowed"] is True
    shared.post("/v1/check", {"code": "1"}).problem(422, "usage", "language")
    shared.post("/v1/check", {"language": "python", "code": "1", "validate": {"rules": ["a/b.scm"]}}).problem(
        422, "usage", "validate.rules[0]")


def test_templates(shared):
    names = [x["name"] for x in shared.get("/v1/templates").json()["templates"]]
    assert {"python", "node", "bash"} <= set(names) and names == sorted(names)


def test_host(shared):
    told = shared.get("/v1/host").json()
    assert told["findings"] and {"name", "level"} <= set(told["findings"][0])


def test_host_is_for_operators(services):
    service = services()
    with open(service.folder + "/dev/tenants.json", "w", encoding="utf-8") as f:
        f.write('{"version": 1, "standard": {"templates": ["python"]}}')
    key = {"X-API-Key": service.key}

    def told():
        return service.get("/v1/host", headers=key)
    until(lambda: told().status == 403, "the new row")
    told().problem(403, "forbidden")
    names = [x["name"] for x in service.get("/v1/templates", headers=key).json()["templates"]]
    assert names == ["python"]
    service.post("/v1/run", {"language": "bash", "code": "true", "template": "bash"}, headers=key).problem(403, "forbidden", "template")


# ---- what is counted, and what happens ----

LINE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (-?[0-9.]+(?:e[+-]?[0-9]+)?|\+Inf|NaN)')


def parse_metrics(text):
    """Prometheus' text format 0.0.4, strictly: {name: {labels: value}}. Every family is told once, before its values."""
    types, values = {}, {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types and kind in ("counter", "gauge", "histogram"), line
            types[name] = kind
            continue
        match = LINE.fullmatch(line)
        assert match, line
        name, labels, value = match.groups()
        family = re.sub("_(bucket|sum|count)$", "", name) if name not in types else name
        assert family in types and (types[family] != "counter" or name.endswith("_total")), line
        assert (labels or "") not in values.setdefault(name, {}), line
        values[name][labels or ""] = float(value)
    return values


def test_metrics_of_the_service(shared):
    before = parse_metrics(shared.get("/metrics").body.decode())
    shared.python("1")
    shared.get("/none")
    answer = shared.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    after = parse_metrics(answer.body.decode())

    def grew(name, labels=""):
        return after[name][labels] - before[name][labels]
    assert grew("snapcell_gate_answers_total", 'class="2xx"') == 2 and grew("snapcell_gate_answers_total", 'class="4xx"') == 1
    assert grew("snapcell_results_total", 'status="ok"') == 1
    assert after["snapcell_gate_requests"][""] == 1
    shared.get("/metrics", tcp=True).problem(401, "unauthorized", "Authorization")


def test_a_tenant_is_told_its_own_figures_only(services):
    service = services()
    with open(service.folder + "/dev/tenants.json", "w", encoding="utf-8") as f:
        f.write('{"version": 1, "standard": {}}')
    key = {"X-API-Key": service.key}
    until(lambda: service.get("/v1/host", headers=key).status == 403, "the new row")

    def names():
        # A token's tenant is told with the token: a connection of its own asks anew.
        return set(parse_metrics(service.get("/metrics", headers=key).body.decode()))
    assert names() and all(x.startswith("snapcell_tenant_") for x in names()), names()


def test_events_of_the_service(shared):
    connection = shared.connect()
    connection.request("GET", "/v1/events", headers={"Accept": "text/event-stream"})
    response = connection.getresponse()
    assert response.getheader("content-type") == "text/event-stream"
    assert response.readline() == b"event: start\n"
    shared.python("1")
    line = b""
    while b'"event":"run"' not in line:
        line = response.readline()
        assert line
    response.close()
    connection.close()


# ---- the document ----

def test_the_document_names_every_limit_and_route(shared):
    answer = shared.get("/openapi.json")
    document = answer.json()
    assert answer.headers["content-type"] == "application/json" and document["openapi"] == "3.1.0"
    limits = document["components"]["schemas"]["Limits"]["properties"]
    assert limits["wall_ms"]["minimum"] == 10 and limits["memory_bytes"]["default"] == 512 << 20
    references = set(re.findall(r'"#/components/schemas/(\w+)"', answer.body.decode()))
    assert references <= set(document["components"]["schemas"])
    for path, methods in document["paths"].items():
        placed = set(re.findall(r"\{(\w+)\}", path))
        for method, operation in methods.items():
            told = {x["name"] for x in operation["parameters"] if x["in"] == "path"}
            assert told == placed, (method, path)
            assert operation["summary"] and operation["responses"]
    # What it says of keys is so.
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            where = re.sub(r"\{\w+\}", "x", path)
            status = shared(method.upper(), where, b"{}" if method in ("post", "put", "patch") else None, tcp=True).status
            assert (status == 401) == ("security" not in operation), (method, path, status)


def test_the_lines_of_the_page_run(shared):
    """In a shell, in the order of the page, as they stand; but those that a command must be followed for."""
    page = shared.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    lines = [x.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
             for x in re.findall(r"<pre>(.*?)</pre>", page.body.decode(), re.S)]
    assert len(lines) > 30
    made = shared.post("/v1/sessions", shared.cell(forkable=True), headers={"X-API-Key": shared.key}).json()["session"]
    env = {"PATH": "/usr/bin:/bin", "URL": "http://127.0.0.1:%d" % shared.port, "KEY": shared.key, "ID": made}
    statuses = {}
    for line in lines:
        if re.search(r"/(watch|events)\b", line) or "-X DELETE" in line and "/files" not in line:
            continue
        if DEGRADED and re.search(r"/v1/(run|check|sessions)\" ", line):
            line = line.replace("--json '{", "--json '{\"allow_degraded\": [%s], " % ", ".join('"%s"' % x for x in DEGRADED))
        if DEGRADED and "/v1/judge" in line:
            line = line.replace('"run": {', '"run": {"allow_degraded": [%s], ' % ", ".join('"%s"' % x for x in DEGRADED))
        body = b"" if "@-" in line else None
        if "/tar" in line and body is not None:
            body = b"\0" * 1024
        done = subprocess.run(["sh", "-c", line + " -o /dev/null -w '%{http_code}'"], env=env, input=body, capture_output=True,
                              timeout=PATIENCE)
        assert done.returncode == 0, (line, done.stderr)
        statuses[line] = int(done.stdout)
    refused = {line: status for line, status in statuses.items() if status >= 400}
    # Nobody follows command 1, nobody listens on the port, and what notes is by then is not there or in the way.
    odd = [x for x in refused.items() if not re.search(r"/(commands/1/\w+|files/notes|stat/notes|folders/notes|ports/8080)\b", x[0])]
    assert not odd, odd
    assert all(status == 502 if "/ports/" in line else status in (404, 409) for line, status in refused.items()), refused
