#!/usr/bin/env python3
"""The names of Python's standard modules as a C table: gen_stdlib.py OUT.h."""
import sys

names = sorted(sys.stdlib_module_names)
with open(sys.argv[1], "w", encoding="utf-8") as out:
    out.write("/* Made by tools/gen_stdlib.py; sorted. */\nstatic const char *const STDLIB_MODULES[] = {\n")
    out.writelines('    "%s",\n' % name for name in names)
    out.write("};\n")
