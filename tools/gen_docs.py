#!/usr/bin/env python3
"""Writes the tables of docs/spec.md from the sources that own them, between markers:

    <!-- table:NAME --> ... <!-- end:NAME -->

limits comes from src/spec/limits.def, languages from src/spec/lang.c, degraded from enum sc_degrade in
src/spec/spec.h. Also holds that docs/result.md describes every status and every name in limits_hit.

With --check nothing is written, and the exit status is 1 when a table is stale or a name is missing."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NS_PER_MS = 10**6
NS_PER_S = 10**9
MIB = 1 << 20

ROW = re.compile(r"^LIMIT\((\w+), (\w+), ([^,]+), ([^,]+), ([^,]+), \"(\w+)\",\s*((?:\"[^\"]*\"\s*)+)\)", re.M)


def number(text):
    """Value of a C integer expression of the table; None for SC_DERIVED and SC_UNSET."""
    text = text.strip()
    if text in ("SC_DERIVED", "SC_UNSET"):
        return None
    text = text.replace("SC_NS_PER_MS", str(NS_PER_MS)).replace("SC_NS_PER_S", str(NS_PER_S))
    text = re.sub(r"\bull\b|(?<=\d)ull\b", "", text.replace("SC_MIB", str(MIB)))
    if not re.fullmatch(r"[\d\s*<]+", text):
        raise SystemExit(f"limits.def: cannot read the number {text!r}")
    return eval(text)  # digits, * and << only


def shortest(value, units):
    for suffix, scale in units:
        if value and value % scale == 0:
            return f"{value // scale}{suffix}"
    return str(value)


def shown(kind, value):
    """As an option takes it and sc_limit_format writes it."""
    if kind == "DURATION":
        return shortest(value, (("h", 3600 * NS_PER_S), ("m", 60 * NS_PER_S), ("s", NS_PER_S), ("ms", NS_PER_MS)))
    if kind == "BYTES":
        return shortest(value, (("T", 1 << 40), ("G", 1 << 30), ("M", MIB), ("K", 1 << 10), ("B", 1)))
    if kind == "MILLI":
        return f"{value / 1000:g}"
    return str(value)


def limits():
    text = (ROOT / "src/spec/limits.def").read_text()
    rows = ROW.findall(text)
    if len(rows) != len(re.findall(r"^LIMIT\(", text, re.M)):
        raise SystemExit("limits.def: a row was not understood")
    yield "| option | JSON field of `limits` | least | most | default | what it limits |"
    yield "|---|---|---|---|---|---|"
    for name, kind, low, high, standard, field, words in rows:
        standard = {"SC_DERIVED": "derived", "SC_UNSET": "none"}.get(standard.strip()) or shown(kind, number(standard))
        description = " ".join(re.findall(r"\"([^\"]*)\"", words))
        yield (f"| `--{name.replace('_', '-')}` | `{field}` | {shown(kind, number(low))} | {shown(kind, number(high))} "
               f"| {standard} | {description} |")


def languages():
    text = (ROOT / "src/spec/lang.c").read_text()
    table = text[text.index("SC_LANG_ROWS[] = {"):]
    table = table[:table.index("{0},")]
    rows = re.findall(r"\{SC_LANG_\w+,\s*\"(\w+)\",\s*\{([^}]*)\},\s*\{([^}]*)\},\s*([^,]+),\s*([^}]+)\}", table)

    def words(part):
        return " ".join(f"`{word}`" for word in re.findall(r"\"([^\"]*)\"", part)) or "–"

    yield "| language | suffixes | words in a `#!` line | interpreter in the cell |"
    yield "|---|---|---|---|"
    for name, suffixes, shebangs, interpreter, _ in rows:
        yield (f"| `{name}` | {words(suffixes)} | {words(shebangs)} "
               f"| {words(interpreter) if 'NULL' not in interpreter else 'the program itself'} |")


def degraded():
    text = (ROOT / "src/spec/spec.h").read_text()
    body = text[text.index("enum sc_degrade {"):]
    body = body[:body.index("};")]
    yield "| name | what is accepted |"
    yield "|---|---|"
    for name, words in re.findall(r"SC_DEGRADE_(\w+) = 1 << \d+,\s*/\*\s*(.*?)\s*\*/", body, re.S):
        yield f"| `{name.lower()}` | {' '.join(words.split())} |"


TABLES = {"limits": limits, "languages": languages, "degraded": degraded}


def with_tables(text):
    for name, rows in TABLES.items():
        start, end = f"<!-- table:{name} -->\n", f"<!-- end:{name} -->"
        if text.count(start) != 1 or text.count(end) != 1:
            raise SystemExit(f"docs/spec.md: the markers of table {name} must stand there once")
        before, rest = text.split(start)
        text = before + start + "\n".join(rows()) + "\n" + end + rest.split(end)[1]
    return text


def missing_names():
    """Names that the result's writer may use and docs/result.md does not describe."""
    source = (ROOT / "src/result/result.c").read_text()
    names = re.findall(r"\[SC_STATUS_\w+\] = \"(\w+)\"", source)
    hits = source[source.index("SC_HIT_NAMES[] = {"):]
    names += re.findall(r"\"(\w+)\"", hits[:hits.index("};")])
    page = (ROOT / "docs/result.md").read_text()
    return [name for name in names if f"`{name}`" not in page]


def main():
    page = ROOT / "docs/spec.md"
    old = page.read_text()
    new = with_tables(old)
    missing = missing_names()
    for name in missing:
        print(f"docs/result.md: {name} is not described", file=sys.stderr)
    if "--check" in sys.argv[1:]:
        if new != old:
            print("docs/spec.md is stale: run tools/gen_docs.py", file=sys.stderr)
        return 1 if missing or new != old else 0
    page.write_text(new)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
