"""A plugin of pytest: notes in $SNAPCELL_UNSTEADY which tests failed at first and passed when tried again, and with what."""
import os

first_failures, failed = {}, set()


def pytest_runtest_logreport(report):
    if report.outcome == "rerun":
        crash = getattr(report.longrepr, "reprcrash", None)
        first_failures[report.nodeid] = (crash.message if crash else str(report.longrepr)).strip()
    elif report.failed:
        failed.add(report.nodeid)


def pytest_sessionfinish():
    with open(os.environ["SNAPCELL_UNSTEADY"], "w", encoding="utf-8") as f:
        for name, why in first_failures.items():
            if name not in failed:
                f.write("%s: %s\n" % (name, " ".join(why.split())[:300]))
