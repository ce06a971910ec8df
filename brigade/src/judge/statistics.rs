//! The statistics behind every figure: pure functions of slices and maps.
//!
//! A sample is the invocations of a case, never the iterations within one: the kernel places each
//! process differently, and a million iterations of one process see a single placement. Every
//! figure is the median of its sample.
//!
//! The number of *n* values below the median is binomial, so an order statistic exceeds it with a
//! known probability, for any distribution. Between two order statistics the ends of an interval
//! are interpolated as by Hettmansperger and Sheather, *Confidence intervals based on interpolated
//! order statistics*, Statistics & Probability Letters 4 (1986), 75–79.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The smallest sample with a 95 % interval: the range of five values covers the median with
/// 93.75 %, and is accepted.
const MIN_SAMPLE: usize = 5;

/// The confidence of an interval.
pub const CONFIDENCE: f64 = 0.95;

/// How many times as large the variance of a run's median is as that of independent processes:
/// noise lasts 10 to 20 seconds, so neighbouring processes share it. docs/STATISTICS.md shows the
/// evidence.
const INFLATION: f64 = 3.0;

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
    /// The median of a run's processes in any order, with a 95 % interval that allows for their
    /// dependence; `None` for an empty sample.
    pub fn of(values: &[f64]) -> Option<Self> {
        Self::at(CONFIDENCE, values)
    }

    /// The same with an interval of `confidence`, 0 to 1, if the sample's range reaches it.
    pub fn at(confidence: f64, values: &[f64]) -> Option<Self> {
        Some(Self::of_independent(confidence, values)?.widened(INFLATION))
    }

    /// The median of values that do not depend on one another, likewise.
    pub fn of_independent(confidence: f64, values: &[f64]) -> Option<Self> {
        let sorted = sorted(values);
        let value = quantile(&sorted, 0.5)?;
        let fewest = if confidence > CONFIDENCE { fewest(confidence) } else { MIN_SAMPLE };
        let interval = (sorted.len() >= fewest).then(|| interval(&sorted, confidence));
        Some(Self { value, interval, count: sorted.len() })
    }

    /// Widens the interval for a variance `inflation` times as large. It moves the logarithms of
    /// the ends if all are positive, so that no time becomes negative.
    fn widened(self, inflation: f64) -> Self {
        let by = inflation.sqrt();
        let widen = |end: f64, low: f64| match low > 0.0 {
            true => self.value * (end / self.value).powf(by),
            false => self.value + (end - self.value) * by,
        };
        let ends =
            |of: Interval| Interval { low: widen(of.low, of.low), high: widen(of.high, of.low) };
        Self { interval: self.interval.map(ends), ..self }
    }

    /// This figure divided by `below`. Their intervals must have one confidence, which is the
    /// result's: they are combined as in Zou, *Toward using confidence intervals to compare
    /// correlations*, Psychological Methods 12 (2007), 399–413. `None` if a figure is not positive.
    pub fn over(self, below: Self) -> Option<Self> {
        Some(self.logarithm()?.minus(below.logarithm()?).map(f64::exp))
    }

    /// This figure minus `less`, likewise.
    pub fn minus(self, less: Self) -> Self {
        let value = self.value - less.value;
        let interval = self.interval.zip(less.interval).map(|(of, by)| Interval {
            low: value - (self.value - of.low).hypot(by.high - less.value),
            high: value + (of.high - self.value).hypot(less.value - by.low),
        });
        Self { value, interval, count: self.count.min(less.count) }
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

    /// Whether there is an interval and `value` lies outside.
    pub fn excludes(&self, value: f64) -> bool {
        self.interval.is_some_and(|interval| !interval.contains(value))
    }

    /// The standard error of the figure's logarithm; `None` without a positive interval.
    pub fn log_error(&self) -> Option<f64> {
        let ends = self.interval.filter(|ends| ends.low > 0.0)?;
        Some((ends.high / ends.low).ln() / 2.0 / DEVIATE)
    }
}

/// A normal value lies within this many standard deviations with 95 %.
pub const DEVIATE: f64 = 1.96;

/// One figure per round; rounds without a figure are absent.
pub type ByRound = BTreeMap<u32, f64>;

/// Whether the rounds of a pair depend on one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// Two cases of one run.
    Dependent,
    /// Two sides of one case, which run back to back.
    Independent,
}

/// The quotient of the medians of `first` and `second`. Its interval is that of the median over
/// common rounds of the quotient, in which what slows a whole round cancels, extended to the
/// figure. `None` if a figure is missing or not positive.
pub fn ratio(
    first: &ByRound,
    second: &ByRound,
    confidence: f64,
    rounds: Rounds,
) -> Option<Estimate> {
    let logarithms = |of: &ByRound| -> Option<ByRound> {
        let log = |value: &f64| (*value > 0.0 && value.is_finite()).then(|| value.ln());
        of.iter().map(|(round, value)| Some((*round, log(value)?))).collect()
    };
    let value = (median_of(first)? / median_of(second)?).ln();
    let logs = (logarithms(first)?, logarithms(second)?);
    Some(paired(value, &logs.0, &logs.1, confidence, rounds).map(f64::exp))
}

/// The difference of the medians of `first` and `second`, likewise, at 95 %.
pub fn difference(first: &ByRound, second: &ByRound) -> Option<Estimate> {
    let value = median_of(first)? - median_of(second)?;
    Some(paired(value, first, second, CONFIDENCE, Rounds::Dependent))
}

fn paired(
    value: f64,
    first: &ByRound,
    second: &ByRound,
    confidence: f64,
    rounds: Rounds,
) -> Estimate {
    let common = first.iter().filter_map(|(round, first)| Some(first - second.get(round)?));
    let common: Vec<f64> = common.collect();
    let count = common.len();
    let inflation = if rounds == Rounds::Dependent { INFLATION.sqrt() } else { 1.0 };
    let interval = Estimate::of_independent(confidence, &common).and_then(|pairs| {
        let Interval { low, high } = pairs.interval?;
        let end = |end: f64| pairs.value + inflation * (end - pairs.value);
        Some(Interval { low: end(low).min(value), high: end(high).max(value) })
    });
    Estimate { value, interval, count }
}

fn median_of(of: &ByRound) -> Option<f64> {
    median(&of.values().copied().collect::<Vec<_>>())
}

/// The median of `values`, in their unit; `None` for no values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(&sorted(values), 0.5)
}

/// `values` in ascending order, by IEEE 754's total order.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The quantile at `probability` (0 to 1) of values in ascending order, in their unit; `None` for
/// no values.
///
/// This is type 7 of Hyndman and Fan, *Sample Quantiles in Statistical Packages*, The American
/// Statistician 50 (1996), 361–365, the default of R and `NumPy`.
pub fn quantile(sorted: &[f64], probability: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = probability * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    let weight = position - below as f64;
    Some(sorted[below] + (sorted[above] - sorted[below]) * weight)
}

/// The fewest values whose range is an interval of `confidence`, 0 to 1: all n values lie on one
/// side of the median with probability 2 · 2⁻ⁿ.
fn fewest(confidence: f64) -> usize {
    (2.0 / (1.0 - confidence)).log2().ceil() as usize
}

/// The interval of this confidence for the median, from a sample in ascending order: each end is
/// exceeded with half of the remaining probability.
fn interval(sorted: &[f64], confidence: f64) -> Interval {
    let last = sorted.len() - 1;
    let (rank, weight) = cut(sorted.len(), (1.0 - confidence) / 2.0);
    let between =
        |at: &dyn Fn(usize) -> f64| at(rank) + (at(usize::min(rank + 1, last)) - at(rank)) * weight;
    Interval { low: between(&|rank| sorted[rank]), high: between(&|rank| sorted[last - rank]) }
}

/// The lower end: the index of an order statistic and λ, how far to move from it to the next, 0 to
/// 1, so that it lies above the median with probability `tail`; the smallest value if even that is
/// too likely.
///
/// The r-th smallest value lies above the median with probability π(r) = P(B < r), B ~ Bin(n, ½).
/// For the last with π(r) ≤ `tail`, (1 − λ) / λ = r (π(r + 1) − tail) / ((n − r) (tail − π(r))).
fn cut(count: usize, tail: f64) -> (usize, f64) {
    let n = count as f64;
    // The logarithm of the probability that exactly `below` values are below.
    let mut log = n * 0.5_f64.ln();
    let (mut up_to, mut before) = (0.0, 0.0);
    for below in 0..count {
        up_to += log.exp();
        if up_to > tail {
            let Some(rank) = below.checked_sub(1) else { return (0, 0.0) };
            let r = below as f64;
            let onwards = (n - r) * (tail - before);
            return (rank, onwards / (onwards + r * (up_to - tail)));
        }
        before = up_to;
        log += ((n - below as f64) / (below as f64 + 1.0)).ln();
    }
    (count - 1, 0.0)
}

/// The slope of the line that fits `points` (x, y) best in y, by ordinary least squares:
/// Σ (x − x̄)(y − ȳ) / Σ (x − x̄)², in units of y per unit of x. `None` without two different x.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let together: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (spread > 0.0).then(|| together / spread)
}

#[cfg(test)]
pub mod tests;
