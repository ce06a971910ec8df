//! How sure to be at each look at an experiment that goes on until it shows something.
//!
//! Rounds come in batches. After each one the figures are judged, and the experiment
//! ends as soon as they hold or one fails; at its limit it is not shown. Who looks
//! again and again finds a narrow interval by luck, or one that lies outside a
//! tolerance. So the error of one interval is shared evenly among all looks, as the
//! spending function α · t shares that of a comparison ([`super::super::compare`]):
//! by Bonferroni's inequality the intervals of all looks together hold the truth with
//! [`CONFIDENCE`], and so does the one at which the experiment ended, for whatever
//! reason it ended there.

/// Confidence of all looks at one figure together, 0 to 1.
pub const CONFIDENCE: f64 = 0.99;

/// The confidence of each of so many looks, 0 to 1.
pub fn confidence_of_one(looks: u32) -> f64 {
    1.0 - (1.0 - CONFIDENCE) / f64::from(looks.max(1))
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::judge::prove::proof::{Figure, Standing};
    use crate::judge::prove::ring;
    use crate::judge::statistics::{ByRound, fewest_pairs};
    use crate::manifest::fewest_rounds;

    #[test]
    fn the_error_is_shared_among_the_looks() {
        assert_eq!(confidence_of_one(1), 0.99);
        assert!((confidence_of_one(5) - 0.998).abs() < 1e-12);
    }

    #[test]
    fn a_manifest_asks_for_as_many_rounds_as_a_look_needs() {
        for looks in 1..100 {
            let fewest = fewest_rounds(looks) as usize;
            assert_eq!(fewest, fewest_pairs(confidence_of_one(looks)), "{looks} looks");
        }
    }

    /// Looks at each experiment, and rounds of a batch.
    const LOOKS: u32 = 5;
    const BATCH: u32 = 12;

    /// How an experiment ended whose sides differ by a factor of `truth`, in pairs whose
    /// ratios scatter by `scatter`. Both sides share noise that lasts: of that of a round,
    /// half is left in the next.
    fn ended(truth: f64, scatter: f64, confidence: f64, rng: &mut Rng) -> Figure {
        // Nearly normal, as sums of twelve are.
        let mut normal = || (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        let mut hops = [ByRound::new(), ByRound::new()];
        let mut shared = 0.0;
        for round in 1.. {
            shared = 0.5 * shared + 0.75_f64.sqrt() * normal();
            for (side, factor) in hops.iter_mut().zip([1.0, truth]) {
                let own = scatter * normal() / std::f64::consts::SQRT_2;
                side.insert(round, 100.0 * factor * (0.15 * shared + own).exp());
            }
            if round % BATCH == 0 {
                let figure = ring::figure("x", &hops, confidence);
                if figure.standing != Standing::NotShown || round == BATCH * LOOKS {
                    return figure;
                }
            }
        }
        unreachable!("rounds have a limit")
    }

    const EXPERIMENTS: usize = 500;

    /// How many experiments of [`EXPERIMENTS`] hold, are not shown and fail, and how many
    /// intervals miss the truth.
    fn counts(truth: f64, scatter: f64, confidence: f64) -> ([usize; 3], usize) {
        let mut rng = Rng::with_seed(8);
        let (mut standings, mut missed) = ([0; 3], 0);
        for _ in 0..EXPERIMENTS {
            let figure = ended(truth, scatter, confidence, &mut rng);
            let kinds = [Standing::Holds, Standing::NotShown, Standing::Fails];
            standings[kinds.iter().position(|kind| *kind == figure.standing).unwrap()] += 1;
            let interval = figure.low.unwrap()..=figure.high.unwrap();
            missed += usize::from(!interval.contains(&truth));
        }
        (standings, missed)
    }

    /// One in a hundred, and three standard errors of so many experiments.
    const MOST: usize = EXPERIMENTS / 100 + 7;

    #[test]
    fn an_experiment_that_ends_when_it_is_shown_errs_once_in_a_hundred() {
        for scatter in [0.02, 0.1, 0.3] {
            for truth in [1.01, 1.05, 1.06] {
                let ([holds, not_shown, fails], missed) =
                    counts(truth, scatter, confidence_of_one(LOOKS));
                println!(
                    "{truth}, scatter {scatter}: {holds} hold, {not_shown} not shown, \
                     {fails} fail; {missed} miss the truth"
                );
                assert!(missed <= MOST, "{truth}, {scatter}: {missed}");
                let wrong = if truth > 1.05 { holds } else { fails };
                assert!(wrong <= MOST, "{truth}, {scatter}: {wrong}");
            }
        }
        let ([holds, ..], _) = counts(1.01, 0.05, confidence_of_one(LOOKS));
        assert!(holds > EXPERIMENTS * 9 / 10, "further rounds narrow too little: {holds}");
    }

    #[test]
    fn looks_of_full_confidence_each_would_err_more_often() {
        let (_, missed) = counts(1.05, 0.02, CONFIDENCE);
        println!("{missed} of {EXPERIMENTS} miss the truth at 99 % each");
        assert!(missed > MOST, "{missed}");
    }
}
