//! A logarithmic axis.

use super::quantity::{Unit, brief, brief_ticks};
use crate::judge::row::Quantity;
use crate::judge::statistics::Interval;

/// The margin of a narrow axis, as a share of its span.
const MARGIN: f64 = 0.06;

/// The least span of an axis in powers of ten: its ends differ by a factor of 2.5. On a narrower
/// one, ticks would hardly differ, and nearly equal figures would lie far apart.
const LEAST: f64 = 0.394;

/// The least span of an axis without ticks: its ends differ by a factor of 1.25.
const LEAST_TIGHT: f64 = 0.0969;

/// The most ticks on an axis.
const MOST_TICKS: usize = 7;

/// Axes at least this many powers of ten long begin and end at a power of ten, those of bytes at a
/// power of two.
const WIDE: f64 = 1.5;

/// The farthest end of an axis in powers of ten: one with a margin is still a number.
const FARTHEST: f64 = 300.0;

/// A logarithmic axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Scale {
    /// The axis that shows the positive ones of these values; `None` if there
    /// are none.
    pub fn new(unit: Quantity, values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let Interval { low, high } = extremes(values)?;
        let span = high - low;
        let is_of_bytes = unit == Quantity::Bytes;
        if span >= WIDE || is_of_bytes {
            let base: f64 = if is_of_bytes { 2.0 } else { 10.0 };
            let first = (low / base.log10()).floor();
            let last = (high / base.log10()).ceil().max(first + 1.0);
            let step = ((last - first) / MOST_TICKS as f64).ceil();
            let powers = (0..=MOST_TICKS).map(|index| first + index as f64 * step);
            let ticks = powers.filter(|power| *power <= last).map(|power| base.powf(power));
            let [low, high] = [first, last].map(|power| power * base.log10());
            return Some(Self { low, high, ticks: ticks.collect() });
        }
        let pad = (MARGIN * span).max((LEAST - span) / 2.0);
        let low = low - pad;
        let high = high + pad;
        Some(Self { low, high, ticks: round_values(10_f64.powf(low), 10_f64.powf(high)) })
    }

    /// The shortest axis that shows the positive ones of these values, without ticks.
    pub fn tight(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let Interval { low, high } = extremes(values)?;
        let pad = ((LEAST_TIGHT - (high - low)) / 2.0).max(0.0);
        Some(Self { low: low - pad, high: high + pad, ticks: Vec::new() })
    }

    /// The values at its ends.
    pub fn ends(&self) -> [f64; 2] {
        [self.low, self.high].map(|end| 10_f64.powf(end))
    }

    /// The position of a value, 0 to 1; values beyond the axis are at its end.
    pub fn share(&self, value: f64) -> f64 {
        let log = if value > 0.0 { value.log10() } else { self.low };
        ((log - self.low) / (self.high - self.low).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
    }

    pub fn ticks(&self) -> &[f64] {
        &self.ticks
    }
}

/// The units of the ticks on an axis, such as `ns to ms`.
pub fn units(scale: &Scale, quantity: Quantity) -> String {
    let symbol = |value: f64| match Unit::fitting(value, quantity).symbol {
        "" => "×",
        symbol => symbol,
    };
    let [low, _] = scale.ends();
    let first = symbol(scale.ticks.first().copied().unwrap_or(low));
    let last = scale.ticks.last().map_or(first, |tick| symbol(*tick));
    if first == last { first.to_owned() } else { format!("{first} to {last}") }
}

/// A tick's text.
pub fn tick(value: f64, quantity: Quantity) -> String {
    match quantity {
        Quantity::Ratio => format!("{}×", brief(value)),
        _ => brief_ticks(value, quantity),
    }
}

/// The logarithms of the smallest and the largest positive value.
fn extremes(values: impl IntoIterator<Item = f64>) -> Option<Interval> {
    let logs = values.into_iter().filter(|value| *value > 0.0).map(f64::log10);
    let logs = logs.map(|log| log.clamp(-FARTHEST, FARTHEST));
    let ends = logs.map(|log| Interval { low: log, high: log });
    ends.reduce(|ends, one| Interval { low: ends.low.min(one.low), high: ends.high.max(one.high) })
}

/// Round values between these: 1, 2 and 5 times powers of ten, or equal steps
/// if those are too few.
fn round_values(low: f64, high: f64) -> Vec<f64> {
    let within = |value: &f64| (low..=high).contains(value);
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let decades = powers.map(|power| 10_f64.powi(power));
    let values: Vec<f64> =
        decades.flat_map(|power| [1.0, 2.0, 5.0].map(|by| by * power)).filter(within).collect();
    if values.len() >= 3 { values } else { equal_steps(low, high) }
}

/// Round values between these, in equal steps.
pub fn equal_steps(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 4.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|by| by * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    let first = (low / step).ceil();
    let steps = (0..=MOST_TICKS).map(|index| (first + index as f64) * step);
    steps.filter(|value| (low..=high).contains(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_logarithmic() {
        let scale = Scale::new(Quantity::Nanoseconds, [1.0, 100.0]).unwrap();
        let places = [0.0, 0.5, 1.0, 10.0, 100.0, 1e9].map(|at| scale.share(at));
        assert_eq!(places, [0.0, 0.0, 0.0, 0.5, 1.0, 1.0]);
        assert_eq!(Scale::new(Quantity::Nanoseconds, [0.0, -1.0, f64::NAN]), None);
    }

    #[test]
    fn figures_that_hardly_differ_lie_close_together_between_round_ticks() {
        for values in [[33.2, 33.2], [33.0, 33.4]] {
            let scale = Scale::new(Quantity::Nanoseconds, values).unwrap();
            let [one, other] = values.map(|value| scale.share(value));
            assert!((other - one).abs() < 0.05 && (one + other - 1.0).abs() < 1e-9, "{scale:?}");
            assert!(scale.ticks().len() > 1, "{scale:?}");
            assert!(scale.ticks().iter().all(|tick| tick % 1.0 == 0.0), "{scale:?}");
        }
    }

    #[test]
    fn figures_of_any_size_have_an_axis() {
        let smallest = f64::from_bits(1);
        for ends in [[smallest, f64::MAX], [smallest; 2], [f64::MAX; 2], [f64::INFINITY; 2]] {
            let scale = Scale::new(Quantity::Nanoseconds, ends).unwrap();
            assert!(scale.ticks().len() <= MOST_TICKS + 1);
            assert!(scale.ticks().iter().all(|tick| scale.share(*tick).is_finite()));
        }
        let sizes = Scale::new(Quantity::Bytes, [1300.0, 34_000.0]).unwrap();
        assert_eq!(sizes.ticks(), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].map(|kib| kib * 1024.0));
    }
}
