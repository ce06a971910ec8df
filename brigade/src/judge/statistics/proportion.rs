//! The share of trials that came out one way, with an exact interval, and the slope of a
//! line.
//!
//! The interval of a share is that of Clopper and Pearson, *The use of confidence or
//! fiducial limits illustrated in the case of the binomial*, Biometrika 26
//! (1934), 404–413: its ends are the shares under which what was seen, or
//! something further out, has half of the probability that is left over. It
//! covers the true share with the confidence asked for at least.

use super::estimate::Interval;

/// Halvings of the range in which an end is looked for: as many as a number
/// between 0 and 1 has bits.
const HALVINGS: u32 = 64;

/// The interval of the share of which `hits` of `trials` were seen, 0 to 1, at
/// `confidence`, 0 to 1. `None` without trials.
pub fn proportion(hits: u64, trials: u64, confidence: f64) -> Option<Interval> {
    if trials == 0 {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    let at_most = |count: u64, share: f64| cumulative(count, trials, share);
    let low = match hits {
        0 => 0.0,
        hits => falling_root(|share| at_most(hits - 1, share) - (1.0 - tail)),
    };
    let high = if hits >= trials { 1.0 } else { falling_root(|share| at_most(hits, share) - tail) };
    Some(Interval { low, high })
}

/// P(X ≤ `count`) for X ~ Bin(`trials`, `share`), the share strictly between 0
/// and 1.
fn cumulative(count: u64, trials: u64, share: f64) -> f64 {
    // In logarithms, since the terms are beyond the smallest number long before
    // their sum is.
    let odds = share.ln() - (-share).ln_1p();
    let mut term = trials as f64 * (-share).ln_1p();
    let mut sum = term.exp();
    for hits in 1..=count {
        term += ((trials - hits + 1) as f64 / hits as f64).ln() + odds;
        sum += term.exp();
    }
    sum
}

/// Where `function`, which falls from 0 to 1, is zero.
fn falling_root(function: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if function(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The slope of the line that fits `points` (x, y) best in y, by ordinary
/// least squares: Σ (x − x̄)(y − ȳ) / Σ (x − x̄)², in units of y per unit of x.
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

    #[track_caller]
    fn check(hits: u64, trials: u64, low: f64, high: f64) {
        let interval = proportion(hits, trials, 0.95).unwrap();
        let close = |actual: f64, expected: f64| (actual - expected).abs() < 1e-12;
        assert!(close(interval.low, low) && close(interval.high, high), "{interval:?}");
    }

    #[test]
    fn nothing_tried_is_nothing_known() {
        assert_eq!(proportion(0, 0, 0.95), None);
    }

    // (1 − p)ⁿ = 2.5 %, and so for all hits by symmetry.
    #[test]
    fn no_hits_and_all_hits_have_ends_in_closed_form() {
        check(0, 1, 0.0, 0.975);
        check(1, 1, 0.025, 1.0);
        let tenth_root = 1.0 - 0.025_f64.powf(0.1);
        check(0, 10, 0.0, tenth_root);
        check(10, 10, 1.0 - tenth_root, 1.0);
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
