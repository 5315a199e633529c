"""What is run in the guest, as root, on a system that is a copy in memory: inside.py BUILD PART,…. Writes the counts as
JSON to the port that the host reads."""
import json
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(TOP, "tests", "lib"), os.path.join(TOP, "tests", "corpus")]
sys.dont_write_bytecode = True

import place as places_of  # noqa: E402
import service  # noqa: E402
import suites  # noqa: E402
from counts import Counts, failure  # noqa: E402

# Emulated, and without a second processor.
SCALE = 10
LIMIT_S = 9 * 60
# Of every kind one or two, short ones; Python takes seconds to start here.
CORPUS = ("^(fs-shadow-home|fs-proc1-environ|fs-mount-calls|fs-chroot-climb|fs-readonly-root|fs-mknod-device|fs-release-agent"
          "|fs-suid-exec|sys-admin-calls|sys-bpf|sys-keyring|sys-unshare|sys-setns|sys-ptrace-others|sys-int80|sys-kill-all"
          "|sys-io-uring|sys-perf|sys-vm-readv|sys-sysv-shm|sys-status|res-fork-bomb|res-mem-bomb|res-tmpfs-fill|res-stopped-self"
          "|res-grandchild-holds-stdout|res-signal-death|res-core-dump|leak-processes|leak-namespaces|f-dev-stdout|f-upload-modes"
          "|f-exit-code|f-segfault|f-sigpipe|f-stdin-unread|forge-json-result|forge-monkeypatch|forge-bad-repr|forge-threads-left"
          "|fs-upload-tar|pyr-subclasses|pyr-generator-frame|pyr-format-attr|pyr-module-attr-walk|f-restricted-usual"
          "|ast-getattr-concat|ast-encoding-cookie|ast-deep-nesting|f-validator-words)$")
# What a fork comes to by ways of its own: groups, ids, the profile.
FORKED = "apparmor-entered,apparmor-no-way-back,group-memory,group-tasks,ids-program,namespaces-cgroup"
CGROUP = "/sys/fs/cgroup"


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


class Guest:
    """Both users' places: root with a configured parent group, an ordinary user in a delegated one."""

    def __init__(self, build):
        self.build = build
        self.user = places_of.TestUser().__enter__()
        os.environ["SNAPCELL_TEST_SCALE"] = str(SCALE)
        # With systemd as process 1, groups are its matter.
        if os.path.exists(CGROUP + "/init"):
            os.makedirs(CGROUP + "/cells", exist_ok=True)
            self.delegate("/vmtest")
        self.root = GuestPlace("root", os.path.join(build, "src/cli/snapcell"), build, os.path.join(TOP, "tests"), None, "/cells")
        copy = places_of.copy_for(self.user, build, os.path.join(TOP, "tests"))
        self.ordinary = GuestPlace("user", copy.snapcell, copy.build, copy.tests, self.user, "/vmtest")

    def delegate(self, group):
        """As systemd's Delegate=yes does; the user's own processes live in a leaf."""
        leaf = CGROUP + group + "/runner"
        os.makedirs(leaf)
        for folder in (CGROUP + group, leaf):
            os.chown(folder, self.user.pw_uid, self.user.pw_gid)
            for name in ("cgroup.procs", "cgroup.threads", "cgroup.subtree_control"):
                os.chown(os.path.join(folder, name), self.user.pw_uid, self.user.pw_gid)
        self.leaf = leaf


class GuestPlace(places_of.Place):
    def __init__(self, name, snapcell, build, tests, user, parent):
        super().__init__(name, snapcell, build, tests, user)
        self.parent = parent

    def environment(self):
        env = dict(super().environment())
        env.pop("SNAPCELL_CGROUP_PARENT", None)
        return dict(env, SNAPCELL_CGROUP_PARENT=self.parent) if self.parent else env


def enter_leaf(guest):
    write(guest.leaf + "/cgroup.procs", "0")


def leave_leaf():
    write(CGROUP + "/init/cgroup.procs", "0")


def in_place(guest, place, work):
    """`work` with this process, and so its children, in the group that the place's user was given."""
    if place.user:
        enter_leaf(guest)
    try:
        return work()
    finally:
        leave_leaf()


def claims(guest, place):
    suite = suites.pytest("claims", LIMIT_S, security=True)
    return in_place(guest, place, lambda: suite(TOP, guest.build, [place]))


def claims_forked(guest, place):
    """Some of them in forks of a zygote."""
    os.environ.update(SNAPCELL_CLAIMS=FORKED, SNAPCELL_CLAIMS_START="forked")
    try:
        return claims(guest, place)
    finally:
        del os.environ["SNAPCELL_CLAIMS"], os.environ["SNAPCELL_CLAIMS_START"]


def forks(guest):
    """Forks in cells, each as root and as an ordinary user: sealed as their siblings are, of every language, and unlike each other."""
    counts = Counts()
    for name in ("fork_check", "fork", "fork_runners"):
        ran = subprocess.run([os.path.join(guest.build, "tests/unit/cell/test_cell_" + name)], capture_output=True, text=True,
                             errors="replace", stdin=subprocess.DEVNULL, env=guest.root.environment(), check=False)
        counts.add(check("unit cell-" + name.replace("_", "-"), ran.returncode == 0, ran))
    return counts


def corpus(guest, place):
    return in_place(guest, place, lambda: corpus_of(place))


def corpus_of(place):
    scratch = place.scratch()
    report = os.path.join(scratch, "report.json")
    driver = os.path.join(place.tests, "corpus/tools/run_corpus.py")
    suites.run([suites.PYTHON, driver, os.path.join(place.tests, "corpus/dev"), "--adapter",
                "%s %s" % (suites.PYTHON, os.path.join(place.tests, "corpus/adapter_snapcell.py")), "--only", CORPUS,
                "--have", ",".join(suites.HERE), "--time-scale", str(SCALE), "--json", report], LIMIT_S, place, cwd=scratch)
    try:
        with open(report, encoding="utf-8") as f:
            counts = suites.corpus_counts(json.load(f)["results"], "must")
    except (OSError, ValueError):
        counts = failure("corpus: no report")
    counts.failures = ["%s %s" % (place.name, x) for x in counts.failures]
    shutil.rmtree(scratch, ignore_errors=True)
    return counts


def unprofiled(guest):
    """AppArmor is on and our profile not loaded: refused with a line that names it, unless that is accepted."""
    counts, place = Counts(), guest.root

    def ask(*args):
        return subprocess.run([place.snapcell, "run", *args, "--", "/bin/true"], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env=place.environment(), check=False)

    ran = ask()
    counts.add(check("a run without the profile is refused", ran.returncode == 125 and "AppArmor" in ran.stderr, ran))
    ran = ask("--allow-degraded", "apparmor")
    counts.add(check("a run that accepts its absence works", ran.returncode == 0, ran))
    return counts


def load_profile():
    subprocess.run(["apparmor_parser", "--replace", "--skip-cache", os.path.join(TOP, "policy/apparmor/snapcell-cell")], check=True,
                   stderr=subprocess.DEVNULL)
    os.environ["SNAPCELL_TEST_APPARMOR"] = "1"


def check(name, good, ran):
    print("%s %s" % ("PASS" if good else "FAIL", name), flush=True)
    if good:
        return Counts(passed=1)
    print("exit %d\n%s\n%s" % (ran.returncode, ran.stdout[-3000:], ran.stderr[-2000:]), flush=True)
    return failure(name)


def stage(guest):
    """The one stage that only this kernel shows: without it a claim must fail, and it holds alone."""
    os.environ["SNAPCELL_CLAIMS"] = "apparmor-*"
    try:
        return suites.pytest("faults", LIMIT_S, security=True, options=["-k", "apparmor"])(TOP, guest.build, [guest.root])
    finally:
        del os.environ["SNAPCELL_CLAIMS"]


def restricted(guest):
    """As on Ubuntu 24.04: the doctor names the trouble, a run fails clean and names it too."""
    if subprocess.run(["apparmor_parser", "--replace", "--skip-cache", os.path.join(HERE, "restricted")], check=False).returncode != 0:
        return failure("restricted: the profile cannot be loaded")
    place = guest.ordinary

    def ask(*args):
        return subprocess.run(["aa-exec", "-p", "snapcell-test-restricted", "--", place.snapcell, *args], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, env=place.environment(), cwd="/", check=False, **place.identity())

    counts = Counts()
    enter_leaf(guest)
    doctor = ask("doctor", "--json")
    try:
        findings = json.loads(doctor.stdout)["findings"]
    except (ValueError, KeyError):
        findings = []
    blockers = [f for f in findings if f["level"] == "blocker"]
    counts.add(check("doctor names AppArmor as the blocker and a fix", any("AppArmor" in f["what"] + f["fix"] for f in blockers), doctor))
    ran = ask("run", "--", "/bin/true")
    leave_leaf()
    counts.add(check("a run fails with 125 and one line that names it",
                     ran.returncode == 125 and "user namespaces" in ran.stderr and "doctor" in ran.stderr and ran.stderr.count("\n") == 1, ran))
    subprocess.run(["apparmor_parser", "--remove", os.path.join(HERE, "restricted")], check=False)
    return counts


def scope(guest):
    """An ordinary user under systemd: nothing is configured or delegated by hand, limits just work."""
    uid = guest.user.pw_uid
    subprocess.run(["loginctl", "enable-linger", guest.user.pw_name], check=True)
    end = time.monotonic() + 60
    while not os.path.exists("/run/user/%d/bus" % uid) and time.monotonic() < end:
        time.sleep(0.2)
    place = GuestPlace("user", guest.ordinary.snapcell, guest.ordinary.build, guest.ordinary.tests, guest.user, None)
    ran = subprocess.run([place.snapcell, "run", "--json", "--", "/bin/true"], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                         env=place.environment(), cwd="/", check=False, **place.identity())
    good = ran.returncode == 0 and json.loads(ran.stdout)["degraded"] == []
    counts = Counts().add(check("a run gets a scope of its own and goes without nothing", good, ran))
    os.environ["SNAPCELL_CLAIMS"] = "group-*,limits-*,end-*,fs-size"
    try:
        counts.add(suites.pytest("claims", LIMIT_S, security=True)(TOP, guest.build, [place]))
    finally:
        del os.environ["SNAPCELL_CLAIMS"]
    left = subprocess.run(["systemctl", "list-units", "--user", "--machine=%s@.host" % guest.user.pw_name, "--no-legend", "snapcell-*.scope"],
                          capture_output=True, text=True, check=False)
    counts.add(check("no scope stays behind", left.returncode == 0 and left.stdout == "", left))
    return counts


# `unprofiled` finds the profile missing; it is loaded for all others.
PARTS = {
    "unprofiled": unprofiled, "claims-root": lambda guest: claims(guest, guest.root), "stage": stage,
    "corpus-root": lambda guest: corpus(guest, guest.root), "claims-user": lambda guest: claims(guest, guest.ordinary),
    "forked-root": lambda guest: claims_forked(guest, guest.root),
    "forked-user": lambda guest: claims_forked(guest, guest.ordinary), "forks": forks,
    "corpus-user": lambda guest: corpus(guest, guest.ordinary), "restricted": restricted, "scope": scope,
    "service": lambda guest: service.run(guest.build, TOP),
}


def main():
    parts = sys.argv[2].split(",")
    guest, total = Guest(sys.argv[1]), Counts()
    for name in parts:
        start = time.monotonic()
        print("--- vm: %s" % name, flush=True)
        if name != "unprofiled":
            load_profile()
        try:
            got = PARTS[name](guest)
        except Exception as e:  # whatever a part dies of is its failure, and the next part's turn
            got = failure("%s: %s: %s" % (name, type(e).__name__, e))
        print("--- vm: %s: %s, %.0f s" % (name, got.line(), time.monotonic() - start), flush=True)
        got.failures = ["%s: %s" % (name, f) for f in got.failures]
        total.add(got)
    with open("/dev/vm-report", "w", encoding="utf-8") as f:
        json.dump(vars(total), f)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
