"""The suites: each runs in a process of its own with a time limit, streams what it says, and returns Counts."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

import forks
from counts import Counts, failure, from_junit, skip, strict
from place import Place

PYTHON = "/usr/bin/python3"
HERE = ["restricted", "validator", "session", "snapshot", "archive_upload", "egress"]
MINUTE = 60


def in_ci():
    return os.environ.get("CI") == "true"


def run(line, limit_s, place=None, env=None, cwd=None, output=None):
    """Exit status, or None after the time limit; then nothing of the suite is left running. `env` is the whole of it, `output` a
    file for what it says."""
    env = env or (place.environment() if place else None)
    child = subprocess.Popen(line, env=env, cwd=cwd, start_new_session=True, stdout=output,
                             stderr=subprocess.STDOUT if output else None, **(place.identity() if place else {}))
    try:
        return child.wait(limit_s)
    except subprocess.TimeoutExpired:
        print("time limit of %d s: %s" % (limit_s, " ".join(line)), flush=True)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return None


def checks(top, build, _places):
    counts = Counts()
    for line in (["tools/check_layers.py"], ["tools/check_signal_safety.py", build], ["tools/check_generated.sh"]):
        line[0] = os.path.join(top, line[0])
        counts.add(Counts(passed=1) if run(line, 2 * MINUTE) == 0 else failure(os.path.basename(line[0])))
    return counts


def unit(top, build, _places):
    status = run(["meson", "test", "-C", build, "--no-rebuild", "--print-errorlogs"], 10 * MINUTE)
    counts = Counts()
    try:
        with open(os.path.join(build, "meson-logs", "testlog.json"), encoding="utf-8") as f:
            for line in f:
                test = json.loads(line)
                if test["result"] in ("OK", "EXPECTEDFAIL"):
                    counts.passed += 1
                elif test["result"] == "SKIP":
                    counts.add(skip(test["name"], "the test asked to be skipped"))
                else:
                    counts.add(failure("unit " + test["name"]))
    except OSError:
        return failure("unit: no log")
    if status != 0 and not counts.failed:
        counts.add(failure("unit: meson test ended with %s" % status))
    return counts


def pytest(folder, limit_s, security, options=()):
    """A suite of pytest files, in every place."""
    def suite(_top, _build, places):
        counts = Counts()
        for place in places:
            name = "%s (%s)" % (folder, place.name)
            print("--- %s" % name, flush=True)
            scratch = place.scratch()
            report = os.path.join(scratch, "junit.xml")
            status = run([PYTHON, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--basetemp",
                          os.path.join(scratch, "pytest"), "--junitxml", report, *options, os.path.join(place.tests, folder)],
                         limit_s, place, cwd=place.tests)
            got = from_junit(report) if os.path.exists(report) else Counts()
            if status not in (0, 1) or status == 1 and not got.failed:
                got.add(failure("%s: pytest ended with %s" % (name, status)))
            if security and in_ci():
                got = strict(got, name)
            got.failures = ["%s %s" % (place.name, x) for x in got.failures]
            counts.add(got)
            shutil.rmtree(scratch, ignore_errors=True)
        return counts
    return suite


def runners(top, build, _places):
    """Once: what these start is no cell, only the interpreters that would run in one."""
    here = Place("here", os.path.join(build, "src/cli/snapcell"), build, os.path.join(top, "tests"))
    return pytest("runners", 20 * MINUTE, security=True)(top, build, [here])


def faults(top, build, places):
    """Once, as root where that can be: what is taken away is the same for both. Only what as root two walls hold is taken
    away from the ordinary user, who has one of them."""
    counts = pytest("faults", 15 * MINUTE, security=True)(top, build, places[:1])
    if len(places) > 1:
        counts.add(pytest("faults/test_stages.py", 5 * MINUTE, security=True, options=["-k", "behind_another"])(top, build, places[1:]))
    return counts


def abilities():
    """What the default root of this host offers to programs: words of the corpus."""
    have = [m for m in ("numpy", "pandas", "matplotlib")
            if subprocess.run([PYTHON, "-I", "-c", "import " + m], stderr=subprocess.DEVNULL).returncode == 0]
    return have + HERE + [p for p in ("java", "git") if os.path.exists("/usr/bin/" + p)]


def corpus_counts(results, severity, no_lab=False):
    """`no_lab`: this driver cannot make its lab for the user; the same cases are run in it by ours."""
    counts = Counts()
    for r in results:
        if r["verdict"] == "PASS":
            counts.passed += 1
        elif r["verdict"] != "SKIP":
            counts.add(failure("%s: %s %s" % (r["verdict"], r["id"], r["why"][:200])))
        elif in_ci() and r["severity"] == severity and not excused(r["why"], no_lab):
            counts.add(failure("not run: %s: %s" % (r["id"], r["why"])))
        else:
            counts.add(skip(r["id"], r["why"]))
    return counts


def excused(why, no_lab):
    return no_lab and why == "needs --lab" or why.startswith(("disputed: ", "degraded: "))


def reasons(place, name):
    """What is left out of a corpus, and why: data beside it."""
    with open(os.path.join(place.tests, "corpus", name), encoding="utf-8") as f:
        return json.load(f)


def corpus_tree(place, tree, driver, limit_s, forked=False):
    """One tree through one driver in one place. `driver` may be an older one that lacks our own options. `forked`: what can
    runs in forks of a template."""
    scratch = place.scratch()
    report = os.path.join(scratch, "report.json")
    line = [PYTHON, driver, tree, "--adapter", "%s %s" % (PYTHON, os.path.join(place.tests, "corpus/adapter_snapcell.py")),
            "--have", ",".join(abilities()), "--json", report]
    disputed = sorted(reasons(place, "disputed.json")) + (sorted(reasons(place, "not_forked.json")) if forked else [])
    degraded = reasons(place, "degraded.json")
    lacking = set(place.degraded.split(","))
    left_out = disputed + [k for k, v in sorted(degraded.items()) if lacking & set(v["only_without"])]
    if left_out:
        print("left out here, with the reasons in disputed.json, degraded.json and not_forked.json: " + ", ".join(left_out), flush=True)
        line += ["--only", "^(?!(%s)$)" % "|".join(map(re.escape, left_out))]
    keepers = os.path.join(scratch, "keepers")
    os.mkdir(keepers)
    if place.user:
        os.chown(keepers, place.user.pw_uid, place.user.pw_gid)
    env = dict(place.environment(), SNAPCELL_CORPUS_KEEPERS=keepers, SNAPCELL_CORPUS_START="forked" if forked else "")
    own_driver = driver.startswith(place.tests)
    root = os.geteuid() == 0
    as_user = place.user is not None and root
    if root and (own_driver or not as_user):
        line.append("--lab")
    if as_user and own_driver:
        # The driver makes its lab as root and becomes the user then.
        line += ["--user", place.user.pw_name]
        status = run(line, limit_s, env=env, cwd=scratch)
    else:
        status = run(line, limit_s, place, env=env, cwd=scratch)
    forks.end_all(keepers)
    try:
        with open(report, encoding="utf-8") as f:
            counts = corpus_counts(json.load(f)["results"], "must", as_user and not own_driver)
    except (OSError, ValueError):
        counts = failure("corpus %s (%s): no report, status %s" % (os.path.basename(tree), place.name, status))
    counts.failures = ["%s %s" % (place.name, x) for x in counts.failures]
    counts.add(Counts(skipped=len(left_out), reasons=["%s: disputed or degraded" % x for x in left_out]))
    shutil.rmtree(scratch, ignore_errors=True)
    return counts


def corpus(_top, _build, places):
    counts = Counts()
    for place in places:
        for tree in ("dev", "own"):
            folder = os.path.join(place.tests, "corpus", tree)
            if os.path.exists(os.path.join(folder, "cases.json")):
                print("--- corpus %s (%s)%s" % (tree, place.name, ", degraded: " + place.degraded if place.degraded else ""), flush=True)
                counts.add(corpus_tree(place, folder, os.path.join(place.tests, "corpus/tools/run_corpus.py"), 15 * MINUTE))
    return counts


def corpus_forked(_top, _build, places):
    """The same cases once more, in forks of a zygote where they can be; the others as above."""
    counts = Counts()
    for place in places:
        print("--- corpus dev, forked (%s)" % place.name, flush=True)
        counts.add(corpus_tree(place, os.path.join(place.tests, "corpus/dev"),
                               os.path.join(place.tests, "corpus/tools/run_corpus.py"), 15 * MINUTE, forked=True))
    return counts


def outside_corpus(tree, driver):
    """A tree of cases that lives outside the repository, with the driver beside it."""
    def suite(_top, _build, places):
        counts = Counts()
        for place in places:
            print("--- corpus %s (%s)" % (tree, place.name), flush=True)
            counts.add(corpus_tree(place, tree, driver, 15 * MINUTE))
        return counts
    return suite


def told(name, line, limit_s, place):
    """One program whose last words stand in the failure, too, so that whoever reads only the end has them."""
    print("--- " + name, flush=True)
    with tempfile.TemporaryFile("w+b") as out:
        status = run(line, limit_s, place, cwd="/", output=out)
        out.seek(0)
        said = out.read().decode(errors="replace")
    print(said, end="", flush=True)
    return Counts(passed=1) if status == 0 else failure("%s: status %s: %s" % (name, status, " | ".join(said.splitlines()[-8:])))


def soak(_top, _build, places):
    counts = Counts()
    for place in places:
        counts.add(told("soak (%s)" % place.name, [PYTHON, os.path.join(place.tests, "soak/soak.py")], 10 * MINUTE, place))
        # Short: hours, and 20,000 runs, are for those who ask for them.
        counts.add(told("soak of the service (%s)" % place.name,
                        [PYTHON, os.path.join(place.tests, "soak/service.py"), "--minutes", "0.5"], 5 * MINUTE, place))
        counts.add(told("soak of warm cells (%s)" % place.name,
                        [PYTHON, os.path.join(place.tests, "soak/warm.py"), "--burst", "100" if place.user else "500"], 5 * MINUTE, place))
    return counts


def fuzz(top, _build, _places):
    """A short while for each target; tests/fuzz/run by itself takes as long as it is told."""
    if not shutil.which("clang"):
        return (failure if in_ci() else lambda n: skip(n, "no clang here"))("fuzz")
    status = run([PYTHON, os.path.join(top, "tests/fuzz/run"), "--seconds", "8"], 6 * MINUTE)
    return Counts(passed=1) if status == 0 else failure("fuzz: ended with %s" % status)


def vm(top, build, _places):
    if not shutil.which("qemu-system-x86_64"):
        return (failure if in_ci() else lambda n: skip(n, "no qemu-system-x86_64 here"))("vm")
    report = os.path.join(build, "vm-report.json")
    if os.path.exists(report):
        os.unlink(report)
    status = run([PYTHON, os.path.join(top, "tests/vm/run"), "--build", build, "--json", report], 20 * MINUTE)
    try:
        with open(report, encoding="utf-8") as f:
            got = json.load(f)
        counts = Counts(got["passed"], got["failed"], got["skipped"], got["failures"], got["reasons"])
    except (OSError, ValueError):
        return failure("vm: no report, status %s" % status)
    if status != 0 and not counts.failed:
        counts.add(failure("vm: ended with %s" % status))
    return strict(counts, "vm") if in_ci() else counts


def cpython(top, build, places):
    """Once: what a program of Python meets is the same for everybody who makes cells."""
    if subprocess.run([PYTHON, "-c", "import test.test_json"], stderr=subprocess.DEVNULL, check=False).returncode:
        return (failure if in_ci() else lambda n: skip(n, "CPython's own tests are not installed (libpython3.11-testsuite)"))("cpython")
    return pytest("cpython", 12 * MINUTE, security=False)(top, build, places[:1])


def check(top, build, places):
    """The checker program alone: it is the same for everybody."""
    report = os.path.join(build, "check-report.xml")
    env = dict(os.environ, SNAPCELL_CHECKER=os.path.join(build, "src/check/snapcell-checker"))
    status = run([PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", report,
                  os.path.join(top, "tests/check")], 5 * MINUTE, env=env, cwd=top)
    counts = from_junit(report) if status in (0, 1) else failure("check: pytest ended with %s" % status)
    return counts


def clients(top, build, places):
    """Clients that others have written, in fixed versions from their registries."""
    told = os.path.join(build, "clients-folder")
    status = run(["/bin/sh", "-c", 'exec "$0" "$1" > "$2"', PYTHON, os.path.join(top, "tests/clients/install.py"), told], 20 * MINUTE)
    if status != 0:
        return failure("clients: the clients could not be installed")
    with open(told, encoding="utf-8") as f:
        os.environ["SNAPCELL_CLIENTS"] = f.read().strip()
    return pytest("clients", 25 * MINUTE, security=True)(top, build, places)


def openapi(top, build, _places):
    """The document of the service against the service: a tool of its own, from PyPI."""
    status = run([PYTHON, os.path.join(top, "tests/openapi/run"), build], 8 * MINUTE)
    return Counts(passed=1) if status == 0 else failure("openapi: ended with %s" % status)


def claims_ahead(start):
    """The same claims, in cells that were there before the program: tests/claims/ahead.py."""
    def suite(top, build, places):
        os.environ["SNAPCELL_CLAIMS_START"] = start
        try:
            return pytest("claims", 10 * MINUTE, security=True)(top, build, places)
        finally:
            del os.environ["SNAPCELL_CLAIMS_START"]
    return suite


# In this order: what fails fastest comes first.
SUITES = {
    "checks": checks,
    "unit": unit,
    "runners": runners,
    "check": check,
    "cli": pytest("cli", 20 * MINUTE, security=False),
    "gate": pytest("gate", 10 * MINUTE, security=True),
    "clients": clients,
    "openapi": openapi,
    "claims": pytest("claims", 10 * MINUTE, security=True),
    "claims-forked": claims_ahead("forked"),
    "claims-started": claims_ahead("started"),
    "egress": pytest("egress", 10 * MINUTE, security=True),
    "corpus": corpus,
    "corpus-forked": corpus_forked,
    "cpython": cpython,
    "faults": faults,
    "soak": soak,
    "fuzz": fuzz,
    "vm": vm,
}
