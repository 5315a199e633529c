#!/usr/bin/env python3
"""Writes docs/claims.md from the claims in tests/claims/. With --check it writes nothing and exits 1 when it is stale."""
import ast
import glob
import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(TOP, "docs", "claims.md")

HEAD = """# Claims

What a cell promises, each line held by a test that attempts the thing inside a cell and has an allowed twin. This file is
written by `tools/gen_claims.py` from `tests/claims/`; do not edit it.

`tests/run --only claims` runs them all as root and as an ordinary user, `tests/vm/run` once more under another kernel
with control groups version 2 and AppArmor, and `tests/faults/` takes each stage away and sees one of them fail. "Needs"
names what has to be there for a promise to be made: *memory*, *cpu*, *cpus* are control groups that can limit them
(`snapcell doctor` tells), *root* is a cell made by root, *apparmor* a loaded profile `snapcell-cell`.

What is not promised stands in [limits-of-isolation.md](limits-of-isolation.md).
"""


def module_lists(tree):
    """Values of top-level lists such as LAYERS."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List):
            found[node.targets[0].id] = [ast.literal_eval(x) for x in node.value.elts]
    return found


def value(node, lists):
    """A literal, a name of a top-level list, or a sum of those."""
    if isinstance(node, ast.Name):
        return lists[node.id]
    if isinstance(node, ast.BinOp):
        return value(node.left, lists) + value(node.right, lists)
    return ast.literal_eval(node)


def claims_of(path):
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read(), path)
    lists = module_lists(tree)
    for node in tree.body:
        for decorator in getattr(node, "decorator_list", []):
            if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "claim":
                identity, sentence, layers = [value(a, lists) for a in decorator.args]
                needs = next((value(k.value, lists) for k in decorator.keywords if k.arg == "needs"), [])
                yield identity, sentence, layers, needs, node.name


def chapter(path):
    with open(path, encoding="utf-8") as f:
        title = ast.get_docstring(ast.parse(f.read()))
    name = os.path.basename(path)
    lines = ["", "## " + title.split(". ")[0].rstrip(".").replace("\n", " "), "", "`tests/claims/%s`" % name, "",
             "| id | claim | layers | needs |", "|---|---|---|---|"]
    for identity, sentence, layers, needs, _ in claims_of(path):
        lines.append("| `%s` | %s | %s | %s |" % (identity, sentence.replace("|", "\\|"), ", ".join(layers),
                                                  ", ".join(needs) or "–"))
    return lines


def document():
    lines = []
    for path in sorted(glob.glob(os.path.join(TOP, "tests", "claims", "test_*.py"))):
        lines += chapter(path)
    return HEAD + "\n".join(lines) + "\n"


def main():
    text = document()
    if "--check" in sys.argv[1:]:
        try:
            with open(OUT, encoding="utf-8") as f:
                stale = f.read() != text
        except OSError:
            stale = True
        if stale:
            print("docs/claims.md is stale: run tools/gen_claims.py")
        return 1 if stale else 0
    with open(OUT, "w", encoding="utf-8") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
