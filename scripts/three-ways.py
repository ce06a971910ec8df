#!/usr/bin/env python3
"""Joins three comparisons of the same change, one per way of building it.

    three-ways.py never|slower|unresolved DEFAULT ONE-UNIT FAT-LTO

Each file is what `brigade compare --format json` prints. Most of what two builds differ by below a
microsecond is where the compiler happened to put code and data, so a verdict needs all three.
Exits with 4 if a case has the verdict of the first word, with 1 if there is nothing to compare.
"""

import json
import sys

WAYS = ["default", "one unit", "fat LTO"]


def ratio(case):
    of = case["ratio"]
    ends = of.get("interval")
    if of.get("value") is None:
        return "–"
    return f"{of['value']:.3f}" + (f" [{ends['low']:.3f}, {ends['high']:.3f}]" if ends else "")


def verdict(cases):
    verdicts = {case["verdict"] for case in cases}
    if len(verdicts) == 1:
        return verdicts.pop()
    return "depends on the build" if verdicts & {"slower", "faster"} else "unresolved"


def main(fail_on, *files):
    sides = [{case["rows"][0]["case"]: case for case in json.load(open(file))["cases"]}
             for file in files]
    names = [name for name in sides[0] if all(name in side for side in sides[1:])]
    rows = [["case", *WAYS, "verdict"]]
    for name in names:
        cases = [side[name] for side in sides]
        rows.append([name, *map(ratio, cases), verdict(cases)])
    widths = [max(map(len, column)) for column in zip(*rows)]
    rows.insert(1, ["-" * width for width in widths])
    for row in rows:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
    verdicts = [row[-1] for row in rows[2:]]
    counts = {word: verdicts.count(word) for word in ("slower", "faster", "depends on the build")}
    print("\n" + ", ".join(f"{count} {word}" for word, count in counts.items())
          + f", of {len(names)}. A verdict needs all three builds to agree.")
    if not names:
        return 1
    failing = {"slower": ["slower"], "unresolved": ["slower", "unresolved", "depends on the build"]}
    return 4 if set(verdicts) & set(failing.get(fail_on, [])) else 0


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
