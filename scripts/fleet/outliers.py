#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = ["duckdb>=1.4", "numpy", "pandas", "scipy>=1.13", "statsmodels>=0.14"]
# ///
"""Finds the slow and the fast hosts of a fleet, and the settings that they share.

    scripts/fleet/outliers.py [--margin PERCENT] [--by host|boot] [--json] FOLDER...

FOLDER... are runs, such as results/*. docs/FLEET.md explains the method.
"""

import argparse
import json
import re
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.multitest import multipletests

RATE = 0.01  # the share of findings that may be due to chance
FEWEST = 5  # hosts needed to judge one
# By the rules of scripts/fleet.sql: the first usable process of each round, or any.
TIMES = """
WITH rounds AS (
    SELECT parse_path(filename)[-2] AS run, "case" AS name, (record->>'$.program')
        || (record->>'$.parameters') || (record->>'$.measurements[0].name') AS parameters,
        (record->>'$.measurements[0].ns_per_operation')::DOUBLE AS ns,
        coalesce(greatest((record->>'$.interference.steal_ns')::DOUBLE,
                (record->>'$.interference.others_cpu_ns')::DOUBLE)
            > greatest(1, json_array_length(record, '$.affinity'))
            * (0.2 * (record->>'$.interference.wall_ns')::DOUBLE + 20e6), false) AS unusable
    FROM read_json(?, format = 'newline_delimited', filename = true, ignore_errors = true,
        maximum_object_size = 134217728, columns = {"case": 'VARCHAR', round: 'UBIGINT',
        attempt: 'UBIGINT', outcome: 'VARCHAR', interrupted: 'BOOLEAN', record: 'JSON'})
    WHERE outcome = 'measured' AND NOT coalesce(interrupted, false) AND ns > 0
    QUALIFY row_number() OVER (PARTITION BY run, name, round ORDER BY unusable, attempt) = 1
)
SELECT * FROM rounds QUALIFY NOT unusable OR bool_and(unusable) OVER (PARTITION BY run, name)
"""


def read(folders, by):
    """The times of all runs of the most frequent type of machine, and their settings."""
    settings, paths = {}, {}
    for folder in map(Path, folders):
        try:
            settings[folder.resolve().name] = json.loads((folder / "environment.json").read_text())
            paths[folder.resolve().name] = str((folder / "records.jsonl").resolve(strict=True))
        except (OSError, ValueError) as error:
            settings.pop(folder.resolve().name, None)
            print(f"outliers: {folder.name}: left out: {error}", file=sys.stderr)
    if not settings:
        sys.exit("outliers: no folder can be read: name folders of runs, such as results/*")
    about = [f"processor.{part}" for part in ("model", "family", "model_number", "online_cpus")]
    machine = pd.DataFrame(settings).T.reindex(columns=about).fillna("").agg(" ".join, axis=1)
    runs = machine.index[machine == machine.mode()[0]]
    for run, other in machine.drop(runs).items():
        print(f"outliers: {run}: left out: another machine, {other}", file=sys.stderr)
    if by == "boot":
        host = {run: settings[run].get("boot", run) for run in runs}
    else:
        # A second run on a day has the first's name plus a number.
        first = {run: re.sub(r"-\d+$", "", run) for run in runs}
        named = {run: first[run] if first[run] in set(runs) else run for run in runs}
        host = {run: re.sub(r"^\d{4}-\d\d-\d\d-", "", name) for run, name in named.items()}
    times = duckdb.execute(TIMES, [[paths[run] for run in runs]]).df()
    times["host"] = times.run.map(host)
    settings = pd.DataFrame({host[run]: settings[run] for run in sorted(runs)}).T
    return times, settings.drop(columns=["boot", "schema_version"], errors="ignore")


def judge(times, margin):
    """A row for each host: how many times as long it takes as the middle host, over the cases
    that several hosts have, and whether that is slower, faster or alike."""
    groups = times.assign(log=np.log(times.ns)).groupby(["parameters", "name", "host"]).log
    cells = groups.agg(["median", "count", "std"]).reset_index()
    cells = cells[cells.groupby("parameters").host.transform("size") > 1]
    cells["log"] = cells["median"] - cells.groupby("parameters")["median"].transform("median")
    # A median varies by √(π/2) times as much as a mean.
    cells["error"] = cells["std"] * np.sqrt(np.pi / 2 / cells["count"])
    hosts = cells.groupby("host").agg(
        log=("log", "mean"), cases=("log", "size"), processes=("count", "sum"),
        error=("error", lambda of: np.sqrt(np.nansum(of**2)) / len(of)))
    hosts["verdict"] = "alike"
    wide = (hosts.error > 3 * hosts.error.median()) & (hosts.error > np.log1p(margin) / 2)
    hosts.loc[wide, "verdict"] = "too noisy"
    judged = hosts.verdict == "alike"
    hosts["p"] = np.nan
    if judged.sum() >= FEWEST:
        # With the median absolute deviation slow hosts do not hide one another, but it is worth
        # only about a third of the hosts; the middle host is noisy, too.
        of = hosts.log[judged]
        scale = stats.median_abs_deviation(of, scale="normal") * np.sqrt(1 + np.pi / 2 / len(of))
        chance = 2 * stats.t.sf(np.abs(of - of.median()) / max(scale, 1e-9), len(of) / 3)
        found = multipletests(chance, RATE, method="fdr_bh")[0] & (np.abs(of) > np.log1p(margin))
        hosts.loc[judged, "p"] = chance
        hosts.loc[of.index[found], "verdict"] = np.where(of[found] > 0, "slower", "faster")
    hosts.insert(0, "times", np.exp(hosts.log))
    return hosts.drop(columns=["log", "error"]).sort_values("times", ascending=False)


def shared(settings, hosts, verdict):
    """The settings that go with this verdict by Fisher's exact test of one side, best first."""
    differ = hosts.index[hosts.verdict == verdict]
    others = hosts.index[hosts.verdict == "alike"]
    rows = []
    for name in settings.columns if len(differ) and len(others) else []:
        # A fact that differs on most hosts identifies the host.
        if settings[name].nunique() > max(2, len(settings) / 2):
            continue
        for value in settings.loc[differ, name].dropna().unique():
            having = [(settings.loc[of, name] == value).sum() for of in (differ, others)]
            counts = [having, [len(differ) - having[0], len(others) - having[1]]]
            chance = stats.fisher_exact(counts, alternative="greater").pvalue
            if chance <= 0.25:
                shares = having[0] / len(differ), having[1] / len(others)
                rows.append((name, value, *shares, chance))
    return pd.DataFrame(rows, columns=["setting", "value", verdict, "alike", "p"]).sort_values("p")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="of a run")
    parser.add_argument("--margin", type=float, default=3, help="percent that do not matter [3]")
    parser.add_argument("--by", choices=["host", "boot"], default="host")
    parser.add_argument("--json", action="store_true", help="print one object")
    flags = parser.parse_args()
    times, settings = read(flags.folders, flags.by)
    hosts = judge(times, flags.margin / 100)
    found = {verdict: shared(settings, hosts, verdict) for verdict in ("slower", "faster")}
    if flags.json:
        tables = {"hosts": hosts.reset_index(), **found}
        print(json.dumps({name: json.loads(of.to_json(orient="records"))
                          for name, of in tables.items()}))
        return
    counts = ", ".join(f"{n} {of}" for of, n in hosts.verdict.value_counts().items())
    print(f"{len(hosts)} hosts: {counts}")
    print(hosts[hosts.verdict != "alike"].to_string(float_format="%.4g"))
    for verdict, of in found.items():
        if len(of):
            print(f"\nWhat the {verdict} ones share:\n{of.head(20).to_string(index=False)}")


if __name__ == "__main__":
    main()
