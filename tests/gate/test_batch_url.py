"""`snapcell batch --url`: a service runs the jobs; progress, resumption and sum are the command's own."""
import json
import os
import signal
import socket
import subprocess
import threading

import pytest
from conftest import PATIENCE, until


class Batch:
    def __init__(self, binary, folder, service):
        self.binary, self.folder, self.service = binary, folder, service
        self.jobs, self.results = str(folder / "jobs.jsonl"), str(folder / "results.jsonl")
        self.url = ["--url", "unix://" + service.socket] if service else []

    def write(self, jobs):
        with open(self.jobs, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(x) + "\n" for x in jobs)

    def python(self, code, **more):
        return self.service.cell(language="python", code=code, **more)

    def command(self, *options):
        return [self.binary, "batch", *options, "-o", self.results, self.jobs]

    def run(self, *options):
        return subprocess.run(self.command(*options), cwd=self.folder, capture_output=True, timeout=2 * PATIENCE, stdin=subprocess.DEVNULL)

    def sum(self, *options):
        """Exit status, and the sum without its time."""
        done = self.run("--json", *self.url, *options)
        assert done.stdout, done.stderr
        told = json.loads(done.stdout)
        assert told.pop("wall_ms") >= 0
        return done.returncode, told

    def lines(self):
        if not os.path.exists(self.results):
            return []
        with open(self.results, encoding="utf-8") as f:
            return [json.loads(x) for x in f.read().splitlines()]

    def by_id(self):
        told = {x["id"]: x for x in self.lines()}
        assert len(told) == len(self.lines())
        return told


@pytest.fixture
def batch(binary, tmp_path, shared):
    return Batch(binary, tmp_path, shared)


def ok(count, **more):
    return dict({"jobs": count, "ok": count, "failed": 0, "errors": 0, "duplicates": 0, "resumed": 0, "left": 0}, **more)


def test_all_are_answered_as_without_a_service(batch):
    (batch.folder / "in.bin").write_bytes(b"\xff\0")
    (batch.folder / "main.py").write_text("import sys\nprint(sys.argv[1:])\n")
    jobs = [{"id": "job-%d" % i, "spec": batch.python("print(%d)" % i)} for i in range(10)]
    jobs += [{"id": "value", "spec": batch.python("6 * 7")}, {"id": "failed", "spec": batch.python("1 / 0")},
             {"id": "plain", "spec": batch.python("print(1)", mode="plain")},
             {"id": "command", "spec": batch.service.cell(command=["cat"], stdin="in")},
             {"id": "program", "spec": batch.service.cell(program="main.py", args=["a b"])},
             {"id": "file", "spec": batch.python("open('in.bin', 'rb').read()", files=[{"path": "in.bin", "host": "in.bin"}])},
             {"id": "host", "spec": batch.python("1", root="/tmp")}, {"spec": batch.python("1")}]
    batch.write(jobs)
    assert batch.sum("-j", "3") == (1, ok(18, ok=16, failed=1, errors=1))
    told = batch.by_id()
    assert {x: told["job-%d" % x]["result"]["stdout"] for x in range(10)} == {x: "%d\n" % x for x in range(10)}
    assert told["value"]["result"]["value"]["text/plain"] == "42" and told["failed"]["result"]["status"] == "error"
    assert told["plain"]["result"]["stdout"] == "1\n" and told["command"]["result"]["stdout"] == "in"
    assert told["program"]["result"]["stdout"] == "['a b']\n"
    assert told["file"]["result"]["value"]["text/plain"] == r"b'\xff\x00'"
    assert (told["host"]["error"]["kind"], told["host"]["error"]["field"]) == ("usage", "spec.root")
    assert told["line-18"]["result"]["status"] == "ok"


def test_tasks_and_their_files(batch):
    (batch.folder / "a.in").write_bytes(b"2\n")
    (batch.folder / "a.out").write_bytes(b"4\n")
    (batch.folder / "square.py").write_text("print(int(input()) ** 2)\n")
    run = batch.service.cell(command=["python3", "square.py"], files=[{"path": "square.py", "host": "square.py"}])
    task = {"run": run, "tests": [{"stdin_file": "a.in", "expected_file": "a.out"}, {"stdin": "3", "expected": "9\n"}]}
    batch.write([{"id": "good", "judge": task}, {"id": "wrong", "judge": dict(task, tests=[{"stdin": "3", "expected": "8\n"}])},
                 {"id": "value", "spec": batch.python("1")}])
    assert batch.sum() == (1, ok(3, ok=2, failed=1))
    told = batch.by_id()
    assert [x["verdict"] for x in told["good"]["report"]["tests"]] == ["accepted"] * 2
    assert told["wrong"]["report"]["verdict"] == "wrong_answer"
    assert batch.sum() == (1, ok(3, ok=2, failed=1, resumed=3))
    batch.url = []
    assert batch.sum() == (1, ok(3, ok=2, failed=1, resumed=3))


def test_results_of_both_ways_fit(batch):
    """What was begun without a service is gone on with by one, and the other way round."""
    jobs = [{"id": str(i), "spec": batch.python("print(%d)" % i)} for i in range(4)]
    batch.write(jobs[:2])
    assert batch.sum() == (0, ok(2))
    before = open(batch.results, "rb").read()
    batch.write(jobs)
    with open(batch.results, "ab") as f:
        f.write(b'{"id": "3", "half a line')
    batch.url, url = [], batch.url
    batch.write(jobs[:3])
    assert batch.sum() == (0, ok(3, resumed=2))
    batch.url = url
    batch.write(jobs)
    assert batch.sum() == (0, ok(4, resumed=3))
    assert open(batch.results, "rb").read().startswith(before) and len(batch.by_id()) == 4


def test_keys_and_same_content_are_run_once(batch):
    code = "import uuid; print(uuid.uuid4())"
    batch.write([{"id": "a", "key": "k", "spec": batch.python(code)}, {"id": "b", "key": "k", "spec": batch.python(code)},
                 {"id": "c", "spec": batch.python(code)}])
    assert batch.sum() == (0, ok(3, duplicates=1))
    told = batch.by_id()
    out = {x: y["result"]["stdout"] for x, y in told.items()}
    assert out["a"] == out["b"] != out["c"] and told["b"]["duplicate_of"] == "a"
    os.unlink(batch.results)
    assert batch.sum("--same-once") == (0, ok(3, duplicates=2))


def test_stop_at_the_first_failure(batch):
    batch.write([{"id": "bad", "spec": batch.python("1 / 0")}] + [{"id": str(i), "spec": batch.python("1")} for i in range(20)])
    status, told = batch.sum("-j", "1", "--stop-first")
    assert status == 1 and told["failed"] == 1 and told["left"] == 20


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interruption(batch, number):
    """Each job has one result in the end, and those that had one were not run again."""
    slow = {"limits": {"wall_ms": 3600000}}
    jobs = [{"id": str(i), "spec": batch.python("print(%d)" % i)} for i in range(3)]
    batch.write(jobs + [{"id": "long", "spec": batch.python("import time; time.sleep(3000)", **slow)}])
    child = subprocess.Popen(batch.command(*batch.url, "-j", "4"), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: len(batch.lines()) == 3 or child.poll() is not None, "the short jobs")
    child.send_signal(number)
    assert child.wait(PATIENCE) == (-9 if number == signal.SIGKILL else 130)
    until(lambda: batch.service.get("/v1/sessions").json() == {"sessions": []}, "its cells to be gone")
    assert len(batch.lines()) == 3
    batch.write(jobs + [{"id": "late", "spec": batch.python("1")}])
    assert batch.sum() == (0, ok(4, resumed=3))


def test_a_service_that_dies_loses_no_result(binary, tmp_path, services):
    """What had an answer keeps it; the same command goes on with the next service."""
    service = services()
    batch = Batch(binary, tmp_path, service)
    wait = "import os, time\nwhile os.path.exists('go'): time.sleep(3000)"
    batch.write([{"id": "first", "spec": batch.python("1")},
                 {"id": "long", "spec": batch.python(wait, files=[{"path": "go", "content": ""}], limits={"wall_ms": 3600000})},
                 {"id": "never", "spec": batch.python("2")}])
    child = subprocess.Popen(batch.command(*batch.url, "-j", "1"), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until(lambda: len(batch.lines()) == 1, "the first job")
    os.kill(service.children()["keeper"], signal.SIGKILL)
    said = child.communicate(timeout=PATIENCE)[1]
    assert child.returncode == 125 and b"goes on where it stopped" in said, said
    assert [x["id"] for x in batch.lines()] == ["first"]
    until(lambda: service.get("/readyz").status == 200, "the next keeper")
    jobs = [json.loads(x) for x in open(batch.jobs, encoding="utf-8")]
    batch.write([jobs[0], jobs[2]])
    assert batch.sum() == (0, ok(2, resumed=1))


def test_a_key_by_tcp(batch):
    batch.write([{"id": "a", "spec": batch.python("1")}])
    key = batch.folder / "key"
    key.write_text(batch.service.key + "\n")
    key.chmod(0o600)
    url = ["--url", "http://127.0.0.1:%d" % batch.service.port]
    done = batch.run(*url)
    assert done.returncode == 2 and done.stderr.startswith(b"snapcell: "), done.stderr
    assert batch.lines() == []
    batch.url = [*url, "--key-file", str(key)]
    assert batch.sum() == (0, ok(1))
    os.unlink(batch.results)
    key.write_text("sc_no_key_of_ours\n")
    done = batch.run(*batch.url)
    assert done.returncode == 2 and b"key" in done.stderr and batch.lines() == []
    key.chmod(0o644)
    assert b"mode 0600" in batch.run(*batch.url).stderr


def test_options(batch):
    batch.write([{"id": "a", "spec": batch.python("1")}])
    done = batch.run(*batch.url, "--socket", "/x/y")
    assert done.returncode == 2 and b"--url not allowed with --socket" in done.stderr, done.stderr
    done = batch.run("--key-file", "/x")
    assert done.returncode == 2 and b"--key-file allowed with --url" in done.stderr, done.stderr
    done = batch.run("--url", "https://example.org")
    assert done.returncode == 2 and b"allowed are" in done.stderr, done.stderr
    done = batch.run("--url", "unix://%s/none" % batch.folder)
    assert done.returncode == 125 and b"nobody serves there" in done.stderr, done.stderr
    assert batch.lines() == []


def test_a_file_that_cannot_be_sent_is_its_jobs_error(batch):
    with open(batch.folder / "large", "wb") as f:
        f.truncate(33 << 20)
    (batch.folder / "middle").write_bytes(b"x" * (13 << 20))
    file = lambda name: batch.python("1", files=[{"path": "x", "host": name}])
    batch.write([{"id": "large", "spec": file("large")}, {"id": "middle", "spec": file("middle")}, {"id": "none", "spec": file("none")},
                 {"id": "a", "spec": batch.python("1")}])
    assert batch.sum() == (1, ok(4, ok=1, errors=3))
    told = batch.by_id()
    assert "larger than 32M" in told["large"]["error"]["message"] and "16M" in told["middle"]["error"]["message"]
    assert told["none"]["error"]["kind"] == "usage" and told["a"]["result"]["status"] == "ok"


# ---- what answers is no service of ours ----

OPEN = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


RESULT = b'{"id": "a", "job": "", "result": {"status": "ok"}}\n'


@pytest.mark.parametrize("answer,lines", [
    (b"", 0), (b"x", 0), (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 0), (b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n{}", 0),
    (OPEN, 0), (OPEN + b"0\r\n\r\n", 0), (OPEN + chunk(b"no json\n"), 0), (OPEN + chunk(b'{"id": "z", "result": {}}\n'), 0),
    (OPEN + chunk(b'{"id": "a"}\n'), 0), (OPEN + chunk(b'{"id": "a", "result": 5}\n'), 0), (OPEN + chunk(RESULT), 1),
    (OPEN + chunk(RESULT + RESULT), 1), (OPEN + chunk(RESULT[:-1]) + b"0\r\n\r\n", 0),
    (OPEN + chunk(b'{"id": "a", "error": {"kind": "keeper_lost"}}\n') + b"0\r\n\r\n", 0),
])
def test_answers_of_strangers(binary, tmp_path, answer, lines):
    """Each ends with an error; what was answered in form stays, and nothing else is written."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    listener.listen()

    def serve():
        peer = listener.accept()[0]
        data = b""
        while b'"b"' not in data:
            data += peer.recv(65536)
        try:
            peer.sendall(answer)
        except OSError:
            pass  # the client may have hung up on what it was sent already
        peer.close()
    batch = Batch(binary, tmp_path, None)
    batch.write([{"id": x, "spec": {"language": "python", "code": "1"}} for x in ("a", "c", "b")])
    thread = threading.Thread(target=serve)
    thread.start()
    done = batch.run("--url", "unix://%s/s" % tmp_path)
    thread.join()
    listener.close()
    assert done.returncode == 125 and b"snapcell: " in done.stderr, done
    assert len(batch.lines()) == lines
