//! Many hosts as CSV: a row for each case on each host.

use std::collections::BTreeMap;

use csv::Writer;

use crate::judge::hosts::model::HostsReport;

/// The columns. `times` is the host's median over that of the middle host, `host_times`
/// the geometric mean of those over its cases; what is not known is empty.
const HEADINGS: [&str; 12] = [
    "host",
    "host_standing",
    "host_times",
    "case",
    "operation",
    "standing",
    "times",
    "probability",
    "ns",
    "low_ns",
    "high_ns",
    "processes",
];

/// The report as CSV.
///
/// # Errors
/// Never: it is written to memory.
pub fn csv(report: &HostsReport) -> anyhow::Result<String> {
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(HEADINGS)?;
    let operations: BTreeMap<&str, &str> =
        report.cases.iter().map(|case| (&*case.case, &*case.operation)).collect();
    let known = |figure: Option<f64>| figure.map_or(String::new(), |figure| figure.to_string());
    for host in &report.hosts {
        for case in &host.cases {
            writer.write_record([
                &host.host,
                host.standing.as_str(),
                &host.ratio.to_string(),
                &case.case,
                operations.get(&*case.case).copied().unwrap_or_default(),
                case.standing.as_str(),
                &case.ratio.to_string(),
                &known(case.probability),
                &case.ns.value.to_string(),
                &known(case.ns.interval.map(|ends| ends.low)),
                &known(case.ns.interval.map(|ends| ends.high)),
                &case.ns.count.to_string(),
            ])?;
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

#[cfg(test)]
mod tests {
    use super::super::tests::fleet;
    use super::*;

    #[test]
    fn every_case_of_every_host_has_a_row() {
        let text = csv(&fleet()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines[0]), (1 + 8 * 2, HEADINGS.join(",").as_str()));
        assert!(lines[1].starts_with("node-8,slower,1.38"), "{}", lines[1]);
        assert!(lines[1].contains(",line,hop,slower,"), "{}", lines[1]);
        assert!(lines[1].ends_with(",6"), "{}", lines[1]);
    }
}
