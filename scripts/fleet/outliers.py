#!/usr/bin/env python3
# /// script
# requires-python = ">=3.10"
# dependencies = ["duckdb>=1.4", "numpy", "pandas", "scipy>=1.13", "statsmodels>=0.14"]
# ///
"""Finds the slow and the fast hosts of a fleet, and the settings that they share.

    scripts/fleet/outliers.py [--margin PERCENT] [--by host|boot] [--json] FOLDER...

FOLDER... are folders of runs, such as results/*. The host is the name of a folder without
its date; with --by boot each boot of a machine is one. docs/FLEET.md explains the method.
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

RATE = 0.01  # of what is found, the share that chance may find
FEWEST = 5  # hosts among which one is judged
BY_CHANCE = 0.25  # settings that chance shares as likely as this are not shown
BESIDE_SETTINGS = ("boot", "schema_version", "processor.sharing")
# The time of an operation by the rules of scripts/fleet.sql: the first usable process of each
# round, and unusable ones only where a run has no others.
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


def flat(value, name=""):
    """Yields every setting of environment.json by its name, such as kernel.release."""
    if isinstance(value, dict):
        for part, inner in value.items():
            yield from flat(inner, f"{name}.{part}" if name else part)
    elif value is not None and not name.startswith(BESIDE_SETTINGS):
        yield name, value if isinstance(value, str) else json.dumps(value)


def read(folders, by):
    """The times of all runs of the most frequent type of machine, and their settings."""
    environments = {}
    for folder in map(Path, folders):
        try:
            environment = json.loads((folder / "environment.json").read_text())
            assert (folder / "run.json").is_file() and (folder / "records.jsonl").is_file()
            environments[folder.resolve().name] = environment
        except (OSError, ValueError, AssertionError) as error:
            print(f"outliers: {folder.name}: left out: {error!r}", file=sys.stderr)
    if not environments:
        sys.exit("outliers: no folder can be read: name folders of runs, such as results/*")
    settings = {run: dict(flat(of)) for run, of in environments.items()}
    about = [f"processor.{part}" for part in ("model", "family", "model_number", "online_cpus")]
    machine = pd.Series({run: " ".join(of.get(part, "") for part in about)
                         for run, of in settings.items()})
    most = machine.value_counts().index[0]
    for run in machine.index[machine != most]:
        print(f"outliers: {run}: left out: another machine, {machine[run]}", file=sys.stderr)
    runs = machine.index[machine == most]
    if by == "boot":
        host = {run: str(environments[run].get("boot") or run) for run in runs}
    else:
        # A second run of a day has the name of the first and a number.
        first = {run: re.sub(r"-\d+$", "", run) for run in runs}
        named = {run: first[run] if first[run] in set(runs) else run for run in runs}
        host = {run: re.sub(r"^\d{4}-\d\d-\d\d-", "", name) for run, name in named.items()}
    paths = [str(Path(f) / "records.jsonl") for f in folders if Path(f).resolve().name in host]
    times = duckdb.execute(TIMES, [paths]).df()
    times["host"] = times.run.map(host)
    return times, pd.DataFrame({host[run]: settings[run] for run in runs}).T


def probability(logs, error):
    """How likely chance alone sets each host as far from the middle one, by Student's
    distribution with n / 3 degrees of freedom: about what the median absolute deviation, in
    which slow hosts do not hide one another, is worth. `error` is the standard error of each
    host: a noisy one has to lie further away."""
    spread = stats.median_abs_deviation(logs, scale="normal")
    excess = np.nan_to_num(np.clip(error**2 - np.nanmedian(error**2), 0, None))
    scale = np.sqrt(spread**2 * (1 + np.pi / 2 / len(logs)) + excess)
    distance = np.abs(logs - np.median(logs))
    score = np.divide(distance, scale, out=np.zeros_like(distance), where=distance > 0)
    return 2 * stats.t.sf(score, len(logs) / 3)


def judge(times, margin):
    """A row for each host: how many times as long it takes as the middle host, over all cases
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
    hosts.loc[hosts.cases < 0.5 * hosts.cases.median(), "verdict"] = "too few cases"
    wide = (hosts.error > 3 * hosts.error.median()) & (hosts.error > np.log1p(margin) / 2)
    hosts.loc[wide, "verdict"] = "too noisy"
    judged = hosts.verdict == "alike"
    hosts["p"] = np.nan
    if judged.sum() >= FEWEST:
        of = hosts[judged]
        hosts.loc[judged, "p"] = probability(of.log.to_numpy(), of.error.to_numpy())
        found = multipletests(hosts.p[judged], RATE, method="fdr_bh")[0]
        beyond = found & (np.abs(of.log) > np.log1p(margin))
        hosts.loc[of.index[beyond], "verdict"] = np.where(of.log[beyond] > 0, "slower", "faster")
    hosts.insert(0, "times", np.exp(hosts.log))
    return hosts.drop(columns=["log", "error"]).sort_values("times", ascending=False)


def shared(settings, hosts, verdict):
    """The settings that hosts of this verdict have and others do not, the best first: the
    difference of the shares, and Fisher's exact test of one side."""
    differ = hosts.index[hosts.verdict == verdict]
    others = hosts.index[hosts.verdict == "alike"]
    rows = []
    for name in settings.columns if len(differ) and len(others) else []:
        # What is another thing on most hosts is the host's name.
        if settings[name].nunique() > max(2, len(settings) / 2):
            continue
        for value in settings.loc[differ, name].dropna().unique():
            mine, theirs = ((settings.loc[of, name] == value).sum() for of in (differ, others))
            counts = [[mine, len(differ) - mine], [theirs, len(others) - theirs]]
            chance = stats.fisher_exact(counts, alternative="greater").pvalue
            parts = mine / len(differ) - theirs / len(others)
            if parts > 0 and chance <= BY_CHANCE:
                rows.append((name, value, mine / len(differ), theirs / len(others), parts, chance))
    columns = ["setting", "value", verdict, "alike", "parts", "p"]
    return pd.DataFrame(rows, columns=columns).sort_values(["parts", "p"], ascending=[False, True])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="of a run")
    parser.add_argument("--margin", type=float, default=3, help="percent that do not matter [3]")
    parser.add_argument("--by", choices=["host", "boot"], default="host")
    parser.add_argument("--json", action="store_true", help="print one object")
    flags = parser.parse_args()
    times, settings = read(flags.folders, flags.by)
    settings = settings[~settings.index.duplicated(keep="last")]
    hosts = judge(times, flags.margin / 100)
    found = {verdict: shared(settings, hosts, verdict) for verdict in ("slower", "faster")}
    if flags.json:
        tables = {"hosts": hosts.reset_index(), **found}
        print(json.dumps({name: json.loads(of.to_json(orient="records"))
                          for name, of in tables.items()}))
        return
    counts = hosts.verdict.value_counts()
    print(f"{len(hosts)} hosts:", ", ".join(f"{n} {of}" for of, n in counts.items()))
    print(hosts[hosts.verdict != "alike"].to_string(float_format="%.4g"))
    for verdict, of in found.items():
        if len(of):
            print(f"\nWhat the {verdict} ones share:\n{of.head(20).to_string(index=False)}")


if __name__ == "__main__":
    main()
