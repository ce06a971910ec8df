//! Comparing two cases round by round: what changes the whole machine from
//! one round to the next changes both sides of a pair and cancels.

use std::collections::BTreeMap;

use super::{Estimate, Estimator, Interval};

/// One figure per round; rounds that gave no figure are absent.
pub type ByRound = BTreeMap<u32, f64>;

/// `first / second` of every round that has both, in the order of rounds.
pub fn ratios(first: &ByRound, second: &ByRound) -> Vec<f64> {
    pairs(first, second).map(|(first, second)| first / second).collect()
}

/// `first − second` of every round that has both, in their unit and in the
/// order of rounds.
pub fn differences(first: &ByRound, second: &ByRound) -> Vec<f64> {
    pairs(first, second).map(|(first, second)| first - second).collect()
}

/// Both sides by one estimator ([`Estimate::alike`]); `None` if either is empty.
fn alike(first: &ByRound, second: &ByRound) -> Option<[Estimate; 2]> {
    let [first, second] = [first, second].map(values);
    Estimate::alike([&first, &second])
}

/// How many times as large `first` is as `second`: the quotient of their figures
/// by one estimator, so that it agrees with those that are printed beside it.
///
/// Its interval is that of the ratios by round, which cancels what both sides of
/// a round share, extended by what it would be around the quotient: it covers
/// the ratio as the former does, and has the quotient as near its middle.
/// `None` where no round has both, or a figure is not positive.
pub fn ratio(first: &ByRound, second: &ByRound) -> Option<Estimate> {
    let by_round = Estimate::cautious(&ratios(first, second))?;
    let [above, below] = alike(first, second)?;
    let quotient = above.value / below.value;
    let factor = quotient / by_round.value;
    let moved = |end: f64| end * factor;
    (factor.is_finite() && factor > 0.0)
        .then(|| extended(by_round, Estimate { value: quotient, ..above }, moved))
}

/// By how much `first` is larger than `second`: the difference of their figures
/// by one estimator, with an interval as that of [`ratio`]. `None` where no round
/// has both.
pub fn difference(first: &ByRound, second: &ByRound) -> Option<Estimate> {
    let [whole, part] = alike(first, second)?;
    let differences = differences(first, second);
    let by_round = match whole.estimator {
        Estimator::Median => Estimate::cautious(&differences)?,
        Estimator::HodgesLehmann => Estimate::centre(&differences)?,
    };
    let difference = whole.value - part.value;
    let shift = difference - by_round.value;
    Some(extended(by_round, Estimate { value: difference, ..whole }, |end| end + shift))
}

fn values(by_round: &ByRound) -> Vec<f64> {
    by_round.values().copied().collect()
}

/// The figure of `of` with an interval that spans that of `by_round` and the
/// `moved` one.
fn extended(by_round: Estimate, of: Estimate, moved: impl Fn(f64) -> f64) -> Estimate {
    let interval = by_round.interval.map(|Interval { low, high }| Interval {
        low: low.min(moved(low)),
        high: high.max(moved(high)),
    });
    Estimate { interval, count: by_round.count, ..of }
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
        assert_eq!((ratio(&first, &second), difference(&first, &second)), (None, None));
    }

    fn rounds(values: [f64; 5]) -> ByRound {
        (1..).zip(values).collect()
    }

    // The ratios by round are 2, 1, 4, 3 and 6, of median 3; the medians are 12
    // and 6, of quotient 2.
    #[test]
    fn a_ratio_is_the_quotient_of_the_medians_and_its_interval_covers_that_of_the_rounds() {
        let [first, second] =
            [rounds([12.0, 6.0, 40.0, 9.0, 60.0]), rounds([6.0, 6.0, 10.0, 3.0, 10.0])];
        let interval = Some(Interval { low: 2.0 / 3.0, high: 6.0 });
        assert_eq!(
            ratio(&first, &second),
            Some(Estimate { value: 2.0, interval, count: 5, estimator: Estimator::Median })
        );
    }

    // The differences by round are 6, 0, 30, 6 and 50, of median 6, which is
    // also that of the medians, 12 and 6.
    #[test]
    fn a_difference_is_that_of_the_medians() {
        let [first, second] =
            [rounds([12.0, 6.0, 40.0, 9.0, 60.0]), rounds([6.0, 6.0, 10.0, 3.0, 10.0])];
        let interval = Some(Interval { low: 0.0, high: 50.0 });
        assert_eq!(
            difference(&first, &second),
            Some(Estimate { value: 6.0, interval, count: 5, estimator: Estimator::Median })
        );
    }

    #[test]
    fn what_is_not_positive_has_no_ratio() {
        assert_eq!(ratio(&rounds([1.0; 5]), &rounds([0.0; 5])), None);
        assert_eq!(ratio(&rounds([0.0; 5]), &rounds([1.0; 5])), None);
    }
}
