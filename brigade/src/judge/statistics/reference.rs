//! The statistics against what Python, `NumPy` and `SciPy` make of the same
//! samples.

use harness::samples::Moments;
use serde::Deserialize;

use super::Estimate;
use super::quantile::{quantile, sorted};
use super::{proportion, slope};

/// One sample of `fixtures/reference.json`, which `fixtures/reference.py`
/// wrote.
#[derive(Deserialize)]
struct Reference {
    values: Vec<f64>,
    median: f64,
    quantiles: Vec<(f64, f64)>,
    low: f64,
    high: f64,
}

fn references() -> Vec<Reference> {
    let references: Vec<Reference> =
        serde_json::from_str(include_str!("fixtures/reference.json")).unwrap();
    assert!(references.len() >= 15);
    references
}

#[track_caller]
fn assert_close(what: &str, sample: &Reference, actual: f64, expected: f64) {
    let count = sample.values.len();
    assert!(
        (actual - expected).abs() <= 1e-9 * expected.abs(),
        "{what} of {count} values: {actual}, not {expected}"
    );
}

#[test]
fn quantiles_medians_and_intervals_agree_with_scipy() {
    for reference in references() {
        let estimate = Estimate::of(&reference.values).unwrap();
        let interval = estimate.interval.unwrap();
        assert_close("median", &reference, estimate.value, reference.median);
        assert_close("lower end", &reference, interval.low, reference.low);
        assert_close("upper end", &reference, interval.high, reference.high);
        for (probability, expected) in &reference.quantiles {
            let actual = quantile(&sorted(&reference.values), *probability).unwrap();
            assert_close("quantile", &reference, actual, *expected);
        }
    }
}

/// A sample of `fixtures/moments.json`, which `fixtures/moments.py` wrote.
#[derive(Deserialize)]
struct Nanoseconds {
    values: Vec<u64>,
    mean: f64,
    stddev: f64,
}

#[test]
fn means_and_deviations_agree_with_exact_fractions() {
    let samples: Vec<Nanoseconds> =
        serde_json::from_str(include_str!("fixtures/moments.json")).unwrap();
    assert!(samples.len() >= 7);
    for Nanoseconds { values, mean, stddev } in samples {
        let mut moments = Moments::default();
        values.iter().for_each(|&value| moments.add(value));
        let close = |actual: f64, expected: f64| (actual / expected - 1.0).abs() <= 1e-14;
        let (count, actual) = (values.len(), (moments.mean().unwrap(), moments.stddev().unwrap()));
        let agrees = close(actual.0, mean) && close(actual.1, stddev);
        assert!(agrees, "{count} values: {actual:?}, not {:?}", (mean, stddev));
    }
}

/// Points of `fixtures/slopes.json`, which `fixtures/slopes.py` wrote.
#[derive(Deserialize)]
struct Line {
    points: Vec<(f64, f64)>,
    slope: f64,
}

#[test]
fn slopes_agree_with_scipy() {
    let lines: Vec<Line> = serde_json::from_str(include_str!("fixtures/slopes.json")).unwrap();
    assert!(lines.len() >= 5);
    for line in lines {
        let (actual, expected) = (slope(&line.points).unwrap(), line.slope);
        let count = line.points.len();
        assert!((actual / expected - 1.0).abs() <= 1e-9, "{count} points: {actual}, {expected}");
    }
}

/// An interval of `fixtures/proportions.json`, which `fixtures/proportions.py`
/// wrote.
#[derive(Deserialize)]
struct Share {
    hits: u64,
    trials: u64,
    confidence: f64,
    low: f64,
    high: f64,
}

#[test]
fn intervals_of_shares_agree_with_scipy() {
    let shares: Vec<Share> =
        serde_json::from_str(include_str!("fixtures/proportions.json")).unwrap();
    assert!(shares.len() >= 10);
    for Share { hits, trials, confidence, low, high } in shares {
        let actual = proportion(hits, trials, confidence).unwrap();
        let close = |actual: f64, expected: f64| (actual - expected).abs() <= 1e-9;
        let agrees = close(actual.low, low) && close(actual.high, high);
        assert!(agrees, "{hits} of {trials}: {actual:?}, not {low} to {high}");
    }
}
