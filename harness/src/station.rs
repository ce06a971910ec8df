//! Stations: what a task of a brigade does besides passing the token on.
//!
//! ```ignore
//! let station = bench.station(task)?;
//! while let Some(token) = upstream.receive()? {
//!     station.visit(token);
//!     downstream.send(token)?;
//! }
//! ```
//!
//! A token carries two marks, one for the load of a hop (`--work`, `--working-set`)
//! and one for tracing, so that a task tests for both at once, and what they ask for
//! lies beside the loop. `cargo bench -p async-mem-brigade` shows what that costs.

use std::hint::black_box;
use std::sync::Arc;

use crate::tracer::Tracer;
use crate::work::Work;
use crate::working_set::WorkingSet;

/// The mark of a token at whose every hop there is work to do or memory to touch.
pub(crate) const LOAD: u8 = 0b01;
/// The mark of a token whose way over the CPUs is traced.
pub(crate) const TRACED: u8 = 0b10;

/// What goes round a brigade: a byte, or a number to which each task may add
/// one. The two highest bits are the marks.
pub trait Token: Copy {
    /// A token with these marks, otherwise 0.
    fn marked(marks: u8) -> Self;

    /// The marks of this token.
    fn marks(self) -> u8;
}

impl Token for u8 {
    #[inline]
    fn marked(marks: u8) -> Self {
        marks << (Self::BITS - 2)
    }

    #[inline]
    fn marks(self) -> u8 {
        self >> (Self::BITS - 2)
    }
}

impl Token for usize {
    #[inline]
    fn marked(marks: u8) -> Self {
        Self::from(marks) << (Self::BITS - 2)
    }

    #[inline]
    fn marks(self) -> u8 {
        (self >> (Self::BITS - 2)) as u8
    }
}

/// Where a task, or the driver, stands in a brigade. It is a pointer to what few tokens
/// ask for: a coroutine has it on its stack, where every line more that a hop touches
/// shows.
#[derive(Debug)]
pub struct Station(Box<Equipment>);

/// What a task does for a token that asks for it.
#[derive(Debug)]
pub(crate) struct Equipment {
    pub(crate) work: Work,
    pub(crate) working_set: WorkingSet,
    /// Where this task notes its CPU; the driver has none.
    pub(crate) tracer: Option<(Arc<Tracer>, u32)>,
}

impl Station {
    pub(crate) fn new(equipment: Equipment) -> Self {
        Self(Box::new(equipment))
    }

    /// Does what the marks of `token` ask for. To be called before the token is
    /// sent on.
    #[inline]
    pub fn visit(&self, token: impl Token) {
        let marks = token.marks();
        // Without `black_box` the compiler puts this branch next to the loop's
        // own, and a hop of async-mem-brigade takes 5 % longer, wherever its
        // code lies; with it, no longer than without this test.
        if black_box(marks != 0) {
            self.attend(marks);
        }
    }

    #[cold]
    #[inline(never)]
    fn attend(&self, marks: u8) {
        if let (Some((tracer, task)), true) = (&self.0.tracer, marks & TRACED != 0) {
            tracer.note(*task as usize);
        }
        self.0.work.perform();
        self.0.working_set.touch();
    }
}

#[cfg(test)]
mod tests {
    use super::{Equipment, LOAD, Station, TRACED, Token, Work, WorkingSet};
    use crate::working_set::Shape;

    fn check<T: Token + PartialEq + std::fmt::Debug>(plain: T) {
        for marks in [0, LOAD, TRACED, LOAD | TRACED] {
            assert_eq!(T::marked(marks).marks(), marks);
        }
        assert_eq!(T::marked(0), plain);
    }

    #[test]
    fn a_token_carries_its_marks() {
        check(0_u8);
        check(0_usize);
    }

    #[test]
    fn a_marked_token_has_the_memory_touched_and_a_plain_one_has_not() {
        let working_set = WorkingSet::new(Shape { bytes: 64, stride: 8 });
        let equipment = Equipment { work: Work::default(), working_set, tracer: None };
        let station = Station::new(equipment);
        let sums = [0, 1].map(|marks| {
            station.visit(u8::marked(marks * LOAD));
            station.0.working_set.sum()
        });
        assert_eq!(sums[1] - sums[0], 8);
    }

    #[test]
    fn what_tasks_add_to_a_number_does_not_reach_the_marks() {
        assert_eq!((usize::marked(LOAD) + u32::MAX as usize).marks(), LOAD);
    }
}
