"""`snapcell batch`: many jobs, some at a time, gone on with after an interruption."""
import json
import os
import signal
import time

import pytest
from conftest import PATIENCE


@pytest.fixture
def spec(cli):
    return {"allow_degraded": cli.accept[1].split(",")} if cli.accept else {}


@pytest.fixture
def python(spec):
    def make(code, **more):
        return dict(spec, language="python", code=code, **more)
    return make


class Batch:
    def __init__(self, cli, folder):
        self.cli, self.folder = cli, folder
        self.jobs, self.results = str(folder / "jobs.jsonl"), str(folder / "results.jsonl")

    def write(self, jobs):
        with open(self.jobs, "w", encoding="utf-8") as f:
            for job in jobs:
                f.write(job if isinstance(job, str) else json.dumps(job))
                f.write("\n")

    def run(self, *options, **more):
        return self.cli("batch", *options, "-o", self.results, self.jobs, **more)

    def sum(self, *options):
        done = self.run("--json", *options)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    def lines(self):
        with open(self.results, encoding="utf-8") as f:
            return [json.loads(x) for x in f.read().splitlines()]

    def by_id(self):
        told = {x["id"]: x for x in self.lines()}
        assert len(told) == len(self.lines())
        return told


@pytest.fixture
def batch(cli, tmp_path):
    return Batch(cli, tmp_path)


def ok(count, **more):
    wanted = {"jobs": count, "ok": count, "failed": 0, "errors": 0, "duplicates": 0, "resumed": 0, "left": 0}
    return dict(wanted, **more)


def without_time(told):
    status, value = told
    assert value.pop("wall_ms") >= 0
    return status, value


def test_all_are_answered(batch, python):
    batch.write([{"id": "job-%d" % i, "spec": python("print(%d)" % i)} for i in range(30)])
    assert without_time(batch.sum("-j", "8")) == (0, ok(30))
    told = batch.by_id()
    assert {x: told["job-%d" % x]["result"]["stdout"] for x in range(30)} == {x: "%d\n" % x for x in range(30)}
    assert len({x["job"] for x in told.values()}) == 30


def test_kinds_of_jobs(batch, python, spec):
    test = {"stdin": "2", "expected": "4\n"}
    judge = {"run": dict(spec, language="python", code="print(int(input())**2)"), "tests": [dict(test, name="a")]}
    wrong = dict(judge, tests=[dict(test, name="a", expected="5\n")])
    batch.write([
        {"id": "value", "spec": python("6*7")},
        {"id": "plain", "spec": python("print(1)", mode="plain")},
        {"id": "command", "spec": dict(spec, command=["/bin/echo", "hi"])},
        {"id": "restricted", "spec": python("1+1", mode="restricted")},
        {"id": "judge", "judge": judge}, {"id": "wrong", "judge": wrong},
        {"id": "failed", "spec": python("1/0")},
        {"id": "refused", "spec": python("1", limits={"memory_bytes": 16 << 20, "tmp_bytes": 1 << 30})},
        "",
        {"spec": python("1")},
    ])
    status, told = without_time(batch.sum("-j", "3"))
    assert status == 1 and (told["ok"], told["failed"], told["errors"]) == (6, 2, 1)
    told = batch.by_id()
    assert told["value"]["result"]["value"]["text/plain"] == "42"
    assert told["plain"]["result"]["stdout"] == "1\n" and told["command"]["result"]["stdout"] == "hi\n"
    assert told["judge"]["report"]["verdict"] == "accepted" and told["wrong"]["report"]["verdict"] == "wrong_answer"
    assert told["failed"]["result"]["status"] == "error"
    assert told["refused"]["error"]["kind"] == "usage" and "tmp" in told["refused"]["error"]["message"]
    assert told["line-10"]["result"]["status"] == "ok"


def test_a_keeper_that_is_there(batch, python, keeper):
    batch.write([{"id": str(i), "spec": python("print(%d)" % i)} for i in range(5)])
    assert without_time(batch.sum("--socket", keeper.socket)) == (0, ok(5))
    batch.write([{"id": "x", "spec": python("1")}])
    os.unlink(batch.results)
    done = batch.run("--socket", str(batch.folder / "none/k"))
    assert done.returncode == 125 and not batch.lines()


def test_it_goes_on(batch, python):
    jobs = [{"id": str(i), "spec": python("print(%d)" % i)} for i in range(6)]
    batch.write(jobs[:3])
    assert batch.sum()[0] == 0
    before = open(batch.results, "rb").read()
    batch.write(jobs)
    with open(batch.results, "ab") as f:
        f.write(b'{"id": "3", "half a line')
    assert without_time(batch.sum()) == (0, ok(6, resumed=3))
    assert open(batch.results, "rb").read().startswith(before) and len(batch.by_id()) == 6
    after = open(batch.results, "rb").read()
    assert without_time(batch.sum()) == (0, ok(6, resumed=6))
    assert open(batch.results, "rb").read() == after


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interruption(batch, python, number):
    """Whatever comes in between, each job has one result in the end, and those that had one were not run again."""
    batch.write([{"id": str(i), "spec": python("import time; time.sleep(0.2); print(%d)" % i)} for i in range(24)])
    child = batch.cli.popen("batch", "-j", "2", "-o", batch.results, batch.jobs)
    end = time.monotonic() + PATIENCE
    while not (os.path.exists(batch.results) and len(batch.lines()) >= 3):
        assert time.monotonic() < end and child.poll() is None
        time.sleep(0.01)
    child.send_signal(number)
    assert child.wait(PATIENCE) == (-9 if number == signal.SIGKILL else 130)
    had = len(batch.lines())
    assert 3 <= had < 24
    assert without_time(batch.sum("-j", "4")) == (0, ok(24, resumed=had))
    assert {x: y["result"]["stdout"] for x, y in batch.by_id().items()} == {str(i): "%d\n" % i for i in range(24)}


def test_results_of_other_jobs_are_refused(batch, python):
    batch.write([{"id": "1", "spec": python("1")}])
    assert batch.sum()[0] == 0
    batch.write([{"id": "1", "spec": python("2")}])
    done = batch.run()
    assert done.returncode == 2 and b"other content" in done.stderr
    batch.write([{"id": "2", "spec": python("1")}])
    assert batch.run().returncode == 2
    with open(batch.results, "w", encoding="utf-8") as f:
        f.write("precious\n")
    done = batch.run()
    assert done.returncode == 2 and b"no JSON" in done.stderr
    assert open(batch.results, "rb").read() == b"precious\n"


def test_keys_and_same_content(batch, python):
    code = "import uuid; print(uuid.uuid4())"
    batch.write([{"id": "a", "key": "k", "spec": python(code)}, {"id": "b", "key": "k", "spec": python(code)},
                 {"id": "c", "spec": python(code)}, {"id": "d", "key": "l", "spec": python(code)}])
    assert without_time(batch.sum("-j", "4")) == (0, ok(4, duplicates=1))
    told = batch.by_id()
    out = {x: y["result"]["stdout"] for x, y in told.items()}
    assert out["a"] == out["b"] and len(set(out.values())) == 3
    assert told["b"]["duplicate_of"] == "a" and "duplicate_of" not in told["a"]
    os.unlink(batch.results)
    assert without_time(batch.sum("-j", "4", "--same-once")) == (0, ok(4, duplicates=3))
    assert len({x["result"]["stdout"] for x in batch.lines()}) == 1


def test_an_answer_that_was_not_given_to_all(batch, python):
    """Interrupted between the answer of a job and those that have it as theirs: nothing is run again."""
    job = python("import uuid; print(uuid.uuid4())")
    batch.write([{"id": x, "key": "k", "spec": job} for x in "abc"])
    assert batch.sum()[0] == 0
    with open(batch.results, encoding="utf-8") as f:
        first = f.readline()
    with open(batch.results, "w", encoding="utf-8") as f:
        f.write(first)
    status, told = without_time(batch.sum())
    assert (status, told["ok"], told["resumed"]) == (0, 3, 1)
    assert len({x["result"]["stdout"] for x in batch.lines()}) == 1 and len(batch.by_id()) == 3


def test_stop_at_the_first_failure(batch, python):
    batch.write([{"id": "bad", "spec": python("1/0")}] + [{"id": str(i), "spec": python("1")} for i in range(20)])
    status, told = batch.sum("-j", "1", "--stop-first")
    assert status == 1 and told["failed"] == 1 and told["left"] == 20


@pytest.mark.parametrize("line, words", [
    ("{", b"line 2"), ("[]", b"must be an object"), ('{"id": "x"}', b"either spec or judge"),
    ('{"spec": {"code": "1", "languag": "python"}}', b"did you mean language"), ('{"spec": {}}', b"spec: code, program or command"),
    ('{"id": 5, "spec": {"code": "1"}}', b"id"), ('{"id": "first", "spec": {"code": "1"}}', b"stands there twice"),
    ('{"judge": {"tests": 5}}', b"tests"), ('{"spek": {}}', b"did you mean spec"),
    ('{"id": "y", "key": "k", "spec": {"code": "2", "language": "python"}}', b"two jobs of different content"),
])
def test_a_wrong_line_is_told_before_anything_runs(batch, usage, line, words):
    batch.cli = usage
    batch.write([{"id": "first", "key": "k", "spec": {"language": "python", "code": "1"}}, line])
    done = batch.run()
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert not os.path.exists(batch.results)


@pytest.mark.parametrize("options", [["-j", "0"], ["-j", "65"], ["-j", "x"]])
def test_options_are_checked(batch, usage, options):
    batch.cli = usage
    batch.write([])
    assert batch.run(*options).returncode == 2
    assert usage("batch", batch.jobs).returncode == 2
    assert usage("batch", "-o", batch.results, str(batch.folder / "none")).returncode == 2


def test_an_empty_file_is_done(batch):
    batch.write([])
    assert without_time(batch.sum()) == (0, ok(0))
