"""POST /v1/batch: many jobs in one request, a line for each answer."""
import hashlib
import json
import os
import socket
import time

import pytest
from conftest import DEGRADED, Answer, until

NDJSON = "application/x-ndjson"


def job(service, code, language="python", **more):
    """A job of code; fields of the spec under `spec`."""
    spec = service.cell(language=language, code=code, **more.pop("spec", {}))
    return dict(more, spec=spec)


def send(service, lines, query="", **more):
    body = b"".join((x if isinstance(x, bytes) else json.dumps(x).encode()) + b"\n" for x in lines)
    headers = dict({"Content-Type": NDJSON}, **more.pop("headers", {}))
    return service("POST", "/v1/batch" + query, body, headers, **more)


def read(answer):
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == NDJSON and answer.body.endswith(b"\n")
    return [json.loads(x) for x in answer.body.decode().splitlines()]


def by_id(answer):
    lines = read(answer)
    found = {x["id"]: x for x in lines}
    assert len(found) == len(lines), lines
    return found


def test_each_job_has_its_own_answer(shared):
    jobs = [job(shared, "print(%d)" % i, id="job %d" % i) for i in range(12)]
    found = by_id(send(shared, jobs, "?at_once=4"))
    assert set(found) == {"job %d" % i for i in range(12)}
    for i in range(12):
        line = found["job %d" % i]
        assert line["result"]["status"] == "ok" and line["result"]["stdout"] == "%d\n" % i
        content = json.dumps({"spec": jobs[i]["spec"]}, sort_keys=True, separators=(",", ":"))
        assert line["job"] == hashlib.sha256(content.encode()).hexdigest()


def test_answers_come_as_jobs_end(shared):
    slow = job(shared, "import time; time.sleep(3000)", id="slow", spec={"limits": {"wall_ms": 3600000}})
    body = "\n".join(json.dumps(x) for x in [slow, job(shared, "1", id="fast")])
    connection = shared.connect()
    connection.request("POST", "/v1/batch?at_once=2", body, {"Content-Type": NDJSON})
    response = connection.getresponse()
    assert json.loads(response.readline())["id"] == "fast"
    response.close()
    connection.close()


def test_commands_and_programs_as_they_are(shared):
    found = by_id(send(shared, [
        {"id": "command", "spec": shared.cell(command=["sh", "-c", "cat; exit 3"], stdin="in")},
        job(shared, "import sys; print(sys.argv[1:])", id="plain", spec={"mode": "plain", "args": ["x"]}),
    ]))
    assert (found["command"]["result"]["exit_code"], found["command"]["result"]["stdout"]) == (3, "in")
    assert found["plain"]["result"]["stdout"] == "['x']\n"
    until(lambda: shared.get("/v1/sessions").json() == {"sessions": []}, "their cells to be gone")


@pytest.mark.parametrize("line,field", [
    (b"{", "request"), (b"[1]", "job"), (b'{"id": "x"}', "spec"), (b'{"spec": 1}', "spec"),
    (b'{"id": "", "spec": {}}', "id"), (b'{"id": 1, "spec": {}}', "id"), (b'{"id": "a", "id": "b"}', "request"),
    (b'{"key": "' + b"k" * 201 + b'", "spec": {}}', "key"), (b'{"sepc": {}}', "sepc"), (b'{"judge": {}}', "judge.run"),
    (b'{"judge": 1}', "judge"), (b'{"judge": {"run": {"root": "/"}}}', "judge.run.root"), (b'{"judge": {"run": {}}, "spec": {}}', "spec"),
    (b'{"judge": {"run": {"command": ["cat"]}, "tests": [{"stdin_file": "/etc/passwd"}]}}', "judge.tests[0].stdin_file"),
    (b'{"judge": {"run": {"command": ["cat"]}, "tests": [{"expectd": ""}]}}', "judge.tests[0].expectd"),
    (b'{"judge": {"run": {"command": ["cat"], "mode": "rich"}, "tests": [{}]}}', "judge.run.mode"),
    (b'{"spec": {"language": "python", "cod": "1"}}', "spec.cod"),
    (b'{"spec": {"language": "python", "code": "1", "priority": 1}}', "spec.priority"),
    (b'{"spec": {"language": "python", "code": "1", "limits": {"wall_ms": 1}}}', "spec.limits.wall_ms"),
    (b'{"spec": {"language": "python", "code": "1", "root": "/"}}', "spec.root"),
    (b'{"spec": {"language": "python", "code": "1", "files": [{"path": "x", "host": "/etc/passwd"}]}}', "spec.files[0].host"),
    (b'{"spec": {"language": "python", "code": "1", "validate": {"rules": ["/etc/passwd"]}}}', "spec.validate.rules[0]"),
    (b'{"spec": {}}', "spec.code"), (b'{"spec": {"code": "1"}}', "spec.language"),
    (b"\xff", "request"), (b"[" * 100000, "request"),
    (b'{"spec": ["' + b"x" * (16 << 20) + b'"]}', "job"), (b"[" + b"1," * 200001 + b"1]", "job"),
])
def test_a_wrong_line_is_told_and_the_others_run(shared, line, field):
    found = read(send(shared, [job(shared, "1", id="before"), line, job(shared, "2", id="behind")]))
    assert len(found) == 3
    wrong = [x for x in found if "error" in x]
    assert [x["error"]["kind"] for x in wrong] == ["usage"] and wrong[0]["error"]["field"] == field, wrong
    assert field in ("request", "spec.code", "spec.language") or wrong[0]["error"]["message"].startswith(field), wrong
    assert {x["id"]: x["result"]["value"]["text/plain"] for x in found if "result" in x} == {"before": "1", "behind": "2"}


def test_an_id_stands_for_one_job(shared):
    found = read(send(shared, [job(shared, "1", id="a"), job(shared, "2", id="a"), b"", job(shared, "3")]))
    found = {x["id"]: x for x in found}
    assert found["a"]["result"]["value"] == {"text/plain": "1"}
    assert (found["line-2"]["line"], found["line-2"]["error"]["field"]) == (2, "id")
    assert found["line-4"]["result"]["value"] == {"text/plain": "3"} and len(found) == 3


def test_tasks_are_judged(shared):
    """As `snapcell batch` has them, beside other jobs."""
    def task(expected, **more):
        return dict({"run": shared.cell(language="python", code="print(int(input())**2)"),
                     "tests": [{"name": "a", "stdin": "2", "expected": "4\n"}, {"stdin": "3", "expected": expected}]}, **more)
    lines = [{"id": "good", "judge": task("9\n")}, {"id": "bad", "key": "k", "judge": task("8\n")}, job(shared, "1", id="code"),
             {"id": "again", "key": "k", "judge": task("8\n")}]
    found = by_id(send(shared, lines))
    assert found["good"]["report"]["verdict"] == "accepted" and found["code"]["result"]["status"] == "ok"
    bad = found["bad"]["report"]
    assert bad["verdict"] == "wrong_answer" and [x["verdict"] for x in bad["tests"]] == ["accepted", "wrong_answer"]
    assert found["again"]["report"] == bad and found["again"]["duplicate_of"] == "bad"
    content = json.dumps({"judge": lines[0]["judge"]}, sort_keys=True, separators=(",", ":"))
    assert found["good"]["job"] == hashlib.sha256(content.encode()).hexdigest()
    assert [x["id"] for x in read(send(shared, [lines[1], lines[0]], "?at_once=1&stop_first=true"))] == ["bad"]
    assert len(read(send(shared, [lines[0], lines[2]], "?at_once=1&stop_first=true"))) == 2


RANDOM = "import os; os.urandom(16).hex()"


def value(line):
    return line["result"]["value"]["text/plain"]


def test_jobs_with_a_key_run_once(shared):
    found = by_id(send(shared, [
        job(shared, RANDOM, id="a", key="k"), job(shared, RANDOM, id="b", key="k"), job(shared, RANDOM, id="c", key="other"),
        job(shared, RANDOM, id="d"), job(shared, "1", id="e", key="k")]))
    assert value(found["a"]) == value(found["b"]) and found["b"]["duplicate_of"] == "a"
    assert len({value(found[x]) for x in "acd"}) == 3 and not any("duplicate_of" in found[x] for x in "acd")
    assert (found["e"]["error"]["kind"], found["e"]["error"]["field"]) == ("usage", "key")


def test_same_once(shared):
    jobs = [job(shared, RANDOM, id=str(i)) for i in range(50)]
    found = by_id(send(shared, jobs, "?same_once=true"))
    assert len({value(x) for x in found.values()}) == 1
    assert all(found[str(i)].get("duplicate_of") == ("0" if i else None) for i in range(50))
    assert len({value(x) for x in by_id(send(shared, jobs[:3])).values()}) == 3


def test_stop_first(shared):
    jobs = [job(shared, "1", id="good"), job(shared, "1 / 0", id="bad"), job(shared, "2", id="never")]
    assert [x["id"] for x in read(send(shared, jobs, "?at_once=1&stop_first=true"))] == ["good", "bad"]
    assert [x["id"] for x in read(send(shared, jobs, "?at_once=1"))] == ["good", "bad", "never"]
    # What runs at that moment is ended.
    jobs = [job(shared, "import time; time.sleep(600)", id="long", spec={"limits": {"wall_ms": 3600000}}), job(shared, "1 / 0", id="bad")]
    assert [x["id"] for x in read(send(shared, jobs, "?at_once=2&stop_first=true"))] == ["bad"]


def metric(service, name):
    for line in service.get("/metrics").body.decode().splitlines():
        if line.split(" ")[0] == name:
            return float(line.split(" ")[1])
    raise AssertionError(name)


def test_who_goes_away_leaves_no_job(service):
    jobs = [job(service, "1", id="first")]
    jobs += [job(service, "import time; time.sleep(3000)", spec={"limits": {"wall_ms": 3600000}}) for _ in range(30)]
    connection = service.connect()
    connection.request("POST", "/v1/batch?at_once=4", "\n".join(json.dumps(x) for x in jobs), {"Content-Type": NDJSON})
    response = connection.getresponse()
    assert json.loads(response.readline())["id"] == "first"
    begun = time.monotonic()
    response.close()
    connection.close()
    # Jobs that went on would hold all turns for an hour; the service, ended by its fixture, would hold out for as long.
    until(lambda: metric(service, "snapcell_gate_requests") == 1, "the request to be gone")
    assert service.python("1")["status"] == "ok"
    assert time.monotonic() - begun < 600


def test_a_client_that_does_not_read_is_waited_for(service):
    """Its results stay undone, not in our memory."""
    jobs = [job(service, "print('x' * 900000)", spec={"limits": {"stdout_bytes": 1000000}}) for _ in range(100)]
    body = "\n".join(json.dumps(x) for x in jobs).encode()
    sock = socket.socket(socket.AF_UNIX)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(service.socket)
    sock.sendall(b"POST /v1/batch?at_once=2 HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n"
                 % len(body) + body)
    assert sock.recv(1, socket.MSG_PEEK)
    gate = service.children()["gate"]

    def ran():
        return metric(service, 'snapcell_results_total{status="ok"}')
    until(lambda: ran() >= 2, "the first jobs")
    counts = []

    def rests():
        counts.append(ran())
        time.sleep(0.2)
        return len(counts) > 10 and len(set(counts[-10:])) == 1
    until(rests, "it to wait")
    assert counts[-1] < 20
    with open("/proc/%d/status" % gate) as f:
        resident = int([x for x in f if x.startswith("VmRSS")][0].split()[1])
    assert resident < 100 << 10, resident
    # All of them come, once it reads.
    data = b""
    while not data.endswith(b"0\r\n\r\n"):
        piece = sock.recv(1 << 20)
        assert piece
        data = data[-16:] + piece
    sock.close()
    assert ran() == 100


def test_more_jobs_than_the_tenant_may_queue(services):
    """A full queue is waited for, and gives no verdict."""
    service = services()
    with open(service.folder + "/dev/tenants.json", "w", encoding="utf-8") as f:
        json.dump({"version": 1, "standard": {"cells": 1, "queued": 1, "allow_degraded": DEGRADED}}, f)
    key = {"X-API-Key": service.key}
    until(lambda: service.get("/v1/host", headers=key).status == 403, "the new row")
    found = by_id(send(service, [job(service, str(i), id=str(i)) for i in range(12)], "?at_once=8", headers=key))
    assert {x: value(line) for x, line in found.items()} == {str(i): str(i) for i in range(12)}


@pytest.mark.parametrize("query,field", [
    ("?at_once=0", "at_once"), ("?at_once=65", "at_once"), ("?same_once=1", "same_once"), ("?stop=true", "stop"), ("?priority=10", "priority"),
])
def test_wrong_queries(shared, query, field):
    send(shared, [], query).problem(422, "usage", field)


def test_media_types(shared):
    send(shared, [], headers={"Content-Type": "text/plain"}).problem(415, "media_type", "Content-Type")
    lines = read(send(shared, [job(shared, "1")], headers={"Content-Type": "application/json; charset=utf-8"}))
    assert [x["result"]["status"] for x in lines] == ["ok"]


@pytest.mark.parametrize("lines", [[], [b""], [b" \t\r", b""]])
def test_a_batch_without_a_job(shared, lines):
    send(shared, lines).problem(422, "usage", "body")


def test_a_body_beyond_the_bound(shared):
    """Nothing of it runs."""
    shared.python("1")
    before = metric(shared, 'snapcell_results_total{status="ok"}')
    connection = shared.connect()
    connection.putrequest("POST", "/v1/batch")
    connection.putheader("Content-Type", NDJSON)
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    line = json.dumps(job(shared, "1")).encode() + b"\n"
    block = line + b" " * ((1 << 20) - len(line) - 1) + b"\n"
    for _ in range(64):
        connection.send(b"%x\r\n%s\r\n" % (len(block), block))
    connection.send(b"%x\r\n%s\r\n" % (1, b"\n"))
    connection.send(b"0\r\n\r\n")
    Answer(connection.getresponse()).problem(413, "too_large", "body")
    connection.close()
    assert metric(shared, 'snapcell_results_total{status="ok"}') == before


def test_too_many_jobs(shared):
    send(shared, [b"1"] * 100001).problem(413, "too_large", "body")


def test_the_keeper_dies_in_between(service):
    """What ran is told as lost; what did not run is missing, and the answer is cut, so that nobody takes it for all."""
    jobs = [job(service, "1", id="first"), job(service, "import time; time.sleep(600)", id="long", spec={"limits": {"wall_ms": 3600000}}),
            job(service, "2", id="never")]
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(600)
    sock.connect(service.socket)
    body = "\n".join(json.dumps(x) for x in jobs).encode()
    sock.sendall(b"POST /v1/batch?at_once=1 HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    data = b""
    while b'"first"' not in data:
        data += sock.recv(65536)
    os.kill(service.children()["keeper"], 9)
    while True:
        try:
            piece = sock.recv(65536)
        except ConnectionResetError:
            break
        if not piece:
            break
        data += piece
    sock.close()
    assert b'"never"' not in data and not data.endswith(b"0\r\n\r\n")
    assert b'"id":"long","job"' in data and b"keeper_lost" in data
    until(lambda: service.post("/v1/run", service.cell(language="python", code="1")).status == 200, "the next keeper")
