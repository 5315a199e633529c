"""Templates with a root of their own: cells that wait, started and forked, have it as cold ones have."""
import glob
import os
import re
import shutil
import subprocess

import pytest
from test_warm import run, told, warm
from test_warm_forks import forked
from test_warm_templates import templates  # noqa: F401 (a fixture)

LOOKS = """import os
print(sorted(os.listdir('/')), open('/made/here').read(), os.path.exists('/usr/bin/bash'), loaded)
for at in '/made', '/usr', '/made/here', '.', '/tmp':
    try:
        os.close(os.open(at + '/new', os.O_CREAT | os.O_WRONLY))
        print(at, 'ok')
    except OSError as e:
        print(at, e.errno)
print(open('/proc/self/mountinfo').read())
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A small system: this host's Python with what it links to, a file of its own, and nothing else."""
    top = tmp_path_factory.mktemp("root")
    python = os.path.realpath("/usr/bin/python3")
    for name in ("usr/bin", "usr/lib", "usr/lib64", "made"):
        (top / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (top / name).symlink_to("usr/" + name)
    shutil.copy(python, top / "usr/bin/python3")
    home = os.path.join("usr/lib", os.path.basename(python))
    linked = subprocess.run(["ldd", python, *glob.glob("/%s/lib-dynload/_ctypes.*" % home)], capture_output=True, text=True, check=True).stdout
    for path in set(re.findall(r"(/\S+) \(", linked)):
        place = top / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    shutil.copytree("/" + home, top / home, ignore=shutil.ignore_patterns("test", "tests", "idlelib", "lib2to3", "config-*", "ensurepip"))
    (top / "made/here").write_text("in a root of its own")
    return top


@pytest.mark.parametrize("options, ask", [(("--no-zygotes",), warm), ((), forked)], ids=["started", "forked"])
def test_a_root_of_its_own(root, templates, keepers, options, ask):  # noqa: F811
    templates("apart", root={"kind": "directory", "path": str(root)}, prelude={"code": "loaded = open('/made/here').read().split()[0]"})
    keeper = keepers(*options)
    code = "loaded = 'in'\n" + LOOKS
    cold = run(keeper, "python", code, "--template", "apart")
    assert cold["start"]["kind"] == "cold", cold
    lines = cold["stdout"].splitlines()
    assert "'made'" in lines[0] and lines[0].endswith("in a root of its own False in"), cold
    assert lines[1:6] == ["/made 30", "/usr 30", "/made/here 20", ". ok", "/tmp ok"] and not "".join(lines[6:]), cold
    for _ in range(2):
        assert told(ask(keeper, "python", code, "--template", "apart")) == told(cold)
    assert ask(keeper, "python", LOOKS, "--template", "apart")["stdout"] == cold["stdout"]
