"""What a suite came to."""
import xml.etree.ElementTree as ElementTree


class Counts:
    def __init__(self, passed=0, failed=0, skipped=0, failures=(), reasons=()):
        self.passed, self.failed, self.skipped = passed, failed, skipped
        self.failures = list(failures)  # names
        self.reasons = list(reasons)  # why something was skipped

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures
        self.reasons += other.reasons
        return self

    def line(self):
        return "%d passed, %d failed, %d skipped" % (self.passed, self.failed, self.skipped)


def failure(name):
    return Counts(failed=1, failures=[name])


def skip(name, why):
    return Counts(skipped=1, reasons=["%s: %s" % (name, why)])


def strict(counts, name):
    """In CI a security test that was not run is a failure."""
    return Counts(counts.passed, counts.failed + counts.skipped, 0,
                  counts.failures + ["not run: " + r for r in counts.reasons] if counts.skipped else counts.failures,
                  ["%s: counted as failed" % name] if counts.skipped else [])


def from_junit(path):
    counts = Counts()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = "%s::%s" % (case.get("classname"), case.get("name"))
        trouble = case.find("failure") if case.find("failure") is not None else case.find("error")
        if trouble is not None:
            counts.add(failure("%s: %s" % (name, " ".join(trouble.get("message", "").split())[:200])))
        elif case.find("skipped") is not None:
            counts.add(skip(name, case.find("skipped").get("message", "")))
        else:
            counts.passed += 1
    return counts
