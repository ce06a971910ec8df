//! How far one distribution lies above another, with an interval of any
//! confidence that presumes no shape of the distribution.
//!
//! The estimates are those of Hodges and Lehmann, *Estimates of location based
//! on rank tests*, Annals of Mathematical Statistics 34 (1963), 598–611: of
//! pairs the median of all averages of two differences (Walsh averages), of two
//! samples the median of all differences between a value of one and a value of
//! the other. An interval consists of the shifts that the exact test of
//! Wilcoxon (pairs), or of Mann and Whitney (samples), does not reject: its
//! ends are two of those averages or differences (Lehmann, *Nonparametrics*,
//! 1975, sections 4.3 and 2.6). Ties only make it cover more often, because it
//! is closed (Noether, *Wilcoxon confidence intervals for location parameters
//! in the discrete case*, JASA 62 (1967), 184–188).
//!
//! Of a normal sample these estimates need 5 % more values than the mean does,
//! and the median 57 % more (π/3 and π/2); one wild value in ten moves neither.
//! What they presume: differences of pairs that are as likely to lie above
//! their centre as below it by the same amount, which those of two like samples
//! always are; samples of two distributions of the same shape.

#[cfg(test)]
mod coverage;
mod ranks;
#[cfg(test)]
mod reference;
mod walsh;

use super::median_interval::Interval;
use super::normal::normal_deviate;
use super::quantile::{quantile, sorted};
use ranks::{rank_sum_probabilities, signed_rank_probabilities};
use walsh::{average_of_rank, averages, median_average};

/// Up to how many differences the probabilities of signed rank sums are exact:
/// there are as many steps to them as a third of its third power. Beyond, the
/// normal distribution is within one average of theirs at 95 %.
const MOST_EXACT: usize = 150;

/// How far something lies above something else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The estimate, in the unit of the values.
    pub estimate: f64,
    /// The interval of the confidence asked for; `None` where there are too
    /// few values for any of that confidence.
    pub interval: Option<Interval>,
}

impl Shift {
    /// The centre of `differences` between the two sides of pairs; `confidence`
    /// is 0 to 1. `None` for no differences.
    pub fn of_pairs(differences: &[f64], confidence: f64) -> Option<Self> {
        let sorted = sorted(differences);
        let count = averages(sorted.len());
        let outside = signed_ranks_in_tail(sorted.len(), (1.0 - confidence) / 2.0);
        let interval = (outside > 0).then(|| Interval {
            low: average_of_rank(&sorted, outside),
            high: average_of_rank(&sorted, count + 1 - outside),
        });
        (count > 0).then(|| Self { estimate: median_average(&sorted), interval })
    }

    /// How far the values of `second` lie above those of `first`, which are
    /// not paired; `confidence` is 0 to 1. `None` if either is empty.
    pub fn between(first: &[f64], second: &[f64], confidence: f64) -> Option<Self> {
        let differences = first.iter().flat_map(|low| second.iter().map(move |high| high - low));
        let candidates = sorted(&differences.collect::<Vec<_>>());
        let probabilities = rank_sum_probabilities(first.len(), second.len());
        let outside = values_in_tail(&probabilities, (1.0 - confidence) / 2.0);
        let interval = (outside > 0).then(|| Interval {
            low: candidates[outside - 1],
            high: candidates[candidates.len() - outside],
        });
        Some(Self { estimate: quantile(&candidates, 0.5)?, interval })
    }
}

/// The fewest pairs that give an interval of `confidence`, 0 to 1: all of n
/// differences lie on one side of their centre with probability 2 · 2⁻ⁿ.
pub fn fewest_pairs(confidence: f64) -> usize {
    (2.0 / (1.0 - confidence)).log2().ceil() as usize
}

/// How many of the smallest values of the signed rank sum of `count` differences
/// are together no likelier than `tail`.
fn signed_ranks_in_tail(count: usize, tail: f64) -> usize {
    if count <= MOST_EXACT {
        return values_in_tail(&signed_rank_probabilities(count), tail);
    }
    // The mean is n (n + 1) / 4, the variance n (n + 1)(2n + 1) / 24.
    let n = count as f64;
    let mean = n * (n + 1.0) / 4.0;
    let deviation = (mean * (2.0 * n + 1.0) / 6.0).sqrt();
    (mean + 0.5 - normal_deviate(tail) * deviation).floor().max(0.0) as usize
}

/// How many of the smallest values of a statistic, of which `probabilities`
/// tells that of 0, 1, 2 and so on, are together no likelier than `tail`.
fn values_in_tail(probabilities: &[f64], tail: f64) -> usize {
    // A probability that is the tail's exactly must not miss it by rounding.
    let tail = tail * (1.0 + 1e-9);
    let mut below = 0.0;
    let fits = |probability: &&f64| {
        below += **probability;
        below <= tail
    };
    probabilities.iter().take_while(fits).count().min(probabilities.len() / 2)
}

/// By how many standard deviations the rank sum of `second` differs from what
/// chance alone would give; its square is 1 in the mean where both samples come
/// from one distribution. `None` if either is empty or all values are equal.
///
/// Mann and Whitney, *On a test of whether one of two random variables is
/// stochastically larger than the other*, Annals of Mathematical Statistics 18
/// (1947), 50–60, with the variance corrected for ties (Lehmann 1975, 1.4).
pub fn rank_sum_score(first: &[f64], second: &[f64]) -> Option<f64> {
    let (m, n) = (first.len() as f64, second.len() as f64);
    let wins = |low: &f64, high: &f64| match high.total_cmp(low) {
        std::cmp::Ordering::Greater => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Less => 0.0,
    };
    let won: f64 =
        first.iter().flat_map(|low| second.iter().map(move |high| wins(low, high))).sum();
    let all = m + n;
    let tied: f64 = sorted(&[first, second].concat())
        .chunk_by(|a, b| a == b)
        .map(|ties| (ties.len() as f64).powi(3) - ties.len() as f64)
        .sum();
    let variance = m * n / 12.0 * (all + 1.0 - tied / (all * (all - 1.0)));
    (variance > 0.0).then(|| (won - m * n / 2.0) / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(shift: Option<Shift>, estimate: f64, ends: Option<(f64, f64)>) {
        let interval = ends.map(|(low, high)| Interval { low, high });
        assert_eq!(shift, Some(Shift { estimate, interval }));
    }

    #[test]
    fn nothing_has_no_shift() {
        assert_eq!(Shift::of_pairs(&[], 0.95), None);
        assert_eq!(Shift::between(&[], &[1.0], 0.95), None);
        assert_eq!(Shift::between(&[1.0], &[], 0.95), None);
        assert_eq!(rank_sum_score(&[], &[1.0]), None);
    }

    #[test]
    fn one_value_on_each_side_has_a_shift_and_no_interval() {
        check(Shift::of_pairs(&[3.0], 0.95), 3.0, None);
        check(Shift::between(&[2.0], &[7.0], 0.95), 5.0, None);
    }

    // Walsh averages of 1, 2, 6: 1, 1.5, 2, 3.5, 4, 6. The rank sum is 0 with
    // probability 1/8, so that the outermost two make an interval of 75 %.
    #[test]
    fn three_pairs_worked_by_hand() {
        check(Shift::of_pairs(&[6.0, 1.0, 2.0], 0.75), 2.75, Some((1.0, 6.0)));
        check(Shift::of_pairs(&[6.0, 1.0, 2.0], 0.76), 2.75, None);
        // 0 and 1 together have probability 1/4.
        check(Shift::of_pairs(&[6.0, 1.0, 2.0], 0.5), 2.75, Some((1.5, 4.0)));
    }

    // Differences of 10, 13 over 1, 2, 4: 6, 8, 9, 9, 11, 12. Of the 10 ways to
    // mix 2 and 3 values one gives each of 0 and 1.
    #[test]
    fn two_samples_worked_by_hand() {
        let between = |confidence| Shift::between(&[4.0, 1.0, 2.0], &[10.0, 13.0], confidence);
        check(between(0.81), 9.0, None);
        check(between(0.8), 9.0, Some((6.0, 12.0)));
        check(between(0.6), 9.0, Some((8.0, 11.0)));
    }

    #[test]
    fn ties_and_zero_spread_give_an_interval_of_no_width() {
        check(Shift::of_pairs(&[2.0; 8], 0.95), 2.0, Some((2.0, 2.0)));
        check(Shift::between(&[1.0; 6], &[1.0; 6], 0.95), 0.0, Some((0.0, 0.0)));
    }

    #[test]
    fn many_signed_ranks_are_counted_as_by_their_probabilities() {
        let count = MOST_EXACT + 1;
        for tail in [0.025, 0.005, 0.0005] {
            let exact = values_in_tail(&signed_rank_probabilities(count), tail);
            let counted = signed_ranks_in_tail(count, tail);
            // A standard deviation is 540 ranks.
            assert!(counted.abs_diff(exact) <= 20, "{tail}: {counted}, not {exact}");
        }
    }

    #[test]
    fn the_fewest_pairs_are_those_that_give_an_interval() {
        assert_eq!(fewest_pairs(0.95), 6);
        assert_eq!(fewest_pairs(0.99), 8);
        // 2 · 2⁻⁵ is the rest exactly.
        assert_eq!(fewest_pairs(0.9375), 5);
        for confidence in [0.9, 0.9375, 0.95, 0.99, 0.9995] {
            let fewest = fewest_pairs(confidence);
            let has = |count| Shift::of_pairs(&vec![1.0; count], confidence).unwrap().interval;
            assert!(has(fewest).is_some() && has(fewest - 1).is_none(), "{confidence}");
        }
    }

    // 3 and 4 win 4 of 4 against 1 and 2, where 2 are expected with variance
    // 2 · 2 · 5 / 12 = 5/3.
    #[test]
    fn a_rank_sum_worked_by_hand() {
        let score = rank_sum_score(&[1.0, 2.0], &[3.0, 4.0]).unwrap();
        assert!((score - 2.0 / (5.0_f64 / 3.0).sqrt()).abs() < 1e-12, "{score}");
        assert_eq!(rank_sum_score(&[1.0, 4.0], &[2.0, 3.0]), Some(0.0));
        assert_eq!(rank_sum_score(&[5.0; 4], &[5.0; 4]), None);
    }

    // 1, 2 against 2, 3: 3.5 of 4 won; one tie of 2 takes 6 / (4 · 3) off 5.
    #[test]
    fn ties_lessen_the_variance_of_a_rank_sum() {
        let score = rank_sum_score(&[1.0, 2.0], &[2.0, 3.0]).unwrap();
        assert!((score - 1.5 / (4.0_f64 / 12.0 * 4.5).sqrt()).abs() < 1e-12, "{score}");
    }

    proptest::proptest! {
        #[test]
        fn swapping_the_sides_turns_the_sign(
            first in proptest::collection::vec(-1e3..1e3_f64, 1..20),
            second in proptest::collection::vec(-1e3..1e3_f64, 1..20),
        ) {
            let there = Shift::between(&first, &second, 0.95).unwrap();
            let back = Shift::between(&second, &first, 0.95).unwrap();
            proptest::prop_assert!((there.estimate + back.estimate).abs() < 1e-9);
            let ends = |shift: Shift| shift.interval.map(|interval| (interval.low, interval.high));
            proptest::prop_assert_eq!(ends(there), ends(back).map(|(low, high)| (-high, -low)));
        }
    }
}
