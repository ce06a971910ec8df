"""A run's estimates from its records.jsonl and run.json, by the rules of docs/STATISTICS.md and
docs/MEASURING.md, for recompute.py. Nothing here is taken from the runner."""

import functools
import json
import math
import re
import tomllib
from datetime import datetime
from pathlib import Path

SUITE = tomllib.loads((Path(__file__).resolve().parents[1] / "suite.toml").read_text())
CLASSES_S = [2.5, 5, 7.5, 10, 15, 20, 30, 40]
TICKS_NS = 20e6


def quantile(values, p):
    """Type 7 of Hyndman and Fan."""
    ordered = sorted(values)
    at = p * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def median(values):
    values = [value for value in values if value is not None]
    return quantile(values, 0.5) if values else None


def nyblom(ordered, p):
    """The lower end of the quantile's 95 % interval; of the mirrored sample, the upper one."""
    n, tail = len(ordered), 0.025
    below = [0.0]  # P(B < r), B binomial
    for r in range(n):
        below.append(below[-1] + math.comb(n, r) * p**r * (1 - p) ** (n - r))
    r = max(r for r in range(n + 1) if below[r] <= tail)
    if r == 0:
        return ordered[0]
    if r == n:
        return ordered[-1]
    odds = r * (1 - p) * (below[r + 1] - tail) / ((n - r) * p * (tail - below[r]))
    weight = 1 / (1 + odds)
    return ordered[r - 1] + (ordered[r] - ordered[r - 1]) * weight


class Estimate:
    """A figure, the ends of its interval or None, and the size of the sample."""

    def __init__(self, value, ends, n):
        self.value, self.ends, self.n = value, ends, n

    @classmethod
    def of(cls, values, p, fewest):
        if not values:
            return None
        up = sorted(values)
        down = [-value for value in reversed(up)]
        ends = (nyblom(up, p), -nyblom(down, 1 - p)) if len(up) >= fewest else None
        return cls(quantile(up, p), ends, len(up))

    def map(self, f):
        return Estimate(f(self.value), self.ends and tuple(map(f, self.ends)), self.n)

    def widened(self, factor):
        if not self.ends or self.ends[0] <= 0:
            return self
        return Estimate(self.value, tuple(
            self.value * (end / self.value) ** math.sqrt(factor) for end in self.ends), self.n)

    def minus(self, other, rho):
        value, ends = self.value - other.value, None
        if self.ends and other.ends:
            def far(a, b):
                return math.sqrt(max(0, a * a + b * b - 2 * rho * a * b))
            ends = (value - far(self.value - self.ends[0], other.ends[1] - other.value),
                    value + far(self.ends[1] - self.value, other.value - other.ends[0]))
        return Estimate(value, ends, min(self.n, other.n))

    def over(self, other, rho):
        return self.map(math.log).minus(other.map(math.log), rho).map(math.exp)

    def half_width(self):
        if self.ends and self.value > 0:
            return (self.ends[1] - self.ends[0]) / 2 / self.value


def lower_quartile(values):
    return Estimate.of(values, 0.25, 12)


def middle(values):
    return Estimate.of(values, 0.5, 5)


def deviate(tail):
    """Abramowitz and Stegun 26.2.23."""
    t = math.sqrt(-2 * math.log(tail))
    return t - (2.515517 + 0.802853 * t + 0.010328 * t * t) / (
        1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t**3)


def normal_scores(values):
    n = len(values)
    scores = []
    for value in values:
        rank = (sum(v < value for v in values) + sum(v <= value for v in values)) / 2 / n
        scores.append(deviate(1 - rank) if rank >= 0.5 else -deviate(rank))
    scale = math.sqrt(sum(score * score for score in scores) / n)
    return [score / scale if scale else 0.0 for score in scores]


def distance_class(one, other):
    return next((k for k, end in enumerate(CLASSES_S) if abs(one - other) < end), None)


def inflation(rho, starts):
    """f: how many times as large the variance is as of independent processes."""
    n = len(starts)
    classes = (distance_class(a, b) for i, a in enumerate(starts) for b in starts[i + 1:])
    total = sum(rho[k] for k in classes if k is not None)
    return max(1, min(1 + 2 * total / n, n / 2))


def dependence(series):
    """The correlation of two processes of a case by the class of the time between them."""
    series = [case for case in series if len(case) >= 6]
    sums, counts = [0.0] * 8, [0] * 8
    for case in series:
        scores = normal_scores([value for _, value in case])
        for i, (start, _) in enumerate(case):
            for j in range(i + 1, len(case)):
                k = distance_class(start, case[j][0])
                if k is not None:
                    sums[k] += scores[i] * scores[j]
                    counts[k] += 1
    rho = [0.0] * 8
    for _ in range(8 if series else 0):
        mean_f = sum(inflation(rho, [s for s, _ in case]) for case in series) / len(series)
        of_mean = min(0.5, mean_f * len(series) / sum(map(len, series)))
        corrected = [s / max(c, 1) * (1 - of_mean) + of_mean for s, c in zip(sums, counts)]
        end = next((k for k in range(8) if corrected[k] <= 0 or not counts[k]), 8)
        rho = corrected[:end] + [0.0] * (8 - end)
    return rho


def correlation(one, other):
    common = sorted(one.keys() & other.keys())
    if not common:
        return 0.0
    pairs = zip(normal_scores([one[r] for r in common]), normal_scores([other[r] for r in common]))
    r = min(1, max(0, sum(a * b for a, b in pairs) / len(common)))
    return len(common) / math.sqrt(len(one) * len(other)) * math.asin(r) * 2 / math.pi


def widest_gap(logs, least):
    return max(range(least, len(logs) - least + 1), default=None,
               key=lambda split: (logs[split] - logs[split - 1], split))


def modes(values):
    """(median, share) of the fast and of the slow mode, or None."""
    up = sorted(values)
    if not up or up[0] <= 0:
        return None
    logs, n = [math.log(value) for value in up], len(up)
    split = widest_gap(logs, max(2, math.ceil(0.1 * n)))
    if split is None:
        return None
    squares = 0
    for part in (logs[:split], logs[split:]):
        squares += sum((log - sum(part) / len(part)) ** 2 for log in part)
    if logs[split] - logs[split - 1] < max(
            math.log(1.1), (1.5 + 20 / (n - 3)) * math.sqrt(squares / (n - 2))):
        return None
    return [(quantile(part, 0.5), len(part) / n) for part in (up[:split], up[split:])]


def outlier(values):
    up, n = sorted(values), len(values)
    if n < 2 or n >= 20 or up[0] <= 0:
        return None
    logs = [math.log(value) for value in up]
    split = widest_gap(logs, 1)
    scatter = max(quantile(part, 0.75) - quantile(part, 0.25)
                  for part in (logs[:split], logs[split:]))
    if split not in (1, n - 1) or logs[split] - logs[split - 1] < max(math.log(2), 4 * scatter):
        return None
    return up[-1] if split == n - 1 else up[0]


def slope(xs, ys):
    x0, y0 = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - x0) ** 2 for x in xs)
    return sum((x - x0) * (y - y0) for x, y in zip(xs, ys)) / spread if spread else None


def trouble(record):
    """0 clean, 1 disturbed, 2 unusable, and the figures that say so."""
    of, found = record["interference"], []
    wall = of["wall_ns"]
    if not wall:
        return 0, []
    known = [of[key] for key in ("others_cpu_ns", "steal_ns") if of[key] is not None]
    throttled = of.get("throttled_periods")
    if throttled and throttled[0]:
        found.append((1, throttled[0]))
    cpus = max(1, len(record["affinity"]))
    for level, share in ((2, 0.2), (1, 0.02)):
        if known and max(known) > cpus * (share * wall + TICKS_NS):
            found.append((level, 100 * max(known) / cpus / wall))
            break
    before, after = of["frequency_before_khz"], of["frequency_after_khz"]
    if before and after is not None and abs(after / before - 1) > 0.1:
        found.append((1, 100 * abs(after / before - 1)))
    switches = record["switches"] or {}
    if switches.get("expected_per_operation") == 0:
        seconds = wall / 1e9
        preempted = switches["involuntary_per_operation"] * operations(record)
        for count, rate in ((preempted, 60), (switches["migrations"] or 0, 10)):
            if count > rate * seconds + 5:
                found.append((1, count / seconds))
        waited = of["psi_cpu_some_ns"] or 0
        if not record["parameters"].get("keep_awake") and waited > 0.1 * wall + TICKS_NS:
            found.append((1, 100 * waited / wall))
    return max((level for level, _ in found), default=0), [figure for _, figure in found]


class Taken:
    """What kept the processes of a case from running, in ns; of several cases, their sum."""

    def __init__(self, lines=(), cases=()):
        self.all = self.variance = self.stolen = self.throttled = self.stopped = 0.0
        self.others, self.unexplained, self.used_up, lost = 0.0, 0.0, [0, 0], 0.0
        for line in lines:
            lost = self.add(line["record"], line.get("stopped_ns") or 0, lost)
        if lost is not None and self.all:
            rest = max(0.0, lost - self.stolen - self.throttled - self.stopped)
            noise, seen = self.noise(), self.others
            self.others = rest if seen is None else min(max(seen + noise, 0.0), rest)
            self.unexplained, self.variance = rest - self.others, 0.0
        for case in cases:
            for key in ("all", "variance", "stolen", "throttled", "stopped", "unexplained"):
                setattr(self, key, getattr(self, key) + getattr(case, key))
            self.others = None if None in (self.others, case.others) else self.others + case.others
            self.used_up = [sum(both) for both in zip(self.used_up, case.used_up)]

    def noise(self):
        return 3 * math.sqrt(self.variance)

    def add(self, record, stopped, lost):
        of, cpu, cpus = record["interference"], record["cpu"], max(1, len(record["affinity"]))
        wall = of["wall_ns"]
        if not wall:
            return lost
        never = (record["switches"] or {}).get("expected_per_operation") == 0
        used = 1 if cpu and not record["schedule"] and (cpus == 1 or never) else cpus
        if cpu and not record["schedule"] and (cpus == 1 or never):
            own = sum(value or 0 for value in cpu.values()) * operations(record)
            lost = None if lost is None else lost + max(0.0, wall - own - 2e5)
        else:
            lost = None
        stolen = min(of["steal_ns"] or 0, used * wall)
        throttled = min(of.get("throttled_ns") or 0, used * wall)
        stopped = used * min(stopped, wall)
        others = None if of["others_cpu_ns"] is None else of["others_cpu_ns"] - stolen
        first = record["measurements"][0]
        gap = first["max_ns"] - first["p50_ns"]
        gap = used * gap if first["max_ns"] > max(1e8, 20 * first["p50_ns"]) else 0
        self.unexplained += max(0.0, gap - stolen - throttled - stopped - max(0, others or 0))
        self.all, self.stolen = self.all + used * wall, self.stolen + stolen
        self.throttled, self.stopped = self.throttled + throttled, self.stopped + stopped
        self.others = None if None in (others, self.others) else self.others + others
        self.variance += 2 * cpus * (10e6 * 0.408) ** 2
        periods = of.get("throttled_periods") or [0, 0]
        self.used_up = [sum(both) for both in zip(self.used_up, periods)]
        return lost

    def share(self):
        seen = self.others if self.others is not None and self.others > self.noise() else 0
        known = self.stolen + self.throttled + self.stopped + self.unexplained
        return (max(0.0, seen) + known) / self.all if self.all else 0.0

    def is_notable(self):
        return self.share() > 0.02 or self.used_up[0] > 0

    def figures(self):
        """The percentages that are printed, in their order."""
        others = self.others if self.others is not None and self.others > self.noise() else 0
        shares = [others, self.stolen, self.stopped, self.unexplained]
        found = [f"{100 * ns / self.all:.0f}" for ns in shares if ns / self.all > 0.005]
        quota = [*map(str, self.used_up), f"{100 * self.throttled / self.all:.0f}"]
        return found + (quota if self.used_up[0] else [])


def operations(record):
    first = record["measurements"][0]
    return first["count"] * first["operations"]


def parts(record):
    """Where the time of a record went, in ns per operation: a dictionary, or None."""
    cpu, wall = record["cpu"], record["interference"]["wall_ns"]
    if not cpu or wall is None:
        return None
    user, kernel = cpu["user_ns_per_operation"], cpu["system_ns_per_operation"]
    elapsed = wall / operations(record)
    rest = elapsed - user - kernel
    if abs(rest) <= 0.01 * elapsed:
        rest = 0.0
    cpus = len(record["affinity"])
    found = dict(elapsed=elapsed, user=user, kernel=kernel, waiting=max(rest, 0.0),
                 overlap=max(-rest, 0.0) if cpus != 1 else 0.0)
    of = record["waiting"] or {}
    states = of.get("idle_states")
    if states is None or None in (of["idle_ns_per_operation"], of["runnable_ns_per_operation"]):
        return found
    waking = 0.0
    if sum(state["entries_per_operation"] for state in states):
        others = (record["interference"]["others_cpu_ns"] or 0) / operations(record)
        idle = sum(state["ns_per_operation"] for state in states)
        waking = max(0.0, cpus * elapsed - idle - user - kernel - others)
    stolen = (record["interference"]["steal_ns"] or 0) / operations(record)
    left = found["waiting"]
    for name, ns in (("asleep", of["idle_ns_per_operation"]), ("waking", waking),
                     ("queued", of["runnable_ns_per_operation"]), ("stolen", stolen)):
        found[name] = min(ns, left)
        left -= found[name]
    return found | {"rest": left}


def ledger(points):
    """Bytes per task by line of the ledger; None where a point lacks one."""
    def per_task(*keys):
        ys = [None if any(point[key] is None for key in keys) else sum(point[key] for key in keys)
              for point in points]
        return None if None in ys else slope([point["tasks"] for point in points], ys)

    def less(one, other):
        return None if one is None or other is None else one - other
    held = {name: per_task(f"{key}_bytes") for name, key in (
        ("user memory", "proportional"), ("page tables", "page_table"),
        ("kernel stacks", "kernel_stack"), ("slab", "unreclaimable_slab"))}
    total = None if None in held.values() else sum(held.values())
    drop = less(0, per_task("available_bytes", "listed_free_bytes"))
    return held | {
        "= sum": total, "unexplained": less(drop, total), "= drop of available": drop,
        "drop of MemAvailable": less(0, per_task("available_bytes")),
        "resident": per_task("resident_bytes"), "virtual": per_task("virtual_bytes"),
        "slab, reclaimable too": per_task("slab_bytes"), "control group": per_task("group_bytes")}


BOTH = "create, run, end"


class Case:
    def __init__(self, name, lines):
        self.name, self.lines = name, lines
        ended = [of for of in lines if not of["interrupted"] and of["outcome"] == "measured"]
        self.measured = [(*trouble(of["record"]), of) for of in ended]
        rounds = {}
        for level, _, of in self.measured:
            if level < rounds.get(of["round"], (3,))[0]:
                rounds[of["round"]] = level, of
        self.uses_unusable = all(level == 2 for level, _ in rounds.values())
        self.used = [rounds[r][1] for r in sorted(rounds)
                     if self.uses_unusable or rounds[r][0] < 2]
        self.records = [of["record"] for of in self.used]
        self.taken = Taken(self.used)
        self.measurements, self.time, self.memory = [], {}, {}
        # Creating, running and ending: the sum of both phases in each process.
        for record in self.records:
            phases = {of["name"]: of for of in record["measurements"]}
            if "join" in phases:
                first = record["measurements"][0]
                both = first["ns_per_operation"] + phases["join"]["ns_per_operation"]
                record["measurements"].append({**first, "name": BOTH, "ns_per_operation": both})
        for like in self.records[0]["measurements"] if self.records else []:
            if like["name"] != BOTH:
                self.measurements.append(like["name"])
            self.time[like["name"]] = lower_quartile(self.values(like["name"]))
        sweeps = [ledger(of["ledger"]) for of in self.records if of["ledger"]]
        for line in sweeps[0] if sweeps else []:
            bytes_per_task = [of[line] for of in sweeps if of[line] is not None]
            if bytes_per_task:
                self.memory[line] = middle(bytes_per_task)
        self.parts, self.shares = [of for of in map(parts, self.records) if of], {}
        elapsed = lower_quartile([of["elapsed"] for of in self.parts])
        for name in {name for of in self.parts for name in of}:
            shares = [of[name] / of["elapsed"] for of in self.parts if name in of]
            mean, median_of = sum(shares) / len(shares), middle(shares)
            ends = median_of.ends and (min(median_of.ends[0], mean), max(median_of.ends[1], mean))
            share = Estimate(mean, ends, len(shares))
            self.shares[name] = share.map(lambda x: x * elapsed.value)

    def samples(self, name):
        found = ((of, m) for of in self.used for m in of["record"]["measurements"])
        return [(of, m) for of, m in found if m["name"] == name]

    def values(self, name):
        return [m["ns_per_operation"] for _, m in self.samples(name)]

    def series(self, name):
        return [(datetime.fromisoformat(of["started_at"]).timestamp(), m["ns_per_operation"])
                for of, m in self.samples(name)]

    def by_round(self, name):
        return {of["round"]: m["ns_per_operation"] for of, m in self.samples(name)}

    def percentile(self, name, which, fewest):
        found = [m for _, m in self.samples(name)]
        if median([m["count"] for m in found]) >= fewest:
            return median([m[which] / m["operations"] for m in found])

    def median_of(self, part, *keys):
        found = [of[part] for of in self.records if of[part]]
        return median([None if None in (v := [of[key] for key in keys]) else sum(v)
                       for of in found])

    def is_alone(self):
        """Whether it hands nothing over and is only there to be subtracted."""
        command = self.lines[0]["command"]
        of = SUITE["programs"].get(command[0], {})
        kinds = [way["kind"] for way in of.get("with", []) if "kind" in way
                 and " ".join(way["flags"]) in " ".join(command)]
        return [of.get("kind"), *kinds][-1] == "alone"

    def principal(self):
        return self.memory.get("= sum") or self.time[self.measurements[0]]


class Run:
    def __init__(self, folder):
        self.folder = folder
        self.plan = json.loads((folder / "run.json").read_text())
        self.lines = [json.loads(line) for line in (folder / "records.jsonl").open()]
        names = dict.fromkeys(self.plan["cases"] + [of["case"] for of in self.lines])
        self.cases = {name: Case(name, [of for of in self.lines if of["case"] == name])
                      for name in names}
        self.cases = {name: case for name, case in self.cases.items() if case.lines}
        self.rho = dependence([case.series(case.measurements[0])
                               for case in self.cases.values() if case.measurements])
        for case in self.cases.values():
            for name, time in case.time.items():
                case.time[name] = time.widened(self.inflation(case, name))

    def inflation(self, case, name):
        return inflation(self.rho, [start for start, _ in case.series(name)])

    def named(self, cell):
        """The case of a cell and its measurement; `case (placement)` is the case."""
        for name in (cell, re.sub(r" \([\w-]+\)$", "", cell)):
            if name in self.cases:
                return self.cases[name], self.cases[name].measurements[0]
        name, measurement = cell.rsplit(", ", 1)
        return self.cases[name], measurement

    def row(self, case, measurement, sign, other, whole=False):
        time = case.time[measurement]
        if other is None:
            return time
        less = BOTH if whole and BOTH in other.time else other.measurements[0]
        rho = correlation(case.by_round(measurement), other.by_round(less))
        return (time.over if sign == "/" else time.minus)(other.time[less], rho)

    @functools.cache
    def quality(self):
        further = (self.plan.get("procedure") or {}).get("further") or {}
        target = further.get("target_percent", 3)
        cases = [case for case in self.cases.values() if case.measurements]
        widths = {case: case.principal().half_width() for case in cases}
        wide = [case for case in cases if widths[case] is None or 100 * widths[case] > target]
        counts = [len(case.series(case.measurements[0])) for case in cases]
        worth = [n / self.inflation(case, case.measurements[0]) for n, case in zip(counts, cases)]
        steal = [of["record"]["interference"]["steal_ns"] for of in self.lines if of["record"]]
        steal = [ns for ns in steal if ns is not None]
        bad = sum(level > 0 for case in cases for level, *_ in case.measured)
        known = sorted(width for width in widths.values() if width is not None)
        if 2 * len(known) > len(cases):
            half = median(known + known[-1:] * (len(cases) - len(known)))
            text = [f"Half of this run's times are within ± {100 * half:.1f} % "
                    f"(median of {len(cases)})"]
        else:
            text = [f"Few of this run's {len(cases)} times have an interval"]
        text.append(f"{median(counts):.0f} processes per case, "
                    f"worth {median(worth):.0f} independent ones")
        if steal:
            text.append(f"{sum(steal) / 1e9:.1f} s of steal")
        if bad:
            text.append(f"{bad} process{'es' if bad > 1 else ''} disturbed")
        budget = sum(of["duration_ns"] for of in self.lines) / 1e9
        for case in wide:
            n = case.principal().n
            needed = n * (100 * widths[case] / target) ** 2 if widths[case] else 12
            budget += max(1, needed - n) * median([of["duration_ns"] / 1e9 for of in case.lines])
        budget = math.ceil(budget / 60) * 60
        advice = f"; for ± {target:g} % in every case: --budget {budget}"
        advice = advice if wide and budget <= 21600 else ""
        names = [case.name + (f" ± {100 * widths[case]:.1f} %" if widths[case] else "")
                 + f" (n = {case.principal().n})" for case in wide]
        return ", ".join(text) + advice, names, target
