//! The figures of a page as JSON within it.

use serde::Serialize;

use crate::judge::report::model::{Percentiles, Report, TaskKind};

/// The figures of a report.
#[derive(Serialize)]
struct Figures<'a> {
    runs: Vec<Run<'a>>,
    cases: Vec<Case<'a>>,
}

#[derive(Serialize)]
struct Run<'a> {
    name: &'a str,
    machine: &'a str,
    started_at: &'a str,
}

#[derive(Serialize)]
struct Case<'a> {
    case: &'a str,
    group: &'a str,
    kind: Option<TaskKind>,
    run: usize,
    rounds: Vec<u32>,
    measurements: Vec<Measurement<'a>>,
}

#[derive(Serialize)]
struct Measurement<'a> {
    name: &'a str,
    operation: &'a str,
    ns: f64,
    interval: Option<[f64; 2]>,
    n: usize,
    percentiles: Option<Percentiles>,
    cpu_ns: Option<f64>,
    switches: Option<f64>,
    values_ns: Vec<Option<f64>>,
}

/// The figures of a report as JSON that ends no element of a page.
pub fn of(report: &Report) -> String {
    let runs = report.runs.iter().map(|run| Run {
        name: &run.name,
        machine: &run.machine,
        started_at: &run.started_at,
    });
    let cases = report.groups.iter().flat_map(|group| {
        group.cases.iter().flat_map(move |case| {
            let estimates = case.estimates.iter().enumerate();
            estimates.filter_map(move |(run, estimate)| {
                let estimate = estimate.as_ref()?;
                let measurements = estimate.measurements.iter().map(|of| Measurement {
                    name: &of.name,
                    operation: &of.operation,
                    ns: of.time_ns.value,
                    interval: of.time_ns.interval.map(|ends| [ends.low, ends.high]),
                    n: of.time_ns.count,
                    percentiles: of.percentiles,
                    cpu_ns: of.cpu_ns,
                    switches: of.switches,
                    values_ns: of.values_ns.iter().map(|ns| ns.map(rounded)).collect(),
                });
                Some(Case {
                    case: &case.name,
                    group: &group.name,
                    kind: case.kind,
                    run,
                    rounds: estimate.invocations.iter().map(|of| of.round).collect(),
                    measurements: measurements.collect(),
                })
            })
        })
    });
    within(&Figures { runs: runs.collect(), cases: cases.collect() })
}

/// A value as JSON that can stand within an element of script: nothing in it ends
/// that, begins a comment or breaks a line.
pub fn within(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                safe.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// A time with as many digits as anybody reads.
fn rounded(ns: f64) -> f64 {
    format!("{ns:.4e}").parse().unwrap_or(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_within_a_page_ends_no_element_and_stays_the_same() {
        let hostile = "</script><!--&\u{2028}\u{2029}\"";
        let json = within(&hostile);
        assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);
    }

    #[test]
    fn times_have_five_digits() {
        assert_eq!(rounded(1234.5678), 1234.6);
        assert_eq!(rounded(0.0), 0.0);
    }
}
