//! `--histogram FILE`: the principal measurement's distribution, for
//! HdrHistogram's plotters.

use std::fs;

use harness::record::{Ending, Measurement, Record};

use crate::Program;
use crate::output::check_beginning;
use crate::record::histogram_of;

/// Flags that make a run short.
const SHORT: &[&str] = &["--tasks", "3", "--iters", "200", "--warmups", "5"];

/// A step of the distribution: so many samples reach up to the value.
struct Row {
    value: f64,
    quantile: f64,
    count: u64,
}

/// Runs the program, and returns its record and the text it wrote.
fn measured(program: &Program) -> (Record, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("distribution.hgrm");
    let flags = ["--json", "--histogram", path.to_str().expect("UTF-8")];
    let record = program.with(SHORT).and(&flags).run().succeeded().record();
    (record, fs::read_to_string(path).expect("the distribution"))
}

fn rows(text: &str) -> Vec<Row> {
    let lines = text.lines().skip(2).take_while(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let mut cells = line.split_whitespace();
        let mut cell = || cells.next().unwrap_or_else(|| panic!("too few columns: {line}"));
        let value = cell().parse().expect("a value");
        let quantile: f64 = cell().parse().expect("a percentile");
        let count = cell().parse().expect("a count");
        match cells.next().map(|inverse| inverse.parse::<f64>().expect("1/(1-Percentile)")) {
            None => assert_eq!(quantile, 1.0, "{line}"),
            Some(inverse) => {
                let exact = 1.0 / (1.0 - quantile);
                assert!((inverse - exact).abs() <= 0.005 + exact * 1e-6, "{line}");
            }
        }
        assert_eq!(cells.next(), None, "too many columns: {line}");
        Row { value, quantile, count }
    };
    lines.map(row).collect()
}

/// The number after `name = ` in the footer.
fn footer(text: &str, name: &str) -> f64 {
    let (_, after) = text.split_once(name).unwrap_or_else(|| panic!("no {name} in: {text}"));
    let number = after.trim_start_matches([' ', '=']).split([',', ']']).next().expect("a cell");
    number.trim().parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// One header, an empty line, four columns but in the last row, a footer.
pub fn it_has_the_header_and_columns_that_plotters_read(program: &Program) {
    let (_, text) = measured(program);
    let header = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n";
    assert!(text.starts_with(header), "{text}");
    let rows = rows(&text);
    assert_eq!(rows[0].quantile, 0.0, "{text}");
    assert_eq!(rows.last().expect("rows").quantile, 1.0, "{text}");
    assert!(rows.is_sorted_by_key(|row| row.value), "{text}");
    assert!(rows.is_sorted_by_key(|row| row.quantile), "{text}");
    let tail: Vec<_> = text.lines().rev().take(3).collect();
    for (line, start) in tail.iter().rev().zip(["#[Mean", "#[Max", "#[Buckets"]) {
        assert!(line.starts_with(start) && line.ends_with(']'), "{text}");
    }
}

/// Each row against the record's own histogram; the footer against the record.
pub fn its_rows_count_the_samples_of_the_record(program: &Program) {
    let (record, text) = measured(program);
    let principal = record.principal().expect("a measurement");
    let histogram = histogram_of(principal);
    let rows = rows(&text);
    for Row { value, quantile, count } in &rows {
        let reached = histogram.count_between(0, *value as u64);
        assert_eq!(*count, reached, "samples up to {value}");
        assert!(reached as f64 >= quantile * histogram.len() as f64 - 1e-6, "{quantile}: {count}");
    }
    assert_eq!(rows.last().map(|row| row.count), Some(principal.count));
    check_percentile(&rows, 0.5, principal.p50_ns, principal);
    check_percentile(&rows, 0.9, principal.p90_ns, principal);
    check_percentile(&rows, 0.99, principal.p99_ns, principal);
    assert_eq!(footer(&text, "Total count"), principal.count as f64);
    assert!(histogram.equivalent(footer(&text, "#[Max") as u64, principal.max_ns), "{text}");
    // Three significant digits.
    let mean = footer(&text, "#[Mean");
    assert!((mean / principal.mean_ns - 1.0).abs() < 0.001, "{mean}, {}", principal.mean_ns);
}

/// Rows from the record's percentile on, and no others, hold so many samples.
/// A row need not stand at the percentile itself: the steps add up with
/// rounding, which can pass over one sample.
fn check_percentile(rows: &[Row], quantile: f64, recorded: u64, principal: &Measurement) {
    let least = (quantile * principal.count as f64).ceil() as u64;
    for Row { value, count, .. } in rows {
        let value = (*value as u64).min(principal.max_ns);
        assert_eq!(value >= recorded, *count >= least, "{quantile} is {recorded}, not {value}");
    }
}

/// On a full disk: one line, exit code 1, and what was measured is printed,
/// marked as a run that failed.
pub fn it_does_not_take_the_summary_along_when_it_fails(program: &Program) {
    let run = program.with(SHORT).and(&["--histogram", "/dev/full"]).run();
    let run = run.failed(1, &["--histogram", "No space left"]);
    check_beginning(program, &run.stdout, "3 tasks, 200 iterations (incomplete: failed):");

    let run = program.with(SHORT).and(&["--histogram", "/dev/full", "--json"]).run();
    let record = run.failed(1, &["--histogram", "No space left"]).record();
    assert_eq!((record.complete, record.ended_by), (false, Ending::Error));
    assert!(record.error.is_some_and(|error| error.contains("--histogram")));
}

/// It takes nothing away from standard output, and `--quiet` does not keep it
/// from being written.
pub fn it_is_written_beside_a_summary_too(program: &Program) {
    for (more, lines) in [(&[][..], true), (&["--quiet"], false)] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("distribution.hgrm");
        let flags = ["--histogram", path.to_str().expect("UTF-8")];
        let run = program.with(SHORT).and(&flags).and(more).run().succeeded();
        assert_eq!(!run.stdout.is_empty(), lines, "{run:#?}");
        assert!(!rows(&fs::read_to_string(path).expect("the distribution")).is_empty());
    }
}
