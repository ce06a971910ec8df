//! The slope of a line through points.

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
    use super::slope;

    #[test]
    fn no_points_and_one_point_have_no_slope() {
        assert_eq!(slope(&[]), None);
        assert_eq!(slope(&[(3.0, 4.0)]), None);
    }

    #[test]
    fn points_above_one_another_have_no_slope() {
        assert_eq!(slope(&[(2.0, 1.0), (2.0, 5.0), (2.0, 9.0)]), None);
    }

    #[test]
    fn points_on_a_line_have_its_slope() {
        assert_eq!(slope(&[(0.0, 1.0), (1.0, 4.0), (3.0, 10.0)]), Some(3.0));
        assert_eq!(slope(&[(1.0, 7.0), (2.0, 7.0)]), Some(0.0));
    }

    // x̄ = 2, ȳ = 3; products −1·−2, 0·1, 1·1 sum to 3; squares to 2.
    #[test]
    fn a_case_worked_by_hand() {
        assert_eq!(slope(&[(1.0, 1.0), (2.0, 4.0), (3.0, 4.0)]), Some(1.5));
    }

    #[test]
    fn a_large_constant_changes_nothing() {
        let far = [(1e6, 1e12 + 1.0), (1e6 + 1.0, 1e12 + 4.0), (1e6 + 2.0, 1e12 + 4.0)];
        assert!((slope(&far).unwrap() - 1.5).abs() < 1e-3);
    }
}
