//! Overlapping operations: many tasks at once, with operations due at times given by a rate.
//!
//! There are no laps. Each task times its operations in separate [`Samples`], and the program
//! merges them all after the last operation:
//!
//! ```text
//! let plan = bench.plan(rate);
//! run plan.warmups operations, throw their samples away
//! let counting = bench.count();
//! run plan.iterations operations
//! counting.end();
//! bench.take(plan, samples, kept);
//! ```
//!
//! An iteration is one operation of one task.

use std::time::Duration;

use crate::bench::Bench;
use crate::flags::Flags;
use crate::laps::{FEWEST_WARMUPS, LONGEST_WARMUP, SHORTEST_WARMUP};
use crate::record::{Ending, ScheduleKept};
use crate::samples::Samples;
use crate::usage::Start;

/// The number of operations: the flags at a given rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Unmeasured operations at the beginning.
    pub warmups: u64,
    /// Measured operations, from 1.
    pub iterations: u64,
    /// What ends them.
    ended_by: Ending,
}

impl Plan {
    /// At `rate` operations per second; none begins after the time limit.
    fn of(flags: &Flags, tasks: u64, rate: u32) -> Self {
        let within = |time: Duration| {
            let operations = time.as_nanos() * u128::from(rate);
            u64::try_from(operations.div_ceil(1_000_000_000)).unwrap_or(u64::MAX)
        };
        let most = flags.max_time.map_or(u64::MAX, within);
        let by_time = || {
            let fewest = FEWEST_WARMUPS.max(tasks).max(within(SHORTEST_WARMUP));
            fewest.min(within(LONGEST_WARMUP))
        };
        let in_time = flags.iters <= most;
        Self {
            warmups: flags.warmups.unwrap_or_else(by_time).min(most),
            iterations: flags.iters.min(most),
            ended_by: if in_time { Ending::Iterations } else { Ending::MaxTime },
        }
    }
}

/// Counts CPU time and switches.
#[derive(Debug)]
#[must_use = "what is counted is kept when it ends"]
pub struct Counting<'a> {
    bench: &'a Bench,
    start: Start,
}

impl Counting<'_> {
    /// Stops counting.
    pub fn end(self) {
        let span = self.start.end();
        self.bench.calibrate_work();
        let mut findings = self.bench.findings();
        findings.span = span;
        let mean_ns_per_unit = findings.calibration.long.mean_ns_per_unit();
        if let Some(work) = &mut findings.work {
            work.mean_ns_per_unit = mean_ns_per_unit;
        }
    }
}

impl Bench {
    /// How many operations to run, at `rate` per second; in a timed warm-up every task has one,
    /// unless that takes long.
    pub fn plan(&self, rate: u32) -> Plan {
        Plan::of(self.flags(), self.tasks() as u64, rate)
    }

    /// Starts to count CPU time and switches, directly before the first measured operation.
    pub fn count(&self) -> Counting<'_> {
        self.calibrate_work();
        Counting { bench: self, start: self.shared.usage_from_now() }
    }

    /// Adds the tasks' measurements, the principal one first, and how well the schedule was kept.
    ///
    /// # Errors
    /// If operations are missing although nobody interrupted the run.
    pub fn take(
        &self,
        plan: Plan,
        samples: Vec<Samples>,
        kept: ScheduleKept,
    ) -> anyhow::Result<()> {
        let measured = samples.first().map_or(0, Samples::count);
        let mut findings = self.findings();
        findings.iterations = measured;
        findings.warmups = plan.warmups;
        findings.ended_by = Some(plan.ended_by);
        findings.schedule = Some(kept);
        findings.samples = samples.into_iter().filter(|samples| samples.count() > 0).collect();
        anyhow::ensure!(
            measured == plan.iterations || self.is_interrupted(),
            "only {measured} of {} due operations were measured",
            plan.iterations
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Measured;

    /// The plan for 1000 operations.
    fn plan(
        warmups: Option<u64>,
        max_time: Option<Duration>,
        tasks: u64,
        rate: u32,
    ) -> (u64, u64, Ending) {
        let bench = Bench::standalone(1, 1000, 0, max_time).expect("affinity");
        let flags = Flags { warmups, ..bench.flags().clone() };
        let Plan { warmups, iterations, ended_by } = Plan::of(&flags, tasks, rate);
        (warmups, iterations, ended_by)
    }

    #[test]
    fn a_timed_warm_up_has_an_operation_per_task_unless_that_takes_long() {
        for (tasks, rate, warmups) in [(4, 10_000, 200), (4, 100, 4), (4, 1, 2), (1, 100, 3)] {
            assert_eq!(plan(None, None, tasks, rate), (warmups, 1000, Ending::Iterations));
        }
    }

    #[test]
    fn no_operation_begins_after_the_time_limit() {
        let limited = Some(Duration::from_millis(25));
        // At 0, 10 and 20 ms.
        assert_eq!(plan(None, limited, 4, 100), (3, 3, Ending::MaxTime));
        let brief = Some(Duration::from_nanos(1));
        assert_eq!(plan(None, brief, 4, 100), (1, 1, Ending::MaxTime));
        assert_eq!(plan(Some(0), limited, 4, 1_000_000), (0, 1000, Ending::Iterations));
        let long = Some(Duration::from_secs(999_999_999));
        assert_eq!(plan(None, long, 4, 1_000_000).1, 1000);
    }

    #[test]
    fn a_missing_operation_is_a_failure() {
        let bench = Bench::standalone(1, 2, 0, None).expect("affinity");
        let mut samples = Samples::new(Measured::single("wake-up", "wake-up"));
        samples.add(5);
        let plan = bench.plan(1000);
        let error = bench.take(plan, vec![samples.clone()], ScheduleKept::default());
        let error = error.expect_err("one is missing").to_string();
        assert_eq!(error, "only 1 of 2 due operations were measured");
        samples.add(7);
        bench.take(plan, vec![samples], ScheduleKept::default()).expect("both");
        assert_eq!(bench.findings().iterations, 2);
    }
}
