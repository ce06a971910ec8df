//! How sure a comparison has to be of each of its intervals.
//!
//! Whoever compares twenty cases, or looks at the figures again and again until
//! they say something, sees differences that are none. So the 5 % that all
//! intervals together may miss are shared out: evenly over the cases, and over
//! the looks at each as the budget is spent. By the time that a quarter of it is
//! gone, the looks at a case may have used up a quarter of its share; the last
//! look has at least half of it, for that is the one that most cases need.
//!
//! This is the spending function α · t of Lan and DeMets, *Discrete sequential
//! boundaries for clinical trials*, Biometrika 70 (1983), 659–663, with
//! Bonferroni's inequality in place of the joint distribution of the looks:
//! whatever a comparison says, by whichever look, all of it holds with 95 %.

use harness::statistics::fewest_pairs;

/// What all intervals of a comparison hold with together.
pub const CONFIDENCE: f64 = 0.95;

/// The most rounds of a case that are compared: the interval needs every pair of
/// them, and a run of a stranger could have any number.
pub const MOST_ROUNDS: usize = 500;

/// Rounds of a look above the fewest that give an interval: the range of those
/// is of no use where one of them was disturbed.
const SPARE_ROUNDS: usize = 2;

/// The confidence of one of `intervals` that hold together.
#[must_use]
pub fn confidence_of_one(intervals: usize) -> f64 {
    1.0 - share_of_one(intervals)
}

/// What one of `intervals` may miss, 0 to 1.
fn share_of_one(intervals: usize) -> f64 {
    (1.0 - CONFIDENCE) / intervals.max(1) as f64
}

/// The looks at one case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Looks {
    /// What they may miss together, 0 to 1.
    share: f64,
    /// How much of that is used up, 0 to 1.
    used: f64,
}

impl Looks {
    /// The looks at one of `cases` cases.
    #[must_use]
    pub fn at_one_of(cases: usize) -> Self {
        Self { share: share_of_one(cases), used: 0.0 }
    }

    /// Takes a look if one is due, and returns its confidence. One is due after
    /// half of the budget and after each half of that, 1/4, 1/8 and so on, as
    /// soon as there are rounds enough for it. `spent` is the share of the
    /// budget that is gone, 0 to 1.
    pub fn take(&mut self, spent: f64, rounds: usize) -> Option<f64> {
        let due = spent.log2().floor().exp2();
        if spent >= 1.0 || due <= self.used {
            return None;
        }
        let confidence = 1.0 - self.share * (due - self.used);
        if rounds < fewest_pairs(confidence) + SPARE_ROUNDS {
            return None;
        }
        self.used = due;
        Some(confidence)
    }

    /// The confidence of the last look, when there are no further rounds: it may
    /// miss all that is left.
    #[must_use]
    pub fn last(&self) -> f64 {
        1.0 - self.share * (1.0 - self.used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn misses(confidence: Option<f64>, expected: f64) {
        let confidence = confidence.unwrap();
        assert!((1.0 - confidence - expected).abs() < 1e-12, "{confidence}");
    }

    #[test]
    fn what_all_may_miss_is_shared_out() {
        assert_eq!(confidence_of_one(1), 0.95);
        assert!((confidence_of_one(10) - 0.995).abs() < 1e-12);
        assert_eq!(confidence_of_one(0), 0.95);
    }

    #[test]
    fn looks_come_after_halves_of_halves_of_the_budget() {
        let mut looks = Looks::at_one_of(1);
        assert_eq!(looks.take(0.0, 100), None, "nothing is spent");
        misses(looks.take(0.13, 100), 0.05 / 8.0);
        assert_eq!(looks.take(0.24, 100), None, "it has been looked at since");
        misses(looks.take(0.25, 100), 0.05 / 8.0);
        misses(looks.take(0.9, 100), 0.05 / 4.0);
        assert_eq!(looks.take(0.99, 100), None, "only the last follows");
        misses(Some(looks.last()), 0.05 / 2.0);
    }

    #[test]
    fn all_looks_together_miss_the_share_of_the_case() {
        let mut looks = Looks::at_one_of(20);
        let spent = (1..1000).map(|thousandth| f64::from(thousandth) / 1000.0);
        let taken: f64 = spent.filter_map(|spent| looks.take(spent, 400)).map(|c| 1.0 - c).sum();
        misses(Some(looks.last() - taken), 0.05 / 20.0);
    }

    // A look that may miss 0.05 / 4 needs 8 rounds on one side, 2 · 2⁻⁸ < 0.0125,
    // and 2 to spare.
    #[test]
    fn a_look_waits_for_its_rounds_and_then_may_miss_more() {
        let mut looks = Looks::at_one_of(1);
        assert_eq!(looks.take(0.3, 9), None);
        misses(looks.clone().take(0.3, 10), 0.05 / 4.0);
        misses(looks.take(0.6, 10), 0.05 / 2.0);
    }

    #[test]
    fn without_a_look_the_last_may_miss_it_all() {
        let mut looks = Looks::at_one_of(1);
        assert_eq!(looks.take(1.0, 100), None, "the budget is spent");
        misses(Some(looks.last()), 0.05);
    }
}
