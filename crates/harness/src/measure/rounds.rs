//! Rounds: the clockwork of programs without laps, whose tasks all work at once, as a [crew](crate::crew).
//!
//! ```text
//! for round in bench.rounds(rate) {
//!     let results = crew.run(&round).await?;
//!     round.finish(samples, kept)?;
//! }
//! ```
//!
//! The loop is the same in sync and async code: a warm-up, the measured round and, with `--trace`,
//! traced ones. A closed loop ends by [`Round::is_enough`]; in an open loop, at a rate, operation k
//! is due at [`Round::due_ns`], independent of earlier ones. An interruption ends both.

use std::collections::VecDeque;
use std::future::ready;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::ensure;

use crate::measure::bench::Bench;
use crate::measure::clock;
use crate::measure::laps::{FEWEST_WARMUPS, LONGEST_WARMUP, SHORTEST_WARMUP};
use crate::measure::samples::Samples;
use crate::measure::trace::Stop;
use crate::measure::usage::Start;
use crate::record::{Ending, ScheduleKept};
use crate::tasks::runtime_kind::RuntimeKind;

/// The time from the announcement of a round to its beginning, so that all tasks are waiting by then,
/// without [`LEAD_FOR_EACH`].
const LEAD: Duration = Duration::from_millis(2);
/// What each task adds to [`LEAD`].
const LEAD_FOR_EACH: Duration = Duration::from_micros(50);

/// How many rounds are traced. A traced round is a closed loop.
const TRACED_ROUNDS: usize = 8;
/// The most iterations of a traced round: their records must fit.
const MOST_TRACED: u64 = 1000;
/// The longest time of a traced round.
const TRACED_FOR: Duration = Duration::from_millis(50);

/// The longest sleep, after which a thread checks whether its round is over.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The purpose of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To warm up.
    Warmup,
    /// To be measured.
    Measured,
    /// To be traced.
    Traced,
}

/// When a round ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RoundBounds {
    /// Iterations, however late.
    fewest: u64,
    /// Iterations at most; in an open loop, exactly so many.
    most: u64,
    /// How long a closed loop begins iterations.
    time: Option<Duration>,
    /// Why it ends after `most`.
    ending: Ending,
}

impl RoundBounds {
    fn new(bench: &Bench, purpose: Purpose, rate: Option<u32>) -> Self {
        let iters = bench.flags().iters;
        let warmups = bench.flags().warmups;
        let max_time = bench.flags().max_time;
        let within = |time: Duration| {
            let operations = time.as_nanos() * u128::from(rate.unwrap_or(u32::MAX));
            u64::try_from(operations.div_ceil(1_000_000_000)).unwrap_or(u64::MAX)
        };
        // In an open loop, none is due after the time limit.
        let in_time = max_time.filter(|_| rate.is_some()).map_or(u64::MAX, within);
        let (fewest, most, time) = match (purpose, warmups, rate) {
            (Purpose::Traced, ..) => (0, MOST_TRACED, Some(TRACED_FOR)),
            (Purpose::Measured, ..) => (1, iters, max_time),
            (Purpose::Warmup, Some(warmups), _) => (1, warmups, max_time),
            (Purpose::Warmup, None, None) => {
                let time = SHORTEST_WARMUP.min(max_time.unwrap_or(SHORTEST_WARMUP));
                (FEWEST_WARMUPS, u64::MAX, Some(time))
            }
            (Purpose::Warmup, None, Some(_)) => {
                // Each task has an operation, unless that takes long.
                let fewest = FEWEST_WARMUPS.max(bench.tasks() as u64).max(within(SHORTEST_WARMUP));
                (1, fewest.min(within(LONGEST_WARMUP)), None)
            }
        };
        let ending = if most <= in_time { Ending::Iterations } else { Ending::MaxTime };
        Self { fewest, most: most.min(in_time), time, ending }
    }
}

/// One round, shared by its tasks.
#[derive(Debug)]
pub struct Round {
    /// What it is for.
    pub purpose: Purpose,
    /// When it begins, on the clock of [`clock`].
    pub begin_ns: u64,
    bounds: RoundBounds,
    /// Operations per second, in an open loop.
    pub rate: Option<u32>,
    until_ns: u64,
    ending: OnceLock<Ending>,
    usage: Mutex<Option<Start>>,
    pub(crate) bench: Bench,
}

impl Round {
    /// The most iterations; in an open loop, exactly so many.
    pub fn most(&self) -> u64 {
        self.bounds.most
    }

    /// Whether its tasks should stop.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.ending.get().is_some() || self.bench.is_interrupted()
    }

    /// Whether, in a closed loop, no iteration should begin after this many, which ends the round.
    pub fn is_enough(&self, iterations: u64) -> bool {
        let RoundBounds { fewest, most, ending, .. } = self.bounds;
        let ending = if self.bench.is_interrupted() {
            Ending::Signal
        } else if iterations >= most {
            ending
        } else if iterations >= fewest && clock::now() >= self.until_ns {
            Ending::MaxTime
        } else {
            return self.ending.get().is_some();
        };
        self.ending.get_or_init(|| ending);
        true
    }

    /// Ends the round early for all tasks: one has failed.
    pub fn fail(&self) {
        self.ending.get_or_init(|| Ending::Error);
    }

    /// When this operation is due in an open loop, rounded down.
    pub fn due_ns(&self, number: u64) -> u64 {
        let rate = self.rate.map_or(1, u128::from);
        let after = u128::from(number) * 1_000_000_000 / rate;
        self.begin_ns.saturating_add(u64::try_from(after).unwrap_or(u64::MAX))
    }

    /// The operations of one task in an open loop, in order.
    pub fn of_task(&self, task: usize) -> impl Iterator<Item = u64> + use<> {
        (task as u64..self.bounds.most).step_by(self.bench.tasks())
    }

    /// Waits until `due_ns`, as often as it takes with `wait`, which gets the end of its wait;
    /// `None` if the round ends before.
    ///
    /// # Errors
    /// If `wait` fails.
    #[inline]
    pub async fn wait_until<F: Future<Output = io::Result<()>>>(
        &self,
        due_ns: u64,
        wait: impl Fn(u64) -> F,
    ) -> io::Result<Option<Ran>> {
        let mut waited = false;
        loop {
            let at_ns = clock::now();
            if self.is_over() {
                return Ok(None);
            }
            if at_ns >= due_ns {
                return Ok(Some(Ran { at_ns, waited, called_ns: None }));
            }
            wait(due_ns.min(at_ns + LONGEST_SLEEP.as_nanos() as u64)).await?;
            waited = true;
        }
    }

    /// Waits as [`Self::wait_until`] does, and blocks the thread.
    ///
    /// # Errors
    /// The kernel's, if it does not let the thread sleep.
    pub async fn sleep_until(&self, due_ns: u64) -> io::Result<Option<Ran>> {
        self.wait_until(due_ns, |until_ns| ready(clock::sleep_until(until_ns))).await
    }

    /// Waits until `due_ns`: a thread sleeps, a task of a runtime yields. `None` if the round ends
    /// before.
    ///
    /// # Errors
    /// If [`Self::sleep_until`] fails.
    pub async fn wait_in(&self, runtime: RuntimeKind, due_ns: u64) -> io::Result<Option<Ran>> {
        if runtime == RuntimeKind::Threads {
            return self.sleep_until(due_ns).await;
        }
        let yielded = |_| async {
            tokio::task::yield_now().await;
            Ok(())
        };
        self.wait_until(due_ns, yielded).await
    }

    /// Stops counting CPU time and switches: after the last operation.
    pub fn end(&self) {
        let usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(usage) = usage else { return };
        let span = usage.end();
        self.bench.calibrate_work();
        let mut findings = self.bench.findings();
        findings.span = span;
        let mean_ns_per_unit = findings.calibration.long.mean_ns_per_unit();
        if let Some(work) = &mut findings.work {
            work.mean_ns_per_unit = mean_ns_per_unit;
        }
    }

    /// Stores what the tasks measured, the principal measurement first, and how well an open loop
    /// kept its schedule. Of a warm-up only the number of iterations counts.
    ///
    /// # Errors
    /// If operations of an open loop are missing although nobody interrupted the run.
    pub fn finish(&self, samples: Vec<Samples>, kept: Option<ScheduleKept>) -> anyhow::Result<()> {
        self.end();
        let count = samples.first().map(Samples::count);
        let mut findings = self.bench.findings();
        match self.purpose {
            Purpose::Warmup => findings.warmups = count.unwrap_or(self.bounds.most),
            Purpose::Traced => {}
            Purpose::Measured => {
                findings.iterations = count.unwrap_or(0);
                findings.ended_by = Some(*self.ending.get_or_init(|| self.bounds.ending));
                findings.schedule = kept;
                findings.samples = samples.into_iter().filter(|phase| phase.count() > 0).collect();
                ensure!(
                    self.rate.is_none()
                        || count == Some(self.bounds.most)
                        || self.bench.is_interrupted(),
                    "only {} of {} due operations were measured",
                    findings.iterations,
                    self.bounds.most
                );
            }
        }
        Ok(())
    }

    /// Stores the stops of a traced round.
    pub fn finish_traced(&self, stops: Vec<Stop>) {
        if let Some(mut recorder) = self.bench.shared.recorder() {
            recorder.after_lap(stops);
            recorder.end_batch();
        }
    }
}

/// The moment at which a task ran.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    /// The time on the clock of [`clock`].
    pub at_ns: u64,
    /// Whether it had to wait.
    pub waited: bool,
    /// When it was called, if something else waited for the time.
    pub called_ns: Option<u64>,
}

/// The rounds of a run, in order. An interruption ends them.
#[derive(Debug)]
pub struct Rounds<'a> {
    bench: &'a Bench,
    rate: Option<u32>,
    lead: Duration,
    /// The rounds still to come.
    purposes: VecDeque<Purpose>,
}

impl Rounds<'_> {
    /// Announces each round to this many members before it begins.
    pub fn announced_to(self, members: usize) -> Self {
        let members = u32::try_from(members).unwrap_or(u32::MAX);
        Self { lead: LEAD + LEAD_FOR_EACH.saturating_mul(members), ..self }
    }
}

impl Iterator for Rounds<'_> {
    type Item = Arc<Round>;

    /// Reads the usage counters last, directly before the measured round.
    fn next(&mut self) -> Option<Arc<Round>> {
        if self.bench.is_interrupted() {
            return None;
        }
        let purpose = self.purposes.pop_front()?;
        let bounds = RoundBounds::new(self.bench, purpose, self.rate);
        let mut usage = None;
        match purpose {
            Purpose::Warmup if bounds.most == 0 => return self.next(),
            Purpose::Warmup => {}
            Purpose::Measured => {
                self.bench.calibrate_work();
                usage = Some(self.bench.shared.usage_from_now());
            }
            Purpose::Traced => self.bench.shared.recorder()?.before_lap(),
        }
        let begin_ns = clock::now() + self.lead.as_nanos() as u64;
        let time_ns = bounds.time.map_or(u64::MAX, |time| time.as_nanos() as u64);
        Some(Arc::new(Round {
            purpose,
            begin_ns,
            bounds,
            until_ns: begin_ns.saturating_add(time_ns),
            rate: self.rate,
            ending: OnceLock::new(),
            usage: Mutex::new(usage),
            bench: self.bench.clone(),
        }))
    }
}

impl Bench {
    /// The rounds of an open loop at this many operations per second, or of a closed loop. Only with
    /// `--trace` are there traced ones.
    pub fn rounds(&self, rate: Option<u32>) -> Rounds<'_> {
        let mut purposes = VecDeque::from([Purpose::Warmup, Purpose::Measured]);
        purposes.extend([Purpose::Traced; TRACED_ROUNDS]);
        Rounds { bench: self, rate, lead: Duration::ZERO, purposes }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;
    use crate::measure::samples::Measured;

    fn bench(tasks: u32, warmups: Option<u64>, max_time: Option<Duration>) -> Bench {
        let bench = Bench::standalone(tasks, 1000, 0, max_time).expect("affinity");
        let mut shared = Arc::into_inner(bench.shared).expect("no clone");
        shared.flags.warmups = warmups;
        Bench { shared: shared.into() }
    }

    /// An operation per task of a timed warm-up, unless that takes long; none begins after the time
    /// limit.
    #[test]
    fn the_operations_follow_from_rate_and_times() {
        let nothing = Duration::from_nanos(1);
        let brief = Duration::from_millis(25);
        let long = Duration::from_secs(999_999_999);
        for (warmups, max_time, tasks, rate, expected) in [
            (None, None, 4, 10_000, (200, 1000, Ending::Iterations)),
            (None, None, 4, 100, (4, 1000, Ending::Iterations)),
            (None, None, 4, 1, (2, 1000, Ending::Iterations)),
            (None, None, 1, 100, (3, 1000, Ending::Iterations)),
            // At 0, 10 and 20 ms.
            (None, Some(brief), 4, 100, (3, 3, Ending::MaxTime)),
            (None, Some(nothing), 4, 100, (1, 1, Ending::MaxTime)),
            (Some(0), Some(brief), 4, 1_000_000, (0, 1000, Ending::Iterations)),
            (Some(0), Some(long), 4, 1_000_000, (0, 1000, Ending::Iterations)),
        ] {
            let bench = bench(tasks, warmups, max_time);
            let bounds = |purpose| RoundBounds::new(&bench, purpose, Some(rate));
            let measured = bounds(Purpose::Measured);
            let found = (bounds(Purpose::Warmup).most, measured.most, measured.ending);
            assert_eq!(found, expected, "{tasks} tasks, {rate} per second, {max_time:?}");
        }
    }

    #[test]
    fn a_missing_operation_is_a_failure_unless_the_run_is_interrupted() {
        let bench = bench(1, Some(0), None);
        let round = bench.rounds(Some(1000)).next().expect("the measured one");
        let mut samples = Samples::new(Measured::single("wake-up", "wake-up"));
        (1..1000).for_each(|late_ns| samples.add(late_ns));
        assert!(round.finish(vec![samples.clone()], None).is_err());
        samples.add(7);
        round.finish(vec![samples.clone()], None).expect("all of them");
        assert_eq!(bench.findings().iterations, 1000);
        bench.shared.interrupted.store(true, Relaxed);
        samples.add(7);
        round.finish(vec![samples], None).expect("interrupted");
    }

    #[test]
    fn due_times_do_not_drift_and_tasks_take_turns() {
        let bench = bench(3, Some(0), None);
        let round = bench.rounds(Some(3)).next().expect("the measured one");
        let mut round = Arc::into_inner(round).expect("no clone");
        round.begin_ns = 500;
        round.bounds.most = 8;
        let due = [0, 1, 3_000_000, u64::MAX].map(|number| round.due_ns(number));
        assert_eq!(due, [500, 333_333_833, 1_000_000_000_000_500, u64::MAX]);
        let of_task = |task| round.of_task(task).collect::<Vec<_>>();
        assert_eq!([0, 1, 2].map(of_task), [vec![0, 3, 6], vec![1, 4, 7], vec![2, 5]]);
        assert!(of_task(9).is_empty());
    }

    #[test]
    fn a_closed_loop_ends_by_iterations_time_failure_or_interruption() {
        let measured = |bench: &Bench| bench.rounds(None).last().expect("the measured one");
        let endless = measured(&bench(1, None, None));
        assert!(!endless.is_enough(999) && !endless.is_over());
        assert!(endless.is_enough(1000) && endless.is_over());
        assert_eq!(endless.ending.get(), Some(&Ending::Iterations));
        let brief = measured(&bench(1, None, Some(Duration::from_nanos(1))));
        assert!(!brief.is_enough(0), "at least one");
        assert!(brief.is_enough(1));
        assert_eq!(brief.ending.get(), Some(&Ending::MaxTime));
        let failed = measured(&bench(1, None, None));
        failed.fail();
        assert!(failed.is_enough(0));
        assert_eq!(failed.ending.get(), Some(&Ending::Error));
        let bench = bench(1, None, None);
        let warm_up = bench.rounds(None).next().expect("it is not interrupted yet");
        assert!(!warm_up.is_enough(FEWEST_WARMUPS - 1));
        bench.shared.interrupted.store(true, Relaxed);
        assert!(warm_up.is_enough(0));
        assert!(bench.rounds(None).next().is_none());
    }
}
