//! The course of a run: the warm-up, then the measured wake-ups, each a round that all sleepers and
//! wakers begin together. The last one to finish a round notifies the driver.

use std::future::Future;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder, ScopedJoinHandle};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use futures::executor::block_on;
use harness::overlapping::Plan;
use harness::record::ScheduleKept;
use harness::threads::panic_text;
use harness::{Bench, RuntimeKind, clock, failure};
use tokio::sync::watch;

use crate::STACK_BYTES;
use crate::calls::{Bell, Calls};
use crate::flags::Flags;
use crate::schedule::Schedule;
use crate::sleep;
use crate::tally::{Tally, WakeUp};

/// From the announcement of a round to its first intended time, so that all are waiting by then:
/// this, plus an amount for each of them.
const LEAD: Duration = Duration::from_millis(10);
const LEAD_FOR_EACH: Duration = Duration::from_micros(100);

/// How often the driver checks for an interruption.
const LOOK: Duration = Duration::from_millis(200);

/// An announced round.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Its intended times.
    pub schedule: Schedule,
    /// What it is for.
    pub purpose: Purpose,
}

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

/// The most wake-ups of a traced round: their records must fit.
const MOST_TRACED: u64 = 2000;

/// Announces rounds: `None` before the first. Closing it ends the run.
pub type Announced = watch::Receiver<Option<Round>>;

/// The next round; `None` if there is none.
async fn next(rounds: &mut Announced) -> Option<Round> {
    rounds.changed().await.ok()?;
    *rounds.borrow_and_update()
}

/// The progress of a round.
#[derive(Debug, Default)]
pub struct Course {
    /// Sleepers and wakers still in the round.
    busy: Mutex<usize>,
    finished: Condvar,
    over: AtomicBool,
    /// Measured calls that their waker reached after their time.
    late: AtomicU64,
}

/// Participation in a round, which ends when this is dropped.
#[must_use]
#[derive(Debug)]
pub struct Part<'a>(&'a Course);

impl Course {
    /// Whether the run ended before its schedule: it was interrupted, or something failed.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    fn busy(&self) -> MutexGuard<'_, usize> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes part in the current round. A task that panics ends the run.
    pub fn part(&self) -> Part<'_> {
        Part(self)
    }

    /// Ends the run early.
    pub fn end(&self) {
        self.over.store(true, Relaxed);
    }

    /// Waits until all have finished the current round.
    fn wait(&self, bench: &Bench) {
        let mut busy = self.busy();
        while *busy > 0 {
            let waited = self.finished.wait_timeout(busy, LOOK);
            busy = waited.unwrap_or_else(PoisonError::into_inner).0;
            if bench.is_interrupted() {
                self.end();
            }
        }
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end();
        }
        let mut busy = self.0.busy();
        *busy -= 1;
        if *busy == 0 {
            self.0.finished.notify_one();
        }
    }
}

/// How a sleeper waits for its next wake-up.
pub trait Wait: Send {
    /// The wake-up for this intended time; `None` if the run is over. In a thread, it blocks.
    ///
    /// # Errors
    /// The kernel's.
    fn wait(&self, intended_ns: u64) -> impl Future<Output = io::Result<Option<WakeUp>>> + Send;
}

/// A sleeper's main function: it records its wake-ups in every round. `placed` is the result of its
/// placement.
///
/// # Errors
/// The kernel's.
pub async fn sleeper(
    placed: io::Result<()>,
    task: usize,
    course: &Course,
    mut announced: Announced,
    tally: &mut Tally,
    wait: impl Wait,
) -> io::Result<()> {
    let mut result = placed;
    while let Some(Round { schedule, purpose }) = next(&mut announced).await {
        let _part = course.part();
        let mut numbers = schedule.of_task(task);
        while result.is_ok()
            && let Some(number) = numbers.next()
        {
            match wait.wait(schedule.intended_ns(number)).await {
                Ok(Some(wake_up)) if purpose == Purpose::Traced => tally.note(task, wake_up),
                Ok(Some(wake_up)) => tally.add(wake_up),
                Ok(None) => break,
                Err(error) => result = Err(error),
            }
        }
        if result.is_err() {
            course.end();
        }
        if purpose == Purpose::Warmup {
            tally.clear();
        }
    }
    result
}

/// Conducts a run, whose sleepers wait for its first round.
#[derive(Debug)]
pub struct Conductor<'a, B> {
    /// The program's flags.
    pub flags: &'a Flags,
    pub bench: &'a Bench,
    /// The progress.
    pub course: &'a Course,
    /// The calls to each sleeper; empty if sleepers wake themselves.
    pub calls: &'a [Calls<B>],
}

impl<B: Bell> Conductor<'_, B> {
    /// Runs all rounds, with wakers if there are any, and ends the run.
    ///
    /// # Errors
    /// If a waker cannot be created, fails or panics; those of `--command`.
    pub fn conduct(&self, plan: Plan, rounds: watch::Sender<Option<Round>>) -> anyhow::Result<()> {
        thread::scope(|scope| {
            // Any failure here closes the channel of rounds, which ends all tasks.
            let rounds = rounds;
            let mut wakers = Vec::new();
            for number in 0..self.wakers() {
                let announced = rounds.subscribe();
                let builder = Builder::new().stack_size(STACK_BYTES);
                let waker = builder.spawn_scoped(scope, move || self.wake(number, announced));
                wakers.push(
                    waker.map_err(|error| {
                        failure::creating(format_args!("waker {number}"), error)
                    })?,
                );
            }
            self.drive(plan, &rounds);
            let observed = self.bench.observe();
            drop(rounds);
            wakers.into_iter().enumerate().try_for_each(joined).and(observed)
        })
    }

    fn wakers(&self) -> usize {
        self.flags.wakers() as usize
    }

    fn drive(&self, plan: Plan, rounds: &watch::Sender<Option<Round>>) {
        if plan.warmups > 0 && !self.is_over() {
            self.run(rounds, plan.warmups, Purpose::Warmup);
        }
        if !self.is_over() {
            let counting = self.bench.count();
            self.run(rounds, plan.iterations, Purpose::Measured);
            counting.end();
        }
        if !self.is_over()
            && let Some(mut recorder) = self.bench.recorder()
        {
            recorder.before_lap();
            self.run(rounds, plan.iterations.min(MOST_TRACED), Purpose::Traced);
            recorder.end_batch();
        }
    }

    fn is_over(&self) -> bool {
        self.course.is_over() || self.bench.is_interrupted()
    }

    /// Runs one round of `count` wake-ups.
    fn run(&self, rounds: &watch::Sender<Option<Round>>, count: u64, purpose: Purpose) {
        let all = self.bench.tasks() + self.wakers();
        *self.course.busy() = all;
        let lead = LEAD + LEAD_FOR_EACH * u32::try_from(all).unwrap_or(u32::MAX);
        let begin_ns = clock::now() + lead.as_nanos() as u64;
        let (rate, tasks) = (self.flags.rate, self.bench.tasks() as u64);
        let schedule = Schedule { begin_ns, rate, count, tasks };
        rounds.send_replace(Some(Round { schedule, purpose }));
        self.course.wait(self.bench);
    }

    /// The main function of waker `number`.
    fn wake(&self, number: usize, mut announced: Announced) -> io::Result<()> {
        let placed = self.bench.placement().pin(number);
        self.calls.iter().skip(number).step_by(self.wakers()).for_each(Calls::begin);
        let mut result = placed.and_then(|()| sleep::be_punctual());
        while let Some(round) = block_on(next(&mut announced)) {
            let _part = self.course.part();
            result = result.and_then(|()| self.call_in_turn(number, round));
            if result.is_err() {
                self.course.end();
            }
            if self.course.is_over() {
                self.calls.iter().skip(number).step_by(self.wakers()).for_each(Calls::close);
            }
        }
        result
    }

    /// Calls the sleepers of waker `number` at their times.
    fn call_in_turn(&self, number: usize, round: Round) -> io::Result<()> {
        let mut late = 0;
        for (wake_up, task) in round.schedule.of_waker(number, self.wakers()) {
            let intended_ns = round.schedule.intended_ns(wake_up);
            let Some(reached) = sleep::until(intended_ns, self.course)? else { break };
            late += u64::from(!reached.waited);
            self.calls[task].make(self.course);
        }
        if round.purpose == Purpose::Measured {
            self.course.late.fetch_add(late, Relaxed);
        }
        Ok(())
    }

    /// Stores the sleepers' measurements.
    ///
    /// # Errors
    /// If wake-ups are missing.
    pub fn report(
        &self,
        plan: Plan,
        tallies: impl IntoIterator<Item = Tally>,
    ) -> anyhow::Result<()> {
        let Tally { from_intended, from_call, missed, laps } = Tally::sum(tallies);
        if let Some(mut recorder) = self.bench.recorder() {
            laps.into_iter().for_each(|stops| recorder.after_lap(stops));
        }
        let called_late = (self.wakers() > 0).then(|| self.course.late.load(Relaxed));
        let kept = ScheduleKept { missed, called_late };
        if self.flags.runtime.runtime == RuntimeKind::Threads {
            self.claim_switches(from_intended.count(), kept);
        }
        self.bench.take(plan, vec![from_intended, from_call], kept)
    }

    /// Claims a switch for each time that a sleeper or waker waited.
    fn claim_switches(&self, wake_ups: u64, kept: ScheduleKept) {
        let waits = match kept.called_late {
            None => wake_ups.saturating_sub(kept.missed),
            Some(late) => (2 * wake_ups).saturating_sub(kept.missed + late),
        };
        if wake_ups > 0 {
            self.bench.findings().expected_switches = Some(waits as f64 / wake_ups as f64);
        }
    }
}

/// Waits for a waker.
fn joined((number, waker): (usize, ScopedJoinHandle<'_, io::Result<()>>)) -> anyhow::Result<()> {
    match waker.join() {
        Ok(result) => result.with_context(|| format!("waker {number} failed")),
        Err(panic) => Err(anyhow!("waker {number} panicked: {}", panic_text(&*panic))),
    }
}
