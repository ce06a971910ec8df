//! Every case on one axis of time, the cheapest first.

use super::super::ladder::{Rung, rungs};
use super::super::quantity::{duration, tick};
use super::super::scale::Scale;
use super::super::svg::{Picture, Shape};
use super::rows::{Row, Rows};
use super::{class_of, class_of_run, extent, letter, mark_of, note, shape_of_run};
use crate::judge::report::model::{Report, TaskKind};

/// The picture; `None` without a time.
pub fn picture(report: &Report) -> Option<Picture> {
    let rungs = rungs(report);
    let scale = Scale::of(rungs.iter().flat_map(|of| &of.times).flatten().flat_map(extent))?;
    let is_one = report.runs.len() == 1;
    let rows: Vec<Row> = rungs
        .iter()
        .map(|rung| {
            let times = rung.times.iter().enumerate();
            let marks = times.filter_map(|(run, time)| {
                let time = time.as_ref()?;
                Some(match is_one {
                    true => mark_of(time, Shape::Disc, class_of(rung.kind), String::new()),
                    false => mark_of(time, shape_of_run(run), &class_of_run(run), letter(run)),
                })
            });
            Row {
                name: rung.name.clone(),
                note: note(&rung.operation, rung.kind),
                marks: marks.collect(),
            }
        })
        .collect();
    let plot = Rows { rows: &rows, scale: &scale, label: tick, band: None, leads: true };
    let (body, height) = plot.draw();
    Some(Picture {
        title: "Time of one operation of every case, on a logarithmic axis".to_owned(),
        description: description(report)?,
        height,
        body,
    })
}

/// Between what the cases lie, in a sentence.
pub fn description(report: &Report) -> Option<String> {
    let rungs = rungs(report);
    let end = |rung: &Rung| {
        let time = rung.times.iter().flatten().next()?;
        Some(format!("{} ({} per {})", rung.name, duration(time.value), rung.operation))
    };
    // What is there to be subtracted is no answer, unless there is nothing else.
    let is_alone = |rung: &&Rung| rung.kind == Some(TaskKind::Alone);
    let answers: Vec<&Rung> = rungs.iter().filter(|rung| !is_alone(rung)).collect();
    let answers = if answers.is_empty() { rungs.iter().collect() } else { answers };
    let [first, last] = [answers.first(), answers.last()].map(|of| of.and_then(|of| end(of)));
    Some(match rungs.len() {
        1 => format!("One case: {}.", first?),
        count => format!("{count} cases: the cheapest is {}, the dearest {}.", first?, last?),
    })
}
