//! What tasks count in a round.

use harness::samples::Samples;
use harness::{Lateness, Measured};

/// A task's counts in a round.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Acquisitions.
    pub acquired: u64,
    /// What it did as reader and writer, if these are mixed.
    pub mixed: Option<Counts>,
    /// What it timed; nothing in a warm-up.
    pub timed: Timed,
}

/// What a task times: allocated before the first round, so that no measured one does.
#[derive(Clone, Debug, Default)]
pub struct Timed {
    /// How late its acquisitions are, in an open loop.
    pub late: Option<Lateness>,
    /// How long it waits as reader and writer, if these are mixed.
    pub waits: Option<Box<Waits>>,
}

impl Timed {
    /// Forgets what was timed, but keeps the memory.
    pub fn clear(&mut self) {
        if let Some(late) = &mut self.late {
            late.clear();
        }
        if let Some(waits) = &mut self.waits {
            waits.reads.clear();
            waits.writes.clear();
        }
    }
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

impl Counts {
    /// Those of all tasks; `None` if there are no readers among them.
    pub fn sum(tallies: &[Tally]) -> Option<Self> {
        tallies.iter().filter_map(|tally| tally.mixed).reduce(|sum, counts| Self {
            reads: sum.reads + counts.reads,
            writes: sum.writes + counts.writes,
            torn: sum.torn + counts.torn,
            together: sum.together | counts.together,
        })
    }
}

/// How long a task waited for the lock, each time that was timed.
#[derive(Clone, Debug)]
pub struct Waits {
    /// As a reader.
    pub reads: Samples,
    /// As a writer.
    pub writes: Samples,
}

impl Waits {
    /// None yet.
    pub fn new() -> Self {
        let turns = |name, operation| Samples::new(Measured::single(name, operation));
        Self { reads: turns("read_turn", "read"), writes: turns("write_turn", "write") }
    }

    /// Those of all tasks; `None` if there are no readers among them.
    pub fn sum(tallies: &[Tally]) -> Option<Self> {
        let mut sum = None;
        for waits in tallies.iter().filter_map(|tally| tally.timed.waits.as_ref()) {
            let sum = sum.get_or_insert_with(Self::new);
            sum.reads.merge(&waits.reads);
            sum.writes.merge(&waits.writes);
        }
        sum
    }
}
