//! Compares the programs' reports with measurements from outside: a second clock, perf, slower
//! system calls, and memory of known size.

use std::collections::{BTreeMap, BTreeSet};

use harness::trace::{Switch, Trace, Way};

use super::properties::all;
use super::work::is_busy;
use super::{Experiment, Figure, Probe, Status};
use crate::judge::ledger;
use crate::judge::statistics::{Estimate, median};
use crate::judge::trace::{Blame, Hop, Part, Piece};

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

/// What a trace reports that the kernel counts as well.
#[derive(Debug)]
pub struct Traced {
    /// How the records differ from the kernel's count of switches.
    recorded: Result<(), String>,
    /// The share of its laps in which the program waits, by the hops' parts and by its CPU time.
    waiting: Option<[f64; 2]>,
    /// Mean time per hop, in nanoseconds.
    hop_ns: f64,
}

impl Traced {
    /// That of this trace.
    ///
    /// # Errors
    /// If the trace is inconsistent.
    pub fn of(trace: &Trace) -> Result<Self, String> {
        let blame = Blame::of(trace)?;
        let (mut recorded, mut wall_ns, mut cpu_ns) = (Ok(()), 0, Some(0));
        for span in &trace.spans {
            let is_in = |at_ns: u64| span.begun_ns <= at_ns && at_ns <= span.ended_ns;
            let own = trace.switches.iter().filter(|switch| switch.own && is_in(switch.at_ns));
            let (came, left): (Vec<&Switch>, Vec<_>) = own.partition(|of| of.way == Way::In);
            let found = [came.len(), left.len()];
            if found != [span.counted as usize; 2] {
                recorded = Err(format!("{} of each, but is {found:?}", span.counted));
            }
            let stops = trace.laps.iter().flat_map(|lap| &lap.stops).map(|stop| stop.at_ns);
            let stops: Vec<u64> = stops.filter(|at_ns| is_in(*at_ns)).collect();
            wall_ns += stops.last().unwrap_or(&0) - stops.first().unwrap_or(&0);
            cpu_ns = cpu_ns.zip(span.cpu_ns).map(|(sum, ns)| sum + ns);
        }
        let kernels = cpu_ns.map(|cpu_ns| 1.0 - cpu_ns as f64 / wall_ns.max(1) as f64);
        let waiting = kernels.map(|kernels| [waiting_share(&blame), kernels]);
        Ok(Self { recorded, waiting, hop_ns: blame.mean_ns() })
    }
}

/// The share of all hops in which the program waits: none of its threads has a CPU, and none is
/// being switched to. For the kernel another of its threads is CPU time, whoever waits for it.
fn waiting_share(blame: &Blame) -> f64 {
    use Part::{Receiving, Running, Sending, SendingToIdle, Switching};
    let own = blame.turns.iter().filter(|turn| turn.own).map(|turn| turn.tid);
    let own: BTreeSet<u32> = own.collect();
    let waits = |Piece { part, by, .. }: &&Piece| {
        let is_gap = !matches!(part, Sending | SendingToIdle | Switching | Receiving | Running);
        is_gap && by.is_none_or(|tid| !own.contains(&tid))
    };
    let pieces = blame.hops.iter().flat_map(|hop| &hop.pieces).filter(waits);
    let whole: u64 = blame.hops.iter().map(Hop::ns).sum();
    pieces.map(Piece::ns).sum::<u64>() as f64 / whole.max(1) as f64
}

/// Traced hops: every switch that the kernel counts is among the records of a trace, as one thread
/// that leaves the CPU and one that takes it, and the hops' parts agree with the CPU time of the
/// same laps, alone and next to a thread that uses a tenth of the CPU. On several CPUs, waking
/// another one is CPU time for the kernel.
pub fn traced_hops(experiments: &[Experiment]) -> Vec<Figure> {
    let traced = |of: &'_ Probe| of.traced.as_ref().map(|traced| traced.recorded.clone());
    let recorded = experiments.iter().flat_map(|of| {
        of.probes().filter_map(move |probe| Some((of.case.name.as_str(), traced(probe)?)))
    });
    let what = "traces with a record of each switch that the kernel counts";
    let mut figures = all(what, "no process could trace", recorded);
    for of in experiments {
        let name = &of.case.name;
        for (arm, beside) in [(1, "alone"), (2, "next to a thread that uses 10 %")] {
            let shares = of.arms[arm].iter().filter_map(|probe| probe.traced.as_ref()?.waiting);
            let shares: Vec<[f64; 2]> = shares.collect();
            let differences: Vec<f64> = shares.iter().map(|[ours, its]| ours - its).collect();
            let [ours, its] = [0, 1].map(|side| {
                100.0 * median(&shares.iter().map(|of| of[side]).collect::<Vec<_>>()).unwrap_or(0.0)
            });
            let what = format!("{name}: waiting in hops minus the kernel's share, {beside}");
            let must = format!("within 0.02 of 0; waiting {ours:.1} %, and {its:.1} %");
            let found = Estimate::at(CONFIDENCE, &differences);
            figures.push(between(what, found, &must, [-TOLERANCE, TOLERANCE]));
        }
        let cost =
            |plain: &Probe, traced: &Probe| Some(traced.traced.as_ref()?.hop_ns / plain.time_ns?);
        if let Some(Estimate { value, .. }) = by_round(of, cost) {
            figures.push(Figure::new(format!("{name}: a hop with tracing / without"), value, ""));
        }
    }
    figures
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
