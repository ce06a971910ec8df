#!/usr/bin/env python3
"""Computes every printed figure a second time, from the records alone.

    scripts/recompute.py FOLDER OUTPUT...     what `brigade report FOLDER` prints: .json, .csv, .md
    scripts/recompute.py OLD NEW COMPARISON   what `brigade compare OLD NEW --format json` prints
    scripts/recompute.py --method RUNS        the figures of docs/STATISTICS.md, from folders of runs
                                              of one build on one machine
    scripts/recompute.py --speed RUNS         by how much the machine changed its speed in each run

The rules are those of docs/STATISTICS.md; nothing here is taken from the runner. Of a folder it
reads records.jsonl and run.json. It prints how many figures it compared and what is wrong, and
exits with 1 if something is. Needs Python 3.11 and no package.
"""

import csv
import html
import json
import math
import random
import re
import statistics
import sys
import tomllib
from itertools import combinations
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[1]
SUITE = tomllib.loads((ROOT / "suite.toml").read_text())
PROGRAMS = SUITE["programs"]
HOW_LONG = {"iters", "max-time", "warmups"}
WIDER = math.sqrt(3)  # for processes that depend on one another
MARGIN = 1.03
BEYOND_EARLIER = 1.5


# Names of cases.

def flags_of(words):
    """A dictionary of the flags of a command line; `true` if one has no value."""
    words, flags = list(words), {}
    while words:
        flag = words.pop(0).removeprefix("--")
        flags[flag] = words.pop(0) if words and not words[0].startswith("--") else "true"
    return flags


def name(program, flags):
    """The name of a case from its program and a dictionary of flags: flags in the order of their
    names, without defaults and those that say how long to measure."""
    flags = {key.replace("_", "-"): str(value) for key, value in flags.items()}
    words = [program] + ([flags.pop("subcommand")] if "subcommand" in flags else [])
    defaults = PROGRAMS.get(program, {}).get("defaults", "")
    left_out = flags_of(defaults.split()) if isinstance(defaults, str) else defaults
    left_out = {"placement": "free", **left_out}
    for key, value in sorted(flags.items()):
        if key not in HOW_LONG and left_out.get(key) != value:
            words += [f"--{key}"] + [value] * (value != "true")
    return " ".join(words)


def name_of_line(line):
    """The name of a case from a command line."""
    program, *words = line.split()
    subcommand = {"subcommand": words.pop(0)} if words and words[0][0] != "-" else {}
    return name(program, flags_of(words) | subcommand)


# Statistics.

def quantile(values, p):
    """Type 7 of Hyndman and Fan."""
    ordered, at = sorted(values), p * (len(values) - 1)
    low, high = ordered[math.floor(at)], ordered[math.ceil(at)]
    return low + (high - low) * (at - math.floor(at))


def median(values):
    known = [value for value in values if value is not None]
    return quantile(known, 0.5) if known else None


def order_statistic(ordered, tail):
    """The lower end of the median's interval that leaves `tail` below it, after Hettmansperger and
    Sheather; None if the sample is too small. Of the mirrored sample, the upper end."""
    n, below = len(ordered), [0.0]  # P(B < r), B binomial
    for r in range(n):
        below.append(below[-1] + math.comb(n, r) / 2**n)
    r = max(r for r in range(n + 1) if below[r] <= tail)
    if r == 0:
        # The range of five values is one of 94 %.
        return ordered[0] if n == 5 and tail >= 0.025 else None
    weight = (n - r) * (tail - below[r])
    weight /= weight + r * (below[r + 1] - tail)
    return ordered[r - 1] + (ordered[r] - ordered[r - 1]) * weight


class Figure:
    """The median of a sample and the ends of its interval, or None."""

    def __init__(self, value, ends, n):
        self.value, self.ends, self.n = value, ends, n

    @classmethod
    def of(cls, values, confidence=0.95, wider=WIDER):
        if not values:
            return None
        up, tail = sorted(values), (1 - confidence) / 2
        value, low = median(up), order_statistic(sorted(values), tail)
        if low is None:
            return cls(value, None, len(up))
        high = -order_statistic([-value for value in reversed(up)], tail)
        if low > 0:
            ends = tuple(value * (end / value) ** wider for end in (low, high))
        else:
            ends = tuple(value + (end - value) * wider for end in (low, high))
        return cls(value, ends, len(up))

    def map(self, f):
        return Figure(f(self.value), self.ends and tuple(map(f, self.ends)), self.n)

    def minus(self, other):
        """After Zou and Donner: the distances of both, squared and added."""
        value, ends = self.value - other.value, None
        if self.ends and other.ends:
            ends = (value - math.hypot(self.value - self.ends[0], other.ends[1] - other.value),
                    value + math.hypot(self.ends[1] - self.value, other.value - other.ends[0]))
        return Figure(value, ends, min(self.n, other.n))

    def over(self, other):
        return self.map(math.log).minus(other.map(math.log)).map(math.exp)


def paired(first, second, combine, confidence=0.95, wider=WIDER):
    """The figure of the rounds that both have, from dictionaries by round; of their medians if there
    is no such round. `combine` is a difference, of logarithms if it is a ratio."""
    pairs = [combine(first[of], second[of]) for of in first if of in second]
    if not pairs:
        return Figure(combine(median(first.values()), median(second.values())), None, 0)
    middle, plain = median(pairs), Figure.of(pairs, confidence, wider=1)
    ends = plain.ends and tuple(middle + (end - middle) * wider for end in plain.ends)
    return Figure(middle, ends, len(pairs))


def paired_ratio(first, second, confidence=0.95, wider=WIDER):
    logarithm = lambda a, b: math.log(a / b)
    return paired(first, second, logarithm, confidence, wider).map(math.exp)


def paired_difference(first, second):
    return paired(first, second, lambda a, b: a - b)


# Records.

def is_used(line):
    record = line["record"]
    throttled = record and record["interference"].get("throttled_periods") or [0]
    return (line["outcome"] == "measured" and not line["interrupted"]
            and not line.get("stopped_ns") and not throttled[0])


CPU = ("user_ns_per_operation", "system_ns_per_operation")
SWITCHES = ("voluntary_per_operation", "involuntary_per_operation")
PERCENTILES = {"p50": 2, "p90": 10, "p99": 100, "p999": 1000}  # and how many samples they need
LEDGER = {"user memory": "proportional", "page tables": "page_table",
          "kernel stacks": "kernel_stack", "slab": "unreclaimable_slab"}


def student(freedom):
    """The quantile 0.975 of Student's t: where its density, integrated from 0, reaches 0.475."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    step, at, area = 1e-3, 0.0, 0.0
    while area < 0.475 * math.sqrt(freedom * math.pi) / scale:
        area += step * (1 + (at + step / 2) ** 2 / freedom) ** (-(freedom + 1) / 2)
        at += step
    return at


def bytes_per_task(points, *parts):
    """The slope of a sum of parts over the number of tasks."""
    values = [[point[f"{part}_bytes"] for part in parts] for point in points]
    if any(None in of for of in values):
        return None
    tasks = [point["tasks"] for point in points]
    return statistics.linear_regression(tasks, list(map(sum, values))).slope


def value_of(record, measurement=None):
    """A process's figure of a measurement; without one, of all its phases together, memory, or
    the CPU time of a request."""
    phases = {of["name"]: of["ns_per_operation"] for of in record["measurements"]}
    is_server = bool(record.get("serving"))
    if measurement is None and is_server and "cpu" in phases:
        return phases["cpu"]
    if record["ledger"] and measurement in (["memory"] if is_server else [None, "memory"]):
        return bytes_per_task(record["ledger"], *LEDGER.values())
    if measurement in (None, "whole"):
        return record["measurements"][0]["ns_per_operation"] + phases.get("join", 0)
    return phases.get(measurement)


class Case:
    """The invocations of a case that count."""

    def __init__(self, lines):
        # The last attempt at a round.
        self.rounds = {line["round"]: line["record"] for line in lines if is_used(line)}
        self.records = list(self.rounds.values())
        keep = [of for of in self.records if of["ledger"] and not of.get("serving")]
        self.unit = "bytes" if keep else "ns"

    def by_round(self, measurement=None):
        values = {of: value_of(record, measurement) for of, record in self.rounds.items()}
        return {of: value for of, value in values.items() if value is not None}

    def values(self, measurement=None):
        return list(self.by_round(measurement).values())

    def figure(self, measurement=None, confidence=0.95, wider=WIDER):
        found = Figure.of(self.values(measurement), confidence, wider)
        return None if self.unit == "bytes" and found and found.value <= 0 else found

    def sum_of(self, part, *keys):
        """The median over processes of a sum of values of a part of the record."""
        found = [of[part] for of in self.records if of[part]]
        return median([None if None in (v := [of[key] for key in keys]) else sum(v)
                       for of in found])

    def division(self):
        """CPU time in user space and in the kernel, and the error of both: the division is that of
        all processes together."""
        times = [(of["cpu"]["user_ns_per_operation"] * operations,
                  sum(of["cpu"][key] for key in CPU) * operations)
                 for of in self.records if of["cpu"]
                 for operations in [of["measurements"][0]["count"] * of["measurements"][0]["operations"]]]
        whole, cpu = sum(both for _, both in times), self.sum_of("cpu", *CPU)
        if not whole:
            return 0, cpu, None
        share = sum(user for user, _ in times) / whole
        off = sum((user - share * both) ** 2 for user, both in times)
        error = None
        if len(times) >= 5 and 0 < share < 1:
            n = len(times)
            error = student(n - 1) * WIDER * math.sqrt(off * n / (n - 1)) / whole * cpu
        return share * cpu, cpu - share * cpu, error

    def percentile(self, measurement, key, fewest):
        found = [of for record in self.records for of in record["measurements"]
                 if of["name"] == measurement]
        if found and median([of["count"] for of in found]) >= fewest:
            return median([of[key] / of["operations"] for of in found])

    def memory(self, part):
        values = [bytes_per_task(of["ledger"], LEDGER[part]) for of in self.records if of["ledger"]]
        return Figure.of([value for value in values if value is not None])


class Run:
    def __init__(self, folder):
        self.plan = json.loads((folder / "run.json").read_text())
        self.lines = [json.loads(line) for line in (folder / "records.jsonl").open()]
        names = {of["case"]: name(of["program"], of["parameters"])
                 for of in self.plan.get("details") or []}
        found = {}
        for line in self.lines:
            found.setdefault(line["case"], []).append(line)
        cases = {case: Case(lines) for case, lines in found.items()}
        self.recorded = {name: case for name, case in cases.items() if case.records}
        self.cases = {names.get(name) or name_of_line(name): case
                      for name, case in self.recorded.items()}

    def case(self, name):
        """The case with this command line, or an older one with this name."""
        return self.recorded.get(name) or self.cases.get(name_of_line(name))


# Checks.

class Check:
    """What was compared, and what differs."""

    def __init__(self):
        self.figures, self.faults = 0, []

    def same(self, where, printed, expected, tolerance=1e-9):
        self.figures += 1
        both = [printed, expected]
        if None in both or not all(isinstance(of, (int, float)) for of in both):
            right = printed == expected
        else:
            right = math.isclose(printed, expected, rel_tol=tolerance, abs_tol=1e-12)
        if not right:
            self.faults.append(f"{where}: printed {printed!r}, recomputed {expected!r}")

    def same_text(self, where, printed, expected):
        self.figures += len(re.findall(r"\d[\d.e]*", printed))
        if printed not in expected:
            self.faults.append(f"{where}: printed {printed!r}, recomputed {list(expected)!r}")

    def figure(self, where, printed, expected, tolerance=1e-6):
        """A figure in JSON."""
        self.same(where, printed and printed["value"], expected and expected.value)
        ends = printed and printed.get("interval")
        expected_ends = expected and expected.ends or (None, None)
        for key, end in zip(("low", "high"), expected_ends):
            self.same(f"{where} {key}", ends and ends[key], end, tolerance)


def rows_in(of):
    """All rows in a report as JSON."""
    if isinstance(of, dict) and {"case", "measurement", "figure"} <= of.keys():
        yield of
    elif isinstance(of, (dict, list)):
        for part in of.values() if isinstance(of, dict) else of:
            yield from rows_in(part)


def check_json(check, run, report):
    check.same("change of speed", report["run"]["state"]["speed_change"], speed_change(run))
    for row in rows_in(report):
        where = f"{row['case']}, {row['measurement']}"
        case = run.case(row["case"])
        if not case:
            check.same(where, row["figure"], None)
            continue
        figure = case.figure(row["measurement"])
        if figure is None:
            check.same(where, row["figure"], None)
            continue
        if row.get("other"):
            other = run.case(row["other"]["case"]).by_round(row["other"]["measurement"])
            sides = case.by_round(row["measurement"]), other
            expected = (paired_ratio if row["unit"] == "ratio" else paired_difference)(*sides)
            check.figure(where, row["figure"], expected)
            check.same(f"{where} n", row["figure"]["count"], expected.n)
            continue
        check.figure(where, row["figure"], figure)
        check.same(f"{where} n", row["figure"]["count"], figure.n)
        for end, p in (("low", 0.1), ("high", 0.9)):
            check.same(f"{where} {end} of 80 %", row["range"][end],
                       quantile(case.values(row["measurement"]), p))
        for key, fewest in PERCENTILES.items():
            check.same(f"{where} {key}", row["percentiles"][key],
                       case.percentile(row["measurement"], f"{key}_ns", fewest))
        # Of all phases together, so not on the rows of single ones.
        if row["cpu_ns"] is not None:
            check.same(f"{where} cpu", row["cpu_ns"], case.sum_of("cpu", *CPU))
            # A wake-up is timed from when it was due: others run meanwhile. Both are medians, of
            # different rounds.
            one_cpu = (row["parameters"].get("placement") == "same-cpu" and row["unit"] != "bytes"
                       and row["operation"] != "wake-up")
            if one_cpu and row["cpu_ns"] > 1.02 * row["figure"]["value"]:
                check.faults.append(f"{where}: more CPU time than time on one CPU: {row['cpu_ns']}")
        if row.get("parts"):
            for key, expected in zip(("user_ns", "kernel_ns", "division_error_ns"), case.division()):
                # Two approximations of Student's t.
                tolerance = 2e-3 if key == "division_error_ns" else 1e-6
                check.same(f"{where} {key}", row["parts"][key], expected, tolerance)
        if row["switches"] is not None:
            check.same(f"{where} switches", row["switches"], case.sum_of("switches", *SWITCHES))
        for part in row.get("memory") or []:
            if part["name"] in LEDGER:
                check.figure(f"{where} {part['name']}", part["bytes_per_task"],
                             case.memory(part["name"]))
    for block in (block for screen in report["screen"] for block in screen["blocks"]):
        check_factors(check, run, block["rows"], block["reference"])
    for group in report["groups"]:
        for unit in ("ns", "bytes"):
            rows = [row for row in group["rows"] if row["factor"]
                    and run.case(row["case"]).unit == unit]
            if rows:
                figures = {row["case"]: run.case(row["case"]).figure().value for row in rows}
                check_factors(check, run, rows, min(figures, key=figures.get))
        check_loads(check, run, group["loads"])


def check_factors(check, run, rows, reference):
    """The factors of rows to the case that is marked 1."""
    for row in (row for row in rows if row["factor"]):
        sides = run.case(row["case"]).by_round(), run.case(reference).by_round()
        check.figure(f"{row['label']} over {reference}", row["factor"], paired_ratio(*sides))


def check_loads(check, run, loads):
    """The factors in a table of figures by load."""
    for at, load in enumerate(loads["loads"] if loads else []):
        lines = [line for line in loads["lines"] if line["figures"][at:] and line["figures"][at]]
        cases = [run.case(line["cases"][at]) for line in lines]
        lowest = min(cases, key=lambda case: case.figure().value).by_round() if cases else {}
        for line, case in zip(lines, cases):
            where = f"{line['label']}, {load}"
            check.figure(where, line["factors"][at], paired_ratio(case.by_round(), lowest))


def check_csv(check, run, rows):
    printed = {}
    for row in (row for row in rows if row["value"] and row["outcome"] == "used"):
        printed.setdefault((row["case"], row["measurement"]), []).append(float(row["value"]))
    for (case, measurement), values in printed.items():
        expected = run.case(case).values(measurement)
        check.same(f"{case}, {measurement}", len(values), len(expected))
        for one, other in zip(sorted(values), sorted(expected)):
            check.same(f"{case}, {measurement}", one, other)


def check_comparison(check, old, new, comparison):
    """Two saved runs, or two sides that ran in the same rounds."""
    is_side_by_side = comparison["design"] == "side-by-side"
    confidence = 1 - 0.01 / (len(comparison["cases"]) if is_side_by_side else 1)
    check.same("confidence", comparison["confidence"], confidence)
    correction = comparison["correction"] or 1
    for case in comparison["cases"]:
        name = case["rows"][0]["case"]
        both = [run.case(name) for run in (old, new)]
        for run, row, of in zip((old, new), case["rows"], both):
            check.figure(f"{name} of {run.plan['started_at']}", row["figure"], of.figure())
        if is_side_by_side:
            expected = paired_ratio(both[1].by_round(), both[0].by_round(), confidence, wider=1)
        else:
            old_figure, new_figure = (of.figure(None, confidence) for of in both)
            by = 1 if case["rows"][0]["unit"] == "bytes" else correction
            expected = new_figure.over(old_figure).map(lambda ratio: ratio * by)
        check.figure(f"{name} ratio", case["ratio"], expected)


# Pages in Markdown.

def digits(value):
    size = abs(value)
    if size < 0.005:
        return "<0.01" if value > 0 else "0"
    return f"{value:.{2 if size < 9.995 else 1 if size < 99.95 else 0}f}"


def scale_of(value, unit):
    units = {"ns": ((1, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")),
             "bytes": ((1, "B"), (1024, "KiB"), (1024**2, "MiB"), (1024**3, "GiB"))}[unit]
    most = 999.5 if unit == "ns" else 1023.5
    return next((of for of in units if abs(value) / of[0] < most), units[-1])


def shown(figure, unit):
    """A figure with its interval, as in a table."""
    scale, symbol = scale_of(figure.value, unit)
    ends = [digits(end / scale) for end in figure.ends or ()]
    return f"{digits(figure.value / scale)} {symbol} [{', '.join(ends) or '–'}]"


def brief(value, unit):
    scale, symbol = scale_of(value, unit)
    value /= scale
    return (f"{value:.1f}".removesuffix(".0") if value < 9.95 else f"{value:.0f}") + symbol


def spread(values, unit):
    """The range of 80 % of the processes."""
    low, high = (quantile(values, p) for p in (0.1, 0.9))
    scale, symbol = scale_of(high, unit)
    if abs(low) < 0.1 * scale and scale_of(low, unit)[1] != symbol:
        return f"{brief(low, unit)}–{brief(high, unit)}"
    return f"{digits(low / scale)}–{digits(high / scale)} {symbol}"


def check_page(check, run, text):
    """The tables of the cases: each figure is one of the case's, and each ratio of its cases'."""
    headings = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = [html.unescape(cell.strip().replace("\\", "")) for cell in line.split("|")[1:-1]]
        if not cells or set(line) <= set("|-: "):
            headings = headings if cells else []
            continue
        if not headings:
            headings = cells
            continue
        row, at = dict(zip(headings, cells)), f"line {number}: {cells[0]}"
        last = cells[0] or last
        if headings[0] == "case" and row["median [95 %]"][0] != "–":
            case = run.case(last)
            names = [None, *(of["name"] for of in case.records[0]["measurements"])]
            of = {}
            for name in names:
                if figure := case.figure(name):
                    of.setdefault(shown(figure, case.unit if name is None else "ns"), []).append(name)
            check.same_text(at, row["median [95 %]"], of)
            names = of.get(row["median [95 %]"], [None])
            figure = case.figure(names[0])
            scale = scale_of(figure.value, case.unit)[0]
            if "80 %" in row:
                check.same_text(f"{at} 80 %", row["80 %"],
                                [spread(case.values(name), case.unit if name is None else "ns")
                                 for name in names])
            check.same_text(f"{at} n", row["n"].rstrip("~"), [str(figure.n)])
            for heading, key in (("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("p99.9", "p999")):
                if row.get(heading, "–") != "–":
                    values = [case.percentile(name, f"{key}_ns", PERCENTILES[key])
                              for name in names]
                    check.same_text(f"{at} {heading}", row[heading],
                                    [digits(value / scale) for value in values if value is not None])
            if row.get("cpu", "–") != "–":
                check.same_text(f"{at} cpu", row["cpu"],
                                [digits(case.sum_of("cpu", *CPU) / scale)])
            if row.get("sw/op", "–") != "–":
                check.same_text(f"{at} sw/op", row["sw/op"],
                                [digits(case.sum_of("switches", *SWITCHES))])
        elif headings[0] == "saving by work":
            check_saving(check, run, at, {**row, headings[0]: last})
        elif headings[0] == "where the time goes":
            parts = {key: float(value) for key, value in row.items() if re.match(r"[\d.]+$", value)}
            user, kernel, waiting, overlap = (parts.get(key, 0) for key in (
                "user", "kernel", "waiting", "overlap"))  # `–` and `<0.01` are left out
            rest = parts["elapsed"] - user - kernel - waiting + overlap
            check.figures += 5
            # Of two digits.
            if abs(rest) > 0.02 + 0.015 * parts["elapsed"] + 0.05 * (user + kernel):
                check.faults.append(f"{at}: the parts do not add up to {parts['elapsed']}")


def saved_share(ratio):
    """What a ratio leaves of 1, with its interval, such as `3 % [-3, 11]`."""
    share, low, high = (round(100 * (1 - of)) for of in (ratio.value, *reversed(ratio.ends)))
    return f"{share} % [{low}, {high}]"


def check_saving(check, run, at, row):
    """A line of savings: what one kind takes less than the other, with this many units of work."""
    specs = [spec for group in SUITE["group"] for spec in group.get("savings", [])]
    place = lambda spec: f"{spec['place']}: " if "place" in spec else ""
    names = {f"{place(spec)}{spec['kind']}, of {spec['of']}": spec for spec in specs}
    spec = names[row["saving by work"]]
    work = f" --work {row['units']}" * (row["units"] != "0")
    sides = [run.case(re.sub("{.*}", work, spec[side])) for side in ("case", "over")]
    own, other = (side.by_round(spec.get("measurement")) for side in sides)
    ratio, saved = paired_ratio(own, other), paired_difference(other, own)
    if ratio.ends:
        check.same_text(f"{at} share", row["share [95 %]"], [saved_share(ratio)])
    check.same_text(f"{at} time", row["time [95 %]"], [shown(saved, "ns")])
    check.same_text(f"{at} n", row["n"], [str(ratio.n)])
    for heading, side in zip(("server's sw/op", "of the other"), sides):
        switches = side.sum_of("serving", "server_switches_per_request")
        check.same_text(f"{at} {heading}", row[heading], [digits(switches)])


# The figures of docs/STATISTICS.md.

def method(runs):
    """Two runs of one build: how often they differ, and what is found of planted differences."""
    cases = [name for name in runs[0].cases if all(name in run.cases for run in runs)]
    value = [{name: run.cases[name].figure().value for name in cases} for run in runs]
    pairs = list(combinations(range(len(runs)), 2))

    def difference(name, a, b, wider, confidence):
        one, other = (runs[i].cases[name].figure(None, confidence, wider).map(math.log)
                      for i in (a, b))
        return other.minus(one)

    beyond = [sum(0 < d.ends[0] or 0 > d.ends[1] for name in cases for pair in pairs
                  if (d := difference(name, *pair, wider, 0.95))) for wider in (1, WIDER)]
    count = len(pairs) * len(cases)
    for text, of in zip(("without widening", "widened"), beyond):
        print(f"{text}: {100 * of / count:.0f} % of {count} pairs of figures differ")
    found = {percent: 0 for percent in (0, 5, 10, 20, 40)}
    false = set()
    for name in cases:
        for a, b in pairs:
            d = difference(name, a, b, WIDER, 0.99)
            earlier = max(abs(math.log(value[i][name] / value[j][name])) for i, j in pairs
                          if not {i, j} & {a, b})
            least = max(math.log(MARGIN), BEYOND_EARLIER * earlier)
            for percent in found:
                for sign in (1, -1):
                    planted = sign * math.log1p(percent / 100)
                    ends = [end + planted for end in d.ends]
                    is_found = ((ends[0] > 0 or ends[1] < 0) and abs(d.value + planted) > least)
                    found[percent] += is_found and (percent == 0 or (ends[0] > 0) == (sign > 0))
                    if percent == 0 and is_found:
                        false.add((a, b))
    print(f"nothing planted: {len(false)} of {len(pairs)} pairs of runs have a false verdict")
    for percent in (5, 10, 20, 40):
        print(f"{percent} % planted: found in {100 * found[percent] / 2 / count:.0f} % of cases")
    rng, samples = random.Random(7), 4000
    for n in (12, 32):
        drawn = [[math.exp(rng.gauss(0, 0.05)) for _ in range(n)] for _ in range(samples)]
        covered = [sum(ends[0] <= 1 <= ends[1] for of in drawn
                       if (ends := Figure.of(of, 0.95, wider).ends)) for wider in (1, WIDER)]
        print(f"{n} independent processes: the interval contains the median in "
              f"{100 * covered[0] / samples:.0f} %, widened in {100 * covered[1] / samples:.0f} %")


def speed_change(run):
    """How much longer the reference takes in the slowest tenth of its readings than in the fastest,
    relative to the median of its CPU if that has five or more; None for fewer than twenty."""
    readings = [of["reference"] for of in run.lines if of.get("reference")]
    typical = {}
    for cpu in {of["cpu"] for of in readings}:
        here = [of["kernel_ns"] for of in readings if of["cpu"] == cpu]
        typical[cpu] = median(here if len(here) >= 5 else [of["kernel_ns"] for of in readings])
    relative = [of["kernel_ns"] / typical[of["cpu"]] for of in readings]
    return quantile(relative, 0.9) / quantile(relative, 0.1) - 1 if len(relative) >= 20 else None


def speed(runs):
    for run in runs:
        halves = []
        for case in run.cases.values():
            values = case.values()
            early, late = values[: len(values) // 2], values[len(values) // 2 :]
            if len(early) > 2:
                halves.append(abs(math.log(median(early) / median(late))))
        print(f"{run.plan['started_at']}: the reference differs by {100 * speed_change(run):.0f} %, "
              f"the halves of a case by {100 * median(halves):.0f} % (median)")


def main(arguments):
    if arguments[0] in ("--method", "--speed"):
        of_runs = method if arguments[0] == "--method" else speed
        return of_runs([Run(Path(folder)) for folder in arguments[1:]])
    check, folders = Check(), [Run(Path(of)) for of in arguments if Path(of).is_dir()]
    for output in (Path(of) for of in arguments if not Path(of).is_dir()):
        text = output.read_text()
        if len(folders) == 2:
            check_comparison(check, *folders, json.loads(text))
        elif output.suffix == ".json":
            check_json(check, folders[0], json.loads(text))
        elif output.suffix == ".csv":
            check_csv(check, folders[0], csv.DictReader(text.splitlines()))
        else:
            check_page(check, folders[0], text)
    for fault in check.faults:
        print(fault)
    print(f"{check.figures} figures compared, {len(check.faults)} differ")
    return 1 if check.faults or not check.figures else 0


if __name__ == "__main__":
    if len(sys.argv) < 3 or "--help" in sys.argv:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
