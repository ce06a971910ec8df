//! Where a curve bends: two straight lines that meet, fitted to logarithms.
//!
//! A cost that is the same up to some size, such as that of a cache, and grows from there
//! on, has its knee there. The lines are those of least squares, for each place where
//! they may meet; the place is the one that leaves the least, by trying all on a grid
//! (Hinkley, *Inference about the intersection in two-phase regression*, Biometrika 56
//! (1969), 495–504, has the same estimate). An interval comes from fitting every round by
//! itself.

/// How fine the grid is: places from one size to its double.
const PLACES_PER_DOUBLING: f64 = 12.0;

/// The fewest points on which two lines tell more than one: each line needs two, of which
/// they may share one, and one more has to disagree.
pub const FEWEST_POINTS: usize = 5;

/// Two lines in logarithms: y grows as x to the power of a slope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// Where they meet, in the unit of x.
    pub at: f64,
    /// The slope before.
    pub before: f64,
    /// The slope from there on.
    pub after: f64,
}

impl Knee {
    /// The two lines that fit `points` (x, y) best, which are positive and come in
    /// ascending x. `None` of too few points.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < FEWEST_POINTS {
            return None;
        }
        let logs: Vec<[f64; 2]> = points.iter().map(|(x, y)| [x.ln(), y.ln()]).collect();
        // Each line has two points at least, and so a slope.
        let (first, last) = (logs[1][0], logs[logs.len() - 2][0]);
        let steps = ((last - first) / std::f64::consts::LN_2 * PLACES_PER_DOUBLING).ceil() as u32;
        let place = |step: u32| first + (last - first) * f64::from(step) / f64::from(steps.max(1));
        let fits = (0..=steps).filter_map(|step| fit(&logs, place(step)));
        let best = fits.min_by(|(one, _), (other, _)| one.total_cmp(other));
        best.map(|(_, knee)| knee)
    }
}

/// The best two lines that meet at `place`, in logarithms, and the sum of the squares that
/// they leave.
fn fit(logs: &[[f64; 2]], place: f64) -> Option<(f64, Knee)> {
    // y = a + b · min(x − place, 0) + c · max(x − place, 0).
    let row = |x: f64| [1.0, (x - place).min(0.0), (x - place).max(0.0)];
    let mut sums = [[0.0; 4]; 3];
    for [x, y] in logs {
        let row = row(*x);
        for (i, sums) in sums.iter_mut().enumerate() {
            for j in 0..3 {
                sums[j] += row[i] * row[j];
            }
            sums[3] += row[i] * y;
        }
    }
    let [a, before, after] = solve(sums)?;
    let left = logs.iter().map(|[x, y]| {
        let [_, low, high] = row(*x);
        (y - a - before * low - after * high).powi(2)
    });
    Some((left.sum(), Knee { at: place.exp(), before, after }))
}

/// The solution of three linear equations, by elimination; `None` where there is not one.
fn solve(mut rows: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for column in 0..3 {
        let largest = (column..3).max_by(|a, b| {
            let size = |row: usize| rows[row][column].abs();
            size(*a).total_cmp(&size(*b))
        })?;
        rows.swap(column, largest);
        let pivot = rows[column];
        if pivot[column].abs() < 1e-12 {
            return None;
        }
        for row in (0..3).filter(|row| *row != column) {
            let factor = rows[row][column] / pivot[column];
            for (value, pivot) in rows[row].iter_mut().zip(pivot) {
                *value -= factor * pivot;
            }
        }
    }
    Some([0, 1, 2].map(|row| rows[row][3] / rows[row][row]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [f64; 12] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3];

    fn curve(y: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        SIZES.iter().map(|x| (*x, y(*x))).collect()
    }

    fn close(actual: f64, expected: f64) -> bool {
        (actual / expected - 1.0).abs() < 0.04
    }

    // Flat at 4 up to 200, from there on as the square root.
    #[test]
    fn two_lines_are_found_where_they_meet() {
        let knee = Knee::of(&curve(|x| 4.0 * (x / 200.0).max(1.0).sqrt())).unwrap();
        assert!(close(knee.at, 200.0), "{knee:?}");
        assert!(knee.before.abs() < 0.01 && close(knee.after, 0.5), "{knee:?}");
    }

    #[test]
    fn they_may_fall_and_rise_and_meet_between_two_points() {
        let knee =
            Knee::of(&curve(|x| (x / 30.0).powf(if x < 30.0 { -0.25 } else { 0.75 }))).unwrap();
        assert!(close(knee.at, 30.0), "{knee:?}");
        assert!(close(knee.before, -0.25) && close(knee.after, 0.75), "{knee:?}");
    }

    #[test]
    fn one_line_has_two_equal_slopes() {
        let knee = Knee::of(&curve(|x| 3.0 * x.powf(0.2))).unwrap();
        assert!(close(knee.before, 0.2) && close(knee.after, 0.2), "{knee:?}");
    }

    #[test]
    fn few_points_have_none() {
        assert_eq!(Knee::of(&curve(|x| x)[..FEWEST_POINTS - 1]), None);
        assert_eq!(Knee::of(&[]), None);
    }

    // 2x + y = 5, x − y + z = 2, y + 2z = 7: x = 2, y = 1, z = 3 but in another order.
    #[test]
    fn three_equations_are_solved() {
        let rows = [[0.0, 1.0, 2.0, 7.0], [2.0, 1.0, 0.0, 5.0], [1.0, -1.0, 1.0, 4.0]];
        let solved = solve(rows).unwrap();
        assert!(solved.iter().zip([2.0, 1.0, 3.0]).all(|(a, b)| (a - b).abs() < 1e-12));
        assert_eq!(solve([[1.0, 2.0, 0.0, 1.0], [2.0, 4.0, 0.0, 2.0], [0.0; 4]]), None);
    }
}
