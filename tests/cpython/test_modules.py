"""CPython's own regression tests, module by module, in a cell and outside of one: the same outcomes, but for what
differences.json explains. An explanation that explains nothing any more fails as well.
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import tempfile

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
REPORT = os.path.join(HERE, "report.py")
LIMIT_S = 200
# The cell may be slower beside others, and must not differ for it.
LIMITS = ["--wall", "%ds" % LIMIT_S, "--cpu", "%ds" % LIMIT_S, "--cpus", "2", "--memory", "2G", "--disk", "256M",
          "--tmp", "256M", "--tasks", "512", "--stdout", "8M"]


def modules():
    with open(os.path.join(HERE, "modules.txt"), encoding="utf-8") as f:
        return [name for line in f if not line.startswith("#") for name in line.split()]


def explanations():
    with open(os.path.join(HERE, "differences.json"), encoding="utf-8") as f:
        return json.load(f)


def outside(module):
    """As an ordinary user: a cell's program has no rights either."""
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o777)
    env = {"HOME": folder, "TMPDIR": folder, "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    identity = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    try:
        with open(REPORT, "rb") as source:
            shutil.copyfileobj(source, open(os.path.join(folder, "report.py"), "wb"))
        done = subprocess.run([PYTHON, "report.py", module], cwd=folder, env=env, capture_output=True, timeout=LIMIT_S, check=False,
                              stdin=subprocess.DEVNULL, **identity)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return done.stdout, done.stderr


def inside(module):
    degraded = os.environ.get("SNAPCELL_TEST_DEGRADED")
    line = [os.environ.get("SNAPCELL", "snapcell"), "run", *LIMITS, *(["--allow-degraded", degraded] if degraded else []), REPORT, module]
    done = subprocess.run(line, capture_output=True, timeout=LIMIT_S + 30, check=False, stdin=subprocess.DEVNULL)
    return done.stdout, done.stderr


def outcomes(run, module):
    out, trouble = run(module)
    try:
        return json.loads(out)
    except ValueError:
        raise AssertionError("%s %s: no report: %s" % (module, run.__name__, trouble[-600:].decode(errors="replace"))) from None


@pytest.fixture(scope="module")
def runs():
    """Both runs of each module, several at once: many of these tests sleep."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
        yield {name: (pool.submit(outcomes, outside, name), pool.submit(outcomes, inside, name)) for name in modules()}


def different(without, within):
    """test id → (outcome outside, outcome and reason inside)"""
    return {test: (without.get(test, ["absent"])[0], *within.get(test, ["absent", ""]))
            for test in sorted(set(without) | set(within))
            if without.get(test, ["absent"])[0] != within.get(test, ["absent"])[0]}


def explained(module, test, outcome):
    return any(e["module"] == module and e["inside"] == outcome and re.search(e["test"] + "$", test) for e in explanations())


@pytest.mark.parametrize("module", modules())
def test_module(runs, module):
    without, within = (run.result() for run in runs[module])
    assert sum(x[0] == "passed" for x in without.values()) > 0, "nothing passes outside: nothing is compared"
    left = {test: x for test, x in different(without, within).items() if not explained(module, test, x[1])}
    assert not left


def test_explanations_are_needed(runs):
    found = {name: different(*(run.result() for run in runs[name])) for name in modules()}
    stale = [e["module"] + " " + e["test"] for e in explanations() if not e.get("sometimes") and not any(
        x[1] == e["inside"] and re.search(e["test"] + "$", test) for test, x in found[e["module"]].items())]
    assert not stale


def test_enough_modules():
    assert len(set(modules())) == len(modules()) >= 60
