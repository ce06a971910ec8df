//! The laps of a round, of all rings at once, from one pool.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use harness::rounds::Round;
use harness::samples::Samples;
use harness::{Bench, Measured, clock};

/// The laps of a round, and their measurements so far.
pub struct Pool {
    round: Arc<Round>,
    rings: u64,
    /// The measurement of one ring's lap.
    of_ring: Measured,
    laps: Mutex<Drawn>,
}

struct Drawn {
    /// Laps started and laps finished.
    started: u64,
    finished: u64,
    /// When the current iteration began.
    begun_ns: Option<u64>,
    iterations: Samples,
    of_rings: Samples,
}

impl Pool {
    pub fn new(round: Arc<Round>, bench: &Bench, rings: usize) -> Self {
        let hops = (bench.tasks() / rings) as u64 + 1;
        let rings = rings as u64;
        let of_ring = Measured { operations: hops, ..Measured::single("ring", "hop") };
        let of_all = Measured { operations: rings * hops, ..Measured::hops(0) };
        let laps = Drawn {
            started: 0,
            finished: 0,
            begun_ns: None,
            iterations: Samples::new(of_all),
            of_rings: Samples::new(of_ring),
        };
        Self { round, rings, of_ring, laps: Mutex::new(laps) }
    }

    pub fn laps(&self) -> RingLaps<'_> {
        RingLaps { pool: self, begun_ns: None, samples: Samples::new(self.of_ring) }
    }

    /// Stores the measurements of the round, after it ended with this result.
    pub fn finish(&self, result: anyhow::Result<()>) -> anyhow::Result<()> {
        self.round.end();
        let laps = self.drawn();
        let mut samples = vec![laps.iterations.clone()];
        if self.rings > 1 {
            samples.push(laps.of_rings.clone());
        }
        result.and(self.round.finish(samples, None))
    }

    /// The laps, even after a driver has panicked.
    fn drawn(&self) -> MutexGuard<'_, Drawn> {
        self.laps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a finished lap, if any, and draws the next; returns whether there was one. A round
    /// ends with a whole iteration, unless it is interrupted or fails.
    fn draw(&self, finished: bool) -> bool {
        let mut laps = self.drawn();
        let now_ns = clock::now();
        laps.begun_ns.get_or_insert(now_ns);
        if finished {
            laps.finished += 1;
            if laps.finished.is_multiple_of(self.rings) {
                let begun_ns = laps.begun_ns.replace(now_ns).unwrap_or(now_ns);
                laps.iterations.add(now_ns - begun_ns);
            }
        }
        let is_whole = laps.started.is_multiple_of(self.rings);
        if self.round.is_over() || is_whole && self.round.is_enough(laps.started / self.rings) {
            return false;
        }
        laps.started += 1;
        true
    }
}

/// The laps of one ring in a round, in order.
pub struct RingLaps<'a> {
    pool: &'a Pool,
    /// When the current lap began.
    begun_ns: Option<u64>,
    samples: Samples,
}

impl RingLaps<'_> {
    /// Ends the current lap, and begins the next; returns whether there is one.
    #[inline]
    pub fn next(&mut self) -> bool {
        let ended_ns = clock::now();
        let begun_ns = self.begun_ns.take();
        if let Some(begun_ns) = begun_ns {
            self.samples.add(ended_ns.saturating_sub(begun_ns));
        }
        if !self.pool.draw(begun_ns.is_some()) {
            return false;
        }
        self.begun_ns = Some(clock::now());
        true
    }
}

impl Drop for RingLaps<'_> {
    /// An unfinished lap has failed, which ends the round for all.
    fn drop(&mut self) {
        if self.begun_ns.is_some() {
            self.pool.round.fail();
        }
        self.pool.drawn().of_rings.merge(&self.samples);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn an_unfinished_lap_ends_the_round_for_all() {
        let bench = Bench::standalone(6, u64::MAX, 0, None).expect("affinity");
        let pool = Pool::new(bench.rounds(None).next().expect("a round"), &bench, 2);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut laps = pool.laps();
                while laps.next() {}
            });
            let mut failing = pool.laps();
            assert!((0..4).all(|_| failing.next()));
        });
        assert!(pool.round.is_over());
    }
}
