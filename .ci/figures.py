#!/usr/bin/env python3
"""Writes what the recorded runs show into README.md and docs/. Part of .ci/results.

    .ci/figures.py BRIGADE FOLDER REPORTS

BRIGADE reports; FOLDER contains the documents; REPORTS contains a report in JSON for each recorded
run, named as its run, and `groups`, what `brigade list` prints.

A figure in a document is between two comments: <!--spread/pinned-->6.2<!--/-->. The first is one of

    NAME         the figure of a case of CASES
    NAME.PART    a part of it: one of PARTS, a measurement, or a part of memory
    NAME/NAME    how many times the second is the first
    NAME-NAME    the difference
    NAME%NAME    the share of the first that the second does not take
    machine      of the run
    time.GROUP   how long `brigade run GROUP` takes, within a fifth
    trace.NAME.PART   the mean over the hops in docs/trace-NAME.svg
    NAME@LABEL   the figure of a case on a machine in results/machines.json

Two cases are paired by round, as in a report. All figures of a paragraph, an item or a table are of one
run: of those that have them, the one with the most figures of the section; of equal ones that of README's
screen, or else the latest, steady ones first. A section with the line <!-- asleep --> is of a run whose
CPUs fell asleep. Needs Python 3.11 and no package.
"""

import json
import math
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path.append(str(ROOT / "scripts"))
from recompute import digits, name_of_line, paired  # noqa: E402

PIPES = "async-brigade --runtime"
LOCK = "--tasks 8 --inside 100 --outside 100"
GREEDY = "--greedy 1 --greedy-for"
CASES = {
    # A ring over pipes.
    "pinned": "thread-brigade --placement same-cpu",
    "free": "thread-brigade",
    "spread": "thread-brigade --placement spread",
    "awake": "thread-brigade --keep-awake --placement spread",
    "process": "thread-brigade --kind process --placement same-cpu",
    "workers": "async-brigade",
    "tokio": f"{PIPES} tokio-current-thread",
    "smol": f"{PIPES} async-executor",
    "compio": f"{PIPES} compio",
    "io": "one-thread-brigade",
    "loop": "event-loop-brigade --loop epoll-edge",
    "uring": "event-loop-brigade --loop io-uring-defer",
    # In memory.
    "futex": "thread-brigade --channel futex --placement same-cpu",
    "memory": "async-mem-brigade",
    "memory_smol": "async-mem-brigade --runtime async-executor",
    "coroutine": "coroutine-brigade",
    "go": "goroutine-brigade --workers 1",
    "java": "java-brigade --workers 1",
    "erlang": "erlang-brigade --workers 1",
    "cpp": "asio-brigade",
    "node": "node-brigade",
    "python": "python-brigade",
    # Creating.
    "new_task": "async-creation --runtime tokio-current-thread --tasks 1000",
    "new_goroutine": "goroutine-brigade creation --workers 1 --tasks 1000",
    "new_thread": "thread-creation",
    "new_thread_reused": "thread-creation --tasks 20",
    "fork": "process-creation --via fork",
    "fork_8": "process-creation --via fork --resident-mib 8",
    "vfork": "process-creation --via vfork",
    "vfork_8": "process-creation --via vfork --resident-mib 8",
    # Keeping.
    "idle_task": "task-memory --kind tokio --waiting channel --tasks 200000",
    "idle_goroutine": "goroutine-brigade memory",
    "idle_thread": "task-memory --kind thread --tasks 4000",
    # A lock with eight tasks, or one.
    "mutex_1": "lock-hand-over --tasks 1 --inside 100 --outside 100",
    "mutex": f"lock-hand-over {LOCK}",
    "pi_1": "lock-hand-over --lock pthread-pi --tasks 1 --inside 100 --outside 100",
    "pi": f"lock-hand-over --lock pthread-pi {LOCK}",
    "tokio_mutex_1": "lock-hand-over --runtime tokio --lock tokio --tasks 1 --inside 100 --outside 100",
    "tokio_mutex": f"lock-hand-over --runtime tokio --lock tokio {LOCK}",
    "async_lock_1":
        "lock-hand-over --runtime tokio --lock async-lock --tasks 1 --inside 100 --outside 100",
    "async_lock": f"lock-hand-over --runtime tokio --lock async-lock {LOCK}",
    # Readers and writers.
    "mutex_90": "lock-hand-over --tasks 8 --read 90 --inside 100",
    "rwlock_90": "lock-hand-over --lock std-rw --tasks 8 --read 90 --inside 100",
    "rwlock_100": "lock-hand-over --lock std-rw --tasks 8 --read 100 --inside 100",
    "mutex_long_90": "lock-hand-over --tasks 8 --read 90 --inside 10000",
    "rwlock_long_90": "lock-hand-over --lock std-rw --tasks 8 --read 90 --inside 10000",
    "rwlock_long_99": "lock-hand-over --lock std-rw --tasks 8 --read 99 --inside 10000",
    "rwlock_long_100": "lock-hand-over --lock std-rw --tasks 8 --read 100 --inside 10000",
    "pthread_rw": "lock-hand-over --lock pthread-rw --tasks 8 --read 99 --inside 10000",
    "pthread_rw_writer": "lock-hand-over --lock pthread-rw-writer --tasks 8 --read 99 --inside 10000",
    # Channels.
    **{f"ch_{name}_{room}": f"channel-load{channel} --capacity {room}"
       for room in (1, 8, 64, 512)
       for name, channel in (("std", ""), ("crossbeam", " --channel crossbeam"),
                             ("queue", " --channel queue"))},
    "crossbeam_from_4": "channel-load --channel crossbeam --producers 4 --capacity 64",
    "crossbeam_from_64": "channel-load --channel crossbeam --producers 64 --capacity 64",
    "queue_from_4": "channel-load --channel queue --producers 4 --capacity 64",
    # Waking many.
    **{f"wake_{n}": f"wake-all --tasks {n}" for n in (100, 1000, 10000)},
    **{f"notify_{n}": f"wake-all --by tokio-notify --runtime tokio --tasks {n}"
       for n in (100, 1000, 10000)},
    **{f"close_{n}": f"goroutine-brigade wake-all --tasks {n}" for n in (100, 1000, 10000)},
    # Timers.
    **{f"{name}_{n}": f"timer-cost --timer {timer} --pending {n}" for n in (0, 1000, 1000000)
       for name, timer in (("timeout", "tokio-timeout"), ("async_io", "async-io"),
                           ("timerfd", "timerfd"))},
    "sleep_1000": "timer-cost --timer tokio --pending 1000",
    "sleep_workers": "timer-cost --timer tokio --workers 2 --pending 1000",
    # Next to a task that computes for 50 ms.
    "greedy_thread": f"wake-latency --source timer {GREEDY} 50000 --placement same-cpu",
    "greedy_tokio": f"wake-latency --runtime tokio-current-thread --source timer {GREEDY} 50000",
    "greedy_go": f"goroutine-brigade wake --source timer --workers 1 {GREEDY} 50000",
    "greedy_java": f"java-brigade wake --workers 1 {GREEDY} 50000",
    "greedy_python": f"python-tasks wake {GREEDY} 50000",
    # Serving.
    "serve_thread": "echo-server --placement same-cpu",
    "serve_tokio": "echo-server --kind tokio-current-thread --placement same-cpu",
    "serve_loop": "echo-server --kind epoll --placement same-cpu",
    "serve_go": "goroutine-server --placement same-cpu",
    "work_thread": "echo-server --work 10000 --placement same-cpu",
    "work_tokio": "echo-server --kind tokio-current-thread --work 10000 --placement same-cpu",
    "more_work_thread": "echo-server --work 100000 --placement same-cpu",
    "more_work_tokio": "echo-server --kind tokio-current-thread --work 100000 --placement same-cpu",
}
# Figures of a measurement of a case: of a server whose load has its own CPU.
MEASUREMENTS = {
    "own_thread": ("echo-server --placement spread", "server"),
    "own_tokio": ("echo-server --kind tokio-current-thread --placement spread", "server"),
    "own_work_thread": ("echo-server --work 10000 --placement spread", "server"),
    "own_work_tokio":
        ("echo-server --kind tokio-current-thread --work 10000 --placement spread", "server"),
    "own_more_thread": ("echo-server --work 100000 --placement spread", "server"),
    "own_more_tokio":
        ("echo-server --kind tokio-current-thread --work 100000 --placement spread", "server"),
}
CASES |= {name: case for name, (case, _) in MEASUREMENTS.items()}
# Where a part is in a row, and how it is shown.
PARTS = {
    "switches": (["switches"], "number"),
    "idle": (["parts", "idle_entries"], "number"),
    "interrupts": (["parts", "interrupts"], "number"),
    "crossing": (["parts", "crossing_share"], "share"),
    "cpu": (["cpu_ns"], "nanoseconds"),
    "kernel": (["parts", "kernel_ns"], "nanoseconds"),
    "sleeps": (["sleeps"], "per mille"),
    "work": (["work_ns"], "nanoseconds"),
    "server_switches": (["server_switches"], "number"),
    "p50": (["percentiles", "p50"], "nanoseconds"),
    "p99": (["percentiles", "p99"], "nanoseconds"),
}
MARK = re.compile(r"<!--([a-z][a-z0-9_.]*(?:[-/%@][a-z0-9_-]+?)?)-->(.*?)<!--/-->")
ASLEEP = "<!-- asleep -->"
NO_BREAK = "\u00a0"  # between a number and its unit
# The columns of docs/MACHINES.md, cases as in results/machines.json.
COLUMNS = {
    "coroutine": "coroutine-brigade",
    "async task": "async-mem-brigade",
    "goroutine": "goroutine-brigade --workers 1",
    "thread, futex": "thread-brigade --channel futex --placement same-cpu",
    "async task, pipes": "async-brigade --runtime tokio-current-thread",
    "thread, one CPU": "thread-brigade --placement same-cpu",
    "thread, any CPU": "thread-brigade",
    "thread, other CPU": "thread-brigade --placement spread",
    "new async task": "async-creation",
    "new thread": "thread-creation",
    "fork": "process-creation --via fork",
    "idle thread": "task-memory --kind thread --tasks 4000",
}


# Figures as text, as the runner shows them.

def factor(value):
    """Two significant digits, three from 100 on and near 1."""
    if value >= 999.5:
        unit = 10 if value < 9995 else 100
        return f"{round(value / unit) * unit}"
    if value < 0.0995:
        return f"{value:.{3 if value >= 0.00995 else 4}f}"
    if value >= 9.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 1.095 else f"{value:.2f}"


def percent(share):
    return f"{round(share * 100)}{NO_BREAK}%"


def shown(value, kind):
    if kind == "per mille":
        return digits(value * 1000)
    if kind in ("number", "share", "ratio"):
        return {"number": digits, "ratio": factor, "share": percent}[kind](value)
    step, units = {"nanoseconds": (1000, ["ns", "µs", "ms", "s"]),
                   "bytes": (1024, ["B", "KiB", "MiB", "GiB"])}[kind]
    while abs(value) >= step - 0.5 and len(units) > 1:
        value, units = value / step, units[1:]
    return f"{value if isinstance(value, int) else digits(value)}{NO_BREAK}{units[0]}"


def is_near(written, seconds):
    """Whether a written time is right within a fifth: it stays then, so that a group with one more case
    changes no document."""
    return abs(written / seconds - 1) <= 0.2


def minutes(seconds, written):
    """Seconds as a plan: rounded up to five, or to half a minute."""
    number, unit = written.split()
    if is_near(float(number) * {"s": 1, "min": 60}[unit], seconds):
        return written
    if seconds < 60:
        return f"{math.ceil(seconds / 5) * 5} s"
    return f"{math.ceil(seconds / 30) / 2:g} min"


class Run:
    """The report of a recorded run."""

    def __init__(self, file):
        self.name = file.stem
        self.report = json.loads(file.read_text())
        state = self.report["run"]["state"]
        self.order = (state["is_fit"], state["is_comparable"], self.report["run"]["started_at"])
        rows = [row for group in self.report["groups"] for row in group["rows"] if row["figure"]]
        self.rows = {}
        for row in rows:
            self.rows.setdefault(row["case"], []).append(row)
        screen = [row for part in self.report["screen"] for block in part["blocks"]
                  for row in block["rows"] if row["figure"]]
        self.on_screen = len(screen)

    def has(self, names):
        return all(CASES[name] in self.rows for name in names)

    def falls_asleep(self):
        """Whether CPUs fell asleep at most hops to another CPU."""
        idle = self.row("spread")["parts"]["idle_entries"] if self.has(["spread"]) else None
        return idle is not None and idle > 0.5

    def row(self, name, measurement=None):
        """The row of a measurement, by default that of the case's figure, which is its first."""
        measurement = measurement or MEASUREMENTS.get(name, (None, None))[1]
        rows = self.rows[CASES[name]]
        return next(row for row in rows if measurement in (None, row["measurement"]))

    def paired(self, first, second, combine):
        """The median over the rounds that both have."""
        values = [{of["round"]: of["value"] for of in self.row(name)["processes"]
                   if of["outcome"] == "used"} for name in (first, second)]
        return paired(*values, combine).value

    def part(self, name, part):
        first = self.rows[CASES[name]][0]
        if part in PARTS:
            path, kind = PARTS[part]
            for key in path:
                first = first[key]
            return shown(first, kind)
        for of in first["memory"]:
            if of["name"].replace(" ", "_") == part:
                return shown(round(of["bytes_per_task"]["value"]), "bytes")
        row = self.row(name, part)
        return shown(row["figure"]["value"], row["unit"])

    def value(self, expression):
        """The text of a figure."""
        if expression == "machine":
            return machine(self.report["run"]["machine"])
        name, sign, other = re.fullmatch(r"(\w+)(?:([-./%])(\w+))?", expression).groups()
        if sign is None:
            return shown(self.row(name)["figure"]["value"], self.row(name)["unit"])
        if sign == ".":
            return self.part(name, other)
        if sign == "-":
            return shown(self.paired(name, other, lambda a, b: a - b), self.row(name)["unit"])
        ratio = math.exp(self.paired(name, other, lambda a, b: math.log(a / b)))
        return shown(ratio, "ratio") if sign == "/" else shown(1 - 1 / ratio, "share")


def machine(of):
    """A machine in the words of the first screen."""
    numbers = "/".join(filter(None, [of["family"], of["model_number"]]))
    cpus = f"{of['online_cpus']} CPU{'s' * (of['online_cpus'] != 1)}"
    host = {"none": "bare metal", "kvm": "KVM virtual machine"}
    host = host.get(of["virtualisation"], f"{of['virtualisation']} virtual machine")
    return ", ".join([f"{of['cpu']} {numbers}".strip(), cpus, host])


def trace(name, part):
    """The mean of a part over the hops in the picture of a trace, whose titles name parts and times."""
    text = (ROOT / f"docs/trace-{name.replace('_', '-')}.svg").read_text()
    titles = re.findall(r"<title>(sender|receiver|gap)(.*?), ([\d.]+)\s(ns|µs|ms)</title>", text)
    sums = dict.fromkeys(["sender", "switch", "gap", "receiver"], 0)
    for who, what, value, unit in titles:
        who = "switch" if "switches" in what else who
        sums[who] += float(value) * {"ns": 1, "µs": 1e3, "ms": 1e6}[unit]
    hops = sum(who == "receiver" for who, *_ in titles)
    sums["gap_begins"] = sums["sender"]
    sums["receiver_begins"] = sums["sender"] + sums["switch"] + sums["gap"]
    sums["hop"] = sums["receiver_begins"] + sums["receiver"]
    return shown(sums[part] / hops, "nanoseconds")


def names_in(expression):
    """The names of cases in a mark."""
    if re.match("time|trace|machine|.*@", expression):
        return []
    return re.split("[-/%]", expression.split(".")[0])


def filled(text, runs, times):
    """The document with its figures; `runs` are in order of preference."""
    def value(expression, run, written):
        kind, _, rest = expression.partition(".")
        if kind == "time":
            return minutes(times[rest], written)
        if "@" in expression:
            name, label = expression.split("@")
            figure = on_machine(machines()[label], CASES[name])
            return figure or sys.exit(f"machines.json has no {expression}")
        return trace(*rest.split(".")) if kind == "trace" else run.value(expression)

    def block(match, runs):
        names = {name for mark in MARK.findall(match[0]) for name in names_in(mark[0])}
        run = next((run for run in runs if run.has(names)), None)
        if run is None:
            sys.exit(f"no recorded run has all of {sorted(names)}: {match[0]}")
        return MARK.sub(lambda of: f"<!--{of[1]}-->{value(of[1], run, of[2])}<!--/-->", match[0])

    def section(text):
        allowed = [run for run in runs if run.falls_asleep()] if ASLEEP in text else list(runs)
        names = [name for mark in MARK.findall(text) for name in names_in(mark[0])]
        allowed.sort(key=lambda run: -sum(run.has([name]) for name in names))
        # A block ends before an empty line or an item.
        return re.sub(r"(?:(?!\n\n|\n- ).)+", lambda of: block(of, allowed), text, flags=re.DOTALL)

    return "\n## ".join(map(section, text.split("\n## ")))


def between(text, name, new):
    """The document with new lines between <!-- name --> and <!-- end -->."""
    return re.sub(rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda of: of[1] + new + of[2], text,
                  flags=re.DOTALL)


NEXT = re.compile(r"^next: brigade run \S+ \((\d+):(\d\d)\)", flags=re.MULTILINE)


def with_written_next(text, screen):
    """A screen, with the next command as the document has it if only its time differs a little."""
    old, new = NEXT.search(text), NEXT.search(screen)
    if old is None or new is None:
        return screen
    before, now = (60 * int(of[1]) + int(of[2]) for of in (old, new))
    is_same = old[0].split(" (")[0] == new[0].split(" (")[0]
    return screen.replace(new[0], old[0]) if is_same and is_near(before, now) else screen


def fragment(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def with_contents(text):
    """RESULTS with a table of contents; a heading that an earlier run has gets the run's name."""
    lines, contents, known, run = [], [], set(), ""
    for line in text.splitlines():
        if line.startswith("## "):
            run = line[3:]
            contents.append(f"- [{run}](#{fragment(run)})")
        elif line.startswith("### "):
            is_known = line in known
            known.add(line)
            line += f" ({run})" if is_known else ""
            if not re.match("### (How to read|Notes)", line):
                heading = line[4:].removesuffix(f" ({run})")
                contents.append(f"  - [{heading}](#{fragment(line[4:])})")
        lines.append(line)
    return between("\n".join(lines) + "\n", "contents", "\n".join(contents) + "\n")


def machines():
    """The recorded machines by their labels, each case with the figure of its latest build."""
    by_label = {}
    records = json.loads((ROOT / "results/machines.json").read_text())["machines"]
    for record in sorted(records, key=lambda of: max(of["began"])):
        machine = by_label.setdefault(record["label"], {"cases": {}, "runs": 0})
        machine.update({key: record[key] for key in ("cpu", "cpus", "hypervisor", "kernel")})
        machine["runs"] += len(record["began"])
        machine["date"] = max(record["began"])[:10]
        machine["cases"].update(record["cases"])
    return by_label


def on_machine(machine, case):
    """The figure of a case on a machine; None if it was not measured there."""
    of = machine["cases"].get(name_of_line(case))
    return shown(of["figure"], {"ns": "nanoseconds", "bytes": "bytes"}[of["unit"]]) if of else None


def table_of_machines():
    head = ["machine", *COLUMNS, "runs", "last run"]
    rows = [head, ["---"] + ["--:"] * (len(head) - 1)]
    for machine in machines().values():
        cells = [on_machine(machine, case) or "–" for case in COLUMNS.values()]
        if cells.count("–") * 2 > len(cells):
            continue
        where = f"{machine['hypervisor'].upper()} virtual machine" if machine["hypervisor"] else "bare metal"
        name = f"{machine['cpu'].replace('(R)', '')}, {machine['cpus']} CPUs, {where}"
        rows.append([name, *cells, str(machine["runs"]), machine["date"]])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main(brigade, folder, reports):
    folder, reports = Path(folder), Path(reports)
    runs = sorted((Run(file) for file in reports.glob("*.json")), key=lambda run: run.order)[::-1]
    on_screen = max(runs, key=lambda run: (run.on_screen, run.order))
    runs.sort(key=lambda run: run is not on_screen)
    serving = next(run for run in runs if run.has(["work_tokio"]))

    def report(run, *flags):
        command = [brigade, "report", f"results/{run.name}", *flags]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout

    pictures = reports / "pictures"
    pictures.mkdir()
    report(serving, "--pictures", pictures)
    for name in ("time-of-one-operation-by-tasks", "ratio-of-times-by-work"):
        (folder / f"docs/serve-{name}.svg").write_text((pictures / f"serve-{name}.svg").read_text())
    (folder / "docs/poster.svg").write_text(report(on_screen, "--format", "svg"))
    groups = (line.split() for line in (reports / "groups").read_text().splitlines())
    times = {of[0]: int(of[2]) for of in groups if len(of) > 2 and of[2].isdigit()}
    for document, change in {
        "README.md": lambda text: between(
            text, "screen", f"```\n{with_written_next(text, report(on_screen))}```\n"),
        "docs/OBSERVATIONS.md": lambda text: text,
        "docs/RESULTS.md": with_contents,
        "docs/MACHINES.md": lambda text: between(text, "machines", table_of_machines()),
    }.items():
        path = folder / document
        path.write_text(filled(change(path.read_text()), runs, times))


if __name__ == "__main__":
    main(*sys.argv[1:])
