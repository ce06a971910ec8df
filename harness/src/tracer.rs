//! Tracer tokens: which hops cross from one CPU to another.
//!
//! After the timed laps the driver sends a few tokens that are marked. A task
//! that sees the mark notes the CPU it runs on.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::cpus;

/// The most marked laps in a run.
pub(crate) const MOST_TRACED: u64 = 32;

const NOWHERE: u32 = u32::MAX;

/// Where each task of a brigade was when the last tracer token passed.
#[derive(Debug)]
pub struct Tracer {
    cpus: Box<[AtomicU32]>,
    hops: AtomicU64,
    crossings: AtomicU64,
}

impl Tracer {
    /// A tracer for `tasks` tasks in a line.
    pub(crate) fn new(tasks: usize) -> Self {
        let cpus = (0..tasks).map(|_| AtomicU32::new(NOWHERE)).collect();
        Self { cpus, hops: AtomicU64::new(0), crossings: AtomicU64::new(0) }
    }

    /// Notes the calling thread's CPU for the task at `position`, from 0.
    ///
    /// # Panics
    /// When `position` is not that of a task.
    pub(crate) fn note(&self, position: usize) {
        self.cpus[position].store(cpus::current(), Relaxed);
    }

    /// Counts the hops of one lap whose two ends were on different CPUs. The
    /// driver sent the token from CPU `sent` and took it on CPU `taken`.
    pub(crate) fn count_lap(&self, sent: u32, taken: u32) {
        let mut here = sent;
        let stops = self.cpus.iter().map(|cpu| cpu.swap(NOWHERE, Relaxed)).chain([taken]);
        for next in stops {
            if here != NOWHERE && next != NOWHERE {
                self.hops.fetch_add(1, Relaxed);
                self.crossings.fetch_add(u64::from(here != next), Relaxed);
            }
            here = next;
        }
    }

    /// The share of traced hops that crossed, 0 to 1; `None` before any lap.
    pub(crate) fn cross_cpu_share(&self) -> Option<f64> {
        let hops = self.hops.load(Relaxed);
        (hops > 0).then(|| self.crossings.load(Relaxed) as f64 / hops as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::{Relaxed, Tracer};

    fn share(sent: u32, stops: &[u32], taken: u32) -> Option<f64> {
        let tracer = Tracer::new(stops.len());
        for (cpu, stop) in tracer.cpus.iter().zip(stops) {
            cpu.store(*stop, Relaxed);
        }
        tracer.count_lap(sent, taken);
        tracer.cross_cpu_share()
    }

    #[test]
    fn crossings_are_counted_over_all_hops_with_the_drivers_two() {
        assert_eq!(share(0, &[0, 0, 0], 0), Some(0.0));
        assert_eq!(share(0, &[1, 0, 1], 0), Some(1.0));
        assert_eq!(share(0, &[0, 1, 1], 1), Some(0.25));
    }

    #[test]
    fn a_task_that_noted_nothing_is_not_guessed() {
        assert_eq!(share(0, &[u32::MAX], 1), None);
    }
}
