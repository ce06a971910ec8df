//! How late operations of an open loop were.

use crate::measure::histogram;
use crate::measure::samples::{Measured, Samples};
use crate::record::ScheduleKept;

/// A task's operations in an open loop.
#[derive(Clone, Debug)]
pub struct Lateness {
    /// The time since they were due.
    pub from_due: Samples,
    /// The time since they were called; empty if nobody calls.
    pub from_call: Samples,
    /// How well it kept the schedule.
    pub kept: ScheduleKept,
}

impl Lateness {
    /// No operations so far. The measurement has the name of the operation.
    pub fn new(operation: &'static str) -> Self {
        let samples = |name| Samples::new(Measured::single(name, operation));
        let kept = ScheduleKept::default();
        Self { from_due: samples(operation), from_call: samples("from_call"), kept }
    }

    /// The memory of a task's figures, rounded up, in bytes.
    pub const BYTES: u64 = 2 * histogram::BYTES;

    /// The sum of the figures of all tasks.
    pub fn sum(operation: &'static str, tasks: impl IntoIterator<Item = Self>) -> Self {
        tasks.into_iter().fold(Self::new(operation), |mut sum, task| {
            sum.from_due.merge(&task.from_due);
            sum.from_call.merge(&task.from_call);
            sum.kept.missed += task.kept.missed;
            sum.kept.called_late = sum.kept.called_late.max(task.kept.called_late);
            sum
        })
    }

    /// Forgets all operations, but keeps the memory.
    pub fn clear(&mut self) {
        self.from_due.clear();
        self.from_call.clear();
        self.kept = ScheduleKept::default();
    }
}
