//! Laps: the measured loop of every program.
//!
//! ```text
//! for lap in bench.laps(&[Measured::hops(tasks)]) {
//!     pass the token
//!     lap.finish();
//! }
//! ```
//!
//! The loop is the same in sync and async code. It runs the warm-up, the measured iterations and
//! the marked ones in turn. The warm-up lasts for a time, since ten laps of a small case would take
//! microseconds. A lap takes its first timestamp directly before the body and its second first
//! thing in `finish`; all bookkeeping happens between laps. An unfinished lap, dropped because
//! passing the token failed, does not count.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::flags::Flags;
use crate::measure::clock;
use crate::measure::progress::Progress;
use crate::measure::samples::{Measured, Samples};
use crate::measure::state::{MOST_PHASES, Marks, Shared};
use crate::measure::trace::{Recorder, Tracer};
use crate::measure::usage::Start;
use crate::measure::work::PiecesBetweenLaps;
use crate::record::Ending;
use crate::tasks::station::{MOST_TRACED, TRACED, Token};

/// The shortest timed warm-up: caches, branch predictors and the CPU's
/// frequency settle within milliseconds.
pub(crate) const SHORTEST_WARMUP: Duration = Duration::from_millis(20);

/// The fewest laps of a timed warm-up.
pub(crate) const FEWEST_WARMUPS: u64 = 3;

/// When a timed warm-up stops: with a million tasks, a lap may take a second.
pub(crate) const LONGEST_WARMUP: Duration = Duration::from_secs(2);

/// Measured laps per marked one, so that marked laps take at most a tenth of
/// the time.
const LAPS_PER_MARKED: u64 = 10;

/// The share of `--max-time` that repeated laps take: each has a sample of every task.
const PART_OF_REPEATED: u32 = 4;

/// When `--trace` records no more laps.
const LONGEST_TRACE: Duration = Duration::from_secs(2);

/// The purpose of a loop of laps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LapPurpose {
    /// The program's principal measurement.
    Principal,
    /// One lap, the first, without a warm-up.
    Cold,
    /// An additional measurement, whose samples the program takes.
    Side,
    /// The same of laps that do what the principal ones did.
    Repeated,
}

impl LapPurpose {
    /// Whether the program takes the samples.
    fn is_sampled(self) -> bool {
        matches!(self, Self::Side | Self::Repeated)
    }
}

/// The progress of a loop of laps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Warmup,
    Measured,
    Marked,
    Over,
}

/// One iteration, being timed.
#[must_use = "a lap that is not finished is not counted"]
#[derive(Debug)]
pub struct Lap<'a> {
    shared: &'a Shared,
    ends: &'a Marks,
    tracer: Option<&'a Tracer>,
    phase: usize,
    marks: u8,
}

impl<'a> Lap<'a> {
    /// The token to send: 0, marked if there is a load at every hop, and marked differently in a
    /// traced lap.
    #[inline]
    pub fn token<T: Token>(&self) -> T {
        T::marked(self.marks)
    }

    /// Ends one phase of the lap and begins the next.
    #[inline]
    pub fn split(&mut self) {
        self.ends[self.phase].store(clock::now(), Relaxed);
        self.phase += 1;
    }

    /// Records a sample, in nanoseconds, in side laps. Samples of the warm-up
    /// are discarded.
    pub fn sample(&self, nanoseconds: u64) {
        self.shared.side_samples().push(nanoseconds);
    }

    /// Ends the lap.
    #[inline]
    pub fn finish(self) {
        self.ends[self.phase].store(clock::now(), Relaxed);
        if let Some(tracer) = self.tracer {
            tracer.note_driver(true);
        }
    }
}

/// The laps of one loop, in order.
#[derive(Debug)]
pub struct Laps<'a> {
    shared: &'a Shared,
    purpose: LapPurpose,
    stage: Stage,
    /// Laps still to start in this stage.
    left: u64,
    /// How long laps are started in a stage.
    time: Option<Duration>,
    /// When this stage stops starting laps.
    deadline: u64,
    /// When a timed warm-up is long enough.
    warm_at: Option<u64>,
    /// When the current lap began.
    begun: Option<u64>,
    samples: Vec<Samples>,
    iterations: u64,
    warmups: u64,
    ended_by: Option<Ending>,
    usage: Option<Start>,
    progress: Progress,
    /// The mark of every token if there is a load at every hop.
    load_mark: u8,
    /// Units of work timed between the measured laps, if there is work.
    units: Option<PiecesBetweenLaps>,
}

impl<'a> Laps<'a> {
    pub(crate) fn new(shared: &'a Shared, purpose: LapPurpose, phases: &[Measured]) -> Self {
        assert!((1..=MOST_PHASES).contains(&phases.len()), "a lap has 1 to {MOST_PHASES} phases");
        let Flags { warmups, max_time, .. } = shared.flags;
        let warmups = match purpose {
            LapPurpose::Principal | LapPurpose::Side => warmups,
            LapPurpose::Cold => Some(0),
            // The principal laps were a warm-up.
            LapPurpose::Repeated => warmups.or(Some(1)),
        };
        let time = match purpose {
            LapPurpose::Repeated => max_time.map(|time| time / PART_OF_REPEATED),
            _ => max_time,
        };
        let longest = warmups.is_none().then_some(LONGEST_WARMUP);
        Self {
            shared,
            purpose,
            stage: Stage::Warmup,
            left: warmups.unwrap_or(u64::MAX),
            time,
            deadline: in_future(time).min(in_future(longest)),
            warm_at: warmups.is_none().then(|| in_future(Some(SHORTEST_WARMUP))),
            begun: None,
            samples: phases.iter().copied().map(Samples::new).collect(),
            iterations: 0,
            warmups: 0,
            ended_by: None,
            usage: None,
            progress: Progress::new(shared.shows_progress()),
            load_mark: shared.load_mark(),
            units: (purpose == LapPurpose::Principal && shared.work.is_some())
                .then(PiecesBetweenLaps::new),
        }
    }

    /// Records the lap that has just finished, and returns when it ended;
    /// `None` if there was none or it was dropped unfinished.
    #[inline]
    fn close_lap(&mut self) -> Option<u64> {
        let phase_begun = self.begun.take()?;
        let mark = &self.shared.marks[self.samples.len() - 1];
        let last = mark.load(Relaxed);
        if last == 0 {
            return None;
        }
        mark.store(0, Relaxed);
        match self.stage {
            Stage::Warmup => self.warmups += 1,
            Stage::Measured => self.iterations += 1,
            Stage::Marked | Stage::Over => {}
        }
        if self.stage == Stage::Marked
            && let Some(tracer) = self.tracer()
        {
            let stops = tracer.drain_stops(phase_begun, last);
            if let Some(mut recorder) = self.recorder() {
                recorder.after_lap(stops);
            }
        }
        if self.purpose.is_sampled() {
            self.take_side_samples();
        } else if self.stage == Stage::Measured {
            self.take_phases(phase_begun, last);
        }
        Some(last)
    }

    /// Records the duration of each phase of the current lap.
    #[inline]
    fn take_phases(&mut self, mut phase_begun: u64, last: u64) {
        let (last_samples, earlier) = self.samples.split_last_mut().expect("a lap has a phase");
        for (samples, mark) in earlier.iter_mut().zip(&self.shared.marks) {
            let ended = mark.load(Relaxed);
            samples.add(ended.saturating_sub(phase_begun));
            phase_begun = ended;
        }
        last_samples.add(last.saturating_sub(phase_begun));
    }

    /// Records the program's samples in the current lap.
    fn take_side_samples(&mut self) {
        for nanoseconds in self.shared.side_samples().drain(..) {
            if self.stage == Stage::Measured {
                self.samples[0].add(nanoseconds);
            }
        }
    }

    /// Whether this stage starts no more laps. At least one iteration is
    /// measured, however late.
    #[inline]
    fn stage_is_over(&mut self, now: Option<u64>) -> bool {
        if self.shared.interrupted.load(Relaxed) {
            self.ended_by.get_or_insert(Ending::Signal);
            return true;
        }
        if self.left == 0 || (self.stage == Stage::Warmup && self.is_warm(now)) {
            return true;
        }
        let late = now.is_some_and(|now| now >= self.deadline);
        if late && self.stage == Stage::Measured {
            self.ended_by.get_or_insert(Ending::MaxTime);
        }
        late
    }

    /// Whether a timed warm-up is long enough.
    #[inline]
    fn is_warm(&self, now: Option<u64>) -> bool {
        self.warmups >= FEWEST_WARMUPS
            && self.warm_at.zip(now).is_some_and(|(warm_at, now)| now >= warm_at)
    }

    /// Enters the next stage. Usage counters are read last before the measured
    /// laps and first after them.
    fn advance(&mut self) {
        let interrupted = self.ended_by == Some(Ending::Signal);
        match self.stage {
            Stage::Warmup if !interrupted => {
                let once = self.purpose == LapPurpose::Cold;
                self.stage = Stage::Measured;
                self.left = if once { 1 } else { self.shared.flags.iters };
                self.progress.begin(self.left, "iterations");
                if self.purpose == LapPurpose::Principal {
                    self.usage = Some(self.shared.usage_from_now());
                }
                self.deadline = in_future(self.time);
            }
            Stage::Measured if !interrupted && self.tracer().is_some() => {
                self.ended_by.get_or_insert(Ending::Iterations);
                self.end_usage();
                self.stage = Stage::Marked;
                self.left = (self.iterations / LAPS_PER_MARKED).clamp(1, MOST_TRACED);
                self.deadline = in_future(self.time);
                if let Some(mut recorder) = self.recorder() {
                    let hops = self.samples[0].operations() / self.samples[0].count();
                    self.left = recorder.plan(hops).min(self.shared.flags.iters);
                    self.deadline = in_future(Some(LONGEST_TRACE));
                }
            }
            Stage::Warmup | Stage::Measured | Stage::Marked => {
                if self.stage == Stage::Measured {
                    self.ended_by.get_or_insert(Ending::Iterations);
                }
                if let Some(mut recorder) = self.recorder() {
                    recorder.end_batch();
                }
                self.stage = Stage::Over;
            }
            Stage::Over => {}
        }
    }

    fn tracer(&self) -> Option<&'a Tracer> {
        match self.purpose {
            LapPurpose::Principal => self.shared.tracer.get().map(|tracer| &**tracer),
            LapPurpose::Cold | LapPurpose::Side | LapPurpose::Repeated => None,
        }
    }

    /// What records this lap, if one is being traced.
    fn recorder(&self) -> Option<MutexGuard<'a, Recorder>> {
        if self.stage == Stage::Marked { self.shared.recorder() } else { None }
    }

    fn end_usage(&mut self) {
        if let Some(usage) = self.usage.take() {
            let mut span = usage.end();
            if let (Some(span), Some(units)) = (&mut span, &self.units) {
                span.used = span.used.without_user_ns(units.cpu_ns);
            }
            self.shared.findings().span = span;
        }
    }
}

/// The clock's value after this much time; without a time, never.
fn in_future(time: Option<Duration>) -> u64 {
    time.map_or(u64::MAX, |time| clock::now().saturating_add(time.as_nanos() as u64))
}

impl<'a> Iterator for Laps<'a> {
    type Item = Lap<'a>;

    #[inline]
    fn next(&mut self) -> Option<Lap<'a>> {
        let mut now = self.close_lap();
        while self.stage != Stage::Over && self.stage_is_over(now) {
            self.advance();
            now = None;
        }
        if self.stage == Stage::Over {
            return None;
        }
        self.left -= 1;
        if let Some(now) = now {
            self.progress.show(now, self.left);
        }
        if self.stage == Stage::Measured
            && let Some(units) = &mut self.units
        {
            units.time_one();
        }
        let tracer = if self.stage == Stage::Marked { self.tracer() } else { None };
        let marks = self.load_mark | if tracer.is_some() { TRACED } else { 0 };

        if let Some(mut recorder) = self.recorder() {
            recorder.before_lap();
        }
        if let Some(tracer) = tracer {
            tracer.note_driver(false);
        }
        let lap = Lap { shared: self.shared, ends: &self.shared.marks, tracer, phase: 0, marks };
        self.begun = Some(clock::now());
        Some(lap)
    }
}

impl Drop for Laps<'_> {
    /// Stores the measurements in the bench, even if the loop was left in the
    /// middle. A cold lap counts as the iterations until there are others.
    fn drop(&mut self) {
        self.end_usage();
        let mut findings = self.shared.findings();
        if let (Some(units), Some(work)) = (&self.units, &mut findings.work) {
            work.mean_ns_per_unit = units.pieces.mean_ns_per_unit();
        }
        let samples = self.samples.drain(..).filter(|samples| samples.count() > 0);
        let stands_alone = self.purpose == LapPurpose::Cold && findings.ended_by.is_none();
        if self.purpose == LapPurpose::Principal || stands_alone {
            findings.samples.splice(0..0, samples);
            findings.iterations = self.iterations;
            findings.warmups = self.warmups;
            findings.ended_by = Some(self.ended_by.unwrap_or(Ending::Error));
        } else {
            findings.samples.extend(samples);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::measure::bench::Bench;
    use crate::measure::clock;
    use crate::measure::samples::Measured;
    use crate::tasks::station::Token as _;

    fn bench(iters: u64, warmups: u64) -> Bench {
        Bench::standalone(3, iters, warmups, None).expect("affinity")
    }

    #[test]
    fn phases_add_up_to_the_lap() {
        let bench = bench(1, 0);
        let phases = [Measured::single("first", "step"), Measured::single("second", "step")];
        let begun = clock::now();
        for mut lap in bench.laps(&phases) {
            std::thread::sleep(Duration::from_millis(2));
            lap.split();
            std::thread::sleep(Duration::from_millis(1));
            lap.finish();
        }
        let whole = (clock::now() - begun) as f64;
        let samples = bench.findings().samples.clone();
        let mean = |phase: usize| samples[phase].measurement(1).expect("one sample").mean_ns;
        assert!(mean(0) >= 2e6 && mean(1) >= 1e6 && mean(0) + mean(1) <= whole);
    }

    /// A bench without `--warmups`.
    fn bench_warmed_by_time(iters: u64) -> Bench {
        let mut shared = std::sync::Arc::into_inner(bench(iters, 0).shared).expect("no clone");
        shared.flags.warmups = None;
        Bench { shared: shared.into() }
    }

    #[test]
    fn a_warm_up_of_short_laps_lasts_for_its_time() {
        let bench = bench_warmed_by_time(1);
        let begun = clock::now();
        let mut laps = 0;
        let mut last = begun;
        for lap in bench.laps(&[Measured::hops(3)]) {
            laps += 1;
            last = clock::now();
            lap.finish();
        }
        assert!(last - begun >= super::SHORTEST_WARMUP.as_nanos() as u64);
        assert_eq!(bench.findings().warmups, laps - 1);
    }

    #[test]
    fn a_warm_up_of_endless_laps_gives_way_to_measuring() {
        let bench = bench_warmed_by_time(5);
        let mut laps = bench.laps(&[Measured::hops(3)]);
        laps.deadline = 0;
        laps.for_each(|lap| lap.finish());
        let findings = bench.findings();
        assert_eq!((findings.warmups, findings.iterations), (1, 5));
    }

    #[test]
    fn marked_laps_follow_the_measured_ones_and_are_not_timed() {
        for (measured, expected) in [(5, 1), (10, 1), (30, 3), (100_000, super::MOST_TRACED)] {
            let bench = bench(measured, 0);
            let stations = [0, 1, 2].map(|task| bench.station(task));
            let mut marked = 0;
            for lap in bench.laps(&[Measured::hops(3)]) {
                let token: u8 = lap.token();
                if token.marks() != 0 {
                    marked += 1;
                    stations.iter().for_each(|station| station.visit(token));
                }
                lap.finish();
            }
            assert_eq!(marked, expected, "after {measured}");
            assert_eq!(bench.findings().samples[0].count(), measured);
            assert!(bench.tracer().cross_cpu_share().is_some());
        }
    }

    #[test]
    fn samples_of_side_laps_exclude_the_warm_up() {
        let bench = bench(2, 3);
        for (number, lap) in bench.side_laps(Measured::single("start", "start")).enumerate() {
            lap.sample(number as u64);
            lap.sample(number as u64);
            lap.finish();
        }
        let findings = bench.findings();
        let start = findings.samples[0].measurement(1).expect("samples");
        assert_eq!((start.count, start.min_ns, start.max_ns), (4, 3, 4));
    }
    #[test]
    fn repeated_laps_warm_up_once_and_take_a_part_of_the_time() {
        let mut shared = std::sync::Arc::into_inner(bench(1000, 0).shared).expect("no clone");
        shared.flags.warmups = None;
        shared.flags.max_time = Some(Duration::from_secs(4));
        let bench = Bench { shared: shared.into() };
        let laps = bench.repeated_laps(Measured::single("start", "start"));
        assert_eq!((laps.left, laps.time), (1, Some(Duration::from_secs(1))));
        for (number, lap) in laps.enumerate() {
            lap.sample(number as u64);
            lap.finish();
        }
        let findings = bench.findings();
        assert_eq!(findings.samples[0].measurement(1).expect("samples").min_ns, 1);
    }
}
