//! The median of a sample with an interval that presumes nothing about the
//! distribution's shape.
//!
//! How many of *n* values fall below the true median is a fair coin tossed *n*
//! times. So the interval from the *d*-th smallest value to the *d*-th largest
//! covers the median with probability γ(d) = 1 − 2 P(B < d), B ~ Bin(n, ½),
//! whatever the distribution. These probabilities come in steps; between the
//! two steps around the confidence asked for the ends are interpolated as in
//! Hettmansperger and Sheather, *Confidence intervals based on interpolated
//! order statistics*, Statistics & Probability Letters 4 (1986), 75–79. (For the
//! median this is also the interval of Nyblom, *Note on interpolated order
//! statistics*, Statistics & Probability Letters 14 (1992), 129–131.)

use serde::{Deserialize, Serialize};

/// The smallest sample that gets an interval of 95 %. The range of five values
/// covers the median with probability 93.75 %, and is given as it is; the range
/// of four covers it with 87.5 % only.
pub const MIN_SAMPLE: usize = 5;

/// A closed interval, in the unit of what it estimates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies inside, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The interval of confidence `level`, 0 to 1, for a sample in ascending order,
/// which has two values at least.
pub(super) fn interval(sorted: &[f64], level: f64) -> Interval {
    let count = sorted.len();
    let Cut { rank, weight } = cut(count, level);
    let inwards = |outer: f64, inner: f64| outer * (1.0 - weight) + inner * weight;
    Interval {
        low: inwards(sorted[rank - 1], sorted[rank]),
        high: inwards(sorted[count - rank], sorted[count - rank - 1]),
    }
}

/// Where an interval's ends lie among the order statistics.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cut {
    /// *d*: the outer ends are the `rank`-th smallest and largest values.
    rank: usize,
    /// λ: how far each end moves inwards, to its neighbour; 0 to 1.
    weight: f64,
}

/// The cut that gives a sample of `count` values the confidence `level`, or the
/// whole range where even that falls short of it.
fn cut(count: usize, level: f64) -> Cut {
    let mut below = 0.0;
    let mut outer = 1.0;
    // The logarithm of the probability of `rank` − 1 successes.
    let mut log = -(count as f64) * std::f64::consts::LN_2;
    for rank in 1.. {
        below += log.exp();
        log += ((count - rank + 1) as f64 / rank as f64).ln();
        let inner = 1.0 - 2.0 * below;
        if inner < level {
            return match rank - 1 {
                0 => Cut { rank: 1, weight: 0.0 },
                rank => {
                    let share = (outer - level) / (outer - inner);
                    Cut { rank, weight: weight(count, rank, share) }
                }
            };
        }
        outer = inner;
    }
    unreachable!("γ falls below every level before the ranks meet")
}

/// λ = (n − d) I / (d + (n − 2d) I), where I is the `share` of the way from γ(d)
/// down to γ(d + 1) at which the confidence asked for lies.
fn weight(count: usize, rank: usize, share: f64) -> f64 {
    let (n, d) = (count as f64, rank as f64);
    (n - d) * share / (d + (n - 2.0 * d) * share)
}

#[cfg(test)]
mod tests {
    use super::super::Estimate;
    use super::super::quantile::sorted;
    use super::*;

    fn close(actual: f64, expected: f64) -> bool {
        (actual - expected).abs() <= 1e-9 * expected.abs().max(1.0)
    }

    #[track_caller]
    fn check(values: &[f64], low: f64, high: f64) {
        let interval = Estimate::of(values).unwrap().interval.unwrap();
        assert!(close(interval.low, low) && close(interval.high, high), "{interval:?}");
    }

    #[test]
    fn five_values_have_their_range_as_interval() {
        check(&[5.0, 1.0, 2.0, 9.0, 3.0], 1.0, 9.0);
    }

    // n = 6: γ(1) = 1 − 2/64 = 31/32, γ(2) = 1 − 14/64 = 25/32, so
    // I = (31/32 − 19/20) / (6/32) = 1/10 and λ = 5/10 / (1 + 4/10) = 5/14.
    #[test]
    fn six_values_have_ends_five_fourteenths_inwards() {
        check(&[0.0, 14.0, 20.0, 30.0, 86.0, 100.0], 5.0, 95.0);
    }

    // n = 8: γ(1) = 254/256, γ(2) = 238/256, so I = (254/256 − 0.99) · 16 = 0.035
    // and λ = 7 · 0.035 / (1 + 6 · 0.035) = 24.5/121.
    #[test]
    fn eight_values_have_an_interval_of_99_percent_and_seven_none() {
        let values = [0.0, 121.0, 130.0, 140.0, 150.0, 160.0, 179.0, 300.0];
        let Interval { low, high } = Estimate::at(0.99, &values).unwrap().interval.unwrap();
        assert!(close(low, 24.5) && close(high, 275.5), "{low} {high}");
        assert_eq!(Estimate::at(0.99, &values[..7]).unwrap().interval, None);
        assert_eq!(Estimate::at(0.95, &values), Estimate::of(&values));
    }

    // n = 16: γ(3) = 1 − 2 · 137 / 65536 = 99.6 %, γ(4) = 97.9 %: two wild values
    // on either side are outside.
    #[test]
    fn sixteen_values_may_have_two_wild_ones_on_a_side() {
        let mut values = [1.0; 16];
        (values[0], values[9]) = (90.0, 80.0);
        assert_eq!(Estimate::at(0.99, &values).unwrap().interval.unwrap().high, 1.0);
        values[5] = 70.0;
        assert!(Estimate::at(0.99, &values).unwrap().interval.unwrap().high > 1.0);
    }

    // n = 10, the example of the sign interval in Minitab's documentation:
    // γ(2) = 1002/1024, γ(3) = 912/1024, λ = 0.657657….
    #[test]
    fn ten_values_agree_with_a_published_example() {
        let values = [7.0, 9.0, 16.0, 36.0, 39.0, 45.0, 45.0, 46.0, 48.0, 51.0];
        check(&values, 13.603603603603608, 46.68468468468468);
    }

    #[test]
    fn the_interval_of_a_mirrored_sample_is_the_mirrored_interval() {
        let values = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
        let mirrored = values.map(|value| -value);
        let (original, mirror) = (Estimate::of(&values).unwrap(), Estimate::of(&mirrored).unwrap());
        let (original, mirror) = (original.interval.unwrap(), mirror.interval.unwrap());
        assert!(close(original.low, -mirror.high) && close(original.high, -mirror.low));
    }

    #[test]
    fn zero_spread_gives_an_interval_of_no_width() {
        check(&[4.0; 12], 4.0, 4.0);
    }

    #[test]
    fn ties_at_an_end_put_the_end_on_them() {
        check(&[1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0], 1.0, 3.0);
    }

    // The ranks of the ends are n / 2 ∓ 1.96 √n / 2, by the normal approximation.
    #[test]
    fn the_coin_of_a_huge_sample_does_not_underflow() {
        let values: Vec<f64> = (0..100_000).map(f64::from).collect();
        let interval = Estimate::of(&values).unwrap().interval.unwrap();
        let half = 1.96 * 100_000_f64.sqrt() / 2.0;
        assert!((49_999.5 - interval.low - half).abs() < 1.0, "{interval:?}");
        assert!((interval.high - 49_999.5 - half).abs() < 1.0, "{interval:?}");
    }

    proptest::proptest! {
        #[test]
        fn the_median_lies_in_the_interval_and_the_interval_in_the_range(
            values in proptest::collection::vec(0.0..1e9_f64, MIN_SAMPLE..60),
        ) {
            let Estimate { value, interval, .. } = Estimate::of(&values).unwrap();
            let interval = interval.unwrap();
            let range = sorted(&values);
            proptest::prop_assert!(interval.contains(value));
            proptest::prop_assert!(range[0] <= interval.low);
            proptest::prop_assert!(interval.high <= range[values.len() - 1]);
        }
    }
}
