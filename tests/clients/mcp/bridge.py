"""Streamable HTTP in front of `snapcell mcp`, for a runner that speaks nothing else: the public conformance suite.

The suite asks for tools and resources of fixed names. The bridge maps those names on real calls: `test_simple_text`
becomes a `run_code` that prints the text, `test://static-text` a file of the session. Nothing is answered by the bridge
itself but sessions and HTTP; what the server cannot do is left to fail.
"""
import base64
import json
import queue
import subprocess
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==")
WAV = b"RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0data\4\0\0\0\x80\x80\x80\x80"
FILES = {"static.txt": b"This is the content of the static text resource.", "static.png": PNG, "sound.wav": WAV,
         "embedded.txt": b"This is an embedded resource content.", "mixed.json": b'{"test": "data", "value": 123}',
         "data/123.json": b'{"id": "123", "templateTest": true, "data": "Data for ID: 123"}'}
PICTURE = "class P:\n  def _repr_png_(self): return open('static.png', 'rb').read()\n"


def code(text, **more):
    return {"name": "run_code", "arguments": dict({"language": "python", "code": text}, **more)}


TOOLS = {
    "test_simple_text": code("print('This is a simple text response for testing.', end='')"),
    "test_image_content": code(PICTURE + "P()"),
    "test_audio_content": {"name": "read_file", "arguments": {"path": "sound.wav"}},
    "test_embedded_resource": code("None", return_files=["embedded.txt"]),
    "test_multiple_content_types": code(PICTURE + "print('Multiple content types test:')\nP()", return_files=["mixed.json"]),
    "test_tool_with_logging": code("import time; time.sleep(0.1)"),
    "test_error_handling": code("raise RuntimeError('This tool intentionally returns an error for testing')"),
    "test_tool_with_progress": code("import time\nfor i in range(3): print(i, flush=True); time.sleep(0.3)"),
}
URIS = {"test://static-text": "static.txt", "test://static-binary": "static.png", "test://embedded-resource": "embedded.txt",
        "test://mixed-content-resource": "mixed.json", "test://template/123/data": "data/123.json"}
PROMPTS = {"test_simple_prompt": "sandbox_guide"}


def mapped(message):
    """The suite's names → ours."""
    params = message.get("params") or {}
    if message.get("method") == "tools/call" and params.get("name") in TOOLS:
        params.update(json.loads(json.dumps(TOOLS[params["name"]])))
        if message["params"]["arguments"].get("code") == TOOLS["test_tool_with_logging"]["arguments"]["code"]:
            params["fresh"] = True
    if params.get("uri") in URIS:
        params["uri"] = "snapcell:///home/user/" + URIS[params["uri"]]
    if params.get("name") in PROMPTS:
        params["name"] = PROMPTS[params["name"]]
    return message


def unmapped(text):
    """Our names → the suite's."""
    for theirs, ours in URIS.items():
        text = text.replace('"snapcell:///home/user/%s"' % ours, '"%s"' % theirs)
    return text


class Session:
    """One `snapcell mcp`. Messages go to the stream of the request that they belong to, else to the oldest that is open."""

    def __init__(self, line, env):
        self.child = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.lock = threading.Lock()
        self.open = {}
        self.files_are_there = False
        threading.Thread(target=self.read, daemon=True).start()

    def write(self, message):
        with self.lock:
            self.child.stdin.write(json.dumps(message) + "\n")
            self.child.stdin.flush()

    def read(self):
        for line in self.child.stdout:
            message = json.loads(line)
            token = message.get("params", {}).get("progressToken") if "method" in message else None
            with self.lock:
                streams = dict(self.open)
            target = streams.get(json.dumps(message.get("id")) if "method" not in message else None)
            for key, (stream, wanted) in streams.items():
                if target is None and token is not None and wanted == token:
                    target = (stream, wanted)
            if target is None and streams:
                target = next(iter(streams.values()))
            if target:
                target[0].put((message, unmapped(line)))

    def ask(self, message):
        """Yields messages, the answer last."""
        stream, key = queue.Queue(), json.dumps(message["id"])
        token = ((message.get("params") or {}).get("_meta") or {}).get("progressToken")
        with self.lock:
            self.open[key] = (stream, token)
        self.write(message)
        while True:
            got, text = stream.get()
            yield text
            if "method" not in got and json.dumps(got.get("id")) == key:
                break
        with self.lock:
            del self.open[key]

    def prepare(self):
        """Files of the suite, before the first request that may look at them."""
        if self.files_are_there:
            return
        self.files_are_there = True
        for number, (path, data) in enumerate(FILES.items()):
            arguments = {"path": path, "content_b64": base64.b64encode(data).decode()}
            list(self.ask({"jsonrpc": "2.0", "id": "file-%d" % number, "method": "tools/call",
                           "params": {"name": "write_file", "arguments": arguments}}))

    def end(self):
        self.child.stdin.close()
        return self.child.wait(60)


def handler(line, env, sessions):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def plain(self, status, body=b"", **headers):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            self.plain(405)

        def do_DELETE(self):
            session = sessions.pop(self.headers.get("Mcp-Session-Id"), None)
            if session:
                session.end()
            self.plain(200 if session else 404)

        def do_POST(self):
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name = self.headers.get("Mcp-Session-Id")
            if message.get("method") == "initialize":
                name = uuid.uuid4().hex
                sessions[name] = Session(line, env)
            session = sessions.get(name)
            if not session:
                self.plain(404)
            elif "id" not in message or "method" not in message:
                session.write(message)
                self.plain(202)
            else:
                self.stream(session, name, message)

        def stream(self, session, name, message):
            if message["method"] in ("tools/call", "resources/read", "resources/list"):
                session.prepare()
            message = mapped(message)
            if (message.get("params") or {}).pop("fresh", False):
                # The suite wants three log messages of one call: a session that begins in it tells more.
                list(session.ask({"jsonrpc": "2.0", "id": "reset", "method": "tools/call",
                                  "params": {"name": "reset", "arguments": {}}}))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Mcp-Session-Id", name)
            self.send_header("Connection", "close")
            self.end_headers()
            for text in session.ask(message):
                self.wfile.write(b"event: message\ndata: %s\n\n" % text.strip().encode())
                self.wfile.flush()
            self.close_connection = True

    return Handler


class Bridge:
    def __init__(self, line, env):
        self.sessions = {}
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler(line, env, self.sessions))
        self.server.handle_error = lambda *_: None  # the suite hangs up when it has seen enough
        self.url = "http://127.0.0.1:%d/mcp" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        """Exit statuses of the servers behind the sessions that are left."""
        self.server.shutdown()
        self.server.server_close()
        return [session.end() for session in self.sessions.values()]
