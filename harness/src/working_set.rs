//! Working sets: memory of its own that a task touches at every hop (`--working-set`,
//! `--stride`), before it sends the token.
//!
//! To touch is to read a word and to write it back, one greater, at every stride: from
//! the first to the last, so that the hardware can fetch ahead as it does for a program
//! that walks through its data. The same touching done by one thread
//! (`one-thread-brigade`) tells what it costs without switches. This is how lmbench's
//! `lat_ctx`, and Li, Ding and Shen, *Quantifying the cost of context switch* (ExpCS
//! 2007), part the direct cost of a switch from that of caches which are cold afterwards.

use std::cell::Cell;
use std::fmt;

/// Bytes of a word.
const WORD: u64 = size_of::<u64>() as u64;

/// How much each task touches, and in which steps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// The size of each working set, in bytes.
    pub bytes: u64,
    /// From one touched word to the next, in bytes.
    pub stride: u64,
}

/// The memory that one task touches.
pub(crate) struct WorkingSet {
    words: Box<[Cell<u64>]>,
    /// From one touched word to the next, in words.
    step: usize,
}

impl WorkingSet {
    /// Memory of this shape, written once, by the task's own thread where it has one: so
    /// it lies near the thread's CPU.
    pub(crate) fn new(Shape { bytes, stride }: Shape) -> Self {
        // Not zeroes, for which the allocator may leave pages that do not exist yet.
        let words = (0..bytes.div_ceil(WORD)).map(|word| Cell::new(word + 1)).collect();
        Self { words, step: usize::try_from((stride / WORD).max(1)).unwrap_or(usize::MAX) }
    }

    /// Touches all of it. Empty, it is one comparison.
    #[inline]
    pub(crate) fn touch(&self) {
        if !self.words.is_empty() {
            touch(&self.words, self.step);
        }
    }
}

/// Compiled once, so that every program walks alike.
#[inline(never)]
fn touch(words: &[Cell<u64>], step: usize) {
    for word in words.iter().step_by(step) {
        word.set(word.get().wrapping_add(1));
    }
}

impl fmt::Debug for WorkingSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} words, every {}", self.words.len(), self.step)
    }
}

#[cfg(test)]
impl WorkingSet {
    /// All words added up.
    pub(crate) fn sum(&self) -> u64 {
        self.words.iter().map(Cell::get).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{Shape, WorkingSet};

    /// By how much each word has grown when all of it was touched twice.
    fn touched(bytes: u64, stride: u64) -> Vec<u64> {
        let set = WorkingSet::new(Shape { bytes, stride });
        set.touch();
        set.touch();
        (1..).zip(&set.words).map(|(first, word)| word.get() - first).collect()
    }

    #[test]
    fn every_word_at_a_stride_is_written_once_at_each_touch() {
        assert_eq!(touched(40, 8), [2, 2, 2, 2, 2]);
        assert_eq!(touched(40, 16), [2, 0, 2, 0, 2]);
        assert_eq!(touched(40, 64), [2, 0, 0, 0, 0]);
    }

    #[test]
    fn what_is_no_whole_word_counts_as_one() {
        assert_eq!(touched(1, 1), [2]);
        assert_eq!(touched(9, 8), [2, 2]);
        assert!(touched(0, 64).is_empty());
    }
}
