//! Comparing two cases round by round: what changes the whole machine from
//! one round to the next changes both sides of a pair and cancels.

use std::collections::BTreeMap;

/// One figure per round; rounds that gave no figure are absent.
pub type ByRound = BTreeMap<u32, f64>;

/// `first / second` of every round that has both, in the order of rounds.
#[must_use]
pub fn ratios(first: &ByRound, second: &ByRound) -> Vec<f64> {
    pairs(first, second).map(|(first, second)| first / second).collect()
}

/// `first − second` of every round that has both, in their unit and in the
/// order of rounds.
#[must_use]
pub fn differences(first: &ByRound, second: &ByRound) -> Vec<f64> {
    pairs(first, second).map(|(first, second)| first - second).collect()
}

fn pairs(first: &ByRound, second: &ByRound) -> impl Iterator<Item = (f64, f64)> {
    first.iter().filter_map(|(round, first)| Some((*first, *second.get(round)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_paired_by_round_and_lonely_rounds_left_out() {
        let first = ByRound::from([(1, 10.0), (2, 40.0), (4, 90.0)]);
        let second = ByRound::from([(2, 4.0), (3, 5.0), (4, 30.0)]);
        assert_eq!(ratios(&first, &second), [10.0, 3.0]);
        assert_eq!(differences(&first, &second), [36.0, 60.0]);
    }

    #[test]
    fn no_common_round_gives_no_pair() {
        let (first, second) = (ByRound::from([(1, 1.0)]), ByRound::from([(2, 1.0)]));
        assert!(ratios(&first, &second).is_empty());
        assert!(differences(&ByRound::new(), &second).is_empty());
    }
}
