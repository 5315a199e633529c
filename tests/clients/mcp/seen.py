"""What client.mjs and client.py must have seen, by whichever transport."""
import json

TOOLS = ["run_code", "run_command", "read_file", "write_file", "list_files", "check_code", "reset"]


def text_of(result):
    return "".join(item["text"] for item in result["content"] if item["type"] == "text")


def check_typescript(ran):
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout)
    assert (seen["server"], seen["tools"]) == ("snapcell", TOOLS)
    assert seen["kept"]["structuredContent"]["value"] == "42" and seen["kept"]["isError"] is False
    assert seen["failed"]["isError"] is True and seen["failed"]["structuredContent"]["error"]["name"] == "TypeError"
    told = [p["progress"] for p in seen["progress"]]
    assert told == sorted(set(told)) and "".join(p.get("message", "") for p in seen["progress"]) == "1\n2\n3\n"
    assert len(told) >= 2 and seen["long"]["structuredContent"]["stdout"] == "1\n2\n3\n"
    command = seen["command"]
    assert command["isError"] is False and command["structuredContent"]["exit_code"] == 3
    embedded = [c["resource"] for c in command["content"] if c["type"] == "resource"]
    assert embedded == [{"uri": "snapcell:///home/user/notes/a%20b.txt", "mimeType": "text/plain", "text": "hello"}]
    assert seen["read"]["contents"][0]["text"] == "hello"
    assert "snapcell:guide" in seen["resources"] and "30s" in seen["guide"]
    assert "AbortError" in seen["cancelled"] or "enough" in seen["cancelled"]
    assert seen["after"]["structuredContent"]["stdout"] == "after\n" and seen["cancel_ms"] < 60000
    assert "a session was started" in seen["logs"]


def check_python(ran):
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout)
    assert seen["tools"] == TOOLS and seen["prompts"] == ["sandbox_guide"]
    assert seen["kept"]["structuredContent"]["value"] == "42"
    assert [m for _, m in seen["progress"] if m] == ["a\n", "b\n"]
    assert seen["wrong"]["isError"] is True
    assert text_of(seen["wrong"]) == "language: cobol: allowed are python, node, bash"
    assert "## Limits" in seen["guide"]["contents"][0]["text"]
