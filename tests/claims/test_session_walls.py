"""A session: each of its commands stands behind the walls of a run, and its end leaves nothing."""
import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
import uuid

import pytest

from cell import DEGRADED, SCALE, SNAPCELL, all_are, bash, claim, landlock_abi, shares_uid, wall, word
from test_end import name_of, processes_with, wait_for

# All that a process can tell of its own walls. Processor time is limited by the keeper in a session, and the runners have a
# folder there.
SELF = """
grep -E '^(Umask|Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp|Sig(Blk|Ign))' /proc/self/status
ulimit -a | grep -v 'cpu time'
echo hard limits: $(ulimit -Hn) files, $(ulimit -Hc) of core
cat /proc/self/attr/current 2>&1
grep -v /snapcell /proc/self/mountinfo | cut -d' ' -f4- | sort
ls -A / /dev /proc/self/fd | grep -v '^snapcell$'
for path in /x /usr/x /etc/passwd /proc/sys/kernel/hostname /sys/x /dev/x; do
    (echo x >$path) 2>&1 | sed 's/.*: //'
done
"""


class Keeper:
    """A keeper of this test's own."""

    def __init__(self, folder, *options):
        self.socket = os.path.join(folder, "keeper.sock")
        self.process = subprocess.Popen([SNAPCELL, "keeper", "--socket", self.socket, *options], stdin=subprocess.DEVNULL)
        assert wait_for(lambda: os.path.exists(self.socket), 20)

    def say(self, verb, *args, **more):
        return subprocess.run([SNAPCELL, "session", verb, "--socket", self.socket, *map(str, args)], capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=60 * SCALE, check=False, **more)

    def must(self, verb, *args):
        ran = self.say(verb, *args)
        assert ran.returncode == 0, "%s: %s" % (verb, ran.stderr.decode())
        return ran.stdout.decode()

    def start(self, *options):
        degraded = ["--allow-degraded", ",".join(DEGRADED)] if DEGRADED else []
        return self.must("start", *degraded, *options).strip()

    def file(self, name, text):
        """Path of a new file on the host."""
        path = os.path.join(os.path.dirname(self.socket), name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def run_warm(self, *args):
        """The result of a single run by the keeper."""
        degraded = ["--allow-degraded", ",".join(DEGRADED)] if DEGRADED else []
        ran = subprocess.run([SNAPCELL, "run", "--warm", "--json", "--mode", "rich", "--socket", self.socket, *wall(20), *degraded, *args],
                             capture_output=True, stdin=subprocess.DEVNULL, timeout=60 * SCALE, check=False)
        assert ran.stdout, "exit %d: %s" % (ran.returncode, ran.stderr.decode())
        return json.loads(ran.stdout)

    def bash(self, session, code):
        """The result of a command."""
        ran = self.say("exec", "--json", *wall(20), session, "--", "bash", "-c", code)
        assert ran.stdout, "exit %d: %s" % (ran.returncode, ran.stderr.decode())
        return json.loads(ran.stdout)

    def end(self):
        self.process.terminate()
        self.process.wait()


@pytest.fixture
def keeper():
    # Not pytest's own folder: a socket's path must be short.
    with tempfile.TemporaryDirectory(prefix="claims-") as folder:
        one = Keeper(folder)
        yield one
        one.end()


@pytest.fixture(params=["forked", "started"])
def warm_keeper(request):
    with tempfile.TemporaryDirectory(prefix="claims-") as folder:
        one = Keeper(folder, *([] if request.param == "forked" else ["--no-zygotes"]))
        one.forks = request.param == "forked"
        yield one
        one.end()


@claim("session-walls", "A command in a session, the first or a later one, has ids, capabilities, limits, mounts and "
       "filter of the program of a run.", ["program_ids", "capabilities", "filter", "limits"])
def test_walls(keeper):
    once = bash(SELF).stdout
    for line in ("Seccomp:\t2", "CapBnd:\t0000000000000000", "Uid:\t1000\t1000\t1000\t1000", "hard limits: 1024 files, 0 of core"):
        assert line + "\n" in once, once
    session = keeper.start()
    for _ in range(2):
        said = keeper.bash(session, SELF)
        assert said["status"] == "ok" and said["stdout"] == once, said["stdout"]


@claim("warm-walls", "A program in a cell that waited for it has ids, capabilities, limits, mounts and filter of one in a cell made for "
       "it, and no more; it is alone there.", ["program_ids", "capabilities", "filter", "limits"])
def test_walls_of_a_warm_cell(warm_keeper):
    def once(code):
        ran = warm_keeper.run_warm("--bash", "-c", code)
        return ran["start"], ran["stdout"]

    def warm(code):
        for _ in range(200):
            start, said = once(code)
            if start["kind"] == "warm" and ("zygote_age_ms" in start) == warm_keeper.forks:
                return said
            time.sleep(0.1)
        raise AssertionError("no cell was ever there ahead")

    code = "bash -c '%s'" % SELF.replace("'", "'\\''")
    start, cold = once(code)
    assert start == {"kind": "cold"} and "Seccomp:\t2\n" in cold and "CapBnd:\t0000000000000000\n" in cold, cold
    # A fork has its zygote's filter too, below its own, and where AppArmor is on its profile (docs/hosts.md).
    more = warm_keeper.forks
    assert "Seccomp_filters:\t1\n" in cold, cold
    wanted = cold.replace("Seccomp_filters:\t1\n", "Seccomp_filters:\t2\n").replace("snapcell-cell (", "snapcell-forkable (") if more else cold
    assert warm(code) == wanted
    assert warm("unshare -U true; echo $?") == "1\n"
    # Nobody else's processes and files: process 1, a shepherd if it is the cell's own, and itself.
    for code in ("echo x >/tmp/mark; echo /proc/[0-9]* $$", "ls /tmp; echo /proc/[0-9]* $$"):
        *processes, own = warm(code).split()
        assert len(processes) == 3 - more and {"/proc/1", "/proc/" + own} <= set(processes), processes


@claim("session-filter", "What the filter refuses a program it refuses a session's command, and the command's result says so.",
       ["filter"])
def test_filter(keeper):
    session = keeper.start()
    said = keeper.bash(session, "unshare -U true; echo $?; echo fine")
    assert said["stdout"] == "1\nfine\n", said
    assert [d["action"] for d in said["denials"]] == ["unshare"], said
    assert keeper.bash(session, "true")["denials"] == []


@claim("session-servers", "The agent, and the process that watches over a command, can be neither traced, read nor signalled by it.",
       ["ids", "no_new_privs", "filter", "landlock"])
def test_servers(keeper, probes):
    session = keeper.start()
    keeper.must("put", session, probes.path("others"), "others")

    def probe(attempts):
        said = keeper.bash(session, "exec ./others " + " ".join(attempts))
        return {attempt: word(answer) for attempt, answer in json.loads(said["stdout"]).items()}

    for pid in ("1", "$PPID"):
        all_are(probe([x + "=" + pid for x in ("attach", "seize", "read_memory", "write_memory", "prlimit_set", "priority")]), "EPERM")
        all_are(probe([x + "=" + pid for x in ("mem_read", "maps", "environ", "fd_open", "root", "exe", "cwd")]), "EACCES")
        if not shares_uid() or landlock_abi() >= 6:
            all_are(probe([x + "=" + pid for x in ("kill", "stop", "tgkill", "queue", "signal_zero", "pidfd_kill")]), "EPERM")
    assert probe(["child_kill"]) == {"child_kill": "ok"}
    assert keeper.bash(session, "echo serves on")["stdout"] == "serves on\n"


@claim("session-moves", "In a session files can be moved and linked between folders of the cell.", ["landlock", "domain"])
def test_moves(keeper):
    session = keeper.start()
    said = keeper.bash(session, "mkdir a; echo 1 >x; mv x a/x; ln a/x y; mv a/x /home/user/z; cat y z; python3 -c "
                       "\"import os; os.rename('z', 'a/z'); print(os.listdir('a'))\"")
    assert said["stdout"] == "1\n1\n['z']\n", said


# Everybody forks for ever; nobody heeds a polite signal.
CROWD = """
import os, signal
for number in set(range(1, 65)) - {signal.SIGKILL, signal.SIGSTOP, 32, 33}:
    signal.signal(number, signal.SIG_IGN)
while True:
    try:
        if os.fork() == 0:
            os.setsid()
    except OSError:
        pass
"""


@claim("session-crowd", "A command's crowd of a thousand processes that fork without end is dead soon after its time-out, and its session "
       "lives on.", ["domain", "priority"], needs=["landlock6"])
def test_crowd(keeper):
    session = keeper.start("--tasks", "1000", "--memory", "4G")
    keeper.must("put", session, keeper.file("crowd.py", CROWD))
    ran = keeper.say("exec", "--json", "--wall", "1s", session, "--", "python3", "crowd.py")
    said = json.loads(ran.stdout)
    peak = said["usage"]["tasks_peak"]  # null where no group counts
    assert said["status"] == "timeout" and (peak is None or peak > 200), said
    # The agent, and the shepherd of this one.
    assert wait_for(lambda: keeper.bash(session, "exec ls -d /proc/[0-9]* | wc -l")["stdout"].strip() in ("4", "5"), 20)


@claim("session-apart", "Two sessions of one keeper see neither each other's processes nor files.", ["group", "mounts"])
def test_apart(keeper):
    one, other = keeper.start(), keeper.start()
    tag = "claim" + uuid.uuid4().hex
    keeper.must("exec", "--background", one, "--", "bash", "-c", "echo x >%s; exec -a %s sleep 300" % (tag, tag))
    look = "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c '^%s$'; ls /home/user /tmp /dev/shm | grep -c %s" % (tag, tag)
    assert wait_for(lambda: keeper.bash(one, look)["stdout"] == "1\n1\n", 20)
    assert keeper.bash(other, look)["stdout"] == "0\n0\n"


@claim("session-end", "The end of a session, and of its keeper, even by SIGKILL, ends every process of it, whatever it has detached "
       "from.", ["end"])
@pytest.mark.parametrize("how", ["end", "term", "kill"])
def test_end(keeper, how):
    session = keeper.start()
    tag = "claim" + uuid.uuid4().hex
    keeper.must("exec", "--background", session, "--", "bash", "-c",
                "for i in 1 2 3; do setsid -f bash -c 'trap \"\" TERM HUP; exec -a %s sleep 300'; done; exec -a %s sleep 300" % (tag, tag))
    # Not the shells before them, whose arguments hold the word, too.
    assert wait_for(lambda: [name_of(p) for p in processes_with(tag)] == ["sleep"] * 4, 20)
    if how == "end":
        keeper.must("end", session)
    else:
        keeper.process.send_signal(signal.SIGTERM if how == "term" else signal.SIGKILL)
        keeper.process.wait()
    with contextlib.suppress(OSError):
        os.unlink(keeper.socket)
    assert wait_for(lambda: not processes_with(tag), 5)
