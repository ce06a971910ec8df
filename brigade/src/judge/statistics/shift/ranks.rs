//! How likely every value of a rank statistic is where nothing differs: exact,
//! for samples of any size.

/// The probabilities of 0, 1, 2 … up to n (n + 1) / 2 for Wilcoxon's signed
/// rank sum of `count` = n differences: each rank counts or does not, as a fair
/// coin falls.
pub(super) fn signed_rank_probabilities(count: usize) -> Vec<f64> {
    let mut probabilities = vec![0.0; count * (count + 1) / 2 + 1];
    probabilities[0] = 1.0;
    for rank in 1..=count {
        for sum in (0..=rank * (rank + 1) / 2).rev() {
            let with_it = if sum >= rank { probabilities[sum - rank] } else { 0.0 };
            probabilities[sum] = 0.5 * (probabilities[sum] + with_it);
        }
    }
    probabilities
}

/// The probabilities of 0, 1, 2 … up to m n for the number of pairs, one value
/// of each of two samples of m and n values, in which the second is larger.
///
/// The numbers of ways are the coefficients of the Gaussian binomial
/// Π (1 − qⁿ⁺ⁱ) / (1 − qⁱ) over i from 1 to m; each factor's share i / (n + i)
/// of the number of all ways makes them probabilities.
pub(super) fn rank_sum_probabilities(first: usize, second: usize) -> Vec<f64> {
    let (few, many) = (first.min(second), first.max(second));
    let mut probabilities = vec![0.0; first * second + 1];
    probabilities[0] = 1.0;
    for i in 1..=few {
        let reach = i * many;
        for sum in (many + i..=reach).rev() {
            probabilities[sum] -= probabilities[sum - many - i];
        }
        for sum in i..=reach {
            probabilities[sum] += probabilities[sum - i];
        }
        let share = i as f64 / (many + i) as f64;
        // The upper half mirrors the lower one, and has gathered rounding.
        for sum in 0..=reach / 2 {
            probabilities[sum] *= share;
            probabilities[reach - sum] = probabilities[sum];
        }
    }
    probabilities
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(actual: &[f64], ways: &[f64], all: f64) {
        let expected: Vec<f64> = ways.iter().map(|ways| ways / all).collect();
        let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
        assert!(
            actual.len() == expected.len() && actual.iter().zip(&expected).all(close),
            "{actual:?}, not {expected:?}"
        );
    }

    #[test]
    fn the_signed_ranks_of_up_to_four_differences_worked_by_hand() {
        check(&signed_rank_probabilities(0), &[1.0], 1.0);
        check(&signed_rank_probabilities(1), &[1.0, 1.0], 2.0);
        check(&signed_rank_probabilities(3), &[1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0], 8.0);
        let ways = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0];
        check(&signed_rank_probabilities(4), &ways, 16.0);
    }

    #[test]
    fn the_rank_sums_of_small_samples_worked_by_hand() {
        check(&rank_sum_probabilities(0, 3), &[1.0], 1.0);
        check(&rank_sum_probabilities(1, 3), &[1.0; 4], 4.0);
        check(&rank_sum_probabilities(2, 2), &[1.0, 1.0, 2.0, 1.0, 1.0], 6.0);
        let ways = [1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0];
        check(&rank_sum_probabilities(2, 3), &ways, 10.0);
        check(&rank_sum_probabilities(3, 2), &ways, 10.0);
    }

    #[test]
    fn large_samples_keep_their_sum_mean_and_variance() {
        let moments = |probabilities: &[f64]| {
            let about = |centre: f64, power| {
                let terms = probabilities.iter().enumerate();
                terms.map(|(value, p)| p * (value as f64 - centre).powi(power)).sum::<f64>()
            };
            let mean = about(0.0, 1);
            (about(0.0, 0), mean, about(mean, 2))
        };
        let close = |actual: f64, expected: f64| (actual / expected - 1.0).abs() < 1e-9;
        // n (n + 1) / 4 and n (n + 1)(2n + 1) / 24.
        let (all, mean, variance) = moments(&signed_rank_probabilities(200));
        assert!(close(all, 1.0) && close(mean, 10_050.0) && close(variance, 671_675.0));
        // m n / 2 and m n (m + n + 1) / 12.
        let (all, mean, variance) = moments(&rank_sum_probabilities(80, 120));
        assert!(close(all, 1.0) && close(mean, 4_800.0) && close(variance, 160_800.0));
    }
}
