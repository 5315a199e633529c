"""One module of CPython's own regression tests, run here: each test's outcome as JSON lines between two marks on stdout.

    python3 report.py test_json

Run inside a cell and outside of one by test_modules.py, which compares. Outcomes: passed, skipped, failed, error. What
a test prints goes to stderr.
"""
import json
import os
import sys
import unittest
import warnings


class Report(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.outcomes = {}

    def note(self, test, outcome, why=""):
        # A test with a failed subtest is told as failed, whatever is said of it afterwards.
        before = self.outcomes.get(test.id(), ("passed", ""))[0]
        if before in ("passed", "skipped"):
            self.outcomes[test.id()] = (outcome, why)

    def addSuccess(self, test):
        self.note(test, "passed")

    def addSkip(self, test, reason):
        self.note(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        self.note(test, "passed")

    def addUnexpectedSuccess(self, test):
        self.note(test, "failed", "unexpected success")

    def addFailure(self, test, err):
        self.note(test, "failed", self.last_line(err))

    def addError(self, test, err):
        self.note(test, "error", self.last_line(err))

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.note(test, "failed", self.last_line(err))

    @staticmethod
    def last_line(err):
        return ("%s: %s" % (err[0].__name__, err[1])).splitlines()[0][:200]


def main():
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    from test import support
    from test.libregrtest.setup import setup_tests
    from test.libregrtest.cmdline import _parse_args
    setup_tests(_parse_args([]))
    support.verbose = 0
    support.use_resources = []
    report = Report()
    unittest.defaultTestLoader.loadTestsFromName("test." + sys.argv[1]).run(report)
    json.dump(report.outcomes, answer)
    answer.flush()


if __name__ == "__main__":
    main()
