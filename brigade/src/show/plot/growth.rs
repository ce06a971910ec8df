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
    let (mut names, mut points) = (Vec::new(), Vec::new());
    for (number, case) in cases.iter().filter(|(number, _)| *number > 0.0) {
        let estimate = case.estimates.first()?.as_ref();
        let Some(measurement) = estimate.and_then(|of| of.measurement(None)) else { continue };
        names.push(case.name.as_str());
        points.push((*number, &measurement.time_ns));
    }
    Some(Series { name: shared(&names), class: class_of(first.kind), points })
}

/// What names begin and end with, such as `threads … of 16 KiB`; the first where they share
/// nothing.
fn shared(names: &[&str]) -> String {
    let Some((first, others)) = names.split_first() else { return String::new() };
    let alike = |first: &mut dyn Iterator<Item = char>, other: &mut dyn Iterator<Item = char>| {
        first.zip(other).take_while(|(one, other)| one == other).count()
    };
    let begin = |other: &&str| alike(&mut first.chars(), &mut other.chars());
    let length = first.chars().count();
    let begun = others.iter().map(begin).min().unwrap_or(length);
    let end = |other: &&str| alike(&mut first.chars().rev(), &mut other.chars().rev());
    // What differs is a number: none of its digits belong to what is shared.
    let is_part = |c: &char| c.is_ascii_digit();
    let head: String = first.chars().take(begun).collect();
    let head = head.trim_end_matches(|c| is_part(&c));
    let ended = others.iter().map(end).min().unwrap_or(0).min(length - begun);
    let tail: String = first.chars().skip(length - ended).collect();
    let tail = tail.trim_start_matches(|c| is_part(&c));
    let [head, tail] = [head, tail].map(|part| part.trim_matches([' ', ',', '-', '/']));
    match (head, tail) {
        ("", "") => (*first).to_owned(),
        (head, "") => head.to_owned(),
        (head, tail) => format!("{head} … {tail}"),
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

#[cfg(test)]
mod tests {
    use super::shared;

    #[test]
    fn a_line_is_called_what_its_cases_share() {
        assert_eq!(shared(&["threads, 2 of 0 B", "threads, 50 of 0 B"]), "threads … of 0 B");
        assert_eq!(shared(&["ring, 1/same-cpu", "ring, 10/same-cpu"]), "ring … same-cpu");
        assert_eq!(shared(&["tasks, 100", "tasks, 1000"]), "tasks");
        assert_eq!(shared(&["fork", "vfork-2MiB"]), "fork");
        assert_eq!(shared(&["alone"]), "alone");
    }
}
