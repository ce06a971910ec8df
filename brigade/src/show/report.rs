//! A full report as a page: the verdict, the screen's rows in figures, the groups, and the notes.

use std::iter;

use super::command;
use super::group::{group_answers, percent_with_ends, question};
use super::loads;
use super::machine;
use super::names::Names;
use super::page::{ABSENT, Block, Columns, Table, joined, left, right};
use super::quantity::{
    Unit, duration, estimate, factor_in_group, factor_of, figure, percent, range, three_digits,
    used_of_ended,
};
use super::screen::answers;
use super::verdict::{RunVerdict, next_run, verdict};
use crate::judge::prediction::{Difference, Prediction};
use crate::judge::report::{Group, Report, RunSummary, ScreenBlock, ScreenPart};
use crate::judge::row::{MemoryItem, Other, Parts, ProcessOutcome, Quantity, Row, WaitingFor};
use crate::judge::savings::SavingStep;
use crate::judge::statistics::{Estimate, sorted};

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
    let RunVerdict { word, text, .. } = verdict(run);
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
        let names = has_names.then(|| Names::new(report, group));
        page.push(Block::Heading(2, question(group).to_owned()));
        page.extend(answered(group));
        page.extend(tables(group, names.as_ref()));
    }
    page.extend(closing(report));
    page
}

/// How to read the groups, the notes and the run's facts.
pub fn closing(report: &Report) -> Vec<Block> {
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
fn part(part: &ScreenPart) -> Vec<Block> {
    let rows = part.blocks.iter().flat_map(|block| block.rows.iter().map(move |row| (row, block)));
    let table = Columns::<(&Row, &ScreenBlock)>::new()
        .left(&part.of, |(row, block)| joined([&row.label, &block.name]))
        .left("median [95 %]", |(row, _)| estimated(row))
        .left("80 %", |(row, _)| spread(row))
        .right("×", |(row, block)| factor_of(row, block).unwrap_or(ABSENT.to_owned()))
        .right("n", |(row, _)| count(row))
        .table(rows);
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
    let mut rows: Vec<&Row> = group.cases().collect();
    rows.sort_by(|one, other| one.value().total_cmp(&other.value()));
    Columns::<&Row>::new()
        .left("case", |row| names.name(row))
        .right("median", |row| figure(row))
        .right("8 in 10 within", |row| within(row))
        .right("×", |row| factor_in_group(row).unwrap_or_default())
        .table(rows)
}

/// Between what 8 in 10 processes of a row lie, with how many are used if others are not.
pub fn within(row: &Row) -> String {
    match used_of_ended(row) {
        Some(count) => format!("{} ({count} processes)", spread(row)),
        None => spread(row),
    }
}

/// Between what 8 in 10 processes of a row lie.
fn spread(row: &Row) -> String {
    row.range.map_or(ABSENT.to_owned(), |ends| range(ends, row.unit))
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

/// A row of the table of figures.
struct TimesRow<'a> {
    row: &'a Row,
    /// Whether the row is the first of its case, which has a name.
    is_first: bool,
}

impl TimesRow<'_> {
    /// Words in the first row of a case.
    fn once(&self, words: impl FnOnce() -> String) -> String {
        if self.is_first { words() } else { String::new() }
    }

    /// What was measured: the case's operation, or a part of it.
    fn operation(&self) -> String {
        let row = self.row;
        if row.measurement == "iteration" { row.operation.clone() } else { row.measurement.clone() }
    }

    /// A time in the unit of the row's figure, without its symbol.
    fn time(&self, ns: Option<f64>) -> String {
        let figure = self.row.figure.map_or(0.0, |figure| figure.value);
        let unit = Unit::fitting(figure, Quantity::Nanoseconds);
        ns.map_or(ABSENT.to_owned(), |ns| unit.show(ns))
    }
}

/// The figures of a group's cases; more percentiles if the group asks for them.
fn times(group: &Group, names: Option<&Names>) -> Table {
    let mut columns =
        Columns::<TimesRow>::new().left("case", |shown| shown.once(|| shown.row.case.clone()));
    if let Some(names) = names {
        columns = columns.left("name", |shown| shown.once(|| names.name(shown.row)));
    }
    columns =
        columns.left("op", TimesRow::operation).left("median [95 %]", |shown| estimated(shown.row));
    if group.tails {
        columns = columns
            .right("p50", |shown| shown.time(shown.row.percentiles.p50))
            .right("p90", |shown| shown.time(shown.row.percentiles.p90))
            .right("p99", |shown| shown.time(shown.row.percentiles.p99))
            .right("p99.9", |shown| shown.time(shown.row.percentiles.p999));
    } else {
        let cpu_ns = |row: &Row| if row.unit == Quantity::Nanoseconds { row.cpu_ns } else { None };
        columns = columns
            .left("80 %", |shown| spread(shown.row))
            .right("p50", |shown| shown.time(shown.row.percentiles.p50))
            .right("p99", |shown| shown.time(shown.row.percentiles.p99))
            .right("cpu", move |shown| shown.time(cpu_ns(shown.row)))
            .right("sw/op", |shown| per_operation(shown.row.switches));
    }
    if group.rows.iter().any(|row| row.system_calls.is_some()) {
        columns = columns.right("calls/op", |shown| per_operation(shown.row.system_calls));
    }
    let mut rows = Vec::new();
    let mut before = "";
    for row in &group.rows {
        rows.push(TimesRow { row, is_first: row.case != before });
        before = &row.case;
    }
    columns.right("n", |shown| count(shown.row)).table(rows)
}

/// How often something happens in an operation.
fn per_operation(count: Option<f64>) -> String {
    count.map_or(ABSENT.to_owned(), three_digits)
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
    let mut rows = Vec::new();
    for savings in &group.savings {
        let place = savings.place.as_ref().map_or(String::new(), |place| format!("{place}: "));
        let mut name = format!("{place}{}, of {}", savings.kind, savings.of);
        for step in &savings.steps {
            rows.push((name, step));
            // The other steps are below it.
            name = String::new();
        }
    }
    Columns::<(String, &SavingStep)>::new()
        .left("saving by work", |(name, _)| name.clone())
        .right("work", |(_, step)| duration(step.saving.work_ns))
        .right("units", |(_, step)| step.units.to_string())
        .left("share [95 %]", |(_, step)| percent_with_ends(&step.saving.share))
        .left("time [95 %]", |(_, step)| estimated_ns(&step.saving.saved_ns))
        .right("server's sw/op", |(_, step)| per_operation(step.switches))
        .right("of the other", |(_, step)| per_operation(step.over_switches))
        .right("n", |(_, step)| step.saving.share.count.to_string())
        .table(rows)
}

/// A time with its interval.
fn estimated_ns(figure: &Estimate) -> String {
    estimate(figure, Quantity::Nanoseconds)
}

/// What a request costs beyond a server without waits, and what hops predict of that.
fn predictions(group: &Group) -> Table {
    Columns::<&Prediction>::new()
        .left("beyond a server without waits", |found| found.case.clone())
        .left("measured [95 %]", |found| estimated_ns(&found.measured))
        .left("predicted [95 %]", |found| estimated_ns(&found.predicted))
        .right("share", |found| found.share.map_or(ABSENT.to_owned(), percent))
        .right("switches", |found| three_digits(found.switches))
        .right("waits", |found| three_digits(found.waits))
        .right("n", |found| found.predicted.count.to_string())
        .table(&group.predictions)
}

/// What a request costs more with one kind than with another, and what hops predict of that.
fn differences(group: &Group) -> Table {
    Columns::<&Difference>::new()
        .left("difference between kinds", |found| found.cases.join(" − "))
        .left("measured [95 %]", |found| estimated_ns(&found.measured))
        .left("predicted [95 %]", |found| estimated_ns(&found.predicted))
        .right("share", |found| found.share.map_or(ABSENT.to_owned(), percent))
        .right("n", |found| found.predicted.count.to_string())
        .table(&group.differences)
}

/// A row of the table of parts of time.
struct PartsRow<'a> {
    row: &'a Row,
    parts: Parts,
    unit: Unit,
}

impl<'a> PartsRow<'a> {
    /// The parts of a row's time; `None` without any.
    fn new(row: &'a Row) -> Option<Self> {
        let parts = row.parts?;
        if row.unit != Quantity::Nanoseconds {
            return None;
        }
        Some(Self { row, parts, unit: Unit::fitting(parts.elapsed_ns, Quantity::Nanoseconds) })
    }

    /// User or kernel time. A process uses CPU time; if the kernel's ticks saw next to none, they are too
    /// long.
    fn ticked(&self, ns: f64) -> String {
        let shown = self.unit.show_roughly(ns);
        if ["0", "<0.01"].contains(&shown.as_str()) { ABSENT.to_owned() } else { shown }
    }

    /// How far user and kernel time may be off, if both are shown.
    fn error(&self) -> String {
        let Parts { user_ns, kernel_ns, division_error_ns, .. } = self.parts;
        let are_shown = [user_ns, kernel_ns].iter().all(|ns| self.ticked(*ns) != ABSENT);
        match division_error_ns {
            Some(ns) if are_shown => self.unit.show_roughly(ns),
            _ => ABSENT.to_owned(),
        }
    }

    /// A part of the waiting, if the kernel counted it.
    fn waiting_for(&self, part: fn(&WaitingFor) -> f64) -> String {
        let why = self.parts.waiting_for.as_ref();
        why.map_or(ABSENT.to_owned(), |why| self.unit.show(part(why)))
    }
}

/// Where the time of each case goes. Groups of scheduled operations have none: how long one takes
/// says when it was due.
fn parts(group: &Group, names: Option<&Names>) -> Table {
    let rows: Vec<PartsRow> =
        if group.tails { Vec::new() } else { group.cases().filter_map(PartsRow::new).collect() };
    Columns::<PartsRow>::new()
        .left("where the time goes", |shown| named(shown.row, names))
        .left("", |shown| shown.unit.symbol.to_owned())
        .right("elapsed", |shown| shown.unit.show(shown.parts.elapsed_ns))
        .right("user", |shown| shown.ticked(shown.parts.user_ns))
        .right("kernel", |shown| shown.ticked(shown.parts.kernel_ns))
        .right("error", PartsRow::error)
        .right("waiting", |shown| shown.unit.show(shown.parts.waiting_ns))
        .right("asleep", |shown| shown.waiting_for(|why| why.idle_ns))
        .right("waking", |shown| shown.waiting_for(|why| why.waking_ns))
        .right("queued", |shown| shown.waiting_for(|why| why.queued_ns))
        .right("overlap", |shown| shown.unit.show(shown.parts.overlap_ns))
        .right("cross", |shown| shown.parts.crossing_share.map_or(ABSENT.to_owned(), percent))
        .right("idle/op", |shown| per_operation(shown.parts.idle_entries))
        .right("ipi/op", |shown| per_operation(shown.parts.interrupts))
        .table(rows)
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
