"""POST /v1/run: single runs, in one piece and as events."""
import base64

import pytest


def test_the_result_is_that_of_every_front(shared):
    result = shared.python("import sys\nprint('é')\nprint('bad', file=sys.stderr)\n6 * 7")
    assert (result["status"], result["stdout"], result["stderr"]) == ("ok", "é\n", "bad\n")
    assert result["value"] == {"text/plain": "42"}
    assert result["backend"] == "native" and result["denials"] == []


def test_a_failure_is_a_result(shared):
    result = shared.python("1 / 0")
    assert (result["status"], result["error"]["name"]) == ("error", "ZeroDivisionError")


def test_limits_files_stdin_and_environment(shared):
    result = shared.python("import os\nprint(open('in.txt').read(), input(), os.environ['WHO'])", stdin="line\n",
                           files=[{"path": "in.txt", "content": "file"}], env={"WHO": "me"})
    assert result["stdout"] == "file line me\n"
    result = shared.python("while True: pass", limits={"wall_ms": 300})
    assert result["status"] == "timeout"


def test_bytes_that_are_no_text(shared):
    result = shared.python("import sys\nsys.stdout.buffer.write(b'a\\xff')")
    assert result["stdout"] == "a\ufffd" and base64.b64decode(result["stdout_b64"]) == b"a\xff"


@pytest.mark.parametrize("accept", ["text/event-stream", "application/x-ndjson"])
def test_events(shared, accept):
    body = shared.cell(language="python", code="import sys\nprint('é' * 3)\nprint('e', file=sys.stderr)\n2")
    events = shared.events("/v1/run", body, accept)
    names = [name for name, _ in events]
    assert names[0] == "start" and names[-1] == "end" and set(names) == {"start", "stdout", "stderr", "end"}
    assert "".join(x["text"] for name, x in events if name == "stdout") == "ééé\n"
    assert "".join(x["text"] for name, x in events if name == "stderr") == "e\n"
    end = events[-1][1]
    assert end["status"] == "ok" and end["value"] == {"text/plain": "2"} and end["stdout"] == ""


def test_characters_that_come_in_pieces_stay_whole(shared):
    code = "import sys, time\nfor b in '€'.encode():\n    sys.stdout.buffer.write(bytes([b]))\n    sys.stdout.buffer.flush()\n    time.sleep(0.05)\n"
    events = shared.events("/v1/run", shared.cell(language="python", code=code))
    assert [x for name, x in events if name == "stdout"] == [{"text": "€"}]


def test_display_events(shared):
    code = "class P:\n    def _repr_html_(self): return '<b>x</b>'\ndisplay(P())"
    events = shared.events("/v1/run", shared.cell(language="python", code=code))
    shown = [x for name, x in events if name == "display"]
    assert len(shown) == 1 and shown[0]["text/html"] == "<b>x</b>"


def test_denials_are_events_too(shared):
    code = "import ctypes\nprint(ctypes.CDLL(None, use_errno=True).unshare(0x10000000))"
    events = shared.events("/v1/run", shared.cell(language="python", code=code))
    denials = [x for name, x in events if name == "denial"]
    assert [x["action"] for x in denials] == ["unshare"]
    assert events[-1][1]["denials"] == denials


@pytest.mark.parametrize("body,field", [
    ({"language": "python", "cod": "1"}, "cod"),
    ({"language": "python", "code": 1}, "code"),
    ({"language": "perl", "code": "1"}, "language"),
    ({"language": "python", "code": "1", "limits": {"wall_ms": 1}}, "limits.wall_ms"),
    ({"language": "python", "code": "1", "limits": {"memroy_bytes": 1}}, "limits.memroy_bytes"),
    ({"language": "python", "code": "1", "files": [{"path": "../x", "content": ""}]}, "files[0].path"),
    ({"language": "python", "code": "1", "files": [{"path": "x", "host": "/etc/passwd"}]}, "files[0].host"),
    ({"language": "python", "code": "1", "validate": {"rules": ["/etc/passwd"]}}, "validate.rules[0]"),
    ({"language": "python", "code": "1", "root": "/"}, "root"),
    ({"language": "python", "code": "1", "cgroup_parent": "/"}, "cgroup_parent"),
    ({"language": "python", "code": "1", "dirs": []}, "dirs"),
    ({"program": "/bin/true"}, "program"),
])
def test_each_wrong_field_is_named(shared, body, field):
    shared.post("/v1/run", body).problem(422, "usage", field)


def test_no_json(shared):
    shared.post("/v1/run", b"{").problem(422, "usage", "request")
    shared.post("/v1/run", b"[]").problem(422, "usage", "body")
    shared.post("/v1/run", b'{"code": "1", "code": "2"}').problem(422, "usage", "request")
    shared.post("/v1/run", b"{}", headers={"Content-Type": "text/plain"}).problem(415, "media_type", "Content-Type")
