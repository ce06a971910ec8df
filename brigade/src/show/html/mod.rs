//! A report as one page of HTML that needs nothing else: no network, and no script
//! to be read. Its policy lets no script run but its own.

mod comparison;
mod element;
mod figures;

use harness::terminal;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value, context};
use serde::Serialize;

pub use comparison::comparison;

use super::kinds::KINDS;
use super::page::{Block, Side, Table};
use super::plot::{self, class_of, class_of_run, letter};
use super::quantity::{ABSENT, duration, estimated_duration, percent, three_digits};
use super::report::{self as blocks, LADDER, Part, part};
use super::svg::{STYLE, Shape};
use super::{pairs, proof, sentences};
use crate::judge::report::model::{
    CaseEstimate, Fate, Finding, Group, Report, Run, TaskKind, WaitingFor,
};
use element::{Sign, code, figure, items, paragraph, table};

const TEMPLATE: &str = include_str!("page.html");
const PAGE_STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What the policy of the page knows its script by: the SHA-256 of `page.js`.
const SCRIPT_HASH: &str = "sha256-mQOKCITGzAIGt4R7nwJhcECxtxUmuyt6qhvdIVC6Rjc=";

/// The documents that explain, from the folder of a run.
const DOCUMENTS: [(&str, &str); 4] = [
    ("how it measures", "../../docs/MEASURING.md"),
    ("how it estimates", "../../docs/STATISTICS.md"),
    ("what biases remain", "../../docs/BIAS.md"),
    ("what was observed", "../../docs/OBSERVATIONS.md"),
];

/// A page.
#[derive(Serialize)]
struct Page {
    title: String,
    /// Lines below the title.
    made: Vec<String>,
    sections: Vec<Section>,
    /// JSON that is safe within a page.
    figures: String,
}

/// A section of a page.
#[derive(Serialize)]
struct Section {
    id: String,
    heading: String,
    /// What the contents call it.
    short: String,
    parts: Vec<Piece>,
}

/// A part of a section.
#[derive(Serialize)]
struct Piece {
    /// What is written on the fold that it is in, if it is in one.
    fold: Option<String>,
    /// Elements, made by [`element`].
    html: String,
}

impl Piece {
    fn open(html: String) -> Self {
        Self { fold: None, html }
    }

    fn folded(what: &str, html: String) -> Self {
        Self { fold: Some(what.to_owned()), html }
    }
}

impl Section {
    fn new(id: &str, heading: &str, parts: Vec<Piece>) -> Self {
        let parts = parts.into_iter().filter(|part| !part.html.is_empty()).collect();
        let heading = shown(heading);
        Self { id: shown(id), short: heading.clone(), heading, parts }
    }
}

impl Page {
    /// The page, in which nothing acts on what shows it as text either.
    fn render(self) -> anyhow::Result<String> {
        #[derive(Serialize)]
        struct Document {
            name: &'static str,
            path: &'static str,
        }
        let documents = DOCUMENTS.map(|(name, path)| Document { name, path });
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        environment.add_template("page.html", TEMPLATE)?;
        let page = environment.get_template("page.html")?.render(context! {
            title => self.title,
            made => self.made,
            sections => Value::from(Serde(self.sections)),
            figures => self.figures,
            style => format!("{STYLE}{PAGE_STYLE}"),
            script => SCRIPT,
            script_hash => SCRIPT_HASH,
            documents => Value::from(Serde(documents)),
        })?;
        Ok(terminal::text(&page).into_owned() + "\n")
    }
}

/// The page of a report.
///
/// # Errors
/// Never: the template is a constant.
pub fn html(report: &Report) -> anyhow::Result<String> {
    let mut sections = vec![short(report)];
    sections.extend(ladder(report));
    sections.extend(kinds(report));
    sections.extend(report.groups.iter().map(|of| group(report, of)));
    sections.push(sure(report));
    sections.push(quiet(report));
    sections.push(machine(report));
    sections.push(repeat(report));
    sections.extend(instrument(report));
    let names: Vec<&str> = report.runs.iter().map(|run| run.name.as_str()).collect();
    let made = report.runs.iter().enumerate().map(|(index, run)| {
        format!("{}A run of {}, profile {}", label(report, index), run.started_at, run.profile)
    });
    let page = Page {
        title: shown(&names.join(", ")),
        made: made.map(|line| shown(&line)).collect(),
        sections,
        figures: figures::of(report),
    };
    page.render()
}

fn shown(text: &str) -> String {
    terminal::line(text).into_owned()
}

/// What stands before something about one of several runs.
fn label(report: &Report, index: usize) -> String {
    if report.runs.len() == 1 { String::new() } else { format!("{}: ", letter(index)) }
}

fn short(report: &Report) -> Section {
    let first = element::blocks(&part(report, &Part::FirstScreen));
    let ends = plot::ladder::description(report).map_or(String::new(), |of| paragraph(&of));
    Section::new("short", "In short", vec![Piece::open(first + &ends)])
}

fn kinds(report: &Report) -> Option<Section> {
    let blocks = part(report, &Part::Kinds);
    let section = || Section::new("kinds", KINDS, vec![Piece::open(element::blocks(&blocks))]);
    (!blocks.is_empty()).then(section)
}

fn ladder(report: &Report) -> Option<Section> {
    let picture = plot::ladder::picture(report)?;
    let caption =
        "Time of one operation on a logarithmic axis. A thick stroke is the 95 % interval.";
    let mut table = Table::new(&[("case", Side::Left), ("op", Side::Left), ("kind", Side::Left)]);
    for run in 0..report.runs.len() {
        table = table.and(&format!("time{}", run_suffix(report, run)), Side::Left);
    }
    for rung in super::ladder::rungs(report) {
        let kind = rung.kind.map_or(ABSENT, TaskKind::as_str);
        let mut row = vec![rung.name, rung.operation, kind.to_owned()];
        let time = |time: &Option<_>| time.as_ref().map_or(ABSENT.to_owned(), estimated_duration);
        row.extend(rung.times.iter().map(time));
        table.push(row);
    }
    Some(Section::new(
        "ladder",
        LADDER,
        vec![
            Piece::open(figure("ladder", caption, &colours(report), &picture)),
            Piece::folded("The figures", element::table(&table)),
        ],
    ))
}

fn run_suffix(report: &Report, run: usize) -> String {
    if report.runs.len() == 1 { String::new() } else { format!(" {}", letter(run)) }
}

/// What colours stand for: kinds of task, or runs where there are several.
fn colours(report: &Report) -> Vec<Sign> {
    if report.runs.len() > 1 {
        let run = |(index, run): (usize, &Run)| Sign {
            class: class_of_run(index),
            words: format!("{}: {}", letter(index), run.name),
        };
        return report.runs.iter().enumerate().map(run).collect();
    }
    let cases = || report.groups.iter().flat_map(|group| &group.cases);
    let has = |kind: &TaskKind| cases().any(|case| case.kind == Some(*kind));
    let sign = |kind: TaskKind| Sign {
        class: class_of(Some(kind)).to_owned(),
        words: kind.as_str().to_owned(),
    };
    TaskKind::ALL.into_iter().filter(has).map(sign).collect()
}

/// The section of a group.
fn group(report: &Report, group: &Group) -> Section {
    let id = if group.name.is_empty() { "other" } else { &group.name };
    let is_one = report.runs.len() == 1;
    let mut parts = pairs_of(report, group, id);
    let group = &group.singles();
    if group.cases.is_empty() {
        let section = Section::new(&format!("group-{id}"), &group.question, parts);
        return Section { short: shown(id), ..section };
    }
    if let Some(picture) = plot::forest::picture(report, group) {
        let shapes = [Shape::Disc, Shape::Square, Shape::Diamond];
        let placements = ["free", "same-cpu", "spread"];
        let placements = shapes.into_iter().zip(placements).map(|(shape, name)| Sign {
            class: String::new(),
            words: format!("{} {name}", shape.character()),
        });
        let marked = is_one && plot::forest::has_placements(group);
        let signs: Vec<Sign> = placements.filter(|_| marked).collect();
        let caption = "Time of one operation with its 95 % interval, on a logarithmic axis.";
        parts.push(Piece::open(figure(&format!("{id}-forest"), caption, &signs, &picture)));
    }
    for (index, (parameter, picture)) in plot::growth::pictures(group).iter().enumerate() {
        let caption = format!(
            "Time of one operation by {}, on two logarithmic axes.",
            parameter.replace('_', " ")
        );
        let id = format!("{id}-growth-{index}");
        parts.push(Piece::open(figure(&id, &caption, &[], picture)));
    }
    parts.push(Piece::open(items(&said_of(report, group))));
    if let Some(picture) = plot::parts::picture(report, group) {
        let signs = plot::parts::PARTS
            .map(|(class, words)| Sign { class: class.to_owned(), words: words.to_owned() });
        let caption = "Where the time of an operation goes: CPU time in user space and in the \
                       kernel, and waiting: all CPUs were asleep, or on the way into an idle \
                       state or out of it, a task was queued for its CPU, the hypervisor ran \
                       others, or none of these. Behind a line: CPU time beyond \
                       the elapsed time, of threads that ran at the same time. Right: the elapsed \
                       time.";
        parts.push(Piece::open(figure(&format!("{id}-parts"), caption, &signs, &picture)));
    }
    if let Some(picture) = plot::strip::picture(report, group) {
        let signs = ["○ disturbed", "□ not used or not measured"]
            .map(|words| Sign { class: String::new(), words: words.to_owned() });
        let caption = "A mark for each process, in the order in which they ended; each strip has \
                       an axis of its own.";
        let strip = figure(&format!("{id}-strip"), caption, &signs, &picture);
        let html = strip + &table(&spreads(report, group));
        parts.push(Piece::folded("Every process in order", html));
    }
    if let Some(picture) = plot::percentiles::picture(group).filter(|_| is_one) {
        let caption = "How long the slowest laps of a process take: the time that a share of its \
                       laps does not exceed. A lap of many operations averages over them.";
        let html = figure(&format!("{id}-percentiles"), caption, &[], &picture);
        parts.push(Piece::folded("Percentiles", html));
    }
    let tables = match is_one {
        true => {
            [times(group), attribution(group), waiting(group)].iter().map(table).collect::<String>()
                + &element::blocks(&blocks::differences_and_memory(group))
        }
        false => {
            let blocks = part(report, &Part::Groups(Some(group.name.clone())));
            let tables: Vec<Block> =
                blocks.into_iter().filter(|of| matches!(of, Block::Table(_))).collect();
            element::blocks(&tables)
        }
    };
    parts.push(Piece::folded("The figures", tables));
    Section { short: shown(id), ..Section::new(&format!("group-{id}"), &group.question, parts) }
}

/// What the pairs of CPUs of a group say: a map for each way, and the figures.
fn pairs_of(report: &Report, group: &Group, id: &str) -> Vec<Piece> {
    let mut parts = Vec::new();
    for (index, map) in pairs::of_group(report, &group.name).enumerate() {
        let Some((picture, colours)) = plot::heat::picture(report, map) else { continue };
        let signs = colours.into_iter().map(|(class, words)| Sign { class, words });
        let caption = format!(
            "{}: time of one operation between two CPUs, a cell for each pair. CPUs that share a \
             core, a cache or a NUMA node stand side by side; lines part caches, and thick ones \
             nodes.",
            pairs::name(report, map)
        );
        let id = format!("{id}-pairs-{index}");
        let signs: Vec<Sign> = signs.collect();
        parts.push(Piece::open(figure(&id, &caption, &signs, &picture)));
    }
    if parts.is_empty() {
        return parts;
    }
    parts.push(Piece::open(table(&pairs::distances(report, &group.name))));
    parts.push(Piece::folded("Every pair", table(&pairs::every(report, &group.name))));
    parts
}

/// The findings that begin with a case of this group.
fn said_of(report: &Report, group: &Group) -> Vec<String> {
    let [run] = &report.runs[..] else { return Vec::new() };
    let is_of_group = |finding: &&Finding| {
        let case = match finding {
            Finding::Comparison { first: side, .. } | Finding::Remainder { of: side, .. } => {
                Some(&side.case)
            }
            Finding::Attribution { parts, .. } => parts.first().map(|part| &part.case),
            Finding::Knee { case, .. }
            | Finding::Slope { case, .. }
            | Finding::Aftermath { case, .. } => Some(case),
        };
        case.is_some_and(|name| group.cases.iter().any(|case| case.name == *name))
    };
    run.findings.iter().filter(is_of_group).map(sentences::finding).collect()
}

/// The cases of a group that the first run has.
fn estimates(group: &Group) -> impl Iterator<Item = (&str, &CaseEstimate)> {
    group
        .cases
        .iter()
        .filter_map(|case| Some((case.name.as_str(), case.estimates.first()?.as_ref()?)))
}

fn times(group: &Group) -> Table {
    use Side::{Left, Right};
    let mut table = Table::new(&[
        ("case", Left),
        ("op", Left),
        ("time [95 % interval]", Left),
        ("p50", Right),
        ("p90", Right),
        ("p99", Right),
        ("p99.9", Right),
        ("CPU time", Right),
        ("switches", Right),
        ("processes", Right),
    ]);
    let time = |ns: Option<f64>| ns.map_or(ABSENT.to_owned(), duration);
    for (name, estimate) in estimates(group) {
        for of in &estimate.measurements {
            let percentiles = of.percentiles;
            table.push(vec![
                name.to_owned(),
                of.short_name().to_owned(),
                estimated_duration(&of.time_ns),
                time(percentiles.map(|of| of.p50)),
                time(percentiles.map(|of| of.p90)),
                time(percentiles.map(|of| of.p99)),
                time(percentiles.map(|of| of.p999)),
                time(of.cpu_ns),
                of.switches.map_or(ABSENT.to_owned(), three_digits),
                of.time_ns.count.to_string(),
            ]);
        }
    }
    table
}

fn waiting(group: &Group) -> Table {
    use Side::{Left, Right};
    let mut table = Table::new(&[
        ("what the waiting is for", Left),
        ("all CPUs asleep", Right),
        ("on the way into idleness or out of it", Right),
        ("queued for a CPU", Right),
        ("stolen", Right),
        ("rest", Right),
        ("idle entries per operation", Right),
        ("interrupts between CPUs", Right),
    ]);
    for (name, estimate) in estimates(group) {
        let Some(parts) = &estimate.attribution else { continue };
        let Some(reasons) = &parts.waiting_for else { continue };
        let WaitingFor { idle_ns, way_ns, runnable_ns, stolen_ns, rest_ns } = reasons;
        let mut row = vec![name.to_owned()];
        row.extend([idle_ns, way_ns, runnable_ns, stolen_ns, rest_ns].map(estimated_duration));
        let counts = [parts.idle_entries, parts.interrupts];
        row.extend(counts.map(|count| count.map_or(ABSENT.to_owned(), three_digits)));
        table.push(row);
    }
    table
}

fn attribution(group: &Group) -> Table {
    use Side::{Left, Right};
    let mut table = Table::new(&[
        ("where the time goes", Left),
        ("elapsed", Right),
        ("user space", Right),
        ("kernel", Right),
        ("waiting", Right),
        ("at the same time", Right),
        ("hops that cross CPUs", Right),
    ]);
    for (name, estimate) in estimates(group) {
        let Some(parts) = &estimate.attribution else { continue };
        let mut row = vec![name.to_owned()];
        let times =
            [parts.elapsed_ns, parts.user_ns, parts.kernel_ns, parts.waiting_ns, parts.overlap_ns];
        row.extend(times.map(|time| duration(time.value)));
        row.push(parts.crossing_share.map_or(ABSENT.to_owned(), percent));
        table.push(row);
    }
    table
}

fn spreads(report: &Report, group: &Group) -> Table {
    use Side::{Left, Right};
    let mut table = Table::new(&[
        ("case", Left),
        ("processes", Right),
        ("shortest", Right),
        ("longest", Right),
        ("disturbed", Right),
        ("not measured", Right),
    ]);
    for case in &group.cases {
        for run in 0..report.runs.len() {
            let Some(cells) = plot::strip::spread(case, run) else { continue };
            let name = format!("{}{}", label(report, run), case.name);
            table.push([vec![name], cells.to_vec()].concat());
        }
    }
    table
}

fn sure(report: &Report) -> Section {
    let mut said = Vec::new();
    for (index, run) in report.runs.iter().enumerate() {
        said.push(format!("{}{}.", label(report, index), sentences::quality(&run.quality)));
    }
    let method = paragraph(
        "Every figure is of many processes, and its interval covers what it estimates in 95 of \
         100 runs like this one. Two figures differ where the interval of their ratio leaves out \
         1. A sentence claims no more than its interval does.",
    ) + &paragraph(&blocks::estimators(report));
    let wide = report.runs.iter().enumerate().filter_map(|(index, run)| {
        Some(format!("{}{}", label(report, index), sentences::wide(&run.quality)?))
    });
    let wide: Vec<String> = wide.collect();
    let said = said.iter().map(|line| paragraph(line)).collect::<String>();
    Section::new(
        "sure",
        "How sure is it?",
        vec![
            Piece::open(said + &method),
            Piece::folded("The cases with wider intervals", items(&wide)),
        ],
    )
}

fn quiet(report: &Report) -> Section {
    let said: String = report
        .runs
        .iter()
        .enumerate()
        .map(|(index, run)| {
            paragraph(&format!("{}{}", label(report, index), quietness(report, index, run)))
        })
        .collect();
    let notes = report.runs.iter().enumerate().flat_map(|(index, run)| {
        let label = label(report, index);
        let notes = run.notes.iter().map(sentences::note);
        let skipped = run.skipped.iter().map(|of| format!("{}: skipped: {}", of.case, of.reason));
        notes.chain(skipped).map(move |note| format!("{label}{note}")).collect::<Vec<_>>()
    });
    let notes: Vec<String> = notes.collect();
    Section::new(
        "quiet",
        "Was the machine quiet?",
        vec![
            Piece::open(said),
            Piece::folded("What is to be known about single cases", items(&notes)),
        ],
    )
}

/// How quiet the machine was during a run, in a sentence or two.
fn quietness(report: &Report, index: usize, run: &Run) -> String {
    let cases = report.groups.iter().flat_map(|group| &group.cases);
    let estimates: Vec<_> = cases.filter_map(|case| case.estimates[index].as_ref()).collect();
    let count = |fate| estimates.iter().map(|of| of.count(fate)).sum::<usize>();
    let [clean, disturbed, unusable] = [Fate::Clean, Fate::Disturbed, Fate::Unusable].map(count);
    let measured = clean + disturbed + unusable;
    let bad = disturbed + unusable;
    let verdict = match bad {
        0 => "Yes, as far as the kernel's counters tell",
        bad if bad * 20 <= measured => "Mostly",
        _ => "No",
    };
    let steal = match run.quality.steal_seconds {
        Some(seconds) => {
            format!(" The hypervisor gave {seconds:.1} s of its CPUs' time to others.")
        }
        None => String::new(),
    };
    format!(
        "{verdict}: of {measured} processes that measured, {disturbed} were disturbed and \
         {unusable} so much that they are not used where there are others.{steal}"
    )
}

fn machine(report: &Report) -> Section {
    let facts = report.runs.iter().enumerate().map(|(index, run)| {
        let label = label(report, index);
        paragraph(&format!("{label}{}", run.machine))
            + &paragraph(&format!("{label}{}", run.environment))
    });
    let differences: Vec<String> = blocks::differences(report).collect();
    let differ = match differences.is_empty() {
        true => String::new(),
        false => format!("<h3>In what they differ</h3>\n{}", items(&differences)),
    };
    Section::new("machine", "The machine", vec![Piece::open(facts.collect::<String>() + &differ)])
}

fn repeat(report: &Report) -> Section {
    let of_run = |(index, run): (usize, &Run)| {
        let extent = format!("{}{}.", label(report, index), sentences::extent(run));
        let command = match run.command.is_empty() {
            true => String::new(),
            false => code(&run.command.join(" ")),
        };
        paragraph(&extent) + &command
    };
    let runs: String = report.runs.iter().enumerate().map(of_run).collect();
    let where_ = paragraph("The records are beside this page; brigade report shows them.");
    Section::new("repeat", "How to repeat it", vec![Piece::open(runs + &where_)])
}

fn instrument(report: &Report) -> Option<Section> {
    let proofs = report.runs.iter().filter_map(|run| run.proof.as_ref());
    let proofs: String = proofs.map(|of| code(&proof::page(of))).collect();
    (!proofs.is_empty())
        .then(|| Section::new("instrument", "The instrument", vec![Piece::open(proofs)]))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::report_of;
    use super::*;

    fn headings(page: &str) -> Vec<&str> {
        let rest = page.split("<h2>").skip(1);
        rest.map(|rest| rest.split("</h2>").next().unwrap()).collect()
    }

    #[test]
    fn a_page_answers_in_the_order_of_questions() {
        let page = html(&report_of(&[1.0])).unwrap();
        let expected = [
            "In short",
            LADDER,
            "What does a hop cost?",
            "What does creating one cost?",
            "How sure is it?",
            "Was the machine quiet?",
            "The machine",
            "How to repeat it",
        ];
        assert_eq!(headings(&page), expected);
        for said in [
            "5 cases: the cheapest is alone (642 ns per hop), the dearest threads/spread (22.1 µs per \
             hop).",
            "the threads&#39; hop takes 24.3 [23.6, 24.9] times as long",
            "Yes, as far as the kernel&#39;s counters tell: of 30 processes",
            "<li>tasks: 1 failed, of 7 started.</li>",
            "<li>uring: skipped: no io_uring</li>",
        ] {
            assert!(page.replace('\u{a0}', " ").contains(said), "{said}: {page}");
        }
    }

    #[test]
    fn every_plot_has_a_table_of_its_cases() {
        let page = html(&report_of(&[1.0])).unwrap();
        for section in page.split("<section ").skip(1) {
            let section = section.split("</section>").next().unwrap();
            assert_eq!(
                section.contains("<svg"),
                section.contains("<svg") && section.contains("<table")
            );
        }
        assert_eq!(page.matches("class=\"plot\"").count(), 1 + 2 * 4);
    }

    #[test]
    fn several_runs_are_side_by_side_and_say_in_what_they_differ() {
        let mut report = report_of(&[1.0, 1.3]);
        report.environment_differences[0] =
            vec![crate::judge::environment::difference::Difference {
                name: "kernel.release".to_owned(),
                values: [Some("6.1".to_owned()), Some("6.18".to_owned())],
            }];
        let page = html(&report).unwrap();
        assert!(page.contains("<h3>In what they differ</h3>"), "{page}");
        assert!(page.contains("A and B: different kernel release: 6.1 against 6.18"), "{page}");
        assert!(page.contains("<li class=\"r1\">B: run-2</li>"), "{page}");
    }

    #[test]
    fn what_a_name_holds_is_text() {
        let mut report = report_of(&[1.0]);
        let hostile = "</script><b onclick='x'>{{ 1 }}\u{1b}\u{202e}";
        report.groups[0].cases[0].name = hostile.to_owned();
        report.groups[0].question = hostile.to_owned();
        report.groups[0].name = hostile.to_owned();
        report.runs[0].name = hostile.to_owned();
        report.runs[0].command = vec![hostile.to_owned()];
        let page = html(&report).unwrap();
        assert!(!page.contains("<b onclick") && !page.contains(['\u{1b}', '\u{202e}']), "{page}");
        assert_eq!(page.matches("</script>").count(), 2, "{page}");
        assert!(page.contains("{{ 1 }}"), "a template is not made of it");
    }
}
