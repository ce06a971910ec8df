//! One figure for a sample, with its interval, by the estimator that suits the
//! sample.
//!
//! Where the times of processes scatter about one centre, the middle of all
//! averages of two of their logarithms (Hodges and Lehmann, see
//! [`super::shift`]) is known much better than their median is: of a normal
//! sample the median needs 57 % more values than the mean, this one 5 %. What it
//! estimates is the *pseudo-median*: the time that the geometric mean of two
//! processes exceeds as often as not. Where the logarithms scatter
//! symmetrically, it is the median.
//!
//! The median remains where that centre says nothing: where there are two
//! modes, or an outlier that may be one of two; where a value has no logarithm;
//! and below [`ENOUGH_FOR_RANKS`] values, too few to see whether there are two
//! modes.

use serde::{Deserialize, Serialize};

use super::median_interval::{self, Interval, MIN_SAMPLE};
use super::modes::{Modes, outlier};
use super::quantile::{quantile, sorted};
use super::shift::{Shift, fewest_pairs};

/// The confidence of an interval, unless another is asked for.
const LEVEL: f64 = 0.95;

/// From how many values on the estimator of Hodges and Lehmann is used: among
/// fewer, less than half of the samples with a second mode show it.
pub const ENOUGH_FOR_RANKS: usize = 10;

/// How a figure is made from a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// The median, with the interval of order statistics.
    Median,
    /// The middle of all averages of two values, or of their logarithms, with
    /// the interval that the signed rank test does not reject.
    HodgesLehmann,
}

/// A figure for a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The figure, in the sample's unit.
    pub value: f64,
    /// The interval of what it estimates; `null` for too small a sample.
    pub interval: Option<Interval>,
    /// The size of the sample.
    pub count: usize,
    /// How the figure is made.
    pub estimator: Estimator,
}

impl Estimate {
    /// The median of a sample in any order, with an interval of 95 % from
    /// [`MIN_SAMPLE`] values on; `None` for an empty one.
    pub fn of(values: &[f64]) -> Option<Self> {
        Self::from_fewest(MIN_SAMPLE, values, LEVEL)
    }

    /// As [`Self::of`], with an interval of `confidence`, 0 to 1, from as many
    /// values on as have a range of that confidence ([`fewest_pairs`]).
    pub fn at(confidence: f64, values: &[f64]) -> Option<Self> {
        Self::from_fewest(fewest_pairs(confidence), values, confidence)
    }

    fn from_fewest(fewest: usize, values: &[f64], level: f64) -> Option<Self> {
        let sorted = sorted(values);
        let value = quantile(&sorted, 0.5)?;
        let enough = sorted.len() >= fewest;
        let interval = enough.then(|| median_interval::interval(&sorted, level));
        Some(Self { value, interval, count: sorted.len(), estimator: Estimator::Median })
    }

    /// By the estimator that suits the sample; what reports show. The interval
    /// is of 95 %.
    pub fn cautious(values: &[f64]) -> Option<Self> {
        match suiting(values) {
            Estimator::Median => Self::cautious_median(values),
            Estimator::HodgesLehmann => Self::by(Estimator::HodgesLehmann, values),
        }
    }

    /// Two samples by one estimator: that of Hodges and Lehmann where it suits
    /// both. Only then do figures that stand beside each other agree with their
    /// ratio and their difference. `None` if either is empty.
    pub fn alike(samples: [&[f64]; 2]) -> Option<[Self; 2]> {
        let both = samples.iter().all(|values| suiting(values) == Estimator::HodgesLehmann);
        let estimator = if both { Estimator::HodgesLehmann } else { Estimator::Median };
        let [first, second] = samples.map(|values| Self::by(estimator, values));
        Some([first?, second?])
    }

    fn by(estimator: Estimator, values: &[f64]) -> Option<Self> {
        match estimator {
            Estimator::Median => Self::cautious_median(values),
            Estimator::HodgesLehmann => {
                let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
                let Self { value, interval, .. } = Self::centre(&logs)?;
                let ends = |ends: Interval| Interval { low: ends.low.exp(), high: ends.high.exp() };
                let interval = interval.map(ends);
                Some(Self { value: value.exp(), interval, count: values.len(), estimator })
            }
        }
    }

    /// As [`Self::of`], but where a lone value of a small sample may be all that
    /// is seen of a second mode, the interval is the whole range: a narrow
    /// one would claim that there is no such mode.
    fn cautious_median(values: &[f64]) -> Option<Self> {
        let estimate = Self::of(values)?;
        let sorted = sorted(values);
        let (low, high) = (*sorted.first()?, *sorted.last()?);
        let is_unclear = estimate.interval.is_some() && outlier(values).is_some();
        let whole = is_unclear.then_some(Interval { low, high });
        Some(Self { interval: whole.or(estimate.interval), ..estimate })
    }

    /// By the estimator of Hodges and Lehmann, among the values as they are:
    /// for differences, which scatter symmetrically and may be negative.
    pub fn centre(values: &[f64]) -> Option<Self> {
        let Shift { estimate, interval } = Shift::of_pairs(values, LEVEL)?;
        let (value, estimator) = (estimate, Estimator::HodgesLehmann);
        Some(Self { value, interval, count: values.len(), estimator })
    }

    /// Whether what is estimated differs from `value` as far as the sample can
    /// tell: there is an interval and `value` lies outside.
    pub fn excludes(&self, value: f64) -> bool {
        self.interval.is_some_and(|interval| !interval.contains(value))
    }

    /// Half of the interval's width as a share of the figure; `None` without an
    /// interval, or where the figure is not positive.
    pub fn half_width(&self) -> Option<f64> {
        let Interval { low, high } = self.interval.filter(|_| self.value > 0.0)?;
        Some((high - low) / 2.0 / self.value)
    }
}

/// The estimator that suits a sample.
fn suiting(values: &[f64]) -> Estimator {
    let has_centre = values.len() >= ENOUGH_FOR_RANKS
        && values.iter().all(|value| *value > 0.0 && value.is_finite())
        && outlier(values).is_none()
        && Modes::of(values).is_none();
    if has_centre { Estimator::HodgesLehmann } else { Estimator::Median }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: [f64; 10] = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 1.08, 1.09];

    fn estimator(values: &[f64]) -> Estimator {
        Estimate::cautious(values).unwrap().estimator
    }

    #[test]
    fn the_estimator_is_that_of_hodges_and_lehmann_where_there_is_one_centre() {
        assert_eq!(estimator(&NEAR), Estimator::HodgesLehmann);
        assert_eq!(estimator(&NEAR[..9]), Estimator::Median, "too few");
        let with = |last: [f64; 3]| [&NEAR[..], &last].concat();
        assert_eq!(estimator(&with([10.0, 10.1, 10.2])), Estimator::Median, "two modes");
        assert_eq!(estimator(&with([1.0, 1.0, 10.0])), Estimator::Median, "an outlier");
        assert_eq!(estimator(&with([1.0, 1.0, 0.0])), Estimator::Median, "no logarithm");
    }

    // Of the Walsh averages of 0 to 9 the middle is 4.5; P(W <= 8) = 25 / 1024 is
    // the last below 2.5 %, so that the ends are the 9th from either side: 0, 0.5,
    // 1, 1, 1.5, 1.5, 2, 2, 2.
    #[test]
    fn powers_of_two_have_their_centre_among_exponents() {
        let values: Vec<f64> = (0..10).map(|exponent| 2_f64.powi(exponent)).collect();
        let estimate = Estimate::cautious(&values).unwrap();
        let close = |actual: f64, exponent: f64| (actual.log2() - exponent).abs() < 1e-9;
        let Interval { low, high } = estimate.interval.unwrap();
        assert!(close(estimate.value, 4.5) && close(low, 2.0) && close(high, 7.0), "{estimate:?}");
    }

    #[test]
    fn two_samples_side_by_side_have_one_estimator() {
        let two_modes = [&NEAR[..], &[10.0, 10.1, 10.2]].concat();
        let [first, second] = Estimate::alike([&NEAR, &two_modes]).unwrap();
        assert_eq!([first.estimator, second.estimator], [Estimator::Median; 2]);
        let [first, second] = Estimate::alike([&NEAR, &NEAR]).unwrap();
        assert_eq!([first.estimator, second.estimator], [Estimator::HodgesLehmann; 2]);
        assert_eq!(Estimate::alike([&NEAR, &[]]), None);
    }

    #[test]
    fn the_half_width_is_a_share_of_the_figure() {
        assert_eq!(Estimate::of(&[1.0, 1.5, 2.0, 2.5, 3.0]).unwrap().half_width(), Some(0.5));
        assert_eq!(Estimate::of(&[1.0, 2.0]).unwrap().half_width(), None);
        assert_eq!(Estimate::of(&[0.0; 5]).unwrap().half_width(), None);
    }

    #[test]
    fn the_cautious_interval_reaches_to_a_lone_value_far_away() {
        assert_eq!(Estimate::cautious(&NEAR[..9]), Estimate::of(&NEAR[..9]));
        let far = [&NEAR[..9], &[10.0]].concat();
        assert_eq!(Estimate::cautious(&far).unwrap().value, Estimate::of(&far).unwrap().value);
        let cautious = Estimate::cautious(&far).unwrap().interval;
        assert_eq!(cautious, Some(Interval { low: 1.0, high: 10.0 }));
        assert!(Estimate::of(&far).unwrap().interval.unwrap().high < 1.1);
        assert_eq!(Estimate::cautious(&[1.0, 1.0, 1.0, 10.0]).unwrap().interval, None);
        assert_eq!(Estimate::cautious(&[]), None);
    }

    #[test]
    fn an_interval_contains_its_ends_and_excludes_what_lies_outside() {
        let estimate = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!(!estimate.excludes(1.0) && !estimate.excludes(5.0));
        assert!(estimate.excludes(0.999) && estimate.excludes(5.001));
    }

    #[test]
    fn without_an_interval_nothing_is_excluded() {
        assert!(!Estimate::of(&[1.0, 2.0]).unwrap().excludes(100.0));
    }

    #[test]
    fn no_values_have_no_estimate() {
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn fewer_than_five_values_have_a_median_and_no_interval() {
        let expected =
            Estimate { value: 2.5, interval: None, count: 4, estimator: Estimator::Median };
        assert_eq!(Estimate::of(&[4.0, 1.0, 2.0, 3.0]), Some(expected));
        assert_eq!(Estimate::of(&[7.0]).unwrap().interval, None);
    }
}
