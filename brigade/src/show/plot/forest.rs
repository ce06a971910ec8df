//! The cases of a group, median and interval: a row for those that differ in their
//! placement alone, whose placements are marks.

use serde_json::Value;

use super::super::quantity::tick;
use super::super::scale::Scale;
use super::super::svg::Picture;
use super::rows::{Row, Rows};
use super::{class_of, class_of_run, letter, mark_of, note, shape_of, shape_of_run};
use crate::judge::report::model::{Case, CaseEstimate, Group, Report};
use crate::judge::report::series::without;

/// The picture; `None` without a time.
pub fn picture(report: &Report, group: &Group) -> Option<Picture> {
    let rows = match report.runs.len() {
        1 => by_placement(group),
        _ => group.cases.iter().filter_map(by_run).collect(),
    };
    let marks = rows.iter().flat_map(|row| &row.marks);
    let values = marks.flat_map(|mark| mark.interval.into_iter().flatten().chain([mark.value]));
    let scale = Scale::of(values)?;
    let plot = Rows { rows: &rows, scale: &scale, label: tick, band: None, leads: false };
    let (body, height) = plot.draw();
    Some(Picture {
        title: format!("{} Times with their intervals", group.question),
        description: format!(
            "{} rows on a logarithmic axis; the figures are in the table.",
            rows.len()
        ),
        height,
        body,
    })
}

/// Whether cases of a group are there in several placements.
pub fn has_placements(group: &Group) -> bool {
    by_placement(group).iter().any(|row| row.marks.len() > 1)
}

fn by_placement(group: &Group) -> Vec<Row> {
    let mut rows: Vec<(String, Row)> = Vec::new();
    for case in &group.cases {
        let Some(estimate) = case.estimates.first().and_then(Option::as_ref) else { continue };
        let Some(measurement) = estimate.measurement(None) else { continue };
        let (id, placement) = (without("placement", case), placement(case, estimate));
        let shape = shape_of(placement.as_deref());
        let of = placement.clone().unwrap_or_default();
        let mark = mark_of(&measurement.time_ns, shape, class_of(case.kind), of);
        match rows.iter_mut().find(|(known, _)| *known == id) {
            Some((_, row)) => {
                row.name = shared_name(&row.name).to_owned();
                row.marks.push(mark);
            }
            None => rows.push((
                id,
                Row {
                    name: case.name.clone(),
                    note: note(measurement.short_name(), case.kind),
                    marks: vec![mark],
                },
            )),
        }
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

fn by_run(case: &Case) -> Option<Row> {
    let mut note_of = String::new();
    let marks = case.estimates.iter().enumerate().filter_map(|(run, estimate)| {
        let measurement = estimate.as_ref()?.measurement(None)?;
        note_of = note(measurement.short_name(), case.kind);
        Some(mark_of(&measurement.time_ns, shape_of_run(run), &class_of_run(run), letter(run)))
    });
    let marks: Vec<_> = marks.collect();
    (!marks.is_empty()).then(|| Row { name: case.name.clone(), note: note_of, marks })
}

fn placement(case: &Case, estimate: &CaseEstimate) -> Option<String> {
    let recorded = case.key.parameters.get("placement").and_then(Value::as_str);
    recorded.map(str::to_owned).or_else(|| estimate.placement.clone())
}

/// A case's name without its placement.
fn shared_name(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(name, _)| name)
}
