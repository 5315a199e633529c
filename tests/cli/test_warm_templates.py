"""What parked cells have loaded before their run: preludes of templates, imports that requests ask for."""
import json
import os
import time

import pytest
from conftest import PATIENCE
from test_warm import run, warm

LOADED = "import sys\nprint('fractions' in sys.modules, 'wave' in sys.modules)"


@pytest.fixture
def templates(tmp_path, monkeypatch):
    """Writes templates that keepers of this test read."""
    folder = tmp_path / "templates"
    folder.mkdir()
    monkeypatch.setenv("SNAPCELL_TEMPLATES", str(folder))
    monkeypatch.setenv("SNAPCELL_STORE", str(tmp_path / "store"))

    def write(name, **recipe):
        (folder / (name + ".json")).write_text(json.dumps({"language": "python", **recipe}))

    write.folder = folder
    return write


def of(keeper, name, code, *options):
    """A run in a parked cell of the template."""
    return warm(keeper, "python", code, "--template", name, *options)


@pytest.mark.parametrize("options, loads", [((), 1), (("--no-zygotes",), 3)])
def test_a_prelude_is_loaded_once_and_for_all(templates, keepers, options, loads):
    templates("ours", prelude={"imports": ["fractions"], "code": "import time\nmade = time.monotonic_ns()"})
    keeper = keepers(*options)
    cold = run(keeper, "python", LOADED, "--template", "ours")
    assert (cold["start"], cold["stdout"]) == ({"kind": "cold", "template": "ours"}, "False False\n")
    seen = set()
    for _ in range(3):
        result = of(keeper, "ours", LOADED + "\nprint(made)")
        lines = result["stdout"].splitlines()
        assert lines[0] == "True False" and result["start"]["template"] == "ours", result
        seen.add(lines[1])
    assert len(seen) == loads  # by their zygote, or each by its own interpreter, as each is used once


def test_files_and_variables_of_a_template_are_there_before_its_prelude(templates, keepers, tmp_path):
    (templates.folder / "style.txt").write_text("wide")
    given = tmp_path / "style.txt"
    given.write_text("narrow")
    templates("ours", environment={"MPLCONFIGDIR": "/tmp/mpl", "OUR_STYLE": "style.txt", "PYTHONUTF8": "1"},
              prelude={"files": [{"path": "style.txt", "host": "style.txt"}],
                       "code": "import os\nstyle = open(os.environ['OUR_STYLE']).read()"})
    keeper = keepers()
    code = "import sys\nprint(style, open('style.txt').read(), os.environ['MPLCONFIGDIR'], sys.flags.utf8_mode, os.environ.get('GIVEN'))"
    assert of(keeper, "ours", code)["stdout"] == "wide wide /tmp/mpl 1 None\n"
    assert of(keeper, "ours", code, "--env", "GIVEN=1")["stdout"] == "wide wide /tmp/mpl 1 1\n"
    assert of(keeper, "ours", code, "--file", str(given))["stdout"] == "wide narrow /tmp/mpl 1 None\n"
    # A request's own value of what is read at the start needs a cell of its own, as ever.
    own = run(keeper, "python", "import os\nprint(os.environ['MPLCONFIGDIR'])", "--template", "ours", "--env", "MPLCONFIGDIR=/tmp/own")
    assert (own["start"]["kind"], own["stdout"]) == ("cold", "/tmp/own\n")


def test_a_broken_prelude_is_told_and_disturbs_nobody(templates, keepers):
    templates("broken", prelude={"imports": ["fractions"], "code": "def deep():\n    raise KeyError('no such style')\ndeep()"})
    templates("well", prelude={"imports": ["fractions"]})
    keeper = keepers()
    until, result = time.monotonic() + PATIENCE, {"start": {}}
    while "trouble" not in result["start"]:
        assert time.monotonic() < until
        result = run(keeper, "python", "print(1)", "--template", "broken")
        assert (result["status"], result["stdout"], result["start"]["kind"]) == ("ok", "1\n", "cold"), result
    trouble = result["start"]["trouble"]
    assert trouble.startswith("code:\nTraceback") and "in deep" in trouble and "KeyError: 'no such style'" in trouble, trouble
    assert of(keeper, "well", LOADED)["stdout"] == "True False\n"
    listed = {x["name"]: x for x in json.loads(keeper.cli("template", "ls", "--json").stdout)}
    assert "no such style" in json.dumps(listed["broken"]) and "no such style" not in json.dumps(listed["well"])
    # Once it is mended it is another shape, and its cells wait.
    templates("broken", prelude={"imports": ["fractions"], "code": "style = 'wide'"})
    assert of(keeper, "broken", "print(style)")["stdout"] == "wide\n"


def test_a_prelude_that_ends_its_interpreter_costs_no_run(templates, keepers):
    templates("deadly", prelude={"code": "import os\nos._exit(3)"})
    keeper = keepers()
    for _ in range(5):
        result = run(keeper, "python", "print(1)", "--template", "deadly")
        assert (result["status"], result["stdout"], result["start"]["kind"]) == ("ok", "1\n", "cold"), result
        time.sleep(0.05)


def test_imports_of_a_request(keepers):
    keeper = keepers()
    assert run(keeper, "python", LOADED, "--import", "fractions")["start"] == {"kind": "cold"}
    assert warm(keeper, "python", LOADED, "--import", "fractions")["stdout"] == "True False\n"
    assert warm(keeper, "python", LOADED, "--import", "fractions", "--import", "wave")["stdout"] == "True True\n"
    # Who asks for less may get more.
    assert warm(keeper, "python", LOADED, "--import", "wave")["stdout"] == "True True\n"


def test_imports_that_are_not_there_cost_no_run(keepers):
    keeper = keepers()
    until, result = time.monotonic() + PATIENCE, {"start": {}}
    while "trouble" not in result["start"]:
        assert time.monotonic() < until
        result = run(keeper, "python", "print(1)", "--import", "no_such_module_at_all")
        assert (result["status"], result["stdout"]) == ("ok", "1\n"), result
    assert result["start"]["trouble"].startswith("import no_such_module_at_all:\n")


def test_restricted_code_does_not_choose_its_imports(usage):
    done = usage("run", "--mode", "restricted", "--python", "-c", "1", "--import", "os")
    assert done.returncode == 2 and b"imports: allowed with mode rich" in done.stderr
    done = usage("run", "--mode", "rich", "--python", "-c", "1", "--import", "-c")
    assert done.returncode == 2 and b"must be the name of a module" in done.stderr


def test_as_many_wait_as_a_template_says(templates, keepers):
    templates("three", pool={"idle": 3, "maximum": 3}, prelude={"imports": ["fractions"]})
    keeper = keepers()
    run(keeper, "python", "1", "--template", "three")
    until = time.monotonic() + PATIENCE
    while len(keeper.cells()) != 10:  # two of each: agent, interpreter; their zygote's three; the agent of a blank cell
        assert time.monotonic() < until
        time.sleep(0.05)


def test_one_users_templates_are_not_anothers(templates, keepers):
    """The same name, other files: what a keeper made from the one is not used for the other."""
    templates("ours", prelude={"code": "whose = 1"})
    keeper = keepers()
    assert of(keeper, "ours", "print(whose)")["stdout"] == "1\n"
    templates("ours", prelude={"code": "whose = 2"})
    assert of(keeper, "ours", "print(whose)")["stdout"] == "2\n"


def test_python_data_is_parked(keepers):
    if not all(os.path.exists("/usr/lib/python3/dist-packages/" + name) for name in ("pandas", "matplotlib", "openpyxl")):
        pytest.skip("this host has no pandas, matplotlib or openpyxl")
    result = of(keepers(), "python-data", "import sys\nprint('pandas' in sys.modules)\nimport pandas\npandas.DataFrame({'a': [1, 2]}).sum()")
    assert result["stdout"] == "True\n" and "a    3" in result["value"]["text/plain"], result
