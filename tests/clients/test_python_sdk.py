"""The Python SDK: its own tests in every interpreter that is there, its adapters in their frameworks, its types, its wheel."""
import glob
import json
import os
import re
import subprocess
import zipfile

import pytest
from conftest import PATIENCE

HERE = os.path.dirname(os.path.abspath(__file__))
SDK = os.path.join(HERE, "..", "..", "sdk", "python")


def interpreters():
    """Those that this user can run."""
    found = []
    for path in sorted(glob.glob(os.path.join(os.environ.get("SNAPCELL_CLIENTS", ""), "venv*", "bin", "python"))):
        try:
            done = subprocess.run([path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True, check=False)
        except PermissionError:
            continue
        if done.returncode == 0:
            found.append(pytest.param(path, id=done.stdout.strip() + os.path.basename(os.path.dirname(os.path.dirname(path)))[4:]))
    return found


@pytest.fixture
def with_sdk(snapcell, accept, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    return dict(os.environ, SNAPCELL=snapcell, PYTHONPATH=os.path.join(SDK, "src"), SNAPCELL_TEST_DEGRADED=accept[-1] if accept else "",
                SNAPCELL_SOCKET=str(folder / "keeper.sock"), PYTHONDONTWRITEBYTECODE="1", TMPDIR=str(tmp_path))


def run(line, env, cwd, patience=3):
    return subprocess.run([str(word) for word in line], env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=patience * PATIENCE, check=False)


def pytest_of(python, file, env, cwd):
    ran = run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", cwd / "b", os.path.join(HERE, "sdk", file)], env, cwd)
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    return ran.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize("python", interpreters())
def test_sdk(python, with_sdk, tmp_path):
    last = pytest_of(python, "sdk_checks.py", with_sdk, tmp_path)
    assert re.fullmatch(r"\d+ passed(, \d+ warnings?)? in .*", last), last


def test_inspect_provider(with_sdk, clients, tmp_path):
    """The framework's own checks of a provider; one is known not to hold, and says why."""
    last = pytest_of(os.path.join(clients, "venv/bin/python"), "inspect_self_check.py", with_sdk, tmp_path)
    assert re.search(r"\b43 passed, 1 xfailed\b", last), last


def test_adapters(with_sdk, clients, tmp_path):
    ran = run([os.path.join(clients, "venv/bin/python"), os.path.join(HERE, "sdk/adapters.py")], with_sdk, tmp_path)
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["langchain"]["argument"] == ["code"] and said["langchain"]["id"] == "1"
    assert said["langchain"]["answer"]["value"] == "42" and said["langchain"]["again"]["value"] == "41"
    assert said["smolagents"] == {"answer": 45, "pair": [1, 2], "printed": True, "failed": True, "given": "[1, 2]"}
    assert said["openai_agents"] == {"answer": "it is 42"}
    assert said["fastmcp"] == {"names": ["run_python"], "value": "5"}


def test_types(with_sdk, clients, node, tmp_path):
    python = os.path.join(clients, "venv/bin/python")
    mypy = run([python, "-m", "mypy", "--cache-dir", tmp_path / "mypy"], with_sdk, SDK)
    assert mypy.returncode == 0, mypy.stdout
    pyright = node(os.path.join(clients, "node_modules/pyright/index.js"), "--pythonpath", python, "--project", SDK, env=with_sdk, cwd=tmp_path)
    assert pyright.returncode == 0, pyright.stdout


def test_wheel(with_sdk, clients, tmp_path):
    python = os.path.join(clients, "venv/bin/python")
    built = run([python, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", tmp_path, SDK], with_sdk, tmp_path)
    assert built.returncode == 0, built.stdout + built.stderr
    wheel, = tmp_path.glob("snapcell-*.whl")
    with zipfile.ZipFile(wheel) as files:
        names = set(files.namelist())
        files.extractall(tmp_path / "installed")
    assert {"snapcell/py.typed", "snapcell/__init__.py", "snapcell/adapters/inspect.py"} <= names
    env = dict(with_sdk, PYTHONPATH=str(tmp_path / "installed"))
    code = "import snapcell, sys; cells = snapcell.Snapcell(allow_degraded=[x for x in sys.argv[1].split(',') if x]); print(cells.run('6 * 7').text); cells.close()"
    ran = run([python, "-c", code, with_sdk["SNAPCELL_TEST_DEGRADED"]], env, tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "42\n"), ran.stderr


def test_example(with_sdk, clients, tmp_path):
    ran = run([os.path.join(clients, "venv/bin/python"), os.path.join(HERE, "../../examples/clients/python_sdk.py")], with_sdk, tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "42\n[0, 1, 4, 9, 16]\n5 rows\n"), ran.stderr
