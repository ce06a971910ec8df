//! Iterations of operations that all tasks of a closed loop make together.

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::measure::clock;
use crate::measure::rounds::Round;
use crate::measure::samples::{Measured, Samples};
use crate::tasks::apart::Apart;
use crate::tasks::runtime_kind::RuntimeKind;

/// The operations of a round in blocks: the task that completes one reads the clock.
///
/// Tasks count for themselves and add lots to the common count: its cache line would be measured otherwise.
/// At any time the common count lacks what they have not added; so that this is not more at the end of a
/// round than at its beginning, a task begins a round within a lot, not with a new one.
/// The count is `Relaxed`, since it only decides who ends a block, and that task takes a mutex. Everything
/// is reset before a round is announced, which orders that.
#[derive(Debug)]
pub struct Blocks {
    operations: u64,
    operation: &'static str,
    counted: Apart<AtomicU64>,
    /// When the latest block ended, or the first one began; 0 before.
    ended_ns: Apart<AtomicU64>,
    samples: Apart<Mutex<Samples>>,
}

impl Blocks {
    /// Blocks of so many operations.
    pub fn new(operations: u64, operation: &'static str) -> Self {
        let block = Measured { operations, ..Measured::single("iteration", operation) };
        Self {
            operations,
            operation,
            counted: Apart::default(),
            ended_ns: Apart::default(),
            samples: Apart(Mutex::new(Samples::new(block))),
        }
    }

    /// How much of its first lot a task has when it begins: nothing to almost a lot. When a block ends, one
    /// task has added all that it made, and the others lack half a lot on average.
    pub fn head_start(task: usize, tasks: usize, lot: u64) -> u64 {
        task as u64 * lot / tasks as u64
    }

    fn lock(&self) -> MutexGuard<'_, Samples> {
        self.samples.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the round before.
    pub fn clear(&self) {
        self.counted.0.store(0, Relaxed);
        self.ended_ns.0.store(0, Relaxed);
        self.lock().clear();
    }

    /// Waits until a round begins, and begins the first block, unless another task has. A task of a runtime
    /// begins at once: it would wait by yielding, which takes CPU time.
    ///
    /// # Errors
    /// The kernel's, if it does not let a thread sleep.
    pub async fn begin(&self, round: &Round, runtime: RuntimeKind) -> io::Result<()> {
        if runtime == RuntimeKind::Threads {
            round.sleep_until(round.begin_ns).await?;
        }
        self.begin_at(clock::now());
        Ok(())
    }

    fn begin_at(&self, at_ns: u64) {
        let _ = self.ended_ns.0.compare_exchange(0, at_ns, Relaxed, Relaxed);
    }

    /// Counts a lot of operations, and ends the block that it completes. A block is a whole number of lots.
    #[inline]
    pub fn count(&self, round: &Round, lot: u64) {
        let counted = self.counted.0.fetch_add(lot, Relaxed) + lot;
        if counted.is_multiple_of(self.operations) {
            self.record(round, || self.end());
        }
    }

    /// Ends a block and returns its duration, in nanoseconds. Only one task at a time may call it.
    #[cold]
    pub fn end(&self) -> u64 {
        let now_ns = clock::now();
        now_ns.saturating_sub(self.ended_ns.0.swap(now_ns, Relaxed))
    }

    /// Records a block, unless the round is over. `block_ns` returns its duration and may end it: with the
    /// mutex held, so that no block ends before the one before it.
    #[cold]
    pub fn record(&self, round: &Round, block_ns: impl FnOnce() -> u64) {
        let mut samples = self.lock();
        if !round.is_over() {
            samples.add(block_ns());
            round.is_enough(samples.count());
        }
    }

    /// The recorded blocks.
    pub fn samples(&self) -> Samples {
        self.lock().clone()
    }

    /// The mean time of each task from one of its operations to the next, as the measurement `name`; none
    /// without blocks. `made` has the number of each task's operations; those after the last block count as
    /// long as the others.
    pub fn turns(&self, name: &'static str, made: impl Iterator<Item = u64> + Clone) -> Samples {
        let mut turns = Samples::new(Measured::single(name, self.operation));
        let Some(block_ns) = self.lock().mean() else { return turns };
        let all: u64 = made.clone().sum();
        let all_ns = block_ns / self.operations as f64 * all as f64;
        made.for_each(|made| turns.add((all_ns / made.max(1) as f64).round() as u64));
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::bench::Bench;

    /// Tasks that take turns: whenever the common count grows, and so may complete a block, it is what they
    /// made, but for a turn of each.
    #[test]
    fn tasks_that_count_in_lots_have_made_what_is_counted() {
        let lot = 256;
        for tasks in [1, 2, 3, 8, 1000] {
            let mut before = 0;
            for turns in 0..=1000 {
                let counted = |task| (Blocks::head_start(task, tasks, lot) + turns) / lot * lot;
                let all: u64 = (0..tasks).map(counted).sum();
                if all > before {
                    let error = all.abs_diff(turns * tasks as u64);
                    assert!(error < tasks as u64, "{tasks} tasks, {turns} turns: {error}");
                }
                before = all;
            }
            assert!(before > 0, "{tasks}");
        }
    }

    /// The round begins in 50 s, so that a million tasks are waiting by then.
    #[test]
    fn a_task_of_a_runtime_does_not_wait_for_a_round_by_yielding() {
        let bench = Bench::standalone(2, 3, 0, None).expect("affinity");
        let round = bench.rounds(None).announced_to(1_000_000).next().expect("the measured one");
        let blocks = Blocks::new(8, "message");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(blocks.begin(&round, RuntimeKind::Tokio)).expect("nothing fails");
        assert!(clock::now() < round.begin_ns);
        assert!((1..=clock::now()).contains(&blocks.end()), "the first block has begun");
    }

    #[test]
    fn whoever_completes_a_block_ends_it_and_a_turn_is_a_share_of_the_time() {
        let bench = Bench::standalone(2, 3, 0, None).expect("affinity");
        let round = bench.rounds(None).next().expect("the measured one");
        let blocks = Blocks::new(8, "message");
        blocks.count(&round, 4);
        assert_eq!(blocks.turns("turn", [4].into_iter()).count(), 0, "no block has ended");
        blocks.clear();
        blocks.begin_at(clock::now() - 1_000_000);
        blocks.begin_at(clock::now());
        for lots in 1..=8 {
            blocks.count(&round, 4);
            assert_eq!(blocks.samples().count(), (lots / 2).min(3), "the round has 3 iterations");
        }
        assert!(round.is_over());
        let all = blocks.samples().measurement(2).expect("samples");
        assert_eq!(all.operations, 8);
        assert!(all.max_ns >= 1_000_000, "the first one began earlier");
        let turns = blocks.turns("turn", [10, 30].into_iter()).measurement(2).expect("two tasks");
        let expected = [4.0 / 3.0, 4.0].map(|share| (all.mean_ns / 8.0 * share).round() as u64);
        assert_eq!([turns.min_ns, turns.max_ns], expected);
    }
}
