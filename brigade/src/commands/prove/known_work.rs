//! A case with several amounts of known work.

use fastrand::Rng;
use indicatif::ProgressBar;

use super::rounds::Experiment;
use super::runs::Runs;
use crate::judge::prove::known_work::{Point, slope_of};
use crate::judge::prove::proof::{Figure, trouble};
use crate::manifest::Case;

/// The experiment of one case.
struct KnownWork<'a> {
    case: &'a Case,
    flags: &'a [String],
    /// The units of work of the invocations of a round.
    units: Vec<u64>,
    rng: Rng,
    /// The processes of each round.
    points: Vec<Vec<Point>>,
    trouble: Option<Figure>,
}

/// An experiment of each case of the plan that can run here.
pub fn of_plan<'a>(runs: &Runs<'a>) -> Vec<Box<dyn Experiment + 'a>> {
    let units = runs.plan.units.repeat(runs.plan.repeats as usize);
    let of_case = |(case, flags)| -> Box<dyn Experiment + 'a> {
        Box::new(KnownWork {
            case,
            flags,
            units: units.clone(),
            rng: Rng::with_seed(runs.seed),
            points: Vec::new(),
            trouble: None,
        })
    };
    runs.worked_cases().into_iter().map(of_case).collect()
}

impl Experiment for KnownWork<'_> {
    fn invocations(&self) -> usize {
        self.units.len()
    }

    fn run(&mut self, round: u32, runs: &mut Runs, bar: &ProgressBar) -> Option<()> {
        self.rng.shuffle(&mut self.units);
        let mut points = Vec::new();
        for units in &self.units {
            let invocation = runs.with_work(self.case, self.flags, *units, round, bar)?;
            match trouble(&invocation) {
                None => points.extend(invocation.record.as_ref().and_then(Point::of)),
                found => self.trouble = self.trouble.take().or(found),
            }
        }
        self.points.push(points);
        Some(())
    }

    fn figures(&self, confidence: f64) -> Vec<Figure> {
        let slope = slope_of(&self.case.name, &self.points, confidence);
        [slope].into_iter().chain(self.trouble.clone()).collect()
    }

    fn units_of_harness(&self, runs: &Runs) -> Option<&[Vec<Point>]> {
        runs.has_unit_of_harness(&self.case.name).then_some(&*self.points)
    }
}
