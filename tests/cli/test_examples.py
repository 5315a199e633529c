"""The stories of examples/ that live in a session: what goes in, and what comes out."""
import csv
import json
import os
import subprocess
import xml.etree.ElementTree

import pytest

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")


@pytest.fixture
def story(cli, tmp_path):
    """Runs an example into a folder of its own: (exit status, what it said, that folder)."""
    def run(name):
        out = tmp_path / "out"
        env = {**os.environ, "SNAPCELL": cli.binary, "SNAPCELL_SOCKET": str(tmp_path / "keeper" / "keeper.sock")}
        os.mkdir(tmp_path / "keeper", 0o700)
        # It closes its stderr as soon as it serves.
        keeper = subprocess.Popen([cli.binary, "keeper", "--detach"], env=env, stderr=subprocess.PIPE)
        try:
            assert keeper.stderr.read() == b""
            done = subprocess.run([os.path.join(EXAMPLES, name, "run.sh"), str(out)], env=env, timeout=120, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            left = subprocess.run([cli.binary, "session", "ls", "--json"], env=env, stdout=subprocess.PIPE, check=True).stdout
        finally:
            keeper.terminate()
            keeper.wait(30)
            keeper.stderr.close()
        assert json.loads(left)["sessions"] == [], "the example left a session"
        return done.returncode, done.stdout, out
    return run


def test_spreadsheet(story):
    status, said, out = story("spreadsheet")
    assert status == 0, said
    assert "211 rows are good" in said and "coffee" in said
    with open(out / "orders-clean.csv", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    assert len(rows) == 211 and {row["item"] for row in rows} == {"tea", "coffee", "cups", "pots"}
    for name in ("months.png", "items.png"):
        assert (out / name).read_bytes().startswith(b"\x89PNG")


def test_repository(story):
    status, said, out = story("repository")
    assert status == 1, said
    suite = xml.etree.ElementTree.parse(out / "report.xml").getroot().find("testsuite")
    assert int(suite.get("tests")) > 100 and suite.get("failures") == "1"


def test_workshop(story):
    status, said, out = story("workshop")
    assert status == 0, said
    assert "built /home/user/build/primes" in said and "There are 168 primes below 1000." in said
    assert (out / "primes").read_bytes().startswith(b"\x7fELF")
    assert subprocess.run([out / "primes", "100"], stdout=subprocess.PIPE, check=True).stdout == b"25\n"
