//! The shifts against what `NumPy` and `SciPy` make of the same values.

use serde::Deserialize;

use super::{Shift, rank_sum_score};

/// One case of `fixtures/shifts.json`, which `fixtures/shifts.py` wrote.
#[derive(Deserialize)]
struct Reference {
    /// The first sample; empty where `second` is the differences of pairs.
    first: Vec<f64>,
    second: Vec<f64>,
    estimate: f64,
    /// What the rank sum differs by from chance; of two samples only.
    score: Option<f64>,
    /// The interval of each confidence, if there is one.
    intervals: Vec<(f64, Option<(f64, f64)>)>,
}

impl Reference {
    fn shift(&self, confidence: f64) -> Shift {
        let shift = match self.first.as_slice() {
            [] => Shift::of_pairs(&self.second, confidence),
            first => Shift::between(first, &self.second, confidence),
        };
        shift.expect("values")
    }
}

fn close(actual: f64, expected: f64) -> bool {
    (actual - expected).abs() <= 1e-9
}

#[test]
fn shifts_and_their_intervals_agree_with_scipy() {
    let references: Vec<Reference> =
        serde_json::from_str(include_str!("../fixtures/shifts.json")).unwrap();
    assert!(references.len() >= 14);
    for reference in references {
        for (confidence, expected) in &reference.intervals {
            let Shift { estimate, interval } = reference.shift(*confidence);
            let label = format!("{:?} at {confidence}", reference.second);
            assert!(close(estimate, reference.estimate), "{label}: {estimate}");
            let interval = interval.map(|interval| (interval.low, interval.high));
            let agrees = match (interval, expected) {
                (Some(ends), Some(expected)) => {
                    close(ends.0, expected.0) && close(ends.1, expected.1)
                }
                (interval, expected) => interval.is_none() && expected.is_none(),
            };
            assert!(agrees, "{label}: {interval:?}, not {expected:?}");
        }
        if let Some(expected) = reference.score {
            let score = rank_sum_score(&reference.first, &reference.second).unwrap();
            assert!(close(score, expected), "{:?}: {score}, not {expected}", reference.second);
        }
    }
}
