//! The order in which a run measures: every case once per round, shuffled, so
//! that no case always follows the same other and none gets all of a quiet or
//! a busy stretch of the machine.

use fastrand::Rng;

/// One invocation to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The round, counted from 1.
    pub round: u32,
    /// Index of the case.
    pub case: usize,
}

/// The turns of `rounds` rounds over `cases` cases, in an order that `seed`
/// determines.
#[must_use]
pub fn turns(cases: usize, rounds: u32, seed: u64) -> Vec<Turn> {
    let mut rng = Rng::with_seed(seed);
    let mut order: Vec<usize> = (0..cases).collect();
    let mut turns = Vec::new();
    for round in 1..=rounds {
        rng.shuffle(&mut order);
        turns.extend(order.iter().map(|&case| Turn { round, case }));
    }
    turns
}

/// A seed for a run that was not given one: short enough to type again.
#[must_use]
pub fn random_seed() -> u64 {
    fastrand::u32(..).into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_round_has_every_case_once(cases in 0_usize..20, rounds in 1_u32..9, seed: u64) {
            let turns = turns(cases, rounds, seed);
            prop_assert_eq!(turns.len(), cases * rounds as usize);
            for round in 1..=rounds {
                let mut seen: Vec<usize> =
                    turns.iter().filter(|turn| turn.round == round).map(|turn| turn.case).collect();
                seen.sort_unstable();
                prop_assert_eq!(seen, (0..cases).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn rounds_follow_each_other() {
        let rounds: Vec<u32> = turns(3, 2, 1).iter().map(|turn| turn.round).collect();
        assert_eq!(rounds, [1, 1, 1, 2, 2, 2]);
    }

    #[test]
    fn the_seed_decides_the_order() {
        assert_eq!(turns(10, 3, 7), turns(10, 3, 7));
        assert_ne!(turns(10, 3, 7), turns(10, 3, 8));
    }

    #[test]
    fn rounds_differ_in_order() {
        let turns = turns(10, 2, 7);
        let order = |round| {
            let of_round = turns.iter().filter(move |turn| turn.round == round);
            of_round.map(|turn| turn.case).collect::<Vec<_>>()
        };
        assert_ne!(order(1), order(2));
    }
}
