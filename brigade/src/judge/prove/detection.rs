//! Known differences: work that differs by a known amount, found by the verdict of
//! `brigade compare`.
//!
//! A case with some work is compared with itself with 5 % more. The true ratio
//! follows from the additional work and the time of a hop: the intervals must hold
//! it as often as they claim. How often the verdict is *slower* is reported.

use crate::judge::statistics::{ByRound, median, proportion};

use super::proof::{Figure, Standing};
use crate::judge::compare::verdict::{Pair, Ratio, Verdict};

/// How many times as much work the candidate has.
pub const MORE_WORK: f64 = 1.05;

/// Confidence of each interval, 0 to 1.
const CONFIDENCE: f64 = 0.95;

/// Confidence of the share of intervals that hold the truth, 0 to 1.
const CONFIDENCE_OF_SHARE: f64 = 0.999;

/// The least share of intervals that must hold the truth, in percent.
const LEAST_PERCENT: f64 = 90.0;

/// The difference that does not matter to a verdict, as a share.
const MARGIN: f64 = 0.03;

/// One comparison.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// Mean times of a hop, in nanoseconds.
    pub sides: Pair<ByRound>,
    /// The true ratio, as each process of the baseline has it.
    pub truths: Vec<f64>,
}

/// The detection rate, and how often the intervals hold the truth.
pub fn figures(trials: &[Trial]) -> Vec<Figure> {
    let of_trial = |trial: &Trial| {
        let ratio = Ratio::of_rounds(trial.sides.each_ref(), CONFIDENCE)?;
        let (interval, truth) = (ratio.interval?, median(&trial.truths)?);
        let holds = (interval.low..=interval.high).contains(&truth);
        Some((Verdict::of(&ratio, MARGIN) == Verdict::Slower, holds))
    };
    let results: Vec<(bool, bool)> = trials.iter().filter_map(of_trial).collect();
    let all = results.len() as f64;
    let found = results.iter().filter(|(found, _)| *found).count();
    let holding = results.iter().filter(|(_, holds)| *holds).count();
    let what = format!("intervals that hold the true ratio, of {all}");
    let Some(share) = proportion(holding as u64, results.len() as u64, CONFIDENCE_OF_SHARE) else {
        return vec![Figure::missing(what, "").must("too few comparisons", false)];
    };
    let percent = 100.0 * holding as f64 / all;
    let standing = if 100.0 * share.high < LEAST_PERCENT {
        Standing::Fails
    } else if percent >= LEAST_PERCENT {
        Standing::Holds
    } else {
        Standing::NotShown
    };
    vec![
        Figure::new(format!("5 % more work found, of {all}"), 100.0 * found as f64 / all, "%"),
        Figure::new(what, percent, "%")
            .between(100.0 * share.low, 100.0 * share.high)
            .judged(format!("{LEAST_PERCENT} % or more"), standing),
    ]
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    /// 40 comparisons of 8 rounds that scatter by 2 %; the candidate takes `longer`
    /// times as long, and is reported to take 1.05 times as long.
    fn trials(longer: f64) -> Vec<Trial> {
        let mut rng = Rng::with_seed(3);
        let mut side = |hop: f64| -> ByRound {
            (1..=8).map(|round| (round, hop * (1.0 + 0.02 * (rng.f64() - 0.5)))).collect()
        };
        (0..40)
            .map(|_| Trial { sides: [side(100.0), side(100.0 * longer)], truths: vec![1.05] })
            .collect()
    }

    #[test]
    fn a_known_difference_is_found_and_held() {
        let [rate, truth] = &figures(&trials(1.05))[..] else { panic!("two figures") };
        assert_eq!((rate.value, rate.standing), (Some(100.0), Standing::Unjudged));
        assert_eq!(truth.standing, Standing::Holds, "{truth:?}");
    }

    #[test]
    fn intervals_beside_the_truth_fail() {
        assert_eq!(figures(&trials(1.02))[1].standing, Standing::Fails);
    }

    #[test]
    fn nothing_to_compare_fails() {
        assert_eq!(figures(&[])[0].standing, Standing::Fails);
    }
}
