//! What the interval promises, seen by simulation: drawn from a distribution
//! whose median is known, 95 of 100 intervals contain it.
//!
//! Every cell has its own seed, so a run of this test repeats itself exactly.
//! `cargo test -p suite coverage -- --nocapture` prints the tables.

use std::ops::RangeInclusive;

use fastrand::Rng;

use super::{Estimate, Regimes};

/// Sizes of sample, in invocations.
const SIZES: [usize; 6] = [5, 7, 10, 15, 20, 30];
/// Standard deviation of a distribution, as a share of its centre.
const SPREADS: [f64; 3] = [0.02, 0.1, 0.5];
/// Samples drawn for each cell: the standard error of a coverage near 95 % is
/// then 0.17 %.
const SAMPLES: usize = 16_000;
/// Samples drawn for five values, whose true coverage of 93.75 % is near the
/// band's edge: its standard error is then 0.14 %.
const SAMPLES_OF_FIVE: usize = 30_000;
/// Where the coverage of one regime has to lie.
const BAND: RangeInclusive<f64> = 0.93..=0.97;

/// Where the coverage of two regimes has to lie, from 20 values on.
const BAND_OF_TWO_REGIMES: RangeInclusive<f64> = 0.92..=0.98;
/// How often one regime may be taken for two.
const MAX_FALSELY_FLAGGED: f64 = 0.04;
/// How often two regimes may pass for one under an interval that misses.
const MAX_NEITHER: f64 = 0.05;

/// The shapes of one regime; the centre of each is 1.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Normal,
    LogNormal,
}

impl Shape {
    /// One value; the median of the distribution is 1.
    fn draw(self, spread: f64, rng: &mut Rng) -> f64 {
        match self {
            Self::Normal => 1.0 + spread * standard_normal(rng),
            // The logarithm's deviation that makes `spread` the coefficient of
            // variation.
            Self::LogNormal => ((1.0 + spread * spread).ln().sqrt() * standard_normal(rng)).exp(),
        }
    }
}

/// A standard normal value (Box and Muller, *A Note on the Generation of
/// Random Normal Deviates*, 1958).
fn standard_normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

/// One value of two regimes ten to one apart, 30 % of them slow, each log-normal
/// with a spread of 5 %.
fn two_regimes(rng: &mut Rng) -> f64 {
    let scale = if rng.f64() < 0.3 { 10.0 } else { 1.0 };
    scale * Shape::LogNormal.draw(0.05, rng)
}

/// The median of [`two_regimes`]: half of all values are five sevenths of the
/// fast ones, and 0.565949 is that quantile of the standard normal.
fn median_of_two_regimes() -> f64 {
    ((1.0 + 0.05_f64 * 0.05).ln().sqrt() * 0.565_949).exp()
}

/// Whether `estimate`'s interval contains `truth` after it is stretched by
/// `stretch` about the estimate.
fn covers(estimate: &Estimate, truth: f64, stretch: f64) -> bool {
    let interval = estimate.interval.expect("five values or more");
    let end = |end: f64| estimate.median + stretch * (end - estimate.median);
    end(interval.low) <= truth && truth <= end(interval.high)
}

/// The share of `items` for which `holds`, 0 to 1.
fn share<T>(items: &[T], holds: impl Fn(&T) -> bool) -> f64 {
    items.iter().filter(|item| holds(item)).count() as f64 / items.len() as f64
}

/// Samples of one size, each with its estimate and regimes.
fn simulate(seed: u64, size: usize, draw: impl Fn(&mut Rng) -> f64) -> Vec<(Estimate, bool)> {
    let mut rng = Rng::with_seed(seed);
    let samples = if size == 5 { SAMPLES_OF_FIVE } else { SAMPLES };
    let mut one = || {
        let sample: Vec<f64> = (0..size).map(|_| draw(&mut rng)).collect();
        (Estimate::of(&sample).expect("a sample with values"), Regimes::of(&sample).is_some())
    };
    (0..samples).map(|_| one()).collect()
}

/// One row of the table for one regime.
struct Cell {
    label: String,
    size: usize,
    /// The coverage of the interval as it is.
    kept: f64,
    /// The coverage of the interval widened by a quarter.
    widened: f64,
    /// The coverage of the interval narrowed by a quarter.
    narrowed: f64,
    /// The share of samples taken for two regimes, wrongly.
    flagged: f64,
}

fn cell(seed: u64, shape: Shape, spread: f64, size: usize) -> Cell {
    let simulated = simulate(seed, size, |rng| shape.draw(spread, rng));
    let coverage = |stretch| share(&simulated, |(estimate, _)| covers(estimate, 1.0, stretch));
    Cell {
        label: format!("{shape:?} {:.0} %, n = {size}", spread * 100.0),
        size,
        kept: coverage(1.0),
        widened: coverage(1.25),
        narrowed: coverage(0.75),
        flagged: share(&simulated, |(_, flagged)| *flagged),
    }
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for shape in [Shape::Normal, Shape::LogNormal] {
        for spread in SPREADS {
            for size in SIZES {
                cells.push(cell(cells.len() as u64, shape, spread, size));
            }
        }
    }
    cells
}

#[test]
fn the_interval_covers_the_median_of_one_regime_and_no_other_width_would() {
    println!("{:<24} interval widened narrowed two regimes", "one regime");
    for Cell { label, size, kept, widened, narrowed, flagged } in cells() {
        println!("{label:<24} {kept:8.4} {widened:7.4} {narrowed:8.4} {flagged:11.4}");
        assert!(BAND.contains(&kept), "{label}: {kept}");
        assert!(narrowed < *BAND.start(), "{label}, narrowed: {narrowed}");
        // The range of five values falls short of 95 %, and for seven the
        // widened interval covers 97.2 %: too close to the edge to tell.
        assert!(size < 10 || widened > *BAND.end(), "{label}, widened: {widened}");
        assert!(flagged <= MAX_FALSELY_FLAGGED, "{label}: {flagged} taken for two regimes");
    }
}

#[test]
fn two_regimes_are_covered_or_flagged() {
    println!("{:<11} interval flagged neither", "two regimes");
    for size in SIZES {
        let simulated = simulate(size as u64, size, two_regimes);
        let truth = median_of_two_regimes();
        let kept = share(&simulated, |(estimate, _)| covers(estimate, truth, 1.0));
        let flagged = share(&simulated, |(_, flagged)| *flagged);
        let neither =
            share(&simulated, |(estimate, flagged)| !flagged && !covers(estimate, truth, 1.0));
        println!("n = {size:<7} {kept:8.4} {flagged:7.4} {neither:7.4}");
        assert!(size < 20 || BAND_OF_TWO_REGIMES.contains(&kept), "n = {size}: {kept}");
        assert!(neither <= MAX_NEITHER, "n = {size}: {neither} neither covered nor flagged");
    }
}
