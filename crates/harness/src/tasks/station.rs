//! Stations: the load of a task at each hop, and tracing.
//!
//! ```ignore
//! let station = bench.station(task)?;
//! while let Some(token) = upstream.receive()? {
//!     station.visit(token);
//!     downstream.send(token)?;
//! }
//! ```
//!
//! A token carries two marks, one for the load of a hop (`--work`, `--working-set`) and one for
//! tracing. A task tests for both at once, and the code for them is outside the loop. The proof
//! shows the cost of the test.

use std::cell::Cell;
use std::hint::black_box;
use std::sync::Arc;

use serde::Serialize;

use crate::measure::trace::Tracer;
use crate::measure::work::{Work, WorkFlag};

/// The mark of a token that makes each task do work or touch memory.
pub(crate) const LOAD: u8 = 0b01;
/// The mark of a token whose path over the CPUs is traced.
pub(crate) const TRACED: u8 = 0b10;

/// A token: a byte, or a number to which each task may add one. The two highest
/// bits are the marks.
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

/// A task's or the driver's position in a brigade. It is a pointer to rarely used data: a coroutine
/// has it on its stack, where every additional cache line per hop is measurable.
#[derive(Debug)]
pub struct Station(Box<Equipment>);

/// What a task does for a marked token.
#[derive(Debug)]
pub(crate) struct Equipment {
    pub(crate) work: Work,
    pub(crate) working_set: WorkingSet,
    /// Where this task records its CPU; the driver has none.
    pub(crate) tracer: Option<(Arc<Tracer>, u32)>,
}

impl Station {
    pub(crate) fn new(equipment: Equipment) -> Self {
        Self(Box::new(equipment))
    }

    /// Does what the marks of `token` require. Call it before sending the token
    /// on.
    #[inline]
    pub fn visit(&self, token: impl Token) {
        let marks = token.marks();
        // Without `black_box` the compiler places this branch next to the
        // loop's, and a hop of async-mem-brigade takes 5 % longer, wherever its
        // code lies; with it, no longer than without this test.
        if black_box(marks != 0) {
            self.attend(marks);
        }
    }

    #[cold]
    #[inline(never)]
    fn attend(&self, marks: u8) {
        if let Some((tracer, task)) = &self.0.tracer
            && marks & TRACED != 0
        {
            tracer.note(*task as usize);
        }
        self.0.work.perform();
        self.0.working_set.touch();
    }
}

/// The most marked laps of a run.
pub(crate) const MOST_TRACED: u64 = 32;

/// Bytes of a word.
const WORD: u64 = size_of::<u64>() as u64;

/// How much each task touches, and the distance between touched words.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// The size of each working set, in bytes.
    pub bytes: u64,
    /// Distance between touched words, in bytes.
    pub stride: u64,
}

/// The memory that one task touches.
#[derive(Debug)]
pub(crate) struct WorkingSet {
    words: Box<[Cell<u64>]>,
    /// Distance between touched words, in words.
    step: usize,
}

impl WorkingSet {
    /// Memory of this shape, written once, by the task's thread if it has one, so that it is near
    /// the thread's CPU.
    pub(crate) fn new(Shape { bytes, stride }: Shape) -> Self {
        // Not zeros: the allocator may leave zero pages unmapped.
        let words = (0..bytes.div_ceil(WORD)).map(|word| Cell::new(word + 1)).collect();
        Self { words, step: usize::try_from((stride / WORD).max(1)).unwrap_or(usize::MAX) }
    }

    /// Touches all of it. If it is empty, this is one comparison.
    #[inline]
    pub(crate) fn touch(&self) {
        if !self.words.is_empty() {
            touch(&self.words, self.step);
        }
    }
}

/// Compiled once, so that every program runs the same loop.
#[inline(never)]
fn touch(words: &[Cell<u64>], step: usize) {
    for word in words.iter().step_by(step) {
        word.set(word.get().wrapping_add(1));
    }
}

/// The most bytes that a task touches per hop: 1 TiB.
const MOST_WORKING_SET: u64 = 1 << 40;

/// The default distance between touched words, in bytes: a cache line of most CPUs. Where lines have
/// 128, each is touched twice, which costs little; the default is the same everywhere, since cases
/// are compared between machines.
const STRIDE: u64 = 64;

/// The flags for a task's load at each hop.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
#[group(skip)]
pub struct LoadFlags {
    /// Work before each send.
    #[command(flatten)]
    #[serde(flatten)]
    pub work: WorkFlag,

    /// Bytes of private memory that each task reads and writes before each send
    #[arg(long, value_name = "BYTES", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=MOST_WORKING_SET))]
    pub working_set: u64,

    /// Distance between touched words, in bytes [default: 64]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, requires = "working_set")]
    #[arg(value_parser = clap::value_parser!(u64).range(8..=MOST_WORKING_SET))]
    pub stride: Option<u64>,
}

impl LoadFlags {
    /// What each task touches.
    pub(crate) fn shape(&self) -> Shape {
        Shape { bytes: self.working_set, stride: self.stride.unwrap_or(STRIDE) }
    }
}

impl From<WorkFlag> for LoadFlags {
    fn from(work: WorkFlag) -> Self {
        Self { work, working_set: 0, stride: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_token_touches_the_memory_and_a_plain_one_does_not() {
        let working_set = WorkingSet::new(Shape { bytes: 64, stride: 8 });
        let equipment = Equipment { work: Work::default(), working_set, tracer: None };
        let station = Station::new(equipment);
        let sums = [0, 1].map(|marks| {
            station.visit(u8::marked(marks * LOAD));
            station.0.working_set.words.iter().map(Cell::get).sum::<u64>()
        });
        assert_eq!(sums[1] - sums[0], 8);
    }

    /// A partial word counts as one.
    #[test]
    fn every_word_at_a_stride_is_written_once_at_each_touch() {
        for (bytes, stride, touched) in [
            (40, 8, &[2, 2, 2, 2, 2][..]),
            (40, 16, &[2, 0, 2, 0, 2]),
            (40, 64, &[2, 0, 0, 0, 0]),
            (9, 8, &[2, 2]),
            (0, 64, &[]),
        ] {
            let set = WorkingSet::new(Shape { bytes, stride });
            set.touch();
            set.touch();
            let grown = (1..).zip(&set.words).map(|(first, word)| word.get() - first);
            assert!(grown.eq(touched.iter().copied()), "{bytes} {stride}");
        }
    }
}
