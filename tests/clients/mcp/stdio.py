"""A client that is only JSON lines, for what real clients never send."""
import json
import subprocess


class Client:
    def __init__(self, line, env=None):
        self.child = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.last = 0
        self.notices = []

    def write(self, text):
        self.child.stdin.write(text + "\n")
        self.child.stdin.flush()

    def send(self, method, params=None, number=None):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        if number is not None:
            message["id"] = number
        self.write(json.dumps(message))

    def read(self):
        line = self.child.stdout.readline()
        assert line, "the server has ended"
        return json.loads(line)

    def answer(self, number):
        while True:
            message = self.read()
            if "method" not in message and message.get("id") == number:
                return message
            self.notices.append(message)

    def ask(self, method, params=None):
        self.last += 1
        self.send(method, params, self.last)
        return self.answer(self.last)

    def start(self, revision="2025-11-25"):
        answer = self.ask("initialize", {"protocolVersion": revision, "capabilities": {},
                                         "clientInfo": {"name": "test", "version": "1"}})
        self.send("notifications/initialized")
        return answer["result"]

    def call(self, tool, /, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]

    def end(self, timeout):
        self.child.stdin.close()
        status = self.child.wait(timeout)
        self.child.stdout.close()
        return status
