//! What a reader calls a case: by its line of a table, by its row of the first screen, or by its tasks
//! and its flags. Its command line is in `brigade list`, in full tables and in tooltips.

use std::collections::{BTreeMap, BTreeSet};

use indicatif::HumanCount;

use super::page::joined;
use super::quantity::brief_ticks;
use super::svg::kind_style;
use crate::judge::loads::LoadLine;
use crate::judge::report::{Group, Report};
use crate::judge::row::{Quantity, Row};

/// The names of cases in a group.
#[derive(Debug)]
pub struct Names<'a> {
    group: &'a Group,
    /// A row of each case of the report.
    rows: BTreeMap<&'a str, &'a Row>,
    screen: BTreeMap<&'a str, OnScreen<'a>>,
    /// What several cases of the group would be called.
    repeated: BTreeSet<String>,
}

/// A case on the first screen.
#[derive(Clone, Copy, Debug)]
struct OnScreen<'a> {
    label: &'a str,
    /// What the rows around it have in common.
    block: &'a str,
}

impl<'a> Names<'a> {
    /// The names in a group of a report.
    pub fn new(report: &'a Report, group: &'a Group) -> Self {
        let mut rows = BTreeMap::new();
        for row in report.groups.iter().flat_map(|group| &group.rows).rev() {
            rows.insert(&*row.case, row);
        }
        let mut screen = BTreeMap::new();
        for block in report.screen.iter().flat_map(|part| &part.blocks) {
            for row in &block.rows {
                screen.insert(&*row.case, OnScreen { label: &row.label, block: &block.name });
            }
        }
        let mut names = Self { group, rows, screen, repeated: BTreeSet::new() };
        let mut seen = BTreeSet::new();
        for row in group.cases() {
            let name = names.unqualified(row);
            if !seen.insert(name.clone()) {
                names.repeated.insert(name);
            }
        }
        names
    }

    /// What the case of this row is called in the group.
    pub fn name(&self, row: &Row) -> String {
        let name = self.unqualified(row);
        if !self.repeated.contains(&name) {
            return name;
        }
        match self.screen.get(&*row.case) {
            Some(OnScreen { block, .. }) if !block.is_empty() => format!("{name}, {block}"),
            _ => format!("{name} ({})", row.program),
        }
    }

    /// What a case is called whose tasks and operation are like those of `row`.
    pub fn name_of_case(&self, case: &str, row: &Row) -> String {
        if let Some(row) = self.rows.get(case) {
            return self.name(row);
        }
        // A comparison's row has no operation; that of its case has.
        let like = self.rows.get(&*row.case).copied().unwrap_or(row);
        self.name(&like.with_case(case))
    }

    fn unqualified(&self, row: &Row) -> String {
        if let Some(name) = name_in_table(self.group, row) {
            return name;
        }
        let stated = self.stated(&row.case).map(str::to_owned);
        stated.or_else(|| self.next_to_stated(row)).unwrap_or_else(|| described(row))
    }

    /// What the manifest calls a case.
    fn stated(&self, case: &str) -> Option<&'a str> {
        let known = self.rows.get(case).filter(|known| known.label != known.case);
        let on_screen = || self.screen.get(case).map(|known| known.label);
        known.map(|row| &*row.label).or_else(on_screen)
    }

    /// The name of a case that differs from one that the manifest names in a number or a flag without a
    /// value, such as `thread, 10 connections`.
    fn next_to_stated(&self, row: &Row) -> Option<String> {
        row.flags().iter().find_map(|(flag, value)| {
            if value != "true" && value.parse::<f64>().is_err() {
                return None;
            }
            let known = self.stated(&row.case_without(flag))?;
            Some(joined([known, &word(flag, value, row)]))
        })
    }
}

/// A case's tasks and what its flags add, such as `process, vfork, 8 MiB resident`.
fn described(row: &Row) -> String {
    // Of tasks that nobody knows there is only the program.
    let noun = row.kind.map_or(&*row.program, |kind| kind_style(Some(kind)).name);
    let mut words = vec![noun.to_owned()];
    for (flag, value) in row.flags() {
        let word = word(&flag, &value, row);
        if !word.is_empty() && !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(", ")
}

/// A flag and its value in words; empty if they add nothing.
fn word(flag: &str, value: &str, row: &Row) -> String {
    let count = || value.parse().map_or(value.to_owned(), |count| HumanCount(count).to_string());
    let of = |unit: &str| format!("{} {unit}", count());
    let several = |noun: &str| of(&format!("{noun}{}", if value == "1" { "" } else { "s" }));
    let size = || value.parse().map_or(value.to_owned(), |size| brief_ticks(size, Quantity::Bytes));
    match (flag, value) {
        ("subcommand", _) => String::new(),
        ("kind" | "runtime" | "executor", _) => runtime(flag, value).to_owned(),
        ("placement", "same-cpu") => "on one CPU".to_owned(),
        ("placement", "spread") => match &*row.operation {
            "request" => "load on another CPU".to_owned(),
            _ => "to another CPU".to_owned(),
        },
        ("channel" | "waiting" | "source", _) => channel(flag, value),
        ("tasks", _) if row.unit == Quantity::Bytes => format!("up to {}", count()),
        ("tasks", _) if row.operation == "request" => several("connection"),
        ("tasks", _) => several("task"),
        ("work", _) => format!("{} of work", several("unit")),
        ("busy", _) => of("under way"),
        ("hot", _) => of("in use"),
        ("workers", _) => several("worker"),
        ("rings", _) => several("ring"),
        ("hogs", _) => several("hog"),
        ("producers", _) => several("producer"),
        ("consumers", _) => several("consumer"),
        ("capacity", _) => format!("room for {}", count()),
        ("rate", _) => of("a second"),
        ("greedy", _) => String::new(),
        ("greedy_for", _) => {
            let ns = value.parse().map(|us: f64| us * 1000.0);
            let time = ns.map_or(value.to_owned(), |ns| brief_ticks(ns, Quantity::Nanoseconds));
            format!("one computes for {time}")
        }
        ("resident_mib", _) => of("MiB resident"),
        ("working_set", _) => format!("{} touched", size()),
        ("future_bytes", _) => format!("{} each", size()),
        ("message", _) => format!("messages of {}", size()),
        ("self", "true") => "to itself".to_owned(),
        ("keep_awake", "true") => "CPUs kept awake".to_owned(),
        ("via" | "lock" | "loop" | "scenario" | "spawn", _) => value.replace('-', " "),
        (_, "true") => flag.replace('_', " "),
        _ => format!("{} {value}", flag.replace('_', " ")),
    }
}

/// What runs tasks.
fn runtime<'a>(flag: &str, value: &'a str) -> &'a str {
    match (flag, value) {
        ("runtime", "tokio") | (_, "tokio-tp") => "tokio, worker per CPU",
        (_, "tokio-current-thread" | "tokio-ct") => "tokio, 1 worker",
        (_, "tokio-local") => "tokio, LocalSet",
        (_, "local-pool") => "futures, LocalPool",
        ("executor", "thread-pool") => "futures, ThreadPool",
        (_, "io-uring") => "io_uring",
        _ => value,
    }
}

/// What tasks wait for.
fn channel(flag: &str, value: &str) -> String {
    let name = match value {
        "pipe" => "pipes",
        "socketpair" => "socket pairs",
        "eventfd" => "eventfds",
        "condvar" => "condition variables",
        "unix" => "Unix sockets",
        _ if flag != "channel" => return format!("on a {value}"),
        other => other,
    };
    if flag == "channel" { format!("over {name}") } else { format!("on {name}") }
}

/// What a table calls a row: its line, with its load if there are several. `None` if it is in no line.
fn name_in_table(group: &Group, row: &Row) -> Option<String> {
    let loads = &group.loads.as_ref()?.loads;
    let (line, at) = place_of(group, row)?;
    Some(match loads.get(at) {
        Some(load) if loads.len() > 1 => format!("{}, {load}", line.label),
        _ => line.label.clone(),
    })
}

/// The line of a row, and the number of its load.
pub fn place_of<'a>(group: &'a Group, row: &Row) -> Option<(&'a LoadLine, usize)> {
    group.loads.as_ref()?.place_of(&row.case)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{self, Sample};
    use crate::judge::report::{RunData, RunProgress, report};
    use crate::manifest::{Manifest, program_of};

    /// A report of all cases of the suite, as if each had been measured twice.
    fn report_of_suite() -> Report {
        let manifest = Manifest::load(None).unwrap();
        let mut run = fixtures::run();
        run.description.cases = manifest.cases.iter().map(|case| case.name.clone()).collect();
        run.invocations.clear();
        for case in &run.description.cases {
            run.invocations.extend([1, 2].map(|round| Sample::hop(9.0).in_round(case, round)));
        }
        let data = RunData {
            name: String::new(),
            run: &mut run.judged(),
            progress: RunProgress::default(),
            alike: &[],
        };
        let mut report = report(&manifest, data);
        // The records are of no program.
        for row in report.groups.iter_mut().flat_map(|group| &mut group.rows) {
            row.program = program_of(&row.case).to_owned();
            row.kind = manifest.task_kind(manifest.case(&row.case).unwrap());
        }
        report
    }

    #[test]
    fn no_two_cases_of_a_group_have_one_name_and_none_a_command_line() {
        let report = report_of_suite();
        assert!(report.groups.len() > 10, "{} groups", report.groups.len());
        for group in &report.groups {
            let names = Names::new(&report, group);
            let mut seen = BTreeMap::new();
            for row in group.cases() {
                let name = names.name(row);
                let is_command = name.contains("--") || name.starts_with(&row.program);
                assert!(!is_command && name.chars().count() <= 90, "{}: {name}", row.case);
                let other = seen.insert(name.clone(), &row.case);
                assert_eq!(other, None, "{} is {name}, too", row.case);
            }
        }
    }

    #[test]
    fn a_case_is_named_by_its_table_by_the_screen_or_by_its_flags() {
        let report = report_of_suite();
        for (group, case, expected) in [
            (
                "locks",
                "lock-hand-over --lock spin --tasks 8 --inside 100 --outside 100",
                "spin lock, 8 tasks",
            ),
            ("hops", "thread-brigade", "thread, on any CPU"),
            ("hops", "async-mem-brigade", "async task, 1 worker, in memory"),
            (
                "hops",
                "thread-brigade --channel eventfd --placement same-cpu",
                "thread, over eventfds, on one CPU",
            ),
            ("hops", "thread-brigade --keep-awake", "thread, on any CPU, CPUs kept awake"),
            (
                "processes",
                "process-creation --via fork --resident-mib 8",
                "process (fork), 8 MiB resident",
            ),
            ("serve", "java-server --placement same-cpu", "virtual thread (Java)"),
        ] {
            let group = report.groups.iter().find(|of| of.name == group).unwrap();
            let row = group.cases().find(|row| row.case == case).unwrap();
            let names = Names::new(&report, group);
            assert_eq!(names.name(row), expected);
            // A comparison's row has neither its operation nor its unit.
            let compared = Row { case: row.case.clone(), unit: Quantity::Ratio, ..Row::default() };
            assert_eq!(names.name_of_case(case, &compared), expected);
        }
        let group = &report.groups[0];
        let names = Names::new(&report, group);
        let row = Row {
            kind: None,
            case: "mine --tasks 5".to_owned(),
            program: "mine".to_owned(),
            ..Row::default()
        };
        assert_eq!(names.name(&row), "mine, 5 tasks");
    }
}
