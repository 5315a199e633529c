"""Loads a template's prelude as its warm interpreter would.

    python3 prelude.py CODE-FILE MODULE...      (CODE-FILE may be "")

Exits 0, or 1 after a line that says what failed and its traceback.
"""
import importlib
import sys
import traceback


def fail(what):
    print("%s:\n%s" % (what, traceback.format_exc()), file=sys.stderr, flush=True)
    sys.exit(1)


def main():
    path, names = sys.argv[1], sys.argv[2:]
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException:
            fail("import %s" % name)
    if path:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            exec(compile(text, "<prelude>", "exec"), {"__name__": "__prelude__"})
        except BaseException:
            fail("code")


main()
