//! Compares the statistics with `SciPy`, and verifies by simulation what their intervals promise.
//! Every simulation has a seed and so repeats exactly. `cargo test -p brigade statistics::tests --
//! --nocapture` prints the tables.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;

use fastrand::Rng;
use harness::samples::Moments;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::estimate::{Estimate, Interval, median, quantile, sorted};
use super::{Dependence, FEWEST_TIMES, Modes, Series, outlier, slope};
use crate::store::invocation::{Outcome, seconds};
use crate::store::saved_run::SavedRun;

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
        let Estimate { value, interval, count } = Estimate::of(&sample.values).unwrap();
        let Interval { low, high } = interval.unwrap();
        assert_close(&format!("median of {count}"), value, sample.median, 1e-9);
        assert_close(&format!("lower end of {count}"), low, sample.low, 1e-9);
        assert_close(&format!("upper end of {count}"), high, sample.high, 1e-9);
        for (probability, expected) in sample.quantiles {
            let actual = quantile(&sorted(&sample.values), probability).unwrap();
            assert_close(&format!("quantile of {count}"), actual, expected, 1e-9);
        }
    }
}

#[test]
fn moments_slopes_and_shares_agree_with_scipy() {
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
}

/// Sample sizes, in invocations.
const SIZES: [usize; 7] = [5, 6, 8, 10, 15, 20, 40];
/// Samples drawn per cell: the standard error of a coverage of 95 % is 0.34 %.
const SAMPLES: usize = 4_000;
/// The tolerated coverage of a 95 % interval.
const BAND: RangeInclusive<f64> = 0.93..=0.975;

/// A standard normal value (Box and Muller 1958).
pub fn standard_normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

/// The time of one invocation.
pub type Draw = fn(&mut Rng) -> f64;

/// Distributions of invocation times; the last has two modes, with 30 % slow.
pub const SHAPES: [(&str, Draw); 5] = [
    ("log-normal, 2 %", |rng| (0.02 * standard_normal(rng)).exp()),
    ("log-normal, 50 %", |rng| (0.5 * standard_normal(rng)).exp()),
    ("skewed", |rng| (0.25 * (0..4).map(|_| -(1.0 - rng.f64()).ln()).sum::<f64>()).exp()),
    ("long tails", |rng| (0.02 * standard_normal(rng) / rng.f64().max(0.01).sqrt()).exp()),
    ("two modes, 10:1", |rng| {
        (if rng.f64() < 0.3 { 10.0 } else { 1.0 }) * (0.05 * standard_normal(rng)).exp()
    }),
];

fn draws(count: usize, rng: &mut Rng, draw: impl Fn(&mut Rng) -> f64) -> Vec<f64> {
    (0..count).map(|_| draw(rng)).collect()
}

/// The share of `count` trials that succeed, 0 to 1.
fn share(count: usize, mut trial: impl FnMut() -> bool) -> f64 {
    (0..count).filter(|_| trial()).count() as f64 / count as f64
}

/// The shares of intervals that contain `truth`: as they are, and narrowed by a quarter.
fn coverage(truth: f64, mut one: impl FnMut() -> Estimate) -> [f64; 2] {
    let estimates: Vec<Estimate> = (0..SAMPLES).map(|_| one()).collect();
    [1.0, 0.75].map(|stretch| {
        let covers = |of: &&Estimate| {
            let Interval { low, high } = of.interval.expect("five values or more");
            let end = |end: f64| of.value + stretch * (end - of.value);
            // Whole ratios of two modes have rounding errors.
            end(low) <= truth * (1.0 + 1e-9) && truth * (1.0 - 1e-9) <= end(high)
        };
        estimates.iter().filter(covers).count() as f64 / SAMPLES as f64
    })
}

#[test]
fn intervals_of_a_median_cover_it_and_narrower_ones_would_not() {
    for (index, (shape, draw)) in SHAPES.into_iter().enumerate() {
        let truth = median(&draws(400_000, &mut Rng::with_seed(99), draw)).unwrap();
        for size in SIZES {
            let mut rng = Rng::with_seed((100 * index + size) as u64);
            let [kept, narrowed] =
                coverage(truth, || Estimate::of(&draws(size, &mut rng, draw)).unwrap());
            println!("{shape:<18} n = {size:<3} {kept:.4}, narrowed {narrowed:.4}");
            assert!(BAND.contains(&kept), "{shape}, n = {size}: {kept}");
            let is_smooth = index < SHAPES.len() - 1;
            assert!(!is_smooth || narrowed < *BAND.start(), "{shape}, n = {size}: {narrowed}");
        }
    }
}

// Identical sides: the true ratio is 1. Each round changes both sides by a factor far larger than
// the scatter.
#[test]
fn intervals_of_ratios_cover_one_for_pairs_and_for_two_samples() {
    for (index, (shape, draw)) in SHAPES.into_iter().enumerate() {
        for size in SIZES.into_iter().filter(|size| *size >= FEWEST_TIMES) {
            let mut rng = Rng::with_seed((100 * index + size) as u64);
            let [paired, _] = coverage(1.0, || {
                let of_round = draws(size, &mut rng, |rng| standard_normal(rng).exp());
                let mut side = || -> super::ByRound {
                    (1..).zip(of_round.iter().map(|by| by * draw(&mut rng))).collect()
                };
                let (first, second) = (side(), side());
                let [of, by] = [&first, &second].map(|side| {
                    Estimate::lower_quartile(&side.values().copied().collect::<Vec<_>>()).unwrap()
                });
                of.over(by, super::correlation(&first, &second), 0.95).unwrap()
            });
            let [unpaired, _] = coverage(1.0, || {
                let [first, second] =
                    [(); 2].map(|()| Estimate::of(&draws(size, &mut rng, draw)).unwrap());
                first.over(second, 0.0, 0.95).unwrap()
            });
            println!("{shape:<18} n = {size:<3} paired {paired:.4}, unpaired {unpaired:.4}");
            assert!((0.93..=1.0).contains(&paired), "{shape}, n = {size}: {paired}");
            assert!((0.93..=1.0).contains(&unpaired), "{shape}, n = {size}: {unpaired}");
        }
    }
}

#[test]
fn modes_are_found_and_one_mode_is_rarely_mistaken_for_two() {
    for size in SIZES.into_iter().skip(3) {
        let mut rng = Rng::with_seed(size as u64);
        for (shape, draw) in &SHAPES[..3] {
            let falsely = share(SAMPLES, || Modes::of(&draws(size, &mut rng, draw)).is_some());
            println!("n = {size}: {shape} mistaken for two modes: {falsely:.4}");
            assert!(falsely <= 0.02, "{shape}, n = {size}: {falsely}");
        }
        let slow = size * 3 / 10;
        let found = share(SAMPLES, || {
            let scale = |index| if index < slow { 1.3 } else { 1.0 };
            let of = |index| scale(index) * (0.03 * standard_normal(&mut rng)).exp();
            Modes::of(&(0..size).map(of).collect::<Vec<_>>()).is_some()
        });
        println!("n = {size}: modes 1.3 apart found: {found:.4}");
        assert!(found >= if size < 15 { 0.85 } else { 0.95 }, "n = {size}: {found}");
        // Two modes are found as such, or as an outlier, or only one was drawn.
        let hidden = share(SAMPLES, || {
            let sample = draws(size, &mut rng, SHAPES[4].1);
            let slow = sample.iter().filter(|value| **value > 4.0).count();
            let is_shown = Modes::of(&sample).is_some() || outlier(&sample).is_some();
            size >= 20 && slow * 10 >= size && slow * 10 <= size * 9 && !is_shown
        });
        assert!(hidden == 0.0, "n = {size}: {hidden}");
    }
}

/// The tolerated coverage of a time's interval, over cases and runs.
const RUN_BAND: RangeInclusive<f64> = 0.92..=0.97;

/// The times of every case in a recorded run of the default profile, in order, with their starts in
/// seconds.
fn recorded(folder: &Path) -> Vec<Series> {
    let run = SavedRun::read(folder).expect("a recorded run");
    if run.description.profile != "default" {
        return Vec::new();
    }
    let mut cases: BTreeMap<&str, Series> = BTreeMap::new();
    for invocation in &run.invocations {
        let started = seconds(&invocation.started_at).expect("a time");
        let time = invocation.record.as_ref().and_then(|record| record.principal());
        if let Some(time) = time.filter(|_| invocation.outcome == Outcome::Measured) {
            let case = cases.entry(&invocation.case).or_default();
            case.push((started, time.ns_per_operation));
        }
    }
    cases.into_values().filter(|case| case.len() >= FEWEST_TIMES).collect()
}

/// A run like `like`: the same starts and, for each case, the same distribution of times. A state
/// of the machine that lasts `lasting_s` explains `share` of the variance of the ranks.
fn simulated(like: &[Series], share: f64, lasting_s: f64, rng: &mut Rng) -> Vec<Series> {
    let mut starts: Vec<f64> = like.iter().flatten().map(|(start, _)| *start).collect();
    starts.sort_by(f64::total_cmp);
    let mut state = standard_normal(rng);
    let mut before = starts[0];
    let mut states = Vec::with_capacity(starts.len());
    for start in &starts {
        let kept = (-(start - before) / lasting_s).exp();
        state = kept * state + (1.0 - kept * kept).sqrt() * standard_normal(rng);
        before = *start;
        states.push(state);
    }
    let mut case = |like: &Series| {
        let sorted = sorted(&like.iter().map(|(_, time)| *time).collect::<Vec<_>>());
        let time = |&(start, _): &(f64, f64)| {
            let state = states[starts.partition_point(|other| *other < start)];
            let score = share.sqrt() * state + (1.0 - share).sqrt() * standard_normal(rng);
            (start, quantile(&sorted, normal_probability(score)).expect("times"))
        };
        like.iter().map(time).collect()
    };
    like.iter().map(&mut case).collect()
}

/// The probability that a standard normal value is below `score`: Zelen and Severo,
/// Abramowitz and Stegun 26.2.17, within 7.5e-8.
fn normal_probability(score: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * score.abs());
    let terms = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let sum = terms.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    let above = sum * (-score * score / 2.0).exp() / std::f64::consts::TAU.sqrt();
    if score < 0.0 { above } else { 1.0 - above }
}

#[test]
fn intervals_of_dependent_processes_cover_and_those_of_independent_ones_stay_as_they_are() {
    let folders = contract::repository::recorded_runs();
    let runs: Vec<_> =
        folders.into_iter().map(|of| (of.display().to_string(), recorded(&of))).collect();
    // Runs of one build and day are numbered; the first one represents them.
    let is_first = |name: &str| !runs.iter().any(|(of, _)| name.starts_with(&format!("{of}-")));
    let is_used = |(name, cases): &&(String, Vec<Series>)| {
        is_first(name) && cases.iter().flatten().count() > 500
    };
    let runs: Vec<_> = runs.iter().filter(is_used).collect();
    assert!(runs.len() >= 3, "three machines or days");
    for (name, like) in runs {
        for (share, lasting_s) in [(0.0, 1.0), (0.2, 8.0), (0.4, 12.0)] {
            let mut rng = Rng::with_seed(7);
            let (mut covered, mut naive, mut all, mut inflation) = (0.0, 0.0, 0.0, 0.0);
            for _ in 0..60 {
                let run = simulated(like, share, lasting_s, &mut rng);
                let dependence = Dependence::of(&run);
                for (case, like) in run.iter().zip(like) {
                    let times = |of: &Series| of.iter().map(|(_, time)| *time).collect::<Vec<_>>();
                    let truth = quantile(&sorted(&times(like)), 0.25).unwrap();
                    let found = Estimate::lower_quartile(&times(case)).unwrap();
                    let by = dependence.inflation(case);
                    all += 1.0;
                    inflation += by;
                    naive += f64::from(!found.excludes(truth));
                    covered += f64::from(!found.widened(by).excludes(truth));
                }
            }
            let [covered, naive, inflation] = [covered, naive, inflation].map(|sum| sum / all);
            println!(
                "{name}: {share} for {lasting_s} s: {naive:.3}, × {inflation:.2}: {covered:.3}"
            );
            assert!(RUN_BAND.contains(&covered), "{name}, {share}: {covered}");
            let is_wider = inflation > 1.2;
            assert!(!is_wider || naive < covered - 0.01, "{name}, {share}: {naive}");
            assert!(share > 0.0 || inflation < 1.1, "{name}: {inflation}");
        }
    }
}
