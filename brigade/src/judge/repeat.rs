//! How much the figures of runs of one build on one machine differ.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::statistics::{CONFIDENCE, DEVIATE, Estimate, median, quantile, sorted};
use crate::store::invocation::Invocation;

/// The time of the reference work during a run, in nanoseconds: the median over the readings
/// before its processes. `None` for a run without references.
pub fn reference_ns(invocations: &[Invocation]) -> Option<f64> {
    let references = invocations.iter().filter_map(|of| of.reference).map(|of| of.kernel_ns);
    median(&references.filter(|ns| *ns > 0.0 && ns.is_finite()).collect::<Vec<_>>())
}

/// The figure of each case of a run, by program and parameters.
pub type Figures = BTreeMap<String, Estimate>;

/// How much the figures of runs of one build on one machine differ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Repeat {
    /// The number of runs compared.
    pub runs: usize,
    /// The standard deviation of the logarithm of a figure between runs, beyond its interval: with
    /// it 95 % of all differences are within 1.96 standard errors.
    pub deviation: f64,
    /// Half of the figures of two runs differ by at most this share.
    pub half: f64,
    /// One in ten differs by more than this share.
    pub tenth: f64,
    /// The largest difference, as a share.
    pub worst: f64,
}

impl Repeat {
    /// How much these runs differ; `None` without two runs that share a case.
    pub fn of(runs: &[Figures]) -> Option<Self> {
        let pairs: Vec<(f64, f64)> = differences(runs)
            .filter_map(|(_, first, second)| {
                let difference = (second.value / first.value).ln();
                Some((difference, first.log_error()?.hypot(second.log_error()?)))
            })
            .collect();
        let beyond = |deviation: f64| {
            let between = deviation * 2_f64.sqrt();
            let is_beyond = |(of, error): &&(f64, f64)| of.abs() > DEVIATE * error.hypot(between);
            pairs.iter().filter(is_beyond).count() as f64 / pairs.len() as f64
        };
        let most = 1.0 - CONFIDENCE;
        let (mut low, mut high) = (0.0, 10.0);
        while high - low > 1e-6 {
            let middle = f64::midpoint(low, high);
            if beyond(middle) <= most { high = middle } else { low = middle }
        }
        let sizes = sorted(&pairs.iter().map(|(of, _)| of.abs()).collect::<Vec<_>>());
        let share = |probability| Some(quantile(&sizes, probability)?.exp_m1());
        Some(Self {
            runs: runs.len(),
            deviation: if beyond(0.0) <= most { 0.0 } else { high },
            half: share(0.5)?,
            tenth: share(0.9)?,
            worst: share(1.0)?,
        })
    }
}

/// The largest ratio between figures of one case in two runs of one build, by case; each set of
/// runs is of one build.
pub fn largest(sets: &[Vec<Figures>]) -> BTreeMap<&str, f64> {
    let mut largest = BTreeMap::new();
    for (case, first, second) in sets.iter().flat_map(|runs| differences(runs)) {
        let ratio = (second.value / first.value).ln().abs().exp();
        let known = largest.entry(case).or_insert(ratio);
        *known = ratio.max(*known);
    }
    largest
}

/// The figures of each case in each pair of runs with it.
fn differences(runs: &[Figures]) -> impl Iterator<Item = (&str, &Estimate, &Estimate)> {
    let pairs = runs
        .iter()
        .enumerate()
        .flat_map(|(at, first)| runs[at + 1..].iter().map(move |second| (first, second)));
    pairs.flat_map(|(first, second)| {
        let both = |(case, of)| Some((String::as_str(case), of, second.get(case)?));
        first.iter().filter_map(both)
    })
}
