//! What tasks count in a round.

use harness::samples::Samples;
use harness::{Lateness, Measured};

/// A task's counts in a round.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Acquisitions.
    pub acquired: u64,
    /// How late they were, in an open loop.
    pub late: Option<Lateness>,
    /// What it did as reader and writer, if these are mixed.
    pub mixed: Option<Mixed>,
}

/// What a task counts as reader and writer in a round.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Acquisitions that read.
    pub reads: u64,
    /// Acquisitions that wrote.
    pub writes: u64,
    /// Reads during which a writer was inside.
    pub torn: u64,
    /// Whether another reader was inside when this task entered as one; of a warm-up.
    pub together: bool,
}

/// How long a task waited for the lock, each time that was timed.
#[derive(Clone, Debug)]
pub struct Waits {
    /// As a reader.
    pub reads: Samples,
    /// As a writer.
    pub writes: Samples,
}

/// What tasks did as readers and writers in a round.
#[derive(Clone, Debug)]
pub struct Mixed {
    /// What they counted.
    pub counts: Counts,
    /// How long they waited.
    pub waits: Box<Waits>,
}

impl Mixed {
    /// Nothing yet.
    pub fn new() -> Self {
        let turns = |name, operation| Samples::new(Measured::single(name, operation));
        let waits =
            Waits { reads: turns("read_turn", "read"), writes: turns("write_turn", "write") };
        Self { counts: Counts::default(), waits: Box::new(waits) }
    }

    /// The sum over all tasks; `None` if there are no readers among them.
    pub fn sum(tallies: &[Tally]) -> Option<Self> {
        let mut sum = None;
        for Self { counts, waits } in tallies.iter().filter_map(|tally| tally.mixed.as_ref()) {
            let sum = sum.get_or_insert_with(Self::new);
            sum.counts.reads += counts.reads;
            sum.counts.writes += counts.writes;
            sum.counts.torn += counts.torn;
            sum.counts.together |= counts.together;
            sum.waits.reads.merge(&waits.reads);
            sum.waits.writes.merge(&waits.writes);
        }
        sum
    }
}
