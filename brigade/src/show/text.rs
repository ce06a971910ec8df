//! A report as plain text for a terminal of 80 columns.

use harness::terminal;

use super::ladder;
use super::page::{Block, NO_BREAK_SPACE, item, lines};
use super::report::page;
use crate::judge::report::model::Report;

/// The report as text, with bars of ASCII or of blocks. `folders` are where the
/// records of each run are.
pub fn text(report: &Report, folders: &[String], ascii: bool) -> String {
    let mut text = blocks(&page(report), ascii);
    for (run, folder) in report.runs.iter().zip(folders) {
        text += &format!("records in {}\n", terminal::line(folder));
        if !run.progress.is_complete {
            text += &match run.progress.resumable {
                true => format!("not complete; to go on: brigade run --resume {folder}\n"),
                false => "not complete\n".to_owned(),
            };
        }
    }
    text
}

/// Parts of a page as text: a blank line before tables, headings and lists.
pub fn blocks(page: &[Block], ascii: bool) -> String {
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
            Block::Items(items) => items.iter().map(|of| item(&terminal::line(of))).collect(),
            Block::Table(table) => table.text(),
            Block::Ladder(table) if ascii => ladder::plain(&table.text()),
            Block::Ladder(table) => table.text(),
            Block::Code(code) => code.clone(),
            Block::Plots(_) => String::new(),
        };
    }
    terminal::text(&text.replace(NO_BREAK_SPACE, " ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{self, report_of};
    use super::*;
    use crate::store::results::CaseDetail;
    use crate::store::saved_run::SavedRun;

    #[test]
    fn the_tables_of_a_run() {
        let mut page = page(&report_of(&[1.0]));
        page.retain(|block| matches!(block, Block::Table(_)));
        insta::assert_snapshot!(blocks(&page, true), @r"
        in short                             [95 % interval]         n
        hop between threads                  1.79 µs [1.76, 1.82]    6
        threads over tasks (same-cpu / free) 1.98 [1.95, 2.01] times 6
        join                                 800 ns [800, 800]       6

        case             op  time [95 %]           p50  p99  cpu sw/op n
        threads/same-cpu hop 1.79 µs [1.76, 1.82] 1.61 3.59 1.71  1.00 6
        threads/spread   hop 22.1 µs [21.6, 22.4] 19.8 44.1 15.4  1.00 6
        tasks            hop 907 ns [890, 920]     816 1814  634  1.00 6
        alone            hop 642 ns [629, 651]     577 1283  448  1.00 6

        case             over or minus      [95 % interval]         n unlike
        threads/spread   / tasks            24.3 [23.6, 24.9] times 6 spread / free
        threads/spread   − threads/same-cpu 20.3 µs [19.8, 20.6]    6 spread / same-cpu
        threads/same-cpu − alone            1.15 µs [1.11, 1.18]    6 same-cpu / free

        where the time goes    elapsed user kernel cross waiting or overlap [95 %]
        threads/same-cpu    µs    1.79 0.31   1.40   0 % 0.08 [0.05, 0.11]
        threads/spread      µs    22.1 4.40   11.0  99 % 6.66 [6.24, 6.96]
        tasks               ns     907  181    452   0 % 274 [257, 286]
        alone               ns     642  128    320   0 % 194 [181, 203]

        case   op   time [95 %]           p50  p99  cpu sw/op n
        create hop  9.12 µs [8.95, 9.25] 8.21 18.2 12.6  1.00 6
               join 800 ns [800, 800]     720 1600    –     – 6

        where the time goes    elapsed user kernel cross waiting or overlap [95 %]
        create              µs    9.12 8.00   4.55   0 % overlap 3.43 [3.30, 3.60]
        ");
    }

    #[test]
    fn a_case_of_two_groups_is_in_the_one_that_was_run() {
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
