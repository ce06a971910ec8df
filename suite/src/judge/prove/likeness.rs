//! Same against same: how often like sides are called faster or slower.
//!
//! What is compared are cases with themselves, so that every *faster* and
//! *slower* is false. Of verdicts at 95 % confidence, one in twenty may be. Two
//! kinds of sides are tried: the rounds of one run, dealt out at random, which
//! tries the verdict on times as they really scatter; and two sides that really
//! ran side by side, which tries how they are run as well. In the latter a
//! difference of the sides, however small, adds up over all cases, and is looked
//! for in all pairs together.

use std::collections::BTreeMap;

use fastrand::Rng;
use harness::statistics::{ByRound, Interval, Shift, proportion};

use super::proof::Figure;
use crate::judge::compare::verdict::{Ratio, Verdict};
use crate::store::invocation::{Invocation, Outcome};

/// Comparisons of resampled rounds, at the least.
pub const RESAMPLED: usize = 2_000;

/// Comparisons that are really run, at the least.
pub const SIDE_BY_SIDE: usize = 10;

/// Confidence of a verdict, 0 to 1.
const CONFIDENCE: f64 = 0.95;

/// The confidence at which no more of them may be, and at which the sides must
/// not differ over all pairs, 0 to 1: a proof has a dozen figures, and each may
/// fail by chance.
const CONFIDENCE_OF_FIGURE: f64 = 0.99;

/// The share of verdicts that may be false, in percent.
const ALLOWED_PERCENT: f64 = 5.0;

/// The difference that does not matter to a verdict, as a share.
const MARGIN: f64 = 0.03;

/// Two sides of one case that ran side by side, times in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Twins {
    /// The first side.
    pub first: ByRound,
    /// The second side.
    pub second: ByRound,
}

/// The time of an operation that an invocation measured, in nanoseconds.
#[must_use]
pub fn time_ns(invocation: &Invocation) -> Option<f64> {
    let measured = invocation.outcome == Outcome::Measured;
    let principal = invocation.record.as_ref().filter(|_| measured)?.principal()?;
    Some(principal.ns_per_operation)
}

/// What comes of [`RESAMPLED`] comparisons or more of the rounds of each case,
/// dealt out to two sides in an order that `seed` determines.
#[must_use]
pub fn resampled(invocations: &[Invocation], seed: u64) -> Figure {
    let mut by_case: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for invocation in invocations {
        by_case.entry(&invocation.case).or_default().extend(time_ns(invocation));
    }
    // Pair too small for an interval have no verdict that could be false.
    by_case.retain(|_, times| ratio_of_halves(times).is_some_and(|ratio| ratio.interval.is_some()));
    let deals = RESAMPLED.div_ceil(by_case.len().max(1));
    let mut rng = Rng::with_seed(seed);
    let mut ratios = Vec::new();
    for times in by_case.values_mut() {
        for _ in 0..deals {
            rng.shuffle(times);
            ratios.extend(ratio_of_halves(times));
        }
    }
    false_verdicts("resampled rounds", &ratios)
}

fn ratio_of_halves(times: &[f64]) -> Option<Ratio> {
    let (first, second) = times.split_at(times.len() / 2);
    Ratio::of_runs([first, second], CONFIDENCE, 1.0)
}

/// What comes of sides that ran side by side.
#[must_use]
pub fn side_by_side(twins: &[Twins]) -> Vec<Figure> {
    let ratio = |twins: &Twins| Ratio::of_rounds([&twins.first, &twins.second], CONFIDENCE);
    let ratios: Vec<Ratio> = twins.iter().filter_map(ratio).collect();
    vec![false_verdicts("run side by side", &ratios), difference_of_all(twins)]
}

/// The share of comparisons of like sides that found a difference.
fn false_verdicts(what: &str, ratios: &[Ratio]) -> Figure {
    let verdicts = ratios.iter().map(|ratio| Verdict::of(ratio, MARGIN));
    let is_false = |verdict: &Verdict| matches!(verdict, Verdict::Faster | Verdict::Slower);
    let (wrong, all) = (verdicts.filter(is_false).count(), ratios.len());
    let what = format!("{what}, false verdicts of {all}");
    let Some(share) = proportion(wrong as u64, all as u64, CONFIDENCE_OF_FIGURE) else {
        return Figure::missing(what, "nothing could be compared").must("too few rounds", false);
    };
    let percent = |share: f64| 100.0 * share;
    Figure::new(what, percent(wrong as f64 / all as f64), "%")
        .between(percent(share.low), percent(share.high))
        .must(format!("compatible with {ALLOWED_PERCENT} %"), percent(share.low) <= ALLOWED_PERCENT)
}

/// By how much the second side takes longer than the first over all pairs.
fn difference_of_all(twins: &[Twins]) -> Figure {
    let logs: Vec<f64> = twins
        .iter()
        .flat_map(|Twins { first, second }| harness::statistics::ratios(second, first))
        .filter(|ratio| *ratio > 0.0 && ratio.is_finite())
        .map(f64::ln)
        .collect();
    let what = format!("second side over first, {} pairs", logs.len());
    let shift = Shift::of_pairs(&logs, CONFIDENCE_OF_FIGURE);
    let Some(Shift { estimate, interval: Some(Interval { low, high }) }) = shift else {
        return Figure::missing(what, "").must("too few pairs", false);
    };
    Figure::new(what, estimate.exp(), "")
        .between(low.exp(), high.exp())
        .must("1 within the interval of 99 %", low <= 0.0 && high >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::super::proof::Standing;
    use super::*;

    /// Ten comparisons of eight pairs that scatter by a percent, the second side
    /// `longer` times as long.
    fn twins(longer: f64) -> Vec<Twins> {
        let mut rng = Rng::with_seed(5);
        let mut side = |scale: f64| -> ByRound {
            (1..=8).map(|round| (round, scale * (1.0 + 0.01 * (rng.f64() - 0.5)))).collect()
        };
        (0..10).map(|_| Twins { first: side(100.0), second: side(100.0 * longer) }).collect()
    }

    fn standings(figures: &[Figure]) -> Vec<Standing> {
        figures.iter().map(|figure| figure.standing).collect()
    }

    #[test]
    fn like_arms_hold() {
        let figures = side_by_side(&twins(1.0));
        assert_eq!(standings(&figures), [Standing::Holds, Standing::Holds], "{figures:?}");
    }

    #[test]
    fn an_arm_that_takes_three_percent_longer_is_found_twice() {
        let figures = side_by_side(&twins(1.03));
        assert_eq!(standings(&figures), [Standing::Fails, Standing::Fails], "{figures:?}");
    }

    #[test]
    fn a_difference_inside_the_margin_adds_up_over_all_pairs() {
        let figures = side_by_side(&twins(1.005));
        assert_eq!(standings(&figures), [Standing::Holds, Standing::Fails], "{figures:?}");
    }

    #[test]
    fn three_false_verdicts_in_ten_may_be_chance_and_four_are_not() {
        let ratio = |low: f64, high: f64| Ratio {
            estimate: f64::midpoint(low, high),
            interval: Some(Interval { low, high }),
        };
        let figure = |wrong: usize| {
            let right = [ratio(0.99, 1.01)].repeat(10 - wrong);
            false_verdicts("x", &[[ratio(1.1, 1.2)].repeat(wrong), right].concat())
        };
        assert_eq!(figure(3).standing, Standing::Holds);
        assert_eq!((figure(4).value, figure(4).standing), (Some(40.0), Standing::Fails));
        assert_eq!(false_verdicts("x", &[]).standing, Standing::Fails);
    }
}
