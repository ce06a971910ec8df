#!/usr/bin/env python3
"""Computes every printed figure of a run a second time, from its records alone.

    scripts/recompute.py FOLDER=PAGE...   pages of `brigade report FOLDER --format markdown`
    scripts/recompute.py DOCUMENT...      Markdown files with blocks that `--update` writes

The rules are those of docs/STATISTICS.md and docs/MEASURING.md; nothing here is taken from the
runner. Of a folder it reads records.jsonl and run.json (estimates.py); suite.toml says which
cases the rows of a table are of. It also checks that the printed parts of a time add up, and
that a page prints each figure of a run alike. It prints how many figures it compared and what
is wrong, and exits with 1 if something is. Needs Python 3.11 and no package.
"""

import functools
import html
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from estimates import BOTH, SUITE, Run, Taken, lower_quartile, median, modes, outlier

ROOT = Path(__file__).resolve().parent.parent
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e\d+)?")
nudge = 1.0  # a figure on the edge between two roundings may be printed either way


def digits(value):
    value *= nudge
    size = abs(value)
    if size < 0.005:
        return "0.00"
    if size >= 9999.5:
        return re.sub(r"e\+0?", "e", f"{value:.0e}")
    return f"{value:.{2 if size < 9.995 else 1 if size < 99.95 else 0}f}"


def unit_of(ns):
    return next((u for u in ((1, "ns"), (1e3, "µs"), (1e6, "ms")) if abs(ns) / u[0] < 999.5),
                (1e9, "s"))


def unit_of_bytes(value):
    units = ((1, "B"), (1024, "KiB"), (1024**2, "MiB"), (1024**3, "GiB"))
    return next(u for u in units if abs(value) / u[0] < 1023.5 or u[1] == "GiB")


def interval(of, scale):
    return "[–]" if not of.ends else "[" + ", ".join(digits(end / scale) for end in of.ends) + "]"


def shown(of, unit=unit_of):
    if unit is None:
        return f"{digits(of.value)} {interval(of, 1)} times"
    scale, symbol = unit(of.value)
    return f"{digits(of.value / scale)} {symbol} {interval(of, scale)}"


def brief(of, unit=unit_of):
    if of is None:
        return "–"
    scale, symbol = unit(of.value)
    share = of.half_width()
    share = "–" if share is None else "< 1" if share < 0.005 else f"{100 * share:.0f}"
    return f"{digits(of.value / scale)} {symbol} ± {share} %"


def optional(value, scale=1):
    return "–" if value is None else digits(value / scale)


class Check:
    """What was compared, and what differs."""

    def __init__(self):
        self.figures, self.faults, self.text = 0, [], 0
        self.printed = {}  # what a document prints for a quantity of a run

    def same(self, where, printed, render):
        global nudge
        found = []
        for nudge in (1 - 1e-9, 1 + 1e-9, 1.0):
            found.append(str(render()))
        self.figures += len(NUMBER.findall(printed))
        if printed not in found:
            self.faults.append(f"{where}: printed {printed!r}, recomputed {found[-1]!r}")

    def once(self, where, quantity, printed):
        before = self.printed.setdefault(quantity, printed)
        if before != printed:
            self.faults.append(f"{where}: {quantity[1:]} is both {before!r} and {printed!r}")

    def adds_up(self, where, whole, parts, allowance=0.0):
        """Whether signed printed parts add up to what is printed as the whole."""
        def error(text):
            return 0.5 * 10 ** -len(text.partition(".")[2])
        off = abs(float(whole) - sum(sign * float(part) for sign, part in parts))
        if off > error(whole) + sum(error(p) for _, p in parts) + allowance * float(whole) + 1e-9:
            self.faults.append(f"{where}: {whole} is not the sum of {parts}")


def plain(text):
    """Text without markup, in which the id of a case stands for its title."""
    before = r"(^(?:- )?(?:not within ± [\d.]+ %: )?| [/−] |; )"
    text = re.sub(before + r"((?!<sub>|; ).)*? <sub>(.*?)</sub>", r"\1\3", text)
    return html.unescape(re.sub(r"\\(.)", r"\1", text))


def check_lines(check, run, where, lines):
    """Compares the lines of a page or of a block of one."""
    headings, rows, waiting = None, None, {}
    for number, line in lines:
        at = f"{where}:{number}"
        if not line.startswith("|"):
            headings = None
            check_text(check, run, at, plain(line))
            continue
        cells = [plain(cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if headings is None:
            headings, rows = cells, table_rows(check, run, cells, waiting)
            next(rows)
        elif not set("".join(cells)) <= set("-:"):
            try:
                rows.send((at, cells))
            except (LookupError, ValueError, AttributeError, StopIteration) as error:
                check.faults.append(f"{at}: no figures for this row: {error!r}")


def table_rows(check, run, headings, waiting):
    """Receives the rows of a table and compares them."""
    cases, id_of = run.cases, run.folder
    found = {name: case for name, case in cases.items() if case.measurements}
    headline = [of for of in SUITE["headline"] if of["case"] in found and (
        "over" not in of or of["over"] in found) and ("minus" not in of or of["minus"] in found)]
    kinds = [kind for kind in SUITE["kind"]
             if any(kind.get(key) in found for key in ("hop", "create", "memory"))]
    before = (0.0, None)
    while True:
        at, cells = yield
        row = dict(zip(headings, cells))

        def same(heading, render, words=""):
            check.same(f"{at} {cells[0]} {heading}", row[heading].removeprefix(words), render)

        def once(quantity, printed):
            check.once(at, (id_of, *quantity), re.match(r"[^\[±]*", printed)[0].strip())

        def estimate(heading, of, unit, quantity):
            same(heading, lambda: shown(of, unit))
            once(quantity, row[heading])

        def unlike(text, *of_cases):
            tasks = [of.records[0]["parameters"].get("tasks") or of.records[0]["tasks"]
                     for of in of_cases if of]
            for printed in re.findall(r"tasks \d+ / \d+", text):
                check.same(f"{at} unlike", printed, lambda: "tasks {} / {}".format(*tasks))

        if headings[0] == "in short":
            of = headline.pop(0)
            case, measurement = run.named(of["case"])
            measurement = BOTH if of.get("whole") and BOTH in case.time else measurement
            sign, key = ("/", "over") if "over" in of else ("−", "minus")
            other = cases[of[key]] if key in of else None
            if not cells[0].startswith(of["text"]):
                raise ValueError(of["text"])
            memory = of.get("memory")
            figure = (case.memory["= sum"] if memory
                      else run.row(case, measurement, sign, other, of.get("whole")))
            unit = None if "over" in of else unit_of_bytes if memory else unit_of
            what = ("= sum",) if memory else (measurement,)
            estimate("[95 % interval]", figure, unit,
                     (case.name, *what) + ((sign, other.name) if other else ()))
            same("n", lambda: figure.n)
            unlike(cells[0], case, other)
        elif headings[0] == "kind":
            of = kinds.pop(0)
            if not cells[0].startswith(of["text"]):
                raise ValueError(of["text"])
            hop, create, memory = (found.get(of.get(key)) for key in ("hop", "create", "memory"))
            for key, case in (("hop", hop), (BOTH, create)):
                name = case and (BOTH if key == BOTH and BOTH in case.time
                                 else case.measurements[0])
                same(key, lambda: brief(case and case.time[name]))
                if case:
                    once((case.name, name), row[key])
            same("memory", lambda: brief(memory and memory.memory.get("= sum"), unit_of_bytes))
            if memory:
                once((memory.name, "= sum"), row["memory"])
            same("sw/hop", lambda: optional(hop and hop.median_of(
                "switches", "voluntary_per_operation", "involuntary_per_operation")))
        elif headings[:3] == ["case", "op", "time [95 %]"]:
            if cells[0]:
                before = 0, run.named(cells[0])[0]
            index, case = before
            whole = row["op"] == "whole"
            before = index + (not whole), case
            name = BOTH if whole else case.measurements[index]
            time = case.time[name]
            estimate("time [95 %]", time, unit_of, (case.name, name))
            scale = unit_of(time.value)[0]
            for heading, fewest in (("p50", 2), ("p90", 10), ("p99", 100), ("p99.9", 1000)):
                if heading in row:
                    key = heading.replace(".", "") + "_ns"
                    same(heading, lambda: optional(
                        None if whole else case.percentile(name, key, fewest), scale))
            index += whole
            if "cpu" in row:
                same("cpu", lambda: optional(None if index else case.median_of(
                    "cpu", "user_ns_per_operation", "system_ns_per_operation"), scale))
                same("sw/op", lambda: optional(None if index else case.median_of(
                    "switches", "voluntary_per_operation", "involuntary_per_operation")))
            disturbed = any(level for level, *_ in case.measured) or case.taken.is_notable()
            same("n", lambda: f"{time.n}{'!' if case.uses_unusable else '~' * disturbed}")
        elif headings[0] == "one case over or minus another":
            first, sign, name = re.split(" ([/−]) ", cells[0])
            case, measurement = run.named(first)
            whole = any(of.get("whole") and of["case"] == first and name in of.values()
                        for group in SUITE["group"] for of in group.get("comparisons", []))
            measurement = BOTH if whole and BOTH in case.time else measurement
            figure = run.row(case, measurement, sign, cases[name], whole)
            estimate("[95 % interval]", figure, None if sign == "/" else unit_of,
                     (case.name, measurement, sign, name))
            same("n", lambda: figure.n)
            unlike(row["unlike"], case, cases[name])
        elif headings[0] == "where the time goes":
            case = run.named(cells[0])[0]
            scale, symbol = unit_of(case.shares["elapsed"].value)
            elapsed = lower_quartile([of["elapsed"] for of in case.parts])
            parts_of = {"elapsed": elapsed} | {k: case.shares[k] for k in ("user", "kernel")}
            for heading, of in parts_of.items():
                same(heading, lambda: digits(of.value / scale))
            crossing = case.median_of("switches", "cross_cpu_share")
            same("cross", lambda: "–" if crossing is None else f"{100 * crossing:.0f} %")
            texts = [("", case.shares["waiting"]), ("overlap ", case.shares["overlap"])]
            texts = [of for of in texts if of[1].value > 0]
            seen = [of for of in texts if digits(of[1].value / scale) != "0.00"]
            same(headings[-1], lambda: ", ".join(
                f"{word}{digits(of.value / scale)} {interval(of, scale)}"
                for word, of in seen or texts) or "–", "for the child ")
            rest = [(-1 if overlap else 1, figure) for overlap, figure in
                    re.findall(r"(overlap )?(\d\S*) \[", cells[-1])]
            waiting[case.name] = next((figure for sign, figure in rest if sign > 0), None)
            check.adds_up(f"{at} {cells[0]}", row["elapsed"],
                          [(1, row["user"]), (1, row["kernel"])] + rest, 0.01)
        elif headings[0] == "what the waiting is for":
            case = run.named(cells[0])[0]
            scale = unit_of(case.shares["elapsed"].value)[0]
            for name in ("asleep", "queued"):
                same(name, lambda: digits(case.shares[name].value / scale))
            waking, rest = case.shares["waking"], case.shares["rest"].value
            same("waking [95 %]", lambda: (
                f"{digits(waking.value / scale)} {interval(waking, scale)}"))
            same("rest", lambda: digits((rest + case.shares["stolen"].value) / scale))
            entries = [sum(state["entries_per_operation"] for state in of["waiting"]["idle_states"])
                       for of in case.records if of["waiting"] and of["waiting"]["idle_states"]]
            calls = case.median_of("waiting", "reschedules_per_operation", "calls_per_operation")
            same("idle/op", lambda: "–" if not entries else f"{median(entries) * nudge:.2f}")
            same("ipi/op", lambda: "–" if calls is None else f"{calls * nudge:.2f}")
            if waiting.get(case.name):
                check.adds_up(f"{at} {cells[0]}", waiting[case.name],
                              [(1, cells[i].split(" ")[0]) for i in (2, 3, 4, 5)])
        elif headings[0] == "memory per task":
            before = (0, cells[0] and cases[cells[0]]) if cells[0] else before
            case, figure = before[1], before[1].memory[cells[1]]
            estimate("[95 % interval]", figure, unit_of_bytes, (case.name, cells[1]))
            same("n", lambda: figure.n)
        else:
            raise ValueError("an unknown table")


def check_text(check, run, at, line):
    """A line that is no row: what is known of the run, or text that has no figures of it."""
    quality, wide, target = run.quality()
    spread = re.match(r"- (.+?): (two modes|one of|of) (.+)", line)
    of_times = re.search(r"(Half|Few) of this run's", line)
    if of_times:
        verdict = line[:of_times.start()]
        check.same(at, line[len(verdict):], lambda: quality)
        of = Taken(cases=[case.taken for case in run.cases.values()])
        share, noise = of.share(), of.noise() / of.all
        word = "Do" if share > 0.05 else "Busy:" if share > 0.02 else "Quiet"
        figures = of.figures() if share > 0.02 else [f"{100 * noise:.0f}"] * (noise > 0.02)
        word = "No" if share <= 0.02 and of.others is None else word
        check.same(at, " ".join([verdict.split(" ")[0].rstrip(".,")] + NUMBER.findall(verdict)),
                   lambda: " ".join([word, *figures]))
    elif shared := re.match(r"- (.+?): of its CPU time (.+)", line):
        check.same(at, " ".join(NUMBER.findall(shared[2])),
                   lambda: " ".join(run.cases[shared[1]].taken.figures()))
    elif line.startswith("- wider than ±"):
        check.figures += len(NUMBER.findall(line))
        rest = line.removeprefix(f"- wider than ± {target:g} %: ").removesuffix(".")
        for entry in sorted(wide, key=len, reverse=True):
            if entry not in rest:
                check.faults.append(f"{at}: lacks {entry!r}")
            rest = rest.replace(entry, "", 1)
        if rest.strip("; "):
            check.faults.append(f"{at}: printed {rest.strip('; ')!r}, which is not so")
    elif spread and spread[2] != "of":
        case, name = run.named(spread[1])
        values = case.values(name)

        def expected():
            if spread[2] == "one of":
                return f"one of {len(values)} processes took {duration(outlier(values))}"
            (fast, of), (slow, others) = modes(values)
            return (f"two modes: {duration(fast)} in {100 * of:.0f} % of processes, "
                    f"{duration(slow)} in {100 * others:.0f} %.")
        check.same(at, re.split(", far from|: too few", line.split(": ", 1)[1])[0], expected)
    elif spread:
        case = run.cases[spread[1]]
        levels = [level for level, *_ in case.measured]
        worst = max(enumerate(case.measured), key=lambda of: (of[1][0], of[0]))[1][1]
        counts = [len(levels)] + [n for n in (levels.count(1), levels.count(2)) if n]
        check.same(at, " ".join(NUMBER.findall(line.split(": ", 1)[1])),
                   lambda: " ".join(f"{figure:.0f}" for figure in counts + worst))
    elif invocations := re.match(
            r"(\d+)(?: of \d+)? invocations.* (\d+)\+? rounds, seed (\d+)", line):
        check.same(at, " ".join(invocations.groups()), lambda: "{} {} {}".format(
            len(run.lines), run.plan["rounds"], run.plan["seed"]))
    elif line.startswith("A run of"):
        check.same(at, line.split()[3].rstrip(",."), lambda: run.plan["started_at"])
    elif NUMBER.search(line):
        check.text += 1


def duration(ns):
    scale, symbol = unit_of(ns)
    return f"{digits(ns / scale)} {symbol}"


def main(arguments):
    check, run_of = Check(), functools.cache(Run)
    for argument in arguments:
        folder, _, page = argument.rpartition("=")
        lines = list(enumerate(Path(page).read_text().split("\n"), 1))
        check.printed = {}
        if folder:
            run = run_of(Path(folder))
            check_lines(check, run, page, lines)
            check.faults += [f"{page}: lacks {case.name}, {name}" for case in run.cases.values()
                             for name in (["= sum"] if "= sum" in case.memory
                                          else case.measurements)
                             if (run.folder, case.name, name) not in check.printed]
            continue
        block, first = None, None
        for number, line in lines:
            if start := re.match(r"<!-- brigade report (\S+) (\S+) -->", line):
                first = first or start[1]
                block = run_of(ROOT / start[1]), []
            elif line == "<!-- end -->" and block:
                check_lines(check, block[0], page, block[1])
                block = None
            elif block:
                block[1].append((number, line))
            for case, _, part, printed in re.findall(
                    r"<!-- figure (\S+)( (\S+))? -->(.*?)<!-- end -->", line):
                of = run_of(ROOT / first).cases[case]
                name = part or of.measurements[0]
                check.same(f"{page}:{number} {case}", printed, lambda: shown(of.time[name]))
                check.once(f"{page}:{number}", (ROOT / first, case, name), printed.split(" [")[0])
    for fault in check.faults:
        print(fault)
    print(f"{check.figures} figures compared, {len(check.faults)} differ; {check.text} lines "
          "of text have other numbers")
    return 1 if check.faults or not check.figures else 0


if __name__ == "__main__":
    if "--help" in sys.argv:
        print(__doc__)
        sys.exit()
    sys.exit(main(sys.argv[1:]))
