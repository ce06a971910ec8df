//! Quantiles of a sample.

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

/// The quantile at `probability` (0 to 1) of values that are already in
/// ascending order, in their unit; `None` for no values.
///
/// This is type 7 of Hyndman and Fan, *Sample Quantiles in Statistical
/// Packages*, The American Statistician 50 (1996), 361–365, the default of R
/// and `NumPy`: linear between order statistics, the first one at
/// probability 0, the last one at 1.
pub(super) fn quantile(sorted: &[f64], probability: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = probability * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    let weight = position - below as f64;
    Some(sorted[below] * (1.0 - weight) + sorted[above] * weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_values_have_no_median() {
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn one_value_is_its_own_median() {
        assert_eq!(median(&[3.0]), Some(3.0));
    }

    #[test]
    fn an_odd_sample_has_its_middle_value_as_median() {
        assert_eq!(median(&[9.0, 1.0, 4.0]), Some(4.0));
    }

    #[test]
    fn an_even_sample_has_the_mean_of_its_middle_values_as_median() {
        assert_eq!(median(&[9.0, 1.0, 4.0, 6.0]), Some(5.0));
    }

    #[test]
    fn ties_and_zero_spread_change_nothing() {
        assert_eq!(median(&[2.0, 2.0, 7.0]), Some(2.0));
        assert_eq!(median(&[2.0; 6]), Some(2.0));
    }

    #[test]
    fn a_quantile_lies_on_the_line_between_its_neighbours() {
        let sorted = [10.0, 20.0, 30.0, 40.0, 60.0];
        assert_eq!(quantile(&sorted, 0.0), Some(10.0));
        assert_eq!(quantile(&sorted, 0.25), Some(20.0));
        // Position 0.9 × 4 = 3.6: six tenths of the way from 40 to 60.
        assert_eq!(quantile(&sorted, 0.9), Some(52.0));
        assert_eq!(quantile(&sorted, 1.0), Some(60.0));
    }
}
