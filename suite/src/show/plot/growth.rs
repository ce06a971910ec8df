//! How the time of an operation grows with the number of tasks, or with another
//! number that cases of a group differ in: a line with a band for each.

use super::curves::{Curve, Point, draw};
use super::{class_of, extent};
use crate::judge::report::model::Group;
use crate::judge::report::series;
use crate::judge::statistics::Estimate;
use crate::show::quantity::{brief, duration};
use crate::show::scale::Scale;
use crate::show::svg::Picture;

/// The least height of the curves, in pixels.
const LEAST: f64 = 220.0;
/// The fewest cases that make a line.
const FEWEST: usize = 3;

/// A line of the picture.
struct Series<'a> {
    name: String,
    class: &'static str,
    /// The number, and the time of an operation.
    points: Vec<(f64, &'a Estimate)>,
}

/// A picture for each parameter that the group has series of, with its name.
pub fn pictures(group: &Group) -> Vec<(String, Picture)> {
    let mut names: Vec<&String> = Vec::new();
    for case in &group.cases {
        for (name, value) in &case.key.parameters {
            if value.is_number() && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let drawn = names.into_iter().filter_map(|name| Some((name.clone(), picture(name, group)?)));
    drawn.collect()
}

fn series_of<'a>(parameter: &str, group: &'a Group) -> Vec<Series<'a>> {
    let all = series::of(parameter, &group.cases).into_iter();
    all.filter_map(line).filter(|series| series.points.len() >= FEWEST).collect()
}

/// The cases whose number has a logarithm, as a line.
fn line(cases: series::Series) -> Option<Series> {
    let (_, first) = *cases.first()?;
    let (mut name, class) = (first.name.as_str(), class_of(first.kind));
    let mut points = Vec::new();
    for (number, case) in cases.iter().filter(|(number, _)| *number > 0.0) {
        let estimate = case.estimates.first()?.as_ref();
        let Some(measurement) = estimate.and_then(|of| of.measurement(None)) else { continue };
        name = shared(name, &case.name);
        points.push((*number, &measurement.time_ns));
    }
    Some(Series { name: name.to_owned(), class, points })
}

/// What two names begin with; the first where they share nothing.
fn shared<'a>(first: &'a str, second: &str) -> &'a str {
    let same = first.chars().zip(second.chars()).take_while(|(a, b)| a == b);
    let length = same.map(|(c, _)| c.len_utf8()).sum();
    match first[..length].trim_end_matches([' ', ',', '-', '/']) {
        "" => first,
        shared => shared,
    }
}

fn picture(parameter: &str, group: &Group) -> Option<Picture> {
    let series = series_of(parameter, group);
    let points = || series.iter().flat_map(|of| &of.points);
    let number = Scale::of(points().map(|(number, _)| *number))?;
    let time = Scale::of(points().flat_map(|(_, time)| extent(time)))?;
    let curves: Vec<Curve> = series.iter().map(|of| curve(of, parameter, &number)).collect();
    let tick = |tick: &f64| (number.share(*tick), brief(*tick));
    let ticks: Vec<_> = number.ticks().iter().map(tick).collect();
    let (body, height) = draw(&curves, &time, &ticks, LEAST);
    Some(Picture {
        title: format!("Time by {}", parameter.replace('_', " ")),
        description: format!(
            "{} lines on two logarithmic axes, with bands for the intervals.",
            series.len()
        ),
        height,
        body,
    })
}

fn curve(Series { name, class, points }: &Series, parameter: &str, scale: &Scale) -> Curve {
    let point = |(number, time): &(f64, &Estimate)| Point {
        at: scale.share(*number),
        ns: time.value,
        title: format!("{name}: {} at {} {parameter}", duration(time.value), brief(*number)),
    };
    // Only where every point has an interval.
    let cover = points.iter().map(|(number, time)| {
        let ends = time.interval?;
        Some((scale.share(*number), [ends.low, ends.high]))
    });
    Curve {
        name: name.clone(),
        class,
        points: points.iter().map(point).collect(),
        cover: cover.collect::<Option<_>>().unwrap_or_default(),
    }
}
