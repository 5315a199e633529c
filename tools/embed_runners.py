#!/usr/bin/env python3
"""embed_runners.py FOLDER OUT FILE…: C source of SC_RUNNER_FILES (src/plan/runners.h): each file's path and text."""
import json
import os
import sys


def quoted(text):
    """C string literals, a line each. JSON's escapes are C's, but for \\u, which no ASCII text needs."""
    lines = text.splitlines(keepends=True) or [""]
    return "\n".join("        " + json.dumps(line).replace("?", "\\?") for line in lines)


def main():
    folder, out, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(out, "w", encoding="ascii") as f:
        f.write('#include "plan/runners.h"\n\nconst struct sc_runner_file SC_RUNNER_FILES[] = {\n')
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as source:
                text = source.read()
            if not text.isascii() or "\0" in text:
                sys.exit("embed_runners: %s: only ASCII text can be embedded" % name)
            f.write('    {"/snapcell/%s",\n%s},\n' % (name, quoted(text)))
        f.write("    {NULL, NULL},\n};\n")


if __name__ == "__main__":
    main()
