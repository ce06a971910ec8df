//! A page and the answer of `brigade impact` as plain text for a terminal of 80 columns.

use harness::terminal;

use super::page::{Block, NO_BREAK_SPACE, item, lines, without_ids};
use super::quantity::{duration, percent, three_digits};
use crate::judge::impact::{Impact, Matters, Used};
use crate::judge::statistics::Interval;

/// Parts of a page as text, with a blank line before tables, headings and
/// lists.
pub fn blocks(page: &[Block]) -> String {
    let mut text = String::new();
    let mut before: Option<&Block> = None;
    for block in page.iter().filter(|of| !matches!(of, Block::Plots(_))) {
        let follows = match block {
            Block::Paragraph(_) => matches!(before, Some(Block::Items(_) | Block::Table(_))),
            Block::Heading(..) => true,
            _ => !matches!(before, Some(Block::Heading(..))),
        };
        before = Some(block);
        if follows && !text.is_empty() {
            text.push('\n');
        }
        text += &match block {
            Block::Heading(_, heading) => lines(&terminal::line(heading)),
            Block::Paragraph(paragraph) => lines(&terminal::line(paragraph)),
            Block::Items(items) => {
                items.iter().map(|of| item(&terminal::line(&without_ids(of)))).collect()
            }
            Block::Table(table) => table.text(),
            Block::Code(code) => code.clone(),
            Block::Plots(_) => String::new(),
        };
    }
    terminal::text(&text.replace(NO_BREAK_SPACE, " ")).into_owned()
}

/// How much switches cost a program, in sentences.
pub fn impact(impact: &Impact) -> String {
    let share = |of: &Interval| format!("{} to {}", percent(of.low), percent(of.high));
    let Impact { used, run, disturbed, costs, cpu_share, wall_share, matters, .. } = impact;
    let of_wall = wall_share["highest"];
    let mut text = lines(&match matters {
        Matters::No if of_wall.high < 0.001 => {
            "No: switching is less than 0.1 % of its time.".to_owned()
        }
        Matters::No => {
            format!("No: switching is at most {} of its time.", percent(of_wall.high))
        }
        Matters::Perhaps => format!(
            "Maybe: switching is {} of its time, and {} of its CPU time.",
            share(&of_wall),
            share(cpu_share)
        ),
        Matters::Yes => format!(
            "Yes: switching is {} of its time, and {} of its CPU time.",
            share(&of_wall),
            share(cpu_share)
        ),
    });
    if *matters != Matters::No {
        let others = [("With the CPUs kept awake", "awake"), ("On one CPU", "pinned")];
        let others = others
            .iter()
            .filter_map(|(how, key)| Some(format!("{how}: {}.", share(wall_share.get(key)?))));
        let others: Vec<String> = others.collect();
        text += &lines(&others.join(" "));
    }
    let cost = |key: &str| {
        let of = &costs[key];
        let range = |of: &Interval| format!("[{}, {}]", duration(of.low), duration(of.high));
        let (cpu, wall) = (range(&of.cpu_ns), range(&of.wall_ns));
        format!("{cpu} of CPU time and {wall} of wall time ({})", of.case)
    };
    let (low, high) = (cost("lowest"), cost("highest"));
    text += "\n";
    text += &did(used);
    text += &lines(&format!("A switch costs from {low} to {high}, as measured in {run}."));
    text += &disturbed
        .as_ref()
        .map_or(String::new(), |why| lines(&format!("That run was disturbed. {why}")));
    text
}

/// The program's activity.
fn did(used: &Used) -> String {
    let Used { wall_ns, cpu_ns, voluntary, involuntary, migrations, run_delay_ns, at_once, .. } =
        used;
    let each_second = |count: u64| match count as f64 * 1e9 / *wall_ns as f64 {
        rate if rate >= 1000.0 => format!("{rate:.0}"),
        rate => three_digits(rate),
    };
    let mut parts = vec![
        format!(
            "In {} it used {} of CPU time",
            duration(*wall_ns as f64),
            duration(*cpu_ns as f64)
        ),
        format!("{} voluntary switches per second", each_second(*voluntary)),
        format!("{} involuntary ones", each_second(*involuntary)),
    ];
    parts.extend(migrations.map(|count| format!("{} moves to another CPU", each_second(count))));
    let waited = run_delay_ns.map(|ns| format!("{} waiting for a CPU", duration(ns as f64)));
    parts.extend(waited);
    parts
        .extend(used.crossing.map(|share| {
            format!("at most {} of its switches went to another CPU", percent(share))
        }));
    let threads = if *at_once == 1 { "one thread" } else { &format!("{at_once} threads") };
    lines(&format!("{}; at most {threads} at once.", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{self, report_of};
    use super::super::report::page;
    use super::*;
    use crate::store::results::CaseDetail;
    use crate::store::saved_run::SavedRun;

    #[test]
    fn the_tables_of_a_run() {
        let mut page = page(&report_of(&[1.0]));
        page.retain(|block| matches!(block, Block::Table(_)));
        insta::assert_snapshot!(blocks(&page), @r"
        in short                             [95 % interval]          n
        hop between threads                  1.78 µs [1.75, 1.79]    12
        threads over tasks (same-cpu / free) 1.98 [1.95, 2.01] times 12
        join                                 800 ns [800, 800]       12

        case             op  time [95 %]           p50  p99  cpu sw/op  n
        threads/same-cpu hop 1.78 µs [1.75, 1.79] 1.61 3.59 1.71  1.00 12
        threads/spread   hop 21.9 µs [21.6, 22.0] 19.8 44.1 15.4  1.00 12
        tasks            hop 899 ns [887, 906]     816 1813  634  1.00 12
        alone            hop 636 ns [627, 641]     577 1282  448  1.00 12

        one case over or minus another    [95 % interval]          n unlike
        threads/spread / tasks            24.3 [23.9, 24.7] times 12 spread / free
        threads/spread − threads/same-cpu 20.1 µs [19.8, 20.3]    12 spread / same-cpu
        threads/same-cpu − alone          1.14 µs [1.12, 1.16]    12 same-cpu / free

        where the time goes    elapsed user kernel cross waiting, overlap [95 %]
        threads/same-cpu    µs    1.78 0.31   1.39   0 % 0.08 [0.06, 0.10]
        threads/spread      µs    21.9 4.37   10.9  99 % 6.58 [6.42, 6.73]
        tasks               ns     899  180    449   0 % 271 [264, 277]
        alone               ns     636  127    318   0 % 191 [187, 196]

        case   op   time [95 %]           p50  p99  cpu sw/op  n
        create hop  9.04 µs [8.92, 9.11] 8.20 18.2 12.6  1.00 12
               join 800 ns [800, 800]     720 1600    –     – 12

        where the time goes    elapsed user kernel cross waiting, overlap [95 %]
        create              µs    9.04 7.94   4.52   0 % overlap 3.41 [3.29, 3.54]
        ");
    }

    #[test]
    fn a_case_of_two_groups_is_shown_in_the_one_that_was_run() {
        let mut manifest = fixtures::manifest();
        manifest.groups[1].cases.push("tasks".to_owned());
        let groups_of = |run: SavedRun| {
            let report = fixtures::report_with(&manifest, &[run]);
            let groups = report.groups.into_iter();
            let with = groups.filter(|group| group.cases.iter().any(|case| case.name == "tasks"));
            with.map(|group| group.name).collect::<Vec<_>>()
        };
        let mut run = fixtures::run(1.0);
        assert_eq!(groups_of(fixtures::run(1.0)), ["hops"]);
        run.description.details = vec![CaseDetail {
            case: "tasks".to_owned(),
            program: "fake".to_owned(),
            parameters: [].into(),
            group: Some("creation".to_owned()),
        }];
        assert_eq!(groups_of(run), ["creation"]);
    }
}
