//! Cases with the same work and growing numbers of tasks.

use fastrand::Rng;

use super::runs::{Runs, bar};
use crate::judge::prove::known_work::Point;
use crate::judge::prove::linearity::{self, Points};
use crate::judge::prove::proof::{Figure, trouble};
use crate::manifest::Linear;

/// The figures of every case of `plan`, in rounds of random order. `None` if
/// interrupted.
pub fn figures(runs: &mut Runs, plan: &Linear) -> Option<Vec<Figure>> {
    let mut figures = Vec::new();
    let mut rng = Rng::with_seed(runs.seed);
    for name in &plan.cases {
        let Some(case) = runs.named(Some(name)) else {
            figures.push(Figure::missing(name, "it cannot run here"));
            continue;
        };
        let bar = bar(plan.rounds as usize * plan.tasks.len(), "linearity");
        let mut hops: Vec<(u64, Points)> =
            plan.tasks.iter().map(|tasks| (*tasks, Points::new())).collect();
        let mut order: Vec<usize> = (0..hops.len()).collect();
        let mut first_trouble = None;
        for round in 1..=plan.rounds {
            rng.shuffle(&mut order);
            for &index in &order {
                let (tasks, points) = &mut hops[index];
                let flags = ["--tasks".to_owned(), tasks.to_string()];
                let invocation = runs.with_work(case, &flags, plan.units, round, &bar)?;
                let point = invocation.record.as_ref().and_then(Point::of);
                points.extend(point.map(|point| (round, point)));
                first_trouble = first_trouble.or_else(|| trouble(&invocation));
            }
        }
        figures.extend(first_trouble);
        figures.extend(linearity::figures(name, &hops));
    }
    Some(figures)
}
