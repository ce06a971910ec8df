//! All scenarios as a table, each run in fresh processes.

use clap::ValueEnum as _;
use harness::Bench;
use harness::again::{self, Told};
use harness::placement::Policy;
use harness::record::Record;
use harness::statistics::Estimate;
use harness::table::{ABSENT, cell, table};

use crate::scenario::Scenario;

const HEADER: [&str; 5] =
    ["scenario", "ms/500000", "ns/cycle", "sw/cycle", "over no-switch, ns/cycle"];

/// The cycles for which the published table gives the time.
const PUBLISHED_CYCLES: f64 = 500_000.0;

/// Seconds after which a process of the table ends, unless `--max-time` says
/// otherwise. Waking an idle CPU for every cycle would take half a minute.
const MOST_SECONDS: f64 = 0.35;

/// Runs every scenario with every amount of work and prints a table for each
/// amount.
pub fn compare(bench: &Bench, works: &[u64], rounds: u32) -> anyhow::Result<()> {
    let scenarios: Vec<_> = Scenario::each().collect();
    let variants: Vec<_> = works
        .iter()
        .flat_map(|units| scenarios.iter().map(|scenario| variant(bench, *scenario, *units)))
        .collect();
    again::compare(bench, &variants, rounds, &|told| {
        let tables = works.iter().zip(told.chunks(scenarios.len()));
        let text: Vec<_> = tables.map(|(units, told)| section(*units, &scenarios, told)).collect();
        text.join("\n")
    })
}

/// The flags of one scenario with `units` of work.
fn variant(bench: &Bench, scenario: Scenario, units: u64) -> Vec<String> {
    let policy = match scenario {
        Scenario::SchedYield => Policy::SameCpu,
        _ => bench.placement().policy(),
    };
    let policy = policy.to_possible_value().expect("no policy is hidden");
    let bound = bench.max_time().is_none().then(|| format!("--max-time={MOST_SECONDS}"));
    let own = [
        format!("--scenario={}", scenario.name()),
        format!("--work={units}"),
        format!("--placement={}", policy.get_name()),
    ];
    own.into_iter().chain(bound).collect()
}

/// The table for one amount of work, under a line that says how much that is.
fn section(units: u64, scenarios: &[Scenario], told: &[Told]) -> String {
    let rows: Vec<_> = scenarios
        .iter()
        .zip(told)
        .map(|(scenario, of_scenario)| row(*scenario, of_scenario, &told[0]))
        .collect();
    format!("{}{}", heading(units, &told[0]), table(1, HEADER, &rows))
}

fn heading(units: u64, told: &Told) -> String {
    let unit_ns = told.median(&|record| Some(record.measurement("work")?.ns_per_operation));
    let unit = unit_ns.map_or(String::new(), |ns| format!(", a unit takes {ns:.3} ns"));
    format!("cycles with {units} units of work each{unit}:\n")
}

fn row(scenario: Scenario, told: &Told, baseline: &Told) -> [String; 5] {
    let switched = |record: &Record| {
        let switches = record.switches.as_ref()?;
        Some(switches.voluntary_per_operation + switches.involuntary_per_operation)
    };
    [
        scenario.name(),
        cell(told.median(&|record| Some(ns_per_cycle(record)? * PUBLISHED_CYCLES / 1e6)), 1),
        cell(told.median(&ns_per_cycle), 2),
        cell(told.median(&switched), 3),
        match (scenario, &told.refused) {
            (Scenario::NoSwitch, _) => ABSENT.to_owned(),
            (_, Some(reason)) => reason.clone(),
            (_, None) => overhead(&told.differences(baseline, &ns_per_cycle)),
        },
    ]
}

fn ns_per_cycle(record: &Record) -> Option<f64> {
    record.principal().map(|block| block.ns_per_operation)
}

/// What a scenario adds, in nanoseconds, with its interval.
fn overhead(differences: &[f64]) -> String {
    let Some(estimate) = Estimate::of(differences) else { return ABSENT.into() };
    match estimate.interval {
        Some(_) if !estimate.excludes(0.0) => "not resolvable".into(),
        Some(ends) => format!("{:.2} ({:.2} to {:.2})", estimate.median, ends.low, ends.high),
        None => format!("{:.2} (too few rounds)", estimate.median),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overhead_has_its_interval_or_is_not_resolvable() {
        assert_eq!(overhead(&[5.0, 4.0, 6.0, 5.5, 4.5]), "5.00 (4.00 to 6.00)");
        assert_eq!(overhead(&[5.0, -4.0, 6.0, 5.5, 4.5]), "not resolvable");
        assert_eq!(overhead(&[5.0, 4.0]), "4.50 (too few rounds)");
        assert_eq!(overhead(&[]), ABSENT);
    }
}
