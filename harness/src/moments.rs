//! Exact mean and standard deviation of a stream of whole nanoseconds.
//!
//! The sums of the values and of their squares are kept as integers, so that
//! neither is ever rounded and a small deviation beside a large mean is not
//! lost to cancellation, as it is with sums in floating point. Taking a value
//! in costs a multiplication and two additions; Welford's running mean, the
//! usual remedy, would cost every lap a division.

/// Sums over a stream of nanoseconds. 2^44 values of an hour each fit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    count: u64,
    sum: u128,
    /// Sum of the squared values.
    squares: u128,
}

impl Moments {
    /// Takes one more value in, in nanoseconds.
    #[inline]
    pub fn add(&mut self, nanoseconds: u64) {
        self.count += 1;
        self.sum += u128::from(nanoseconds);
        self.squares += u128::from(nanoseconds) * u128::from(nanoseconds);
    }

    /// Takes all values of `other` in.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// How many values were taken in.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean in nanoseconds, or `None` without values.
    pub fn mean(&self) -> Option<f64> {
        let (whole, rest) = self.division()?;
        Some(whole as f64 + rest as f64 / self.count as f64)
    }

    /// The sample standard deviation in nanoseconds (divided by n − 1), or
    /// `None` for fewer than two values.
    pub fn stddev(&self) -> Option<f64> {
        let (whole, rest) = self.division().filter(|_| self.count > 1)?;
        // Σ(x − w)² = Σx² − w·(2Σx − nw) about w, the mean rounded down, and
        // 2Σx − nw = Σx + r. About the mean w + r/n it is smaller by r²/n.
        let about_whole = self.squares - whole * (self.sum + rest);
        let about_mean = about_whole as f64 - rest as f64 * (rest as f64 / self.count as f64);
        Some((about_mean / (self.count - 1) as f64).sqrt())
    }

    /// The mean rounded down, and the rest of that division.
    fn division(&self) -> Option<(u128, u128)> {
        let count = u128::from(self.count);
        Some((self.sum.checked_div(count)?, self.sum.checked_rem(count)?))
    }
}

#[cfg(test)]
mod tests {
    use super::Moments;

    fn of(values: &[u64]) -> Moments {
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
        assert_eq!(of(&[3]).mean(), Some(3.0));
        assert_eq!(of(&[3]).stddev(), None);
    }

    #[test]
    fn equal_values_have_no_spread() {
        assert_eq!(of(&[7; 4]).stddev(), Some(0.0));
        assert_eq!(of(&[3_600_000_000_001; 3]).stddev(), Some(0.0));
    }

    #[test]
    fn a_case_worked_by_hand() {
        // Mean 5; squared distances 9 1 1 1 0 0 4 16 sum to 32; 32 / 7.
        let moments = of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!(moments.count(), 8);
        assert_eq!(moments.mean(), Some(5.0));
        assert_eq!(moments.stddev(), Some((32.0_f64 / 7.0).sqrt()));
    }

    #[test]
    fn a_mean_between_two_values_is_worked_by_hand() {
        // Mean 4/3; squared distances 1/9 1/9 4/9 sum to 2/3; a half of it.
        let moments = of(&[1, 1, 2]);
        assert_eq!(moments.mean(), Some(4.0 / 3.0));
        let stddev = moments.stddev().expect("three values");
        assert!((stddev - (1.0_f64 / 3.0).sqrt()).abs() < 1e-15, "{stddev}");
    }

    #[test]
    fn a_small_spread_beside_a_large_mean_survives() {
        // A sum of squares in floating point gives 0 or NaN here.
        let hour = 3_600_000_000_000;
        let stddev = of(&[hour + 4, hour + 7, hour + 13, hour + 16]).stddev();
        assert!((stddev.expect("four values") - 30.0_f64.sqrt()).abs() < 1e-12, "{stddev:?}");
    }
}
