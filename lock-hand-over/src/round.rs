//! The course of a run: a warm-up and the measured round, each begun by all tasks together.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{bail, ensure};
use harness::overlapping::Plan;
use harness::record::{Ending, ScheduleKept};
use harness::samples::Samples;
use harness::{Bench, Measured, clock};
use tokio::sync::{mpsc, watch};

use crate::flags::Flags;
use crate::locks::Lock;
use crate::task::Tally;

/// Acquisitions in one iteration of a closed loop.
pub const BLOCK: u64 = 1024;

/// A warm-up without `--warmups` lasts so long, and so many iterations at least.
const WARMUP: Duration = Duration::from_millis(20);
const FEWEST_WARMUPS: u64 = 3;

/// From the announcement of a round to its begin, so that all tasks wait for it: this, and so
/// much more for each of them.
const LEAD: Duration = Duration::from_millis(2);
const LEAD_FOR_EACH: Duration = Duration::from_micros(50);

/// Where rounds are announced; the run is over when it closes.
pub type Announcer = watch::Sender<Option<Round>>;
/// Where tasks wait for them.
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
    /// One after the other.
    Closed,
    /// So many, at a rate.
    Open {
        /// Acquisitions a second.
        rate: u32,
        /// Acquisitions in all.
        count: u64,
    },
}

/// What the tasks share. The lock and what it protects are neighbours, as in a `Mutex<u64>`;
/// what only the measurement needs is not among them.
#[derive(Debug)]
#[repr(C)]
pub struct Board<L> {
    shared: Apart<(L, AtomicU64)>,
    over: Apart<AtomicBool>,
    /// When the iteration in hand began, which the lock protects.
    begun_ns: AtomicU64,
    blocks: Mutex<Blocks>,
    bench: Bench,
}

/// In cache lines of its own: two, since some CPUs fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Apart<T>(T);

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

    /// Does the work of an acquisition, with the lock held, and counts it. The work gets how
    /// many acquisitions there have been before.
    #[inline]
    pub fn enter<R>(&self, work: impl FnOnce(u64) -> R) -> R {
        let acquired = &self.shared.0.1;
        // Not one step with the store: a lock that does not exclude loses some.
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

    /// Ends an iteration of a closed loop, with the lock held: after its release others may run
    /// first. Returns how long it took, in nanoseconds.
    #[cold]
    pub fn end_block(&self) -> u64 {
        let now = clock::now();
        let begun_ns = self.begun_ns.load(Relaxed);
        self.begun_ns.store(now, Relaxed);
        now.saturating_sub(begun_ns)
    }

    /// Takes in an iteration, after the release.
    #[cold]
    pub fn take_block(&self, block_ns: u64) {
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

    fn blocks(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What conducts a run.
pub struct Driver<L> {
    /// The program's flags.
    pub flags: Flags,
    /// What it measures on.
    pub bench: Bench,
    /// What the tasks share.
    pub board: Arc<Board<L>>,
    done: mpsc::UnboundedReceiver<Tally>,
}

impl<L: Lock> Driver<L> {
    /// Of tasks that hand in their tallies at the other end of `done`.
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
            bench: bench.clone(),
        };
        Self { flags: flags.clone(), bench: bench.clone(), board: Arc::new(board), done }
    }

    /// Runs the warm-up and the measured round.
    ///
    /// # Errors
    /// When the lock does not exclude, a task panicked, or acquisitions are missing.
    pub async fn drive(&mut self, rounds: &Announcer) -> anyhow::Result<()> {
        match self.flags.rate {
            None => self.drive_closed(rounds).await,
            Some(rate) => self.drive_open(rounds, rate, self.bench.plan(rate)).await,
        }
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

    /// Limits the next round of a closed loop to so many iterations, and this time if that
    /// leaves the fewest.
    fn limit(&self, fewest: u64, most: u64, time: Option<Duration>) {
        let mut blocks = self.board.blocks();
        blocks.samples.clear();
        (blocks.fewest, blocks.most) = (fewest, most);
        blocks.until_ns = time.map_or(u64::MAX, |time| time.as_nanos() as u64);
    }

    fn begin_ns(&self, rounds: &Announcer) -> u64 {
        rounds.borrow().map_or(0, |round| round.begin_ns)
    }

    /// Runs one round, and returns what each task has counted.
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
        // Fewer, where an interruption ended their creation.
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

    /// Refuses a lock that let two tasks in at once.
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
