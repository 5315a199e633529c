"""Files by HTTP: bytes in both directions, listings, changes, archives."""
import io
import json
import os
import tarfile

import pytest
from conftest import parse_events, until

MIB = 1 << 20


@pytest.fixture(scope="module")
def session(shared):
    answer = shared.post("/v1/sessions", shared.cell())
    assert answer.status == 201, answer.body
    return answer.headers["location"]


def names(shared, path):
    return [x["name"] for x in shared.get(path).json()["entries"]]


def test_there_and_back(shared, session):
    data = os.urandom(3 * MIB + 17)
    assert shared("PUT", session + "/files/data.bin?mode=0640", data).json()["bytes"] == len(data)
    read = shared.get(session + "/files/data.bin")
    assert read.status == 200 and read.body == data and read.headers["content-type"] == "application/octet-stream"
    assert shared.get(session + "/files/data.bin?offset=5&length=10").body == data[5:15]
    told = shared.get(session + "/stat/data.bin").json()
    assert (told["size"], told["mode"], told["type"]) == (len(data), "0640", "file")
    assert shared("PUT", session + "/files/data.bin?append=true", b"end").status == 200
    assert shared.get(session + "/files/data.bin?offset=%d" % len(data)).body == b"end"
    assert shared("DELETE", session + "/files/data.bin").status == 200


def test_an_empty_file(shared, session):
    assert shared("PUT", session + "/files/empty", b"").json()["bytes"] == 0
    assert shared.get(session + "/files/empty").body == b""
    assert shared("DELETE", session + "/files/empty").status == 200


def test_a_chunked_body(shared, session):
    def pieces():
        for _ in range(100):
            yield b"y" * 9999
    assert shared("PUT", session + "/files/chunked", pieces()).json()["bytes"] == 999900
    assert shared("DELETE", session + "/files/chunked").status == 200


def test_folders(shared, session):
    assert shared("PUT", session + "/folders/a/b?parents=true").status == 201
    shared("PUT", session + "/folders/a").problem(409, "file", "path")
    assert shared("PUT", session + "/files/a/b/c.txt", b"c").status == 200
    assert names(shared, session + "/folders/a") == ["b"] and names(shared, session + "/folders?path=a/b") == ["c.txt"]
    assert shared.get(session + "/folders/a%2Fb").json()["entries"][0]["size"] == 1
    assert shared("PATCH", session + "/files/a/b/c.txt", {"to": "a/d.txt"}).status == 200
    assert shared("PATCH", session + "/files/a/d.txt", {"mode": "0600"}).status == 200
    assert shared.get(session + "/stat/a/d.txt").json()["mode"] == "0600"
    assert shared.get(session + "/folders/a/b").json() == {"entries": []}
    shared("DELETE", session + "/files/a").problem(409, "file", "path")
    assert shared("DELETE", session + "/files/a?recursive=true").status == 200
    shared.get(session + "/folders/a").problem(404, "file", "path")


def test_absolute_paths_and_names_of_all_kinds(shared, session):
    assert shared.get(session + "/files//etc/hostname").status in (200, 404)
    assert b"/home/user" in shared.post(session + "/exec", {"command": ["pwd"]}).body
    strange = "a%20b%3F%23%25%C3%A9"
    assert shared("PUT", session + "/files/" + strange, b"s").status == 200
    assert "a b?#%é" in names(shared, session + "/folders")
    assert shared("DELETE", session + "/files/" + strange).status == 200
    shared.get(session + "/files/a%00b").problem(422, "usage", "path")
    shared.get(session + "/files/" + "x" * 300).problem(422, "file", "path")
    shared.get(session + "/files/").problem(404, "not_found", "path")


def test_errors_of_files(shared, session):
    detail = shared.get(session + "/files/none")
    detail.problem(404, "file", "path")
    assert detail.json()["code"] == "ENOENT"
    shared.get(session + "/files/.").problem(409, "file", "path")
    shared("PUT", session + "/files//usr/x", b"x").problem(403, "file", "path")
    shared("PUT", session + "/files/x?mode=9", b"x").problem(422, "usage", "mode")
    shared("PATCH", session + "/files/x", {}).problem(422, "usage", "to")
    shared("PATCH", session + "/files/x", {"to": "y", "mode": "0600"}).problem(422, "usage", "to")


def test_a_disk_that_is_full(shared, session):
    answer = shared("PUT", session + "/files/large", b"z" * (200 * MIB))
    answer.problem(507, "file", "path")
    # Larger than the largest file that may be: the limits' defaults are the same.
    assert answer.json()["code"] in ("EFBIG", "ENOSPC") and "large" not in names(shared, session + "/folders")


def test_archives(shared, session):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, data in (("x/one", b"1"), ("x/two", b"22")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    assert shared("PUT", session + "/folders/in").status == 201
    assert shared("PUT", session + "/tar?path=in", archive.getvalue()).json()["files"] >= 2
    taken = shared.get(session + "/tar?path=in")
    assert taken.headers["content-type"] == "application/x-tar"
    with tarfile.open(fileobj=io.BytesIO(taken.body)) as tar:
        found = {x.name: tar.extractfile(x).read() for x in tar if x.isfile()}
    assert found == {"x/one": b"1", "x/two": b"22"}
    assert shared("PUT", session + "/tar?path=in", b"no archive at all" * 100).status in (409, 422)
    assert shared("DELETE", session + "/files/in?recursive=true").status == 200


def test_watching(shared, session):
    assert shared("PUT", session + "/folders/seen").status == 201
    connection = shared.connect()
    connection.request("GET", session + "/watch?path=seen")
    response = connection.getresponse()
    assert response.status == 200 and response.getheader("content-type") == "application/x-ndjson"
    assert json.loads(response.readline()) == {"event": "start", "data": {}}
    assert shared("PUT", session + "/files/seen/new", b"x").status == 200
    seen = []
    while ("new", "made") not in seen:
        (name, data), = parse_events(response.readline(), "application/x-ndjson")
        assert name == "change"
        seen.append((data["path"], data["change"]))
    response.close()
    connection.close()
    until(lambda: not shared.get(session).json()["tasks"], "the end of the watch")


def resident(pid):
    with open("/proc/%d/status" % pid) as f:
        return int([x for x in f if x.startswith("VmHWM")][0].split()[1]) * 1024


def test_large_files_pass_in_constant_memory(shared):
    """The peak of the gate grows by far less than what passes."""
    size = 192 * MIB
    body = shared.cell(limits={"memory_bytes": 1024 * MIB, "disk_bytes": 256 * MIB}, disk_backing="memory")
    place = shared.post("/v1/sessions", body).headers["location"]
    gate = shared.children()["gate"]
    before = resident(gate)

    def pieces(total):
        block = b"0123456789abcdef" * 4096
        for _ in range(total // len(block)):
            yield block
    assert shared("PUT", place + "/files/large", pieces(size)).json()["bytes"] == size
    connection = shared.connect()
    connection.request("GET", place + "/files/large")
    response, got = connection.getresponse(), 0
    while True:
        piece = response.read(1 << 20)
        if not piece:
            break
        got += len(piece)
    connection.close()
    assert got == size
    assert resident(gate) - before < 16 * MIB
    assert shared("DELETE", place).status == 200


def test_a_reader_that_sleeps_holds_nobody_up(shared, session):
    """What is not read waits at its source; others go on, and the gate keeps little of it."""
    assert shared("PUT", session + "/files/much", b"m" * (64 * MIB)).status == 200
    gate = shared.children()["gate"]
    before = resident(gate)
    sleepers = []
    for _ in range(8):
        connection = shared.connect()
        connection.request("GET", session + "/files/much")
        sleepers.append((connection, connection.getresponse()))
    assert shared.get(session + "/stat/much").json()["size"] == 64 * MIB
    assert shared.python("print(1)")["stdout"] == "1\n"
    assert resident(gate) - before < 8 * 4 * MIB
    for connection, response in sleepers:
        assert len(response.read()) == 64 * MIB
        connection.close()
    assert shared("DELETE", session + "/files/much").status == 200
