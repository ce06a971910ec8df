//! The verdict on one case: the candidate's time divided by the baseline's, and
//! which of four words that ratio deserves.
//!
//! Times are compared as ratios, so everything happens among their logarithms:
//! a shift of those is a ratio of these, and swapping baseline and candidate turns
//! a ratio into its inverse and a verdict into its opposite.

use crate::judge::statistics::{ByRound, Interval, Shift, rank_sum_score, ratios};
use serde::{Deserialize, Serialize};

/// The two sides of a comparison: the baseline, then the candidate.
pub type Pair<T> = [T; 2];

/// The candidate's time divided by the baseline's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The estimate.
    pub estimate: f64,
    /// The interval of the requested confidence; `None` where there are too few
    /// rounds for it.
    pub interval: Option<Interval>,
}

impl Ratio {
    /// Of a comparison side by side: a disturbance of a round disturbs both sides
    /// of its pair. Only rounds that both measured count. `confidence` is 0 to 1;
    /// `None` without a common round, or with a time that is not positive.
    pub fn of_rounds(sides: Pair<&ByRound>, confidence: f64) -> Option<Self> {
        let [first, second] = sides;
        let logs = logarithms(&ratios(second, first))?;
        Shift::of_pairs(&logs, confidence).map(Self::of_shift)
    }

    /// Of two runs, with each end of the interval `drift` times as far from the
    /// estimate (see [`drift`]). `confidence` is 0 to 1; `None` if a run is empty
    /// or a time is not positive.
    pub fn of_runs(sides: Pair<&[f64]>, confidence: f64, drift: f64) -> Option<Self> {
        let [first, second] = sides;
        let mut shift = Shift::between(&logarithms(first)?, &logarithms(second)?, confidence)?;
        let away = |end: f64| shift.estimate + drift * (end - shift.estimate);
        let stretched = |ends: Interval| Interval { low: away(ends.low), high: away(ends.high) };
        shift.interval = shift.interval.map(stretched);
        Some(Self::of_shift(shift))
    }

    fn of_shift(logs: Shift) -> Self {
        let ratios = |ends: Interval| Interval { low: ends.low.exp(), high: ends.high.exp() };
        Self { estimate: logs.estimate.exp(), interval: logs.interval.map(ratios) }
    }
}

/// The logarithms of times or ratios; `None` if one of them has none.
fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|value| (*value > 0.0 && value.is_finite()).then(|| value.ln())).collect()
}

/// The factor by which to widen the intervals between two runs, if the runs
/// differ as much as the two halves of a run do; at least 1.
///
/// `runs` are the times of one case of one run each, in the order of rounds. The
/// squared rank sum score between the halves of a run has a mean of 1 if they
/// differ by chance alone (the Birge ratio, *The calculation of errors by the
/// method of least squares*, Physical Review 40 (1932), 207–227, with ranks in
/// place of means). The excess over 1 counts twice, as a run has twice the rounds
/// of a half: intervals are widened by √(1 + 2 · excess).
pub fn drift<'a>(runs: impl IntoIterator<Item = &'a [f64]>) -> f64 {
    let halves = runs.into_iter().map(|run| run.split_at(run.len() / 2));
    let squares: Vec<f64> = halves
        .filter_map(|(early, late)| rank_sum_score(early, late))
        .map(|score| score * score)
        .collect();
    let mean = squares.iter().sum::<f64>() / squares.len().max(1) as f64;
    (2.0 * mean - 1.0).max(1.0).sqrt()
}

/// The candidate against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It takes less time.
    Faster,
    /// It takes more time.
    Slower,
    /// The difference is smaller than the margin.
    Same,
    /// The rounds are too few or too noisy to tell.
    Unresolved,
}

impl Verdict {
    /// The verdict on a ratio. `margin` is the difference that does not matter,
    /// as a share: 0.03 for ratios of 1/1.03 to 1.03.
    ///
    /// An interval inside the margin is *same*, even if it excludes 1: the
    /// difference is certain and does not matter. Any other that excludes 1 is
    /// *faster* or *slower*. Without an interval the case is unresolved.
    pub fn of(ratio: &Ratio, margin: f64) -> Self {
        let Some(interval) = ratio.interval else { return Self::Unresolved };
        let most = 1.0 + margin;
        if 1.0 / most <= interval.low && interval.high <= most {
            Self::Same
        } else if interval.high < 1.0 {
            Self::Faster
        } else if interval.low > 1.0 {
            Self::Slower
        } else {
            Self::Unresolved
        }
    }

    /// The verdict on a ratio, whose difference must also hold where it is estimated
    /// more surely, by `sure`.
    pub fn if_sure(ratio: &Ratio, margin: f64, sure: impl Fn() -> Option<Ratio>) -> Self {
        let verdict = Self::of(ratio, margin);
        let is_sure = || sure().is_some_and(|ratio| Self::of(&ratio, 0.0) == verdict);
        match verdict {
            Self::Faster | Self::Slower if !is_sure() => Self::Unresolved,
            verdict => verdict,
        }
    }

    /// The verdict in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Unresolved => "unresolved",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(times: &[f64]) -> ByRound {
        (1..).zip(times.iter().copied()).collect()
    }

    fn ratio(low: f64, high: f64) -> Ratio {
        Ratio { estimate: f64::midpoint(low, high), interval: Some(Interval { low, high }) }
    }

    #[track_caller]
    fn check(ratio: Option<Ratio>, estimate: f64, ends: Option<(f64, f64)>) {
        let close = |actual: f64, expected: f64| (actual / expected - 1.0).abs() < 1e-9;
        let ratio = ratio.unwrap();
        assert!(close(ratio.estimate, estimate), "{ratio:?}");
        match (ratio.interval, ends) {
            (None, None) => {}
            (Some(interval), Some((low, high))) => {
                assert!(close(interval.low, low) && close(interval.high, high), "{ratio:?}");
            }
            _ => panic!("{ratio:?}"),
        }
    }

    // Six ratios 2 to 64: of six pairs the whole range is the 95 % interval.
    #[test]
    fn side_by_side_the_ratio_is_the_centre_of_those_by_round() {
        let first = rounds(&[1.0, 10.0, 3.0, 7.0, 5.0, 2.0]);
        let factors = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
        let second: ByRound =
            first.iter().zip(factors).map(|((round, time), by)| (*round, time * by)).collect();
        let centre = 2.0_f64.powf(3.5);
        check(Ratio::of_rounds([&first, &second], 0.95), centre, Some((2.0, 64.0)));
        check(Ratio::of_rounds([&second, &first], 0.95), 1.0 / centre, Some((1.0 / 64.0, 0.5)));
        check(Ratio::of_rounds([&first, &second], 0.99), centre, None);
    }

    #[test]
    fn rounds_that_one_side_lacks_do_not_count() {
        let first = ByRound::from([(1, 10.0), (2, 10.0), (3, 1.0)]);
        let second = ByRound::from([(2, 20.0), (3, 2.0), (4, 90.0)]);
        check(Ratio::of_rounds([&first, &second], 0.95), 2.0, None);
        assert_eq!(Ratio::of_rounds([&first, &ByRound::from([(9, 1.0)])], 0.95), None);
    }

    // Of 252 ways to mix five and five, 1, 1, 2 and 3 give the rank sums 0 to 3.
    // 4 / 252 is below 2.5 %, 7 / 252 is not: the ends are the third of the 25
    // ratios from either side, which are 2⁻³, 2⁻², 2⁻², 2⁻¹, 2⁻¹, 2⁻¹ and so on.
    #[test]
    fn one_after_the_other_the_ratio_is_that_of_all_pairs_of_processes() {
        let first = [1.0, 2.0, 4.0, 8.0, 16.0];
        let second = first.map(|time| time * 2.0);
        let (low, high) = (0.25, 16.0);
        check(Ratio::of_runs([&first, &second], 0.95, 1.0), 2.0, Some((low, high)));
        check(Ratio::of_runs([&first, &second], 0.999, 1.0), 2.0, None);
    }

    #[test]
    fn drift_takes_the_ends_of_the_interval_further_away() {
        let first = [1.0, 2.0, 4.0, 8.0, 16.0];
        let second = first.map(|time| time * 2.0);
        let (low, high) = (1.0 / 32.0, 128.0);
        check(Ratio::of_runs([&first, &second], 0.95, 2.0), 2.0, Some((low, high)));
    }

    #[test]
    fn a_time_without_a_logarithm_gives_no_ratio() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Ratio::of_runs([&[1.0, bad], &[1.0, 1.0]], 0.95, 1.0), None, "{bad}");
            let (first, second) = (rounds(&[1.0, bad]), rounds(&[1.0, 1.0]));
            assert_eq!(Ratio::of_rounds([&first, &second], 0.95), None, "{bad}");
        }
    }

    // The halves 1, 2 | 3, 4 have a score of 2 / √(5/3), whose square is 2.4; the
    // halves 1, 4 | 2, 3 have one of 0.
    #[test]
    fn drift_is_how_far_halves_lie_apart() {
        let apart = [1.0, 2.0, 3.0, 4.0];
        let alike = [1.0, 4.0, 2.0, 3.0];
        let of = |runs: &[&[f64]]| drift(runs.iter().copied());
        assert!((of(&[&apart]) - 3.8_f64.sqrt()).abs() < 1e-12);
        assert!((of(&[&apart, &alike]) - 1.4_f64.sqrt()).abs() < 1e-12);
        assert_eq!(of(&[&alike]), 1.0, "it never narrows");
        assert_eq!(of(&[]), 1.0);
        assert_eq!(of(&[&[], &[3.0], &[5.0; 6]]), 1.0, "too few to drift");
    }

    #[test]
    fn the_verdict_is_where_the_interval_lies() {
        for (low, high, expected) in [
            (0.98, 1.02, Verdict::Same),
            (1.01, 1.03, Verdict::Same),
            (1.0 / 1.03, 0.99, Verdict::Same),
            (1.01, 1.031, Verdict::Slower),
            (1.5, 1.6, Verdict::Slower),
            (0.97, 0.99, Verdict::Faster),
            (0.1, 0.2, Verdict::Faster),
            (1.0, 1.5, Verdict::Unresolved),
            (0.5, 1.0, Verdict::Unresolved),
            (0.9, 1.1, Verdict::Unresolved),
            (0.98, 1.04, Verdict::Unresolved),
        ] {
            assert_eq!(Verdict::of(&ratio(low, high), 0.03), expected, "[{low}, {high}]");
        }
    }

    #[test]
    fn without_an_interval_there_is_no_verdict() {
        let ratio = Ratio { estimate: 9.0, interval: None };
        assert_eq!(Verdict::of(&ratio, 0.03), Verdict::Unresolved);
    }

    #[test]
    fn without_a_margin_nothing_but_the_very_same_is_the_same() {
        assert_eq!(Verdict::of(&ratio(1.0, 1.0), 0.0), Verdict::Same);
        assert_eq!(Verdict::of(&ratio(1.0, 1.001), 0.0), Verdict::Unresolved);
    }
}
