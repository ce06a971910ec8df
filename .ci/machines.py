#!/usr/bin/env python3
"""Adds runs to results/machines.json, which outlives their folders.

    .ci/machines.py RUN...   folders of runs; a run that the file has is replaced

The file's `about` says what it contains. Needs Python 3.9 and no package.
"""

import json
import math
import re
import statistics
import sys
from itertools import combinations
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "results/machines.json"
ABOUT = [
    "Figures of recorded machines, written by .ci/machines.py from the folders of runs.",
    "machines: for each machine and build, facts and cases. `runs` are the figures of a case in "
    "the runs of that build, in `began`'s order, null where a run lacks the case; `figure` is "
    "their median. A run's figure is the median over its processes: ns of an operation "
    "(creating plus ending a task, where both are measured), or bytes of a task.",
    "repeat: how much runs of one build on one machine differ. For each case, over its `pairs` "
    "of runs, the absolute natural logarithms of the ratio of two figures: their median, 90th "
    "percentile and maximum.",
    "A case is named by its program, subcommand and other flags by name. Flags that say how long "
    "to measure are left out, and so is --placement free.",
]
HOW_LONG = {"iters", "max-time", "warmups"}


def name(program, flags):
    """The name of a case from its program and a dictionary of flags."""
    flags = {key.replace("_", "-"): str(value) for key, value in flags.items()}
    words = [program] + ([flags.pop("subcommand")] if "subcommand" in flags else [])
    for key, value in sorted(flags.items()):
        if key not in HOW_LONG and (key, value) != ("placement", "free"):
            words += [f"--{key}"] + [value] * (value != "true")
    return " ".join(words)


def name_of_line(line):
    """The name of a case from a command line."""
    words, flags = line.split(), {}
    program = words.pop(0)
    if words and not words[0].startswith("-"):
        flags["subcommand"] = words.pop(0)
    while words:
        flag = words.pop(0).removeprefix("--")
        flag, _, value = flag.partition("=")
        is_bare = not value and (not words or words[0].startswith("--"))
        flags[flag] = value or ("true" if is_bare else words.pop(0))
    return name(program, flags)


def quantile(values, p):
    """Type 7 of Hyndman and Fan."""
    ordered, at = sorted(values), p * (len(values) - 1)
    low, high = ordered[math.floor(at)], ordered[math.ceil(at)]
    return low + (high - low) * (at - math.floor(at))


def bytes_per_task(points):
    """The sum of the slopes of the ledger's lines over the number of tasks."""
    total = 0.0
    for line in ("proportional", "page_table", "kernel_stack", "unreclaimable_slab"):
        values = [point[f"{line}_bytes"] for point in points]
        if None in values:
            return None
        tasks = [point["tasks"] for point in points]
        mean, spread = statistics.mean(tasks), statistics.pvariance(tasks) * len(tasks)
        total += sum((x - mean) * y for x, y in zip(tasks, values)) / spread
    return total


def figure(record):
    """The figure of a process and its unit."""
    if record["ledger"]:
        return bytes_per_task(record["ledger"]), "bytes"
    first, *others = record["measurements"]
    joins = [of["ns_per_operation"] for of in others if of["name"] == "join"]
    return first["ns_per_operation"] + sum(joins), "ns"


def is_used(line):
    record = line["record"]
    throttled = record and record["interference"].get("throttled_periods") or [0]
    return (line["outcome"] == "measured" and not line["interrupted"]
            and not line.get("stopped_ns") and not throttled[0])


def figures(folder, plan):
    """The figure of each case of a run, and its unit."""
    names = {of["case"]: name(of["program"], of["parameters"]) for of in plan.get("details") or []}
    found = {}
    for line in map(json.loads, (folder / "records.jsonl").open()):
        if is_used(line):
            value, unit = figure(line["record"])
            case = names.get(line["case"]) or name_of_line(line["case"])
            found.setdefault((case, unit), {}).setdefault(line["round"], value)
    known = {key: [of for of in values.values() if of is not None]
             for key, values in found.items()}
    return {key: statistics.median(values) for key, values in known.items() if values}


def facts(environment):
    of = environment.get
    numbers = [of("processor.family"), of("processor.model_number")]
    words = re.findall(r"[a-z0-9]+", re.sub(r"\((r|tm)\)|processor|cpu", "",
                                            of("processor.model", "unknown").lower()))
    cpus = of("processor.online_cpus", "")
    label = "-".join(words + [n for n in numbers if n and n not in words] + [f"{cpus}cpu"])
    return {"label": label, "cpu": " ".join(filter(None, [of("processor.model"), "/".join(
        filter(None, numbers))])), "cpus": int(cpus or 0),
        "hypervisor": of("processor.virtualisation"), "kernel": of("kernel.release"),
        "build": (of("software.git_revision") or "")[:12],
        "profile": of("software.profile")}


def rounded(value):
    return value and float(f"{value:.6g}")


def add(machines, folder):
    plan = json.loads((folder / "run.json").read_text())
    about = facts(json.loads((folder / "environment.json").read_text()))
    of = next((of for of in machines if about.items() <= of.items()), None)
    if of is None:
        machines.append(of := {**about, "began": [], "cases": {}})
    if plan["started_at"] in of["began"]:
        index = of["began"].index(plan["started_at"])
    else:
        index = len(of["began"])
        of["began"].append(plan["started_at"])
    for (case, unit), value in figures(folder, plan).items():
        runs = of["cases"].setdefault(case, {"unit": unit, "runs": []})["runs"]
        runs += [None] * (len(of["began"]) - len(runs))
        runs[index] = rounded(value)
    for case in of["cases"].values():
        case["runs"] += [None] * (len(of["began"]) - len(case["runs"]))
        known = [value for value in case["runs"] if value]
        case["figure"] = rounded(statistics.median(known))


def repeat(machines):
    differences = {}
    for case, of in ((case, of) for machine in machines for case, of in machine["cases"].items()):
        pairs = combinations([value for value in of["runs"] if value], 2)
        differences.setdefault(case, []).extend(abs(math.log(a / b)) for a, b in pairs)
    return {case: {"pairs": len(of), "median": rounded(quantile(of, 0.5)),
                   "p90": rounded(quantile(of, 0.9)), "largest": rounded(max(of))}
            for case, of in sorted(differences.items()) if of}


def lines(key, of):
    """A dictionary as JSON with an entry a line."""
    entries = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(of.items()))
    return f"{json.dumps(key)}: {{\n{entries}\n}}"


def main(folders):
    machines = json.loads(FILE.read_text())["machines"] if FILE.exists() else []
    for folder in folders:
        add(machines, Path(folder))
    machines.sort(key=lambda of: (of["label"], of["began"]))
    texts = []
    for of in machines:
        heads = json.dumps({key: value for key, value in of.items() if key != "cases"})
        texts.append(heads[:-1] + ",\n" + lines("cases", of["cases"]) + "}")
    FILE.write_text("{" + f'"about": {json.dumps(ABOUT, indent=1)},\n"machines": ['
                    + ",\n".join(texts) + "],\n" + lines("repeat", repeat(machines)) + "}\n")


if __name__ == "__main__":
    if len(sys.argv) < 2 or "--help" in sys.argv:
        sys.exit(__doc__.strip())
    main(sys.argv[1:])
