//! How sure a comparison has to be of each of its intervals.
//!
//! Whoever compares twenty cases, or looks at the figures again and again until
//! they say something, sees differences that are none. So the 5 % that all
//! intervals together may miss are shared out evenly, over the cases and over
//! the looks at each (Bonferroni): whatever a comparison says, by whichever
//! look, all of it holds with 95 %. Such intervals stay valid however the
//! looking ends (Jennison and Turnbull, *Repeated confidence intervals for group
//! sequential clinical trials*, Controlled Clinical Trials 5 (1984), 33–45).

use harness::statistics::fewest_pairs;

/// What all intervals of a comparison hold with together.
pub const CONFIDENCE: f64 = 0.95;

/// How often a case is looked at while it is measured, at the most.
const LOOKS: usize = 5;

/// Rounds of the first look above the fewest that give an interval: the range
/// of those is of no use where one of them was disturbed.
const SPARE_ROUNDS: usize = 2;

/// The confidence of one of `intervals` that hold together.
#[must_use]
pub fn confidence_of_one(intervals: usize) -> f64 {
    1.0 - (1.0 - CONFIDENCE) / intervals.max(1) as f64
}

/// When a case is looked at. Each look comes after twice the rounds of the one
/// before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Looks {
    /// The confidence of every interval at every look.
    pub confidence: f64,
    /// Rounds at the first look.
    first: usize,
}

impl Looks {
    /// The looks at each of `cases` cases.
    #[must_use]
    pub fn at(cases: usize) -> Self {
        let confidence = confidence_of_one(cases * LOOKS);
        Self { confidence, first: fewest_pairs(confidence) + SPARE_ROUNDS }
    }

    /// Whether the next look is due, after `taken` looks and when both arms
    /// have measured `rounds` rounds.
    #[must_use]
    pub fn is_due(&self, taken: usize, rounds: usize) -> bool {
        taken < LOOKS && rounds >= self.first << taken
    }

    /// Whether there is no further look after `taken` ones.
    #[must_use]
    pub fn are_over(&self, taken: usize) -> bool {
        taken >= LOOKS
    }

    /// The rounds of the last look.
    #[must_use]
    pub fn most_rounds(&self) -> usize {
        self.first << (LOOKS - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_may_miss_is_shared_out() {
        assert_eq!(confidence_of_one(1), 0.95);
        assert!((confidence_of_one(10) - 0.995).abs() < 1e-12);
        assert_eq!(confidence_of_one(0), 0.95);
    }

    // 0.05 / 5 allows 8 pairs on one side, 2 · 2⁻⁸ < 1 %; 0.05 / 100 allows 12.
    #[test]
    fn looks_double_from_the_fewest_rounds_with_an_interval() {
        let due = |cases: usize| {
            let looks = Looks::at(cases);
            let first = |taken| (0..).find(|rounds| looks.is_due(taken, *rounds)).unwrap();
            (0..LOOKS).map(first).collect::<Vec<_>>()
        };
        assert_eq!(due(1), [10, 20, 40, 80, 160]);
        assert_eq!(due(20), [14, 28, 56, 112, 224]);
        assert_eq!(Looks::at(20).most_rounds(), 224);
        assert!(!Looks::at(1).is_due(LOOKS, 1000) && Looks::at(1).are_over(LOOKS));
    }
}
