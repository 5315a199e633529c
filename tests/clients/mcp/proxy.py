"""A proxy in front of /mcp, for the public conformance suite, which sends no key and asks for tools and resources of fixed
names. The proxy adds the key and maps those names on real calls: `test_simple_text` becomes a `run_code` that prints the
text, `test://static-text` a file of the session. All else, headers, sessions and streams, passes as it is.
"""
import base64
import http.client
import json
import threading
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
        "test://mixed-content-resource": "mixed.json", "test://template/123/data": "data/123.json", "test://watched-resource": "watched.txt"}
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


HOPS = ("connection", "keep-alive", "transfer-encoding", "content-length")


class Proxy:
    def __init__(self, port, key, query):
        self.port, self.key, self.query = port, key, query
        self.prepared, self.sessions = set(), set()
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.server.handle_error = lambda *_: None  # the suite hangs up when it has seen enough
        self.url = "http://127.0.0.1:%d/mcp" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def forward(self, method, headers, body):
        """The answer, of which only the head was read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        headers = dict(headers, Authorization="Bearer " + self.key)
        connection.putrequest(method, "/mcp" + self.query, skip_host=True, skip_accept_encoding=True)
        if body is not None:
            headers["Content-Length"] = str(len(body))
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        return connection.getresponse()

    def end_others(self):
        """Of scenarios that are over: the suite never ends a session, and each holds a cell."""
        while self.sessions:
            answer = self.forward("DELETE", {"Host": "localhost", "Mcp-Session-Id": self.sessions.pop()}, None)
            assert answer.status == 204 and answer.read() == b""

    def tool(self, headers, number, name, arguments):
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        answer = self.forward("POST", headers, json.dumps(message).encode())
        assert answer.status == 200 and b'"isError":true' not in answer.read()

    def prepare(self, headers):
        """Files of the suite, before the first request of a session that may look at them."""
        name = headers.get("mcp-session-id")
        with self.lock:
            if name in self.prepared:
                return
            for number, (path, data) in enumerate(FILES.items()):
                self.tool(headers, "file-%d" % number, "write_file", {"path": path, "content_b64": base64.b64encode(data).decode()})
            self.prepared.add(name)


def handler(proxy):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            self.pass_on(None)

        do_DELETE = do_GET

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            message = mapped(json.loads(body))
            headers = self.own_headers()
            if message.get("method") == "initialize":
                proxy.end_others()
            if message.get("method") in ("tools/call", "resources/read", "resources/list") and "mcp-session-id" in headers:
                proxy.prepare(headers)
            if (message.get("params") or {}).pop("fresh", False):
                # The suite wants three log messages of one call: a session that begins in it tells more.
                proxy.tool(headers, "reset", "reset", {})
            self.pass_on(json.dumps(message).encode())

        def own_headers(self):
            return {k.lower(): v for k, v in self.headers.items() if k.lower() not in HOPS}

        def pass_on(self, body):
            answer = proxy.forward(self.command, self.own_headers(), body)
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() == "mcp-session-id":
                    proxy.sessions.add(value)
                if name.lower() not in HOPS:
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            for line in answer:
                self.wfile.write(unmapped(line.decode()).encode())
                self.wfile.flush()
            self.close_connection = True

    return Handler
