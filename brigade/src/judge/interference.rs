//! Was an invocation disturbed? The verdict comes from its record alone, by
//! the thresholds below; docs/MEASURING.md says why these.
//!
//! What the program itself does is no interference: its own CPU time, that of
//! its children, and the switches of tasks that hand over. Switches, moves and
//! pressure tell something only where the program claims that none of its
//! tasks ever waits for a CPU, and are looked at only there.

use harness::record::{Interference, Record};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::store::invocation::Invocation;

/// What a share of time may exceed its threshold by, for each CPU, in
/// nanoseconds: two ticks of the clock of `/proc/stat`.
const TICKS_NS: f64 = 20e6;
/// What a count may exceed its threshold by.
const FEW: f64 = 5.0;

/// The share of its CPUs' time that others may have in a clean invocation.
const CLEAN_SHARE: f64 = 0.02;
/// The share from which an invocation says nothing about its case.
const UNUSABLE_SHARE: f64 = 0.2;
/// Involuntary switches per second of a clean invocation that claims no switch.
const CLEAN_SWITCHES: f64 = 60.0;
/// Moves to another CPU per second of a clean invocation that claims no switch.
const CLEAN_MIGRATIONS: f64 = 10.0;
/// The share of time in which something may wait for a CPU during a clean
/// invocation that claims no switch.
const CLEAN_PRESSURE: f64 = 0.1;
/// How far the frequency may have changed by the end of a clean invocation.
const CLEAN_FREQUENCY_CHANGE: f64 = 0.1;

/// How far an invocation can be trusted; the worse, the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing recorded speaks against it.
    Clean,
    /// It is estimated from, and marked.
    Disturbed,
    /// It is to be repeated, and estimated from only if that does not help.
    Unusable,
}

/// A verdict and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// The verdict.
    pub verdict: Verdict,
    /// What was over its threshold, in a few words each; none if it is clean.
    pub reasons: Vec<String>,
}

/// Judges one invocation. One without a record, or whose record does not tell
/// what went on around it, has nothing against it.
pub fn assess(invocation: &Invocation) -> Assessment {
    let found = invocation.record.as_ref().and_then(Span::of).map(|span| span.findings());
    let found = found.unwrap_or_default();
    Assessment {
        verdict: found.iter().map(|(verdict, _)| *verdict).max().unwrap_or(Verdict::Clean),
        reasons: found.into_iter().map(|(_, reason)| reason).collect(),
    }
}

/// Something over its threshold, and how bad that is.
type Finding = (Verdict, String);

/// The measured part of an invocation.
struct Span<'a> {
    record: &'a Record,
    interference: &'a Interference,
    wall_ns: f64,
}

impl<'a> Span<'a> {
    fn of(record: &'a Record) -> Option<Self> {
        let interference = &record.interference;
        let wall_ns = match interference.wall_ns {
            Some(wall_ns) => wall_ns as f64,
            // Before schema 1.2: the laps without what lies between them.
            None => record.principal().map(|laps| laps.mean_ns * laps.count as f64)?,
        };
        (wall_ns > 0.0).then_some(Self { record, interference, wall_ns })
    }

    fn findings(&self) -> Vec<Finding> {
        let frequency = self.frequency_change();
        let mut found: Vec<Finding> = self.taken().into_iter().chain(frequency).collect();
        if self.claims_no_switch() {
            found.extend(
                [self.switches(), self.migrations(), self.pressure()].into_iter().flatten(),
            );
        }
        found
    }

    /// CPU time that went to others. Two counts see parts of it: what was busy
    /// and not ours, and what the hypervisor took; the larger one tells.
    fn taken(&self) -> Option<Finding> {
        let Interference { others_cpu_ns, steal_ns, .. } = *self.interference;
        let taken_ns = others_cpu_ns.max(steal_ns)? as f64;
        let cpus = self.record.affinity.len().max(1) as f64;
        let is_above = |share: f64| taken_ns > cpus * (share * self.wall_ns + TICKS_NS);
        let verdict = match () {
            () if is_above(UNUSABLE_SHARE) => Verdict::Unusable,
            () if is_above(CLEAN_SHARE) => Verdict::Disturbed,
            () => return None,
        };
        let share = percent(taken_ns / (cpus * self.wall_ns));
        let reason = match steal_ns > others_cpu_ns {
            true => format!("the hypervisor took {share} of its CPUs' time"),
            false => format!("others had {share} of its CPUs' time"),
        };
        Some((verdict, reason))
    }

    fn frequency_change(&self) -> Option<Finding> {
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

    fn switches(&self) -> Option<Finding> {
        let laps = self.record.principal()?;
        let per_operation = self.record.switches?.involuntary_per_operation;
        let count = per_operation * laps.count as f64 * laps.operations as f64;
        let rate = self.rate_above(count, CLEAN_SWITCHES)?;
        Some(disturbed(format!("it was preempted {rate:.0} times a second")))
    }

    fn migrations(&self) -> Option<Finding> {
        let count = self.record.switches?.migrations? as f64;
        let rate = self.rate_above(count, CLEAN_MIGRATIONS)?;
        Some(disturbed(format!("it was moved between CPUs {rate:.0} times a second")))
    }

    fn pressure(&self) -> Option<Finding> {
        // What keeps its CPUs awake always waits for one.
        if self.record.parameters.get("keep_awake") == Some(&Value::Bool(true)) {
            return None;
        }
        let waiting_ns = self.interference.psi_cpu_some_ns? as f64;
        let share = percent(waiting_ns / self.wall_ns);
        (waiting_ns > CLEAN_PRESSURE * self.wall_ns + TICKS_NS)
            .then(|| disturbed(format!("something waited for a CPU {share} of the time")))
    }

    /// `count` per second, if that is more than `rate` allows.
    fn rate_above(&self, count: f64, rate: f64) -> Option<f64> {
        let seconds = self.wall_ns / 1e9;
        (count > rate * seconds + FEW).then_some(count / seconds)
    }
}

fn disturbed(reason: String) -> Finding {
    (Verdict::Disturbed, reason)
}

/// A share as a whole percentage.
fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::invocation::Outcome;
    use crate::store::sample::{self, Sample};

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
        let others_cpu_ns = Some(others_cpu_ns);
        assess(&invocation(Some(1.0), Interference { others_cpu_ns, ..Interference::default() }))
    }

    #[test]
    fn cpu_time_of_others_disturbs_above_a_fiftieth_and_ruins_above_a_fifth() {
        for (others_cpu_ns, expected) in [
            (0, Verdict::Clean),
            (2 * SECOND / 50 + TICKS, Verdict::Clean),
            (2 * SECOND / 50 + TICKS + 1, Verdict::Disturbed),
            (2 * SECOND / 5 + TICKS, Verdict::Disturbed),
            (2 * SECOND / 5 + TICKS + 1, Verdict::Unusable),
        ] {
            assert_eq!(others(others_cpu_ns).verdict, expected, "{others_cpu_ns} ns");
        }
        assert_eq!(others(SECOND).reasons, ["others had 50 % of its CPUs' time"]);
        assert!(others(0).reasons.is_empty());
    }

    #[test]
    fn of_what_others_had_and_what_was_stolen_the_larger_counts() {
        let both = |others_cpu_ns, steal_ns| {
            let found = Interference { others_cpu_ns, steal_ns, ..Interference::default() };
            assess(&invocation(Some(1.0), found)).reasons
        };
        let stolen = ["the hypervisor took 50 % of its CPUs' time"];
        assert_eq!(both(None, Some(SECOND)), stolen);
        assert_eq!(both(Some(0), Some(SECOND)), stolen);
        assert_eq!(both(Some(SECOND), Some(0)), ["others had 50 % of its CPUs' time"]);
        assert_eq!(both(Some(0), Some(0)), [""; 0]);
    }

    #[test]
    fn before_the_span_was_recorded_its_laps_are_it() {
        let steal_ns = Some(SECOND);
        let mut invocation = invocation(None, Interference { steal_ns, ..Interference::default() });
        let record = invocation.record.as_mut().unwrap();
        record.interference.wall_ns = None;
        // 100 laps of 40 ms: the second is an eighth of two CPUs' time.
        record.measurements[0].mean_ns = 4e7;
        let expected = ["the hypervisor took 12 % of its CPUs' time"];
        assert_eq!(assess(&invocation).reasons, expected);
    }

    /// The verdict on a program that claims `expected` switches, one figure of
    /// whose invocation is changed.
    #[track_caller]
    fn check(expected: Option<f64>, change: impl Fn(&mut Record), reasons: &[&str]) {
        let mut invocation = invocation(expected, Interference::default());
        change(invocation.record.as_mut().unwrap());
        let assessment = assess(&invocation);
        assert_eq!(assessment.reasons, reasons);
        let verdict = if reasons.is_empty() { Verdict::Clean } else { Verdict::Disturbed };
        assert_eq!(assessment.verdict, verdict);
    }

    #[test]
    fn preemption_tells_of_others_only_where_the_program_claims_no_switch() {
        // 100 laps of 10 operations.
        let by = |per_operation| {
            move |record: &mut Record| {
                record.switches.as_mut().unwrap().involuntary_per_operation = per_operation;
            }
        };
        check(Some(0.0), by(0.065), &[]);
        check(Some(0.0), by(0.066), &["it was preempted 66 times a second"]);
        check(Some(1.0), by(0.4), &[]);
        check(None, by(0.4), &[]);
    }

    #[test]
    fn moves_tell_of_others_only_where_the_program_claims_no_switch() {
        let by = |migrations| {
            move |record: &mut Record| {
                record.switches.as_mut().unwrap().migrations = Some(migrations);
            }
        };
        check(Some(0.0), by(15), &[]);
        check(Some(0.0), by(16), &["it was moved between CPUs 16 times a second"]);
        check(Some(1.0), by(20_000), &[]);
    }

    #[test]
    fn pressure_tells_of_others_only_where_the_program_claims_no_switch() {
        let by = |milliseconds: u64| {
            move |record: &mut Record| {
                record.interference.psi_cpu_some_ns = Some(milliseconds * 1_000_000);
            }
        };
        check(Some(0.0), by(120), &[]);
        check(Some(0.0), by(121), &["something waited for a CPU 12 % of the time"]);
        check(Some(1.0), by(700), &[]);
    }

    #[test]
    fn what_keeps_cpus_awake_waits_for_them() {
        let kept_awake = |record: &mut Record| {
            record.interference.psi_cpu_some_ns = Some(SECOND);
            record.parameters.insert("keep_awake".to_owned(), true.into());
        };
        check(Some(0.0), kept_awake, &[]);
    }

    #[test]
    fn a_frequency_that_changed_by_more_than_a_tenth_disturbs() {
        let to = |after| {
            move |record: &mut Record| {
                record.interference.frequency_before_khz = Some(3_000_000);
                record.interference.frequency_after_khz = after;
            }
        };
        check(Some(1.0), to(Some(2_700_000)), &[]);
        check(Some(1.0), to(Some(2_600_000)), &["the CPU's frequency changed by 13 %"]);
        check(Some(1.0), to(Some(3_400_000)), &["the CPU's frequency changed by 13 %"]);
        check(Some(1.0), to(None), &[]);
    }

    #[test]
    fn an_invocation_that_tells_nothing_has_nothing_against_it() {
        check(Some(0.0), |record| record.interference = Interference::default(), &[]);
        check(Some(0.0), |record| record.measurements.clear(), &[]);
        let without = sample::without_record("ring", 1, Outcome::Failed);
        assert_eq!(assess(&without).verdict, Verdict::Clean);
    }
}
