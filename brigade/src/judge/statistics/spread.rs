//! How far values scatter, whatever a few of them do.

use super::quantile::median;

/// How many median deviations from the middle a value counts for nothing.
const BEYOND: f64 = 9.0;

/// The standard deviation of normal values, over their median absolute deviation.
const OF_NORMAL: f64 = 1.482_602_218_505_602;

/// The standard deviation of most of `values`, in their unit; `None` for fewer than two.
///
/// It is the square root of the biweight midvariance: values count the less, the
/// further from the median they lie, and nothing from nine median absolute deviations
/// (six standard deviations) on. Lax, *Robust estimators of scale: finite-sample
/// performance in long-tailed symmetric distributions*, Journal of the American
/// Statistical Association 80 (1985), 736–741, found none that does better over normal
/// and long-tailed samples together. Where more than half of the values are the same,
/// no value deviates, and it is 0.
pub fn spread(values: &[f64]) -> Option<f64> {
    let middle = median(values).filter(|_| values.len() > 1)?;
    let deviations: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let median_deviation = median(&deviations)?;
    let (mut above, mut below) = (0.0, 0.0);
    for deviation in &deviations {
        let square = (deviation / (BEYOND * median_deviation)).powi(2);
        if square < 1.0 {
            above += deviation.powi(2) * (1.0 - square).powi(4);
            below += (1.0 - square) * (1.0 - 5.0 * square);
        }
    }
    let biweight = (values.len() as f64 * above).sqrt() / below.abs();
    let found = if biweight.is_finite() { biweight } else { OF_NORMAL * median_deviation };
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_does_not_scatter() {
        assert_eq!((spread(&[]), spread(&[3.0])), (None, None));
        assert_eq!(spread(&[3.0; 4]), Some(0.0));
        assert_eq!(spread(&[3.0, 3.0, 3.0, 9.0]), Some(0.0));
    }

    // The median is 0 and the median deviation 1, so u² = 1/81 for both ones: above is
    // 2 (80/81)⁴, below 1 + 2 (80/81)(76/81).
    #[test]
    fn three_values_worked_by_hand() {
        let above: f64 = 2.0 * (80.0 / 81.0_f64).powi(4);
        let below = 1.0 + 2.0 * (80.0 / 81.0) * (76.0 / 81.0);
        let expected = (3.0 * above).sqrt() / below;
        assert!((spread(&[-1.0, 0.0, 1.0]).unwrap() - expected).abs() < 1e-12);
    }

    #[test]
    fn what_lies_far_away_counts_for_nothing() {
        let near: Vec<f64> = (0..100).map(f64::from).collect();
        let far = [&near[..], &[1e6, 1e9]].concat();
        let (near, far) = (spread(&near).unwrap(), spread(&far).unwrap());
        assert!((far / near - 1.0).abs() < 0.05, "{near} {far}");
    }

    // Sums of twelve uniform values are normal as far as a tenth of a percent tells.
    #[test]
    fn of_normal_values_it_is_the_standard_deviation() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut normal = || (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        let values: Vec<f64> = (0..40_000).map(|_| normal()).collect();
        let found = spread(&values).unwrap();
        assert!((found - 1.0).abs() < 0.02, "{found}");
    }
}
