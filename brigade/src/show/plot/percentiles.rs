//! A curve for each case over 1 / (1 − p): how long the slow laps of a process
//! take.

use super::class_of;
use super::curves::{Curve, Point, draw};
use crate::judge::report::model::{Case, Group, Percentiles};
use crate::show::quantity::duration;
use crate::show::scale::Scale;
use crate::show::svg::Picture;

/// The least height of the curves, in pixels.
const LEAST: f64 = 200.0;

/// A percentile: its name, 1 / (1 − p), and how to get it.
type Percentile = (&'static str, f64, fn(&Percentiles) -> f64);

/// The percentiles that are known.
const PERCENTILES: [Percentile; 4] = [
    ("50 %", 2.0, |of| of.p50),
    ("90 %", 10.0, |of| of.p90),
    ("99 %", 100.0, |of| of.p99),
    ("99.9 %", 1000.0, |of| of.p999),
];

/// The place of a percentile on the axis, 0 to 1.
fn at((_, odds, _): Percentile) -> f64 {
    let [(_, first, _), .., (_, last, _)] = PERCENTILES;
    (odds / first).log10() / (last / first).log10()
}

/// The picture of the first run; `None` without percentiles.
pub fn picture(group: &Group) -> Option<Picture> {
    let curves: Vec<Curve> = group.cases.iter().filter_map(curve).collect();
    let time = Scale::of(curves.iter().flat_map(|of| &of.points).map(|point| point.ns))?;
    let ticks = PERCENTILES.map(|of| (at(of), of.0.to_owned()));
    let (body, height) = draw(&curves, &time, &ticks, LEAST);
    Some(Picture {
        title: "Percentiles of the laps of a process".to_owned(),
        description: "A curve for each case: the time that 50, 90, 99 and 99.9 % of its laps do \
                      not exceed, as medians over processes, on a logarithmic axis."
            .to_owned(),
        height,
        body,
    })
}

fn curve(case: &Case) -> Option<Curve> {
    let of = case.estimates.first()?.as_ref()?.measurement(None)?.percentiles?;
    let point = |percentile: Percentile| {
        let (p, _, get) = percentile;
        let ns = get(&of);
        Point {
            at: at(percentile),
            ns,
            title: format!("{}: {p} within {}", case.name, duration(ns)),
        }
    };
    Some(Curve {
        name: case.name.clone(),
        class: class_of(case.kind),
        points: PERCENTILES.map(point).into(),
        cover: Vec::new(),
    })
}
