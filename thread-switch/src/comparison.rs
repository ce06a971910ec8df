//! `--via all`: every mechanism on every placement, each combination in fresh
//! processes, as one table.

use std::collections::BTreeMap;

use clap::ValueEnum as _;
use harness::Bench;
use harness::again::{self, Told};
use harness::paragraph::lines;
use harness::placement::Policy;
use harness::record::Record;
use harness::statistics::Estimate;
use harness::table::{ABSENT, cell, table};

use crate::flags::{Flags, Kind, Via};

/// How often each combination is run unless `--rounds` says.
const ROUNDS: u32 = 5;

/// How long each process measures at most unless `--max-time` says, in seconds:
/// the whole table takes less than a minute.
const MAX_TIME: f64 = 0.25;

/// The header of the table. Switches are per hand-over.
const HEADER: [&str; 8] =
    ["placement", "via", "ns/switch", "95 % interval", "trips/s", "counted", "claimed", "CPU ns"];

/// A mechanism on a placement.
struct Combination {
    via: Via,
    placement: String,
}

/// Runs every combination and prints the table.
///
/// # Errors
/// That a process cannot be run or fails, or that the table cannot be printed.
pub fn compare(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let combinations = combinations();
    let variants: Vec<_> =
        combinations.iter().map(|combination| combination.arguments(flags, bench)).collect();
    let rounds = flags.rounds.unwrap_or(ROUNDS);
    again::compare(bench, &variants, rounds, &|told| report(&combinations, told))
}

fn combinations() -> Vec<Combination> {
    let names = [Policy::SameCpu, Policy::Spread, Policy::Free]
        .map(|policy| policy.to_possible_value().expect("no variant is skipped"));
    names
        .iter()
        .flat_map(|name| {
            let placement = name.get_name();
            Via::EACH.map(|via| Combination { via, placement: placement.to_owned() })
        })
        .collect()
}

impl Combination {
    /// The flags of a process that measures it.
    fn arguments(&self, flags: &Flags, bench: &Bench) -> Vec<String> {
        let mut arguments =
            vec![format!("--via={}", self.via.name()), format!("--placement={}", self.placement)];
        arguments.push(format!("--work={}", flags.work.work));
        if flags.kind == Kind::Process {
            arguments.push("--kind=process".into());
        }
        if self.via.carries_messages() {
            arguments.push(format!("--message={}", flags.message));
        }
        if bench.max_time().is_none() {
            arguments.push(format!("--max-time={MAX_TIME}"));
        }
        arguments
    }

    fn row(&self, told: &Told) -> [String; HEADER.len()] {
        let interval = Estimate::of(&told.figures(&ns_per_switch)).and_then(|it| it.interval);
        [
            self.placement.clone(),
            self.via.name(),
            cell(told.median(&ns_per_switch), 0),
            interval.map_or(ABSENT.into(), |it| format!("{:.0} to {:.0}", it.low, it.high)),
            cell(told.median(&round_trips_per_second), 0),
            cell(told.median(&counted), 2),
            cell(told.median(&claimed), 0),
            cell(told.median(&cpu_ns), 0),
        ]
    }
}

fn ns_per_switch(record: &Record) -> Option<f64> {
    Some(record.principal()?.ns_per_operation)
}

fn round_trips_per_second(record: &Record) -> Option<f64> {
    Some(1e9 / record.principal()?.mean_ns)
}

/// Switches of both kinds that the kernel counted for each hand-over.
fn counted(record: &Record) -> Option<f64> {
    let switches = record.switches?;
    Some(switches.voluntary_per_operation + switches.involuntary_per_operation)
}

fn claimed(record: &Record) -> Option<f64> {
    record.switches?.expected_per_operation
}

/// CPU time of both sides for each hand-over, in nanoseconds.
fn cpu_ns(record: &Record) -> Option<f64> {
    let cpu = record.cpu?;
    Some(cpu.user_ns_per_operation + cpu.system_ns_per_operation)
}

/// The table, and under it why some combinations are absent from it.
fn report(combinations: &[Combination], told: &[Told]) -> String {
    let mut rows = Vec::with_capacity(combinations.len());
    let mut absent: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (combination, told) in combinations.iter().zip(told) {
        rows.push(combination.row(told));
        if let Some(reason) = &told.refused {
            let Combination { via, placement } = combination;
            absent.entry(reason).or_default().push(format!("{} on {placement}", via.name()));
        }
    }
    let mut text = table(2, HEADER, &rows);
    for (reason, combinations) in absent {
        text.push_str(&wrapped(&format!("Without {}: {reason}", combinations.join(", "))));
    }
    text
}

/// The words of `text` in lines that fit a terminal.
fn wrapped(text: &str) -> String {
    lines(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn lines_break_between_words_where_the_terminal_ends() {
        let word = "x".repeat(39);
        assert_eq!(wrapped(&format!("{word} {word}  y")), format!("{word} {word}\ny\n"));
        assert_eq!(wrapped(&"x".repeat(100)), "x".repeat(100) + "\n");
    }
}
