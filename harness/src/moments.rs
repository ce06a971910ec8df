//! Exact mean and standard deviation of a stream, by Welford's method.
//!
//! A sum of squares loses the deviation to cancellation when it is small
//! beside the mean; Welford's update (Technometrics 4(3), 1962, as in Knuth,
//! TAOCP vol. 2, 4.2.2) does not.

/// Running mean and standard deviation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    count: u64,
    mean: f64,
    /// Sum of squared distances from the running mean.
    squares: f64,
}

impl Moments {
    /// Takes one more value in.
    #[inline]
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let distance = value - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value - self.mean);
    }

    /// How many values were taken in.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean, or `None` without values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// The sample standard deviation (divided by n − 1), or `None` for fewer
    /// than two values.
    #[must_use]
    pub fn stddev(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.squares / (self.count - 1) as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::Moments;

    fn of(values: &[f64]) -> Moments {
        let mut moments = Moments::default();
        values.iter().for_each(|&value| moments.add(value));
        moments
    }

    #[test]
    fn nothing_has_no_mean() {
        assert_eq!(of(&[]).mean(), None);
        assert_eq!(of(&[]).stddev(), None);
    }

    #[test]
    fn one_value_has_a_mean_but_no_deviation() {
        assert_eq!(of(&[3.0]).mean(), Some(3.0));
        assert_eq!(of(&[3.0]).stddev(), None);
    }

    #[test]
    fn equal_values_have_no_spread() {
        assert_eq!(of(&[7.0; 4]).stddev(), Some(0.0));
    }

    #[test]
    fn a_case_worked_by_hand() {
        // Mean 5; squared distances 9 1 1 1 0 0 4 16 sum to 32; 32 / 7.
        let moments = of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!(moments.count(), 8);
        assert_eq!(moments.mean(), Some(5.0));
        assert_eq!(moments.stddev(), Some((32.0_f64 / 7.0).sqrt()));
    }

    #[test]
    fn a_small_spread_beside_a_large_mean_survives() {
        // A sum of squares gives 0 or NaN here.
        let stddev = of(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]).stddev();
        assert!((stddev.expect("four values") - 30.0_f64.sqrt()).abs() < 1e-9, "{stddev:?}");
    }
}
