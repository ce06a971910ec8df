//! What the interval of a shift promises, seen by simulation.
//!
//! Every cell has its own seed, so a run of this test repeats itself exactly.
//! `cargo test -p harness shift::coverage -- --nocapture` prints the table.

use std::ops::RangeInclusive;

use fastrand::Rng;

use super::Shift;

/// Sizes of sample, in rounds.
const SIZES: [usize; 3] = [8, 12, 20];
/// Samples drawn for each cell: the standard error of a coverage near 95 % is
/// then 0.4 %.
const SAMPLES: usize = 3_000;
/// Where the coverage of a 95 % interval has to lie: never less, apart from the
/// chance of the simulation, and more by one step of the rank statistic.
const BAND: RangeInclusive<f64> = 0.94..=0.975;
/// The shift to be found.
const TRUE_SHIFT: f64 = 0.05;

/// A standard normal value (Box and Muller 1958).
fn standard_normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

/// The logarithm of one invocation's time.
type Draw = fn(&mut Rng) -> f64;

/// What the times of invocations look like.
const SHAPES: [(&str, Draw); 3] = [
    ("log-normal 5 %", |rng| 0.05 * standard_normal(rng)),
    ("skewed", |rng| -0.1 * (1.0 - rng.f64()).ln()),
    ("two modes 10:1", |rng| {
        let slow = if rng.f64() < 0.3 { 10.0_f64.ln() } else { 0.0 };
        slow + 0.05 * standard_normal(rng)
    }),
];

/// The coverage of the interval as it is, and narrowed by a quarter.
fn coverage(seed: u64, mut shift: impl FnMut(&mut Rng) -> Shift) -> (f64, f64) {
    let mut rng = Rng::with_seed(seed);
    let (mut kept, mut narrowed) = (0, 0);
    for _ in 0..SAMPLES {
        let Shift { estimate, interval } = shift(&mut rng);
        let interval = interval.expect("enough values");
        let covers = |stretch: f64| {
            let end = |end: f64| estimate + stretch * (end - estimate);
            // Whole shifts of two modes come out a rounding error aside.
            (end(interval.low) - 1e-12..=end(interval.high) + 1e-12).contains(&TRUE_SHIFT)
        };
        kept += usize::from(covers(1.0));
        narrowed += usize::from(covers(0.75));
    }
    (kept as f64 / SAMPLES as f64, narrowed as f64 / SAMPLES as f64)
}

fn check(label: &str, (kept, narrowed): (f64, f64)) {
    println!("{label:<36} {kept:8.4} {narrowed:8.4}");
    assert!(BAND.contains(&kept), "{label}: {kept}");
    assert!(narrowed < *BAND.start(), "{label}, narrowed: {narrowed}");
}

#[test]
fn the_interval_of_a_shift_covers_it_and_a_narrower_one_would_not() {
    println!("{:<36} interval narrowed", "");
    for (index, (shape, draw)) in SHAPES.into_iter().enumerate() {
        for size in SIZES {
            let seed = (100 * index + size) as u64;
            let sample = |rng: &mut Rng, by: f64| -> Vec<f64> {
                (0..size).map(|_| draw(rng) + by).collect()
            };
            let samples = coverage(seed, |rng| {
                Shift::between(&sample(rng, 0.0), &sample(rng, TRUE_SHIFT), 0.95).unwrap()
            });
            check(&format!("{shape}, two samples of {size}"), samples);
            let pairs = coverage(seed, |rng| {
                let differences: Vec<f64> =
                    (0..size).map(|_| draw(rng) + TRUE_SHIFT - draw(rng)).collect();
                Shift::of_pairs(&differences, 0.95).unwrap()
            });
            check(&format!("{shape}, {size} pairs"), pairs);
        }
    }
}
