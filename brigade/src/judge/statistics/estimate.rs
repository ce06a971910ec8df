//! The estimators of every figure, with intervals that assume no distribution. Times use the lower
//! quartile: disturbances make processes slower, and it repeats better from run to run. Ratios,
//! differences and memory use the median.
//!
//! The number of *n* values below a quantile is binomial, so an order statistic exceeds it with a
//! known probability, for any distribution. Between two order statistics the ends are interpolated
//! as in Nyblom, *Note on interpolated order statistics*, Statistics & Probability Letters 14
//! (1992), 129–131; for the median this is the interval of Hettmansperger and Sheather (ibid. 4,
//! 1986, 75–79).
//!
//! Two cases are compared round by round: changes of the whole machine between rounds affect both
//! sides of a pair and cancel.
//!
//! The interval of a share is that of Clopper and Pearson, *The use of confidence or fiducial
//! limits illustrated in the case of the binomial*, Biometrika 26 (1934), 404–413: at each end, the
//! observed count or a more extreme one has half of the remaining probability. It covers the true
//! share with at least the requested confidence.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The smallest sample with a 95 % interval: the range of five values covers the median with 93.75
/// %, and is accepted.
pub const MIN_SAMPLE: usize = 5;

/// The fewest times whose lower quartile gets an interval: that of twelve covers it with 94.3 %,
/// since all twelve lie above it in 3 of 100 samples.
pub const FEWEST_TIMES: usize = 12;

/// The default confidence of an interval.
pub const CONFIDENCE: f64 = 0.95;

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

/// An estimate from a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The figure, in the sample's unit.
    pub value: f64,
    /// Its interval; `null` for too small a sample.
    pub interval: Option<Interval>,
    /// The size of the sample.
    pub count: usize,
}

impl Estimate {
    /// The median of a sample in any order, with a 95 % interval; `None` for an empty sample.
    pub fn of(values: &[f64]) -> Option<Self> {
        Self::at(CONFIDENCE, values)
    }

    /// The same with an interval of `confidence`, 0 to 1, if the sample's range reaches it.
    pub fn at(confidence: f64, values: &[f64]) -> Option<Self> {
        let fewest = if confidence > CONFIDENCE { fewest_pairs(confidence) } else { MIN_SAMPLE };
        Self::quantile(0.5, confidence, fewest, values)
    }

    /// The lower quartile of a sample of times in any order, with a 95 % interval; `None` for an
    /// empty sample.
    pub fn lower_quartile(values: &[f64]) -> Option<Self> {
        Self::quantile(0.25, CONFIDENCE, FEWEST_TIMES, values)
    }

    fn quantile(probability: f64, confidence: f64, fewest: usize, values: &[f64]) -> Option<Self> {
        let sorted = sorted(values);
        let value = quantile(&sorted, probability)?;
        let interval = (sorted.len() >= fewest).then(|| interval(&sorted, probability, confidence));
        Some(Self { value, interval, count: sorted.len() })
    }

    /// Widens the interval for a variance `inflation` times as large. It moves the logarithms of
    /// the ends, so that no time becomes negative.
    pub fn widened(self, inflation: f64) -> Self {
        let widen = |end: f64| self.value * (end / self.value).powf(inflation.sqrt());
        let interval = self.interval.filter(|ends| ends.low > 0.0);
        let widened =
            interval.map(|ends| Interval { low: widen(ends.low), high: widen(ends.high) });
        Self { interval: widened.or(self.interval), ..self }
    }

    /// This figure divided by `below`, with an interval of `confidence`; `correlation` is that of
    /// the two figures, 0 for unpaired samples. `None` if a figure is not positive.
    pub fn over(self, below: Self, correlation: f64, confidence: f64) -> Option<Self> {
        let ratio = self.logarithm()?.minus(below.logarithm()?, correlation, confidence);
        Some(ratio.map(f64::exp))
    }

    /// This figure minus `less`, likewise. The two intervals are combined as in Zou, *Toward using
    /// confidence intervals to compare correlations*, Psychological Methods 12 (2007), 399–413, and
    /// stretched from 95 % to `confidence` as for normal means.
    pub fn minus(self, less: Self, correlation: f64, confidence: f64) -> Self {
        let value = self.value - less.value;
        let freedom = (self.count + less.count).saturating_sub(2) as f64;
        // Student's distribution, to first order in its degrees of freedom.
        let deviates = |confidence: f64| {
            let normal = normal_deviate((1.0 - confidence) / 2.0);
            normal * (1.0 + (normal * normal + 1.0) / (4.0 * freedom))
        };
        let stretch = deviates(confidence) / deviates(CONFIDENCE);
        let distance = |of: f64, less: f64| {
            stretch * (of * of + less * less - 2.0 * correlation * of * less).max(0.0).sqrt()
        };
        let interval = self.interval.zip(less.interval).map(|(of, by)| Interval {
            low: value - distance(self.value - of.low, by.high - less.value),
            high: value + distance(of.high - self.value, less.value - by.low),
        });
        Self { value, interval, count: self.count.min(less.count) }
    }

    /// Widens the interval for an additional error of its logarithm, which lies within ±`distance`
    /// with the interval's confidence.
    pub fn allowing(self, distance: f64) -> Self {
        let end = |end: f64, sign: f64| {
            self.value * (sign * (end / self.value).ln().hypot(distance)).exp()
        };
        let interval = self.interval;
        let interval =
            interval.map(|of| Interval { low: end(of.low, -1.0), high: end(of.high, 1.0) });
        Self { interval, ..self }
    }

    fn logarithm(self) -> Option<Self> {
        let low = self.interval.map_or(self.value, |ends| ends.low);
        (low > 0.0 && self.value.is_finite()).then(|| self.map(f64::ln))
    }

    /// Applies an increasing function to the figure and both ends.
    pub fn map(self, of: impl Fn(f64) -> f64) -> Self {
        let ends = |ends: Interval| Interval { low: of(ends.low), high: of(ends.high) };
        Self { value: of(self.value), interval: self.interval.map(ends), count: self.count }
    }

    /// Whether the estimate differs from `value` as far as the sample can tell: there is an
    /// interval and `value` lies outside.
    pub fn excludes(&self, value: f64) -> bool {
        self.interval.is_some_and(|interval| !interval.contains(value))
    }

    /// Half of the interval's width as a share of the figure; `None` without an interval, or if the
    /// figure is not positive.
    pub fn half_width(&self) -> Option<f64> {
        let Interval { low, high } = self.interval.filter(|_| self.value > 0.0)?;
        Some((high - low) / 2.0 / self.value)
    }
}

/// The logarithms of times or ratios; `None` if one is not positive.
pub fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|value| (*value > 0.0 && value.is_finite()).then(|| value.ln())).collect()
}

/// The median of `values`, in their unit; `None` for no values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(&sorted(values), 0.5)
}

/// `values` in ascending order, by IEEE 754's total order.
pub(super) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The quantile at `probability` (0 to 1) of values in ascending order, in their unit; `None` for
/// no values.
///
/// This is type 7 of Hyndman and Fan, *Sample Quantiles in Statistical Packages*, The American
/// Statistician 50 (1996), 361–365, the default of R and `NumPy`.
pub(super) fn quantile(sorted: &[f64], probability: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = probability * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    let weight = position - below as f64;
    Some(sorted[below] + (sorted[above] - sorted[below]) * weight)
}

/// The fewest values whose range is an interval of `confidence`, 0 to 1: all n values lie on one
/// side of the median with probability 2 · 2⁻ⁿ.
fn fewest_pairs(confidence: f64) -> usize {
    (2.0 / (1.0 - confidence)).log2().ceil() as usize
}

/// The interval of this confidence for the quantile at `probability`, from a sample in ascending
/// order: each end is exceeded with half of the remaining probability.
fn interval(sorted: &[f64], probability: f64, confidence: f64) -> Interval {
    let tail = (1.0 - confidence) / 2.0;
    let last = sorted.len() - 1;
    let between = |(rank, weight): (usize, f64), at: &dyn Fn(usize) -> f64| {
        at(rank) + (at(usize::min(rank + 1, last)) - at(rank)) * weight
    };
    Interval {
        low: between(cut(sorted.len(), probability, tail), &|rank| sorted[rank]),
        high: between(cut(sorted.len(), 1.0 - probability, tail), &|rank| sorted[last - rank]),
    }
}

/// The lower end for the quantile at `probability`: the index of an order statistic and λ, how far
/// to move from it to the next, 0 to 1, so that it lies above the quantile with probability `tail`;
/// the smallest value if even that is too likely.
///
/// The r-th smallest value lies above the quantile with probability π(r) = P(B < r), B ~ Bin(n, p).
/// For the last with π(r) ≤ `tail`, (1 − λ) / λ = r (1 − p) (π(r + 1) − tail) / ((n − r) p (tail −
/// π(r))).
fn cut(count: usize, probability: f64, tail: f64) -> (usize, f64) {
    let n = count as f64;
    let odds = (probability / (1.0 - probability)).ln();
    // The logarithm of the probability that exactly `below` values are below.
    let mut log = n * (1.0 - probability).ln();
    let (mut up_to, mut before) = (0.0, 0.0);
    for below in 0..count {
        up_to += log.exp();
        if up_to > tail {
            let Some(rank) = below.checked_sub(1) else { return (0, 0.0) };
            let r = below as f64;
            let onwards = (n - r) * probability * (tail - before);
            let back = r * (1.0 - probability) * (up_to - tail);
            return (rank, onwards / (onwards + back));
        }
        before = up_to;
        log += ((n - below as f64) / (below as f64 + 1.0)).ln() + odds;
    }
    (count - 1, 0.0)
}

/// The normal scores of the ranks of `values`, with variance 1; equal values share one score.
pub(super) fn normal_scores(values: &[f64]) -> Vec<f64> {
    let sorted = sorted(values);
    let count = values.len() as f64;
    let score = |value: &f64| {
        let below = sorted.partition_point(|other| other < value);
        let up_to = sorted.partition_point(|other| other <= value);
        let above = 1.0 - (below + up_to) as f64 / 2.0 / count;
        if above <= 0.5 { normal_deviate(above) } else { -normal_deviate(1.0 - above) }
    };
    let scores: Vec<f64> = values.iter().map(score).collect();
    let variance = scores.iter().map(|score| score * score).sum::<f64>() / count;
    scores.iter().map(|score| score / variance.sqrt().max(f64::MIN_POSITIVE)).collect()
}

/// How many standard deviations above its mean a normal value lies with probability `tail`,
/// which is above 0 and at most a half.
///
/// Abramowitz and Stegun, *Handbook of Mathematical Functions* (1964), 26.2.23: within
/// 0.00045.
fn normal_deviate(tail: f64) -> f64 {
    let t = (-2.0 * tail.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below
}

/// One figure per round; rounds without a figure are absent.
pub type ByRound = BTreeMap<u32, f64>;

/// `first / second` in every round with both, in the order of rounds.
fn ratios(first: &ByRound, second: &ByRound) -> Vec<f64> {
    pairs(first, second).map(|(first, second)| first / second).collect()
}

/// `first` divided by `second`: the median over common rounds, of logarithms, so that swapping the
/// sides gives the inverse. The interval has `confidence`, 0 to 1. `None` without such a round, or
/// if a figure is not positive.
pub fn ratio_at(confidence: f64, first: &ByRound, second: &ByRound) -> Option<Estimate> {
    let logs = logarithms(&ratios(first, second))?;
    Some(Estimate::at(confidence, &logs)?.map(f64::exp))
}

pub(super) fn pairs(first: &ByRound, second: &ByRound) -> impl Iterator<Item = (f64, f64)> {
    first.iter().filter_map(|(round, first)| Some((*first, *second.get(round)?)))
}

/// The slope of the line that fits `points` (x, y) best in y, by ordinary least
/// squares: Σ (x − x̄)(y − ȳ) / Σ (x − x̄)², in units of y per unit of x.
/// `None` without two different x.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let together: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (spread > 0.0).then(|| together / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(actual: f64, expected: f64) -> bool {
        (actual - expected).abs() <= 1e-9 * expected.abs().max(1.0)
    }

    #[track_caller]
    fn check(confidence: f64, values: &[f64], low: f64, high: f64) {
        let interval = Estimate::at(confidence, values).unwrap().interval.unwrap();
        assert!(close(interval.low, low) && close(interval.high, high), "{interval:?}");
    }

    #[test]
    fn quantiles_and_medians_worked_by_hand() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 4.0]), Some(4.0));
        assert_eq!(median(&[9.0, 1.0, 4.0, 6.0]), Some(5.0));
        assert_eq!(median(&[2.0, 2.0, 7.0]), Some(2.0));
        let sorted = [10.0, 20.0, 30.0, 40.0, 60.0];
        for (probability, expected) in [(0.0, 10.0), (0.25, 20.0), (0.9, 52.0), (1.0, 60.0)] {
            assert_eq!(quantile(&sorted, probability), Some(expected));
        }
    }

    // n = 6: γ(1) = 31/32, γ(2) = 25/32, so I = (31/32 − 19/20) / (6/32) = 1/10 and
    // λ = 5/10 / (1 + 4/10) = 5/14. n = 8: γ(1) = 254/256, γ(2) = 238/256, so
    // I = (254/256 − 0.99) · 16 = 0.035 and λ = 7 · 0.035 / (1 + 6 · 0.035) = 24.5/121.
    // n = 10: the example of the sign interval in Minitab's documentation.
    #[test]
    fn intervals_worked_by_hand() {
        check(0.95, &[0.0, 14.0, 20.0, 30.0, 86.0, 100.0], 5.0, 95.0);
        let eight = [0.0, 121.0, 130.0, 140.0, 150.0, 160.0, 179.0, 300.0];
        check(0.99, &eight, 24.5, 275.5);
        let ten = [7.0, 9.0, 16.0, 36.0, 39.0, 45.0, 45.0, 46.0, 48.0, 51.0];
        check(0.95, &ten, 13.603603603603608, 46.68468468468468);
        check(0.95, &[4.0; 12], 4.0, 4.0);
        check(0.95, &[1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0], 1.0, 3.0);
        check(0.9375, &[5.0, 1.0, 2.0, 9.0, 3.0], 1.0, 9.0);
    }

    #[test]
    fn equal_values_are_their_own_interval_to_the_last_bit() {
        for value in [449.557_624_303_515_75, 0.1, 1.0 / 3.0] {
            for count in MIN_SAMPLE..40 {
                let of = Estimate::of(&vec![value; count]).expect("values");
                assert_eq!(
                    (of.value, of.interval),
                    (value, Some(Interval { low: value, high: value }))
                );
            }
        }
    }

    #[test]
    fn small_samples_have_a_median_and_no_interval() {
        assert_eq!(Estimate::of(&[]), None);
        let four = Estimate { value: 2.5, interval: None, count: 4 };
        assert_eq!(Estimate::of(&[4.0, 1.0, 2.0, 3.0]), Some(four));
        assert!(!four.excludes(100.0));
        for (confidence, fewest) in [(0.96875, 6), (0.99, 8), (0.9975, 10)] {
            assert_eq!(fewest_pairs(confidence), fewest);
            let has = |count| Estimate::at(confidence, &vec![1.0; count]).unwrap().interval;
            assert!(has(fewest).is_some() && has(fewest - 1).is_none(), "{confidence}");
        }
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

    #[test]
    fn the_half_width_is_a_share_and_ends_are_not_excluded() {
        let six = Estimate::at(0.9375, &[1.0, 1.5, 2.0, 2.5, 3.0]).unwrap();
        assert_eq!(six.half_width(), Some(0.5));
        assert!(!six.excludes(1.0) && !six.excludes(3.0) && six.excludes(3.001));
        assert_eq!(Estimate::of(&[0.0; 5]).unwrap().half_width(), None);
    }

    // Exponents 0 to 4 have median 2 and ends 0 and 4: for the difference between two such samples
    // the ends are √8 away, and for 99 % farther by the factor 2.576 (1 + 7.635 / 32) / 1.96 (1 +
    // 4.842 / 32).
    #[test]
    fn a_quotient_combines_the_intervals_of_both_sides() {
        let first = [1.0, 2.0, 4.0, 8.0, 16.0];
        let second = first.map(|value| value * 2.0);
        for (confidence, stretch, within) in [(0.95, 1.0, 1e-9), (0.99, 3.1905 / 2.2566, 1e-2)] {
            let [first, second] = [first, second].map(|of| Estimate::of(&of).unwrap());
            let quotient = second.over(first, 0.0, confidence).unwrap();
            let Interval { low, high } = quotient.interval.unwrap();
            assert!(close(quotient.value, 2.0), "{quotient:?}");
            assert!((low.log2() - 1.0 + stretch * 8_f64.sqrt()).abs() < within, "{low}");
            assert!((high.log2() - 1.0 - stretch * 8_f64.sqrt()).abs() < within, "{high}");
        }
        let first = Estimate::of(&first).unwrap();
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Estimate::of(&[bad]).unwrap().over(first, 0.0, 0.95), None, "{bad}");
        }
    }

    #[test]
    fn normal_deviates_match_the_tables() {
        for (tail, deviate) in [(0.5, 0.0), (0.025, 1.959_964), (0.001, 3.090_232)] {
            assert!((normal_deviate(tail) - deviate).abs() < 4.5e-4, "{tail}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_median_lies_in_the_interval_which_widens_with_the_confidence(
            values in proptest::collection::vec(0.0..1e9_f64, 8..60),
        ) {
            let [narrow, wide] =
                [0.9, 0.99].map(|confidence| Estimate::at(confidence, &values).unwrap());
            let [inner, outer] = [narrow, wide].map(|of| of.interval.unwrap());
            proptest::prop_assert!(inner.contains(narrow.value));
            proptest::prop_assert!(outer.low <= inner.low && inner.high <= outer.high);
            let negated: Vec<f64> = values.iter().map(|value| -value).collect();
            let mirror = Estimate::at(0.9, &negated).unwrap().interval.unwrap();
            proptest::prop_assert!(close(mirror.low, -inner.high) && close(mirror.high, -inner.low));
        }
    }

    fn rounds(values: &[f64]) -> ByRound {
        (1..).zip(values.iter().copied()).collect()
    }

    #[test]
    fn sides_are_paired_by_round_and_unpaired_rounds_left_out() {
        let first = ByRound::from([(1, 10.0), (2, 40.0), (4, 90.0)]);
        let second = ByRound::from([(2, 4.0), (3, 5.0), (4, 30.0)]);
        assert_eq!(ratios(&first, &second), [10.0, 3.0]);
        assert_eq!(ratio_at(0.95, &first, &ByRound::from([(9, 1.0)])), None);
        assert_eq!(ratio_at(0.95, &first, &rounds(&[0.0; 5])), None);
    }

    // The ratios by round are 2, 4, 8, 16 and 32; at 93.75 % their range is the interval.
    #[test]
    fn the_inverse_of_a_ratio_is_that_of_the_sides_swapped() {
        let first = rounds(&[1.0, 10.0, 3.0, 7.0, 5.0]);
        let factors = [2.0, 4.0, 8.0, 16.0, 32.0];
        let second: ByRound =
            first.iter().zip(factors).map(|((round, time), by)| (*round, time * by)).collect();
        let close = |actual: f64, expected: f64| (actual / expected - 1.0).abs() < 1e-9;
        for (found, [value, low, high]) in [
            (ratio_at(0.9375, &second, &first), [8.0, 2.0, 32.0]),
            (ratio_at(0.9375, &first, &second), [1.0 / 8.0, 1.0 / 32.0, 1.0 / 2.0]),
        ] {
            let Estimate { value: found, interval, count } = found.unwrap();
            let ends = interval.unwrap();
            assert!(close(found, value) && close(ends.low, low) && close(ends.high, high));
            assert_eq!(count, 5);
        }
    }

    // x̄ = 2, ȳ = 3; products −1·−2, 0·1, 1·1 sum to 3; squares to 2.
    #[test]
    fn slopes_worked_by_hand() {
        for (points, expected) in [
            (&[][..], None),
            (&[(3.0, 4.0)], None),
            (&[(2.0, 1.0), (2.0, 5.0)], None),
            (&[(1.0, 1.0), (2.0, 4.0), (3.0, 4.0)], Some(1.5)),
            (&[(0.0, 1.0), (1.0, 4.0), (3.0, 10.0)], Some(3.0)),
        ] {
            assert_eq!(slope(points), expected);
        }
        let far = [(1e6, 1e12 + 1.0), (1e6 + 1.0, 1e12 + 4.0), (1e6 + 2.0, 1e12 + 4.0)];
        assert!((slope(&far).unwrap() - 1.5).abs() < 1e-3);
    }
}
