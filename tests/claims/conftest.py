"""Which claims are run where, and what they share."""
import os
import re
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import ahead  # noqa: E402
import cell  # noqa: E402


# Claim ids to run, as patterns: "fs-*,proc-*".
PATTERNS = os.environ.get("SNAPCELL_CLAIMS", "*")


def lacking(needs):
    """What of `needs` this host does not have; None when all is there."""
    for need in needs:
        if need in ("memory", "cpu", "cpus") and need in cell.DEGRADED:
            return "degraded here: " + need
        if need == "disk" and not cell.has_limited_disk():
            return "no disk of this host can be limited"
        if need == "root" and not cell.ROOT:
            return "made for root only"
        if need == "landlock6" and cell.landlock_abi() < 6:
            return "this kernel's Landlock has no scopes"
        if need == "apparmor" and not apparmor_loaded():
            return "the AppArmor profile is not loaded"
    return None


def not_ahead(identity, name):
    """With the switch to cells that were there ahead: why this is not about them."""
    case = name[name.find("["):] if "[" in name else ""
    return ahead.START and (ahead.NOT_HERE.get(identity) or ahead.NOT_HERE.get(identity + case))


def apparmor_loaded():
    try:
        with open("/sys/kernel/security/apparmor/profiles", encoding="ascii") as f:
            return any(line.startswith("snapcell-cell ") for line in f)
    except OSError:
        return os.environ.get("SNAPCELL_TEST_APPARMOR") == "1"


def pytest_collection_modifyitems(config, items):
    """A claim that is not made on such a host is left out, not skipped: that host's documents do not promise it."""
    kept, left_out, seen = [], [], {}
    for item in items:
        claim = getattr(item.function, "claim", None)
        if claim is None:
            raise pytest.UsageError("%s claims nothing" % item.nodeid)
        if not re.fullmatch(r"[a-z]+(-[a-z0-9]+)+", claim["id"]):
            raise pytest.UsageError("%s: bad claim id %r" % (item.nodeid, claim["id"]))
        if seen.setdefault(claim["id"], item.function) is not item.function:
            raise pytest.UsageError("two tests claim %s" % claim["id"])
        why = lacking(claim["needs"]) or not_ahead(claim["id"], item.name)
        if why:
            print("not claimed here: %s: %s" % (claim["id"], why))
        if why or not cell.selected(claim["id"], PATTERNS):
            left_out.append(item)
        else:
            kept.append(item)
    unknown = {name.partition("[")[0] for name in ahead.NOT_HERE} - set(seen)
    if unknown and len(items) > len(ahead.NOT_HERE) + 20:
        raise pytest.UsageError("ahead.NOT_HERE names what nobody claims: %s" % sorted(unknown))
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


@pytest.fixture(scope="session")
def probes(tmp_path_factory):
    return cell.Probes(tmp_path_factory.mktemp("probes"))


@pytest.fixture
def host_file(tmp_path):
    """A readable host file with a secret in it."""
    path = tmp_path / "secret.txt"
    path.write_text("host secret\n")
    path.chmod(0o644)
    return path


@pytest.fixture(autouse=True)
def in_such_a_cell():
    """With the switch on, a claim that used no cell of that kind proved nothing about it."""
    before = ahead.runs
    yield
    assert not ahead.START or ahead.runs > before, "no cell of this claim was %s ahead" % ahead.START
