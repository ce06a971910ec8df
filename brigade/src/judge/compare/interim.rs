//! How sure a comparison has to be of each of its intervals.
//!
//! A comparison of twenty cases, or one that analyses its figures again and again
//! until they differ, finds differences where there are none. So the 5 % of error
//! that all intervals together may have are divided: evenly among the cases, and
//! for each case among its interim analyses as the budget is spent. When a
//! quarter of the budget is gone, the analyses of a case may have used a quarter
//! of its share; the final one has at least half, since most cases need it.
//!
//! This is the spending function α · t of Lan and DeMets, *Discrete sequential
//! boundaries for clinical trials*, Biometrika 70 (1983), 659–663, with
//! Bonferroni's inequality in place of the joint distribution of the analyses: all
//! verdicts of a comparison, at whichever analysis each fell, hold together with
//! 95 %.

use crate::judge::statistics::fewest_pairs;

/// The joint confidence of all intervals of a comparison, 0 to 1.
pub const CONFIDENCE: f64 = 0.95;

/// The most rounds of a case that are compared: the interval takes every pair of
/// them, and a saved run is untrusted input.
pub const MOST_ROUNDS: usize = 500;

/// Rounds of an analysis beyond the fewest that give an interval: that is their
/// whole range, which a single disturbed round makes useless.
const SPARE_ROUNDS: usize = 2;

/// The confidence of each of `intervals` intervals that hold together.
pub fn confidence_of_one(intervals: usize) -> f64 {
    1.0 - error_of_one(intervals)
}

/// How sure to be of a difference between two saved runs, for each of `cases` cases:
/// the step-down procedure of Holm, *A simple sequentially rejective multiple test
/// procedure*, Scandinavian Journal of Statistics 6 (1979), 65–70.
///
/// `differs` says whether a case differs with a confidence, 0 to 1. Cases that
/// differ with the confidence of one of all intervals are found; the others share
/// the 5 % anew, until no further one is found. All differences that are found hold
/// together with 95 %, however many cases there are.
pub fn step_down(cases: usize, differs: impl Fn(usize, f64) -> bool) -> Vec<f64> {
    let mut confidences = vec![None; cases];
    loop {
        let open: Vec<usize> = (0..cases).filter(|case| confidences[*case].is_none()).collect();
        let confidence = confidence_of_one(open.len());
        let found: Vec<usize> =
            open.into_iter().filter(|case| differs(*case, confidence)).collect();
        if found.is_empty() {
            return confidences.into_iter().map(|found| found.unwrap_or(confidence)).collect();
        }
        for case in found {
            confidences[case] = Some(confidence);
        }
    }
}

/// The error that each of `intervals` intervals may have, 0 to 1.
fn error_of_one(intervals: usize) -> f64 {
    (1.0 - CONFIDENCE) / intervals.max(1) as f64
}

/// The interim analyses of one case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterimAnalyses {
    /// The error that they may have together, 0 to 1.
    error: f64,
    /// The share of it that is used up, 0 to 1.
    used: f64,
}

impl InterimAnalyses {
    /// The analyses of one of `cases` cases.
    pub fn of_one_in(cases: usize) -> Self {
        Self { error: error_of_one(cases), used: 0.0 }
    }

    /// The confidence of the analysis that is due, if one is: after 1/2, 1/4, 1/8
    /// … of the budget, as soon as there are enough rounds. It counts as made.
    /// `spent` is the share of the budget that is gone, 0 to 1.
    pub fn next(&mut self, spent: f64, rounds: usize) -> Option<f64> {
        let due = spent.log2().floor().exp2();
        if spent >= 1.0 || due <= self.used {
            return None;
        }
        let confidence = 1.0 - self.error * (due - self.used);
        if rounds < fewest_pairs(confidence) + SPARE_ROUNDS {
            return None;
        }
        self.used = due;
        Some(confidence)
    }

    /// The confidence of the final analysis, which has all of the error that is
    /// left.
    pub fn last(&self) -> f64 {
        1.0 - self.error * (1.0 - self.used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Of four cases the first differs with 98.75 %, the second with 98.3 % and the
    // third with 97.4 %: each is found only because those before it were.
    #[test]
    fn what_is_found_leaves_its_error_to_the_others() {
        let sure = [0.99, 0.985, 0.976, 0.9];
        let confidences = step_down(4, |case, confidence| sure[case] >= confidence);
        let expected = [1.0 - 0.05 / 4.0, 1.0 - 0.05 / 3.0, 1.0 - 0.05 / 2.0, 0.95];
        assert_eq!(confidences, expected);
        let none = step_down(4, |_, _| false);
        assert_eq!(none, [1.0 - 0.05 / 4.0; 4]);
        assert!(step_down(0, |_, _| true).is_empty());
    }

    #[track_caller]
    fn errs(confidence: Option<f64>, expected: f64) {
        let confidence = confidence.unwrap();
        assert!((1.0 - confidence - expected).abs() < 1e-12, "{confidence}");
    }

    #[test]
    fn the_error_is_divided_among_the_intervals() {
        assert_eq!(confidence_of_one(1), 0.95);
        assert!((confidence_of_one(10) - 0.995).abs() < 1e-12);
        assert_eq!(confidence_of_one(0), 0.95);
    }

    #[test]
    fn analyses_are_due_after_halves_of_halves_of_the_budget() {
        let mut analyses = InterimAnalyses::of_one_in(1);
        assert_eq!(analyses.next(0.0, 100), None, "nothing is spent");
        errs(analyses.next(0.13, 100), 0.05 / 8.0);
        assert_eq!(analyses.next(0.24, 100), None, "it was analysed since");
        errs(analyses.next(0.25, 100), 0.05 / 8.0);
        errs(analyses.next(0.9, 100), 0.05 / 4.0);
        assert_eq!(analyses.next(0.99, 100), None, "only the last follows");
        errs(Some(analyses.last()), 0.05 / 2.0);
    }

    #[test]
    fn all_analyses_together_have_the_error_of_the_case() {
        let mut analyses = InterimAnalyses::of_one_in(20);
        let spent = (1..1000).map(|thousandth| f64::from(thousandth) / 1000.0);
        let taken: f64 = spent.filter_map(|spent| analyses.next(spent, 400)).map(|c| 1.0 - c).sum();
        errs(Some(analyses.last() - taken), 0.05 / 20.0);
    }

    // An analysis with an error of 0.05 / 4 needs 8 rounds on one side, as
    // 2 · 2⁻⁸ < 0.0125, and 2 to spare.
    #[test]
    fn an_analysis_waits_for_its_rounds_and_then_may_err_more() {
        let mut analyses = InterimAnalyses::of_one_in(1);
        assert_eq!(analyses.next(0.3, 9), None);
        errs(analyses.clone().next(0.3, 10), 0.05 / 4.0);
        errs(analyses.next(0.6, 10), 0.05 / 2.0);
    }

    #[test]
    fn without_an_interim_analysis_the_final_one_has_all_of_the_error() {
        let mut analyses = InterimAnalyses::of_one_in(1);
        assert_eq!(analyses.next(1.0, 100), None, "the budget is spent");
        errs(Some(analyses.last()), 0.05);
    }
}
