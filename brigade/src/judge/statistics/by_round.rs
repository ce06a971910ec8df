//! Comparing two cases round by round: what changes the whole machine from one round to the
//! next changes both sides of a pair and cancels.

use std::collections::BTreeMap;

use super::estimate::{CONFIDENCE, Estimate, Interval, logarithms, median};

/// One figure per round; rounds that gave no figure are absent.
pub type ByRound = BTreeMap<u32, f64>;

/// `first / second` of every round that has both, in the order of rounds.
pub fn ratios(first: &ByRound, second: &ByRound) -> Vec<f64> {
    pairs(first, second).map(|(first, second)| first / second).collect()
}

/// The rounds that both have.
fn common(first: &ByRound, second: &ByRound) -> [ByRound; 2] {
    [(first, second), (second, first)].map(|(of, other)| {
        of.iter().filter(|(round, _)| other.contains_key(round)).map(|(r, v)| (*r, *v)).collect()
    })
}

/// How many times as large `first` is as `second`, over the rounds that have both: the
/// quotient of their medians, so that it agrees with the figures printed next to it. Its
/// interval is that of [`ratio_at`], extended to what that would be about the quotient.
/// `None` without such a round, or where a figure is not positive.
pub fn ratio(first: &ByRound, second: &ByRound) -> Option<Estimate> {
    let by_round = ratio_at(CONFIDENCE, first, second)?;
    let [above, below] = medians(first, second)?;
    let factor = above / below / by_round.value;
    Some(extended(by_round, by_round.map(|end| end * factor)))
}

/// By how much `first` is larger than `second`, in their unit, likewise.
pub fn difference(first: &ByRound, second: &ByRound) -> Option<Estimate> {
    let differences: Vec<f64> = pairs(first, second).map(|(of, less)| of - less).collect();
    let by_round = Estimate::of(&differences)?;
    let [whole, part] = medians(first, second)?;
    let shift = whole - part - by_round.value;
    Some(extended(by_round, by_round.map(|end| end + shift)))
}

fn medians(first: &ByRound, second: &ByRound) -> Option<[f64; 2]> {
    let [first, second] =
        common(first, second).map(|of| median(&of.into_values().collect::<Vec<_>>()));
    Some([first?, second?])
}

/// The figure of `moved` with an interval that spans both.
fn extended(by_round: Estimate, moved: Estimate) -> Estimate {
    let ends = by_round.interval.zip(moved.interval);
    let interval = ends
        .map(|(of, other)| Interval { low: of.low.min(other.low), high: of.high.max(other.high) });
    Estimate { interval, ..moved }
}

/// How many times as large `first` is as `second`: the median over the rounds that have
/// both, among logarithms, so that swapping the sides gives the inverse. The interval is of
/// `confidence`, 0 to 1. `None` as for [`ratio`].
pub fn ratio_at(confidence: f64, first: &ByRound, second: &ByRound) -> Option<Estimate> {
    let logs = logarithms(&ratios(first, second))?;
    Some(Estimate::at(confidence, &logs)?.map(f64::exp))
}

fn pairs(first: &ByRound, second: &ByRound) -> impl Iterator<Item = (f64, f64)> {
    first.iter().filter_map(|(round, first)| Some((*first, *second.get(round)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(values: &[f64]) -> ByRound {
        (1..).zip(values.iter().copied()).collect()
    }

    #[test]
    fn sides_are_paired_by_round_and_lonely_rounds_left_out() {
        let first = ByRound::from([(1, 10.0), (2, 40.0), (4, 90.0)]);
        let second = ByRound::from([(2, 4.0), (3, 5.0), (4, 30.0)]);
        assert_eq!(ratios(&first, &second), [10.0, 3.0]);
        assert_eq!(difference(&first, &second).unwrap().value, 48.0);
        let [first, second] = common(&first, &second);
        assert_eq!(first, ByRound::from([(2, 40.0), (4, 90.0)]));
        assert_eq!(second, ByRound::from([(2, 4.0), (4, 30.0)]));
        let other = ByRound::from([(9, 1.0)]);
        assert_eq!((ratio(&first, &other), difference(&first, &other)), (None, None));
    }

    // The ratios by round are 2, 4, 8, 16 and 32; at 93.75 % their range is the interval.
    #[test]
    fn a_ratio_is_the_median_of_those_by_round_and_its_inverse_that_of_the_inverse() {
        let first = rounds(&[1.0, 10.0, 3.0, 7.0, 5.0]);
        let factors = [2.0, 4.0, 8.0, 16.0, 32.0];
        let second: ByRound =
            first.iter().zip(factors).map(|((round, time), by)| (*round, time * by)).collect();
        let close = |actual: f64, expected: f64| (actual / expected - 1.0).abs() < 1e-9;
        for (found, [value, low, high]) in [
            (ratio_at(0.9375, &second, &first), [8.0, 2.0, 32.0]),
            (ratio_at(0.9375, &first, &second), [1.0 / 8.0, 1.0 / 32.0, 1.0 / 2.0]),
        ] {
            let Estimate { value: found, interval, count } = found.unwrap();
            let ends: Interval = interval.unwrap();
            assert!(close(found, value) && close(ends.low, low) && close(ends.high, high));
            assert_eq!(count, 5);
        }
        assert_eq!(ratio(&first, &rounds(&[0.0; 5])), None);
        // The differences by round are 1, 30, 21, 105 and 155, of median 30; that of the medians
        // 40 and 5 is 35, so that the range of the former is extended by 5.
        assert!(close(ratio(&second, &first).unwrap().value, 8.0));
        let found = difference(&second, &first).unwrap();
        assert_eq!((found.value, found.interval), (35.0, Some(Interval { low: 1.0, high: 160.0 })));
    }
}
