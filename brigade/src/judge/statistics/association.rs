//! Whether a property goes with a group.

use super::student::log_gamma;

/// How many of two groups have a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Of the first group those that have it, and all.
    pub first: [u64; 2],
    /// Of the second group likewise.
    pub second: [u64; 2],
}

impl Counts {
    /// How well the property parts the groups: the share of the first that has it minus
    /// the share of the second, 1 where all of the first and none of the second have it.
    /// Youden, *Index for rating diagnostic tests*, Cancer 3 (1950), 32–35. `None` where
    /// a group is empty.
    pub fn parting(self) -> Option<f64> {
        let share = |[having, all]: [u64; 2]| (all > 0).then(|| having as f64 / all as f64);
        Some(share(self.first)? - share(self.second)?)
    }

    /// The probability that chance alone gives the property to as many of the first
    /// group or more, if as many of both groups together have it: Fisher's exact test
    /// (*Statistical methods for research workers*, 5th edition, 1934, §21.02), of one
    /// side.
    pub fn by_chance(self) -> f64 {
        let ([hits, first], [others, second]) = (self.first, self.second);
        let having = hits + others;
        let all = log_choose(first + second, having);
        let term = |of: u64| (log_choose(first, of) + log_choose(second, having - of) - all).exp();
        let most = having.min(first);
        (hits..=most).map(term).sum::<f64>().min(1.0)
    }
}

/// The logarithm of the number of ways to choose `some` of `all`.
fn log_choose(all: u64, some: u64) -> f64 {
    let log_factorial = |count: u64| log_gamma(count as f64 + 1.0);
    log_factorial(all) - log_factorial(some) - log_factorial(all - some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_of_one_group_alone_parts_them_fully() {
        let counts = Counts { first: [2, 2], second: [0, 6] };
        assert_eq!(counts.parting(), Some(1.0));
        // One of the 28 ways to choose two of eight.
        assert!((counts.by_chance() - 1.0 / 28.0).abs() < 1e-12);
    }

    #[test]
    fn a_property_of_all_parts_nothing() {
        let counts = Counts { first: [3, 3], second: [5, 5] };
        assert_eq!(counts.parting(), Some(0.0));
        assert!((counts.by_chance() - 1.0).abs() < 1e-9);
        assert_eq!(Counts { first: [0, 0], second: [1, 5] }.parting(), None);
    }

    // Fisher's lady tasting tea: three of four cups right has probability 17/70.
    #[test]
    fn the_lady_tasting_tea() {
        let counts = Counts { first: [3, 4], second: [1, 4] };
        assert!((counts.by_chance() - 17.0 / 70.0).abs() < 1e-12);
        assert_eq!(counts.parting(), Some(0.5));
    }
}
