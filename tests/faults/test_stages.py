"""A stage that could be taken out without a claim failing would be no restriction, or its claim no test. For each row of
src/cell/stages.def, the claims that the stage's file names under "Verified by" are run against a build that leaves the
stage out: at least one must fail. Without a stage left out, the same build passes them all."""
import os
import re
import subprocess
import sys

import pytest

import conftest

TESTS = os.path.dirname(conftest.HERE)
SOURCE = os.environ.get("SNAPCELL_SOURCE", os.path.dirname(TESTS))
# AppArmor is not on everywhere: tests/vm says so, and takes it away. `pin` stands as root in front of the cpuset group, which holds the
# same; an ordinary user without that group has this wall only. `layout` is done again behind AppArmor's profile.
BEHIND_ANOTHER = ["pin"]
ELSEWHERE = ["pin", "layout"] if os.environ.get("SNAPCELL_TEST_APPARMOR") == "1" else ["apparmor", "pin"]
if os.geteuid() != 0:
    # Without a subordinate id agent and program have one id, and nothing to change between them.
    ELSEWHERE += ["ids", "program_ids"]
    # Nor is a priority above the caller's own to be had.
    ELSEWHERE += ["priority", "program_priority"]


def stages():
    with open(os.path.join(SOURCE, "src/cell/stages.def"), encoding="utf-8") as f:
        return re.findall(r"^(?:AGENT|PROGRAM)_STAGE\((\w+)\)", f.read(), re.M)


def claims_of(stage):
    """Patterns of claim ids that enter_<stage>.c says it is verified by."""
    with open(os.path.join(SOURCE, "src/cell/enter_%s.c" % stage), encoding="utf-8") as f:
        text = re.search(r"Verified by:(.*?)\*/", f.read(), re.S).group(1)
    return re.findall(r"\b[a-z]+-[a-z*][a-z0-9*-]*", text.split("claims", 1)[1])


def run_claims(mutant, patterns, without, *options):
    env = dict(os.environ, SNAPCELL=mutant, SNAPCELL_CLAIMS=",".join(patterns))
    env.pop("SC_MUTANT", None)
    if without:
        env["SC_MUTANT"] = without
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "--tb=line", *options, os.path.join(TESTS, "claims")],
                          env=env, capture_output=True, text=True, timeout=300, check=False, cwd=TESTS)


def test_every_stage_names_its_claims():
    for stage in stages():
        assert claims_of(stage), stage


def test_control(mutant):
    """The test build itself is whole: with nothing left out, the claims of every stage hold."""
    wanted = sorted({p for s in stages() if s not in ELSEWHERE for p in claims_of(s)})
    ran = run_claims(mutant, wanted, None)
    assert ran.returncode == 0, ran.stdout[-3000:]


def must_be_missed(mutant, stage):
    ran = run_claims(mutant, claims_of(stage), stage, "-x")
    assert ran.returncode == 1, "without %s every one of its claims still holds:\n%s" % (stage, ran.stdout[-2000:])


@pytest.mark.parametrize("stage", [s for s in stages() if s not in ELSEWHERE])
def test_removed_stage_is_missed(mutant, stage):
    must_be_missed(mutant, stage)


if os.geteuid() != 0:
    @pytest.mark.parametrize("stage", BEHIND_ANOTHER)
    def test_removed_stage_behind_another(mutant, stage):
        must_be_missed(mutant, stage)
