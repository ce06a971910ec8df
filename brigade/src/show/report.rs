//! A full report as a page: the verdict, the screen's rows in figures, the groups, and the notes.

use std::iter;

use super::command;
use super::group::{group_answers, percent_with_ends, question};
use super::loads;
use super::machine;
use super::names::Names;
use super::page::{ABSENT, Block, Table, joined, left, right};
use super::quantity::{
    Unit, duration, estimate, factor_in_group, factor_of, figure, percent, range, three_digits,
    used_of_ended,
};
use super::screen::answers;
use super::verdict::{Verdict, next_run, verdict};
use crate::judge::prediction::{Difference, Prediction};
use crate::judge::report::{Group, Part, Report, RunSummary};
use crate::judge::row::{MemoryItem, Other, Percentiles, ProcessOutcome, Quantity, Row};
use crate::judge::savings::Saving;
use crate::judge::statistics::sorted;

/// What the columns mean.
const LEGEND: &str = "Medians over n processes, per operation, with a 95 % interval. 80 %: from \
    the tenth to the ninetieth percentile of processes. p50, p99: within a process. cpu: CPU time, \
    user and kernel. sw: context switches counted by the kernel. calls: system calls \
    counted by the program. 1 of 12: the notes explain why \
    the other processes are not used.";

/// What the columns of the second table mean.
const LEGEND_OF_PARTS: &str = "Elapsed, including the time between laps, is user + kernel + \
    waiting − overlap. Of the waiting: asleep, all CPUs were idle; waking, entering and leaving \
    idle states; queued, a task waited for its CPU. error: how far user and kernel may be off, with 95 \
    %, because the kernel divides CPU time by clock ticks. idle/op, ipi/op: how often a CPU entered an \
    idle state, and interrupted another. cross: hops between two CPUs.";

/// The page of a report. With `has_names` its tables contain what readers call cases next to their command
/// lines, for which a terminal has no room.
pub fn page(report: &Report, has_names: bool) -> Vec<Block> {
    let run = &report.run;
    let Verdict { word, text, .. } = verdict(run);
    let mut page = vec![
        Block::Paragraph(machine::machine_and_day(run)),
        Block::Paragraph(format!("{word}: {text}")),
    ];
    page.extend(next_run(run).map(Block::Paragraph));
    let answers = answers(report);
    if !answers.is_empty() {
        page.push(Block::Items(answers));
    }
    page.extend(report.screen.iter().flat_map(part));
    for group in &report.groups {
        let names = has_names.then(|| Names::of(report, group));
        page.push(Block::Heading(2, question(group).to_owned()));
        page.extend(answered(group));
        page.extend(tables(group, names.as_ref()));
    }
    page.extend(below(report));
    page
}

/// How to read the groups, the notes and the run's facts.
pub fn below(report: &Report) -> Vec<Block> {
    let mut page = vec![Block::Heading(2, "How to read the tables".to_owned())];
    let legend = format!("{LEGEND}{}", beyond_samples(report));
    page.extend([legend, LEGEND_OF_PARTS.to_owned()].map(Block::Paragraph));
    let notes = notes(report);
    if !notes.is_empty() {
        page.push(Block::Heading(2, "Notes".to_owned()));
        page.push(Block::Items(notes));
    }
    let RunSummary { machine, conditions, .. } = &report.run;
    page.push(Block::Paragraph(machine::conditions(machine, conditions)));
    page.push(Block::Paragraph(extent(&report.run)));
    page
}

/// How many intervals end outside their sample, and why.
fn beyond_samples(report: &Report) -> String {
    let figures = report.groups.iter().flat_map(|group| &group.rows).filter_map(|row| {
        let interval = row.figure?.interval?;
        let values = sorted(&row.values());
        Some(interval.low < *values.first()? || interval.high > *values.last()?)
    });
    let are_beyond: Vec<bool> = figures.collect();
    match are_beyond.iter().filter(|is_beyond| **is_beyond).count() {
        0 => String::new(),
        beyond => format!(
            " In {beyond} of {} rows the interval ends outside all processes: it is wider than that \
             of independent ones, since neighbours in time resemble each other.",
            are_beyond.len()
        ),
    }
}

/// A part of the first screen as a table.
fn part(part: &Part) -> Vec<Block> {
    let mut table =
        Table::new([left(&part.of), left("median [95 %]"), left("80 %"), right("×"), right("n")]);
    for block in &part.blocks {
        for row in &block.rows {
            let factor = factor_of(row, block).unwrap_or(ABSENT.to_owned());
            let label = joined([&row.label, &block.name]);
            let spread = row.range.map_or(ABSENT.to_owned(), |ends| range(ends, row.unit));
            table.push(vec![label, estimated(row), spread, factor, count(row)]);
        }
    }
    vec![Block::Heading(2, part.heading.clone()), Block::Table(table)]
}

/// Why processes of cases with figures failed, one line a case: their rows only count them.
pub fn failures(report: &Report, folder: &str) -> Vec<String> {
    let rows = report.groups.iter().flat_map(Group::cases);
    let line = |row: &Row| {
        let first = row.error.as_deref().unwrap_or("the first gave no reason");
        format!(
            "{} of {} processes of {} failed, the first because: {first} (brigade report --full \
             {folder})",
            row.failures(),
            row.ended(),
            row.case
        )
    };
    rows.filter(|row| row.failures() > 0 && row.figure.is_some()).map(line).collect()
}

/// What answers a group's question.
fn answered(group: &Group) -> Vec<Block> {
    let answers = group_answers(group).into_iter().map(Block::Paragraph);
    let loads = group.loads.as_ref().map(|loads| Block::Table(loads::table(loads)));
    answers.chain(loads).chain(group.note.clone().map(Block::Paragraph)).collect()
}

/// A group's cases, the cheapest first, each with the columns of the first screen.
pub fn overview(group: &Group, names: &Names) -> Table {
    let mut table =
        Table::new([left("case"), right("median"), right("8 in 10 within"), right("×")]);
    let mut rows: Vec<&Row> = group.cases().collect();
    rows.sort_by(|one, other| one.value().total_cmp(&other.value()));
    for row in rows {
        let factor = factor_in_group(row).unwrap_or_default();
        table.push(vec![names.name(row), figure(row), within(row), factor]);
    }
    table
}

/// Between what 8 in 10 processes of a row lie, with how many are used if others are not.
pub fn within(row: &Row) -> String {
    let range = row.range.map_or(ABSENT.to_owned(), |ends| range(ends, row.unit));
    match used_of_ended(row) {
        Some(count) => format!("{range} ({count} processes)"),
        None => range,
    }
}

/// A group's tables. With names, a case's table contains them next to its command line, and the others
/// contain them instead.
pub fn tables(group: &Group, names: Option<&Names>) -> Vec<Block> {
    let tables = [
        times(group, names),
        comparisons(group, names),
        savings(group),
        predictions(group),
        differences(group),
        parts(group, names),
        memory(group, names),
    ];
    tables.into_iter().filter(|table| !table.rows.is_empty()).map(Block::Table).collect()
}

/// What a table calls the case of a row.
fn named(row: &Row, names: Option<&Names>) -> String {
    names.map_or_else(|| row.case.clone(), |names| names.name(row))
}

/// The figures of a group's cases; more percentiles if the group asks for them.
fn times(group: &Group, names: Option<&Names>) -> Table {
    let counts_calls = group.rows.iter().any(|row| row.system_calls.is_some());
    let mut columns = vec![left("case")];
    columns.extend(names.map(|_| left("name")));
    columns.extend(["op", "median [95 %]"].map(left));
    if group.tails {
        columns.extend(["p50", "p90", "p99", "p99.9"].map(right));
    } else {
        columns.push(left("80 %"));
        columns.extend(["p50", "p99", "cpu", "sw/op"].map(right));
    }
    if counts_calls {
        columns.push(right("calls/op"));
    }
    columns.push(right("n"));
    let mut table = Table::new(columns);
    let mut before = "";
    for row in &group.rows {
        let is_first = row.case != before;
        let case = if is_first { row.case.clone() } else { String::new() };
        let name = names.map(|names| if is_first { names.name(row) } else { String::new() });
        let operation =
            if row.measurement == "iteration" { &row.operation } else { &row.measurement };
        let unit =
            Unit::fitting(row.figure.map_or(0.0, |figure| figure.value), Quantity::Nanoseconds);
        let time = |ns: Option<f64>| ns.map_or(ABSENT.to_owned(), |ns| unit.show(ns));
        let Percentiles { p50, p90, p99, p999 } = row.percentiles;
        let mut cells = vec![case];
        cells.extend(name);
        cells.extend([operation.clone(), estimated(row)]);
        if group.tails {
            cells.extend([p50, p90, p99, p999].map(time));
        } else {
            cells.extend([
                row.range.map_or(ABSENT.to_owned(), |ends| range(ends, row.unit)),
                time(p50),
                time(p99),
                time(row.cpu_ns.filter(|_| row.unit == Quantity::Nanoseconds)),
                row.switches.map_or(ABSENT.to_owned(), three_digits),
            ]);
        }
        if counts_calls {
            cells.push(row.system_calls.map_or(ABSENT.to_owned(), three_digits));
        }
        cells.push(count(row));
        table.push(cells);
        before = &row.case;
    }
    table
}

/// The number of processes behind a row's figure, with that of all if others are not used.
fn count(row: &Row) -> String {
    let all = || row.figure.map_or(0, |figure| figure.count).to_string();
    used_of_ended(row).unwrap_or_else(all)
}

/// A row's figure with its interval.
pub fn estimated(row: &Row) -> String {
    row.figure.as_ref().map_or(ABSENT.to_owned(), |figure| estimate(figure, row.unit))
}

/// A group's comparisons: one case over another, or minus it.
pub fn comparisons(group: &Group, names: Option<&Names>) -> Table {
    let mut table = Table::new([left("ratios and differences"), left("[95 %]"), right("n")]);
    for row in &group.comparisons {
        let Some(other) = &row.other else { continue };
        let sign = if row.unit == Quantity::Ratio { "/" } else { "−" };
        let labels = match names {
            Some(names) => [&row.case, &other.case].map(|case| names.name_of_case(case, row)),
            None => [row.label.clone(), other.label.clone()],
        };
        let name = compared(row, other, labels).join(&format!(" {sign} "));
        let n = row.figure.map_or(0, |figure| figure.count).to_string();
        table.push(vec![name, estimated(row), n]);
    }
    table
}

/// The two sides of a comparison: their labels, with the measurements if these are not the cases'
/// figures.
pub fn compared(row: &Row, other: &Other, [label, of_other]: [String; 2]) -> [String; 2] {
    match &other.measurement {
        None => [label, of_other],
        Some(name) => [format!("{label}, {}", row.measurement), format!("{of_other}, {name}")],
    }
}

/// What one kind of task saves, at each measured amount of work.
fn savings(group: &Group) -> Table {
    let mut table = Table::new([
        left("saving by work"),
        right("work"),
        right("units"),
        left("share [95 %]"),
        left("time [95 %]"),
        right("server's sw/op"),
        right("of the other"),
        right("n"),
    ]);
    for savings in &group.savings {
        let place = savings.place.as_ref().map_or(String::new(), |place| format!("{place}: "));
        let mut name = format!("{place}{}, of {}", savings.kind, savings.of);
        for step in &savings.steps {
            let Saving { work_ns, share, saved_ns } = &step.saving;
            let switches = |count: Option<f64>| count.map_or(ABSENT.to_owned(), three_digits);
            table.push(vec![
                std::mem::take(&mut name),
                duration(*work_ns),
                step.units.to_string(),
                percent_with_ends(share),
                estimate(saved_ns, Quantity::Nanoseconds),
                switches(step.switches),
                switches(step.over_switches),
                share.count.to_string(),
            ]);
        }
    }
    table
}

/// What a request costs beyond a server without waits, and what hops predict of that.
fn predictions(group: &Group) -> Table {
    let mut table = Table::new([
        left("beyond a server without waits"),
        left("measured [95 %]"),
        left("predicted [95 %]"),
        right("share"),
        right("switches"),
        right("waits"),
        right("n"),
    ]);
    for prediction in &group.predictions {
        let Prediction { case, measured, predicted, share, switches, waits, .. } = prediction;
        table.push(vec![
            case.clone(),
            estimate(measured, Quantity::Nanoseconds),
            estimate(predicted, Quantity::Nanoseconds),
            share.map_or(ABSENT.to_owned(), percent),
            three_digits(*switches),
            three_digits(*waits),
            predicted.count.to_string(),
        ]);
    }
    table
}

/// What a request costs more with one kind than with another, and what hops predict of that.
fn differences(group: &Group) -> Table {
    let mut table = Table::new([
        left("difference between kinds"),
        left("measured [95 %]"),
        left("predicted [95 %]"),
        right("share"),
        right("n"),
    ]);
    for Difference { cases, measured, predicted, share, .. } in &group.differences {
        table.push(vec![
            cases.join(" − "),
            estimate(measured, Quantity::Nanoseconds),
            estimate(predicted, Quantity::Nanoseconds),
            share.map_or(ABSENT.to_owned(), percent),
            predicted.count.to_string(),
        ]);
    }
    table
}

/// Where the time of each case goes. Groups of scheduled operations have none: how long one takes
/// says when it was due.
fn parts(group: &Group, names: Option<&Names>) -> Table {
    let figures = [
        "elapsed", "user", "kernel", "error", "waiting", "asleep", "waking", "queued", "overlap",
        "cross", "idle/op", "ipi/op",
    ];
    let first = [left("where the time goes"), left("")].into_iter();
    let mut table = Table::new(first.chain(figures.map(right)));
    if group.tails {
        return table;
    }
    for row in group.cases().filter(|row| row.unit == Quantity::Nanoseconds) {
        let Some(parts) = row.parts else { continue };
        let unit = Unit::fitting(parts.elapsed_ns, Quantity::Nanoseconds);
        let time = |ns: f64| unit.show(ns);
        // A process uses CPU time; if the kernel's ticks saw next to none, they are too long.
        let ticked = |ns: f64| match unit.show_roughly(ns) {
            shown if ["0", "<0.01"].contains(&shown.as_str()) => ABSENT.to_owned(),
            shown => shown,
        };
        let [user, kernel] = [parts.user_ns, parts.kernel_ns].map(ticked);
        let error = parts.division_error_ns.filter(|_| user != ABSENT && kernel != ABSENT);
        let error = error.map_or(ABSENT.to_owned(), |ns| unit.show_roughly(ns));
        let reason = |ns: Option<f64>| ns.map_or(ABSENT.to_owned(), time);
        let share = |part: Option<f64>, show: fn(f64) -> String| part.map_or(ABSENT.into(), show);
        let why = parts.waiting_for;
        table.push(vec![
            named(row, names),
            unit.symbol.to_owned(),
            time(parts.elapsed_ns),
            user,
            kernel,
            error,
            time(parts.waiting_ns),
            reason(why.map(|why| why.idle_ns)),
            reason(why.map(|why| why.waking_ns)),
            reason(why.map(|why| why.queued_ns)),
            time(parts.overlap_ns),
            share(parts.crossing_share, percent),
            share(parts.idle_entries, three_digits),
            share(parts.interrupts, three_digits),
        ]);
    }
    table
}

/// The memory of a task, part by part.
fn memory(group: &Group, names: Option<&Names>) -> Table {
    let mut table =
        Table::new([left("memory of one task"), left("part"), left("bytes [95 %]"), right("n")]);
    for row in &group.rows {
        for (index, part) in row.memory.iter().enumerate() {
            let name = if index == 0 { named(row, names) } else { String::new() };
            let bytes = &part.bytes_per_task;
            let shown = estimate(bytes, Quantity::Bytes);
            let item = memory_item(part.name).to_owned();
            table.push(vec![name, item, shown, bytes.count.to_string()]);
        }
    }
    table
}

/// What readers call an item of a task's memory.
pub fn memory_item(item: MemoryItem) -> &'static str {
    match item {
        MemoryItem::User => "user memory",
        MemoryItem::PageTables => "page tables",
        MemoryItem::KernelStacks => "kernel stacks",
        MemoryItem::Slab => "slab",
        MemoryItem::Sum => "= sum",
        MemoryItem::Unexplained => "unexplained",
        MemoryItem::DropOfAvailable => "= drop of available",
    }
}

/// What a reader must know about what the run inherited, and about single cases: failures,
/// disturbances, and what was skipped.
fn notes(report: &Report) -> Vec<String> {
    use ProcessOutcome::{Changed, Disturbed, Failed, Refused, TimedOut};
    let inherited = report.run.inherited.iter().map(machine::inherited);
    let mut notes: Vec<String> = inherited.map(|fact| format!("inherited: {fact}")).collect();
    for row in report.groups.iter().flat_map(Group::cases) {
        let counts = [(Failed, "failed"), (TimedOut, "timed out"), (Refused, "were refused")];
        let counts = counts.map(|(outcome, words)| (row.count(outcome), words));
        let failed = counts.iter().filter(|(count, _)| *count > 0);
        let failed: Vec<String> = failed.map(|(count, words)| format!("{count} {words}")).collect();
        if !failed.is_empty() {
            let error = row.error.as_ref().map_or(String::new(), |error| format!(": {error}"));
            notes.push(format!("{}: {}{error}", row.case, failed.join(", ")));
            let lines = row.stderr.iter().map(|text| text.replace('\n', " | ").replace('\t', " "));
            notes.extend(lines.map(|lines| format!("{}: it printed: {lines}", row.case)));
        }
        let disturbed = row.count(Disturbed);
        if disturbed > 0 {
            let why = "were stopped by a signal or throttled by a CPU quota, and are not used";
            notes.push(format!("{}: {disturbed} of {} {why}", row.case, row.ended()));
        }
        let changed = row.count(Changed);
        if changed > 0 {
            let why = "inherited something else than the run, and are not used";
            notes.push(format!("{}: {changed} of {} {why}", row.case, row.ended()));
        }
    }
    let skipped = report.run.skipped.iter();
    notes.extend(skipped.map(|skip| format!("{}: skipped: {}", skip.case, skip.reason)));
    notes
}

/// When the run was made, and by which command.
pub fn made(run: &RunSummary) -> Vec<Block> {
    let date = format!("A run of {}", run.started_at);
    iter::once(Block::Paragraph(date)).chain(repeating(run)).collect()
}

/// The command that repeats a run; `None` if the run does not have it.
pub fn repeating(run: &RunSummary) -> Option<Block> {
    Some(Block::Code(command::repeating(run)? + "\n"))
}

/// How long the run was.
fn extent(run: &RunSummary) -> String {
    let progress = &run.progress;
    let planned = progress.planned.map_or(String::new(), |planned| format!(" of {planned}"));
    let what =
        progress.side.as_ref().map_or(String::new(), |side| format!(", {side} of a comparison"));
    format!(
        "{} invocations, {}{planned} rounds{what}, seed {}, Brigade {}",
        progress.ended, progress.rounds, run.seed, run.version
    )
}
