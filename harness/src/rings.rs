//! Rings that run at once: brigades of which each has a driver, a token and laps of its own.
//!
//! ```text
//! for round in bench.rounds() {
//!     in every driver, all of them at once:
//!     for lap in round.laps(ring) {
//!         pass the token
//!         lap.finish();
//!     }
//! }
//! ```
//!
//! The first round is the warm-up, the second is measured. In a round the drivers draw
//! their laps from one stock, so that all of them run until it is used up; a slow ring
//! makes fewer. An iteration is as many laps as there are rings, of whichever: it ends when
//! so many more are done. Its time by its hops is what the machine takes for a hop while
//! all rings run, the inverse of their throughput. What a hop takes in one ring is a second
//! measurement, `ring`, where there are several.
//!
//! At the end a ring waits for the others, for less than a lap: of n laps of each ring the
//! last one is beside fewer, and so the figures err by less than 1 / n.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::bench::{Bench, Marks, Shared};
use crate::clock;
use crate::laps::{FEWEST_WARMUPS, LONGEST_WARMUP, Lap, SHORTEST_WARMUP, in_future};
use crate::progress::Progress;
use crate::record::Ending;
use crate::samples::{Measured, Samples};
use crate::usage::Start;

/// The rounds of a run.
#[derive(Debug)]
pub struct Rounds<'a> {
    bench: &'a Bench,
    /// The round in hand.
    round: Option<Round>,
    /// What has been used since the measured round began.
    usage: Option<Start>,
    is_over: bool,
}

/// A round: laps of all rings at once. Clones are of the same round.
#[derive(Clone, Debug)]
pub struct Round {
    shared: Arc<Shared>,
    course: Arc<Course>,
}

/// How far a round has come.
#[derive(Debug)]
struct Course {
    rings: u64,
    is_measured: bool,
    /// What a lap of one ring measures.
    of_ring: Measured,
    stock: Mutex<Stock>,
    /// The laps in hand, of each ring.
    ends: Box<[Ends]>,
}

/// Two rings do not share a line of the caches.
#[repr(align(64))]
#[derive(Debug, Default)]
struct Ends(Marks);

/// The laps of a round that are left, and what was measured of those that are done.
#[derive(Debug)]
struct Stock {
    /// Laps that a driver has begun.
    drawn: u64,
    /// Laps that have been finished.
    done: u64,
    /// How many there are. It is a whole number of iterations.
    most: u64,
    /// From when on the drivers draw no more, and why.
    until_ns: u64,
    ending: Ending,
    /// Laps without which it is not over, however late.
    fewest: u64,
    /// When the iteration in hand began.
    begun_ns: Option<u64>,
    iterations: Samples,
    of_rings: Samples,
    progress: Progress,
}

impl Bench {
    /// The rounds of a program that has set its rings: the warm-up, and the measured one.
    pub fn rounds(&self) -> Rounds<'_> {
        self.calibrate_work();
        Rounds { bench: self, round: None, usage: None, is_over: false }
    }
}

impl Rounds<'_> {
    /// What a round begins with.
    fn begin(&self, is_measured: bool) -> Round {
        let shared = Arc::clone(&self.bench.shared);
        let rings = u64::from(self.bench.rings().unwrap_or(1));
        let hops = self.bench.tasks_of_ring() as u64 + 1;
        let mut progress = Progress::new(shared.shows_progress() && is_measured);
        let flags = &shared.flags;
        let by_time = !is_measured && flags.warmups.is_none();
        let (iterations, time, fewest) = if by_time {
            let longest = flags.max_time.unwrap_or(LONGEST_WARMUP);
            (u64::MAX, Some(SHORTEST_WARMUP.min(longest)), FEWEST_WARMUPS)
        } else {
            let iterations = if is_measured { Some(flags.iters) } else { flags.warmups };
            (iterations.unwrap_or(0), flags.max_time, u64::from(is_measured))
        };
        progress.begin(iterations, "iterations");
        let of_ring =
            Measured { name: "ring", operation: "hop", operations: hops, covers_tasks: false };
        let of_all = Measured { operations: rings * hops, ..Measured::hops(0) };
        let stock = Stock {
            drawn: 0,
            done: 0,
            most: iterations.saturating_mul(rings),
            until_ns: in_future(time),
            ending: Ending::Iterations,
            fewest: fewest * rings,
            begun_ns: None,
            iterations: Samples::new(of_all),
            of_rings: Samples::new(of_ring),
            progress,
        };
        let ends = (0..rings).map(|_| Ends::default()).collect();
        let course = Course { rings, is_measured, of_ring, stock: Mutex::new(stock), ends };
        Round { shared, course: Arc::new(course) }
    }

    /// Takes down what the round in hand has measured.
    fn end(&mut self) {
        let span = self.usage.take().map(Start::end);
        let Some(round) = self.round.take() else { return };
        let stock = round.course.stock();
        let mut findings = self.bench.findings();
        self.is_over = round.course.is_measured || stock.ending == Ending::Signal;
        if !round.course.is_measured {
            findings.warmups = stock.done / round.course.rings;
            return;
        }
        findings.span = span.flatten();
        findings.iterations = stock.iterations.count();
        findings.ended_by = Some(stock.ending);
        let of_rings = (round.course.rings > 1).then_some(&stock.of_rings);
        let measured = [&stock.iterations].into_iter().chain(of_rings);
        findings.samples = measured.filter(|samples| samples.count() > 0).cloned().collect();
    }
}

impl Iterator for Rounds<'_> {
    type Item = Round;

    fn next(&mut self) -> Option<Round> {
        let is_first = self.round.is_none();
        self.end();
        if self.is_over || self.bench.is_interrupted() {
            self.is_over = true;
            return None;
        }
        let round = self.round.insert(self.begin(!is_first)).clone();
        self.usage = (!is_first).then(|| self.bench.shared.usage_from_now());
        Some(round)
    }
}

impl Drop for Rounds<'_> {
    /// Leaves what was measured on the bench, also when a round has failed.
    fn drop(&mut self) {
        self.end();
    }
}

impl Round {
    /// The laps of the ring of this number, from 0.
    pub fn laps(&self, ring: usize) -> RingLaps<'_> {
        let Self { shared, course } = self;
        let samples = Samples::new(course.of_ring);
        RingLaps { shared, course, ends: &course.ends[ring].0, begun_ns: None, samples }
    }
}

/// The laps of one ring in a round, in order.
#[derive(Debug)]
pub struct RingLaps<'a> {
    shared: &'a Shared,
    course: &'a Course,
    ends: &'a Marks,
    /// When the lap in hand began.
    begun_ns: Option<u64>,
    samples: Samples,
}

impl<'a> RingLaps<'a> {
    /// Takes down the lap that has just been finished; says whether there was one.
    #[inline]
    fn close_lap(&mut self) -> bool {
        let ended_ns = self.ends[0].swap(0, Relaxed);
        match self.begun_ns {
            Some(begun_ns) if ended_ns != 0 => {
                self.samples.add(ended_ns.saturating_sub(begun_ns));
                self.begun_ns = None;
                true
            }
            _ => false,
        }
    }
}

impl<'a> Iterator for RingLaps<'a> {
    type Item = Lap<'a>;

    #[inline]
    fn next(&mut self) -> Option<Lap<'a>> {
        let finished = self.close_lap();
        if !self.course.draw(finished, self.shared.is_interrupted()) {
            return None;
        }
        let lap = Lap::of_ring(self.shared, self.ends, self.shared.load_mark());
        self.begun_ns = Some(clock::now());
        Some(lap)
    }
}

impl Drop for RingLaps<'_> {
    /// Leaves what was measured with the round. A lap in hand has failed, which ends the
    /// round for all.
    fn drop(&mut self) {
        let finished = self.close_lap();
        let mut stock = self.course.stock();
        if finished {
            stock.count(self.course.rings, clock::now());
        }
        if self.begun_ns.is_some() {
            stock.end(Ending::Error);
        }
        stock.of_rings.merge(&self.samples);
    }
}

impl Course {
    /// The stock. A driver that has panicked leaves it as it was.
    fn stock(&self) -> MutexGuard<'_, Stock> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes down that a lap is finished, if one is, and draws the next; says whether there
    /// was one.
    #[inline]
    fn draw(&self, finished: bool, is_interrupted: bool) -> bool {
        let mut stock = self.stock();
        let now_ns = clock::now();
        stock.begun_ns.get_or_insert(now_ns);
        if finished {
            stock.count(self.rings, now_ns);
        }
        if is_interrupted {
            stock.end(Ending::Signal);
        }
        if now_ns >= stock.until_ns && stock.drawn < stock.most {
            let whole = stock.drawn.max(stock.fewest).next_multiple_of(self.rings);
            if whole < stock.most {
                (stock.most, stock.ending) = (whole, Ending::MaxTime);
            }
        }
        let is_left = stock.drawn < stock.most;
        stock.drawn += u64::from(is_left);
        is_left
    }
}

impl Stock {
    /// Counts a lap that is done, of so many rings, and an iteration where it is the last of
    /// one.
    fn count(&mut self, rings: u64, now_ns: u64) {
        self.done += 1;
        if self.done.is_multiple_of(rings) {
            let begun_ns = self.begun_ns.replace(now_ns).unwrap_or(now_ns);
            self.iterations.add(now_ns - begun_ns);
            self.progress.show(now_ns, self.most.saturating_sub(self.done) / rings);
        }
    }

    /// Nobody draws any more.
    fn end(&mut self, ending: Ending) {
        (self.most, self.ending) = (self.drawn, ending);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicU64;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::spec::Spec;

    fn bench(rings: u32, iters: u64, warmups: u64, max_time: Option<Duration>) -> Bench {
        let bench = Bench::standalone(4, iters, warmups, max_time).expect("affinity");
        let mut shared = Arc::into_inner(bench.shared).expect("no clone");
        shared.spec = Spec { tasks: shared.spec.tasks * rings, rings: Some(rings), ..shared.spec };
        Bench { shared: shared.into() }
    }

    /// Runs all rounds, of which `pass` is a lap of this ring, and counts the laps.
    fn run(bench: &Bench, pass: impl Fn(usize) + Sync) -> Vec<u64> {
        let mut laps = Vec::new();
        for round in bench.rounds() {
            let drive = |ring| {
                let finish = |lap: Lap<'_>| {
                    pass(ring);
                    lap.finish();
                };
                round.laps(ring).map(finish).count() as u64
            };
            let rings = bench.rings().expect("some") as usize;
            let counts: Vec<u64> = thread::scope(|scope| {
                let drivers: Vec<_> =
                    (0..rings).map(|ring| scope.spawn(move || drive(ring))).collect();
                drivers.into_iter().map(|driver| driver.join().expect("no panic")).collect()
            });
            laps.push(counts.iter().sum());
        }
        laps
    }

    #[test]
    fn an_iteration_is_as_many_laps_as_there_are_rings() {
        let bench = bench(3, 7, 2, None);
        assert_eq!((bench.tasks(), bench.tasks_of_ring()), (12, 4));
        let begun_ns = clock::now();
        // Each lap needs one of every other ring beside it.
        let together = Barrier::new(3);
        let laps = run(&bench, |_| {
            together.wait();
            thread::sleep(Duration::from_millis(1));
        });
        let whole_ns = clock::now() - begun_ns;
        assert_eq!(laps, [6, 21]);
        let findings = bench.findings();
        assert_eq!((findings.iterations, findings.warmups), (7, 2));
        assert_eq!(findings.ended_by, Some(Ending::Iterations));
        let [iterations, of_rings] = &findings.samples[..] else { panic!("two measurements") };
        let of = |samples: &Samples| samples.measurement(12).expect("samples");
        let (iterations, of_rings) = (of(iterations), of(of_rings));
        assert_eq!((iterations.name.as_str(), iterations.operations), ("iteration", 15));
        assert_eq!((of_rings.name.as_str(), of_rings.operations, of_rings.count), ("ring", 5, 21));
        assert!((7e6..=whole_ns as f64).contains(&(iterations.mean_ns * 7.0)));
        assert!(of_rings.mean_ns >= 1e6);
        assert!(findings.span.is_some());
    }

    #[test]
    fn a_slow_ring_makes_fewer_laps_and_holds_nobody_up() {
        let bench = bench(2, 50, 0, None);
        let slow = Duration::from_millis(20);
        let counts = [const { AtomicU64::new(0) }; 2];
        run(&bench, |ring| {
            counts[ring].fetch_add(1, Relaxed);
            thread::sleep(if ring == 0 { slow } else { slow / 10 });
        });
        let [few, many] = counts.map(|count| count.into_inner());
        assert_eq!(few + many, 100);
        assert!(few < many, "{few} of the slow ring, {many} of the other");
    }

    #[test]
    fn time_that_is_spent_ends_with_a_whole_iteration() {
        let bench = bench(3, u64::MAX, 0, Some(Duration::from_nanos(1)));
        assert_eq!(run(&bench, |_| {}), [0, 3]);
        assert_eq!(bench.findings().ended_by, Some(Ending::MaxTime));
    }

    #[test]
    fn a_ring_that_begins_when_others_have_ended_measures_its_own_laps_alone() {
        let bench = bench(2, 5, 0, None);
        for round in bench.rounds() {
            round.laps(0).take(6).for_each(Lap::finish);
            round.laps(1).for_each(Lap::finish);
        }
        let laps: Vec<u64> = bench.findings().samples.iter().map(Samples::count).collect();
        assert_eq!(laps, [5, 10]);
    }

    #[test]
    fn of_one_ring_a_lap_is_the_iteration() {
        let bench = bench(1, 5, 0, None);
        assert_eq!(run(&bench, |_| {}), [0, 5]);
        assert_eq!(bench.findings().samples.len(), 1);
    }

    #[test]
    fn a_lap_that_is_left_unfinished_ends_the_round_for_all() {
        let bench = bench(2, u64::MAX, 0, None);
        for round in bench.rounds() {
            thread::scope(|scope| {
                let other = scope.spawn(|| round.laps(1).for_each(Lap::finish));
                let failed = round.laps(0).nth(3);
                assert_eq!(failed.is_some(), round.course.is_measured);
                other.join().expect("it ends");
            });
        }
        assert_eq!(bench.findings().ended_by, Some(Ending::Error));
    }

    #[test]
    fn an_interruption_ends_the_round_and_says_so() {
        let bench = bench(2, u64::MAX, 0, None);
        let passed = AtomicU64::new(0);
        run(&bench, |_| {
            if passed.fetch_add(1, Relaxed) == 99 {
                bench.interrupt();
            }
        });
        let findings = bench.findings();
        assert_eq!(findings.ended_by, Some(Ending::Signal));
        assert!(findings.iterations >= 49, "{}", findings.iterations);
    }
}
