//! The table of all kinds of tasks: what a hand-over, creation and memory cost, each
//! with its interval as a share.

use crate::judge::report::model::{KindFigures, Report};
use crate::judge::statistics::Estimate;

use super::page::{ABSENT, Block, NO_BREAK_SPACE, Side, Table};
use super::quantity::{bytes, duration, three_digits};

/// The heading of the table.
pub const KINDS: &str = "By kind of task";

/// What the columns mean.
const LEGEND: &str = "± is half of the 95 % interval. sw/hop: the kernel's context switches for \
                      each hand-over. Creation is of many at once; memory is of a task that \
                      waits, in user space and in the kernel, as far as the program can read it.";

/// The table, of a run that has several kinds; behind them the versions of what runs
/// them.
pub fn blocks(report: &Report) -> Vec<Block> {
    if report.kinds.len() < 2 {
        return Vec::new();
    }
    vec![Block::Table(table(&report.kinds)), Block::Paragraph(LEGEND.to_owned())]
}

fn table(kinds: &[KindFigures]) -> Table {
    use Side::{Left, Right};
    let mut table = Table::new(&[
        ("kind", Left),
        ("hop", Left),
        ("sw/hop", Right),
        ("create", Left),
        ("memory", Left),
    ]);
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

#[cfg(test)]
mod tests {
    use super::super::bars::Characters;
    use super::super::fixture::{manifest, report_with, run};
    use super::super::text;
    use super::blocks;
    use crate::manifest::KindSpec;

    fn kind(text: &str, cases: [&str; 3], of: Option<&str>) -> KindSpec {
        let [hop, create, memory] = cases.map(|case| Some(case.to_owned()));
        let crate_name = of.map(str::to_owned);
        KindSpec { text: text.to_owned(), hop, create, memory, crate_name }
    }

    #[test]
    fn a_kind_has_its_figures_and_the_version_of_what_runs_it() {
        let mut manifest = manifest();
        manifest.kinds = vec![
            kind("thread", ["threads/same-cpu", "create", "absent"], None),
            kind("nobody", ["absent", "absent", "absent"], Some("tokio")),
            kind("task", ["tasks", "absent", "alone"], Some("tokio")),
        ];
        let report = report_with(&manifest, &[run(1.0)]);
        let text = text::blocks(&blocks(&report), Characters::Eighths);
        let lines: Vec<&str> = text.lines().collect();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(lines[0]), "kind hop sw/hop create memory", "{text}");
        assert_eq!(words(lines[1]), "thread 1.79 µs ± 2 % 1.00 9.12 µs ± 2 % –", "{text}");
        let task = words(lines[2]);
        assert!(task.starts_with("task (1.") && task.ends_with("1.00 – –"), "{text}");
        assert!(lines[4].starts_with("± is half"), "{text}");
    }
}
