#!/usr/bin/env python3
"""Adds runs to results/machines.json, which outlives their folders.

    .ci/machines.py RUN...   folders of runs; a run that the file has is replaced

The file's `about` says what it contains. Needs Python 3.11 and no package.
"""

import json
import math
import re
import statistics
import sys
from itertools import combinations, permutations
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "scripts"))
from recompute import Run, quantile

FILE = ROOT / "results/machines.json"
ABOUT = [
    "Figures of recorded machines, written by .ci/machines.py from the folders of runs.",
    "machines: for each machine and build, facts and cases. `runs` are the figures of a case in "
    "the runs of that build, in `began`'s order, null where a run lacks the case, `errors` the "
    "standard errors of their logarithms, and `figure` is their median. A run's figure is the median over its processes: ns of an operation "
    "(creating plus ending a task, where both are measured), or bytes of a task.",
    "repeat: how much runs of one build on one machine differ. For each case, over its `pairs` "
    "of runs, the absolute natural logarithms of the ratio of two figures: their median, 90th "
    "percentile and maximum.",
    "scaled: the same logarithms, each divided by the first run's error: percentiles 0 to 100 over "
    "all cases and pairs. Multiplied by the errors of a run they say how far the next one differs.",
    "A case is named by its program, subcommand and other flags in the order of their names. "
    "Left out are --placement free and flags that say how long to measure.",
]


DEVIATE = 1.96  # A normal value lies within as many standard deviations with 95 %.
LEAST_ERROR = 5e-4  # as in judge/compare.rs


def figures(folder):
    """The figure of each case of a run."""
    cases = Run(folder).cases
    return {(name, case.unit): case.figure() for name, case in cases.items() if case.figure()}


def error(figure):
    """The standard error of a figure's logarithm; None without a positive interval."""
    if figure.ends and figure.ends[0] > 0:
        return rounded(math.log(figure.ends[1] / figure.ends[0]) / 2 / DEVIATE)


def facts(environment):
    of = environment.get
    numbers = list(filter(None, [of("processor.family"), of("processor.model_number")]))
    words = re.findall(r"[a-z0-9]+", re.sub(r"\((r|tm)\)|processor|cpu", "",
                                            of("processor.model", "unknown").lower()))
    cpus = of("processor.online_cpus", "")
    label = "-".join(words + [n for n in numbers if n not in words] + [f"{cpus}cpu"])
    return {"label": label, "cpu": " ".join(filter(None, [of("processor.model"),
                                                          "/".join(numbers)])),
            "cpus": int(cpus or 0), "hypervisor": of("processor.virtualisation"),
            "kernel": of("kernel.release"), "build": (of("software.git_revision") or "")[:12]}


def rounded(value):
    return float(f"{value:.6g}")


def add(machines, folder):
    plan = json.loads((folder / "run.json").read_text())
    environment = json.loads((folder / "environment.json").read_text())
    if real := environment.get("processor.emulated_on"):
        sys.exit(f"{folder}: emulated on {real}: its figures are no machine's")
    about = facts(environment)
    of = next((of for of in machines if about.items() <= of.items()), None)
    if of is None:
        machines.append(of := {**about, "began": [], "cases": {}})
    if plan["started_at"] not in of["began"]:
        of["began"].append(plan["started_at"])
    at = of["began"].index(plan["started_at"])
    for (case, unit), figure in figures(folder).items():
        lists = of["cases"].setdefault(case, {"unit": unit, "runs": []})
        for key, value in (("runs", rounded(figure.value)), ("errors", error(figure))):
            values = lists.setdefault(key, [])
            values += [None] * (len(of["began"]) - len(values))
            values[at] = value
    for case in of["cases"].values():
        for key in ("runs", "errors"):
            case[key] = case.get(key, []) + [None] * (len(of["began"]) - len(case.get(key, [])))
        case["figure"] = rounded(statistics.median(filter(None, case["runs"])))


def repeat(machines):
    differences = {}
    for case, of in ((case, of) for machine in machines for case, of in machine["cases"].items()):
        pairs = combinations(filter(None, of["runs"]), 2)
        differences.setdefault(case, []).extend(abs(math.log(a / b)) for a, b in pairs)
    return {case: {"pairs": len(of), "median": rounded(quantile(of, 0.5)),
                   "p90": rounded(quantile(of, 0.9)), "largest": rounded(max(of))}
            for case, of in differences.items() if of}


def scaled(machines):
    of = [abs(math.log(a / b)) / max(error, LEAST_ERROR)
          for machine in machines for case in machine["cases"].values()
          for (a, error), (b, _) in permutations(zip(case["runs"], case.get("errors", [])), 2)
          if a and b and error is not None]
    return [rounded(quantile(of, p / 100)) for p in range(101)]


def lines(key, of):
    """A dictionary as JSON with an entry a line."""
    entries = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(of.items()))
    return f"{json.dumps(key)}: {{\n{entries}\n}}"


def main(folders):
    machines = json.loads(FILE.read_text())["machines"] if FILE.exists() else []
    for folder in folders:
        add(machines, Path(folder))
    machines.sort(key=lambda of: (of["label"], of["began"]))
    heads = [json.dumps({key: value for key, value in of.items() if key != "cases"})[:-1]
             for of in machines]
    texts = [f"{head},\n{lines('cases', of['cases'])}}}" for head, of in zip(heads, machines)]
    FILE.write_text(f'{{"about": {json.dumps(ABOUT, indent=1)},\n"machines": ['
                    + ",\n".join(texts) + f"],\n{lines('repeat', repeat(machines))},\n"
                    + f'"scaled": {json.dumps(scaled(machines))}}}\n')


if __name__ == "__main__":
    if len(sys.argv) < 2 or "--help" in sys.argv:
        sys.exit(__doc__.strip())
    main(sys.argv[1:])
