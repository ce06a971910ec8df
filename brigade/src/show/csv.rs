//! A report as CSV, one row for each value of each invocation, and one for each
//! invocation that measured nothing.

use csv::Writer;

use crate::judge::report::model::{Case, CaseEstimate, InvocationSummary, Report, Run};

/// The columns. `verdict` is what came of the invocation; `ns` is the mean time
/// per operation, empty where there is none.
const HEADINGS: [&str; 10] = [
    "run",
    "host",
    "case",
    "program",
    "parameters",
    "measurement",
    "round",
    "attempt",
    "verdict",
    "ns",
];

/// The report as CSV.
///
/// # Errors
/// Never: it is written to memory.
pub fn csv(report: &Report) -> anyhow::Result<String> {
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(HEADINGS)?;
    for case in report.groups.iter().flat_map(|group| &group.cases) {
        let parameters = case.key.parameters_json();
        for (run, estimate) in report.runs.iter().zip(&case.estimates) {
            for (index, invocation) in
                estimate.iter().flat_map(|of| of.invocations.iter().enumerate())
            {
                let Some(estimate) = estimate else { continue };
                let mut row = |measurement: &str, ns: &str| {
                    writer.write_record(cells(run, case, &parameters, invocation, measurement, ns))
                };
                let values = values(estimate, index);
                if values.is_empty() {
                    row("", "")?;
                }
                for (measurement, ns) in values {
                    row(measurement, &ns.to_string())?;
                }
            }
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// What the invocation of this index measured.
fn values(estimate: &CaseEstimate, index: usize) -> Vec<(&str, f64)> {
    let measurements = estimate.measurements.iter();
    let value =
        measurements.filter_map(|of| Some((of.name.as_str(), (*of.values_ns.get(index)?)?)));
    value.collect()
}

fn cells(
    run: &Run,
    case: &Case,
    parameters: &str,
    invocation: &InvocationSummary,
    measurement: &str,
    ns: &str,
) -> [String; 10] {
    let InvocationSummary { round, attempt, fate, .. } = invocation;
    [
        run.name.clone(),
        run.label.clone(),
        case.name.clone(),
        case.key.program.clone(),
        parameters.to_owned(),
        measurement.to_owned(),
        round.to_string(),
        attempt.to_string(),
        fate.as_str().to_owned(),
        ns.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::fixture::report_of;
    use super::*;

    #[test]
    fn every_value_has_a_row_and_so_has_what_did_not_measure() {
        let text = csv(&report_of(&[1.0])).unwrap();
        let of =
            |case: &str| -> Vec<&str> { text.lines().filter(|line| line.contains(case)).collect() };
        assert_eq!(text.lines().next(), Some(HEADINGS.join(",").as_str()));
        insta::assert_snapshot!(of(",tasks,").join("\n"), @r#"
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,1,1,clean,923.1
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,2,1,clean,886.9
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,3,1,clean,909.5249999999999
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,4,1,clean,905
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,5,1,clean,895.95
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",iteration,6,1,clean,914.05
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",,7,1,failed,
        run-1,amd-epyc-l2-512k-2cpu,tasks,tasks,"{""placement"":""free""}",,7,1,interrupted,
        "#);
        let measurements: Vec<_> =
            of(",create,").iter().map(|line| line.contains("create_join")).collect();
        assert_eq!(measurements, [false, true].repeat(6));
    }
}
