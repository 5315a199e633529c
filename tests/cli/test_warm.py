"""`snapcell run --warm` and the request `once`: the same as a run in a cell made for it, in one that waited."""
import json
import os
import subprocess
import threading
import time

import pytest
from conftest import PATIENCE
from wire import Wire

PRINTS = {
    "python": "import os\nprint('hello', os.environ.get('GIVEN'), os.getcwd())\n6 * 7",
    "node": "console.log('hello', process.env.GIVEN, process.cwd()); 6 * 7",
    "bash": 'echo hello "$GIVEN" "$PWD"',
}
READS = {
    "python": "print(open('sub/in.txt').read(), input())",
    "node": "const fs = require('fs'); console.log(fs.readFileSync('sub/in.txt', 'utf8') + ' ' + fs.readFileSync(0, 'utf8'))",
    "bash": 'read line; echo "$(cat sub/in.txt) $line"',
}


def run(keeper, language, code, *options, **more):
    """The result of `snapcell run --warm --json`."""
    done = keeper.cli("run", "--warm", "--json", *keeper.cli.accept, *mode_of(options), "--" + language, "-c", code, *options,
                      env=keeper.env, **more)
    assert done.stderr == b"", done.stderr
    return json.loads(done.stdout)


def mode_of(options):
    return () if "--mode" in options else ("--mode", "rich")


def warm(keeper, language, code, *options, **more):
    """The same from a cell that waited: asked for until there was one. Cells are made in quiet."""
    until = time.monotonic() + PATIENCE
    while True:
        result = run(keeper, language, code, *options, **more)
        if result["start"]["kind"] == "warm":
            assert result["start"]["parked_ms"] >= 0
            return result
        assert time.monotonic() < until
        time.sleep(0.1)


def told(result):
    """What does not depend on the moment."""
    return {name: result.get(name) for name in ("status", "exit_code", "signal", "stdout", "stderr", "value", "locals", "error",
                                                "limits_hit", "message", "denials")}


@pytest.fixture
def keeper(keepers):
    return keepers()


@pytest.fixture
def starting(keepers):
    """A keeper whose cells wait with interpreters of their own; test_warm_forks.py has the same of forks."""
    return keepers("--no-zygotes")


@pytest.mark.parametrize("language", sorted(PRINTS))
def test_warm_and_cold_tell_the_same(starting, language):
    options = ("--env", "GIVEN=a=b c")
    cold = run(starting, language, PRINTS[language], *options)
    assert cold["start"] == {"kind": "cold"}
    assert cold["stdout"].startswith("hello a=b c /")
    assert told(warm(starting, language, PRINTS[language], *options)) == told(cold)


def test_as_without_a_keeper(keeper):
    code = "import os\nprint(os.environ['GIVEN'])\nx = [1, 2]\nsum(x)"
    options = ("--mode", "rich", "--python", "-c", code, "--env", "GIVEN=1")
    alone, _ = keeper.cli.result(*options)
    assert told(alone) == told(warm(keeper, "python", code, "--env", "GIVEN=1"))


def test_restricted(starting):
    code = "x = 6\nprint(x)\nx * 7"
    cold = run(starting, "python", code, "--mode", "restricted")
    assert cold["start"]["kind"] == "cold" and cold["status"] == "ok"
    assert told(warm(starting, "python", code, "--mode", "restricted")) == told(cold)
    blocked = warm(starting, "python", "open('/etc/passwd')", "--mode", "restricted")
    assert blocked["status"] == "error"


@pytest.mark.parametrize("language", sorted(READS))
def test_files_and_stdin(starting, language, tmp_path):
    source = tmp_path / "source.txt"
    source.write_text("in a file")
    options = ("--file", "%s:sub/in.txt" % source)
    cold = run(starting, language, READS[language], *options, input=b"and stdin\n")
    assert cold["stdout"].split() == "in a file and stdin".split(), cold
    assert told(warm(starting, language, READS[language], *options, input=b"and stdin\n")) == told(cold)


def test_the_work_folder_holds_what_was_given_and_nothing_else(keeper, tmp_path):
    (tmp_path / "a").write_text("1")
    (tmp_path / "a").chmod(0o754)
    code = 'stat -c "%a %u %g %s %n" . $(find . -mindepth 1 | sort)'
    options = ("--file", "%s:sub/deep/a" % (tmp_path / "a"), "--file", str(tmp_path / "a"))
    alone, _ = keeper.cli.result("--mode", "rich", "--bash", "-c", code, *options)
    lines = alone["stdout"].splitlines()
    assert [x.split()[-1] for x in lines] == [".", "./a", "./sub", "./sub/deep", "./sub/deep/a"], lines
    assert warm(keeper, "bash", code, *options)["stdout"] == alone["stdout"]


def test_a_large_file(keeper, tmp_path):
    source = tmp_path / "large"
    source.write_bytes(os.urandom(3 << 20))
    code = "import hashlib; print(hashlib.sha256(open('large', 'rb').read()).hexdigest())"
    expected = subprocess.run(["sha256sum", source], stdout=subprocess.PIPE, check=True).stdout.split()[0].decode()
    assert warm(keeper, "python", code, "--file", str(source))["stdout"].strip() == expected


def test_a_file_that_does_not_fit_is_refused(keeper, tmp_path):
    source = tmp_path / "large"
    source.write_bytes(bytes(3 << 20))
    options = ("--warm", "--mode", "rich", "--python", "-c", "1", "--disk", "1M", "--file", str(source))
    for _ in range(2):
        done = keeper.cli.run(*options, env=keeper.env)
        assert done.returncode == 2 and b"--disk" in done.stderr, done.stderr
        time.sleep(0.3)


def test_each_cell_is_used_once(keeper):
    code = ("import os\nprint('left' in globals(), os.environ.get('SECRET'), os.path.exists('left'), os.path.exists('/tmp/left'))\n"
            "left = 1\nopen('left', 'w').close()\nopen('/tmp/left', 'w').close()")
    for _ in range(5):
        assert warm(keeper, "python", code)["stdout"] == "False None False False\n"
        assert warm(keeper, "python", "import os; print(os.environ['SECRET'])", "--env", "SECRET=s")["stdout"] == "s\n"


@pytest.mark.parametrize("given, code", [
    ("PYTHONHASHSEED=5", "import sys; print(sys.flags.hash_randomization)"),
    ("OMP_NUM_THREADS=1", "import os; print(os.environ['OMP_NUM_THREADS'])"),
])
def test_what_is_read_at_the_start_needs_a_cold_cell(keeper, given, code):
    warm(keeper, "python", "1")
    for _ in range(2):
        result = run(keeper, "python", code, "--env", given)
        assert (result["start"], result["status"], result["stdout"]) == ({"kind": "cold"}, "ok", "1\n")
        time.sleep(0.2)


def test_a_folder_needs_a_cold_cell(keeper, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").write_text("there")
    warm(keeper, "python", "1")
    result = run(keeper, "python", "print(open('folder/x').read())", "--dir", str(tmp_path / "folder"))
    assert (result["start"], result["stdout"]) == ({"kind": "cold"}, "there\n")


@pytest.mark.parametrize("options, code, status, hit", [
    (("--wall", "300ms"), "while True: pass", "timeout", "wall"),
    (("--cpu", "200ms", "--wall", "20s"), "while True: pass", "cpu_timeout", "cpu"),
    (("--memory", "100M", "--disk", "16M"), "x = bytearray(400 << 20)", "out_of_memory", "memory"),
])
def test_limits(keeper, options, code, status, hit):
    if keeper.cli.accept and hit != "wall":
        pytest.skip("this host has no limits of a whole cell")
    result = warm(keeper, "python", code, *options)
    assert result["status"] == status and hit in result["limits_hit"], result


def test_output_is_cut_at_the_requests_own_limit(keeper):
    result = warm(keeper, "python", "print('x' * 5000)", "--stdout", "1K")
    assert result["stdout"] == "x" * 1024 and result["stdout_truncated"]


def test_other_limits_are_another_shape(keeper):
    assert warm(keeper, "python", "1")["status"] == "ok"
    assert run(keeper, "python", "1", "--memory", "200M")["start"]["kind"] == "cold"


def test_validate_reads_first(keeper):
    result = warm(keeper, "python", "eval('1')", "--validate", "report")
    assert result["findings"]
    warm(keeper, "python", "1")
    result = run(keeper, "python", "import os; os.system('id')", "--validate", "block", "--deny-module", "os")
    assert result["status"] == "blocked"


def test_without_a_pool_all_is_cold(keepers):
    keeper = keepers("--pool", "0")
    for _ in range(3):
        result = run(keeper, "python", "print(1)")
        assert (result["start"], result["stdout"]) == ({"kind": "cold"}, "1\n")
    until = time.monotonic() + PATIENCE
    while keeper.cells():  # the last one may still be dying
        assert time.monotonic() < until
        time.sleep(0.05)


def test_mode_plain_is_refused(usage):
    done = usage("run", "--warm", "--python", "-c", "1")
    assert done.returncode == 2 and b"allowed with --warm are rich, restricted" in done.stderr
    done = usage("run", "--warm", "--mode", "rich", "--", "true")
    assert done.returncode == 2 and b"allowed with --warm" in done.stderr


@pytest.mark.parametrize("program", [["FILE"], ["--python", "-c", "1"]], ids=["file", "code"])
def test_arguments_are_refused(keeper, tmp_path, program):
    (tmp_path / "program.py").write_text("1")
    words = [str(tmp_path / "program.py") if x == "FILE" else x for x in program]
    done = keeper.cli("run", "--warm", "--mode", "rich", *keeper.cli.accept, *words, "an-argument", env=keeper.env)
    assert done.returncode == 2 and b"args: an-argument: code in mode rich has no arguments" in done.stderr, done.stderr
    assert keeper.cli("run", "--warm", "--mode", "rich", *keeper.cli.accept, *words, env=keeper.env).returncode == 0


def once(keeper, source, **more):
    spec = {"language": "python", "mode": "rich", "code": source, **accepted(keeper), **more}
    return {"request": "once", "spec": spec, "output": "reply"}


def accepted(keeper):
    more = {"allow_degraded": keeper.cli.accept[1].split(",")} if keeper.cli.accept else {}
    if "SNAPCELL_CGROUP_PARENT" in os.environ:
        more["cgroup_parent"] = os.environ["SNAPCELL_CGROUP_PARENT"]
    return more


@pytest.mark.parametrize("more, field", [
    ({"mode": "plain"}, "spec.mode"), ({"code": None}, "spec.code"), ({"out": [{"glob": "x", "dir": "/tmp"}]}, "spec"),
    ({"limits": {"wall_ms": 0}}, "wall"),
])
def test_what_once_refuses(keeper, more, field):
    with Wire(keeper) as wire:
        assert wire.ask(**once(keeper, "1", **more))["error"]["kind"] == "usage"
        assert field in json.dumps(wire.ask(**once(keeper, "1", **more))["error"])


def test_a_burst_falls_to_cells_made_for_it(starting):
    warm(starting, "python", "1")
    kinds = []

    def ask(number):
        with Wire(starting) as wire:
            result = wire.ask(**once(starting, "import os; print(%d, os.environ['N'])" % number, env={"N": str(number)}))["ok"]
            assert result["stdout"] == "%d %d\n" % (number, number), result
            kinds.append(result["start"]["kind"])

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(kinds) == 30 and "cold" in kinds and "fork" not in kinds


def test_a_client_that_goes_takes_its_run_along(keeper):
    warm(keeper, "python", "1")
    wire = Wire(keeper)
    wire.begin(**once(keeper, "while True: pass", limits={"wall_ms": 3600000, "cpu_ms": 3600000}))
    time.sleep(0.2)
    wire.close()
    until = time.monotonic() + PATIENCE
    while max((len(busy(pid)) for pid in keeper.cells()), default=0):
        assert time.monotonic() < until
        time.sleep(0.05)


def busy(pid):
    """[pid] when it is running right now."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            return [pid] if f.read().rsplit(")", 1)[1].split()[0] == "R" else []
    except (FileNotFoundError, ProcessLookupError):
        return []


def test_a_parked_cell_that_dies_is_replaced(starting):
    warm(starting, "python", "1")
    until = time.monotonic() + PATIENCE
    while not starting.cells():
        assert time.monotonic() < until
        time.sleep(0.05)
    for pid in starting.cells():
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            pass
    result = run(starting, "python", "print(2)")
    assert (result["status"], result["stdout"]) == ("ok", "2\n"), result


def settled(keeper):
    """(descriptors, processes) of the keeper, once they have not changed for a second: its pool is full."""
    until, same_since, last = time.monotonic() + PATIENCE, time.monotonic(), None
    while time.monotonic() < same_since + 1:
        now = len(os.listdir("/proc/%d/fd" % keeper.child.pid)), len(keeper.cells())
        if now != last:
            same_since, last = time.monotonic(), now
        assert time.monotonic() < until
        time.sleep(0.05)
    return last


def test_200_runs_leave_nothing(starting):
    with Wire(starting) as wire:
        def run_100():
            for i in range(100):
                assert wire.ask(**once(starting, "print(%d)" % i))["ok"]["stdout"] == "%d\n" % i
            return settled(starting)

        before, after = run_100(), run_100()
    # The control groups of the last eight ended cells may still be held. One descriptor a run would be a hundred.
    assert after[1] == before[1] and after[0] < before[0] + 64, (before, after)


def test_its_end_leaves_nothing(keepers):
    keeper = keepers("--no-zygotes")
    warm(keeper, "python", "1")
    time.sleep(0.3)
    cells = keeper.cells()
    assert cells
    assert keeper.end() == 0
    assert [pid for pid in cells if os.path.exists("/proc/%d" % pid)] == []
