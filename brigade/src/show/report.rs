//! A report as a page: the first screen, then the groups, then the notes.

use crate::judge::statistics::Estimate;
use harness::terminal;

use super::page::{ABSENT, Block, NO_BREAK_SPACE, Side, Table, named};
use super::quantity::{
    Unit, bytes, duration, estimated_bytes, estimated_duration, estimated_ratio, letter, percent,
    three_digits,
};
use super::{notes, pairs, text};
use crate::judge::environment::{self, other_differences};
use crate::judge::ledger::Quantity;
use crate::judge::report::model::{
    Case, CaseEstimate, FigureRow, Group, KindFigures, MeasurementEstimate, Parts, Percentiles,
    Report, RunProgress, TaskKind, WaitingFor,
};

/// What the columns mean.
const LEGEND: &str = "Per operation, over n processes (~: some were disturbed, !: all) [95 % \
    interval]; p50, p99 and CPU time in the unit of the time; whole: create, run and wait for the \
    end together; sw: context switches counted by the kernel; cross: hops between two CPUs. \
    Elapsed, including the time between laps, is user + kernel + waiting − overlap.";

/// Legend of the waiting columns.
const LEGEND_OF_WAITING: &str = "Waiting: all CPUs asleep; waking: entering and leaving idle \
    states; queued: a task waits for its CPU. Idle/op, ipi/op: how often a CPU entered an idle \
    state, and interrupted another.";

/// The table of all kinds of tasks: its heading and legend.
const KINDS: &str = "By kind of task";
const LEGEND_OF_KINDS: &str = "± is half of the 95 % interval. sw/hop: context switches per \
    hand-over, counted by the kernel. Creation includes running the task and waiting for its end. \
    Memory is that of a waiting task, in user space and in the kernel, as far as the program can \
    read it.";

/// After the count of processes if some were disturbed.
const DISTURBED: &str = "~";
/// The same if all are unusable.
const UNUSABLE: &str = "!";

/// A part of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Machine, quality and the main figures.
    FirstScreen,
    /// Hop, creation and memory by kind of task.
    Kinds,
    /// All groups, or the one with this name.
    Groups(Option<String>),
    /// The notes in words.
    Notes,
}

/// The report as text; `folders` contain the records of the runs.
pub fn as_text(report: &Report, folders: &[String]) -> String {
    let mut text = text::blocks(&page(report));
    for (run, folder) in report.runs.iter().zip(folders) {
        text += &format!("records in {}\n", terminal::line(folder));
        text += &unfinished(&run.progress, folder);
    }
    text
}

/// Says that the run in this folder is incomplete, and how to resume it; empty if it is complete.
pub fn unfinished(progress: &RunProgress, folder: &str) -> String {
    if progress.is_complete {
        String::new()
    } else if progress.resumable {
        to_go_on(folder)
    } else {
        "not complete\n".to_owned()
    }
}

/// How to resume the run in this folder.
pub fn to_go_on(folder: &str) -> String {
    format!("not complete; resume with: brigade run --resume {}\n", terminal::line(folder))
}

/// The page of a whole report.
pub fn page(report: &Report) -> Vec<Block> {
    [part(report, &Part::FirstScreen), moved(report), below(report)].concat()
}

/// Changes since the last run on this machine, one line per case; empty if there are none.
pub fn moved(report: &Report) -> Vec<Block> {
    let mut blocks = Vec::new();
    for run in report.runs.iter().filter(|run| !run.moved.is_empty()) {
        let since = run.moved[0].other.as_deref().unwrap_or_default();
        let lead = format!(
            "{}, compared with {since}; changes larger than runs of one build differ:",
            run.name
        );
        let line = |row: &FigureRow| {
            let ratio = row.figures.first()?.as_ref()?;
            Some(format!("{}: {} times", title(report, &row.case), estimated_ratio(ratio)))
        };
        blocks.push(Block::Paragraph(lead));
        blocks.push(Block::Items(run.moved.iter().filter_map(line).collect()));
    }
    blocks
}

/// Everything below the first screen.
pub fn below(report: &Report) -> Vec<Block> {
    let mut page = Vec::new();
    for of in [Part::Groups(None), Part::Kinds, Part::Notes] {
        let blocks = part(report, &of);
        if of == Part::Kinds && !blocks.is_empty() {
            page.push(Block::Heading(2, KINDS.to_owned()));
        }
        page.extend(blocks);
    }
    let facts = report.runs.iter().enumerate().flat_map(|(index, run)| {
        let name = label(report, index);
        [format!("{name}{}", run.environment), format!("{name}{}", notes::extent(run))]
    });
    page.extend(facts.map(Block::Paragraph));
    page
}

/// A part of the page; empty if the report lacks that group.
pub fn part(report: &Report, part: &Part) -> Vec<Block> {
    match part {
        Part::FirstScreen => first_screen(report),
        Part::Kinds if report.runs.len() == 1 => kinds(report),
        Part::Kinds => Vec::new(),
        Part::Groups(name) => {
            let named = |group: &&Group| name.as_ref().is_none_or(|name| group.name == *name);
            let groups = report.groups.iter().filter(named);
            let mut page: Vec<Block> = groups.flat_map(|of| group(report, of)).collect();
            if !page.is_empty() && report.runs.len() == 1 {
                if name.is_none() {
                    page.push(Block::Heading(2, "How to read the tables".to_owned()));
                }
                page.push(Block::Paragraph(LEGEND.to_owned()));
                let groups = report.groups.iter().filter(named);
                if groups.map(waiting).any(|table| !table.is_empty()) {
                    page.push(Block::Paragraph(LEGEND_OF_WAITING.to_owned()));
                }
                page.push(Block::Paragraph(estimators().to_owned()));
            }
            page
        }
        Part::Notes => {
            let notes = (0..report.runs.len()).flat_map(|run| {
                let label = label(report, run);
                notes::notes(report, run).into_iter().map(move |note| format!("{label}{note}"))
            });
            let notes: Vec<String> = differences(report).chain(notes).collect();
            let heading = Block::Heading(2, "Notes".to_owned());
            if notes.is_empty() { Vec::new() } else { vec![heading, Block::Items(notes)] }
        }
    }
}

/// How the times are estimated.
pub fn estimators() -> &'static str {
    "Times are lower quartiles over processes."
}

/// The title of a case of the report, with its id; `name` may include a measurement.
fn title(report: &Report, name: &str) -> String {
    let of = |name: &str| {
        let mut cases = report.groups.iter().flat_map(|group| &group.cases);
        cases.find(|case| case.name == name).map(case_name)
    };
    let with_measurement = || {
        let (name, measurement) = name.rsplit_once(", ")?;
        Some(format!("{}, {measurement}", of(name)?))
    };
    of(name).or_else(with_measurement).unwrap_or_else(|| name.to_owned())
}

/// Prefix of a line about one of several runs.
fn label(report: &Report, index: usize) -> String {
    match report.runs.len() {
        1 => String::new(),
        _ => format!("{}: ", letter(index)),
    }
}

fn first_screen(report: &Report) -> Vec<Block> {
    let mut page: Vec<Block> = different_cpus(report).collect();
    for (index, run) in report.runs.iter().enumerate() {
        let name = match report.runs.len() {
            1 => String::new(),
            _ => format!("{}: {}, ", letter(index), run.name),
        };
        page.push(Block::Paragraph(format!("{name}{}", run.machine)));
        page.push(Block::Paragraph(notes::quality(&run.quality)));
        page.extend(notes::state(run).map(Block::Paragraph));
    }
    if !report.headline.is_empty() {
        page.push(Block::Table(headline(report)));
    }
    page
}

/// One line for each run with other CPUs than the first.
fn different_cpus(report: &Report) -> impl Iterator<Item = Block> {
    let runs = report.environment_differences.iter().enumerate();
    runs.filter_map(|(index, differences)| {
        let cpus = environment::different_cpus(differences)?;
        Some(Block::Paragraph(match report.runs.len() {
            2 => cpus,
            _ => format!("A and {}: {cpus}", letter(index + 1)),
        }))
    })
}

/// Other differences between the conditions of runs and the first's.
pub fn differences(report: &Report) -> impl Iterator<Item = String> {
    let runs = report.environment_differences.iter().enumerate();
    runs.flat_map(|(index, differences)| {
        let name = letter(index + 1);
        let lines = other_differences(differences);
        lines.into_iter().map(move |line| format!("A and {name}: {line}"))
    })
}

fn headline(report: &Report) -> Table {
    let mut table = runs_table(&["in short"], report);
    for row in &report.headline {
        let mut name = row.text.clone().unwrap_or_else(|| title(report, &row.case));
        if !row.unlike.is_empty() {
            name += &format!(" ({})", row.unlike.join(", "));
        }
        table.push(runs_row(vec![name], &row.figures, |figure| shown_as(row, figure)));
    }
    table
}

fn shown_as(row: &FigureRow, figure: &Estimate) -> String {
    match row.unit {
        Quantity::Nanoseconds => estimated_duration(figure),
        Quantity::Ratio => format!("{} times", estimated_ratio(figure)),
        Quantity::Bytes => estimated_bytes(figure),
    }
}

/// A group's comparisons: one case divided by another, or minus it.
pub fn comparisons(report: &Report, group: &Group) -> Table {
    let mut table =
        runs_table(&["one case over or minus another"], report).and("unlike", Side::Left);
    for row in &group.comparisons {
        let sign = if row.unit == Quantity::Ratio { "/" } else { "−" };
        let other = row.other.as_ref().map(|other| title(report, other));
        let other = other.map_or(String::new(), |other| format!(" {sign} {other}"));
        let name = vec![title(report, &row.case) + &other];
        let cells = runs_row(name, &row.figures, |figure| shown_as(row, figure));
        table.push([cells, vec![row.unlike.join(", ")]].concat());
    }
    table
}

/// A table with one column per run; for a single run it also shows the count.
fn runs_table(names: &[&str], report: &Report) -> Table {
    let letters: Vec<String> = (0..report.runs.len()).map(letter).collect();
    let mut columns: Vec<_> = names.iter().map(|name| (*name, Side::Left)).collect();
    match &letters[..] {
        [_] => columns.extend([("[95 % interval]", Side::Left), ("n", Side::Right)]),
        letters => columns.extend(letters.iter().map(|letter| (letter.as_str(), Side::Left))),
    }
    let table = Table::new(&columns);
    if letters.len() > 1 { table.growing() } else { table }
}

fn runs_row(
    mut row: Vec<String>,
    figures: &[Option<Estimate>],
    show: impl Fn(&Estimate) -> String,
) -> Vec<String> {
    let shown = |figure: &Option<Estimate>| figure.as_ref().map_or(ABSENT.to_owned(), &show);
    row.extend(figures.iter().map(shown));
    if let [figure] = figures {
        row.push(figure.as_ref().map_or(ABSENT.to_owned(), |figure| figure.count.to_string()));
    }
    row
}

fn group(report: &Report, group: &Group) -> Vec<Block> {
    let group = &group.singles();
    let tables = match report.runs.len() {
        1 => vec![
            times(group),
            comparisons(report, group),
            attribution(group),
            waiting(group),
            memory(group),
        ],
        _ => vec![side_by_side(report, group), comparisons(report, group)],
    };
    let mut page = vec![Block::Heading(2, group.question.clone())];
    page.extend(group.note.clone().map(Block::Paragraph));
    page.push(Block::Plots(group.name.clone()));
    let heading = page.len();
    page.extend(tables.into_iter().filter(|table| !table.is_empty()).map(Block::Table));
    page.extend(pairs::blocks(report, &group.name));
    if page.len() > heading { page } else { Vec::new() }
}

/// The cases of a group that the first run measured.
fn estimates(group: &Group) -> impl Iterator<Item = (&Case, &CaseEstimate)> {
    group.cases.iter().filter_map(|case| Some((case, case.first()?)))
}

/// The measurements of time: cases that keep tasks are not about creating them.
fn timed(group: &Group) -> impl Iterator<Item = (&Case, &CaseEstimate)> {
    estimates(group).filter(|(_, estimate)| estimate.held().is_none())
}

/// The times of a group's cases; more percentiles and fewer other columns if the group asks for
/// them.
fn times(group: &Group) -> Table {
    let mut table = Table::of(if group.tails {
        "case|op|time [95 %]|>p50|>p90|>p99|>p99.9|>n"
    } else {
        "case|op|time [95 %]|>p50|>p99|>cpu|>sw/op|>n"
    });
    for (case, estimate) in timed(group) {
        let whole = estimate.whole_ns.as_ref();
        if let Some(time) = whole {
            let mut row = vec![case_name(case), "whole".to_owned(), estimated_duration(time)];
            row.resize(table.columns().count() - 1, ABSENT.to_owned());
            row.push(format!("{}{}", time.count, mark(estimate)));
            table.push(row);
        }
        for (index, of) in estimate.measurements.iter().enumerate() {
            let unit = Unit::of(of.time_ns.value);
            let time = |ns: Option<f64>| ns.map_or(ABSENT.to_owned(), |ns| unit.show(ns));
            let percentile = |which: fn(&Percentiles) -> Option<f64>| time(which(&of.percentiles));
            let mut row = vec![
                if index == 0 && whole.is_none() { case_name(case) } else { String::new() },
                of.short_name().to_owned(),
                estimated_duration(&of.time_ns),
                percentile(|of| of.p50),
            ];
            if group.tails {
                row.extend([percentile(|of| of.p90), percentile(|of| of.p99)]);
                row.push(percentile(|of| of.p999));
            } else {
                row.extend([percentile(|of| of.p99), time(of.cpu_ns)]);
                row.push(of.switches.map_or(ABSENT.to_owned(), three_digits));
            }
            row.push(format!("{}{}", of.time_ns.count, mark(estimate)));
            table.push(row);
        }
    }
    table
}

/// A case's title with its id.
fn case_name(case: &Case) -> String {
    named(&case.title, &case.name)
}

/// Whether a case waits for a process that it started while that runs.
pub fn waits_for_child(case: &Case, estimate: &CaseEstimate) -> bool {
    let operation = estimate.measurement(None).map(|of| of.short_name());
    case.kind == Some(TaskKind::Process) && operation == Some("launch")
}

/// The mark of a disturbed case; empty if undisturbed.
fn mark(estimate: &CaseEstimate) -> &'static str {
    if estimate.uses_unusable() {
        UNUSABLE
    } else if estimate.is_disturbed() {
        DISTURBED
    } else {
        ""
    }
}

fn attribution(group: &Group) -> Table {
    let mut table =
        Table::of("where the time goes||>elapsed|>user|>kernel|>cross|waiting, overlap [95 %]");
    for (case, estimate) in timed(group) {
        let Some(of) = &estimate.attribution else { continue };
        let Parts { elapsed_ns, user_ns, kernel_ns, waiting_ns, overlap_ns, .. } = &of.parts;
        let unit = Unit::of(elapsed_ns.value);
        // Some processes wait and others overlap: the parts add up only with both.
        let awaited = if waits_for_child(case, estimate) { "for the child " } else { "" };
        let mut rest = vec![(awaited, waiting_ns), ("overlap ", overlap_ns)];
        rest.retain(|(_, of)| of.value > 0.0);
        let is_seen = |of: &Estimate| unit.show(of.value) != unit.show(0.0);
        if rest.iter().any(|(_, of)| is_seen(of)) {
            rest.retain(|(_, of)| is_seen(of));
        }
        let rest: Vec<String> =
            rest.iter().map(|(name, of)| format!("{name}{}", unit.estimated(of))).collect();
        table.push(vec![
            case_name(case),
            unit.symbol.to_owned(),
            unit.show(elapsed_ns.value),
            unit.show(user_ns.value),
            unit.show(kernel_ns.value),
            of.crossing_share.map_or(ABSENT.to_owned(), percent),
            if rest.is_empty() { ABSENT.to_owned() } else { rest.join(", ") },
        ]);
    }
    table
}

fn waiting(group: &Group) -> Table {
    let mut table =
        Table::of("what the waiting is for||>asleep|waking [95 %]|>queued|>rest|>idle/op|>ipi/op");
    for (case, estimate) in timed(group) {
        let Some(of) = &estimate.attribution else { continue };
        let Some(reasons) = &of.parts.waiting_for else { continue };
        // The child runs meanwhile, so the CPUs' counters show nothing.
        if of.parts.waiting_ns.value <= 0.0 || waits_for_child(case, estimate) {
            continue;
        }
        let unit = Unit::of(of.parts.elapsed_ns.value);
        let WaitingFor { idle_ns, idle_transition_ns, runnable_ns, stolen_ns, rest_ns } = reasons;
        let count =
            |count: Option<f64>| count.map_or(ABSENT.to_owned(), |count| format!("{count:.2}"));
        table.push(vec![
            case_name(case),
            unit.symbol.to_owned(),
            unit.show(idle_ns.value),
            unit.estimated(idle_transition_ns),
            unit.show(runnable_ns.value),
            unit.show(stolen_ns.value + rest_ns.value),
            count(of.idle_entries),
            count(of.interrupts),
        ]);
    }
    table
}

fn memory(group: &Group) -> Table {
    let mut table = Table::of("memory per task|part|[95 % interval]|>n");
    for (case, estimate) in estimates(group) {
        for (index, part) in estimate.memory.iter().enumerate() {
            table.push(vec![
                if index == 0 { case_name(case) } else { String::new() },
                part.name.clone(),
                estimated_bytes(&part.bytes_per_task),
                part.bytes_per_task.count.to_string(),
            ]);
        }
    }
    table
}

/// The cases of a group, with one column per run.
fn side_by_side(report: &Report, group: &Group) -> Table {
    let mut table = runs_table(&["case"], report);
    for case in &group.cases {
        // Every measurement of any run, in order of first appearance.
        let mut names: Vec<&MeasurementEstimate> = Vec::new();
        for measurement in case.estimates.iter().flatten().flat_map(|of| &of.measurements) {
            if names.iter().all(|known| known.name != measurement.name) {
                names.push(measurement);
            }
        }
        for (index, like) in names.into_iter().enumerate() {
            let figure = |estimate: &Option<CaseEstimate>| {
                Some(estimate.as_ref()?.measurement(Some(&like.name))?.time_ns)
            };
            let figures: Vec<_> = case.estimates.iter().map(figure).collect();
            let name = match index {
                0 => case_name(case),
                _ => format!("{}, {}", case_name(case), like.short_name()),
            };
            table.push(runs_row(vec![name], &figures, estimated_duration));
        }
    }
    table
}

/// The table of kinds, if a run has several, and the versions of their runtimes.
fn kinds(report: &Report) -> Vec<Block> {
    if report.kinds.len() < 2 {
        return Vec::new();
    }
    vec![Block::Table(table_of_kinds(&report.kinds)), Block::Paragraph(LEGEND_OF_KINDS.to_owned())]
}

fn table_of_kinds(kinds: &[KindFigures]) -> Table {
    let mut table = Table::of("kind|hop|>sw/hop|create, run, end|memory");
    for kind in kinds {
        let name = match &kind.version {
            Some(version) => format!("{} ({version})", kind.text),
            None => kind.text.clone(),
        };
        table.push(vec![
            name,
            brief(kind.hop_ns.as_ref(), duration),
            kind.switches_per_hop.map_or(ABSENT.to_owned(), three_digits),
            brief(kind.create_ns.as_ref(), duration),
            brief(kind.memory_bytes.as_ref(), bytes),
        ]);
    }
    table
}

/// An estimate with half of its interval, such as `211 ns ± 3 %`.
fn brief(estimate: Option<&Estimate>, show: impl Fn(f64) -> String) -> String {
    let Some(estimate) = estimate else { return ABSENT.to_owned() };
    let share = match estimate.half_width() {
        Some(share) if share < 0.005 => "< 1".to_owned(),
        Some(share) => format!("{:.0}", share * 100.0),
        None => ABSENT.to_owned(),
    };
    let value = show(estimate.value);
    format!("{value}{NO_BREAK_SPACE}±{NO_BREAK_SPACE}{share}{NO_BREAK_SPACE}%")
}
