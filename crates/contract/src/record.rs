//! A program's output for the runner: the record, and the histogram.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use harness::record::{Ending, Measurement as RecordedMeasurement, Record};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use serde_json::Value;

use crate::Program;

/// The committed schema of a record.
const SCHEMA: &str = include_str!("../../harness/record.schema.json");

fn check_close(what: &str, found: f64, expected: f64) {
    let close = (found - expected).abs() <= expected.abs() * 1e-12;
    assert!(close, "{what}: {found} instead of {expected}");
}

/// One line, valid by the schema, with the requested counts and measurements, and figures that
/// follow from the histograms.
pub fn the_record_is_valid(program: &Program) {
    let run = program.short().and(&["--json"]).run().succeeded();
    let printed: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let schema = serde_json::from_str(SCHEMA).expect("JSON");
    jsonschema::validate(&schema, &printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
    let record = run.record();
    assert_eq!(printed, serde_json::to_value(&record).expect("a record serializes"));

    assert_eq!(record.program, program.name);
    assert!(record.kind.is_some(), "it does not say what its tasks are");
    assert_eq!((record.tasks, record.tokens), (program.fixed_tasks.unwrap_or(5), 1));
    assert_eq!((record.iterations, record.warmups), (20, 3));
    assert_eq!((record.ended_by, &record.error), (Ending::Iterations, &None));
    assert_eq!(record.parameters["iters"], 20);
    check_measurements(program, &record);
    for found in &record.measurements {
        check_figures(found, record.tasks as f64);
    }
}

/// Percentiles and extremes are those of the histogram; figures per operation and per task
/// follow from the mean.
fn check_figures(found: &RecordedMeasurement, tasks: f64) {
    let histogram = decoded(&found.histogram);
    assert_eq!(histogram.len(), found.count, "{}", found.name);
    // The histogram rounds up to three digits; the record stops at the exact maximum.
    let percentile = |percent| histogram.value_at_percentile(percent).min(found.max_ns);
    let percentiles = [50.0, 90.0, 99.0, 99.9].map(percentile);
    assert_eq!(percentiles, [found.p50_ns, found.p90_ns, found.p99_ns, found.p999_ns]);
    assert!(histogram.equivalent(histogram.max(), found.max_ns), "{}", found.name);
    assert!(histogram.equivalent(histogram.min(), found.min_ns), "{}", found.name);
    let least = found.min_ns as f64;
    let most = found.max_ns as f64;
    assert!((least..=most).contains(&found.mean_ns));
    assert_eq!(found.stddev_ns.is_some(), found.count > 1, "{}", found.name);
    assert!(found.stddev_ns.is_none_or(|stddev| (0.0..=most - least).contains(&stddev)));
    check_close("per operation", found.ns_per_operation, found.mean_ns / found.operations as f64);
    let per_task = found.ns_per_task.unwrap_or(found.mean_ns / tasks);
    check_close("per task", per_task, found.mean_ns / tasks);
}

/// The record contains the measurements of its program, with their counts.
pub fn check_measurements(program: &Program, record: &Record) {
    assert!(record.complete, "{record:#?}");
    assert_eq!(record.measurements.len(), program.measurements.len(), "{record:#?}");
    for (found, expected) in record.measurements.iter().zip(program.measurements) {
        assert_eq!((&*found.name, &*found.operation), (expected.name, expected.operation));
        let operations = (expected.operations)(record.tasks);
        assert!(operations == 0 || found.operations == operations, "{found:?}");
        assert_eq!(found.count, (expected.samples)(record.tasks, record.iterations));
        assert_eq!(found.ns_per_task.is_some(), expected.covers_tasks, "{}", found.name);
    }
}

/// The kernel counts the claimed switches, on one CPU, where waiting means blocking. A program with
/// a schedule claims no switch for operations that did not wait. Disturbed runs are repeated.
pub fn the_counts_agree_with_the_kernel(program: &Program) {
    let measured = || {
        let record = program.few_tasks(5).and(&["--iters=300", "--placement=same-cpu"]).record();
        assert!(record.cpu.is_some());
        let switches = record.switches.expect("the kernel counts switches");
        assert_eq!(switches.cross_cpu_share.is_some(), program.traces, "{switches:?}");
        let spared = record.schedule.map_or(0, |kept| kept.missed + kept.called_late.unwrap_or(0));
        let claim = program.claimed_switches.map(|claim| claim - spared as f64 / 300.0);
        assert_eq!(switches.expected_per_operation.is_some(), claim.is_some());
        let Some((found, claim)) = switches.expected_per_operation.zip(claim) else { return true };
        check_close("claim", found, claim);
        let counted = switches.voluntary_per_operation + switches.involuntary_per_operation;
        // A wait that ends before it begins makes no switch, and setting up makes some. A woken
        // thread may have to wait again, but not every time.
        counted >= claim * 0.8 && switches.voluntary_per_operation < claim * 2.0 + 0.1
    };
    assert!((0..5).any(|_| measured()), "the kernel counts other switches than are claimed");
}

/// A record's histogram, decoded without the harness.
pub fn decoded(text: &str) -> Histogram<u64> {
    let bytes = BASE64.decode(text).expect("base64");
    let decoded = Deserializer::new().deserialize(&mut &bytes[..]);
    decoded.expect("HdrHistogram's V2 + deflate")
}

/// The last row of `--histogram FILE` counts all samples. A file that cannot be written fails the
/// run, but its record is still printed. One that exists is kept until there is a distribution.
pub fn the_histogram_file_counts_the_samples(program: &Program) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("distribution.hgrm");
    let flags = ["--histogram", path.to_str().expect("UTF-8")];
    let earlier = "earlier\n".repeat(10_000);
    fs::write(&path, &earlier).expect("write a file");
    for (more, code) in [("--cpus=8000", 2), ("--working-set=1000000000000", 3)] {
        let _ = program.short().and(&flags).and(&[more]).run().failed(code, &[]);
        assert_eq!(fs::read_to_string(&path).expect("the file"), earlier, "{more}");
    }
    let record = program.short().and(&flags).record();
    let principal = record.principal().expect("a measurement");
    let text = fs::read_to_string(path).expect("the distribution");
    let rows = text.lines().take_while(|line| !line.starts_with('#'));
    let last: Vec<_> = rows.last().unwrap_or_default().split_whitespace().collect();
    assert_eq!(last[1..3], ["1.000000000000", &principal.count.to_string()], "{text}");
    assert!(!text.contains("earlier"), "{text}");

    let run = program.short().and(&["--json", "--histogram", "/dev/full"]).run();
    let record = run.failed(1, &["--histogram"]).record();
    assert_eq!((record.complete, record.ended_by), (false, Ending::Error));
}

/// Switches per operation of threads that blocked. Preemptions depend on the kernel and on other
/// processes.
pub fn voluntary_switches(record: &Record) -> f64 {
    record.switches.expect("the kernel counts switches").voluntary_per_operation
}
