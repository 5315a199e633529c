#!/usr/bin/env python3
"""embed_presets.py OUT.h FILE…: presets of network rules (policy/net/NAME.rules) as C. One rule a line; a '#' behind it begins its
reason, which every rule has."""
import os
import sys


def rules_of(path):
    rules = []
    with open(path, encoding="ascii") as f:
        for number, line in enumerate(f, 1):
            rule, _, reason = line.partition("#")
            if rule.strip() and not reason.strip():
                sys.exit("%s:%d: a rule without a reason" % (path, number))
            if rule.strip():
                rules.append(rule.strip())
    if not rules:
        sys.exit("%s: no rule" % path)
    return rules


def main():
    out, *files = sys.argv[1:]
    lines = ["/* Made by tools/embed_presets.py. */"]
    for path in files:
        name = os.path.basename(path).removesuffix(".rules")
        lines += ["static const char *const preset_%s[] = {%s, NULL};" % (name, ", ".join('"%s"' % x for x in rules_of(path)))]
    names = [os.path.basename(x).removesuffix(".rules") for x in files]
    lines += ["static const struct {", "    const char *name;", "    const char *const *rules;",
              "} PRESETS[] = {%s, {NULL, NULL}};" % ", ".join('{"%s", preset_%s}' % (x, x) for x in names)]
    lines += ['#define PRESET_NAMES "%s"' % ", ".join(names)]
    with open(out, "w", encoding="ascii") as f:
        f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
