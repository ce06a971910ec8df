//! Decides from records alone whether an invocation was disturbed, and which invocations are used.
//! docs/MEASURING.md explains the thresholds.
//!
//! The program's activity is not interference: its CPU time, that of its children, and switches of
//! tasks that hand over. Switches, moves and pressure count only if the program claims that none of
//! its tasks ever waits for a CPU.

use std::collections::BTreeMap;

use harness::record::{Interference, Record};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::judge::statistics::median;
use crate::store::invocation::{Invocation, Outcome};

/// How far a share of time may exceed its threshold, per CPU, in nanoseconds:
/// two ticks of the clock behind `/proc/stat`.
const TICKS_NS: f64 = 20e6;
/// How far a count may exceed its threshold.
const FEW: f64 = 5.0;

/// The largest share of its CPUs' time that others use in a clean invocation.
const CLEAN_SHARE: f64 = 0.02;
/// From this share on, an invocation is unusable.
const UNUSABLE_SHARE: f64 = 0.2;
/// The most involuntary switches per second in a clean invocation that claims
/// no switch.
const CLEAN_SWITCHES: f64 = 60.0;
/// The most moves to another CPU per second in a clean invocation that claims
/// no switch.
const CLEAN_MIGRATIONS: f64 = 10.0;
/// The largest share of time in which something waits for a CPU in a clean
/// invocation that claims no switch.
const CLEAN_PRESSURE: f64 = 0.1;
/// The largest change of frequency in a clean invocation.
const CLEAN_FREQUENCY_CHANGE: f64 = 0.1;

/// How far an invocation can be trusted, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// No sign of a disturbance.
    Clean,
    /// Used, but marked.
    Disturbed,
    /// To be repeated; used only if that does not help.
    Unusable,
}

/// How far to trust an invocation, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// How far to trust it.
    pub trust: Trust,
    /// What exceeded its threshold, briefly; empty if it is clean.
    pub reasons: Vec<String>,
}

/// Judges one invocation. Without a record, or without counts in it, it is clean.
pub fn assess(invocation: &Invocation) -> Assessment {
    let span = invocation.record.as_ref().and_then(Span::of);
    let mut found = span.map_or(Vec::new(), |span| span.excesses());
    let stopped = invocation.stopped_ns.filter(|ns| *ns > 0);
    found.extend(
        stopped.map(|ns| {
            (Trust::Unusable, format!("a signal stopped it for {:.1} s", ns as f64 / 1e9))
        }),
    );
    Assessment {
        trust: found.iter().map(|(trust, _)| *trust).max().unwrap_or(Trust::Clean),
        reasons: found.into_iter().map(|(_, reason)| reason).collect(),
    }
}

/// What exceeded its threshold, and how severely.
type Excess = (Trust, String);

/// The measured part of an invocation.
struct Span<'a> {
    record: &'a Record,
    interference: &'a Interference,
    wall_ns: f64,
}

impl<'a> Span<'a> {
    fn of(record: &'a Record) -> Option<Self> {
        let interference = &record.interference;
        let wall_ns = interference.wall_ns? as f64;
        (wall_ns > 0.0).then_some(Self { record, interference, wall_ns })
    }

    fn excesses(&self) -> Vec<Excess> {
        let frequency = self.frequency_change();
        let taken = [self.taken(), self.throttled(), frequency];
        let mut found: Vec<Excess> = taken.into_iter().flatten().collect();
        if self.claims_no_switch() {
            found.extend(
                [self.switches(), self.migrations(), self.pressure()].into_iter().flatten(),
            );
        }
        found
    }

    /// CPU time used by others. Two counts see parts of it: busy time that is
    /// not ours, and stolen time; the larger one is used.
    fn taken(&self) -> Option<Excess> {
        let Interference { others_cpu_ns, steal_ns, .. } = *self.interference;
        let others_cpu_ns = others_cpu_ns.map(|ns| u64::try_from(ns).unwrap_or(0));
        let taken_ns = others_cpu_ns.max(steal_ns)? as f64;
        let cpus = self.record.affinity.len().max(1) as f64;
        let is_above = |share: f64| taken_ns > cpus * (share * self.wall_ns + TICKS_NS);
        let trust = if is_above(UNUSABLE_SHARE) {
            Trust::Unusable
        } else if is_above(CLEAN_SHARE) {
            Trust::Disturbed
        } else {
            return None;
        };
        let share = percent(taken_ns / (cpus * self.wall_ns));
        let who = if steal_ns > others_cpu_ns { "the hypervisor took" } else { "others used" };
        Some((trust, format!("{who} {share} of its CPUs' time")))
    }

    /// A quota throttles every process, so none is worth repeating.
    fn throttled(&self) -> Option<Excess> {
        let [used_up, periods] = self.interference.throttled_periods?;
        let reason = || format!("its CPU quota throttled it in {used_up} of {periods} periods");
        (used_up > 0).then(|| disturbed(reason()))
    }

    fn frequency_change(&self) -> Option<Excess> {
        let before = self.interference.frequency_before_khz? as f64;
        let after = self.interference.frequency_after_khz? as f64;
        let change = (after / before - 1.0).abs();
        (change > CLEAN_FREQUENCY_CHANGE)
            .then(|| disturbed(format!("the CPU's frequency changed by {}", percent(change))))
    }

    fn claims_no_switch(&self) -> bool {
        let claim = self.record.switches.and_then(|switches| switches.expected_per_operation);
        claim == Some(0.0)
    }

    fn switches(&self) -> Option<Excess> {
        let laps = self.record.principal()?;
        let per_operation = self.record.switches?.involuntary_per_operation;
        let count = per_operation * laps.count as f64 * laps.operations as f64;
        let rate = self.rate_above(count, CLEAN_SWITCHES)?;
        Some(disturbed(format!("it was preempted {rate:.0} times a second")))
    }

    fn migrations(&self) -> Option<Excess> {
        let count = self.record.switches?.migrations? as f64;
        let rate = self.rate_above(count, CLEAN_MIGRATIONS)?;
        Some(disturbed(format!("it was moved between CPUs {rate:.0} times a second")))
    }

    fn pressure(&self) -> Option<Excess> {
        // The spinners that keep the CPUs awake always wait for one.
        if self.record.parameters.get("keep_awake") == Some(&Value::Bool(true)) {
            return None;
        }
        let waiting_ns = self.interference.psi_cpu_some_ns? as f64;
        let share = percent(waiting_ns / self.wall_ns);
        (waiting_ns > CLEAN_PRESSURE * self.wall_ns + TICKS_NS)
            .then(|| disturbed(format!("something waited for a CPU {share} of the time")))
    }

    /// `count` per second, if it exceeds `rate`.
    fn rate_above(&self, count: f64, rate: f64) -> Option<f64> {
        let seconds = self.wall_ns / 1e9;
        (count > rate * seconds + FEW).then_some(count / seconds)
    }
}

fn disturbed(reason: String) -> Excess {
    (Trust::Disturbed, reason)
}

/// A share as a whole percentage.
fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// An invocation with a measurement.
#[derive(Clone, Copy)]
pub struct Sampled<'a> {
    /// The round, counted from 1.
    pub round: u32,
    /// The invocation.
    pub invocation: &'a Invocation,
    /// Its record.
    pub record: &'a Record,
    /// How far it can be trusted.
    pub trust: Trust,
}

/// The invocations that a case's estimate uses, in the order of rounds: the
/// least disturbed of each round, the first of equals; of those the usable
/// ones, or all if none is usable.
pub fn sample_of<'a>(invocations: &[&'a Invocation]) -> Vec<Sampled<'a>> {
    let mut rounds: BTreeMap<u32, Sampled> = BTreeMap::new();
    for run in invocations.iter().filter_map(|invocation| sampled(invocation)) {
        let best = rounds.entry(run.round).or_insert(run);
        if run.trust < best.trust {
            *best = run;
        }
    }
    let all: Vec<Sampled> = rounds.into_values().collect();
    let usable: Vec<Sampled> =
        all.iter().copied().filter(|run| run.trust < Trust::Unusable).collect();
    if usable.is_empty() { all } else { usable }
}

fn sampled(invocation: &Invocation) -> Option<Sampled<'_>> {
    let record = invocation.record.as_ref()?;
    let trust = assess(invocation).trust;
    let run = Sampled { round: invocation.round, invocation, record, trust };
    (invocation.outcome == Outcome::Measured).then_some(run)
}

/// The median over the runs whose record contains the figure.
pub fn median_of(runs: &[Sampled], figure: impl Fn(&Record) -> Option<f64>) -> Option<f64> {
    median(&runs.iter().filter_map(|run| figure(run.record)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixtures::Sample;

    const SECOND: u64 = 1_000_000_000;
    /// Two ticks on each of the two CPUs of a sample.
    const TICKS: u64 = 40_000_000;

    /// An invocation of one second on two CPUs whose tasks claim `expected`
    /// switches per operation.
    fn invocation(expected: Option<f64>, interference: Interference) -> Invocation {
        let mut invocation = Sample::hop(100.0).in_round("ring", 1);
        let record = invocation.record.as_mut().unwrap();
        record.measurements[0].count = 100;
        let switches = record.switches.as_mut().unwrap();
        switches.involuntary_per_operation = 0.0;
        switches.expected_per_operation = expected;
        record.interference = Interference { wall_ns: Some(SECOND), ..interference };
        invocation
    }

    fn others(others_cpu_ns: u64) -> Assessment {
        let others_cpu_ns = Some(others_cpu_ns.cast_signed());
        assess(&invocation(Some(1.0), Interference { others_cpu_ns, ..Interference::default() }))
    }

    #[test]
    fn cpu_time_of_others_disturbs_above_a_fiftieth_and_ruins_above_a_fifth() {
        for (others_cpu_ns, expected) in [
            (0, Trust::Clean),
            (2 * SECOND / 50 + TICKS, Trust::Clean),
            (2 * SECOND / 50 + TICKS + 1, Trust::Disturbed),
            (2 * SECOND / 5 + TICKS, Trust::Disturbed),
            (2 * SECOND / 5 + TICKS + 1, Trust::Unusable),
        ] {
            assert_eq!(others(others_cpu_ns).trust, expected, "{others_cpu_ns} ns");
        }
        assert_eq!(others(SECOND).reasons, ["others used 50 % of its CPUs' time"]);
        assert!(others(0).reasons.is_empty());
    }

    #[test]
    fn the_larger_of_others_and_steal_counts() {
        let both = |others_cpu_ns: Option<u64>, steal_ns| {
            let others_cpu_ns = others_cpu_ns.map(u64::cast_signed);
            let found = Interference { others_cpu_ns, steal_ns, ..Interference::default() };
            assess(&invocation(Some(1.0), found)).reasons
        };
        let stolen = ["the hypervisor took 50 % of its CPUs' time"];
        assert_eq!(both(None, Some(SECOND)), stolen);
        assert_eq!(both(Some(0), Some(SECOND)), stolen);
        assert_eq!(both(Some(SECOND), Some(0)), ["others used 50 % of its CPUs' time"]);
        assert_eq!(both(Some(0), Some(0)), [""; 0]);
    }

    #[test]
    fn switches_moves_and_pressure_count_only_in_a_program_that_claims_no_switch() {
        let check = |expected, change: &dyn Fn(&mut Record), reasons: &[&str]| {
            let mut invocation = invocation(expected, Interference::default());
            change(invocation.record.as_mut().unwrap());
            let Assessment { trust, reasons: found } = assess(&invocation);
            assert_eq!(found, reasons);
            assert_eq!(trust == Trust::Clean, reasons.is_empty());
        };
        let switches = |record: &mut Record, per_operation, migrations| {
            let switches = record.switches.as_mut().unwrap();
            (switches.involuntary_per_operation, switches.migrations) = (per_operation, migrations);
        };
        // 100 laps of 10 operations.
        let preempted = |per_operation| move |of: &mut Record| switches(of, per_operation, None);
        let moved = |count| move |of: &mut Record| switches(of, 0.0, Some(count));
        let pressed = |milliseconds: u64| {
            move |of: &mut Record| {
                of.interference.psi_cpu_some_ns = Some(milliseconds * 1_000_000);
            }
        };
        let frequency = |after| {
            move |of: &mut Record| {
                of.interference.frequency_before_khz = Some(3_000_000);
                of.interference.frequency_after_khz = after;
            }
        };
        let kept_awake = |of: &mut Record| {
            of.interference.psi_cpu_some_ns = Some(SECOND);
            of.parameters.insert("keep_awake".to_owned(), true.into());
        };
        check(Some(0.0), &preempted(0.065), &[]);
        check(Some(0.0), &preempted(0.066), &["it was preempted 66 times a second"]);
        check(Some(1.0), &preempted(0.4), &[]);
        check(None, &preempted(0.4), &[]);
        check(Some(0.0), &moved(15), &[]);
        check(Some(0.0), &moved(16), &["it was moved between CPUs 16 times a second"]);
        check(Some(1.0), &moved(20_000), &[]);
        check(Some(0.0), &pressed(120), &[]);
        check(Some(0.0), &pressed(121), &["something waited for a CPU 12 % of the time"]);
        check(Some(1.0), &pressed(700), &[]);
        check(Some(0.0), &kept_awake, &[]);
        check(Some(1.0), &frequency(Some(2_700_000)), &[]);
        for after in [2_600_000, 3_400_000] {
            let expected = ["the CPU's frequency changed by 13 %"];
            check(Some(1.0), &frequency(Some(after)), &expected);
        }
        check(Some(1.0), &frequency(None), &[]);
        check(Some(0.0), &|record| record.interference = Interference::default(), &[]);
    }

    /// Rounds and times of the sample of these invocations, each given by its
    /// round, its time and the share of CPU time that others used.
    fn sampled(invocations: &[(u32, f64, f64)]) -> Vec<(u32, f64)> {
        let invocations: Vec<Invocation> = invocations
            .iter()
            .map(|&(round, wall_ns, others_share)| {
                Sample { others_share, ..Sample::hop(wall_ns) }.in_round("ring", round)
            })
            .collect();
        let sample = sample_of(&invocations.iter().collect::<Vec<_>>());
        let time = |run: &Sampled| run.record.principal().unwrap().ns_per_operation;
        sample.iter().map(|run| (run.round, time(run))).collect()
    }

    #[test]
    fn unusable_invocations_are_used_only_if_there_are_no_others() {
        let mixed = [(1, 10.0, 0.0), (2, 30.0, 0.5), (3, 12.0, 0.1)];
        assert_eq!(sampled(&mixed), [(1, 10.0), (3, 12.0)]);
        assert_eq!(sampled(&[(1, 40.0, 0.4), (2, 50.0, 0.5)]), [(1, 40.0), (2, 50.0)]);
    }
}
