//! The laps of a round, of all rings at once, from one pool.

use std::sync::{Mutex, MutexGuard, PoisonError};

use harness::rounds::Round;
use harness::samples::Samples;
use harness::{Bench, Measured, clock};

/// The laps of a round, and their measurements so far. It exists before the first round, so that no
/// round allocates memory.
pub struct Pool {
    rings: u64,
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

/// The measurement of a ring's laps.
fn of_ring(bench: &Bench, rings: usize) -> Measured {
    let hops = (bench.tasks() / rings) as u64 + 1;
    Measured { operations: hops, ..Measured::single("ring", "hop") }
}

impl Pool {
    pub fn new(bench: &Bench, rings: usize) -> Self {
        let of_ring = of_ring(bench, rings);
        let rings = rings as u64;
        let of_all = Measured { operations: rings * of_ring.operations, ..Measured::hops(0) };
        let laps = Drawn {
            started: 0,
            finished: 0,
            begun_ns: None,
            iterations: Samples::new(of_all),
            of_rings: Samples::new(of_ring),
        };
        Self { rings, laps: Mutex::new(laps) }
    }

    /// The memory of one ring's measurements.
    pub fn samples(bench: &Bench, rings: usize) -> Samples {
        Samples::new(of_ring(bench, rings))
    }

    /// The laps of one ring in this round, measured in `samples`.
    pub fn laps<'a>(&'a self, round: &'a Round, samples: &'a mut Samples) -> RingLaps<'a> {
        RingLaps { pool: self, round, begun_ns: None, samples }
    }

    /// Stores the measurements of the round, after it ended with this result, and clears them.
    pub fn finish<'a>(
        &self,
        round: &Round,
        result: anyhow::Result<()>,
        samples: impl Iterator<Item = &'a mut Samples>,
    ) -> anyhow::Result<()> {
        round.end();
        let mut laps = self.drawn();
        for of_ring in samples {
            laps.of_rings.merge(of_ring);
            of_ring.clear();
        }
        let mut measured = vec![laps.iterations.clone()];
        if self.rings > 1 {
            measured.push(laps.of_rings.clone());
        }
        laps.iterations.clear();
        laps.of_rings.clear();
        (laps.started, laps.finished, laps.begun_ns) = (0, 0, None);
        result.and(round.finish(measured, None))
    }

    /// The laps, even after a driver has panicked.
    fn drawn(&self) -> MutexGuard<'_, Drawn> {
        self.laps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a finished lap, if any, and draws the next; returns whether there was one. A round
    /// ends with a whole iteration, unless it is interrupted or fails.
    fn draw(&self, round: &Round, finished: bool) -> bool {
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
        if round.is_over() || is_whole && round.is_enough(laps.started / self.rings) {
            return false;
        }
        laps.started += 1;
        true
    }
}

/// The laps of one ring in a round, in order.
pub struct RingLaps<'a> {
    pool: &'a Pool,
    round: &'a Round,
    /// When the current lap began.
    begun_ns: Option<u64>,
    samples: &'a mut Samples,
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
        if !self.pool.draw(self.round, begun_ns.is_some()) {
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
            self.round.fail();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn an_unfinished_lap_ends_the_round_for_all() {
        let bench = Bench::standalone(6, u64::MAX, 0, None).expect("affinity");
        let round = bench.rounds(None).next().expect("a round");
        let pool = Pool::new(&bench, 2);
        let [mut good, mut bad] = [(); 2].map(|()| Pool::samples(&bench, 2));
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut laps = pool.laps(&round, &mut good);
                while laps.next() {}
            });
            let mut failing = pool.laps(&round, &mut bad);
            assert!((0..4).all(|_| failing.next()));
        });
        assert!(round.is_over());
    }
}
