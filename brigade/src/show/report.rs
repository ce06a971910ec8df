//! A report as a page: the first screen, then the groups, then what has to be
//! known about them.

use crate::judge::statistics::{ENOUGH_FOR_RANKS, Estimate, Estimator};

use super::page::{ABSENT, Block, Side, Table};
use super::plot::letter;
use super::quantity::{
    Unit, duration, estimated_bytes, estimated_duration, estimated_ratio, three_digits,
};
use super::{kinds, ladder, pairs, proof, sentences};
use crate::judge::environment::{self, other_differences};
use crate::judge::report::model::{
    Attribution, Case, CaseEstimate, Fate, FigureRow, Group, MeasurementEstimate, Note,
    Percentiles, Quantity, Report, Run, WaitingFor,
};

/// The heading of the ladder.
pub const LADDER: &str = "From the cheapest to the dearest";

/// What the columns mean.
const LEGEND: &str = "Per operation, over n processes [95 % interval]; p50, p99 and CPU time in \
                      the unit of the time; sw: the kernel's context switches. Elapsed, with \
                      the time between laps, is user + kernel + waiting − overlap.";

/// The same of what waiting is for.
const LEGEND_OF_WAITING: &str = "Waiting: all CPUs asleep; waking, on the way into an idle \
                                 state or out of it; a task queued for its CPU. Idle/op, ipi/op: \
                                 how often a CPU entered an idle state, and interrupted another.";

/// Stands behind the count of processes where some were disturbed.
const DISTURBED: &str = "~";
/// Stands there where there are none but unusable ones.
const UNUSABLE: &str = "!";

/// A part of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Machine, quality and headline.
    FirstScreen,
    /// All cases on one axis.
    Ladder,
    /// Hop, creation and memory by kind of task.
    Kinds,
    /// All groups, or that of this name.
    Groups(Option<String>),
    /// The comparisons of the group of this name.
    Comparisons(String),
    /// The notes in words.
    Notes,
}

impl Part {
    /// The part of this name, as in `group=switches`.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "first-screen" => Self::FirstScreen,
            "ladder" => Self::Ladder,
            "kinds" => Self::Kinds,
            "groups" => Self::Groups(None),
            "notes" => Self::Notes,
            _ => match name.split_once('=')? {
                ("group", name) => Self::Groups(Some(name.to_owned())),
                ("comparisons", name) => Self::Comparisons(name.to_owned()),
                _ => return None,
            },
        })
    }
}

/// The page of a whole report.
pub fn page(report: &Report) -> Vec<Block> {
    let mut page = part(report, &Part::FirstScreen);
    for of in [Part::Ladder, Part::Kinds, Part::Groups(None), Part::Notes] {
        let blocks = part(report, &of);
        if of == Part::Kinds && !blocks.is_empty() {
            page.push(Block::Heading(2, kinds::KINDS.to_owned()));
        }
        page.extend(blocks);
    }
    let facts = report.runs.iter().enumerate().flat_map(|(index, run)| {
        let name = label(report, index);
        [format!("{name}{}", run.environment), format!("{name}{}", sentences::extent(run))]
    });
    page.extend(facts.map(Block::Paragraph));
    for run in &report.runs {
        if let Some(proof) = &run.proof {
            page.push(Block::Heading(2, "The instrument".to_owned()));
            page.push(Block::Code(proof::page(proof)));
        }
    }
    page
}

/// A part of the page; a group that the report does not have is empty.
pub fn part(report: &Report, part: &Part) -> Vec<Block> {
    match part {
        Part::FirstScreen => first_screen(report),
        Part::Ladder => {
            let names: Vec<String> = (0..report.runs.len()).map(letter).collect();
            let heading = Block::Heading(2, LADDER.to_owned());
            let bars = ladder::bars(report, &names).map(Block::Bars);
            bars.map_or(Vec::new(), |bars| vec![heading, bars])
        }
        Part::Kinds if report.runs.len() == 1 => kinds::blocks(report),
        Part::Kinds => Vec::new(),
        Part::Groups(name) => {
            let named = |group: &&Group| name.as_ref().is_none_or(|name| group.name == *name);
            let groups = report.groups.iter().filter(named);
            let mut page: Vec<Block> = groups.flat_map(|of| group(report, of)).collect();
            if !page.is_empty() && report.runs.len() == 1 {
                page.push(Block::Paragraph(LEGEND.to_owned()));
                let groups = report.groups.iter().filter(named);
                if groups.map(waiting).any(|table| !table.is_empty()) {
                    page.push(Block::Paragraph(LEGEND_OF_WAITING.to_owned()));
                }
                page.push(Block::Paragraph(estimators(report)));
            }
            page
        }
        Part::Comparisons(name) => {
            let group = report.groups.iter().find(|group| group.name == *name);
            let table = group.map(|group| comparisons(report, group));
            table.filter(|table| !table.is_empty()).map(Block::Table).into_iter().collect()
        }
        Part::Notes => {
            let runs = report.runs.iter().enumerate();
            let notes = runs.flat_map(|(index, run)| notes(&label(report, index), run));
            list("Notes", differences(report).chain(notes).collect())
        }
    }
}

/// How the times are estimated.
pub fn estimators(report: &Report) -> String {
    let cases = report.groups.iter().flat_map(estimates);
    let times = cases.filter_map(|(_, estimate)| Some(estimate.measurement(None)?.time_ns));
    let (medians, others): (Vec<_>, Vec<_>) =
        times.partition(|time| time.estimator == Estimator::Median);
    let why = format!("fewer than {ENOUGH_FOR_RANKS} processes, two modes or an outlier");
    match (medians.len(), others.len()) {
        (_, 0) => format!("Times are medians over processes: every case has {why}."),
        (0, _) => "Times are Hodges-Lehmann estimates: the middle of all averages of two \
                   processes, among logarithms."
            .to_owned(),
        (medians, others) => format!(
            "Times are Hodges-Lehmann estimates (the middle of all averages of two processes, \
             among logarithms), and medians in {medians} of {} cases: {why}.",
            medians + others
        ),
    }
}

/// A figure by its case and measurement, as it stands in a table, for the first
/// run.
pub fn figure(report: &Report, case: &str, measurement: Option<&str>) -> Option<String> {
    let mut cases = report.groups.iter().flat_map(|group| &group.cases);
    let case = cases.find(|of| of.name == case)?;
    let estimate = case.estimates.first()?.as_ref()?;
    Some(estimated_duration(&estimate.measurement(measurement)?.time_ns))
}

/// What stands before a line about one of several runs.
fn label(report: &Report, index: usize) -> String {
    match report.runs.len() {
        1 => String::new(),
        _ => format!("{}: ", letter(index)),
    }
}

fn list(heading: &str, items: Vec<String>) -> Vec<Block> {
    if items.is_empty() {
        return Vec::new();
    }
    vec![Block::Heading(2, heading.to_owned()), Block::Items(items)]
}

fn first_screen(report: &Report) -> Vec<Block> {
    let mut page: Vec<Block> = different_cpus(report).collect();
    for (index, run) in report.runs.iter().enumerate() {
        let name = match report.runs.len() {
            1 => String::new(),
            _ => format!("{}: {}, ", letter(index), run.name),
        };
        page.push(Block::Paragraph(format!("{name}{}", run.machine)));
        page.push(Block::Paragraph(sentences::quality(&run.quality)));
    }
    if !report.headline.is_empty() {
        page.push(Block::Table(headline(report)));
    }
    page
}

/// A line for each run whose CPUs are not those of the first.
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

/// In what else the conditions of runs differ from the first's.
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
        let mut name = row.text.clone().unwrap_or_else(|| row.case.clone());
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

/// The comparisons of a group: a case over another, or minus it.
pub fn comparisons(report: &Report, group: &Group) -> Table {
    let mut table = runs_table(&["case", "over or minus"], report).and("unlike", Side::Left);
    for row in &group.comparisons {
        let sign = if row.unit == Quantity::Ratio { "/" } else { "−" };
        let other = row.other.as_ref().map_or(String::new(), |other| format!("{sign} {other}"));
        let names = vec![row.case.clone(), other];
        let cells = runs_row(names, &row.figures, |figure| shown_as(row, figure));
        table.push([cells, vec![row.unlike.join(", ")]].concat());
    }
    table
}

/// A table with a column for each run, and where there is one run its count.
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
            tails(group),
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

/// The cases of a group that the first run has.
fn estimates(group: &Group) -> impl Iterator<Item = (&Case, &CaseEstimate)> {
    group.cases.iter().filter_map(|case| Some((case, case.estimates.first()?.as_ref()?)))
}

fn times(group: &Group) -> Table {
    use Side::{Left, Right};
    let mut table = Table::new(&[
        ("case", Left),
        ("op", Left),
        ("time [95 %]", Left),
        ("p50", Right),
        ("p99", Right),
        ("cpu", Right),
        ("sw/op", Right),
        ("n", Right),
    ]);
    for (case, estimate) in estimates(group) {
        for (index, measurement) in estimate.measurements.iter().enumerate() {
            table.push(times_row(case, estimate, index, measurement));
        }
    }
    table
}

fn times_row(
    case: &Case,
    estimate: &CaseEstimate,
    index: usize,
    measurement: &MeasurementEstimate,
) -> Vec<String> {
    let unit = Unit::of(measurement.time_ns.value);
    let optional = |ns: Option<f64>| ns.map_or(ABSENT.to_owned(), |ns| unit.show(ns));
    let percentiles = measurement.percentiles;
    vec![
        if index == 0 { case_name(case, estimate) } else { String::new() },
        measurement.short_name().to_owned(),
        estimated_duration(&measurement.time_ns),
        optional(percentiles.map(|percentiles| percentiles.p50)),
        optional(percentiles.map(|percentiles| percentiles.p99)),
        optional(measurement.cpu_ns),
        measurement.switches.map_or(ABSENT.to_owned(), three_digits),
        format!("{}{}", measurement.time_ns.count, mark(estimate)),
    ]
}

/// The percentiles of single operations, where they are what the group asks for.
fn tails(group: &Group) -> Table {
    use Side::{Left, Right};
    let percentiles = ["p50", "p90", "p99", "p99.9"].map(|name| (name, Right));
    let heads = [("tails", Left), ("op", Left)].into_iter().chain(percentiles);
    let mut table = Table::new(&heads.collect::<Vec<_>>());
    for (case, estimate) in estimates(group).filter(|_| group.tails) {
        let single = estimate.measurements.iter().filter(|of| of.operations == 1);
        for (index, of) in single.enumerate() {
            let Some(percentiles) = of.percentiles else { continue };
            let name = if index == 0 { case_name(case, estimate) } else { String::new() };
            let Percentiles { p50, p90, p99, p999 } = percentiles;
            let times = [p50, p90, p99, p999].map(duration);
            table.push([name, of.short_name().to_owned()].into_iter().chain(times).collect());
        }
    }
    table
}

/// A case's name, with its placement where the name does not end in it and it is
/// not the default.
fn case_name(case: &Case, estimate: &CaseEstimate) -> String {
    match estimate.placement.as_deref() {
        Some(placement) if placement != "free" && !case.name.ends_with(placement) => {
            format!("{} ({placement})", case.name)
        }
        _ => case.name.clone(),
    }
}

/// What marks a case by what disturbed it; nothing if nothing did.
fn mark(estimate: &CaseEstimate) -> &'static str {
    let is_used_unusable =
        estimate.invocations.iter().any(|of| of.is_used && of.fate == Fate::Unusable);
    match estimate.count(Fate::Disturbed) + estimate.count(Fate::Unusable) {
        0 => "",
        _ if is_used_unusable => UNUSABLE,
        _ => DISTURBED,
    }
}

fn attribution(group: &Group) -> Table {
    use Side::{Left, Right};
    let mut table = Table::new(&[
        ("where the time goes", Left),
        ("", Left),
        ("elapsed", Right),
        ("user", Right),
        ("kernel", Right),
        ("waiting or overlap [95 %]", Left),
    ]);
    for (case, estimate) in estimates(group) {
        let Some(parts) = &estimate.attribution else { continue };
        let Attribution { elapsed_ns, user_ns, kernel_ns, waiting_ns, overlap_ns, .. } = parts;
        let unit = Unit::of(elapsed_ns.value);
        let rest = match (waiting_ns.value, overlap_ns.value) {
            (0.0, 0.0) => ABSENT.to_owned(),
            (_, 0.0) => unit.estimated(waiting_ns),
            _ => format!("overlap {}", unit.estimated(overlap_ns)),
        };
        table.push(vec![
            case_name(case, estimate),
            unit.symbol.to_owned(),
            unit.show(elapsed_ns.value),
            unit.show(user_ns.value),
            unit.show(kernel_ns.value),
            rest,
        ]);
    }
    table
}

fn waiting(group: &Group) -> Table {
    use Side::{Left, Right};
    let mut table = Table::new(&[
        ("what the waiting is for", Left),
        ("", Left),
        ("asleep", Right),
        ("waking [95 %]", Left),
        ("queued", Right),
        ("rest", Right),
        ("idle/op", Right),
        ("ipi/op", Right),
    ]);
    for (case, estimate) in estimates(group) {
        let Some(parts) = &estimate.attribution else { continue };
        let Some(reasons) = &parts.waiting_for else { continue };
        if parts.waiting_ns.value <= 0.0 {
            continue;
        }
        let unit = Unit::of(parts.elapsed_ns.value);
        let WaitingFor { idle_ns, way_ns, runnable_ns, stolen_ns, rest_ns } = reasons;
        let count =
            |count: Option<f64>| count.map_or(ABSENT.to_owned(), |count| format!("{count:.2}"));
        table.push(vec![
            case_name(case, estimate),
            unit.symbol.to_owned(),
            unit.show(idle_ns.value),
            unit.estimated(way_ns),
            unit.show(runnable_ns.value),
            unit.show(stolen_ns.value + rest_ns.value),
            count(parts.idle_entries),
            count(parts.interrupts),
        ]);
    }
    table
}

fn memory(group: &Group) -> Table {
    let mut table = Table::new(&[
        ("memory per task", Side::Left),
        ("part", Side::Left),
        ("[95 % interval]", Side::Left),
        ("n", Side::Right),
    ]);
    for (case, estimate) in estimates(group) {
        for (index, part) in estimate.memory.iter().enumerate() {
            table.push(vec![
                if index == 0 { case.name.clone() } else { String::new() },
                part.name.clone(),
                estimated_bytes(&part.bytes_per_task),
                part.bytes_per_task.count.to_string(),
            ]);
        }
    }
    table
}

/// The cases of a group with a column for each run.
fn side_by_side(report: &Report, group: &Group) -> Table {
    let mut table = runs_table(&["case"], report);
    for case in &group.cases {
        // The measurements that any run has, in the order of the first that does.
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
                0 => case.name.clone(),
                _ => format!("{}, {}", case.name, like.short_name()),
            };
            table.push(runs_row(vec![name], &figures, estimated_duration));
        }
    }
    table
}

fn notes(label: &str, run: &Run) -> Vec<String> {
    let wide = sentences::wide(&run.quality).into_iter();
    let notes = run.notes.iter().map(|note: &Note| sentences::note(note));
    let skipped =
        run.skipped.iter().map(|skipped| format!("{}: skipped: {}", skipped.case, skipped.reason));
    wide.chain(notes).chain(skipped).map(|note| format!("{label}{note}")).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::bars::Characters;
    use super::super::fixture::{report_of, report_with};
    use super::super::page::COLUMNS;
    use super::super::text;
    use super::*;
    use crate::manifest::Manifest;
    use crate::store::saved_run::SavedRun;

    #[test]
    fn tails_are_those_of_single_operations() {
        let mut report = report_of(&[1.0]);
        let group = &mut report.groups[0];
        let measurement = &mut group.cases[0].estimates[0].as_mut().unwrap().measurements[0];
        measurement.operations = 1;
        assert!(tails(group).is_empty());
        group.tails = true;
        let found = blocks(&[Block::Table(tails(group))]);
        let lines: Vec<_> = found.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), 2, "{found}");
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(lines[0]), "tails op p50 p90 p99 p99.9");
        assert!(words(lines[1]).starts_with("threads/same-cpu hop 1.61 µs"), "{found}");
    }

    fn blocks(page: &[Block]) -> String {
        text::blocks(page, Characters::Eighths)
    }

    /// A run of everything that the headline asks for, made of recorded runs.
    fn full(manifest: &Manifest) -> SavedRun {
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results");
        let read = |name: &str| SavedRun::read(&results.join(name)).unwrap();
        let mut run = read("2026-11-22-amd-epyc-2cpu");
        for other in ["memory", "processes", "switches"] {
            let other = read(&format!("2026-11-22-amd-epyc-2cpu-{other}"));
            let known: Vec<String> = run.description.cases.clone();
            let is_new = |case: &String| !known.contains(case);
            run.description.cases.extend(other.description.cases.into_iter().filter(is_new));
            run.invocations.extend(other.invocations.into_iter().filter(|of| is_new(&of.case)));
        }
        let rows = manifest.headline.iter().map(|row| &row.case);
        assert!(rows.clone().all(|case| run.description.cases.contains(case)));
        for (name, value) in [
            ("processor.family", "26"),
            ("processor.model_number", "2"),
            ("processor.idle_driver", "haltpoll"),
            ("processor.idle_poll_ns", "0"),
        ] {
            run.environment.set(name, Some(value));
        }
        run
    }

    #[test]
    fn the_first_screen_of_a_run_with_every_row_is_one_screen() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../suite.toml");
        let manifest = Manifest::load(Some(&path)).unwrap();
        let report = report_with(&manifest, &[full(&manifest)]);
        assert_eq!(report.headline.len(), manifest.headline.len());
        let text = blocks(&part(&report, &Part::FirstScreen));
        assert!(text.lines().count() <= 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        let machine = text.replace('\n', " ");
        for fact in ["family 26 model 2", "L2 1 MiB", "kvm guest", "idle haltpoll", "preemption "] {
            assert!(machine.contains(fact), "{fact}: {text}");
        }
        assert!(machine.contains("; for the rest: --budget "), "{text}");
    }

    #[test]
    fn runs_on_unlike_cpus_say_so_first() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../suite.toml");
        let manifest = Manifest::load(Some(&path)).unwrap();
        let (first, second) = (super::super::fixture::run(1.0), full(&manifest));
        let report = report_with(&manifest, &[first, second]);
        let text = blocks(&page(&report));
        let expected = "different CPUs: processor.cache.l1_data: 32 KiB → 48 KiB, \
                        processor.cache.l2: 512 KiB → 1 MiB A: ";
        assert!(text.replace('\n', " ").starts_with(expected), "{text}");
        assert!(text.contains("\n- A and B: kernel.release: "), "{text}");
        assert!(!text.contains('{'), "{text}");
        let same = report_with(&manifest, &[full(&manifest), full(&manifest)]);
        assert!(!blocks(&page(&same)).contains("different"));
    }
}
