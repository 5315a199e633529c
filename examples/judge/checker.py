"""Accepts numbers that are near enough to what is expected: checker.py INPUT OUTPUT EXPECTED."""
import sys

ACCEPTED, WRONG, PRESENTATION, FAILED = 0, 1, 2, 3


def numbers(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().split()


def judge(output, expected):
    """Exit code and comment."""
    if len(output) != len(expected):
        return WRONG, "%d numbers, expected are %d" % (len(output), len(expected))
    for place, (got, wanted) in enumerate(zip(output, expected), 1):
        try:
            near = abs(float(got) - float(wanted)) <= 1e-6
        except ValueError:
            return PRESENTATION, "number %d is none" % place
        if not near:
            return WRONG, "number %d is off" % place
    return ACCEPTED, "%d numbers" % len(output)


def main():
    try:
        code, comment = judge(numbers(sys.argv[2]), numbers(sys.argv[3]))
    except Exception as error:  # an exception must not look like a verdict: Python would exit with 1
        code, comment = FAILED, repr(error)
    print(comment, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
