//! Experiments that go on until they show something.

use fastrand::Rng;
use indicatif::ProgressBar;

use super::runs::{Runs, bar};
use crate::judge::prove::known_work::Point;
use crate::judge::prove::looks::confidence_of_one;
use crate::judge::prove::proof::{Figure, Property, Standing};

/// An experiment whose intervals further rounds narrow.
pub trait Experiment {
    /// Invocations of a round.
    fn invocations(&self) -> usize;

    /// Runs a round, counted from 1. `None` if interrupted.
    fn run(&mut self, round: u32, runs: &mut Runs, bar: &ProgressBar) -> Option<()>;

    /// What the rounds so far show, by intervals of this confidence, 0 to 1.
    fn figures(&self, confidence: f64) -> Vec<Figure>;

    /// Its processes, if they have units of work that are those of the harness.
    fn units_of_harness(&self, _: &Runs) -> Option<&[Vec<Point>]> {
        None
    }
}

/// What cannot be tried here shows what it does without a round.
impl Experiment for Figure {
    fn invocations(&self) -> usize {
        0
    }

    fn run(&mut self, _: u32, _: &mut Runs, _: &ProgressBar) -> Option<()> {
        Some(())
    }

    fn figures(&self, _: f64) -> Vec<Figure> {
        vec![self.clone()]
    }
}

/// Runs the experiments, round by round in random order, so that what disturbs the
/// machine for a second disturbs few rounds of each. After every batch of the plan's
/// rounds those end that hold or fail; the others go on, up to the plan's limit. Returns
/// the figures of each. `None` if interrupted.
pub fn until_shown(
    experiments: &mut [Box<dyn Experiment + '_>],
    runs: &mut Runs,
) -> Option<Vec<Vec<Figure>>> {
    let looks = runs.plan.looks();
    let confidence = confidence_of_one(looks);
    let mut figures = vec![Vec::new(); experiments.len()];
    let mut open: Vec<usize> = (0..experiments.len()).collect();
    let bar = bar(0, "known work, ring, linearity");
    let mut rng = Rng::with_seed(runs.seed);
    for look in 0..looks {
        let batch = look * runs.plan.rounds + 1..=(look + 1) * runs.plan.rounds;
        let of_round: usize = open.iter().map(|index| experiments[*index].invocations()).sum();
        bar.inc_length(u64::from(runs.plan.rounds) * of_round as u64);
        for round in batch {
            rng.shuffle(&mut open);
            for index in &open {
                experiments[*index].run(round, runs, &bar)?;
            }
        }
        open.retain(|index| {
            figures[*index] = experiments[*index].figures(confidence);
            Property::of("", figures[*index].clone()).standing == Standing::NotShown
        });
    }
    Some(figures)
}
