//! What a report shows as pictures.

pub mod curves;
pub mod forest;
pub mod growth;
pub mod heat;
pub mod ladder;
pub mod parts;
pub mod percentiles;
pub mod ratios;
pub mod rows;
pub mod strip;
#[cfg(test)]
mod tests;

use crate::judge::report::model::{Report, TaskKind};
use crate::judge::statistics::Estimate;

use super::quantity::{Unit, duration, interval};
use super::svg::Shape;
use rows::Mark;

/// The class of a kind of task, which has its colour.
pub fn class_of(kind: Option<TaskKind>) -> &'static str {
    match kind {
        Some(TaskKind::Thread) => "k-thread",
        Some(TaskKind::AsyncTask) => "k-async",
        Some(TaskKind::Coroutine) => "k-coroutine",
        Some(TaskKind::Goroutine) => "k-goroutine",
        Some(TaskKind::Process) => "k-process",
        Some(TaskKind::Alone) | None => "k-alone",
    }
}

/// What an operation is, and of which kind of task where that is known.
fn note(operation: &str, kind: Option<TaskKind>) -> String {
    let words = [operation, kind.map_or("", TaskKind::as_str)].join(" · ");
    words.trim_end_matches(" · ").to_owned()
}

/// The class of a run, which has its colour where there are several.
pub fn class_of_run(run: usize) -> String {
    format!("r{}", run % 6)
}

/// The shape of a placement.
pub fn shape_of(placement: Option<&str>) -> Shape {
    match placement {
        Some("same-cpu") => Shape::Square,
        Some("spread") => Shape::Diamond,
        _ => Shape::Disc,
    }
}

/// The shape of a run, where there are several.
fn shape_of_run(run: usize) -> Shape {
    [Shape::Disc, Shape::Square, Shape::Diamond][run % 3]
}

/// A run's column: `A`, `B` … `Z`, `A2` and so on.
pub fn letter(index: usize) -> String {
    let letter = char::from(b'A' + (index % 26) as u8);
    match index / 26 {
        0 => letter.to_string(),
        turn => format!("{letter}{}", turn + 1),
    }
}

/// What stands before something about one of several runs.
fn label(report: &Report, run: usize) -> String {
    if report.runs.len() == 1 { String::new() } else { format!("{} ", letter(run)) }
}

/// The mark of a time.
fn mark_of(time: &Estimate, shape: Shape, class: &str, of: String) -> Mark {
    let unit = Unit::of(time.value);
    Mark {
        value: time.value,
        interval: time.interval.map(|ends| [ends.low, ends.high]),
        shape,
        class: class.to_owned(),
        figure: duration(time.value),
        ends: interval(time, |ns| unit.show(ns)),
        of,
    }
}

/// The figures that a time and its interval have on an axis.
fn extent(time: &Estimate) -> impl Iterator<Item = f64> {
    let ends = time.interval.into_iter().flat_map(|ends| [ends.low, ends.high]);
    ends.chain([time.value])
}
