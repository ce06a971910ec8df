//! The curves of a group: cases that differ in one number, such as the number of tasks.

use crate::judge::report::model::{Case, CaseEstimate, Group, MeasurementEstimate, TaskKind};
use crate::judge::report::pairs::{Series, series};
use crate::judge::statistics::Estimate;

/// The first run's estimate of a case and its principal measurement. Cases of CPU pairs are on the
/// map instead.
pub fn measured(case: &Case) -> Option<(&CaseEstimate, &MeasurementEstimate)> {
    let estimate = Case::first(case).filter(|_| case.key.pair().is_none())?;
    Some((estimate, estimate.measurement(None)?))
}

/// A line of a curve.
pub struct Line<'a> {
    pub name: String,
    pub kind: Option<TaskKind>,
    /// The number, and the time of an operation.
    pub points: Vec<(f64, &'a Estimate)>,
}

impl<'a> Line<'a> {
    /// The line for cases whose number is positive; `None` for fewer than three.
    fn of(series: Series<'a>) -> Option<Self> {
        let (_, first) = *series.first()?;
        let (mut titles, mut points) = (Vec::new(), Vec::new());
        for (number, case) in series.into_iter().filter(|(number, _)| *number > 0.0) {
            let Some((_, of)) = measured(case) else { continue };
            titles.push(case.title.as_str());
            points.push((number, &of.time_ns));
        }
        let line = Self { name: shared(&titles), kind: first.kind, points };
        (line.points.len() >= 3).then_some(line)
    }
}

/// For each number that cases of a group differ in, its name and its lines, if there are any.
pub fn curves(group: &Group) -> Vec<(&str, Vec<Line<'_>>)> {
    let mut parameters: Vec<&str> = Vec::new();
    for (name, value) in group.cases.iter().flat_map(|case| &case.key.parameters) {
        if value.is_number() && !parameters.contains(&&**name) {
            parameters.push(name);
        }
    }
    let lines = |name| series(name, &group.cases).into_iter().filter_map(Line::of).collect();
    let curves = parameters.into_iter().map(|name| (name, lines(name)));
    curves.filter(|(_, lines): &(_, Vec<Line>)| !lines.is_empty()).collect()
}

/// The common beginning and end of names, such as `threads … of 16 KiB`; the first name if there is
/// none.
fn shared(names: &[&str]) -> String {
    let Some(first) = names.first() else { return String::new() };
    // The names differ in a number, so the common part contains none of its digits.
    let common = |names: &[String]| -> String {
        let alike = |other: &String| {
            names[0].chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
        };
        let begin: String =
            names[0].chars().take(names.iter().map(alike).min().unwrap_or(0)).collect();
        begin.trim_end_matches(|c: char| c.is_ascii_digit() || " ,-/".contains(c)).to_owned()
    };
    let head = common(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    if head == **first {
        return head;
    }
    let reversed: Vec<String> = names.iter().map(|name| name.chars().rev().collect()).collect();
    let tail: String = common(&reversed).chars().rev().collect();
    match (&*head, &*tail) {
        ("", "") => (*first).to_owned(),
        (_, "") => head,
        (head, tail) => format!("{head} … {tail}"),
    }
}

/// The positions nearest to `wanted` where labels are at least `room` apart and between the ends,
/// as far as possible.
pub fn apart(wanted: &[f64], room: f64, [top, bottom]: [f64; 2]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut places = wanted.to_vec();
    let mut least = top;
    for &index in &order {
        places[index] = places[index].max(least);
        least = places[index] + room;
    }
    let mut most = bottom;
    for &index in order.iter().rev() {
        places[index] = places[index].min(most);
        most = places[index] - room;
    }
    places
}
