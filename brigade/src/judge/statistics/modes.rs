//! Recognizes a sample with two modes, such as processes whose tasks the kernel kept together and
//! processes whose tasks it spread: one figure for both would describe neither.
//!
//! The rule: sort the logarithms and look at gaps between neighbours that leave at least
//! [`MIN_MEMBERS`] values, and at least [`MIN_SHARE`] of the sample, on either side. The widest gap
//! separates two modes if its ends differ by a factor of at least [`MIN_RATIO`], and if it is wide
//! compared with the standard deviation within the groups: [`dominance`] times, which is larger for
//! small samples, whose deviation is uncertain. That factor was chosen by simulation: fewer than
//! two in a hundred samples of one log-normal mode are mistaken for two. Since the rule uses
//! logarithms, their spread does not matter.
//!
//! One value is no mode. But among fewer than [`ENOUGH`] values, a single one that is away by a
//! factor of [`OUTLIER_RATIO`], and by [`OUTLIER_DOMINANCE`] times the interquartile range of the
//! others, may belong to a second mode, and is reported. The simulation in `tests.rs` shows how
//! often the rules err, in both directions.

use serde::{Deserialize, Serialize};

use super::estimate::{logarithms, quantile, sorted};

/// The fewest values that make a mode: a single one is an outlier.
const MIN_MEMBERS: usize = 2;
/// The smallest share of the sample that makes a mode.
const MIN_SHARE: f64 = 0.1;
/// The smallest factor between the slowest fast value and the fastest slow one:
/// most readers regard closer values as equal.
const MIN_RATIO: f64 = 1.1;
/// The smallest factor between an outlier and its neighbour.
const OUTLIER_RATIO: f64 = 2.0;
/// The smallest gap next to an outlier, in interquartile ranges of the others.
const OUTLIER_DOMINANCE: f64 = 4.0;

/// From this many values on, a single one is an outlier, not a mode: one of twenty is less than
/// [`MIN_SHARE`].
const ENOUGH: usize = 20;

/// One of two modes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Mode {
    /// The median of its values, in the sample's unit.
    pub median: f64,
    /// Its share of the sample, 0 to 1.
    pub share: f64,
}

/// Two modes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Modes {
    /// The one with the smaller values.
    pub fast: Mode,
    /// The one with the larger values.
    pub slow: Mode,
    /// Between them: the geometric mean of the largest fast value and the
    /// smallest slow one.
    pub boundary: f64,
}

impl Modes {
    /// The two modes of a sample, if it has two. A sample with a value that is
    /// not positive has none: the rule compares logarithms.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted(values);
        let logs = logarithms(&sorted)?;
        let least = MIN_MEMBERS.max((MIN_SHARE * logs.len() as f64).ceil() as usize);
        let split = widest_gap(&logs, least)?;
        let scatter = deviation_within(&logs, split);
        if gap(&logs, split) < MIN_RATIO.ln().max(dominance(logs.len()) * scatter) {
            return None;
        }
        let (fast, slow) = sorted.split_at(split);
        let mode = |members: &[f64]| {
            let share = members.len() as f64 / sorted.len() as f64;
            Some(Mode { median: quantile(members, 0.5)?, share })
        };
        let boundary = ((logs[split - 1] + logs[split]) / 2.0).exp();
        Some(Self { fast: mode(fast)?, slow: mode(slow)?, boundary })
    }
}

/// The outlier of a small sample, if there is one: a value as far from the
/// others as a second mode would be, in a sample too small to decide.
pub fn outlier(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let logs = logarithms(&sorted)?;
    let split = widest_gap(&logs, 1)?;
    let is_told = values.len() < ENOUGH && is_lone(&logs, split);
    match (split, values.len() - split) {
        (_, 1) if is_told => sorted.last().copied(),
        (1, _) if is_told => sorted.first().copied(),
        _ => None,
    }
}

/// The index above the widest gap that leaves `least` values on either side.
fn widest_gap(logs: &[f64], least: usize) -> Option<usize> {
    let last = logs.len().checked_sub(least)?;
    (least..=last).max_by(|a, b| gap(logs, *a).total_cmp(&gap(logs, *b)))
}

/// The smallest gap between two modes among `count` values, in standard
/// deviations within them.
fn dominance(count: usize) -> f64 {
    1.5 + 20.0 / (count as f64 - 3.0)
}

/// The standard deviation within the groups on both sides of `split`.
fn deviation_within(logs: &[f64], split: usize) -> f64 {
    let (fast, slow) = logs.split_at(split);
    let squares = |group: &[f64]| -> f64 {
        let mean = group.iter().sum::<f64>() / group.len() as f64;
        group.iter().map(|log| (log - mean).powi(2)).sum()
    };
    ((squares(fast) + squares(slow)) / (logs.len() as f64 - 2.0)).sqrt()
}

/// Whether the gap below `split` is wide, absolutely and compared with the
/// scatter on both sides.
fn is_lone(logs: &[f64], split: usize) -> bool {
    let (fast, slow) = logs.split_at(split);
    let scatter = interquartile_range(fast).max(interquartile_range(slow));
    gap(logs, split) >= OUTLIER_RATIO.ln().max(OUTLIER_DOMINANCE * scatter)
}

fn gap(logs: &[f64], split: usize) -> f64 {
    logs[split] - logs[split - 1]
}

fn interquartile_range(sorted: &[f64]) -> f64 {
    let at = |probability| quantile(sorted, probability).unwrap_or_default();
    at(0.75) - at(0.25)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tight_groups_ten_to_one_apart_are_two_modes() {
        let modes = Modes::of(&[22.0, 2.6, 2.5, 20.0, 2.7]).unwrap();
        assert_eq!(modes.fast, Mode { median: 2.6, share: 0.6 });
        assert_eq!(modes.slow, Mode { median: 21.0, share: 0.4 });
        // √(2.7 × 20)
        assert!((modes.boundary - 54.0_f64.sqrt()).abs() < 1e-12, "{}", modes.boundary);
    }

    #[test]
    fn a_single_value_far_from_the_others_is_an_outlier_at_either_end() {
        assert_eq!(outlier(&[2.5, 22.0, 2.6, 2.7, 2.6]), Some(22.0));
        assert_eq!(outlier(&[25.0, 22.0, 2.6, 27.0, 26.0]), Some(2.6));
        assert_eq!(outlier(&[1.0, 2.0, 1.0, 1.0, 1.0]), Some(2.0));
        assert_eq!(outlier(&[1.0, 1.99, 1.0, 1.0, 1.0]), None);
        assert_eq!(outlier(&[2.5, 22.0, 2.6, 22.0, 2.6]), None);
        assert_eq!(outlier(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]), None);
        assert_eq!(outlier(&[0.0, 1.0, 1.0, 1.0, 1.0]), None);
        assert_eq!(outlier(&[]), None);
        assert_eq!(outlier(&[1.0]), None);
    }

    #[test]
    fn less_than_a_tenth_of_a_large_sample_is_no_mode() {
        let mut values = vec![1.0; 27];
        values.extend([10.0; 3]);
        assert_eq!(Modes::of(&values).map(|modes| modes.slow.share), Some(0.1));
        values.push(1.0);
        assert_eq!(Modes::of(&values), None);
    }

    // In logarithms of base 2 the lower group is 0, 0 and the upper one 0, 1, 2 above its first:
    // squares of 2 over 3 degrees of freedom. For five values the gap must be 1.5 + 20 / 2 = 11.5
    // times their root.
    #[test]
    fn a_gap_of_exactly_the_required_width_separates_two_modes() {
        let least = 11.5 * (2.0_f64 / 3.0).sqrt();
        let values = |gap: f64| [0.0, 0.0, gap, gap + 1.0, gap + 2.0].map(f64::exp2);
        assert!(Modes::of(&values(least + 1e-6)).is_some());
        assert_eq!(Modes::of(&values(least - 1e-6)), None);
    }

    #[test]
    fn one_mode_and_values_without_logarithms_are_not_two() {
        for values in [
            &[2.5, 2.6, 2.7, 2.6, 22.0][..],
            &[3.0; 8],
            &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0],
            &[1.0, 1.0, 1.0, 1.0999, 1.0999],
            &[1.0, 10.0, 10.0],
            &[0.0, 0.0, 10.0, 10.0],
            &[],
        ] {
            assert_eq!(Modes::of(values), None, "{values:?}");
        }
        assert!(Modes::of(&[1.0, 1.0, 1.0, 1.1001, 1.1001]).is_some());
        let lone = |others| [vec![1.0; others], vec![9.0]].concat();
        assert_eq!((outlier(&lone(18)), outlier(&lone(19))), (Some(9.0), None));
    }
}
