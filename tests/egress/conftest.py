"""What the tests of egress share: the lab (lab.py), and cells in it."""
import base64
import json
import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
INTERNAL = ["--internal", "198.51.100.0/24", "--internal", "2001:db8:5::/64"]


class Lab:
    def __init__(self, folder):
        self.folder = str(folder)
        self.child = subprocess.Popen(["/usr/bin/python3", os.path.join(HERE, "lab.py"), self.folder], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        assert self._answer() == {"ready": True}

    def _answer(self):
        line = self.child.stdout.readline()
        assert line, "the lab ended with %s" % self.child.wait()
        return json.loads(line)

    def order(self, **order):
        self.child.stdin.write(json.dumps(order) + "\n")
        self.child.stdin.flush()
        return self._answer()

    def seen(self, kind=None):
        seen = self.order(seen=True)["seen"]
        return [x for x in seen if kind in (None, x[0])]

    def close(self):
        self.child.stdin.close()
        self.child.wait(60)


class Done:
    def __init__(self, answer):
        self.code = answer["code"]
        self.out = base64.b64decode(answer["out"])
        self.err = base64.b64decode(answer["err"])


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    os.chmod(folder, 0o755)
    made = Lab(folder)
    yield made
    made.close()


class Cells:
    """`snapcell` among the lab's hosts."""

    def __init__(self, lab, folder):
        self.lab = lab
        self.folder = folder
        self.binary = os.environ["SNAPCELL"]
        degraded = os.environ.get("SNAPCELL_TEST_DEGRADED", "")
        self.accept = ["--allow-degraded", degraded] if degraded else []

    def snapcell(self, *words, **more):
        return Done(self.lab.order(run=[self.binary, *words], **more))

    def result(self, *words):
        """`snapcell run --json`, with the lab's ranges counted as reachable."""
        done = self.snapcell("run", "--json", "--wall", "60s", *self.accept, *INTERNAL, *words)
        assert done.err == b"", done.err
        return json.loads(done.out)

    def python(self, rules, code, *options):
        path = os.path.join(self.folder, "program.py")
        with open(path, "w", encoding="utf-8") as f:
            f.write(HELP + code)
        return self.result(*rules, *options, path)

    def spec(self, network, code):
        """The same with a request in JSON."""
        network = dict(network, internal=network.get("internal", []) + [x for x in INTERNAL if x[0] != "-"])
        path = os.path.join(self.folder, "spec.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"language": "python", "code": HELP + code, "network": network, "limits": {"wall_ms": 60000}}, f)
        done = self.snapcell("run", "--json", *self.accept, "--spec", path)
        assert done.err == b"", done.err
        return json.loads(done.out)


# What programs in the tests' cells begin with.
HELP = """
import errno, json, os, socket, ssl, struct, sys, time, urllib.request
def get(url, timeout=20):
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:
            return answer.read().decode("latin-1")
    except OSError as e:
        return "failed: %s" % getattr(e, "reason", e)
def dial(host, port, timeout=20):
    try:
        return socket.create_connection((host, port), timeout)
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
def outcome(sock, data=b"x"):
    if isinstance(sock, str):
        return sock
    try:
        sock.sendall(data)
        return repr(sock.recv(100))
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
"""


@pytest.fixture
def cells(lab, tmp_path):
    lab.seen()
    return Cells(lab, str(tmp_path))


def denials(result, action=None):
    return {x["resource"]: x for x in result["denials"] if x["layer"] == "network" and action in (None, x["action"])}


def records(result, **fields):
    return [x for x in result["network"] if all(x.get(k) == v for k, v in fields.items())]


sys.path.insert(0, HERE)
