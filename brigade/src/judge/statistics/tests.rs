//! Compares the statistics with `SciPy`, and verifies by simulation what their intervals promise.
//! Every simulation has a seed and so repeats exactly. `cargo test -p brigade statistics::tests --
//! --nocapture` prints the tables.

use fastrand::Rng;
use harness::samples::Moments;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::*;

/// Reads the output of the script next to a fixture.
fn fixture<T: DeserializeOwned>(text: &str, at_least: usize) -> Vec<T> {
    let found: Vec<T> = serde_json::from_str(text).unwrap();
    assert!(found.len() >= at_least);
    found
}

#[track_caller]
fn assert_close(what: &str, actual: f64, expected: f64, tolerance: f64) {
    let error = (actual - expected).abs();
    assert!(error <= tolerance * expected.abs().max(1e-3), "{what}: {actual}, not {expected}");
}

#[test]
fn medians_quantiles_and_intervals_agree_with_scipy() {
    #[derive(Deserialize)]
    struct Sample {
        values: Vec<f64>,
        median: f64,
        quantiles: Vec<(f64, f64)>,
        low: f64,
        high: f64,
    }
    for sample in fixture::<Sample>(include_str!("fixtures/reference.json"), 15) {
        let found = Estimate::of_independent(CONFIDENCE, &sample.values).unwrap();
        let Interval { low, high } = found.interval.unwrap();
        assert_close("median", found.value, sample.median, 1e-9);
        assert_close("lower end", low, sample.low, 1e-9);
        assert_close("upper end", high, sample.high, 1e-9);
        for (probability, expected) in sample.quantiles {
            let actual = quantile(&sorted(&sample.values), probability).unwrap();
            assert_close("quantile", actual, expected, 1e-9);
        }
    }
}

#[test]
fn moments_and_slopes_agree_with_scipy() {
    #[derive(Deserialize)]
    struct Nanoseconds {
        values: Vec<u64>,
        mean: f64,
        stddev: f64,
    }
    for sample in fixture::<Nanoseconds>(include_str!("fixtures/moments.json"), 7) {
        let mut moments = Moments::default();
        sample.values.iter().for_each(|&value| moments.add(value));
        assert_close("mean", moments.mean().unwrap(), sample.mean, 1e-14);
        assert_close("stddev", moments.stddev().unwrap(), sample.stddev, 1e-14);
    }
    #[derive(Deserialize)]
    struct Line {
        points: Vec<(f64, f64)>,
        slope: f64,
    }
    for line in fixture::<Line>(include_str!("fixtures/slopes.json"), 5) {
        assert_close("slope", slope(&line.points).unwrap(), line.slope, 1e-9);
    }
    assert_eq!(slope(&[(2.0, 1.0), (2.0, 5.0)]), None);
}

#[test]
fn medians_worked_by_hand() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[9.0, 1.0, 4.0]), Some(4.0));
    assert_eq!(median(&[9.0, 1.0, 4.0, 6.0]), Some(5.0));
    assert_eq!(median(&[2.0, 2.0, 7.0]), Some(2.0));
}

// n = 6: γ(1) = 31/32, γ(2) = 25/32, so I = (31/32 − 19/20) / (6/32) = 1/10 and
// λ = 5/10 / (1 + 4/10) = 5/14. n = 8: γ(1) = 254/256, γ(2) = 238/256, so
// I = (254/256 − 0.99) · 16 = 0.035 and λ = 7 · 0.035 / (1 + 6 · 0.035) = 24.5/121.
// n = 10: the example of the sign interval in Minitab's documentation.
#[test]
fn intervals_worked_by_hand() {
    let eight = [0.0, 121.0, 130.0, 140.0, 150.0, 160.0, 179.0, 300.0];
    let ten = [7.0, 9.0, 16.0, 36.0, 39.0, 45.0, 45.0, 46.0, 48.0, 51.0];
    for (confidence, values, low, high) in [
        (0.95, &[0.0, 14.0, 20.0, 30.0, 86.0, 100.0][..], 5.0, 95.0),
        (0.99, &eight, 24.5, 275.5),
        (0.95, &ten, 13.603_603_603_603_608, 46.684_684_684_684_68),
        (0.95, &[4.0; 12], 4.0, 4.0),
        (0.95, &[1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0], 1.0, 3.0),
    ] {
        let found = Estimate::of_independent(confidence, values).unwrap().interval.unwrap();
        assert_close("low", found.low, low, 1e-9);
        assert_close("high", found.high, high, 1e-9);
    }
}

#[test]
fn small_samples_have_a_median_and_no_interval() {
    assert_eq!(Estimate::of(&[]), None);
    let four = Estimate { value: 2.5, interval: None, count: 4 };
    assert_eq!(Estimate::of(&[4.0, 1.0, 2.0, 3.0]), Some(four));
    assert!(!four.excludes(100.0));
    for (confidence, fewest) in [(0.96875, 6), (0.99, 8), (0.9975, 10)] {
        let has = |count| Estimate::at(confidence, &vec![1.0; count]).unwrap().interval;
        assert!(has(fewest).is_some() && has(fewest - 1).is_none(), "{confidence}");
    }
}

// The logarithms of the ends, to base 2, are ∓2; √3 times as far they are ∓3.46. Those of memory
// at 0 are moved as they are.
#[test]
fn intervals_are_widened_by_the_root_of_three() {
    let ends = |values: &[f64]| Estimate::of(values).unwrap().interval.unwrap();
    let found = ends(&[1.0, 2.0, 4.0, 8.0, 16.0]);
    assert_close("low", found.low, 4.0 * 2_f64.powf(-2.0 * 3_f64.sqrt()), 1e-9);
    assert_close("high", found.high, 4.0 * 2_f64.powf(2.0 * 3_f64.sqrt()), 1e-9);
    let found = ends(&[0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_close("low", found.low, 2.0 - 2.0 * 3_f64.sqrt(), 1e-9);
}

// Exponents 0 to 4 have median 2 and ends 0 and 4: for the difference of two such samples the ends
// are √8 away.
#[test]
fn a_quotient_combines_the_intervals_of_both_sides() {
    let of = |by: f64| {
        let values = [1.0, 2.0, 4.0, 8.0, 16.0].map(|value| value * by);
        Estimate::of_independent(0.9375, &values).unwrap()
    };
    let found = of(2.0).over(of(1.0)).unwrap();
    let ends = found.interval.unwrap();
    assert_close("value", found.value, 2.0, 1e-9);
    assert_close("low", ends.low.log2(), 1.0 - 8_f64.sqrt(), 1e-9);
    assert_close("high", ends.high.log2(), 1.0 + 8_f64.sqrt(), 1e-9);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Estimate::of(&[bad]).unwrap().over(of(1.0)), None, "{bad}");
    }
}

/// These values in rounds 1, 2 ….
fn rounds(values: &[f64]) -> ByRound {
    (1..).zip(values.iter().copied()).collect()
}

// The ratios by round are 2, 4, 8, 16 and 32, whose range is the interval at 93.75 %: two powers of
// two on each side of the quotient of the medians, 40 / 5.
#[test]
fn a_ratio_is_the_quotient_of_medians_with_the_interval_of_pairs() {
    let first = rounds(&[1.0, 10.0, 3.0, 7.0, 5.0]);
    let second = rounds(&[2.0, 40.0, 24.0, 112.0, 160.0]);
    for (found, value) in [
        (ratio(&second, &first, 0.9375, Rounds::Independent), 8.0),
        (ratio(&first, &second, 0.9375, Rounds::Independent), 1.0 / 8.0),
    ] {
        let found = found.unwrap();
        let ends = found.interval.unwrap();
        assert_close("value", found.value, value, 1e-9);
        assert_close("low", ends.low, value / 4.0, 1e-9);
        assert_close("high", ends.high, value * 4.0, 1e-9);
    }
    let of = |second: &ByRound| ratio(&first, second, 0.95, Rounds::Dependent);
    assert_eq!(of(&ByRound::from([(9, 1.0)])).unwrap().interval, None, "no round in common");
    assert_eq!((of(&rounds(&[0.0; 5])), of(&ByRound::new())), (None, None));
    let found = difference(&second, &first).unwrap();
    assert_eq!((found.value, found.count), (35.0, 5));
}

/// A standard normal value (Box and Muller 1958).
pub fn standard_normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

/// The time of one invocation.
type Draw = fn(&mut Rng) -> f64;

/// Distributions of invocation times; the last has two modes, with 30 % slow.
const SHAPES: [(&str, Draw); 5] = [
    ("log-normal, 2 %", |rng| (0.02 * standard_normal(rng)).exp()),
    ("log-normal, 50 %", |rng| (0.5 * standard_normal(rng)).exp()),
    ("skewed", |rng| (0.25 * (0..4).map(|_| -(1.0 - rng.f64()).ln()).sum::<f64>()).exp()),
    ("long tails", |rng| (0.02 * standard_normal(rng) / rng.f64().max(0.01).sqrt()).exp()),
    ("two modes, 10:1", |rng| {
        (if rng.f64() < 0.3 { 10.0 } else { 1.0 }) * (0.05 * standard_normal(rng)).exp()
    }),
];

/// Samples drawn per cell: the standard error of a coverage of 95 % is 0.5 %.
const SAMPLES: usize = 2_000;

/// The share of estimates whose interval contains `truth`.
fn coverage(truth: f64, mut one: impl FnMut() -> Estimate) -> f64 {
    let covers = |of: Estimate| {
        let Interval { low, high } = of.interval.expect("five values or more");
        // Whole ratios of two modes have rounding errors.
        low <= truth * (1.0 + 1e-9) && truth * (1.0 - 1e-9) <= high
    };
    (0..SAMPLES).filter(|_| covers(one())).count() as f64 / SAMPLES as f64
}

fn draws(count: usize, rng: &mut Rng, draw: Draw) -> Vec<f64> {
    (0..count).map(|_| draw(rng)).collect()
}

#[test]
fn intervals_of_independent_values_cover_the_median() {
    for (index, (shape, draw)) in SHAPES.into_iter().enumerate() {
        let truth = median(&draws(400_000, &mut Rng::with_seed(99), draw)).unwrap();
        for size in [5, 6, 8, 12, 20, 40] {
            let mut rng = Rng::with_seed((100 * index + size) as u64);
            let of = |of: fn(&[f64]) -> Estimate, rng: &mut Rng| {
                coverage(truth, || of(&draws(size, rng, draw)))
            };
            let plain =
                of(|values| Estimate::of_independent(CONFIDENCE, values).unwrap(), &mut rng);
            let wide = of(|values| Estimate::of(values).unwrap(), &mut rng);
            println!("{shape:<18} n = {size:<3} {plain:.3}, widened {wide:.3}");
            assert!((0.93..=0.975).contains(&plain), "{shape}, n = {size}: {plain}");
            assert!(wide > plain, "{shape}, n = {size}: {wide}");
        }
    }
}

/// A state of the machine that lasts 12 s explains 40 % of the variance of times, which are 6 s
/// apart: what the reference work shows on the machines that were recorded.
#[test]
fn widened_intervals_of_dependent_processes_cover_the_median() {
    for size in [12, 24, 33] {
        let mut rng = Rng::with_seed(size as u64);
        let mut draw = || {
            let kept = (-6.0_f64 / 12.0).exp();
            let mut state = standard_normal(&mut rng);
            let time = |_| {
                let noise = (1.0 - kept * kept).sqrt() * standard_normal(&mut rng);
                state = kept * state + noise;
                let time = 0.4_f64.sqrt() * state + 0.6_f64.sqrt() * standard_normal(&mut rng);
                (0.05 * time).exp()
            };
            (0..size).map(time).collect::<Vec<f64>>()
        };
        let plain = coverage(1.0, || Estimate::of_independent(CONFIDENCE, &draw()).unwrap());
        let wide = coverage(1.0, || Estimate::of(&draw()).unwrap());
        println!("n = {size}: {plain:.3}, widened {wide:.3}");
        assert!(plain < 0.93 && wide > 0.94, "n = {size}: {plain} {wide}");
    }
}

// Identical sides: the true ratio is 1. Each round changes both by a factor far larger than the
// scatter, which cancels.
#[test]
fn intervals_of_ratios_cover_one_for_pairs_and_for_two_samples() {
    for (index, (shape, draw)) in SHAPES.into_iter().enumerate() {
        for size in [5, 8, 12, 20, 40] {
            let mut rng = Rng::with_seed((100 * index + size) as u64);
            let paired = coverage(1.0, || {
                let of_round: Vec<f64> =
                    (0..size).map(|_| (0.02 * standard_normal(&mut rng)).exp()).collect();
                let mut side =
                    || (1..).zip(of_round.iter().map(|by| by * draw(&mut rng))).collect();
                let (first, second): (ByRound, ByRound) = (side(), side());
                ratio(&first, &second, CONFIDENCE, Rounds::Independent).unwrap()
            });
            let unpaired = coverage(1.0, || {
                let [first, second] = [(); 2].map(|()| {
                    let values = draws(size, &mut rng, draw);
                    Estimate::of_independent(CONFIDENCE, &values).unwrap()
                });
                first.over(second).unwrap()
            });
            println!("{shape:<18} n = {size:<3} paired {paired:.3}, unpaired {unpaired:.3}");
            assert!(paired >= 0.93, "{shape}, n = {size}: paired {paired}");
            assert!(unpaired >= 0.93, "{shape}, n = {size}: unpaired {unpaired}");
        }
    }
}
