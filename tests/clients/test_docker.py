"""`snapcell-docker`: the words of docker's command line, by hand and by two tools that let the executable be named."""
import json
import os
import signal
import socket
import struct
import subprocess

import pytest
from conftest import PATIENCE

HERE = os.path.dirname(os.path.abspath(__file__))


def is_gone(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii") as f:
            return f.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def end_keeper(path):
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
            pid = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    except (FileNotFoundError, ConnectionRefusedError):
        return
    os.kill(pid, signal.SIGTERM)
    while not is_gone(pid):
        pass


class Docker:
    def __init__(self, snapcell, folder, env):
        self.path = str(folder / "snapcell-docker")
        os.symlink(snapcell, self.path)
        self.env = env

    def __call__(self, *args, **more):
        if "input" not in more:
            more["stdin"] = subprocess.DEVNULL
        return subprocess.run([self.path, *args], env=self.env, capture_output=True, text=True, timeout=PATIENCE, check=False, **more)

    def good(self, *args, **more):
        done = self(*args, **more)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def docker(snapcell, accept, environment, tmp_path):
    env = dict(environment, SNAPCELL_DOCKER_ALLOW_DEGRADED=accept[-1] if accept else "")
    yield Docker(snapcell, tmp_path, env)
    end_keeper(environment["SNAPCELL_SOCKET"])


def test_run_as_agents_do_it(docker):
    line = ["run", "--rm", "--network", "none", "-m", "256m", "--cpus", "1", "--pids-limit=64", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL",
            "-e", "A=b", "-w", "/tmp", "python:3.12-slim"]
    done = docker(*line, "sh", "-c", "echo $A; pwd; echo e >&2; python3 -c 'print(6 * 7)'; exit 3")
    assert (done.returncode, done.stdout, done.stderr) == (3, "b\n/tmp\n42\n", "e\n")
    assert docker.good("run", "--rm", "-i", "alpine", "cat", input="typed") == "typed"
    assert docker.good("run", "--rm", "alpine", "cat", input="typed") == ""
    assert docker.good("run", "--rm", "--entrypoint", "printf", "alpine", "%s-%s", "a", "b") == "a-b"
    assert docker("run", "--rm", "alpine", "sh", "-c", "kill -TERM $$").returncode == 143
    assert docker("run", "--rm", "alpine", "nowhere").returncode == 127
    assert docker.good("ps", "-aq") == ""


def test_a_container_that_stays(docker, tmp_path):
    assert docker.good("run", "-d", "--name", "box", "ubuntu:24.04", "sleep", "2h") == "box\n"
    done = docker("exec", "-w", "/tmp", "-e", "A=b c", "box", "bash", "-lc", "echo $A; pwd; exit 4")
    assert (done.returncode, done.stdout) == (4, "b c\n/tmp\n")
    assert docker.good("exec", "-i", "box", "cat", input="in") == "in"
    (tmp_path / "f").write_text("data")
    docker.good("cp", str(tmp_path / "f"), "box:/home/user/g")
    assert docker.good("exec", "box", "cat", "/home/user/g") == "data"
    docker.good("cp", "box:/home/user/g", str(tmp_path / "h"))
    assert (tmp_path / "h").read_text() == "data"
    assert docker.good("ps") == "CONTAINER ID\tIMAGE\tSTATUS\nbox\tubuntu:24.04\trunning\n"
    told, = json.loads(docker.good("inspect", "box"))
    assert told["State"] == {"Running": True, "Status": "running"} and told["Config"] == {"Image": "ubuntu:24.04", "Cmd": ["sleep", "2h"]}
    assert docker("rm", "box").returncode == 1
    docker.good("stop", "-t", "1", "box")
    while docker.good("inspect", "-f", "{{.State.Running}}", "box") != "false\n":
        pass
    assert docker.good("ps", "-q") == "" and docker.good("ps", "-aq") == "box\n"
    docker.good("rm", "box")
    gone = docker("exec", "box", "true")
    assert gone.returncode == 1 and "No such container: box" in gone.stderr


def test_create_start_logs(docker):
    name = docker.good("create", "debian", "sh", "-c", "echo out; echo err >&2; exit 3").strip()
    assert docker.good("inspect", "--format", "{{.State.Status}}", name) == "exited\n"
    done = docker("start", "-a", name)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
    docker.good("start", name)
    while docker("logs", name).stdout != "out\nerr\n":
        pass
    docker.good("rm", "-f", name)


def test_stop_removes_what_was_started_with_rm(docker):
    docker.good("run", "-d", "--rm", "--name", "box", "alpine", "sleep", "1000")
    docker.good("stop", "box")
    assert docker.good("ps", "-aq") == ""
    assert docker("stop", "box").returncode == 1


@pytest.mark.parametrize("options, says", [
    (["--privileged"], "--privileged: would widen"), (["--cap-add", "SYS_ADMIN"], "--cap-add: would widen"), (["--device=/dev/kvm"], "would widen"),
    (["--network", "host"], "--network host: would widen the cell: allowed is none"), (["--net=bridge"], "allowed is none"), (["--pid", "host"], "would widen"),
    (["-p", "80:80"], "would widen"), (["-v", "/etc:/x"], "allowed is /HOST:/CELL:ro"), (["-v", "/etc:/x:rw"], "allowed is /HOST:/CELL:ro"),
    (["--mount", "type=bind,src=/,dst=/x"], "would widen"), (["-u", "root"], "a cell has one user"), (["--user=0"], "a cell has one user"),
    (["--security-opt", "seccomp=unconfined"], "allowed is no-new-privileges"), (["--tmpfs", "/usr"], "allowed is /tmp"), (["--pull", "always"], "nothing is ever fetched"),
    (["--label", "a=b"], "not an option that this command knows"), (["-m"], "needs"), (["--rm=no"], "takes no value"), (["-m", "1"], "memory"), (["-dz"], "-dz: is not"),
])
def test_what_is_refused_is_told_and_starts_nothing(docker, options, says):
    done = docker("run", *options, "alpine", "true")
    assert done.returncode == 125 and says in done.stderr and done.stdout == "", done
    assert docker.good("ps", "-aq") == ""


def test_allowed_twins(docker, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "f").write_text("f")
    os.chmod(tmp_path, 0o755)
    options = ["--security-opt", "no-new-privileges", "-u", "1000", "--pull", "never", "--init", "-v", "%s:/data:ro" % (tmp_path / "shared")]
    assert docker.good("run", "--rm", *options, "alpine", "sh", "-c", "cat /data/f; touch /data/g 2>&1 | grep -c Read-only; id -u") == "f1\n1000\n"


def test_images(docker):
    assert "python" in docker.good("images", "-q").split()
    none = docker("run", "--rm", "swebench/sweb.eval:latest", "true")
    assert none.returncode == 125 and "there is no template for this image" in none.stderr
    assert docker.good("version", "--format", "{{.Server.Version}}") == "0.1.0\n"
    assert docker("build", ".").returncode == 125
    wrong = docker("run", "-d", "alpine", "echo", b"\xff")
    assert wrong.returncode == 125 and "must be UTF-8" in wrong.stderr
    wrong = docker("rm", "-f", "--link", "x")
    assert wrong.returncode == 125 and "--link: is not an option" in wrong.stderr


def run_tool(python, docker, script):
    ran = python(os.path.join(HERE, "docker", script), docker.path, env=docker.env)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.strip().splitlines()[-1])


def test_mini_swe_agent(docker, python):
    said = run_tool(python, docker, "mini_swe.py")
    assert said["result"]["exit_status"] == "Submitted" and said["result"]["submission"] == "print(6 * 7)\n"
    seen = [text for text in said["seen"] if text.startswith("<returncode>")]
    assert "42" in seen[0] and "<returncode>3</returncode>" in seen[1] and "answer.py" in seen[1]
    assert "<returncode>1</returncode>" in seen[2] and "root:" not in seen[2]
    # It removes its container behind our back.
    while docker.good("ps", "-aq"):
        pass


def test_langchain_shell_tool(docker, python):
    said = run_tool(python, docker, "langchain_shell.py")
    answers = [text for kind, text in said if kind == "tool"]
    assert answers[1].strip() == "42" and "Read-only file system" in answers[2] and said[-1] == ["ai", "done"]


def test_example(docker):
    ran = subprocess.run([os.path.join(HERE, "../../examples/clients/docker.sh")], env=dict(docker.env, DOCKER=docker.path), stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ran.returncode, ran.stdout) == (0, "42\n"), ran.stderr
    assert docker.good("ps", "-aq") == ""
