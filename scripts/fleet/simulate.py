#!/usr/bin/env python3
"""Writes the results of a simulated fleet, to try what reads many folders.

    scripts/fleet/simulate.py --like RUN --out FOLDER [--hosts 1000] [--slow 20] [--slower 1.1]
        [--cases 12] [--rounds 10] [--seed 1] [--date 2026-11-23]

The first --slow hosts take --slower times as long and have the governor `powersave`. Every
line is like the first record of RUN. The same seed writes the same folders.
"""

import argparse
import copy
import json
import math
import random
from pathlib import Path

OF_HOSTS, OF_PROCESSES = 0.01, 0.02  # standard deviations of logarithms


def write(out, like, flags):
    read = lambda name: json.loads((like / name).read_text())
    run, environment = read("run.json"), read("environment.json")
    first = json.loads((like / "records.jsonl").open().readline())
    names = [f"ring-{index}/free" for index in range(flags.cases)]
    run |= {"cases": names, "details": [], "skipped": [], "rounds": flags.rounds}
    rng = random.Random(flags.seed)
    for number in range(flags.hosts):
        is_slow = number < flags.slow
        host = out / f"{flags.date}-node-{number:04}"
        host.mkdir(parents=True)
        (host / "run.json").write_text(json.dumps(run))
        environment["processor.governor"] = "powersave" if is_slow else "performance"
        # Unrelated settings.
        environment["kernel.release"] = f"6.12.{rng.randrange(4)}"
        environment["processor.microcode"] = f"0x{rng.randrange(1, 3)}"
        environment["boot"] = f"{rng.randrange(2**32):08x}"
        (host / "environment.json").write_text(json.dumps(environment))
        own = rng.gauss(math.log(flags.slower) if is_slow else 0, OF_HOSTS)
        logs = [own + rng.gauss(0, OF_HOSTS) for _ in names]
        with (host / "records.jsonl").open("w") as records:
            for round_ in range(1, flags.rounds + 1):
                for index, name in enumerate(names):
                    ns = 1000 * (index + 1) * math.exp(logs[index] + rng.gauss(0, OF_PROCESSES))
                    records.write(json.dumps(record(first, name, index, round_, ns)) + "\n")


def record(like, name, index, round_, ns):
    """A line in which an operation takes `ns` nanoseconds."""
    line = copy.deepcopy(like)
    line |= {"case": name, "round": round_}
    of = line["record"]
    of["parameters"]["work"] = index + 1  # distinguishes the cases
    of["interference"] |= {"others_cpu_ns": 0, "steal_ns": 0}
    measured = of["measurements"][0]
    mean = ns * measured["operations"]
    spreads = {"min": 0.9, "p50": 1, "p90": 1.1, "p99": 1.2, "p999": 1.2, "max": 1.2}
    measured |= {f"{name}_ns": int(mean * by) for name, by in spreads.items()}
    measured |= {"mean_ns": mean, "stddev_ns": mean * 0.05, "ns_per_operation": ns,
                 "ns_per_task": mean / of["tasks"]}
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--like", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    for name, default in [("hosts", 1000), ("slow", 20), ("cases", 12), ("rounds", 10), ("seed", 1)]:
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--slower", type=float, default=1.1)
    parser.add_argument("--date", default="2026-11-23")
    flags = parser.parse_args()
    write(flags.out, flags.like, flags)


if __name__ == "__main__":
    main()
