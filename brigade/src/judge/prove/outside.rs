//! What witnesses outside the programs say: a second clock, perf, slower system calls, and
//! memory of a known size.

use std::collections::BTreeMap;

use super::work::is_busy;
use super::{Experiment, Figure, Probe, Status};
use crate::judge::ledger;
use crate::judge::statistics::{Estimate, median};

/// Confidence of intervals, 0 to 1.
const CONFIDENCE: f64 = 0.99;

/// By how much two clocks or two counts may differ, as a share: what happens before and after
/// the laps is not quite the same in two processes.
const TOLERANCE: f64 = 0.02;

/// How far a number of system calls may be below and above a whole one. Among other work the
/// filter runs colder than where its cost is measured, and a thread whose calls take longer is
/// preempted more often: four calls of a hop are found as 4.2 to 4.5.
const CALLS_TOLERANCE: [f64; 2] = [-0.5, 0.75];

/// Bytes of a stack that a task touches in the second arm beyond those in the first.
pub const MORE_BYTES: u64 = 256 * 1024;

/// What `of` makes of each round's processes, of the first arm and the second, with an
/// interval.
fn by_round(of: &Experiment, figure: impl Fn(&Probe, &Probe) -> Option<f64>) -> Option<Estimate> {
    let pairs = of.arms[0].iter().zip(&of.arms[1]);
    let figures: Vec<f64> = pairs.filter_map(|(one, other)| figure(one, other)).collect();
    Estimate::at(CONFIDENCE, &figures)
}

/// A figure that must be between two bounds, with its interval.
fn between(what: String, found: Option<Estimate>, must: &str, bounds: [f64; 2]) -> Figure {
    match found {
        Some(Estimate { value, interval: Some(ends), .. }) => {
            Figure::new(what, value, "").between(ends).judged(must, Status::within(ends, bounds))
        }
        _ => Figure::missing(what, "it cannot be asked here"),
    }
}

/// Second clock: what a long process says that it measured longer than a short one, over how
/// much longer it lived by a clock that is not the programs'.
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

/// Switches outside: by how many context switches a long process exceeds a short one, as perf
/// counts them, less what the two report, for each hop between them.
pub fn switches_outside(experiments: &[Experiment]) -> Vec<Figure> {
    let figure = |of: &Experiment| {
        let what =
            format!("{}: switches per hop, perf's count minus the reported one", of.case.name);
        let hops_and_told = |probe: &Probe| {
            let record = probe.record()?;
            let laps = (record.iterations + record.warmups) as f64;
            let hops = laps * record.principal()?.operations as f64;
            let told = record.switches?;
            Some((hops, told.voluntary_per_operation + told.involuntary_per_operation))
        };
        let more = |few: &Probe, many: &Probe| {
            let ((hops, per_hop), (more_hops, more_per_hop)) =
                (hops_and_told(few)?, hops_and_told(many)?);
            let told = more_hops * more_per_hop - hops * per_hop;
            Some((many.outside? - few.outside? - told) / (more_hops - hops))
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

/// System calls: how much longer a hop takes where each call is slower, over by how much. `calls`
/// has the number that each case must come to.
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

/// Known memory: by how many bytes a task is found to hold more, over how many it touches.
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
