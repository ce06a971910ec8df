//! The ratio of two runs, and which of four words a ratio deserves.
//!
//! Times are compared as ratios, so everything happens among their logarithms: swapping
//! baseline and candidate turns a ratio into its inverse and a verdict into its opposite.

use serde::{Deserialize, Serialize};

use crate::judge::statistics::{Estimate, Interval, median};
use crate::store::invocation::{Invocation, Reference};

/// The two sides of a comparison: the baseline, then the candidate.
pub type Pair<T> = [T; 2];

/// The ratio of two runs, candidate to baseline, whose interval is widened `drift` times
/// (see [`drift`]). `confidence` is 0 to 1; `None` if a run is empty or a time is not
/// positive.
pub fn ratio_of_runs(sides: Pair<&[f64]>, confidence: f64, drift: f64) -> Option<Estimate> {
    let ratio = Estimate::quotient(confidence, sides[1], sides[0])?;
    Some(ratio.map(|end| ratio.value * (end / ratio.value).powf(drift)))
}

/// The factor by which to widen the intervals between two runs, if the runs differ as much
/// as the two halves of a run do; at least 1.
///
/// `runs` are the times of one case of one run each, in the order of rounds. The squared
/// rank sum score between the halves of a run has a mean of 1 if they differ by chance alone
/// (the Birge ratio, *The calculation of errors by the method of least squares*, Physical
/// Review 40 (1932), 207–227, with ranks in place of means). The excess over 1 counts twice,
/// as a run has twice the rounds of a half: intervals are widened by √(1 + 2 · excess).
pub fn drift<'a>(runs: impl IntoIterator<Item = &'a [f64]>) -> f64 {
    let halves = runs.into_iter().map(|run| run.split_at(run.len() / 2));
    let squares: Vec<f64> = halves
        .filter_map(|(early, late)| rank_sum_score(early, late))
        .map(|score| score * score)
        .collect();
    let mean = squares.iter().sum::<f64>() / squares.len().max(1) as f64;
    (2.0 * mean - 1.0).max(1.0).sqrt()
}

/// By how many standard deviations the rank sum of `late` differs from what chance alone
/// would give. `None` if either is empty or all values are equal.
///
/// Mann and Whitney, *On a test of whether one of two random variables is stochastically
/// larger than the other*, Annals of Mathematical Statistics 18 (1947), 50–60, with the
/// variance corrected for ties (Lehmann, *Nonparametrics*, 1975, 1.4).
fn rank_sum_score(early: &[f64], late: &[f64]) -> Option<f64> {
    let (m, n) = (early.len() as f64, late.len() as f64);
    let [early, late] =
        [(early, 0.0), (late, 1.0)].map(|(half, of)| half.iter().map(move |value| (*value, of)));
    let mut all: Vec<(f64, f64)> = early.chain(late).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut before, mut ranks, mut tied) = (0.0, 0.0, 0.0);
    for ties in all.chunk_by(|a, b| a.0 == b.0) {
        let count = ties.len() as f64;
        ranks += ties.iter().map(|(_, late)| late).sum::<f64>() * (before + (count + 1.0) / 2.0);
        tied += count.powi(3) - count;
        before += count;
    }
    let above_chance = ranks - n * (m + n + 1.0) / 2.0;
    let variance = m * n / 12.0 * (m + n + 1.0 - tied / ((m + n) * (m + n - 1.0)));
    (variance > 0.0).then(|| above_chance / variance.sqrt())
}

/// How the machine itself differed between two runs, by work that belongs to no program: the
/// median times of the references of the second run divided by those of the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Machine {
    /// Of work in the kernel.
    pub kernel: f64,
    /// Of work outside it.
    pub user: f64,
}

impl Machine {
    /// Of two runs; `None` where one has no reference.
    pub fn of(runs: Pair<&[Invocation]>) -> Option<Self> {
        let ratio = |time: fn(&Reference) -> f64| {
            let of_run = |run: &[Invocation]| {
                let times = run.iter().filter_map(|invocation| invocation.reference.as_ref());
                let times: Vec<f64> = times.map(time).collect();
                median(&times).filter(|time| *time > 0.0 && time.is_finite())
            };
            let [first, second] = runs.map(of_run);
            Some(second? / first?)
        };
        Some(Self { kernel: ratio(|of| of.kernel_ns)?, user: ratio(|of| of.user_ns)? })
    }

    /// The ratio of two builds, of which the machine has an unknown part: its interval
    /// contains what is left if the machine had any share from none to all that it can
    /// explain. The estimate stays what was measured.
    pub fn widened(self, ratio: Estimate) -> Estimate {
        let Self { kernel, user } = self;
        let (least, most) = (kernel.min(user).min(1.0), kernel.max(user).max(1.0));
        let widened = |ends: Interval| Interval { low: ends.low / most, high: ends.high / least };
        Estimate { interval: ratio.interval.map(widened), ..ratio }
    }
}

/// The candidate against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It takes less time.
    Faster,
    /// It takes more time.
    Slower,
    /// The difference is smaller than the margin.
    Same,
    /// The sample is too small or too noisy to decide.
    Unresolved,
}

impl Verdict {
    /// The verdict on a ratio. `margin` is the difference that does not matter, as a share:
    /// 0.03 for ratios of 1/1.03 to 1.03.
    ///
    /// An interval inside the margin is *same*, even if it excludes 1: the difference is
    /// certain and does not matter. Any other that excludes 1 is *faster* or *slower*.
    /// Without an interval the case is unresolved.
    pub fn of(ratio: &Estimate, margin: f64) -> Self {
        let Some(interval) = ratio.interval else { return Self::Unresolved };
        let most = 1.0 + margin;
        if 1.0 / most <= interval.low && interval.high <= most {
            Self::Same
        } else if interval.high < 1.0 {
            Self::Faster
        } else if interval.low > 1.0 {
            Self::Slower
        } else {
            Self::Unresolved
        }
    }

    /// The verdict in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Unresolved => "unresolved",
        }
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::judge::statistics::ByRound;
    use crate::judge::statistics::tests::{Draw, SHAPES, standard_normal};
    use crate::judge::statistics::{CONFIDENCE, ratio_at};
    use crate::store::fixtures::case;

    fn ratio(low: f64, high: f64) -> Estimate {
        let interval = Some(Interval { low, high });
        Estimate { value: f64::midpoint(low, high), interval, count: 9 }
    }

    #[test]
    fn the_verdict_is_where_the_interval_lies() {
        for (low, high, expected) in [
            (0.98, 1.02, Verdict::Same),
            (1.01, 1.03, Verdict::Same),
            (1.0 / 1.03, 0.99, Verdict::Same),
            (1.01, 1.031, Verdict::Slower),
            (1.5, 1.6, Verdict::Slower),
            (0.97, 0.99, Verdict::Faster),
            (1.0, 1.5, Verdict::Unresolved),
            (0.5, 1.0, Verdict::Unresolved),
            (0.98, 1.04, Verdict::Unresolved),
        ] {
            assert_eq!(Verdict::of(&ratio(low, high), 0.03), expected, "[{low}, {high}]");
        }
        let none = Estimate { value: 9.0, interval: None, count: 4 };
        assert_eq!(Verdict::of(&none, 0.03), Verdict::Unresolved);
    }

    // The halves 1, 2 | 3, 4 have a score of 2 / √(5/3), whose square is 2.4; the halves
    // 1, 4 | 2, 3 have one of 0, and 1, 2 | 2, 3 one of 1.5 / √(4/12 · 4.5).
    #[test]
    fn drift_is_how_far_halves_lie_apart() {
        let apart = [1.0, 2.0, 3.0, 4.0];
        let alike = [1.0, 4.0, 2.0, 3.0];
        let of = |runs: &[&[f64]]| drift(runs.iter().copied());
        assert!((of(&[&apart]) - 3.8_f64.sqrt()).abs() < 1e-12);
        assert!((of(&[&apart, &alike]) - 1.4_f64.sqrt()).abs() < 1e-12);
        assert!((of(&[&[1.0, 2.0, 2.0, 3.0]]) - 2_f64.sqrt()).abs() < 1e-12);
        assert_eq!(of(&[&alike]), 1.0, "it never narrows");
        assert_eq!(of(&[&[], &[3.0], &[5.0; 6]]), 1.0, "too few to drift");
        let [first, second] = [[1.0, 2.0, 4.0, 8.0, 16.0], [2.0, 4.0, 8.0, 16.0, 32.0]];
        let low = |drift| {
            let ratio = ratio_of_runs([&first, &second], 0.95, drift).unwrap();
            (ratio.interval.unwrap().low / ratio.value).ln()
        };
        assert!((low(2.0) / low(1.0) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_machine_widens_the_interval_by_what_it_can_explain() {
        let run = |kernel_ns: [f64; 3], user_ns: f64| {
            let mut run = case("ring", [1.0; 3]);
            for (invocation, kernel_ns) in run.iter_mut().zip(kernel_ns) {
                invocation.reference = Some(Reference { cpu: 0, kernel_ns, user_ns });
            }
            run
        };
        let (first, mut second) = (run([100.0, 200.0, 900.0], 2.0), run([220.0, 1.0, 230.0], 1.0));
        let machine = Machine::of([&first, &second]);
        assert_eq!(machine, Some(Machine { kernel: 1.1, user: 0.5 }));
        assert_eq!(Machine::of([&first, &run([0.0; 3], 1.0)]), None);
        second.iter_mut().for_each(|invocation| invocation.reference = None);
        assert_eq!(Machine::of([&first, &second]), None);
        for (kernel, user, low, high) in
            [(1.0, 1.0, 1.1, 1.3), (1.25, 0.5, 1.1 / 1.25, 1.3 / 0.5), (0.8, 0.9, 1.1, 1.3 / 0.8)]
        {
            let widened = Machine { kernel, user }.widened(ratio(1.1, 1.3));
            assert_eq!(widened.interval, Some(Interval { low, high }));
        }
    }

    /// The share of comparisons of `cases` identical cases in which one is called faster or
    /// slower. `ratio` makes the ratio of one case of the next comparison.
    fn false_share(cases: usize, mut ratio: impl FnMut(f64) -> Estimate) -> f64 {
        const COMPARISONS: usize = 1_000;
        let confidence = 1.0 - (1.0 - CONFIDENCE) / cases as f64;
        let mut is_false = || {
            let verdicts: Vec<Verdict> =
                (0..cases).map(|_| Verdict::of(&ratio(confidence), 0.0)).collect();
            verdicts.iter().any(|of| matches!(of, Verdict::Faster | Verdict::Slower))
        };
        (0..COMPARISONS).filter(|_| is_false()).count() as f64 / COMPARISONS as f64
    }

    // Three standard errors of so many comparisons are 2 %.
    const MOST_FALSE: f64 = 0.05 + 0.02;

    #[test]
    fn twenty_identical_cases_have_a_false_verdict_in_no_more_than_one_comparison_of_twenty() {
        let side = |count: u32, draw: Draw, rng: &mut Rng| -> ByRound {
            (1..=count).map(|round| (round, draw(rng))).collect()
        };
        for (index, (shape, draw)) in (0_u64..).zip(SHAPES) {
            for count in [5, 6, 8, 12, 20, 40] {
                let mut rng = Rng::with_seed(index);
                let paired = false_share(20, |confidence| {
                    let sides = [(); 2].map(|()| side(count, draw, &mut rng));
                    ratio_at(confidence, &sides[1], &sides[0]).unwrap()
                });
                let unpaired = false_share(20, |confidence| {
                    let sides = [(); 2]
                        .map(|()| side(count, draw, &mut rng).into_values().collect::<Vec<_>>());
                    ratio_of_runs([&sides[0], &sides[1]], confidence, 1.0).unwrap()
                });
                println!("{shape:<18} n = {count:<3} paired {paired:.3}, unpaired {unpaired:.3}");
                assert!(paired <= MOST_FALSE, "{shape}, {count} rounds: {paired}");
                assert!(unpaired <= MOST_FALSE, "{shape}, {count} rounds: {unpaired}");
            }
        }
    }

    /// Times of `cases` cases on a machine that wanders: from round to round it gets slower
    /// or faster by 2.5 %, and every case scatters by 5 %.
    fn wandering_run(cases: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
        let mut machine = 0.0;
        let mut run = vec![Vec::new(); cases];
        for _ in 0..8 {
            machine += 0.025 * standard_normal(rng);
            for case in &mut run {
                case.push((machine + 0.05 * standard_normal(rng)).exp());
            }
        }
        run
    }

    #[test]
    fn drift_prevents_most_false_verdicts_between_runs_of_a_machine_that_wanders() {
        let share = |with_drift: bool| {
            let mut rng = Rng::with_seed(7);
            let mut cases = Vec::new();
            false_share(1, |_| {
                if cases.is_empty() {
                    let [first, second] = [(); 2].map(|()| wandering_run(20, &mut rng));
                    let drift = drift(first.iter().chain(&second).map(Vec::as_slice));
                    let drift = if with_drift { drift } else { 1.0 };
                    cases = first.into_iter().zip(second).map(|sides| (sides, drift)).collect();
                }
                let ((first, second), drift) = cases.pop().expect("twenty at a time");
                ratio_of_runs([&first, &second], 0.9975, drift).unwrap()
            })
        };
        let (plain, widened) = (share(false), share(true));
        println!("a machine that wanders: {plain:.3} false without drift, {widened:.3} with it");
        assert!(widened <= MOST_FALSE && widened < plain / 2.0, "{widened}, {plain} without");
    }
}
