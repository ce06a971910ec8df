//! Samples of one measurement: exact moments and the distribution.

use crate::measure::histogram::{self, Histogram};
use crate::record::Measurement;

/// What a sample measures: its name, and its operations.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// The name of the measurement, as in the record.
    pub name: &'static str,
    /// What one operation is.
    pub operation: &'static str,
    /// Operations in one sample.
    pub operations: u64,
    /// Whether a sample covers all tasks, so that a figure per task makes
    /// sense.
    pub covers_tasks: bool,
}

impl Measured {
    /// A brigade's iteration: one hop to each task and one back to the driver.
    pub fn hops(tasks: usize) -> Self {
        Self::per_task("iteration", "hop", tasks + 1)
    }

    /// A sample with one operation for each of `tasks` tasks.
    pub fn per_task(name: &'static str, operation: &'static str, tasks: usize) -> Self {
        Self { name, operation, operations: tasks as u64, covers_tasks: true }
    }

    /// A sample with one operation of one task.
    pub fn single(name: &'static str, operation: &'static str) -> Self {
        Self { name, operation, operations: 1, covers_tasks: false }
    }
}

/// The samples of one measurement, in nanoseconds.
#[derive(Clone, Debug)]
pub struct Samples {
    measured: Measured,
    /// The distribution.
    pub(crate) histogram: Histogram,
    /// Of the samples, and of their squares: 2^44 of an hour each fit.
    sum: u128,
    squares: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Samples {
    /// No samples yet.
    pub fn new(measured: Measured) -> Self {
        let (histogram, min_ns, max_ns) = (histogram::empty(), u64::MAX, 0);
        Self { measured, histogram, sum: 0, squares: 0, min_ns, max_ns }
    }

    /// Adds one sample, in nanoseconds.
    #[inline]
    pub fn add(&mut self, nanoseconds: u64) {
        self.sum += u128::from(nanoseconds);
        self.squares += u128::from(nanoseconds) * u128::from(nanoseconds);
        self.histogram.saturating_record(nanoseconds);
        self.min_ns = self.min_ns.min(nanoseconds);
        self.max_ns = self.max_ns.max(nanoseconds);
    }

    /// Adds all samples of `other`, from the same measurement.
    pub fn merge(&mut self, other: &Self) {
        self.sum += other.sum;
        self.squares += other.squares;
        self.histogram += &other.histogram;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Removes all samples, but keeps the memory.
    pub fn clear(&mut self) {
        self.histogram.reset();
        (self.sum, self.squares) = (0, 0);
        (self.min_ns, self.max_ns) = (u64::MAX, 0);
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Operations in all samples together.
    pub fn operations(&self) -> u64 {
        self.measured.operations * self.count()
    }

    /// Converts to the record's form; `None` without samples. `tasks` is the
    /// number of tasks in a sample that covers all of them.
    pub fn measurement(&self, tasks: u64) -> Option<Measurement> {
        let mean_ns = self.mean()?;
        // The histogram rounds up to its precision; the extremes are exact.
        let percentile = |percent| self.histogram.value_at_percentile(percent).min(self.max_ns);
        Some(Measurement {
            name: self.measured.name.into(),
            operation: self.measured.operation.into(),
            operations: self.measured.operations,
            count: self.count(),
            mean_ns,
            stddev_ns: self.stddev(),
            min_ns: self.min_ns,
            p50_ns: percentile(50.0),
            p90_ns: percentile(90.0),
            p99_ns: percentile(99.0),
            p999_ns: percentile(99.9),
            max_ns: self.max_ns,
            ns_per_operation: mean_ns / self.measured.operations as f64,
            ns_per_task: self.measured.covers_tasks.then(|| mean_ns / tasks as f64),
            histogram: histogram::encode(&self.histogram),
        })
    }

    /// The mean in nanoseconds; `None` without values.
    pub(crate) fn mean(&self) -> Option<f64> {
        let (whole, rest) = self.division()?;
        Some(whole as f64 + rest as f64 / self.count() as f64)
    }

    /// The sample standard deviation in nanoseconds (divided by n − 1); `None`
    /// for fewer than two values.
    fn stddev(&self) -> Option<f64> {
        let (whole, rest) = self.division().filter(|_| self.count() > 1)?;
        // Σ(x − w)² = Σx² − w·(2Σx − nw) about w, the mean rounded down, and
        // 2Σx − nw = Σx + r. About the mean w + r/n it is smaller by r²/n.
        let about_whole = self.squares - whole * (self.sum + rest);
        let about_mean = about_whole as f64 - rest as f64 * (rest as f64 / self.count() as f64);
        Some((about_mean / (self.count() - 1) as f64).sqrt())
    }

    /// The mean rounded down, and the remainder of that division.
    fn division(&self) -> Option<(u128, u128)> {
        let count = u128::from(self.count());
        Some((self.sum.checked_div(count)?, self.sum.checked_rem(count)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples_of(values: &[u64]) -> Samples {
        let mut samples = Samples::new(Measured::single("wake-up", "wake-up"));
        values.iter().for_each(|value| samples.add(*value));
        samples
    }

    #[test]
    fn merged_samples_equal_those_of_both() {
        let mut merged = samples_of(&[999]);
        merged.clear();
        for part in [&[30, 10][..], &[], &[20, 40]] {
            merged.merge(&samples_of(part));
        }
        assert_eq!(merged.measurement(1), samples_of(&[10, 20, 30, 40]).measurement(1));
        assert_eq!(merged.measurement(1).expect("samples").mean_ns, 25.0);
    }

    /// A sum of squares in floating point gives 0 or NaN around an hour.
    #[test]
    fn cases_worked_by_hand() {
        const HOUR: u64 = 3_600_000_000_000;
        for (values, mean, stddev) in [
            (&[][..], None, None),
            (&[3], Some(3.0), None),
            // Squared distances 9 1 1 1 0 0 4 16 sum to 32; 32 / 7.
            (&[2, 4, 4, 4, 5, 5, 7, 9], Some(5.0), Some(32.0_f64 / 7.0)),
            (&[HOUR + 4, HOUR + 7, HOUR + 13, HOUR + 16], Some(HOUR as f64 + 10.0), Some(30.0)),
        ] {
            let samples = samples_of(values);
            assert_eq!((samples.count(), samples.mean()), (values.len() as u64, mean));
            let (found, expected) = (samples.stddev(), stddev.map(f64::sqrt));
            let close = |found: f64| (found - expected.expect("none")).abs() < 1e-12;
            assert!(found.map_or(expected.is_none(), close), "{values:?}: {found:?}");
        }
    }
}
