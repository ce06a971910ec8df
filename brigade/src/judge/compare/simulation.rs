//! How often the verdict on two identical sides is false, by simulation.
//!
//! Every cell has its own seed, so a run of this test repeats itself exactly.
//! `cargo test -p brigade simulation -- --nocapture` prints the figures.

use crate::judge::statistics::ByRound;
use fastrand::Rng;

use super::interim::{CONFIDENCE, InterimAnalyses};
use super::verdict::{Ratio, Verdict, drift};

/// Comparisons in each cell.
const COMPARISONS: usize = 1_500;
/// The most false verdicts that are compatible with 5 %: three standard errors
/// more.
const MOST_FALSE: f64 = 0.05 + 3.0 * 0.0056;
/// The margin of every verdict.
const MARGIN: f64 = 0.03;

/// A standard normal value (Box and Muller 1958).
fn standard_normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

/// The time of one invocation.
type Draw = fn(&mut Rng) -> f64;

const SHAPES: [(&str, Draw); 3] = [
    ("log-normal 5 %", |rng| (0.05 * standard_normal(rng)).exp()),
    ("log-normal 15 %", |rng| (0.15 * standard_normal(rng)).exp()),
    ("two modes 10:1", |rng| {
        (if rng.f64() < 0.3 { 10.0 } else { 1.0 }) * (0.05 * standard_normal(rng)).exp()
    }),
];

/// The share of verdicts that call identical sides faster or slower, 0 to 1.
fn false_share(seed: u64, mut ratio: impl FnMut(&mut Rng) -> Ratio) -> f64 {
    let mut rng = Rng::with_seed(seed);
    let verdicts = (0..COMPARISONS).map(|_| Verdict::of(&ratio(&mut rng), MARGIN));
    let is_false = |verdict: &Verdict| matches!(verdict, Verdict::Faster | Verdict::Slower);
    verdicts.filter(is_false).count() as f64 / COMPARISONS as f64
}

fn times(count: usize, draw: impl FnMut() -> f64) -> Vec<f64> {
    std::iter::repeat_with(draw).take(count).collect()
}

#[test]
fn identical_sides_differ_in_no_more_than_one_comparison_of_twenty() {
    for (index, (shape, draw)) in (0_u64..).zip(SHAPES) {
        for count in [8, 20] {
            let side_by_side = false_share(index, |rng| {
                let side = |rng: &mut Rng| (1..=count).map(|round| (round, draw(rng))).collect();
                let (first, second): (ByRound, ByRound) = (side(rng), side(rng));
                Ratio::of_rounds([&first, &second], 0.95).unwrap()
            });
            let in_turn = false_share(index, |rng| {
                let sides = [(); 2].map(|()| times(count as usize, || draw(rng)));
                Ratio::of_runs([&sides[0], &sides[1]], 0.95, 1.0).unwrap()
            });
            println!("{shape}, {count} rounds: paired {side_by_side:.4}, unpaired {in_turn:.4}");
            assert!(side_by_side <= MOST_FALSE, "{shape}, {count} rounds: {side_by_side}");
            assert!(in_turn <= MOST_FALSE, "{shape}, {count} rounds: {in_turn}");
        }
    }
}

/// Cases whose drift is judged together.
const CASES: usize = 20;

/// `CASES` cases of a run on a machine that wanders: every case scatters by
/// 5 %, and from round to round the machine gets slower or faster by 2.5 %,
/// in a random walk that begins at 1. That is more than a run can tell of
/// itself: no interval from within it covers all of the difference to another.
fn wandering_run(rng: &mut Rng) -> Vec<Vec<f64>> {
    let mut machine = 0.0;
    let mut cases = vec![Vec::new(); CASES];
    for _ in 0..8 {
        machine += 0.025 * standard_normal(rng);
        for case in &mut cases {
            case.push((machine + 0.05 * standard_normal(rng)).exp());
        }
    }
    cases
}

/// The share of false verdicts on runs of that machine, at a confidence, with
/// the drift of the runs' halves or without.
fn false_share_of_wandering_runs(confidence: f64, with_drift: bool) -> f64 {
    let mut cases = Vec::new();
    false_share(7, |rng| {
        if cases.is_empty() {
            let runs = [wandering_run(rng), wandering_run(rng)];
            let drift = drift(runs.iter().flatten().map(Vec::as_slice));
            let [first, second] = runs;
            cases = first.into_iter().zip(second).map(|sides| (sides, drift)).collect();
        }
        let ((first, second), drift) = cases.pop().expect("as many as cases");
        let drift = if with_drift { drift } else { 1.0 };
        Ratio::of_runs([&first, &second], confidence, drift).unwrap()
    })
}

#[test]
fn runs_on_a_machine_that_wanders_need_drift_and_a_confidence_over_all_cases() {
    let of_each = 0.95;
    let of_all = 1.0 - 0.05 / CASES as f64;
    let plain = false_share_of_wandering_runs(of_each, false);
    let with_drift = false_share_of_wandering_runs(of_each, true);
    let with_both = false_share_of_wandering_runs(of_all, true);
    println!("under drift: {plain:.4} false, {with_drift:.4} with it, {with_both:.4} with both");
    assert!(plain > 0.2, "the machine does not wander enough to tell: {plain}");
    assert!(with_drift < 0.75 * plain, "{with_drift} with the drift, {plain} without");
    assert!(with_both <= MOST_FALSE, "{with_both}");
}

/// Comparisons of identical sides with interim analyses.
const SEQUENTIAL: usize = 250;

/// The rounds for which their budget lasts.
const LASTING: u32 = 160;

/// The share of false verdicts on one case that is analysed until it has a verdict
/// or the budget is spent. `confidence` maps the confidence of an analysis to the
/// one that is used. The margin is 0, so that no verdict is *same*.
fn false_share_of_analysing(confidence: fn(f64) -> f64) -> f64 {
    let mut rng = Rng::with_seed(11);
    let mut falls = || {
        let mut sides = [ByRound::new(), ByRound::new()];
        let mut analyses = InterimAnalyses::of_one_in(1);
        (1..=LASTING).any(|round| {
            for side in &mut sides {
                side.insert(round, (0.1 * standard_normal(&mut rng)).exp());
            }
            let spent = f64::from(round) / f64::from(LASTING);
            let last = (round == LASTING).then(|| analyses.last());
            let analysis = analyses.next(spent, round as usize).or(last);
            analysis.is_some_and(|due| {
                let ratio = Ratio::of_rounds(sides.each_ref(), confidence(due)).unwrap();
                Verdict::of(&ratio, 0.0) != Verdict::Unresolved
            })
        })
    };
    (0..SEQUENTIAL).filter(|_| falls()).count() as f64 / SEQUENTIAL as f64
}

#[test]
fn interim_analyses_find_no_more_than_one_false_verdict_in_twenty() {
    let shared = false_share_of_analysing(|due| due);
    let not_shared = false_share_of_analysing(|_| CONFIDENCE);
    println!("interim analyses: {shared:.3} false, {not_shared:.3} at 95 % each");
    // Three standard errors of this many comparisons.
    assert!(shared <= 0.05 + 3.0 * 0.0138, "{shared}");
    assert!(not_shared > 0.05 + 3.0 * 0.0138, "the analyses cannot mislead: {not_shared}");
}
