//! The A/A test: how often identical sides are called faster or slower.
//!
//! Cases are compared with themselves, so every *faster* and *slower* is false. At
//! 95 % confidence one verdict in twenty may be. Both designs of a comparison are
//! tried: two sides that run side by side, and one run in time order, whose later
//! half is compared with its earlier one as two saved runs are. A difference
//! between the sides, however small, adds up over all cases and is sought in all
//! pairs together.

use std::collections::BTreeMap;

use crate::judge::statistics::{ByRound, Interval, Shift, median, proportion};

use super::proof::{Figure, Standing};
use crate::judge::compare::verdict::{Pair, Ratio, Verdict, drift};
use crate::store::invocation::{Invocation, Outcome};

/// Comparisons side by side, at least.
pub const SIDE_BY_SIDE: usize = 10;

/// Confidence of a verdict, 0 to 1.
const CONFIDENCE: f64 = 0.95;

/// Confidence of the share of false verdicts and of the difference over all pairs,
/// 0 to 1: a proof has dozens of figures, and none may fail by chance.
const CONFIDENCE_OF_FIGURE: f64 = 0.999;

/// The share of verdicts that may be false, in percent.
const ALLOWED_PERCENT: f64 = 5.0;

/// The difference that does not matter to a verdict, as a share.
const MARGIN: f64 = 0.03;

/// The time of an operation that an invocation measured, in nanoseconds.
pub fn time_ns(invocation: &Invocation) -> Option<f64> {
    let measured = invocation.outcome == Outcome::Measured;
    let principal = invocation.record.as_ref().filter(|_| measured)?.principal()?;
    Some(principal.ns_per_operation)
}

/// The later half of a run compared with its earlier half, case by case, with the
/// drift that the halves of these halves show. `invocations` are in the order in
/// which they ran. A machine that changed its speed for all cases alike leaves the
/// figure not shown.
pub fn in_time_order(invocations: &[Invocation]) -> Figure {
    let mut by_case: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for invocation in invocations {
        by_case.entry(&invocation.case).or_default().extend(time_ns(invocation));
    }
    let halves: Vec<_> = by_case.values().map(|times| times.split_at(times.len() / 2)).collect();
    let drift = drift(halves.iter().flat_map(|(early, late)| [*early, *late]));
    let ratio = |(early, late): &(&[f64], &[f64])| Ratio::of_runs([early, late], CONFIDENCE, drift);
    // Halves too small for an interval have no verdict that could be false.
    let ratios: Vec<Ratio> =
        halves.iter().filter_map(ratio).filter(|ratio| ratio.interval.is_some()).collect();
    let figure = false_verdicts("late against early rounds", &ratios);
    let relative = false_verdicts("", &without_common_change(&ratios));
    match (figure.standing, relative.standing) {
        (Standing::Fails, Standing::Holds) => Figure { standing: Standing::NotShown, ..figure },
        _ => figure,
    }
}

/// The ratios relative to their median: without the machine's change of speed.
fn without_common_change(ratios: &[Ratio]) -> Vec<Ratio> {
    let estimates: Vec<f64> = ratios.iter().map(|ratio| ratio.estimate).collect();
    let common = median(&estimates).unwrap_or(1.0);
    let relative = |ends: Interval| Interval { low: ends.low / common, high: ends.high / common };
    let relative = |ratio: &Ratio| Ratio {
        estimate: ratio.estimate / common,
        interval: ratio.interval.map(relative),
    };
    ratios.iter().map(relative).collect()
}

/// The figures of cases that ran side by side with themselves; times are in
/// nanoseconds.
pub fn side_by_side(pairs: &[Pair<ByRound>]) -> Vec<Figure> {
    let ratio = |sides: &Pair<ByRound>| Ratio::of_rounds(sides.each_ref(), CONFIDENCE);
    let ratios: Vec<Ratio> = pairs.iter().filter_map(ratio).collect();
    vec![false_verdicts("side by side", &ratios), difference_of_all(pairs)]
}

/// The share of comparisons of identical sides that found a difference.
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

/// The ratio of the second side to the first, over all pairs.
fn difference_of_all(pairs: &[Pair<ByRound>]) -> Figure {
    let logs: Vec<f64> = pairs
        .iter()
        .flat_map(|[first, second]| crate::judge::statistics::ratios(second, first))
        .filter(|ratio| *ratio > 0.0 && ratio.is_finite())
        .map(f64::ln)
        .collect();
    let what = format!("second side / first, {} pairs", logs.len());
    let shift = Shift::of_pairs(&logs, CONFIDENCE_OF_FIGURE);
    let Some(Shift { estimate, interval: Some(Interval { low, high }) }) = shift else {
        return Figure::missing(what, "").must("too few pairs", false);
    };
    Figure::new(what, estimate.exp(), "")
        .between(low.exp(), high.exp())
        .must("1 within the interval of 99.9 %", low <= 0.0 && high >= 0.0)
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::store::sample;

    /// Ten comparisons of eight pairs that scatter by a percent; the second side
    /// takes `longer` times as long.
    fn pairs(longer: f64) -> Vec<Pair<ByRound>> {
        let mut rng = Rng::with_seed(5);
        let mut side = |scale: f64| -> ByRound {
            (1..=8).map(|round| (round, scale * (1.0 + 0.01 * (rng.f64() - 0.5)))).collect()
        };
        (0..10).map(|_| [side(100.0), side(100.0 * longer)]).collect()
    }

    fn standings(figures: &[Figure]) -> Vec<Standing> {
        figures.iter().map(|figure| figure.standing).collect()
    }

    #[test]
    fn identical_sides_hold() {
        let figures = side_by_side(&pairs(1.0));
        assert_eq!(standings(&figures), [Standing::Holds, Standing::Holds], "{figures:?}");
    }

    #[test]
    fn a_side_that_takes_three_percent_longer_is_found_twice() {
        let figures = side_by_side(&pairs(1.03));
        assert_eq!(standings(&figures), [Standing::Fails, Standing::Fails], "{figures:?}");
    }

    #[test]
    fn a_difference_inside_the_margin_adds_up_over_all_pairs() {
        let figures = side_by_side(&pairs(1.005));
        assert_eq!(standings(&figures), [Standing::Holds, Standing::Fails], "{figures:?}");
    }

    #[test]
    fn four_false_verdicts_in_ten_may_be_chance_and_five_are_not() {
        let ratio = |low: f64, high: f64| Ratio {
            estimate: f64::midpoint(low, high),
            interval: Some(Interval { low, high }),
        };
        let figure = |wrong: usize| {
            let right = [ratio(0.99, 1.01)].repeat(10 - wrong);
            false_verdicts("x", &[[ratio(1.1, 1.2)].repeat(wrong), right].concat())
        };
        assert_eq!(figure(4).standing, Standing::Holds);
        assert_eq!((figure(5).value, figure(5).standing), (Some(50.0), Standing::Fails));
        assert_eq!(false_verdicts("x", &[]).standing, Standing::Fails);
    }

    /// A run of 20 cases and 16 rounds that scatter by a percent. `factor` is how
    /// many times as long a case takes in a round.
    fn run(factor: impl Fn(usize, usize) -> f64) -> Vec<Invocation> {
        let mut rng = Rng::with_seed(9);
        let mut invocations = Vec::new();
        for case in 0..20 {
            let times: [f64; 16] = std::array::from_fn(|round| {
                100.0 * factor(case, round) * (1.0 + 0.01 * (rng.f64() - 0.5))
            });
            invocations.extend(sample::case(&format!("case-{case}"), times));
        }
        invocations
    }

    #[test]
    fn a_steady_run_holds_in_time_order() {
        let figure = in_time_order(&run(|_, _| 1.0));
        assert_eq!(figure.standing, Standing::Holds, "{figure:?}");
    }

    #[test]
    fn cases_that_change_while_others_do_not_fail_in_time_order() {
        let late = |case: usize, round: usize| {
            if case.is_multiple_of(3) && round >= 8 { 1.1 } else { 1.0 }
        };
        let figure = in_time_order(&run(late));
        assert_eq!(figure.standing, Standing::Fails, "{figure:?}");
    }

    #[test]
    fn a_machine_that_changed_its_speed_is_not_the_instrument() {
        let figure = in_time_order(&run(|_, round| if round >= 8 { 1.1 } else { 1.0 }));
        assert_eq!(figure.standing, Standing::NotShown, "{figure:?}");
    }
}
