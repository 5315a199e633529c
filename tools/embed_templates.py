#!/usr/bin/env python3
"""embed_templates.py OUT FILE…: C source of SC_RECIPES (src/snap/recipe.h): each built-in template's name and text."""
import json
import os
import sys


def main():
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write('#include "snap/recipe.h"\n\nconst struct sc_recipe_text SC_RECIPES[] = {\n')
        for path in sys.argv[2:]:
            with open(path, encoding="ascii") as file:
                text = file.read()
            lines = "\n".join("     " + json.dumps(line).replace("?", "\\?") for line in text.splitlines(keepends=True))
            out.write('    {"%s",\n%s,\n     %d},\n' % (os.path.basename(path).removesuffix(".json"), lines, len(text)))
        out.write("    {0, 0, 0},\n};\n")


if __name__ == "__main__":
    main()
