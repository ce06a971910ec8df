//! `--via all`.

use harness::record::Record;

use crate::run::{complaints, has_two_cpus, run, text};

/// Flags that make the table short.
const SHORT: &str = "--via all --rounds 1 --iters 50 --warmups 5";

/// Combinations that run where there are two CPUs: 10 mechanisms on 3
/// placements, without spin on one and yield on two.
const COMBINATIONS: usize = 30 - 3;

#[test]
fn the_table_has_a_row_for_every_combination_in_80_columns() {
    let output = run(SHORT);
    assert_eq!((output.status.code(), complaints(&output).len()), (Some(0), 0), "{output:?}");
    let table = text(&output.stdout);
    for line in table.lines() {
        assert!(line.chars().count() <= 80, "{line:?} is wider");
    }
    for placement in ["same-cpu", "spread", "free"] {
        let rows = table.lines().filter(|line| line.starts_with(&format!("{placement} ")));
        assert_eq!(rows.count(), 10, "{table}");
    }
    assert!(table.contains("Without spin on same-cpu"), "{table}");
}

#[test]
fn as_json_it_is_a_record_for_each_process() {
    if !has_two_cpus() {
        return;
    }
    let output = run(&format!("{SHORT} --json"));
    let lines = text(&output.stdout);
    let records: Vec<_> =
        lines.lines().map(|line| Record::parse(line).expect("a record")).collect();
    assert_eq!(records.len(), COMBINATIONS);
    assert!(records.iter().all(|record| record.complete && record.iterations > 0));
}

#[test]
fn between_processes_what_does_not_cross_them_is_absent() {
    let output = run(&format!("{SHORT} --kind process"));
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(table.contains("Without park on same-cpu, park on spread, park on free"), "{table}");
}
