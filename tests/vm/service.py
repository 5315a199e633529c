"""The units of deploy/systemd under a real systemd: started by their socket, asked by HTTP, reloaded, killed in part and as a whole,
and drained."""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

from counts import Counts, failure

UNITS = "/etc/systemd/system"
HTTP = "/run/snapcell-http/http.sock"
SAID = "/run/snapcell-said"
CGROUP = "/sys/fs/cgroup"
PATIENCE = 120
DAY = 86400


class Connection(http.client.HTTPConnection):
    def __init__(self):
        super().__init__("snapcell", timeout=PATIENCE)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(HTTP)


def ask(method, path, body=None):
    """(status, object)"""
    connection = Connection()
    connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, json.loads(text) if text else None


def shell(*script, **more):
    """A run of a shell's script, as its request."""
    return dict({"command": ["/bin/sh", "-c", *script], "limits": {"wall_ms": 100000}}, **more)


def systemctl(*words):
    done = subprocess.run(["systemctl", *words], capture_output=True, text=True, check=False)
    if done.returncode and words[0] not in ("is-active", "show"):
        raise RuntimeError("systemctl %s: %d: %s" % (" ".join(words), done.returncode, done.stderr))
    return done.stdout.strip()


def main_pid():
    return int(systemctl("show", "-p", "MainPID", "--value", "snapcell.service"))


def children():
    """{"keeper": pid, "gate": pid} of those that live."""
    found, main = {}, main_pid()
    for pid in subprocess.run(["pgrep", "-P", str(main)], capture_output=True, text=True, check=False).stdout.split():
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if len(words) > 1 and words[0] == b"snapcell":
            found[words[1].decode()] = int(pid)
    return found


def groups():
    """Those of cells, and where they lie."""
    return [os.path.join(above, x) for above, names, _ in os.walk(CGROUP) for x in names if re.match("snapcell-[0-9]+-", x)]


def until(true, what):
    end = time.monotonic() + PATIENCE
    while True:
        value = true()
        if value:
            return value
        if time.monotonic() > end:
            raise RuntimeError("waited in vain for " + what)
        time.sleep(0.1)


def install(build, top):
    """As `meson install` does, with the binary where the unit looks for it."""
    unit = os.path.join(build, "deploy/snapcell.service")
    with open(unit, encoding="utf-8") as f:
        binary = [x for x in f if x.startswith("ExecStart=")][0][len("ExecStart="):].split()[0]
    os.makedirs(os.path.dirname(binary), exist_ok=True)
    if not os.path.exists(binary):
        os.symlink(os.path.join(build, "src/cli/snapcell"), binary)
    shutil.copy(unit, UNITS)
    shutil.copy(os.path.join(top, "deploy/systemd/snapcell.socket"), UNITS)
    os.makedirs("/etc/snapcell", exist_ok=True)
    shutil.copy(os.path.join(top, "deploy/systemd/serve.conf"), "/etc/snapcell")
    os.makedirs(UNITS + "/snapcell.service.d", exist_ok=True)
    with open(UNITS + "/snapcell.service.d/said.conf", "w", encoding="ascii") as f:
        f.write("[Service]\nStandardOutput=append:%s\nStandardError=append:%s\n" % (SAID, SAID))
    subprocess.run(["systemd-sysusers", os.path.join(top, "deploy/systemd/snapcell.sysusers")], check=True)
    systemctl("daemon-reload")
    systemctl("start", "snapcell.socket")


class Part:
    """What is looked at, one after another; the first thing that is not as it should be ends it."""

    def __init__(self):
        self.counts = Counts()

    def holds(self, name, good, seen=""):
        print("%s %s" % ("PASS" if good else "FAIL", name), flush=True)
        if not good:
            print(seen, flush=True)
            raise RuntimeError(name)
        self.counts.passed += 1

    def socket_activation(self):
        self.holds("nothing runs before somebody connects", systemctl("is-active", "snapcell.service") == "inactive")
        status, result = ask("POST", "/v1/run", shell("echo $((6*7)); cat /proc/self/cgroup"))
        self.holds("the first request starts the service and is answered", status == 200 and result["stdout"].startswith("42\n"), result)
        self.holds("nothing is degraded", result["degraded"] == [] and result["usage"]["memory_peak_bytes"] > 0, result)
        gate = children()["gate"]
        with open("/proc/%d/status" % gate, encoding="utf-8") as f:
            lines = dict(x.rstrip("\n").split(":\t", 1) for x in f if ":\t" in x)
        name = subprocess.run(["id", "-nu", lines["Uid"].split()[0]], capture_output=True, text=True, check=False).stdout.strip()
        self.holds("the gate is its own user without any right", name == "snapcell-gate" and int(lines["CapEff"], 16) == 0, (name, lines))

    def groups_below(self):
        _, made = ask("POST", "/v1/sessions", {})
        self.session = "/v1/sessions/" + made["session"]
        own = systemctl("show", "-p", "ControlGroup", "--value", "snapcell.service")
        found = groups()
        self.holds("cells live in groups below the service's", found and all(x.startswith(CGROUP + own + "/") for x in found), (own, found))

    def reload(self):
        main, before = main_pid(), children()
        systemctl("reload", "snapcell.service")
        until(lambda: children().get("gate") not in (None, before["gate"]), "the next gate")
        status, result = ask("POST", self.session + "/exec", shell("echo kept"))
        self.holds("a reload changes the gate and loses no session", status == 200 and result["stdout"] == "kept\n" and main == main_pid()
                   and children()["keeper"] == before["keeper"], result)

    def date(self):
        """The machine's own, really."""
        got = []
        thread = threading.Thread(target=lambda: got.append(ask("POST", "/v1/run", shell("sleep 2; echo went"))))
        thread.start()
        before, began = time.time(), time.monotonic()
        for days in (3, -3):
            time.clock_settime(time.CLOCK_REALTIME, before + days * DAY)
            ask("GET", self.session)
        time.clock_settime(time.CLOCK_REALTIME, before + time.monotonic() - began)
        thread.join(PATIENCE)
        self.holds("a date that jumps ends no run", got and got[0][1]["stdout"] == "went\n" and got[0][1]["status"] == "ok", got)
        self.holds("and no session", ask("GET", self.session)[0] == 200)

    def keeper_killed(self):
        main, keeper = main_pid(), children()["keeper"]
        os.kill(keeper, signal.SIGKILL)
        until(lambda: children().get("keeper") not in (None, keeper), "the next keeper")
        status, problem = ask("GET", self.session)
        while status == 503:  # not yet there
            status, problem = ask("GET", self.session)
        self.holds("sessions of a killed keeper are told to be lost", status in (404, 410) and "lost" in problem["detail"], (status, problem))
        status, result = ask("POST", "/v1/run", shell("echo again"))
        self.holds("and work goes on", status == 200 and result["stdout"] == "again\n" and main_pid() == main, result)

    def restart(self):
        main = main_pid()
        os.kill(main, signal.SIGKILL)
        until(lambda: main_pid() not in (0, main), "systemd to start it again")
        status, result = ask("POST", "/v1/run", shell("echo restarted"))
        self.holds("a killed service is started again", status == 200 and result["stdout"] == "restarted\n", result)

    def drain(self):
        connection = Connection()
        connection.request("POST", "/v1/run", json.dumps(shell("echo began; sleep 2; echo done")),
                           {"Content-Type": "application/json", "Accept": "application/x-ndjson"})
        response = connection.getresponse()
        text = b""
        while b"began" not in text:
            text += response.readline()
        stopping = subprocess.Popen(["systemctl", "stop", "snapcell.service"], stderr=subprocess.DEVNULL)
        text += response.read()
        self.holds("what runs may end while it stops", b"done" in text and b'"event":"end"' in text, text)
        stopping.wait(PATIENCE)
        shown = systemctl("show", "-p", "Result", "-p", "ActiveState", "snapcell.service").split()
        self.holds("it stops well and leaves no group", sorted(shown) == ["ActiveState=inactive", "Result=success"] and groups() == [], (shown, groups()))
        status, result = ask("POST", "/v1/run", shell("echo anew"))
        self.holds("its socket starts it anew", status == 200 and result["stdout"] == "anew\n", result)

    def end(self):
        systemctl("stop", "snapcell.socket", "snapcell.service")
        self.holds("nothing is left at the end", groups() == [] and not os.path.exists("/run/snapcell"), groups())


def run(build, top):
    part = Part()
    try:
        install(build, top)
        verified = subprocess.run(["systemd-analyze", "verify", "--man=no", UNITS + "/snapcell.service", UNITS + "/snapcell.socket"],
                                  capture_output=True, text=True, check=False)
        part.holds("systemd finds nothing wrong with the units", verified.returncode == 0 and "snapcell" not in verified.stderr, verified.stderr)
        for step in (part.socket_activation, part.groups_below, part.reload, part.date, part.keeper_killed, part.restart, part.drain, part.end):
            began = time.monotonic()
            step()
            print("%s: %.1f s" % (step.__name__, time.monotonic() - began), flush=True)
    except Exception as e:  # whatever it dies of is its failure; what the service said tells more
        if os.path.exists(SAID):
            with open(SAID, encoding="utf-8", errors="replace") as f:
                print("the service said:\n" + f.read()[-3000:], flush=True)
        print(subprocess.run(["systemctl", "status", "snapcell.service"], capture_output=True, text=True, check=False).stdout[-2000:], flush=True)
        part.counts.add(failure("%s: %s" % (type(e).__name__, e)))
    return part.counts
