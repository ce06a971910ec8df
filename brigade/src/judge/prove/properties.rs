//! The properties: the expected outcome of each experiment. Claims about
//! context switches are checked against the kernel's counts.

use std::collections::BTreeMap;
use std::slice;

use harness::instrument::{Crossings, EmptyLap};
use harness::record::{Measurement, Record, Switches};

use super::{Experiment, Figure, Probe, Status, time_ns};
use crate::judge::compare::Verdict;
use crate::judge::interference;
use crate::judge::report::model::Parts;
use crate::judge::statistics::{
    Dependence, Estimate, Interval, Series, median, proportion, ratio_at, ratios,
};
use crate::judge::taken::{NOTABLE, Taken};
use crate::manifest::Placement;
use crate::store::invocation::{Invocation, seconds};

/// Confidence of a verdict, 0 to 1.
const CONFIDENCE: f64 = 0.95;

/// Confidence for shares of verdicts, and for the difference over all pairs, 0 to 1: a proof has
/// dozens of figures, and none may fail by chance.
const SURE: f64 = 0.999;

/// The largest difference that does not matter to a verdict, as a share.
const MARGIN: f64 = 0.03;

/// Independent processes scatter at least as their laps do. With eight processes per case, chance
/// gives a scatter this small once in a thousand.
const LEAST_SCATTER: f64 = 0.3;

/// How much more work the candidate does in a comparison with known outcome.
pub const MORE_WORK: f64 = 1.05;

/// A/A: cases compared with themselves, side by side. Every *faster* and *slower* is false, and
/// even a small difference between the sides adds up over all pairs.
pub fn same(experiments: &[Experiment]) -> Vec<Figure> {
    let sides: Vec<_> = experiments.iter().map(|of| [of.times(0), of.times(1)]).collect();
    let ratio = |[first, second]: &[_; 2]| ratio_at(CONFIDENCE, second, first);
    let all: Vec<Estimate> = sides.iter().filter_map(ratio).collect();
    let logs: Vec<f64> = sides
        .iter()
        .flat_map(|[first, second]| ratios(second, first))
        .filter(|ratio| *ratio > 0.0 && ratio.is_finite())
        .map(f64::ln)
        .collect();
    let what = format!("second side / first, {} pairs", logs.len());
    let difference = match Estimate::at(SURE, &logs) {
        Some(Estimate { value, interval: Some(Interval { low, high }), .. }) => {
            Figure::new(what, value.exp(), "")
                .between(Interval { low: low.exp(), high: high.exp() })
                .judged("1 within the interval of 99.9 %", Status::of(low <= 0.0 && high >= 0.0))
        }
        _ => Figure::failed(what, "too few pairs"),
    };
    vec![false_verdicts("side by side", &all), difference]
}

/// A/A: the later half of a run compared with its earlier half, case by case, with intervals that
/// allow for dependent processes. `invocations` are in the order in which they ran. If the
/// machine's speed changed for all cases alike, the figure is not shown.
pub fn in_time_order<'i>(invocations: impl Iterator<Item = &'i Invocation>) -> Figure {
    let mut by_case: BTreeMap<&str, Series> = BTreeMap::new();
    for invocation in invocations {
        let started = seconds(&invocation.started_at).zip(time_ns(invocation));
        by_case.entry(&invocation.case).or_default().extend(started);
    }
    let cases: Vec<Series> = by_case.into_values().collect();
    let dependence = Dependence::of(&cases);
    let ratio = |case: &Series| {
        let (early, late) = case.split_at(case.len() / 2);
        let half = |half: &[(f64, f64)]| {
            let times: Vec<f64> = half.iter().map(|(_, time)| *time).collect();
            Some(Estimate::of(&times)?.widened(dependence.inflation(&half.to_vec())))
        };
        // Halves too small for an interval have no verdict.
        half(late)?.over(half(early)?, 0.0, CONFIDENCE).filter(|ratio| ratio.interval.is_some())
    };
    let all: Vec<Estimate> = cases.iter().filter_map(ratio).collect();
    if all.is_empty() {
        return Figure::missing("late against early rounds", "too few rounds");
    }
    let figure = false_verdicts("late against early rounds", &all);
    let common = median(&all.iter().map(|ratio| ratio.value).collect::<Vec<_>>());
    let common = common.unwrap_or(1.0);
    let relative: Vec<Estimate> = all.iter().map(|ratio| ratio.map(|end| end / common)).collect();
    let is_machine = false_verdicts("", &relative).status == Status::Holds;
    Figure { status: figure.status.unless_busy(is_machine), ..figure }
}

/// The share of comparisons of identical sides that report a difference.
fn false_verdicts(what: &str, ratios: &[Estimate]) -> Figure {
    let is_false =
        |ratio: &&Estimate| matches!(Verdict::of(ratio, MARGIN), Verdict::Faster | Verdict::Slower);
    let what = format!("{what}, false verdicts of {}", ratios.len());
    share(what, ratios.iter().filter(is_false).count(), ratios.len()).map_or_else(
        |what| Figure::failed(what, "too few rounds"),
        |(figure, ends)| figure.judged("compatible with 5 %", Status::of(ends.low <= 5.0)),
    )
}

/// A share in percent with its interval; returns `what` if there is nothing to count.
fn share(what: String, hits: usize, all: usize) -> Result<(Figure, Interval), String> {
    let Some(ends) = proportion(hits as u64, all as u64, SURE) else { return Err(what) };
    let ends = Interval { low: 100.0 * ends.low, high: 100.0 * ends.high };
    let percent = 100.0 * hits as f64 / all as f64;
    Ok((Figure::new(what, percent, "%").between(ends), ends))
}

/// Known differences: work compared with 5 % more. The true ratio follows from the baseline's
/// records, and 90 % of the intervals must contain it.
pub fn differences(experiments: &[Experiment]) -> Vec<Figure> {
    let of_trial = |of: &Experiment| {
        let times = [of.times(0), of.times(1)];
        let ratio = ratio_at(CONFIDENCE, &times[1], &times[0])?;
        let truth = |record: &Record| {
            let work = record.work?;
            let unit_ns = work.mean_ns_per_unit.or(work.ns_per_unit)?;
            let more_ns = (MORE_WORK - 1.0) * work.units as f64 * unit_ns;
            Some(1.0 + more_ns / record.principal()?.ns_per_operation)
        };
        let truths: Vec<f64> = of.by_round(0, truth).into_values().collect();
        let contains = ratio.interval?.contains(median(&truths)?);
        Some((Verdict::of(&ratio, MARGIN) == Verdict::Slower, contains))
    };
    let results: Vec<(bool, bool)> = experiments.iter().filter_map(of_trial).collect();
    let all = results.len();
    let found = results.iter().filter(|(found, _)| *found).count();
    let right = results.iter().filter(|(_, contains)| *contains).count();
    let what = format!("intervals that contain the true ratio, of {all}");
    let (figure, ends) = match share(what, right, all) {
        Err(what) => return vec![Figure::failed(what, "too few comparisons")],
        Ok(share) => share,
    };
    let status = match figure.value {
        _ if ends.high < 90.0 => Status::Fails,
        Some(percent) if percent >= 90.0 => Status::Holds,
        _ => Status::NotShown,
    };
    let found = 100.0 * found as f64 / all as f64;
    let found = Figure::new(format!("5 % more work found, of {all}"), found, "%");
    vec![found, figure.judged("90 % or more", status)]
}

/// Known disturbance: a thread uses a tenth of the case's CPU in the first arm. It must show in
/// that arm's processes together, and not in the second arm.
pub fn disturbance(experiments: &[Experiment]) -> Vec<Figure> {
    let figures = |of: &Experiment| {
        let figure = |arm: usize, what: &str| {
            let what = format!("{}: CPU time taken from it {what}", of.case.name);
            let all: Vec<_> =
                of.arms[arm].iter().filter_map(|probe| probe.invocation.as_ref()).collect();
            let taken = Taken::from([interference::sample_of(&all).as_slice()]);
            let Some(taken) = taken.filter(|taken| taken.others.is_some()) else {
                return Err(Figure::missing(what, "it cannot be read here"));
            };
            Ok((Figure::new(what, 100.0 * taken.share(), "%"), taken.is_notable()))
        };
        let [disturbed, alone] = [figure(0, "next to a thread that uses 10 %"), figure(1, "alone")];
        let must = format!("more than {} %", 100.0 * NOTABLE);
        [
            disturbed.map(|(figure, seen)| figure.judged(must, Status::of(seen))),
            alone.map(|(figure, seen)| {
                // Other processes may really have used it.
                let status = if seen { Status::NotShown } else { Status::Holds };
                figure.judged(format!("{} % at most", 100.0 * NOTABLE), status)
            }),
        ]
        .map(|figure| figure.unwrap_or_else(|missing| missing))
    };
    experiments.iter().flat_map(figures).collect()
}

/// Independent rounds: no process repeats another one of its experiment, and processes of the A/A
/// scatter at least as their laps do.
pub fn independence<'e>(
    experiments: impl Iterator<Item = &'e Experiment<'e>>,
    same: &[Experiment],
) -> Vec<Figure> {
    let repeats = experiments.flat_map(|of| {
        let mut seen: Vec<&Measurement> = Vec::new();
        processes(slice::from_ref(of)).filter_map(move |(case, probe)| {
            let laps = probe.record()?.principal()?;
            let is_repeated = seen.iter().any(|other| {
                (other.mean_ns, other.stddev_ns, other.max_ns)
                    == (laps.mean_ns, laps.stddev_ns, laps.max_ns)
            });
            seen.push(laps);
            Some((
                case,
                if is_repeated { Err("different from the others".to_owned()) } else { Ok(()) },
            ))
        })
    });
    let figures = all("processes with distinct laps", "no process measured", repeats);

    let scatter = |of: &Experiment| {
        let laps: Vec<_> = of.records().filter_map(Record::principal).collect();
        let within = laps.iter().filter_map(|laps| {
            let relative = laps.stddev_ns? / laps.mean_ns;
            Some(relative * relative / laps.count as f64)
        });
        let within = median(&within.collect::<Vec<_>>()).filter(|within| *within > 0.0)?;
        let logs: Vec<f64> = laps.iter().map(|laps| laps.ns_per_operation.ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        Some(squares / (logs.len() as f64 - 1.0) / within)
    };
    let scatter = median(&same.iter().filter_map(scatter).collect::<Vec<_>>());
    let what = "variance between processes / expected from their laps";
    let scatter = match scatter {
        Some(ratio) => {
            Figure::new(what, ratio, "").judged("0.3 or more", Status::of(ratio >= LEAST_SCATTER))
        }
        None => Figure::missing(what, "no process has laps that scatter"),
    };
    [figures, vec![scatter]].concat()
}

/// All processes with measurements, with the names of their cases.
fn processes<'e>(experiments: &'e [Experiment]) -> impl Iterator<Item = (&'e str, &'e Probe)> {
    let of = |of: &'e Experiment| of.probes().map(|probe| (of.case.name.as_str(), probe));
    experiments.iter().flat_map(of).filter(|(_, probe)| probe.trouble.is_none())
}

/// How many processes pass: all must. A few of the others are named, with the reason.
pub(super) fn all<'c>(
    what: &str,
    none: &str,
    results: impl Iterator<Item = (&'c str, Result<(), String>)>,
) -> Vec<Figure> {
    let (mut right, mut wrong, mut figures) = (0, 0, Vec::new());
    for (case, result) in results {
        match result {
            Ok(()) => right += 1,
            Err(reason) => {
                wrong += 1;
                figures.push(Figure::failed(format!("{what}: {case}"), reason));
            }
        }
    }
    figures.truncate(3);
    let count = Figure::new(what, f64::from(right), "");
    figures.push(match right + wrong {
        0 => Figure::missing(what, none),
        all => count.judged(format!("all {all}"), Status::of(right == all)),
    });
    figures
}

/// Known switches: the kernel's counts confirm the claim of every case that they can decide.
pub fn switches(experiments: &[Experiment]) -> Vec<Figure> {
    let confirmed = experiments.iter().filter_map(|Experiment { case, arms }| {
        let switches = arms[0].first()?.record()?.switches?;
        decided_claim(case.placement, &switches)?;
        let result = verify_switches(case.placement, case.may_block_more, &switches);
        Some((case.name.as_str(), result))
    });
    let what = format!("claims that the kernel confirms within {SWITCHES_TOLERANCE}");
    all(&what, "no case makes a claim that can be decided", confirmed)
}

/// Known crossings: no hop crosses if all tasks share a CPU; 90 % do if neighbours are apart. With
/// an even number of tasks on two CPUs, the last one shares the driver's CPU.
pub fn crossings(experiments: &[Experiment]) -> Vec<Figure> {
    let figure = |of: &Experiment| {
        let what = format!("{}: hops from one CPU to another", of.case.name);
        let share = of.records().next().and_then(|record| record.switches?.cross_cpu_share);
        let Some(percent) = share.map(|share| 100.0 * share) else {
            return Figure::missing(what, "it traces no hops");
        };
        let (must, holds) = if of.case.placement == Placement::Spread {
            ("90 % or more", percent >= 90.0)
        } else {
            ("none", percent == 0.0)
        };
        Figure::new(what, percent, "%").judged(must, Status::of(holds))
    };
    experiments.iter().map(figure).collect()
}

/// How much longer than their span laps may appear, as a share: all times are from one clock, and
/// means are exact.
const SPAN_TOLERANCE: f64 = 0.01;

/// How far CPU time may exceed that of the CPUs, as a share: it is read a moment before the first
/// lap and after the last one.
const CPU_TOLERANCE: f64 = 0.05;

/// Resolution of the kernel's CPU time per CPU, in nanoseconds: the longest clock tick.
const TICK_NS: f64 = 10e6;

/// Accounting: the parts of an invocation's time, from different clocks and counters, fit into its
/// wall time.
pub fn accounting(experiments: &[Experiment]) -> Vec<Figure> {
    let of_each = |fits: fn(&Record) -> Option<Result<(), String>>| {
        processes(experiments).filter_map(move |(case, probe)| Some((case, fits(probe.record()?)?)))
    };
    let parts = "elapsed = user + kernel + waiting − overlap";
    [
        all("laps within their span", "no program records the span", of_each(fits_span)),
        all(parts, "no program records its CPU time", of_each(adds_up)),
    ]
    .concat()
}

/// Whether the laps of a process fit into the span from the first to the last one.
fn fits_span(record: &Record) -> Option<Result<(), String>> {
    let principal = record.principal()?;
    // With one lap, a phase cannot be distinguished from the very first lap, which the span
    // excludes.
    let is_phase = |other: &&Measurement| match principal.count {
        1 => other.name == principal.name,
        count => (other.count, other.operations) == (count, principal.operations),
    };
    let phases = record.measurements.iter().filter(is_phase);
    let laps_ns: f64 = phases.map(|of| of.mean_ns * of.count as f64).sum();
    let share = laps_ns / record.interference.wall_ns? as f64;
    let reason = format!("100 %, but is {:.1} %", 100.0 * share);
    Some((share <= 1.0 + SPAN_TOLERANCE).then_some(()).ok_or(reason))
}

/// Whether the parts of a process's time add up; `None` without its CPU time.
fn adds_up(record: &Record) -> Option<Result<(), String>> {
    let parts = Parts::of(record)?;
    let Parts { elapsed_ns: elapsed, user_ns: user, kernel_ns: kernel, .. } = parts;
    let (waiting, overlap) = (parts.waiting_ns, parts.overlap_ns);
    let principal = record.principal()?;
    let span_ns = elapsed * (principal.count * principal.operations) as f64;
    let cpus = record.affinity.len().max(1) as f64;
    let slack = CPU_TOLERANCE + TICK_NS / span_ns;
    let sum = user + kernel + waiting - overlap;
    let fits = user + kernel <= elapsed * cpus * (1.0 + slack)
        && (sum - elapsed).abs() <= elapsed * slack
        && waiting.min(overlap) >= 0.0;
    Some(fits.then_some(()).ok_or_else(|| format!("within {cpus} CPUs, but is {parts:?}")))
}

/// The clock's smallest step, in nanoseconds, is short enough to distinguish
/// hops.
pub fn clock(step_ns: u64) -> Figure {
    Figure::new("smallest step", step_ns as f64, "ns")
        .judged("below 1000 ns", Status::of(step_ns < 1000))
}

/// Fewer hand-overs between CPUs reveal nothing about their clocks.
const FEWEST_HAND_OVERS: u64 = 100;

/// The clock does not go backwards between this many CPUs.
pub fn clock_across(cpus: usize, seen: Crossings) -> Figure {
    let Crossings { hand_overs, backwards, .. } = seen;
    if cpus < 2 {
        return Figure::missing("across CPUs", "this process may use only one");
    }
    let status = if backwards == 0 && hand_overs < FEWEST_HAND_OVERS {
        Status::NotShown
    } else {
        Status::of(backwards == 0)
    };
    let what = format!("backwards in {hand_overs} hand-overs between {cpus} CPUs");
    Figure::new(what, backwards as f64, "times")
        .judged(format!("0, in {FEWEST_HAND_OVERS} or more"), status)
}

/// An empty lap appears to take at most two reads of the clock: one is between its two timestamps,
/// and the unavoidable work around it takes less than the other.
pub fn empty_lap(EmptyLap { read_ns, timed_ns, whole_ns }: EmptyLap) -> Vec<Figure> {
    vec![
        Figure::new("a read of the clock", read_ns, "ns"),
        Figure::new("an empty lap, from start to start", whole_ns, "ns"),
        Figure::new("an empty lap, as timed", timed_ns, "ns")
            .judged("at most 2 reads of the clock", Status::of(timed_ns <= 2.0 * read_ns)),
    ]
}

/// How far the kernel's count of switches per operation may differ from the
/// program's claim, as a share of the claim, or of 1 if that is larger: a short
/// run includes start and end.
pub const SWITCHES_TOLERANCE: f64 = 0.1;

/// Verifies the claim about switches if the kernel's counts can decide it: on
/// one CPU every hand-over is a switch, and a claim of none can be checked
/// everywhere; otherwise a wake-up may find its thread still awake.
///
/// There must be at least as many switches of both kinds as claimed, and
/// threads must not block more often, unless the case allows it. Additional
/// preemption is the scheduler's choice: on some kernels a woken thread
/// preempts its waker at every third hop.
///
/// # Errors
/// The kernel's count, if it differs.
pub fn verify_switches(
    placement: Placement,
    may_block_more: bool,
    switches: &Switches,
) -> Result<(), String> {
    let Some(expected) = decided_claim(placement, switches) else { return Ok(()) };
    let tolerance = SWITCHES_TOLERANCE * expected.max(1.0);
    let blocked = switches.voluntary_per_operation;
    let all = blocked + switches.involuntary_per_operation;
    if all < expected - tolerance {
        return Err(format!("the kernel counted {all:.3} switches per operation, not {expected}"));
    }
    if blocked > expected + tolerance && !may_block_more {
        return Err(format!(
            "its threads blocked {blocked:.3} times per operation, not {expected}"
        ));
    }
    Ok(())
}

/// The claimed switches per operation, if the kernel's counts can decide the claim.
pub fn decided_claim(placement: Placement, switches: &Switches) -> Option<f64> {
    let can_be = |claim: &f64| placement == Placement::SameCpu || *claim == 0.0;
    switches.expected_per_operation.filter(can_be)
}

#[cfg(test)]
mod tests {
    use Placement::{Free, SameCpu, Spread};

    use super::*;

    #[test]
    fn threads_must_switch_and_block_as_often_as_claimed_if_the_kernel_can_tell() {
        for (placement, may_block_more, voluntary, involuntary, expected, is_ok) in [
            (SameCpu, false, 1.0, 0.0, Some(1.0), true),
            (SameCpu, false, 0.5, 0.45, Some(1.0), true),
            (SameCpu, false, 0.5, 0.35, Some(1.0), false),
            (SameCpu, false, 1.85, 0.0, Some(2.0), true),
            (SameCpu, false, 1.05, 0.0, Some(1.0), true),
            (SameCpu, false, 1.15, 0.0, Some(1.0), false),
            // Preempted in addition to blocking.
            (SameCpu, false, 1.0, 0.35, Some(1.0), true),
            (SameCpu, true, 1.7, 0.0, Some(1.0), true),
            (SameCpu, true, 0.5, 0.35, Some(1.0), false),
            (SameCpu, false, 0.2, 0.0, None, true),
            (Free, false, 0.05, 0.0, Some(0.0), true),
            (Free, false, 0.2, 0.0, Some(0.0), false),
            (Spread, false, 0.2, 0.0, Some(1.0), true),
        ] {
            let counted = Switches {
                voluntary_per_operation: voluntary,
                involuntary_per_operation: involuntary,
                expected_per_operation: expected,
                migrations: None,
                cross_cpu_share: None,
            };
            let result = verify_switches(placement, may_block_more, &counted);
            assert_eq!(result.is_ok(), is_ok, "{placement:?} {counted:?}: {result:?}");
        }
    }
}
