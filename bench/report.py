"""Samples → tables, ratios and verdicts."""

import statistics

# (program, kind, limit, against), held against every mode: the row made ahead meets or loses them, the row made when
# asked is printed beside it.
TARGETS = [
    ("true", "difference_ms", 0.65, "bare"),
    ("bash", "ratio", 1.6, "bare"),
    ("bash", "ratio", 0.5, "bwrap"),
    ("python", "ratio", 1.08, "bare"),
]
JUDGED, BESIDE = "cell-ahead", "cell-asked"
MODE_TEXT = {"hot": "back to back", "idle": "after 20 ms idle", "two": "two at once"}


def quantile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


class Table:
    """All samples of one program in one mode."""

    def __init__(self, program, mode, names, lines):
        self.program, self.mode, self.names = program, mode, names
        self.first = {name: [] for name in names}
        self.rounds = {name: {} for name in names}  # round → ms to the end
        self.blocks = {name: [] for name in names}  # (runs, ahead ms, elapsed ms)
        self.failed = dict.fromkeys(names, 0)
        for line in lines:
            self._take(line)

    def _take(self, line):
        if line[0] == "sample":
            _, turn, name, _, first_ns, end_ns = line
            self.rounds[name].setdefault(int(turn), []).append(int(end_ns) / 1e6)
            if int(first_ns) >= 0:
                self.first[name].append(int(first_ns) / 1e6)
        elif line[0] == "block":
            _, _, name, _, runs, ahead_ns, elapsed_ns = line
            self.blocks[name].append((int(runs), int(ahead_ns) / 1e6, int(elapsed_ns) / 1e6))
        elif line[0] == "failed":
            self.failed[line[1]] += int(line[2])

    def ends(self, name):
        return [value for values in self.rounds[name].values() for value in values]

    def ratio(self, name, other):
        """Median over rounds of the ratio of that round's medians; (median, lowest, highest), or None."""
        pairs = self._pairs(name, other)
        ratios = [a / b for a, b in pairs]
        return (statistics.median(ratios), min(ratios), max(ratios)) if ratios else None

    def difference(self, name, other):
        pairs = self._pairs(name, other)
        values = [a - b for a, b in pairs]
        return (statistics.median(values), min(values), max(values)) if values else None

    def _pairs(self, name, other):
        if name not in self.rounds or other not in self.rounds:
            return []
        mine, theirs = self.rounds[name], self.rounds[other]
        return [(statistics.median(mine[turn]), statistics.median(theirs[turn])) for turn in mine if turn in theirs]

    def rows(self):
        return [self._row(name) for name in self.names]

    def _row(self, name):
        ends, first = self.ends(name), self.first[name]
        runs = sum(block[0] for block in self.blocks[name])
        ahead = sum(block[1] for block in self.blocks[name])
        elapsed = sum(block[2] for block in self.blocks[name])
        at_once = 2 if self.mode == "two" else 1
        row = {"program": self.program, "mode": self.mode, "way": name, "n": len(ends), "failed": self.failed[name]}
        if ends:
            row |= {"end_p50_ms": statistics.median(ends), "end_p99_ms": quantile(ends, 0.99),
                    "ahead_ms": ahead / runs if runs else 0, "per_second": at_once * runs / elapsed * 1000,
                    "ratio_bare": self.ratio(name, "bare"), "ratio_bwrap": self.ratio(name, "bwrap")}
        if first:
            row |= {"first_p50_ms": statistics.median(first), "first_p99_ms": quantile(first, 0.99)}
        return row

    def text(self):
        head = (f"\n{self.program}, {MODE_TEXT[self.mode]}   (ms)\n{'way':<12}{'n':>6}{'first p50':>11}{'p99':>8}"
                f"{'end p50':>10}{'p99':>8}{'/ bare':>9} {'[low-high]':<13}{'/ bwrap':>9}{'making':>8}{'per s':>8}")
        return "\n".join([head, *map(_row_text, self.rows())])


def _row_text(row):
    if not row["n"]:
        return f"{row['way']:<12}     0   every run failed ({row['failed']})"
    first = f"{row['first_p50_ms']:>11.2f}{row['first_p99_ms']:>8.2f}" if "first_p50_ms" in row else f"{'-':>11}{'-':>8}"
    bare, bwrap = row["ratio_bare"], row["ratio_bwrap"]
    bare_text = f"{bare[0]:>9.2f} {f'[{bare[1]:.2f}-{bare[2]:.2f}]':<13}" if bare else f"{'-':>9} {'':<13}"
    ahead = f"{row['ahead_ms']:>8.2f}" if row["way"] == "cell-ahead" else f"{'-':>8}"
    # Idle rounds are mostly pause: a rate would say nothing.
    rate = f"{row['per_second']:>8.0f}" if row["mode"] != "idle" else f"{'-':>8}"
    failed = f"   {row['failed']} RUNS FAILED" if row["failed"] else ""
    return (f"{row['way']:<12}{row['n']:>6}{first}{row['end_p50_ms']:>10.2f}{row['end_p99_ms']:>8.2f}{bare_text}"
            f"{f'{bwrap[0]:.2f}' if bwrap else '-':>9}{ahead}{rate}{failed}")


def judge(tables):
    return [_verdict(table, target[1:]) for table in tables for target in TARGETS if target[0] == table.program]


def _verdict(table, target):
    kind, limit, against = target
    find = table.ratio if kind == "ratio" else table.difference
    found, beside = find(JUDGED, against), find(BESIDE, against)
    return {"program": table.program, "mode": table.mode, "kind": kind, "against": against, "limit": limit,
            JUDGED: found, BESIDE: beside, "met": found[0] <= limit if found else None}


def verdicts_text(verdicts):
    lines = [f"\nTargets, held against {JUDGED}; {BESIDE} beside it (median over rounds of paired rounds, [low-high])"]
    for verdict in verdicts:
        name = f"{verdict['program']}, {MODE_TEXT[verdict['mode']]}"
        if verdict["kind"] == "ratio":
            what, unit = f"<= {verdict['limit']:.2f} x {verdict['against']}", "x"
        else:
            what, unit = f"<= {verdict['against']} + {verdict['limit']:.2f} ms", "ms"
        found, beside = (_spread(verdict[way], unit) for way in (JUDGED, BESIDE))
        mark = {True: "met ", False: "LOST", None: "-   "}[verdict["met"]]
        lines.append(f"  {name:<26}{what:<20}{found:<26}{mark}   {BESIDE}: {beside}")
    return "\n".join(lines)


def _spread(found, unit):
    return f"{found[0]:>7.2f} {unit:<3}[{found[1]:.2f}-{found[2]:.2f}]" if found else "not measured"


def commands_text(program, ways):
    lines = [f"\ncommand lines, {program}:"]
    for way in ways:
        text = " ".join(way.argv)
        if way.cell:
            how = f"{way.ahead} cells kept made ahead" if way.ahead else "nothing made ahead"
            text = f"snapcell_run() on one plan, {how}: {text}"
        elif way.filter:
            text += f"   9<{way.filter}"
        lines.append(f"  {way.name:<11} {text}")
    return "\n".join(lines)
