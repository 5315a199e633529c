"""The end of a cell: nothing stays behind, whoever ends it."""
import os
import signal
import subprocess
import time
import uuid

from cell import SCALE, bash, claim, command, wall


def processes_with(word):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                if word.encode() in f.read() and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            continue
    return found


def wait_for(condition, seconds):
    end = time.monotonic() + seconds * SCALE
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


@claim("end-survivors", "The end of the main program ends every process of the cell, whatever it has detached from.", ["end"])
def test_survivors():
    tag = "claim" + uuid.uuid4().hex
    cell = bash("setsid -f bash -c 'exec -a %s sleep 300' </dev/null >/dev/null 2>&1; (trap '' TERM HUP; exec -a %s sleep 300) & echo done"
                % (tag, tag))
    assert cell.status == "ok" and cell.stdout == "done\n", cell.describe()
    assert processes_with(tag) == []


@claim("end-supervisor-killed", "When snapcell itself is killed, every process of its cell dies at once.", ["end"])
def test_supervisor_killed():
    tag = "claim" + uuid.uuid4().hex
    child = subprocess.Popen(command("run", *wall(60), "--bash", "-c", "exec -a %s sleep 300" % tag),
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    sleeper = lambda: [p for p in processes_with(tag) if name_of(p) == "sleep"]
    assert wait_for(sleeper, 20)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert wait_for(lambda: not processes_with(tag), 3)


def name_of(pid):
    try:
        with open("/proc/%d/comm" % pid, encoding="latin-1") as f:
            return f.read().strip()
    except OSError:
        return ""


@claim("end-cancel", "An interrupt ends the run cleanly: exit status 130 and nothing left.", ["end"])
def test_cancel():
    tag = "claim" + uuid.uuid4().hex
    child = subprocess.Popen(command("run", *wall(60), "--bash", "-c", "exec -a %s sleep 300" % tag),
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert wait_for(lambda: [p for p in processes_with(tag) if name_of(p) == "sleep"], 20)
    child.send_signal(signal.SIGINT)
    assert child.wait(20 * SCALE) == 130
    assert processes_with(tag) == []


@claim("end-groups", "No control group stays behind.", ["end"])
def test_groups():
    assert bash("true").status == "ok"
    mine = [d for folder, names, _ in os.walk("/sys/fs/cgroup") for d in names if d.startswith("snapcell-%d-" % os.getpid())]
    assert mine == []


@claim("end-artifacts", "Only regular files below the work folder come out, after the last process is dead.", ["end"])
def test_artifacts(tmp_path):
    code = ("mkdir out; echo good > out/good; ln -s /etc/passwd out/link; mkfifo out/fifo; ln -s / out/root; echo x > /tmp/outside; "
            "ln -s /tmp/outside out/other; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('out/sock')\"")
    cell = bash(code, "--out", "out:%s" % tmp_path)
    assert [a["path"] for a in cell.artifacts] == ["out/good"], cell.describe()
    saved = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*"))
    assert saved == ["out", "out/good"] and (tmp_path / "out/good").read_text() == "good\n", saved
