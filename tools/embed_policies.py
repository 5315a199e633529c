#!/usr/bin/env python3
"""embed_policies.py OUT FILE…: C source of SC_POLICIES (src/check/policies.h): each rule file's name and text."""
import os
import sys


def main():
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write('#include "check/policies.h"\n\n')
        names = []
        for path in sys.argv[2:]:
            with open(path, "rb") as file:
                data = file.read()
            name = os.path.basename(path).removesuffix(".scm")
            variable = "TEXT_" + name.replace("-", "_")
            rows = ["    " + ",".join(map(str, data[i:i + 32])) + "," for i in range(0, len(data), 32)]
            out.write("static const char %s[] = {\n%s 0};\n" % (variable, "\n".join(rows)))
            names.append((name, variable))
        out.write("const struct sc_policy SC_POLICIES[] = {\n")
        out.writelines('    {"%s", %s, sizeof %s - 1},\n' % (name, text, text) for name, text in names)
        out.write("    {0, 0, 0},\n};\n")


if __name__ == "__main__":
    main()
