//! Many hosts: which differ, what they share, and every case over them.

pub mod csv;

use harness::terminal;

use super::page::{ABSENT, Block, NO_BREAK_SPACE, Side, Table};
use super::quantity::{brief, duration, estimated_duration, percent};
use super::{bars::Characters, text};
use crate::judge::hosts::model::{
    HostCase, HostEstimate, HostsReport, LeftOut, SharedFact, Standing,
};

/// The most rows of a table that a terminal is given; CSV has all.
const MOST_ROWS: usize = 40;
/// The most facts that are shown.
const MOST_FACTS: usize = 10;
/// The most folders that are named one by one.
const MOST_NAMES: usize = 5;

/// The report as plain text of at most 80 columns.
pub fn text(report: &HostsReport) -> String {
    let mut page = summary(report);
    for (heading, blocks) in sections(report, Some(MOST_ROWS)) {
        page.push(Block::Heading(2, heading.to_owned()));
        page.extend(blocks);
    }
    text::blocks(&page, Characters::Plain)
}

/// What is compared, and how much of it differs.
pub fn summary(report: &HostsReport) -> Vec<Block> {
    let hosts = counted(report.hosts.len(), "host");
    let folders = counted(report.folders, "folder");
    let machine = shown(&report.machine);
    if report.hosts.is_empty() {
        return vec![Block::Paragraph("No host is left to report.".to_owned())];
    }
    let of = |standing| report.hosts.iter().filter(|host| host.standing == standing).count();
    let all = [Standing::Slower, Standing::Faster, Standing::Alike, Standing::SetAside];
    let counts = all.map(|standing| format!("{} {}", of(standing), standing.as_str()));
    let spread = report.spread.map_or(String::new(), |spread| {
        format!(" Hosts scatter by {} (standard deviation).", tenths(spread.exp_m1()))
    });
    vec![
        Block::Paragraph(format!("{hosts} in {folders}: {machine}")),
        Block::Paragraph(format!(
            "{}. What differs lies beyond ±{NO_BREAK_SPACE}{}{NO_BREAK_SPACE}% of the middle host; \
             on average at most {} of it is chance.{spread}",
            counts.join(", "),
            brief(report.margin * 100.0),
            percent(report.false_discoveries),
        )),
    ]
}

/// The parts of a report, each with its question; of long tables as many rows.
pub fn sections(report: &HostsReport, most: Option<usize>) -> Vec<(&'static str, Vec<Block>)> {
    let mut sections = vec![("Which hosts differ?", differing(report, most))];
    sections.push(("What do they share that the others do not?", shared(report)));
    sections.push(("Which hosts differ in single cases?", single_cases(report, most)));
    sections.push(("Which hosts could not be judged?", set_aside(report)));
    sections.push(("What does a case take?", cases(report)));
    sections.push(("What was left out?", left_out(&report.left_out)));
    sections.retain(|(_, blocks)| !blocks.is_empty());
    sections
}

/// The hosts that differ, the slowest first; without one, the slowest.
fn differing(report: &HostsReport, most: Option<usize>) -> Vec<Block> {
    let found: Vec<&HostEstimate> =
        report.hosts.iter().filter(|host| host.standing.differs()).collect();
    if !found.is_empty() {
        return limited(hosts(&found), most);
    }
    let judged = report.hosts.iter().find(|host| host.probability.is_some());
    let Some(slowest) = judged else {
        let few = "None can be told from the others: it takes five hosts that can be judged.";
        return vec![Block::Paragraph(few.to_owned())];
    };
    let times = ratio(slowest.ratio);
    vec![Block::Paragraph(format!(
        "None. The slowest, {}, takes {times} times as long as the middle host: no more than \
         chance and the margin allow.",
        shown(&slowest.host)
    ))]
}

/// A row for each host.
pub fn hosts(of: &[&HostEstimate]) -> Table {
    let mut table = Table::new(&[
        ("host", Side::Left),
        ("times", Side::Right),
        ("by chance", Side::Right),
        ("cases", Side::Right),
        ("differing", Side::Right),
        ("processes", Side::Right),
        ("standing", Side::Left),
    ]);
    for host in of {
        table.push(vec![
            shown(&host.host),
            ratio(host.ratio),
            host.probability.map_or(ABSENT.to_owned(), chance),
            host.cases.len().to_string(),
            host.differing().count().to_string(),
            host.processes.to_string(),
            host.standing.as_str().to_owned(),
        ]);
    }
    table
}

/// The facts that part those that differ from the others.
fn shared(report: &HostsReport) -> Vec<Block> {
    let differ = report.hosts.iter().any(|host| {
        host.standing.differs() || (host.probability.is_some() && host.differing().next().is_some())
    });
    if report.shared.is_empty() {
        let nothing = "Nothing that environment.json records.";
        return if differ { vec![Block::Paragraph(nothing.to_owned())] } else { Vec::new() };
    }
    let mut table = Table::new(&[
        ("fact", Side::Left),
        ("of", Side::Left),
        ("have it", Side::Right),
        ("others", Side::Right),
        ("by chance", Side::Right),
        ("content", Side::Left),
    ]);
    for SharedFact { of, fact, content, having, others, probability, .. } in
        report.shared.iter().take(MOST_FACTS)
    {
        let share = |[some, all]: [u64; 2]| format!("{some} of {all}");
        table.push(vec![
            shown(fact),
            of.as_str().to_owned(),
            share(*having),
            share(*others),
            chance(*probability),
            shown(content),
        ]);
    }
    limited_to(table, report.shared.len())
}

/// The cases that differ on hosts which do not differ in all cases together.
fn single_cases(report: &HostsReport, most: Option<usize>) -> Vec<Block> {
    let hosts = report.hosts.iter().filter(|host| !host.standing.differs());
    let mut found: Vec<(&HostEstimate, &HostCase)> =
        hosts.flat_map(|host| host.differing().map(move |case| (host, case))).collect();
    found.sort_by(|(_, a), (_, b)| b.ratio.total_cmp(&a.ratio));
    let mut table = Table::new(&[
        ("host", Side::Left),
        ("times", Side::Right),
        ("by chance", Side::Right),
        ("time", Side::Left),
        ("case", Side::Left),
    ]);
    for (host, case) in found {
        table.push(vec![
            shown(&host.host),
            ratio(case.ratio),
            case.probability.map_or(ABSENT.to_owned(), chance),
            estimated_duration(&case.ns),
            shown(&case.case),
        ]);
    }
    limited(table, most)
}

/// The hosts that could not be judged, with the reason.
fn set_aside(report: &HostsReport) -> Vec<Block> {
    let sentence = |host: &HostEstimate| {
        let reason = host.reason.as_deref()?;
        Some(format!("{}: {}; {} times", shown(&host.host), shown(reason), ratio(host.ratio)))
    };
    listed(report.hosts.iter().filter_map(sentence).collect())
}

/// A row for each case over all hosts.
fn cases(report: &HostsReport) -> Vec<Block> {
    let mut table = Table::new(&[
        ("case", Side::Left),
        ("op", Side::Left),
        ("median [95 % interval]", Side::Left),
        ("quartiles", Side::Left),
        ("spread", Side::Right),
        ("hosts", Side::Right),
    ]);
    for case in &report.cases {
        let [lower, upper] = case.quartiles_ns.map(duration);
        table.push(vec![
            shown(&case.case),
            shown(&case.operation),
            estimated_duration(&case.ns),
            format!("{lower}–{upper}"),
            case.spread.map_or(ABSENT.to_owned(), |spread| tenths(spread.exp_m1())),
            case.hosts.to_string(),
        ]);
    }
    if table.is_empty() { Vec::new() } else { vec![Block::Table(table)] }
}

/// What was left out, and why.
pub fn left_out(parts: &[LeftOut]) -> Vec<Block> {
    let sentence = |LeftOut { folders, reason }: &LeftOut| {
        format!("{}: {}", shown(&named(folders)), shown(reason))
    };
    listed(parts.iter().map(sentence).collect())
}

/// These folders in words: the first of many by name.
pub fn named(folders: &[String]) -> String {
    let names = folders.iter().take(MOST_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    match folders.len().saturating_sub(MOST_NAMES) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

fn listed(sentences: Vec<String>) -> Vec<Block> {
    if sentences.is_empty() { Vec::new() } else { vec![Block::Items(sentences)] }
}

/// A table, of which a terminal is given so many rows.
fn limited(table: Table, most: Option<usize>) -> Vec<Block> {
    let all = table.rows().len();
    let table = match most {
        Some(most) => table.first(most),
        None => table,
    };
    limited_to(table, all)
}

/// A table that has these rows of `all`.
fn limited_to(table: Table, all: usize) -> Vec<Block> {
    let more = all - table.rows().len();
    let rest = (more > 0).then(|| Block::Paragraph(format!("… and {more} more: --format json")));
    if table.is_empty() {
        return Vec::new();
    }
    [Block::Table(table)].into_iter().chain(rest).collect()
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A ratio with three decimals.
fn ratio(ratio: f64) -> String {
    format!("{ratio:.3}")
}

/// A share as a percentage with one decimal.
fn tenths(share: f64) -> String {
    format!("{:.1}{NO_BREAK_SPACE}%", share * 100.0)
}

/// A probability as a percentage.
fn chance(probability: f64) -> String {
    match probability {
        small if small < 1e-4 => format!("<0.01{NO_BREAK_SPACE}%"),
        some => format!("{:.2}{NO_BREAK_SPACE}%", some * 100.0),
    }
}

fn shown(text: &str) -> String {
    terminal::line(text).into_owned()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::judge::hosts::reduced::ReducedRun;
    use crate::judge::hosts::reduced::tests::run;
    use crate::judge::hosts::report;
    use crate::show::page::COLUMNS;

    /// Eight hosts of two cases; the last is slower and saves power, and one was
    /// disturbed.
    pub fn fleet() -> HostsReport {
        const SCATTER: [f64; 6] = [1.0, 0.99, 1.01, 1.004, 0.996, 1.002];
        let of_host = |number: usize| {
            let slower = if number == 8 { 1.4 } else { 1.0 + number as f64 * 0.002 };
            let ring = SCATTER.map(|by| 1790.0 * by * slower);
            let line = SCATTER.map(|by| 95.0 * by * slower);
            let governor = if number == 8 { "powersave" } else { "performance" };
            ReducedRun {
                facts: [("processor.governor".to_owned(), governor.to_owned())].into(),
                processes: 12,
                disturbed: if number == 3 { 7 } else { 0 },
                machine: "AMD EPYC, 2 CPUs".to_owned(),
                ..run(&format!("2026-01-01-node-{number}"), &[("ring", &ring), ("line", &line)])
            }
        };
        let torn = LeftOut {
            folders: vec!["2026-01-01-node-9".to_owned()],
            reason: "run.json: it ends in the middle".to_owned(),
        };
        report((1..=8).map(of_host).collect(), 0.03, vec![torn])
    }

    #[test]
    fn the_slow_host_is_first_and_then_what_it_has_that_others_have_not() {
        insta::assert_snapshot!(text(&fleet()), @r"
        8 hosts in 8 folders: AMD EPYC, 2 CPUs
        1 slower, 0 faster, 6 alike, 1 set aside. What differs lies beyond ± 3 % of the
        middle host; on average at most 5 % of it is chance. Hosts scatter by 0.5 %
        (standard deviation).

        Which hosts differ?
        host   times by chance cases differing processes standing
        node-8 1.388   <0.01 %     2         2        12 slower

        What do they share that the others do not?
        fact               of     have it others by chance content
        processor.governor slower  1 of 1 0 of 6   14.29 % powersave

        Which hosts could not be judged?
        - node-3: 7 of 12 processes were disturbed or failed; 0.997 times

        What does a case take?
        case op  median [95 % interval] quartiles       spread hosts
        line hop 96.0 ns [95.5, 98.8]   95.6 ns–96.3 ns  0.5 %     8
        ring hop 1.81 µs [1.80, 1.86]   1.80 µs–1.81 µs  0.5 %     8

        What was left out?
        - 2026-01-01-node-9: run.json: it ends in the middle
        ");
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        let mut report = fleet();
        report.hosts[0].host = "node-".repeat(20);
        report.shared[0].content = "some words ".repeat(20);
        let text = text(&report);
        let wide = |line: &&str| line.chars().count() > COLUMNS && line.contains(' ');
        assert_eq!(text.lines().find(wide), None, "{text}");
    }

    #[test]
    fn of_many_folders_the_first_are_named() {
        let folders: Vec<String> = (0..7).map(|number| format!("n{number}")).collect();
        assert_eq!(named(&folders), "n0, n1, n2, n3, n4 and 2 more");
        assert_eq!(named(&folders[..1]), "n0");
    }
}
