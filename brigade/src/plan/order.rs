//! The order of a round: its cases shuffled, the baseline and the candidate of a
//! case back to back, and each of them first in every other round.

use fastrand::Rng;

/// The orders of all rounds of a comparison.
#[derive(Debug)]
pub struct Order {
    rng: Rng,
    /// The side, 0 for the baseline, that was first in each case's last round.
    first: Vec<usize>,
}

/// A case's turn in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The case's index.
    pub case: usize,
    /// The sides, 0 for the baseline, in the order in which they run.
    pub sides: [usize; 2],
}

impl Order {
    /// An order of `cases` cases that `seed` determines.
    pub fn new(cases: usize, seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed), first: vec![0; cases] }
    }

    /// The turns of a round, counted from 1, of the cases that are `open`. Of
    /// two rounds the first falls by lot and the second is its reverse.
    pub fn turns(&mut self, round: u32, open: &[usize]) -> Vec<Turn> {
        let mut cases = open.to_vec();
        self.rng.shuffle(&mut cases);
        cases.into_iter().map(|case| self.turn(round, case)).collect()
    }

    fn turn(&mut self, round: u32, case: usize) -> Turn {
        let first = &mut self.first[case];
        *first = if round % 2 == 1 { self.rng.usize(..2) } else { 1 - *first };
        Turn { case, sides: [*first, 1 - *first] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_rounds_each_side_is_first_in_one() {
        let mut order = Order::new(5, 3);
        let mut first_of_pair = |round| {
            let mut turns = order.turns(round, &[0, 1, 2, 3, 4]);
            turns.sort_by_key(|turn| turn.case);
            turns.iter().map(|turn| turn.sides[0]).collect::<Vec<_>>()
        };
        let mut seen = Vec::new();
        for round in (1..40).step_by(2) {
            let (one, other) = (first_of_pair(round), first_of_pair(round + 1));
            assert!(one.iter().zip(&other).all(|(one, other)| one + other == 1), "{one:?}");
            seen.extend(one);
        }
        let share = seen.iter().sum::<usize>() as f64 / seen.len() as f64;
        assert!((0.3..0.7).contains(&share), "one side comes first in {share}");
    }

    #[test]
    fn a_round_has_every_open_case_once_in_an_order_of_its_own() {
        let mut order = Order::new(9, 3);
        let mut cases =
            |round| order.turns(round, &[1, 3, 5, 7, 8]).iter().map(|turn| turn.case).collect();
        let (one, other): (Vec<usize>, Vec<usize>) = (cases(1), cases(2));
        assert_ne!(one, other);
        for mut round in [one, other] {
            round.sort_unstable();
            assert_eq!(round, [1, 3, 5, 7, 8]);
        }
    }

    #[test]
    fn the_seed_decides() {
        let turns = |seed| Order::new(9, seed).turns(1, &[0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(turns(1), turns(1));
        assert_ne!(turns(1), turns(2));
    }
}
