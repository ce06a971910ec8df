//! The figures of a page as JSON within it: the estimates. The value of every process is
//! in the records beside the page.

use serde::Serialize;
use serde_json::Number;

use crate::judge::report::model::{PairTime, Report, TaskKind};

/// The figures of a report.
#[derive(Serialize)]
struct Figures<'a> {
    runs: Vec<Run<'a>>,
    cases: Vec<Case<'a>>,
    pairs: Vec<Pairs<'a>>,
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
    measurements: Vec<Measurement<'a>>,
}

/// Cases of pairs of CPUs.
#[derive(Serialize)]
struct Pairs<'a> {
    name: &'a str,
    group: &'a str,
    run: usize,
    /// The CPUs, the time in nanoseconds, and the ends of its interval.
    pairs: Vec<(usize, usize, Number, Option<[Number; 2]>)>,
}

#[derive(Serialize)]
struct Measurement<'a> {
    name: &'a str,
    operation: &'a str,
    ns: Number,
    interval: Option<[Number; 2]>,
    n: usize,
    /// The 50th, 90th, 99th and 99.9th.
    percentiles: Option<[Number; 4]>,
    cpu_ns: Option<Number>,
    switches: Option<Number>,
}

/// The figures of a report as JSON that ends no element of a page.
pub fn of(report: &Report) -> String {
    let runs = report.runs.iter().map(|run| Run {
        name: &run.name,
        machine: &run.machine,
        started_at: &run.started_at,
    });
    let cases = report.groups.iter().flat_map(|group| {
        let singles = group.cases.iter().filter(|case| case.key.pair().is_none());
        singles.flat_map(move |case| {
            let estimates = case.estimates.iter().enumerate();
            estimates.filter_map(move |(run, estimate)| {
                let estimate = estimate.as_ref()?;
                let measurements = estimate.measurements.iter().map(|of| Measurement {
                    name: &of.name,
                    operation: &of.operation,
                    ns: rounded(of.time_ns.value),
                    interval: of.time_ns.interval.map(|ends| [ends.low, ends.high].map(rounded)),
                    n: of.time_ns.count,
                    percentiles: of
                        .percentiles
                        .map(|of| [of.p50, of.p90, of.p99, of.p999].map(rounded)),
                    cpu_ns: of.cpu_ns.map(rounded),
                    switches: of.switches.map(rounded),
                });
                Some(Case {
                    case: &case.name,
                    group: &group.name,
                    kind: case.kind,
                    run,
                    measurements: measurements.collect(),
                })
            })
        })
    });
    let pairs = report.pairs.iter().map(|map| {
        let pair = |of: &PairTime| {
            let ends = of.time_ns.interval.map(|ends| [ends.low, ends.high].map(rounded));
            (of.cpus[0], of.cpus[1], rounded(of.time_ns.value), ends)
        };
        Pairs {
            name: &map.name,
            group: &map.group,
            run: map.run,
            pairs: map.pairs.iter().map(pair).collect(),
        }
    });
    within(&Figures { runs: runs.collect(), cases: cases.collect(), pairs: pairs.collect() })
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

/// A figure with as many digits as anybody reads.
fn rounded(figure: f64) -> Number {
    let digits: f64 = format!("{figure:.4e}").parse().unwrap_or(figure);
    match digits {
        whole if whole.fract() == 0.0 && whole.abs() < 1e15 => Number::from(whole as i64),
        part => Number::from_f64(part).unwrap_or(Number::from(0)),
    }
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
    fn figures_have_five_digits_and_no_empty_fraction() {
        let pairs = [(1234.5678, "1234.6"), (0.0, "0"), (1e300, "1e+300"), (26_865.04, "26865")];
        for (figure, expected) in pairs {
            assert_eq!(rounded(figure).to_string(), expected);
        }
    }
}
