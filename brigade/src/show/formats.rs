//! A report as CSV.

use std::borrow::Cow;

use csv::Writer;
use serde::Serialize;
use serde_json::Value;

use crate::judge::report::Report;
use crate::judge::row::{ProcessOutcome, Quantity};

/// A line: the figure of one process, or its outcome if it has none.
#[derive(Serialize)]
struct Line<'a> {
    run: Cow<'a, str>,
    host: Cow<'a, str>,
    case: Cow<'a, str>,
    program: Cow<'a, str>,
    parameters: String,
    measurement: Cow<'a, str>,
    unit: Quantity,
    round: u32,
    outcome: ProcessOutcome,
    value: Option<f64>,
}

/// The report as CSV, with one line per row and process.
///
/// # Errors
/// Never: it is written to memory.
pub fn csv(report: &Report) -> anyhow::Result<String> {
    let mut writer = Writer::from_writer(Vec::new());
    for row in report.groups.iter().flat_map(|group| &group.rows) {
        for process in &row.processes {
            writer.serialize(Line {
                run: cell(&report.run.name),
                host: cell(&report.run.label),
                case: cell(&row.case),
                program: cell(&row.program),
                parameters: Value::from_iter(row.parameters.clone()).to_string(),
                measurement: cell(&row.measurement),
                unit: row.unit,
                round: process.round,
                outcome: process.outcome,
                value: process.value,
            })?;
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// Text as a cell that no spreadsheet interprets as a formula.
fn cell(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        return format!("'{text}").into();
    }
    text.into()
}
