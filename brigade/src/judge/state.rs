//! The state of a run: whether its figures can be quoted, and what speaks against that. Every
//! command that draws a conclusion from a run asks here.

use std::collections::BTreeMap;

use serde::Serialize;

use super::lost_time::LostTime;
pub use super::lost_time::{Cause, Word};
use super::run::Run;
use super::statistics::{median, quantile, sorted};
use crate::store::results::Reference;

/// The fewest rounds with a verdict.
pub const FEWEST_ROUNDS: u32 = 3;

/// From this share of the time on, lost time is reported.
const NOTABLE: f64 = 0.02;
/// From this share of a run's time on, its figures should not be quoted.
const UNFIT: f64 = 0.05;

/// The machine changed its speed if the slowest tenth of its readings is by this share slower than
/// the fastest tenth. docs/STATISTICS.md shows what runs on either side of it are like.
const UNSTEADY: f64 = 1.0 / 3.0;
/// A quiet run's reference work differs by at most this share from its median in earlier quiet runs
/// of the machine, if there are so many.
const SAME_PACE: f64 = 0.15;
const FEWEST_EARLIER: usize = 2;

/// The fewest readings that have tenths.
const FEWEST_READINGS: usize = 20;
/// The fewest readings on a CPU that show its own speed: CPUs of one machine may differ.
const FEWEST_ON_CPU: usize = 5;

/// The state of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct State {
    /// The verdict.
    pub word: Word,
    /// What took time from its tasks, the largest share first.
    pub causes: Vec<Cause>,
    /// How much slower the machine was in the slowest tenth of the readings of its speed than in the
    /// fastest, as a share; `null` for too few readings.
    pub speed_change: Option<f64>,
    /// How fast the machine was compared with earlier quiet runs; `null` for fewer than two.
    pub pace: Option<Pace>,
    /// Whether it has enough rounds, and lost so little time, that its ratios answer questions.
    pub is_fit: bool,
    /// Whether the machine kept its speed as well, so that its times can be compared with those of
    /// another run.
    pub is_comparable: bool,
    /// Whether a CPU quota that cannot be seen may have stopped its tasks. `throttled` of the lost time
    /// is then `null`.
    #[serde(skip)]
    pub hides_throttling: bool,
    /// The names of the other programs, as far as they are known: only while a run's screen is on a
    /// terminal, since no file names them.
    #[serde(skip)]
    pub programs: Vec<String>,
}

/// How fast a machine was compared with earlier quiet runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Pace {
    /// The time of the reference work divided by its median in those runs.
    pub ratio: f64,
    /// How many runs these are.
    pub runs: usize,
}

impl Pace {
    /// Whether the machine was as fast as in those runs.
    fn is_usual(self) -> bool {
        (1.0 / (1.0 + SAME_PACE)..=1.0 + SAME_PACE).contains(&self.ratio)
    }
}

impl State {
    /// The state of a run with so many whole rounds.
    pub fn of_run(run: &Run, rounds: u32) -> Self {
        Self::new(run.lost_time(), speed_change(run.references()), rounds).under_emulator_of(run)
    }

    /// The state of one side of a comparison whose sides use different CPUs. What was lost is taken
    /// as that of a single CPU: it may all have been lost on the one that matters.
    pub fn on_its_cpus(run: &Run, rounds: u32) -> Self {
        Self::new(run.lost_time_of_one_cpu(), None, rounds).under_emulator_of(run)
    }

    /// The state if the run was emulated: whatever disturbed it, it answers nothing.
    fn under_emulator_of(self, run: &Run) -> Self {
        if run.is_emulated() {
            Self { word: Word::Emulated, is_fit: false, is_comparable: false, ..self }
        } else {
            self
        }
    }

    fn new(lost: Option<LostTime>, speed_change: Option<f64>, rounds: u32) -> Self {
        let causes = lost.map_or_else(Vec::new, |lost| lost.causes());
        let hides_throttling = lost.is_some_and(|lost| lost.throttled.is_none());
        let share = lost_share(&causes);
        let others = causes.iter().find(|cause| cause.word == Word::Busy);
        let is_unsteady = speed_change.is_some_and(|share| share >= UNSTEADY);
        let word = if rounds < FEWEST_ROUNDS {
            Word::Early
        } else if share > NOTABLE {
            seen(&causes).next().map_or(Word::Unknown, |cause| cause.word)
        } else if is_unsteady {
            Word::Unsteady
        } else if others.is_none_or(|others| others.share > NOTABLE) {
            Word::Unknown
        } else {
            Word::Quiet
        };
        let is_fit = share <= UNFIT && rounds >= FEWEST_ROUNDS;
        let is_comparable = is_fit && !is_unsteady;
        Self {
            word,
            causes,
            speed_change,
            pace: None,
            is_fit,
            is_comparable,
            hides_throttling,
            programs: Vec::new(),
        }
    }

    /// The state for a run whose reference work took this long, next to its times in earlier
    /// quiet runs of the machine.
    pub fn with_pace(self, reference_ns: Option<f64>, earlier_ns: &[f64]) -> Self {
        if earlier_ns.len() < FEWEST_EARLIER {
            return self;
        }
        let Some(own_ns) = reference_ns else { return self };
        let Some(usual_ns) = median(earlier_ns) else { return self };
        let ratio = own_ns / usual_ns;
        let pace = Pace { ratio, runs: earlier_ns.len() };
        let word = match self.word {
            Word::Quiet if pace.is_usual() => Word::Quiet,
            Word::Quiet if ratio > 1.0 => Word::Slow,
            Word::Quiet => Word::Fast,
            other => other,
        };
        Self { word, pace: Some(pace), ..self }
    }

    /// Whether so much time was lost that ratios do not answer questions.
    pub fn is_disturbed(&self) -> bool {
        lost_share(&self.causes) > UNFIT
    }

    /// Whether an emulator ran the programs.
    pub fn is_emulated(&self) -> bool {
        self.word == Word::Emulated
    }

    /// Whether the machine changed its speed.
    pub fn is_unsteady(&self) -> bool {
        self.speed_change.is_some_and(|share| share >= UNSTEADY)
    }
}

/// The causes of which more than a bound is known.
fn seen(causes: &[Cause]) -> impl Iterator<Item = &Cause> {
    causes.iter().filter(|cause| !cause.is_bound)
}

/// The share of the time that these took together.
fn lost_share(causes: &[Cause]) -> f64 {
    seen(causes).map(|cause| cause.share).sum()
}

/// How much slower the reference work is in the slowest tenth of its readings than in the fastest,
/// as a share. Each reading counts relative to the others on its CPU.
fn speed_change(references: &[Reference]) -> Option<f64> {
    let mut by_cpu = BTreeMap::<usize, Vec<f64>>::new();
    for reference in references {
        if reference.kernel_ns > 0.0 && reference.kernel_ns.is_finite() {
            by_cpu.entry(reference.cpu).or_default().push(reference.kernel_ns);
        }
    }
    let all = median(&by_cpu.values().flatten().copied().collect::<Vec<_>>())?;
    let relative = by_cpu.values().flat_map(|readings| {
        let own = if readings.len() >= FEWEST_ON_CPU { median(readings) } else { None };
        let usual = own.unwrap_or(all);
        readings.iter().map(move |ns| ns / usual)
    });
    let relative = sorted(&relative.collect::<Vec<_>>());
    let [fast, slow] = [0.1, 0.9].map(|probability| quantile(&relative, probability));
    (relative.len() >= FEWEST_READINGS).then_some(slow? / fast? - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    /// The word of a run that lost this much, on a machine that changed its speed by so much.
    #[track_caller]
    fn check(lost: LostTime, change: f64, expected: Word, is_fit: bool, is_comparable: bool) {
        let state = State::new(Some(lost), Some(change), 12);
        let found = (state.word, state.is_fit, state.is_comparable);
        assert_eq!(found, (expected, is_fit, is_comparable), "{lost:?} {change}");
        assert_eq!(state.is_disturbed(), !is_fit, "{lost:?}");
        let short = State::new(Some(lost), None, 2);
        assert_eq!((short.word, short.is_fit, short.is_comparable), (Word::Early, false, false));
    }

    #[test]
    fn a_run_has_the_word_of_what_took_most_of_its_time() {
        let nothing = LostTime {
            others: Some(0.0),
            stolen: Some(0.0),
            resolution: Some(0.0),
            ..LostTime::default()
        };
        check(nothing, 0.3, Word::Quiet, true, true);
        check(nothing, 0.4, Word::Unsteady, true, false);
        let stolen = |share| LostTime { stolen: Some(share), ..nothing };
        check(stolen(0.0106), 0.1, Word::Quiet, true, true);
        check(stolen(0.03), 0.1, Word::Stolen, true, true);
        let busy = |share| LostTime { others: Some(share), resolution: Some(0.01), ..nothing };
        check(busy(0.009), 0.1, Word::Quiet, true, true);
        check(busy(0.08), 0.1, Word::Busy, false, false);
        check(LostTime { stolen: Some(0.02), ..busy(0.04) }, 0.9, Word::Busy, false, false);
        check(LostTime { stopped: 0.3, ..busy(0.2) }, 0.1, Word::Stopped, false, false);
        check(LostTime { throttled: Some(0.3), ..nothing }, 0.1, Word::Throttled, false, false);
        check(LostTime { unexplained: 0.3, ..nothing }, 0.1, Word::Disturbed, false, false);
        // Nothing shows whether others took 3 %, or what they took at all.
        check(LostTime { resolution: Some(0.0315), ..nothing }, 0.1, Word::Unknown, true, true);
        check(LostTime::default(), 0.1, Word::Unknown, true, true);
        assert_eq!(State::new(None, None, 12).word, Word::Unknown);
        // The largest cause is the first, even if it is only a bound.
        let word = |lost: LostTime| lost.causes().first().map(|cause| (cause.word, cause.is_bound));
        assert_eq!(
            word(LostTime { resolution: Some(0.004), ..stolen(0.0106) }),
            Some((Word::Stolen, false))
        );
        assert_eq!(
            word(LostTime { resolution: Some(0.004), ..stolen(0.001) }),
            Some((Word::Busy, true))
        );
    }

    #[test]
    fn a_quiet_run_is_slow_or_fast_next_to_two_earlier_ones() {
        let quiet = LostTime {
            others: Some(0.0),
            stolen: Some(0.0),
            resolution: Some(0.0),
            ..LostTime::default()
        };
        let busy = LostTime { others: Some(0.3), resolution: Some(0.01), ..quiet };
        for (lost, own_ns, earlier_ns, expected) in [
            (quiet, 1000.0, &[500.0][..], Word::Quiet),
            (quiet, 574.0, &[500.0, 400.0, 900.0], Word::Quiet),
            (quiet, 576.0, &[500.0, 400.0, 900.0], Word::Slow),
            (quiet, 430.0, &[500.0, 500.0], Word::Fast),
            (busy, 1000.0, &[500.0, 500.0], Word::Busy),
        ] {
            let state = State::new(Some(lost), None, 12).with_pace(Some(own_ns), earlier_ns);
            assert_eq!(state.word, expected, "{own_ns} {earlier_ns:?}: {state:?}");
            assert_eq!(state.is_fit, expected != Word::Busy, "ratios remain");
        }
        let unknown = State::new(Some(quiet), None, 12).with_pace(None, &[500.0, 500.0]);
        assert_eq!((unknown.word, unknown.pace), (Word::Quiet, None));
    }

    /// Readings on these CPUs, in turn.
    fn readings(count: usize, ns: impl Fn(usize) -> f64) -> Vec<Reference> {
        let reading = |index: usize| Reference { cpu: index % 2, kernel_ns: ns(index) };
        (0..count).map(reading).collect()
    }

    #[test]
    fn the_speed_changes_if_that_of_each_cpu_does() {
        let change = |count, ns: fn(usize) -> f64| {
            Some((speed_change(&readings(count, ns))? * 1e6).round() / 1e6)
        };
        // A fast and a slow CPU.
        assert_eq!(change(40, |index| [500.0, 900.0][index % 2]), Some(0.0));
        // Both are slower for half of the time.
        assert_eq!(change(40, |index| if index < 20 { 500.0 } else { 700.0 }), Some(0.4));
        assert_eq!(change(40, |_| 0.0), None);
        assert_eq!(change(19, |index| index as f64 + 1.0), None);
        assert_eq!(change(0, |_| 1.0), None);
    }
}
