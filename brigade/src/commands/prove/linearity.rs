//! A case with the same work and growing numbers of tasks.

use fastrand::Rng;
use indicatif::ProgressBar;

use super::rounds::Experiment;
use super::runs::Runs;
use crate::judge::prove::known_work::Point;
use crate::judge::prove::linearity::{self, Points};
use crate::judge::prove::proof::{Figure, trouble};
use crate::manifest::Case;

/// The experiment of one case.
struct Linearity<'a> {
    case: &'a Case,
    units: u64,
    hops: Vec<(u64, Points)>,
    rng: Rng,
    trouble: Option<Figure>,
}

/// An experiment of each case of the plan.
pub fn of_plan<'a>(runs: &Runs<'a>) -> Vec<Box<dyn Experiment + 'a>> {
    let Some(plan) = &runs.plan.linear else { return Vec::new() };
    let of_case = |name| -> Box<dyn Experiment + 'a> {
        let Some(case) = runs.named(Some(name)) else {
            return Box::new(Figure::missing(name, "it cannot run here"));
        };
        Box::new(Linearity {
            case,
            units: plan.units,
            hops: plan.tasks.iter().map(|tasks| (*tasks, Points::new())).collect(),
            rng: Rng::with_seed(runs.seed),
            trouble: None,
        })
    };
    plan.cases.iter().map(of_case).collect()
}

impl Experiment for Linearity<'_> {
    fn invocations(&self) -> usize {
        self.hops.len()
    }

    fn run(&mut self, round: u32, runs: &mut Runs, bar: &ProgressBar) -> Option<()> {
        let mut order: Vec<usize> = (0..self.hops.len()).collect();
        self.rng.shuffle(&mut order);
        for index in order {
            let (tasks, points) = &mut self.hops[index];
            let flags = ["--tasks".to_owned(), tasks.to_string()];
            let invocation = runs.with_work(self.case, &flags, self.units, round, bar)?;
            let point = invocation.record.as_ref().and_then(Point::of);
            points.extend(point.map(|point| (round, point)));
            self.trouble = self.trouble.take().or_else(|| trouble(&invocation));
        }
        Some(())
    }

    fn figures(&self, confidence: f64) -> Vec<Figure> {
        let ratios = linearity::figures(&self.case.name, &self.hops, confidence);
        self.trouble.clone().into_iter().chain(ratios).collect()
    }
}
