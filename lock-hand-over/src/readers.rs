//! Readers and writers, mixed in a closed loop: `--read`.

use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use harness::clock;
use harness::rounds::{Purpose, Round};

use crate::locks::Lock;
use crate::tally::{Counts, Tally, Timed, Waits};
use crate::task::{BEGUN, ENDED, LOT, Task};

/// One in so many reads of a task is timed. Each write is: a writer that starves waits once for a
/// very long time, and a sample would miss it.
const TIMED: u64 = 64;

/// A task's state in the loop.
struct Turns {
    counts: Counts,
    /// Whether the latest turn reads.
    is_read: bool,
    /// The state of the generator that decides that.
    random: u64,
    /// When the task asked for the lock, if this turn is timed.
    asked_ns: Option<u64>,
    /// How long it then waited.
    waited_ns: u64,
    computed: u64,
    waits: Box<Waits>,
}

impl Turns {
    /// The turns of the task with this number: in every run the same sequence of reads and writes.
    fn new(task: usize, waits: Box<Waits>) -> Self {
        Self {
            counts: Counts::default(),
            is_read: false,
            random: task as u64,
            asked_ns: None,
            waited_ns: 0,
            computed: 0,
            waits,
        }
    }

    /// Decides whether the next turn reads, as this share of them does, in percent.
    #[inline]
    fn choose(&mut self, read: u64) {
        // Knuth's MMIX generator; only its upper bits look random.
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.is_read = ((self.random >> 32) * 100) >> 32 < read;
    }

    /// Counts the turn that has ended.
    #[inline]
    fn end(&mut self) {
        let is_timed = self.asked_ns.is_some();
        if self.is_read {
            self.counts.reads += 1;
            if is_timed {
                self.waits.reads.add(self.waited_ns);
            }
        } else {
            self.counts.writes += 1;
            if is_timed {
                self.waits.writes.add(self.waited_ns);
            }
        }
    }
}

impl<L: Lock> Task<L> {
    /// A closed loop in which this task reads or writes, by a fixed sequence.
    pub async fn mix(&self, round: &Round, waits: Box<Waits>) -> io::Result<Tally> {
        let shared = &*self.shared;
        let is_warmup = round.purpose == Purpose::Warmup;
        let turns = Turns::new(self.number, waits);
        shared.blocks.begin(round, self.runtime).await?;
        let reads = |turns: &mut Turns| {
            turns.choose(self.read);
            let is_timed = !turns.is_read || turns.counts.reads.is_multiple_of(TIMED);
            turns.asked_ns = is_timed.then(clock::now);
            turns.is_read
        };
        let inside = |turns: &mut Turns, is_read| {
            if let Some(asked_ns) = turns.asked_ns {
                turns.waited_ns = clock::now() - asked_ns;
            }
            if is_read {
                self.read(turns, is_warmup);
            } else {
                self.write(turns);
            }
        };
        let outside = |turns: &mut Turns| {
            turns.end();
            let Counts { reads, writes, .. } = turns.counts;
            if (self.head_start + reads + writes).is_multiple_of(LOT) {
                shared.blocks.count(round, LOT);
            }
            turns.computed = self.work_outside(turns.computed);
            !round.is_over()
        };
        let turns = shared.lock().repeat::<true, _>(turns, reads, inside, outside).await;
        let Turns { counts, waits, .. } = turns;
        let acquired = counts.reads + counts.writes;
        let timed = Timed { waits: Some(waits), ..Timed::default() };
        Ok(Tally { acquired, mixed: Some(counts), timed })
    }

    /// Changes one word before the work and the other one after it: `Release`, so that who sees the second
    /// change sees the first one. Otherwise a reader could count as torn because the processor had
    /// swapped two stores of one writer, which is not what a lock that lets it in did wrong.
    #[inline]
    fn write(&self, turns: &mut Turns) {
        let words = self.shared.words();
        let before = words[ENDED].load(Relaxed);
        words[BEGUN].store(before + 1, Relaxed);
        turns.computed = self.work_inside(turns.computed ^ before);
        words[ENDED].store(before + 1, Release);
    }

    /// Reads both words, in the opposite order: they differ if a writer was inside at any time
    /// in between. `Acquire`, so that the second is not read before the first. In a warm-up it also
    /// notes whether another reader is inside; later it writes nothing that is shared. That count is
    /// `Relaxed`: a sum of additions and subtractions never depends on their order with other words.
    #[inline]
    fn read(&self, turns: &mut Turns, is_warmup: bool) {
        let words = self.shared.words();
        let readers = &self.shared.readers.0;
        let ended = words[ENDED].load(Acquire);
        if is_warmup {
            turns.counts.together |= readers.fetch_add(1, Relaxed) > 0;
        }
        turns.computed = self.work_inside(turns.computed ^ ended);
        if is_warmup {
            readers.fetch_sub(1, Relaxed);
        }
        // Otherwise a processor would read the second word before the work has ended.
        let place = BEGUN ^ self.none_after(turns.computed) as usize;
        turns.counts.torn += u64::from(words[place].load(Relaxed) != ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also of each task alone, within two percent.
    #[test]
    fn the_share_of_reads_is_as_asked_and_the_sequence_is_that_of_the_task() {
        let sequence = |task, read| {
            let mut turns = Turns::new(task, Box::new(Waits::new()));
            let next = |_| {
                turns.choose(read);
                turns.is_read
            };
            (0..10_000).map(next).collect::<Vec<_>>()
        };
        for read in [1, 50, 90, 99, 100] {
            for task in 0..16 {
                let reads = sequence(task, read).into_iter().filter(|reads| *reads).count() as u64;
                assert!(reads.abs_diff(read * 100) <= 200, "{task}: {reads} of {read} %");
            }
        }
        assert_eq!(sequence(3, 90), sequence(3, 90));
        assert_ne!(sequence(3, 90), sequence(4, 90));
        assert!(sequence(3, 100).iter().all(|reads| *reads));
    }
}
