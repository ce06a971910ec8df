//! The averages of every two values of a sample, and of each with itself (Walsh
//! averages), in ascending order, without making them: n values have n (n + 1) / 2.
//!
//! How many averages are at most some number is counted in n steps, with two
//! indices that walk towards each other through the sorted values; the number
//! that has as many as asked for is found by halving the range of floating-point
//! numbers. So one average of a sample of 100,000 takes milliseconds.

/// How many averages `count` values have.
pub(super) fn averages(count: usize) -> usize {
    count * (count + 1) / 2
}

/// The average that `rank` averages, itself included, are not above; `rank` is 1
/// to [`averages`], `sorted` ascending.
pub(super) fn average_of_rank(sorted: &[f64], rank: usize) -> f64 {
    let mut low = key(sorted[0]);
    let mut high = key(sorted[sorted.len() - 1]);
    while low < high {
        // Rounded down, also below zero, and without overflow.
        let middle = (low & high) + ((low ^ high) >> 1);
        if at_most(sorted, from_key(middle)) >= rank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    from_key(low)
}

/// The median of all averages.
pub(super) fn median_average(sorted: &[f64]) -> f64 {
    let count = averages(sorted.len());
    let lower = average_of_rank(sorted, count.div_ceil(2));
    if count.is_multiple_of(2) {
        f64::midpoint(lower, average_of_rank(sorted, count / 2 + 1))
    } else {
        lower
    }
}

/// How many averages are at most `most`.
fn at_most(sorted: &[f64], most: f64) -> usize {
    let mut count = 0;
    let mut end = sorted.len();
    for (index, first) in sorted.iter().enumerate() {
        while end > index && f64::midpoint(*first, sorted[end - 1]) > most {
            end -= 1;
        }
        if end <= index {
            break;
        }
        count += end - index;
    }
    count
}

/// A number that is ordered as the values are, by IEEE 754's total order.
fn key(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// The value of a [`key`].
fn from_key(key: i64) -> f64 {
    let bits = key ^ ((key >> 63).cast_unsigned() >> 1).cast_signed();
    f64::from_bits(bits.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All averages in ascending order, made one by one.
    fn made(sorted: &[f64]) -> Vec<f64> {
        let of = |index: usize| {
            sorted[index..].iter().map(move |other| f64::midpoint(sorted[index], *other))
        };
        let mut averages: Vec<f64> = (0..sorted.len()).flat_map(of).collect();
        averages.sort_by(f64::total_cmp);
        averages
    }

    // 1, 1.5, 2, 3.5, 4, 6.
    #[test]
    fn the_averages_of_three_values_worked_by_hand() {
        let ranked: Vec<f64> =
            (1..=averages(3)).map(|rank| average_of_rank(&[1.0, 2.0, 6.0], rank)).collect();
        assert_eq!(ranked, [1.0, 1.5, 2.0, 3.5, 4.0, 6.0]);
        assert_eq!(median_average(&[1.0, 2.0, 6.0]), 2.75);
    }

    #[test]
    fn one_value_is_its_only_average() {
        assert_eq!((averages(1), average_of_rank(&[-3.0], 1)), (1, -3.0));
    }

    proptest::proptest! {
        #[test]
        fn every_rank_is_that_of_the_sorted_averages(
            values in proptest::collection::vec(-1e3..1e3_f64, 1..25),
        ) {
            let mut sorted = values;
            sorted.sort_by(f64::total_cmp);
            // Some values twice.
            sorted.extend_from_within(..1);
            sorted.sort_by(f64::total_cmp);
            for (index, average) in made(&sorted).into_iter().enumerate() {
                proptest::prop_assert_eq!(average_of_rank(&sorted, index + 1), average);
            }
        }
    }
}
