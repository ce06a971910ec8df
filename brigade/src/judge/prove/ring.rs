//! The same ring in C: threads that pass a byte through pipes on one CPU must take
//! as long as the case of threads says, written without any of its code.

use crate::judge::statistics::{ByRound, ratios};

use super::proof::{Figure, Standing};
use crate::judge::compare::verdict::{Pair, Ratio};

/// How far apart the two may be, as a share.
const TOLERANCE: f64 = 0.05;

/// The figure of a ring in C and a case, in this order, pair by pair, with an interval
/// of `confidence`, 0 to 1.
pub fn figure(case: &str, hops: &Pair<ByRound>, confidence: f64) -> Figure {
    near_one(format!("{case} / the same ring in C"), hops, confidence)
}

/// The ratio of two times that must be alike, the second over the first, round by
/// round. It fails if it is further apart than the tolerance for certain, and is not
/// shown if it may be.
pub(super) fn near_one(what: String, hops: &Pair<ByRound>, confidence: f64) -> Figure {
    let ratio = Ratio::of_rounds(hops.each_ref(), confidence);
    let what = format!("{what}, {} pairs", ratios(&hops[0], &hops[1]).len());
    let Some((estimate, ends)) = ratio.and_then(|ratio| Some((ratio.estimate, ratio.interval?)))
    else {
        return Figure::missing(what, "").must("too few rounds", false);
    };
    let (least, most) = (1.0 / (1.0 + TOLERANCE), 1.0 + TOLERANCE);
    let standing = if ends.low > most || ends.high < least {
        Standing::Fails
    } else if ends.low >= least && ends.high <= most {
        Standing::Holds
    } else {
        Standing::NotShown
    };
    Figure::new(what, estimate, "").between(ends.low, ends.high).judged("within 5 % of 1", standing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_far_from_one_fails_and_a_wide_interval_shows_nothing() {
        let standing = |ratio: f64, scatter: f64| {
            let side = |factor: f64, sign: f64| -> ByRound {
                let at = |round: u32| factor * (1.0 + sign * scatter * (f64::from(round) - 5.5));
                (1..=10).map(|round| (round, at(round))).collect()
            };
            figure("x", &[side(100.0, 1.0), side(100.0 * ratio, -1.0)], 0.99).standing
        };
        assert_eq!(standing(1.0, 0.001), Standing::Holds);
        assert_eq!(standing(1.2, 0.001), Standing::Fails);
        assert_eq!(standing(0.9, 0.001), Standing::Fails);
        assert_eq!(standing(1.0, 0.02), Standing::NotShown);
        assert_eq!(figure("x", &Pair::default(), 0.99).standing, Standing::Fails);
    }
}
