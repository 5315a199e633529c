#!/usr/bin/env python3
"""Turns a file into a C array: embed.py FILE NAME OUT.c. The agent travels inside the library this way."""
import sys

data = open(sys.argv[1], "rb").read()
name = sys.argv[2]
rows = ["    " + ",".join(str(b) for b in data[i:i + 24]) + "," for i in range(0, len(data), 24)]
with open(sys.argv[3], "w") as out:
    out.write("#include <stddef.h>\n\n/* Made by tools/embed.py; see src/agent/meson.build. */\n")
    out.write(f"extern const unsigned char {name}[];\nextern const size_t {name}_len;\n")
    out.write(f"const unsigned char {name}[] = {{\n" + "\n".join(rows) + f"\n}};\nconst size_t {name}_len = sizeof {name};\n")
