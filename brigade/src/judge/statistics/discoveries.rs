//! Which of many tests found something.

/// Which of tests with these probabilities under chance alone are discoveries, of
/// which on average at most `rate`, 0 to 1, are false.
///
/// The step-up procedure of Benjamini and Hochberg, *Controlling the false discovery
/// rate*, Journal of the Royal Statistical Society B 57 (1995), 289–300: of m tests in
/// the order of their probabilities, all up to the last that is at most its place over
/// m times `rate`. Where chance alone is at work everywhere, something is found with
/// probability `rate`.
pub fn discoveries(probabilities: &[f64], rate: f64) -> Vec<bool> {
    let mut sorted = probabilities.to_vec();
    sorted.sort_by(f64::total_cmp);
    let share = |place: usize| (place + 1) as f64 / sorted.len() as f64 * rate;
    let last = (0..sorted.len()).rev().find(|place| sorted[*place] <= share(*place));
    let limit = last.map(|place| sorted[place]);
    probabilities.iter().map(|found| limit.is_some_and(|limit| *found <= limit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_tested_and_nothing_found() {
        assert_eq!(discoveries(&[], 0.05), [false; 0]);
        assert_eq!(discoveries(&[0.06], 0.05), [false]);
        assert_eq!(discoveries(&[0.05], 0.05), [true]);
    }

    // The limits of five are 1, 2, 3, 4 and 5 %: the fourth holds with 3.9 %, and takes
    // the second and the third with it, which do not hold by themselves.
    #[test]
    fn the_last_that_holds_takes_those_before_it_along() {
        let found = discoveries(&[0.039, 0.9, 0.025, 0.001, 0.032], 0.05);
        assert_eq!(found, [true, false, true, true, true]);
    }

    // The example of their paper, 3.2: fifteen tests, of which the first four are found.
    #[test]
    fn the_published_example() {
        let probabilities = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let found = discoveries(&probabilities, 0.05);
        assert_eq!(found.iter().filter(|found| **found).count(), 4);
    }
}
