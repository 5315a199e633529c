"""The judge: what was built once and runs in many cells."""
import json
import os
import subprocess

from cell import SCALE, all_are, claim, command, word


def judge(probe, folder, tests):
    """The probe as a build's output, run with each of `tests`, lists of attempts → [{attempt: answer as a word}]."""
    limits = {"wall_ms": 20000 * SCALE}
    task = {"build": {"command": ["cp", "--preserve=mode", "probe", "built"], "limits": limits, "outputs": ["built"],
                      "files": [{"path": "probe", "host": probe, "mode": "0755"}]},
            "run": {"command": ["/build/built"], "limits": limits}, "output_bytes": 65536,
            "tests": [{"args": attempts} for attempts in tests]}
    path = os.path.join(str(folder), "task.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(task, file)
    ran = subprocess.run(command("judge", "--json", path), capture_output=True, timeout=120 * SCALE, check=False)
    report = json.loads(ran.stdout)
    assert report["verdict"] == "accepted", report
    return [{attempt: word(answer) for attempt, answer in json.loads(test["stdout"]).items()} for test in report["tests"]]


@claim("judge-build-read-only", "What a judge's build left cannot be changed by the runs it serves; it can be read and run.",
       ["file system", "landlock"])
def test_build_is_read_only(probes, tmp_path):
    built = "/build/built"
    attempts = ["create=/build/claim", "mkdir=/build/claim", "symlink=/build/claim", "unlink=" + built, "chmod=" + built,
                "rename=%s,/build/claim" % built, "truncate=" + built]
    twins = ["open_read=" + built, "create=/home/user/claim", "mkdir=/tmp/claim"]
    for _ in range(2):
        got, allowed = judge(probes.path("paths"), tmp_path, [attempts, twins])
        # The kernel asks for the right to a file's content before it looks at the mount.
        assert got.pop("truncate=" + built) in ("EROFS", "EACCES")
        all_are(got, "EROFS")
        all_are(allowed, "ok")


@claim("judge-tests-apart", "A test of a judge finds nothing of the tests before it in its folders.", ["file system"])
def test_tests_apart(probes, tmp_path):
    places = ["/home/user/left", "/tmp/left", "/dev/shm/left"]
    leave, look = ["create=" + place for place in places], ["stat=" + place for place in places]
    first, second = judge(probes.path("paths"), tmp_path, [leave + look, look])
    all_are(first, "ok")
    all_are(second, "ENOENT")
