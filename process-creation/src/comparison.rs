//! Every mechanism with every size, side by side.

use harness::Bench;
use harness::again::{self, Told};
use harness::record::Measurement;
use harness::statistics::{Estimate, median};
use harness::table::{ABSENT, cell, table};

use crate::Flags;
use crate::launch::Via;

const HEADER: [&str; 8] =
    ["via", "MiB", "launch µs", "95 % interval", "min", "p50", "p99", "join µs"];

/// Runs each of `mechanisms` with each size in fresh processes, interleaved,
/// and prints a table; under `--json`, their records.
pub fn compare(flags: &Flags, bench: &Bench, mechanisms: &[Via]) -> anyhow::Result<()> {
    let cases: Vec<(Via, u32)> = mechanisms
        .iter()
        .flat_map(|via| flags.resident_mib.iter().map(|mib| (*via, *mib)))
        .collect();
    let variants: Vec<Vec<String>> = cases
        .iter()
        .map(|(via, mib)| vec![format!("--via={}", via.name()), format!("--resident-mib={mib}")])
        .collect();
    again::compare(bench, &variants, flags.rounds, &|told| {
        let rows: Vec<_> = cases.iter().zip(told).map(|(case, told)| row(*case, told)).collect();
        let mut text = format!(
            "launched and joined {} at a time; medians over {} processes:\n",
            bench.tasks(),
            flags.rounds
        );
        text.push_str(&table(1, HEADER, &rows));
        for ((via, mib), told) in cases.iter().zip(told) {
            if let Some(reason) = &told.refused {
                text.push_str(&format!("{} with {mib} MiB is refused: {reason}\n", via.name()));
            }
        }
        text
    })
}

/// One line of the table, in microseconds. Of each figure the median over the
/// processes stands there, of the smallest sample the smallest.
fn row((via, mib): (Via, u32), told: &Told) -> [String; 8] {
    let of = |name: &str, figure: fn(&Measurement) -> f64| -> Vec<f64> {
        told.figures(&|record| {
            let measurement = record.measurement(name)?;
            Some(figure(measurement) / measurement.operations as f64)
        })
    };
    let launch = Estimate::of(&of("launch", |launch| launch.mean_ns));
    let interval = launch.and_then(|launch| launch.interval);
    let smallest = of("launch", |launch| launch.min_ns as f64).into_iter().reduce(f64::min);
    [
        via.name().into(),
        mib.to_string(),
        microseconds(launch.map(|launch| launch.median)),
        interval.map_or(ABSENT.into(), |interval| {
            format!("{:.1}…{:.1}", interval.low / 1e3, interval.high / 1e3)
        }),
        microseconds(smallest),
        microseconds(median(&of("launch", |launch| launch.p50_ns as f64))),
        microseconds(median(&of("launch", |launch| launch.p99_ns as f64))),
        microseconds(median(&of("join", |join| join.mean_ns))),
    ]
}

fn microseconds(nanoseconds: Option<f64>) -> String {
    cell(nanoseconds.map(|nanoseconds| nanoseconds / 1e3), 1)
}
