//! All combinations as tables, each run in fresh processes.

use harness::Bench;
use harness::again::{self, Told};
use harness::record::Record;
use harness::statistics::Estimate;
use harness::table::{ABSENT, cell, table};

use crate::combination::{Combination, name};

const HEADER: [&str; 5] =
    ["executor", "spawn", "ms/iteration", "ns/spawn", "over its own interface"];

/// Runs every combination with every number of nodes and prints a table for
/// each number.
pub fn compare(
    bench: &Bench,
    combinations: &[Combination],
    sizes: &[u32],
    rounds: u32,
) -> anyhow::Result<()> {
    let variants: Vec<_> = sizes
        .iter()
        .flat_map(|size| combinations.iter().map(|combination| variant(bench, *combination, *size)))
        .collect();
    again::compare(bench, &variants, rounds, &|told| {
        let tables = sizes.iter().zip(told.chunks(combinations.len()));
        let text: Vec<_> = tables.map(|(size, told)| section(*size, combinations, told)).collect();
        text.join("\n")
    })
}

/// The flags of one combination in a ring of this size.
fn variant(bench: &Bench, combination: Combination, size: u32) -> Vec<String> {
    vec![
        format!("--executor={}", name(&combination.executor)),
        format!("--spawn={}", name(&combination.interface)),
        format!("--nodes={size}"),
        format!("--placement={}", name(&bench.placement().policy())),
    ]
}

/// The table for one size, under a line that says what was counted.
fn section(size: u32, combinations: &[Combination], told: &[Told]) -> String {
    let size = u64::from(size);
    let rows: Vec<_> = combinations
        .iter()
        .zip(told)
        .map(|(combination, told_of)| {
            row(*combination, told_of, own(*combination, combinations, told))
        })
        .collect();
    let (hops, spawns) = (size * size, size * size + size);
    format!(
        "{size} nodes: {hops} hops and {spawns} spawns, all counted\n{}",
        table(2, HEADER, &rows)
    )
}

/// What the same executor's own interface told, if it is another one that was
/// run.
fn own<'a>(combination: Combination, all: &[Combination], told: &'a [Told]) -> Option<&'a Told> {
    let own = combination.own();
    let place = all.iter().position(|found| *found == own)?;
    (own != combination).then(|| &told[place])
}

fn row(combination: Combination, told: &Told, own: Option<&Told>) -> [String; 5] {
    let over = own.map(|own| overhead(&told.ratios(own, &ns_per_spawn)));
    [
        name(&combination.executor),
        name(&combination.interface),
        cell(told.median(&ms_per_iteration), 3),
        cell(told.median(&ns_per_spawn), 1),
        told.refused.clone().or(over).unwrap_or_else(|| ABSENT.to_owned()),
    ]
}

fn ns_per_spawn(record: &Record) -> Option<f64> {
    Some(record.principal()?.ns_per_operation)
}

fn ms_per_iteration(record: &Record) -> Option<f64> {
    Some(record.principal()?.mean_ns / 1e6)
}

/// How many times as long an interface takes, with its interval.
fn overhead(ratios: &[f64]) -> String {
    let Some(estimate) = Estimate::of(ratios) else { return ABSENT.into() };
    match estimate.interval {
        Some(_) if !estimate.excludes(1.0) => "not resolvable".into(),
        Some(ends) => format!("× {:.2} ({:.2} to {:.2})", estimate.median, ends.low, ends.high),
        None => format!("× {:.2} (too few rounds)", estimate.median),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_costs_a_ratio_with_its_interval_or_nothing_resolvable() {
        assert_eq!(overhead(&[1.5, 1.4, 1.6, 1.55, 1.45]), "× 1.50 (1.40 to 1.60)");
        assert_eq!(overhead(&[1.5, 0.9, 1.6, 1.55, 1.45]), "not resolvable");
        assert_eq!(overhead(&[1.5, 1.4]), "× 1.45 (too few rounds)");
        assert_eq!(overhead(&[]), ABSENT);
    }
}
