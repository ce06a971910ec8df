//! Compares the programs' reports with measurements from outside: a second clock, perf, slower
//! system calls, and memory of known size.

use std::collections::BTreeMap;

use super::work::is_busy;
use super::{Experiment, Figure, Probe, Status};
use crate::judge::ledger;
use crate::judge::statistics::{Estimate, median};

/// Confidence of intervals, 0 to 1.
const CONFIDENCE: f64 = 0.99;

/// The tolerated difference between two clocks or counts, as a share: work before and after the
/// laps differs slightly between two processes.
const TOLERANCE: f64 = 0.02;

/// How far a number of system calls may be below and above a whole number. Among other work the
/// filter runs colder than where its cost is measured, and a thread with slower calls is preempted
/// more often: the four calls of a hop are found as 4.2 to 4.5.
const CALLS_TOLERANCE: [f64; 2] = [-0.5, 0.75];

/// How many more bytes of stack a task touches in the second arm than in the first.
pub const MORE_BYTES: u64 = 256 * 1024;

/// Applies `figure` to each round's processes, of the first arm and the second, and estimates the
/// result.
fn by_round(of: &Experiment, figure: impl Fn(&Probe, &Probe) -> Option<f64>) -> Option<Estimate> {
    let pairs = of.arms[0].iter().zip(&of.arms[1]);
    let figures: Vec<f64> = pairs.filter_map(|(one, other)| figure(one, other)).collect();
    Estimate::at(CONFIDENCE, &figures)
}

/// A figure with its interval, which must be between two bounds.
fn between(what: String, found: Option<Estimate>, must: &str, bounds: [f64; 2]) -> Figure {
    match found {
        Some(Estimate { value, interval: Some(ends), .. }) => {
            Figure::new(what, value, "").between(ends).judged(must, Status::within(ends, bounds))
        }
        _ => Figure::missing(what, "it cannot be measured here"),
    }
}

/// Second clock: how much longer a long process measured than a short one by its own report,
/// divided by how much longer it lived by an independent clock.
pub fn second_clock(experiments: &[Experiment]) -> Vec<Figure> {
    let figure = |of: &Experiment| {
        let wall_ns = |probe: &Probe| Some(probe.record()?.interference.wall_ns? as f64);
        let ratio = |short: &Probe, long: &Probe| {
            Some((wall_ns(long)? - wall_ns(short)?) / (long.outside? - short.outside?))
        };
        let what = format!("{}: reported time / CLOCK_MONOTONIC_RAW", of.case.name);
        between(what, by_round(of, ratio), "within 2 % of 1", [1.0 - TOLERANCE, 1.0 + TOLERANCE])
    };
    experiments.iter().map(figure).collect()
}

/// Switches from outside: how many more context switches perf counts in a long process than in a
/// short one, minus the reported difference, per hop.
pub fn switches_outside(experiments: &[Experiment]) -> Vec<Figure> {
    let figure = |of: &Experiment| {
        let what =
            format!("{}: switches per hop, perf's count minus the reported one", of.case.name);
        let hops_and_told = |probe: &Probe| {
            let record = probe.record()?;
            let laps = (record.iterations + record.warmups) as f64;
            let hops = laps * record.principal()?.operations as f64;
            let reported = record.switches?;
            Some((hops, reported.voluntary_per_operation + reported.involuntary_per_operation))
        };
        let more = |few: &Probe, many: &Probe| {
            let ((hops, per_hop), (more_hops, more_per_hop)) =
                (hops_and_told(few)?, hops_and_told(many)?);
            let reported = more_hops * more_per_hop - hops * per_hop;
            Some((many.outside? - few.outside? - reported) / (more_hops - hops))
        };
        let differences =
            of.arms[0].iter().zip(&of.arms[1]).filter_map(|(few, many)| more(few, many));
        let Some(difference) = median(&differences.collect::<Vec<_>>()) else {
            return Figure::missing(what, "perf may not count them for this user");
        };
        let is_near = difference.abs() <= TOLERANCE;
        Figure::new(what, difference, "").judged("within 0.02 of 0", Status::of(is_near))
    };
    experiments.iter().map(figure).collect()
}

/// System calls: how much longer a hop takes if each call is slower, divided by that delay. `calls`
/// gives the expected number per case.
pub fn system_calls(experiments: &[Experiment], calls: &BTreeMap<String, u32>) -> Vec<Figure> {
    let figure = |of: &Experiment| {
        let must = calls.get(&of.case.name).copied().unwrap_or_default();
        let count = |plain: &Probe, filtered: &Probe| {
            Some((filtered.time_ns? - plain.time_ns?) / filtered.outside?)
        };
        let what = format!("{}: system calls per hop, by their cost", of.case.name);
        let bounds = CALLS_TOLERANCE.map(|off| f64::from(must) + off);
        let within = format!("{} to {}", bounds[0], bounds[1]);
        let figure = between(what, by_round(of, count), &within, bounds);
        Figure { status: figure.status.unless_busy(is_busy(of)), ..figure }
    };
    experiments.iter().map(figure).collect()
}

/// Known memory: the extra bytes found per task, divided by the extra bytes touched.
pub fn known_memory(experiments: &[Experiment]) -> Vec<Figure> {
    let figure = |of: &Experiment| {
        let user = |probe: &Probe| {
            let lines = ledger::lines(&[probe.record()?.ledger.clone()?]);
            lines.first()?.bytes_per_task[0]
        };
        let ratio =
            |less: &Probe, more: &Probe| Some((user(more)? - user(less)?) / MORE_BYTES as f64);
        let what = format!("{}: bytes found / touched", of.case.name);
        let ratios =
            of.arms[0].iter().zip(&of.arms[1]).filter_map(|(less, more)| ratio(less, more));
        let Some(ratio) = median(&ratios.collect::<Vec<_>>()) else {
            return Figure::failed(what, "no process reports the memory of its tasks");
        };
        let is_near = (ratio - 1.0).abs() <= TOLERANCE;
        Figure::new(what, ratio, "").judged("within 2 % of 1", Status::of(is_near))
    };
    experiments.iter().map(figure).collect()
}
