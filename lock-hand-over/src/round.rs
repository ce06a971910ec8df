//! The course of a run: a warm-up and the measured round, which all tasks begin together.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{bail, ensure};
use harness::overlapping::Plan;
use harness::record::{Ending, ScheduleKept};
use harness::samples::Samples;
use harness::trace::Stop;
use harness::{Bench, Measured, clock};
use tokio::sync::{mpsc, watch};

use crate::flags::Flags;
use crate::locks::Lock;
use crate::task::Tally;

/// Acquisitions in one iteration of a closed loop.
pub const BLOCK: u64 = 1024;

/// The duration of a warm-up without `--warmups`, and its fewest iterations.
const WARMUP: Duration = Duration::from_millis(20);
const FEWEST_WARMUPS: u64 = 3;

/// From the announcement of a round to its beginning, so that all tasks are waiting by then:
/// this, plus an amount for each of them.
const LEAD: Duration = Duration::from_millis(2);
const LEAD_FOR_EACH: Duration = Duration::from_micros(50);

/// Rounds that are traced, the longest duration of each, the most holds in it, and holds in a lap
/// of the trace.
const TRACED_ROUNDS: usize = 8;
/// Likewise.
pub const TRACED_FOR: Duration = Duration::from_millis(50);
const HOLDS: usize = 1000;
const LAP: usize = 16;

/// Announces rounds; closing it ends the run.
pub type Announcer = watch::Sender<Option<Round>>;
/// Where tasks wait for rounds.
pub type Announced = watch::Receiver<Option<Round>>;

/// A round.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// When it begins, on the clock of [`clock`].
    pub begin_ns: u64,
    /// When acquisitions are due.
    pub pace: Pace,
}

/// When acquisitions are due.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// One after the other, without pauses.
    Closed,
    /// At a rate.
    Open {
        /// Acquisitions a second.
        rate: u32,
        /// Acquisitions in all.
        count: u64,
    },
    /// As `Closed`, and each hold is noted.
    Traced,
}

/// What the tasks share. The lock and the counter that it protects are neighbours, as in a
/// `Mutex<u64>`; fields that only the measurement needs lie elsewhere.
#[derive(Debug)]
#[repr(C)]
pub struct Board<L> {
    shared: Apart<(L, AtomicU64)>,
    over: Apart<AtomicBool>,
    /// When the current iteration began; the lock protects it.
    begun_ns: AtomicU64,
    blocks: Mutex<Blocks>,
    /// With `--trace`: who took the lock, until its last release before another did.
    holds: Mutex<Vec<[Stop; 2]>>,
    bench: Bench,
}

/// A value with two cache lines of its own, since some CPUs fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Apart<T>(T);

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The iterations of a closed loop.
#[derive(Debug)]
struct Blocks {
    samples: Samples,
    fewest: u64,
    most: u64,
    until_ns: u64,
    ending: Ending,
}

impl<L: Lock> Board<L> {
    /// The lock.
    pub fn lock(&self) -> &L {
        &self.shared.0.0
    }

    /// Does the work of an acquisition, with the lock held, and counts it. `work` gets the number
    /// of acquisitions before this one.
    #[inline]
    pub fn enter<R>(&self, work: impl FnOnce(u64) -> R) -> R {
        let acquired = &self.shared.0.1;
        // Load and store are two steps: a lock that does not exclude loses counts.
        let before = acquired.load(Relaxed);
        let result = work(before);
        acquired.store(before + 1, Relaxed);
        result
    }

    /// Whether a closed loop is over.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.over.0.load(Relaxed) || self.bench.is_interrupted()
    }

    /// Ends an iteration of a closed loop and returns its duration, in nanoseconds. Called with the
    /// lock held: after its release other tasks may run first.
    #[cold]
    pub fn end_block(&self) -> u64 {
        let now = clock::now();
        let begun_ns = self.begun_ns.load(Relaxed);
        self.begun_ns.store(now, Relaxed);
        now.saturating_sub(begun_ns)
    }

    /// Records an iteration, after the release.
    #[cold]
    pub fn record_block(&self, block_ns: u64) {
        let mut blocks = self.blocks();
        if self.over.0.load(Relaxed) {
            return;
        }
        blocks.samples.add(block_ns);
        let done = blocks.samples.count();
        blocks.ending = if done >= blocks.most {
            Ending::Iterations
        } else if done >= blocks.fewest && clock::now() >= blocks.until_ns {
            Ending::MaxTime
        } else {
            return;
        };
        self.over.0.store(true, Relaxed);
    }

    /// Notes that task `number`, which holds the lock, has taken it or will now release it.
    pub fn note_holder(&self, number: u32, until_ns: u64) {
        let (now, mut holds) = (Stop::here(number), lock(&self.holds));
        match holds.last_mut() {
            Some(hold) if hold[0].task == now.task => hold[1] = Stop { task: None, ..now },
            _ => holds.push([now, Stop { task: None, ..now }]),
        }
        if holds.len() > HOLDS || now.at_ns > until_ns {
            self.over.0.store(true, Relaxed);
        }
    }

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        lock(&self.blocks)
    }
}

/// Conducts a run.
pub struct Driver<L> {
    /// The program's flags.
    pub flags: Flags,
    /// The harness.
    pub bench: Bench,
    /// What the tasks share.
    pub board: Arc<Board<L>>,
    done: mpsc::UnboundedReceiver<Tally>,
}

impl<L: Lock> Driver<L> {
    /// The driver of tasks that send their tallies to the other end of `done`.
    pub fn new(flags: &Flags, bench: &Bench, done: mpsc::UnboundedReceiver<Tally>) -> Self {
        let block = Measured { operations: BLOCK, ..Measured::single("iteration", "acquisition") };
        let blocks = Blocks {
            samples: Samples::new(block),
            fewest: 0,
            most: 0,
            until_ns: 0,
            ending: Ending::Iterations,
        };
        let board = Board {
            shared: Apart((L::default(), AtomicU64::new(0))),
            over: Apart(AtomicBool::new(false)),
            begun_ns: AtomicU64::new(0),
            blocks: Mutex::new(blocks),
            holds: Mutex::default(),
            bench: bench.clone(),
        };
        Self { flags: flags.clone(), bench: bench.clone(), board: Arc::new(board), done }
    }

    /// Runs the warm-up and the measured round.
    ///
    /// # Errors
    /// If the lock does not exclude, a task panicked, or acquisitions are missing.
    pub async fn drive(&mut self, rounds: &Announcer) -> anyhow::Result<()> {
        match self.flags.rate {
            None => self.drive_closed(rounds).await,
            Some(rate) => self.drive_open(rounds, rate, self.bench.plan(rate)).await,
        }?;
        self.trace(rounds).await
    }

    /// With `--trace`: rounds in which each hold is noted.
    async fn trace(&mut self, rounds: &Announcer) -> anyhow::Result<()> {
        let bench = self.bench.clone();
        for _ in 0..TRACED_ROUNDS {
            match bench.recorder() {
                Some(mut recorder) if !bench.is_interrupted() => recorder.before_lap(),
                _ => break,
            }
            self.run(rounds, Pace::Traced).await?;
            let holds = std::mem::take(&mut *lock(&self.board.holds)).concat();
            let mut recorder = bench.recorder().expect("it records");
            // The last hold may be under way: only its beginning counts.
            let end = holds.len().saturating_sub(2);
            for begin in (0..end).step_by(2 * LAP) {
                recorder.after_lap(holds[begin..=end.min(begin + 2 * LAP)].to_vec());
            }
            recorder.end_batch();
        }
        Ok(())
    }

    async fn drive_closed(&mut self, rounds: &Announcer) -> anyhow::Result<()> {
        let (bench, flags) = (self.bench.clone(), self.bench.flags().clone());
        let mut warmups = 0;
        if flags.warmups != Some(0) && !bench.is_interrupted() {
            let time = WARMUP.min(flags.max_time.unwrap_or(WARMUP));
            let (fewest, time) = match flags.warmups {
                None => (FEWEST_WARMUPS, Some(time)),
                Some(_) => (1, flags.max_time),
            };
            self.limit(fewest, flags.warmups.unwrap_or(u64::MAX), time);
            self.run(rounds, Pace::Closed).await?;
            warmups = self.board.blocks().samples.count();
        }
        if bench.is_interrupted() {
            return Ok(());
        }
        self.limit(1, flags.iters, flags.max_time);
        let counting = bench.count();
        let tallies = self.run(rounds, Pace::Closed).await;
        counting.end();
        let tallies = tallies?;
        let blocks = self.board.blocks();
        let mut turns = Samples::new(Measured::single("turn", "acquisition"));
        let end_ns = self.board.begun_ns.load(Relaxed);
        let total_ns = end_ns.saturating_sub(self.begin_ns(rounds)) as f64;
        for tally in tallies {
            turns.add((total_ns / tally.acquired.max(1) as f64) as u64);
        }
        let mut findings = bench.findings();
        (findings.warmups, findings.iterations) = (warmups, blocks.samples.count());
        findings.ended_by =
            Some(if bench.is_interrupted() { Ending::Signal } else { blocks.ending });
        if blocks.samples.count() > 0 {
            findings.samples = vec![blocks.samples.clone(), turns];
        }
        Ok(())
    }

    async fn drive_open(
        &mut self,
        rounds: &Announcer,
        rate: u32,
        plan: Plan,
    ) -> anyhow::Result<()> {
        let bench = self.bench.clone();
        if plan.warmups > 0 {
            self.run(rounds, Pace::Open { rate, count: plan.warmups }).await?;
        }
        let counting = bench.count();
        let tallies = self.run(rounds, Pace::Open { rate, count: plan.iterations }).await;
        counting.end();
        let Tally { missed, from, .. } =
            tallies?.into_iter().fold(Tally::new(true), |mut sum, tally| {
                for (sum, samples) in sum.from.iter_mut().flatten().zip(tally.from.iter().flatten())
                {
                    sum.merge(samples);
                }
                sum.missed += tally.missed;
                sum
            });
        let kept = ScheduleKept { missed, called_late: None };
        bench.take(plan, from.into_iter().flatten().collect(), kept)
    }

    /// Limits the next round of a closed loop to `most` iterations, and to this time once there
    /// are `fewest`.
    fn limit(&self, fewest: u64, most: u64, time: Option<Duration>) {
        let mut blocks = self.board.blocks();
        blocks.samples.clear();
        (blocks.fewest, blocks.most) = (fewest, most);
        blocks.until_ns = time.map_or(u64::MAX, |time| time.as_nanos() as u64);
    }

    fn begin_ns(&self, rounds: &Announcer) -> u64 {
        rounds.borrow().map_or(0, |round| round.begin_ns)
    }

    /// Runs one round and returns each task's tally.
    async fn run(&mut self, rounds: &Announcer, pace: Pace) -> anyhow::Result<Vec<Tally>> {
        let tasks = self.bench.tasks();
        let lead = LEAD + LEAD_FOR_EACH * u32::try_from(tasks).unwrap_or(u32::MAX);
        let begin_ns = clock::now() + lead.as_nanos() as u64;
        self.board.shared.0.1.store(0, Relaxed);
        self.board.over.0.store(false, Relaxed);
        self.board.begun_ns.store(begin_ns, Relaxed);
        {
            let mut blocks = self.board.blocks();
            blocks.until_ns = blocks.until_ns.saturating_add(begin_ns);
        }
        // Fewer, if an interruption ended their creation.
        let listening = rounds.receiver_count().saturating_sub(1);
        rounds.send_replace(Some(Round { begin_ns, pace }));
        let mut tallies = Vec::with_capacity(tasks);
        while tallies.len() < listening
            && let Some(tally) = self.done.recv().await
        {
            tallies.push(tally);
        }
        if tallies.iter().any(|tally| tally.panicked) {
            bail!("a task panicked");
        }
        let (made, counted) =
            (tallies.iter().map(|tally| tally.acquired).sum(), self.board.shared.0.1.load(Relaxed));
        self.check(made, counted)?;
        Ok(tallies)
    }

    /// Fails the run if the lock let two tasks in at once.
    fn check(&self, made: u64, counted: u64) -> anyhow::Result<()> {
        ensure!(
            made == counted,
            "--lock {}: this lock does not exclude: the tasks made {made} acquisitions, the \
             counter that it protects shows {counted}",
            harness::flags::name(&self.flags.lock)
        );
        Ok(())
    }
}
