//! A comparison: the ratio of every case with its interval, and a band for what
//! does not matter.

use super::super::quantity::{NO_BREAK_SPACE, brief, three_digits};
use super::super::scale::Scale;
use super::super::svg::{Picture, Shape};
use super::rows::{Mark, Row, Rows};
use crate::judge::compare::comparison::{CaseComparison, Comparison};
use crate::judge::compare::verdict::Verdict;

/// The class of a verdict, which has its colour.
pub fn class_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "v-slower",
        Verdict::Faster => "v-faster",
        Verdict::Same => "v-same",
        Verdict::Unresolved => "v-unresolved",
    }
}

fn shape_of(verdict: Verdict) -> Shape {
    match verdict {
        Verdict::Slower | Verdict::Faster => Shape::Diamond,
        Verdict::Same => Shape::Square,
        Verdict::Unresolved => Shape::Disc,
    }
}

/// The picture of these cases; `None` without one.
pub fn picture(comparison: &Comparison, cases: &[&CaseComparison]) -> Option<Picture> {
    let most = 1.0 + comparison.margin;
    let band = [1.0 / most, most];
    let row = |case: &&CaseComparison| {
        let ends = case.ratio.low.zip(case.ratio.high);
        let words = ends.map_or("[–]".to_owned(), |(low, high)| {
            format!("[{},{NO_BREAK_SPACE}{}]", three_digits(low), three_digits(high))
        });
        Row {
            name: case.case.clone(),
            note: case.verdict.as_str().to_owned(),
            marks: vec![Mark {
                value: case.ratio.estimate,
                interval: ends.map(|(low, high)| [low, high]),
                shape: shape_of(case.verdict),
                class: class_of(case.verdict).to_owned(),
                figure: three_digits(case.ratio.estimate),
                ends: words,
                of: String::new(),
            }],
        }
    };
    let rows: Vec<Row> = cases.iter().map(row).collect();
    let marks = rows.iter().flat_map(|row| &row.marks);
    let values = marks.flat_map(|mark| mark.interval.into_iter().flatten().chain([mark.value]));
    let scale = Scale::of(values.chain(band))?;
    let plot = Rows { rows: &rows, scale: &scale, label: brief, band: Some(band), leads: false };
    let (body, height) = plot.draw();
    (!rows.is_empty()).then(|| Picture {
        title: "Candidate / baseline of every case".to_owned(),
        description: format!(
            "{} ratios with their intervals on a logarithmic axis, and a band for differences \
             of less than {} %, which do not matter.",
            rows.len(),
            brief(comparison.margin * 100.0)
        ),
        height,
        body,
    })
}
