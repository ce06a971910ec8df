//! Estimates from a run how much the processes of a case depend on one another, and how much two
//! cases do.
//!
//! Disturbances last for seconds, so processes that start in close succession resemble each other
//! and are worth fewer independent ones. One case has too few processes to show it, but all cases
//! of a run together have enough. Their autocorrelation by distance in time gives the factor by
//! which the variance of each case's figure exceeds that of independent processes (Bartlett, *On
//! the theoretical specification of sampling properties of autocorrelated time-series*, Journal of
//! the Royal Statistical Society, Supplement 8, 1946).

use super::estimate::{ByRound, normal_scores, pairs};

/// Upper ends of the classes of distance, in seconds; the model assumes no longer dependence.
const ENDS_S: [f64; 8] = [2.5, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 40.0];

/// The fewest processes of a case to be included.
const FEWEST: usize = 6;

/// Repetitions of the correction for the mean; it converges within four.
const REPETITIONS: usize = 8;

/// When each process of a case started, in seconds, and its figure.
pub type Series = Vec<(f64, f64)>;

/// The autocorrelation of a run's processes by the time between their starts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dependence {
    by_distance: [f64; ENDS_S.len()],
}

impl Dependence {
    /// The autocorrelation over all `cases` together.
    ///
    /// Figures enter as normal scores of their ranks, so that neither the unit nor a long tail
    /// matters. Scores of a case have mean 0, which lowers every correlation by the variance of the
    /// true mean, *f*/*n*; since *f* depends on the correlations, the two are computed in turn.
    /// From the first class that is not positive on, correlations count as 0.
    pub fn of(cases: &[Series]) -> Self {
        let cases: Vec<&Series> = cases.iter().filter(|case| case.len() >= FEWEST).collect();
        let mut sums = [0.0; ENDS_S.len()];
        let mut counts = [0.0; ENDS_S.len()];
        for case in &cases {
            let figures: Vec<f64> = case.iter().map(|(_, figure)| *figure).collect();
            let scores = normal_scores(&figures);
            for (first, &(start, _)) in case.iter().enumerate() {
                for (second, &(other, _)) in case.iter().enumerate().skip(first + 1) {
                    if let Some(class) = class(start, other) {
                        sums[class] += scores[first] * scores[second];
                        counts[class] += 1.0;
                    }
                }
            }
        }
        let processes: usize = cases.iter().map(|case| case.len()).sum();
        let mean_count = processes as f64 / cases.len().max(1) as f64;
        let mut found = Self::default();
        for _ in 0..REPETITIONS {
            let inflation = mean(cases.iter().map(|case| found.inflation(case))).unwrap_or(1.0);
            let of_mean = (inflation / mean_count).min(0.5);
            let mut is_positive = true;
            for class in 0..ENDS_S.len() {
                let correlation = sums[class] / f64::max(counts[class], 1.0);
                let corrected = correlation * (1.0 - of_mean) + of_mean;
                is_positive &= corrected > 0.0 && counts[class] > 0.0;
                found.by_distance[class] = if is_positive { corrected } else { 0.0 };
            }
        }
        found
    }

    /// The factor by which this case's variance exceeds that of independent processes: 1 + 2/*n* Σ
    /// ρ over all pairs, at least 1 and at most *n*/2.
    pub fn inflation(&self, case: &Series) -> f64 {
        let pairs = case.iter().enumerate().flat_map(|(first, &(start, _))| {
            case[first + 1..].iter().filter_map(move |&(other, _)| class(start, other))
        });
        let sum: f64 = pairs.map(|class| self.by_distance[class]).sum();
        let count = case.len() as f64;
        (1.0 + 2.0 * sum / count.max(1.0)).min(count / 2.0).max(1.0)
    }
}

/// The class of the distance between two starts; `None` beyond the last one.
fn class(start: f64, other: f64) -> Option<usize> {
    let distance = (start - other).abs();
    ENDS_S.iter().position(|end| distance < *end)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

/// How much the lower quartiles of two cases depend on each other, 0 to 1: a round that is slow for
/// one tends to be slow for the other.
///
/// If the normal scores of the common rounds have correlation r, quantiles have (2/π) asin r (exact
/// for medians: Sheppard, *On the application of the theory of error to cases of normal
/// distribution*, Philosophical Transactions A 192, 1899), reduced for rounds that only one of them
/// has.
pub fn correlation(first: &ByRound, second: &ByRound) -> f64 {
    let (ours, theirs): (Vec<f64>, Vec<f64>) = pairs(first, second).unzip();
    let (scores, others) = (normal_scores(&ours), normal_scores(&theirs));
    let products = scores.iter().zip(&others).map(|(of, other)| of * other);
    let common = ours.len() as f64;
    let of_scores = (products.sum::<f64>() / common.max(1.0)).clamp(0.0, 1.0);
    let of_all = common / ((first.len() * second.len()) as f64).sqrt().max(1.0);
    of_all * of_scores.asin() * std::f64::consts::FRAC_2_PI
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(values: &[f64]) -> ByRound {
        (1..).zip(values.iter().copied()).collect()
    }

    #[test]
    fn cases_that_are_slow_in_the_same_rounds_depend_on_each_other() {
        let first = rounds(&[1.0, 10.0, 3.0, 7.0, 5.0, 6.0]);
        let turned: ByRound = first.iter().map(|(round, time)| (*round, 1.0 / time)).collect();
        let half: ByRound = first.iter().take(3).map(|(round, time)| (*round, *time)).collect();
        let close = |actual: f64, expected: f64| (actual - expected).abs() < 1e-6;
        assert!(close(correlation(&first, &first), 1.0));
        assert!(close(correlation(&first, &turned), 0.0), "a difference is never narrowed by it");
        assert!(close(correlation(&first, &half), 3.0 / 18_f64.sqrt()));
        assert!(close(correlation(&first, &ByRound::new()), 0.0));
    }
}
