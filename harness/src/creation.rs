//! Creating the tasks: their numbers in order, and progress where there are so
//! many that it takes a while.

use std::ops::Range;

use crate::clock;
use crate::progress::Progress;
use crate::state::Shared;

/// The numbers of the tasks to create. An interruption ends them early; what
/// has been created then runs no lap.
#[derive(Debug)]
pub struct Creation<'a> {
    shared: &'a Shared,
    left: Range<usize>,
    progress: Option<Progress>,
}

impl<'a> Creation<'a> {
    pub(crate) fn new(shared: &'a Shared, tasks: usize) -> Self {
        let progress = shared.shows_progress().then(|| {
            let mut progress = Progress::new(true);
            progress.begin(tasks as u64, "tasks created");
            progress
        });
        Self { shared, left: 0..tasks, progress }
    }
}

impl Iterator for Creation<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.shared.is_interrupted() {
            return None;
        }
        if let Some(progress) = &mut self.progress {
            progress.show(clock::now(), self.left.len() as u64);
        }
        self.left.next()
    }
}

#[cfg(test)]
mod tests {
    use crate::bench::Bench;

    #[test]
    fn an_interruption_ends_the_creation() {
        let bench = Bench::standalone(5, 1, 0, None).expect("affinity");
        let mut creation = bench.creation();
        assert_eq!(creation.by_ref().take(3).collect::<Vec<_>>(), [0, 1, 2]);
        bench.interrupt();
        assert_eq!(creation.next(), None);
    }
}
