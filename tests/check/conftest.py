"""The checker program alone, spoken to as its cell's supervisor does (src/check/serve.c)."""
import json
import os
import struct
import subprocess

import pytest


class Checker:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def raw(self, source, **header):
        if isinstance(source, str):
            source = source.encode()
        head = json.dumps(header).encode()
        self.process.stdin.write(struct.pack("<II", len(head), len(source)) + head + source)
        self.process.stdin.flush()
        size = self.process.stdout.read(4)
        if len(size) < 4:
            raise RuntimeError("the checker died: %s" % self.process.wait())
        return json.loads(self.process.stdout.read(struct.unpack("<I", size)[0]))

    def findings(self, source, language="python", name="source", sets=(), deny_modules=(), deny_calls=(), files=()):
        report = self.raw(source, language=language, name=name, sets=list(sets), files=list(files),
                          deny_modules=list(deny_modules), deny_calls=list(deny_calls))
        return report["findings"]

    def close(self):
        self.process.stdin.close()
        code = self.process.wait(10)
        self.process.stdout.close()
        return code


@pytest.fixture(scope="session")
def checker_path():
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.environ.get("SNAPCELL_CHECKER", os.path.join(top, "build", "src", "check", "snapcell-checker"))


@pytest.fixture(scope="module")
def checker(checker_path):
    one = Checker(checker_path)
    yield one
    assert one.close() == 0


@pytest.fixture
def fresh_checker(checker_path):
    one = Checker(checker_path)
    yield one
    one.close()
