//! A round: laps of all rings at once, from one pool.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use harness::record::Ending;
use harness::samples::Samples;
use harness::{Bench, Measured, clock};

/// Without `--warmups`, a warm-up takes this long, and this many laps of each
/// ring.
const WARMUP: Duration = Duration::from_millis(20);
const FEWEST_WARMUPS: u64 = 3;

/// The remaining laps of a round, and its measurements so far.
pub struct Round {
    rings: u64,
    is_measured: bool,
    /// The measurement of one ring's lap.
    of_ring: Measured,
    pool: Mutex<Pool>,
}

struct Pool {
    /// Laps started.
    drawn: u64,
    /// Laps finished.
    done: u64,
    /// The total: a whole number of iterations.
    most: u64,
    /// When the drivers stop drawing, and why.
    until_ns: u64,
    ending: Ending,
    /// Laps to run however late it is.
    fewest: u64,
    /// When the current iteration began.
    begun_ns: Option<u64>,
    iterations: Samples,
    of_rings: Samples,
}

impl Round {
    pub fn warm_up(bench: &Bench, rings: usize) -> Self {
        let (warmups, longest) = (bench.flags().warmups, bench.flags().max_time);
        match warmups {
            Some(warmups) => Self::new(bench, rings, (warmups, longest, 0), false),
            None => {
                let time = WARMUP.min(longest.unwrap_or(WARMUP));
                Self::new(bench, rings, (u64::MAX, Some(time), FEWEST_WARMUPS), false)
            }
        }
    }

    /// The measured round.
    pub fn measured(bench: &Bench, rings: usize) -> Self {
        let flags = bench.flags();
        Self::new(bench, rings, (flags.iters, flags.max_time, 1), true)
    }

    fn new(
        bench: &Bench,
        rings: usize,
        (iterations, time, fewest): (u64, Option<Duration>, u64),
        is_measured: bool,
    ) -> Self {
        let (hops, rings) = ((bench.tasks() / rings) as u64 + 1, rings as u64);
        let of_ring = Measured { operations: hops, ..Measured::single("ring", "hop") };
        let of_all = Measured { operations: rings * hops, ..Measured::hops(0) };
        let until_ns =
            time.map_or(u64::MAX, |time| clock::now().saturating_add(time.as_nanos() as u64));
        let pool = Pool {
            drawn: 0,
            done: 0,
            most: iterations.saturating_mul(rings),
            until_ns,
            ending: Ending::Iterations,
            fewest: fewest * rings,
            begun_ns: None,
            iterations: Samples::new(of_all),
            of_rings: Samples::new(of_ring),
        };
        Self { rings, is_measured, of_ring, pool: Mutex::new(pool) }
    }

    /// Whether CPU time and switches cover this round.
    pub fn is_measured(&self) -> bool {
        self.is_measured
    }

    pub fn laps<'a>(&'a self, bench: &'a Bench) -> Laps<'a> {
        Laps { round: self, bench, begun_ns: None, samples: Samples::new(self.of_ring) }
    }

    /// Stores the measurements on the bench.
    pub fn report(&self, bench: &Bench) {
        let pool = self.pool();
        let mut findings = bench.findings();
        if !self.is_measured {
            findings.warmups = pool.done / self.rings;
            return;
        }
        findings.iterations = pool.iterations.count();
        findings.ended_by = Some(pool.ending);
        let of_rings = (self.rings > 1).then_some(&pool.of_rings);
        let measured = [&pool.iterations].into_iter().chain(of_rings);
        findings.samples = measured.filter(|samples| samples.count() > 0).cloned().collect();
    }

    /// The pool, even after a driver has panicked.
    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a finished lap, if any, and draws the next; returns whether there was one.
    fn draw(&self, finished: bool, is_interrupted: bool) -> bool {
        let mut pool = self.pool();
        let now_ns = clock::now();
        pool.begun_ns.get_or_insert(now_ns);
        if finished {
            pool.count(self.rings, now_ns);
        }
        if is_interrupted {
            pool.end(Ending::Signal);
        }
        if now_ns >= pool.until_ns && pool.drawn < pool.most {
            let whole = pool.drawn.max(pool.fewest).next_multiple_of(self.rings);
            if whole < pool.most {
                (pool.most, pool.ending) = (whole, Ending::MaxTime);
            }
        }
        let is_left = pool.drawn < pool.most;
        pool.drawn += u64::from(is_left);
        is_left
    }
}

impl Pool {
    /// Counts a finished lap, and an iteration if it completes one.
    fn count(&mut self, rings: u64, now_ns: u64) {
        self.done += 1;
        if self.done.is_multiple_of(rings) {
            let begun_ns = self.begun_ns.replace(now_ns).unwrap_or(now_ns);
            self.iterations.add(now_ns - begun_ns);
        }
    }

    /// Ends the round: drivers draw no more.
    fn end(&mut self, ending: Ending) {
        if self.drawn < self.most {
            (self.most, self.ending) = (self.drawn, ending);
        }
    }
}

/// The laps of one ring in a round, in order.
pub struct Laps<'a> {
    round: &'a Round,
    bench: &'a Bench,
    /// When the current lap began.
    begun_ns: Option<u64>,
    samples: Samples,
}

impl Laps<'_> {
    /// Ends the current lap, and begins the next; returns whether there is one.
    #[inline]
    pub fn next(&mut self) -> bool {
        let ended_ns = clock::now();
        let begun_ns = self.begun_ns.take();
        if let Some(begun_ns) = begun_ns {
            self.samples.add(ended_ns.saturating_sub(begun_ns));
        }
        if !self.round.draw(begun_ns.is_some(), self.bench.is_interrupted()) {
            return false;
        }
        self.begun_ns = Some(clock::now());
        true
    }
}

impl Drop for Laps<'_> {
    /// Adds its measurements to the round. An unfinished lap has failed, which ends the round for
    /// all.
    fn drop(&mut self) {
        let mut pool = self.round.pool();
        if self.begun_ns.is_some() {
            pool.end(Ending::Error);
        }
        pool.of_rings.merge(&self.samples);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn run(round: &Round, bench: &Bench, slow: bool) {
        let mut laps = round.laps(bench);
        while laps.next() {
            if slow {
                thread::yield_now();
            }
        }
    }

    /// Iterations and laps of rings, and the reason for the end, with two
    /// rings.
    fn measured(max_time: Option<Duration>, iters: u64) -> (u64, u64, Option<Ending>) {
        let bench = Bench::standalone(6, iters, 0, max_time).expect("affinity");
        let round = Round::measured(&bench, 2);
        thread::scope(|scope| {
            scope.spawn(|| run(&round, &bench, true));
            run(&round, &bench, false);
        });
        let of_rings = round.pool().of_rings.count();
        round.report(&bench);
        let findings = bench.findings();
        assert_eq!(findings.samples[0].count(), findings.iterations);
        (findings.iterations, of_rings, findings.ended_by)
    }

    #[test]
    fn an_iteration_is_a_lap_for_each_ring_of_any_of_them() {
        assert_eq!(measured(None, 50), (50, 100, Some(Ending::Iterations)));
    }

    #[test]
    fn reaching_the_time_limit_ends_the_round_after_a_whole_iteration() {
        let (iterations, laps, ended_by) = measured(Some(Duration::from_nanos(1)), u64::MAX);
        assert_eq!((laps, ended_by), (2 * iterations, Some(Ending::MaxTime)));
        assert!(iterations >= 1);
    }

    #[test]
    fn an_unfinished_lap_ends_the_round_for_all() {
        let bench = Bench::standalone(6, u64::MAX, 0, None).expect("affinity");
        let round = Round::measured(&bench, 2);
        thread::scope(|scope| {
            let other = scope.spawn(|| run(&round, &bench, false));
            let mut failing = round.laps(&bench);
            assert!((0..4).all(|_| failing.next()));
            drop(failing);
            other.join().expect("it ends");
        });
        round.report(&bench);
        assert_eq!(bench.findings().ended_by, Some(Ending::Error));
    }
}
