//! yield-cost from outside: flags in, record out.

use assert_cmd::Command;
use harness::record::Record;

/// Every scenario, and the flags that it needs.
const SCENARIOS: [&[&str]; 8] = [
    &["--scenario=no-switch"],
    &["--scenario=await-ready"],
    &["--scenario=yield-local-pool"],
    &["--scenario=yield-tokio-ct"],
    &["--scenario=yield-tokio-mt"],
    &["--scenario=coroutine"],
    &["--scenario=sched-yield", "--placement=same-cpu"],
    &["--scenario=thread-event"],
];

fn program(flags: &[&str]) -> Command {
    let mut command = Command::cargo_bin("yield-cost").expect("the binary");
    command.args(flags);
    command
}

fn stdout(flags: &[&str]) -> String {
    let output = program(flags).assert().success().get_output().stdout.clone();
    String::from_utf8(output).expect("UTF-8")
}

fn record(flags: &[&str]) -> Record {
    let flags = [flags, &["--json", "--iters=2", "--warmups=1"]].concat();
    Record::parse(&stdout(&flags)).expect("a record")
}

/// Asserts a usage error of one line with all of `words` in it.
#[track_caller]
fn refused(flags: &[&str], words: &[&str]) {
    let output = program(flags).assert().code(2).get_output().clone();
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    let line = stderr.lines().filter(|line| !line.contains("debug build")).collect::<Vec<_>>();
    assert_eq!(line.len(), 1, "{stderr}");
    assert!(words.iter().all(|word| line[0].contains(word)), "{stderr}");
    assert!(output.stdout.is_empty());
}

#[test]
fn every_scenario_measures_blocks_of_cycles_and_its_unit_of_work() {
    for flags in SCENARIOS {
        let record = record(&[flags, &["--work=10"]].concat());
        let [block, work] = &record.measurements[..] else { panic!("{flags:?}: {record:?}") };
        assert_eq!((&*block.operation, block.operations, block.count), ("cycle", 5000, 2));
        assert_eq!((&*work.name, work.count), ("work", 2));
        assert!(record.complete, "{record:?}");
        assert_eq!(record.parameters["work"], 10);
    }
}

#[test]
fn threads_that_yield_to_one_another_are_switched_by_the_kernel() {
    let record = record(SCENARIOS[6]);
    assert_eq!(record.tasks, 2);
    let switches = record.switches.expect("the kernel counts switches");
    let counted = switches.voluntary_per_operation + switches.involuntary_per_operation;
    assert!(counted > 0.9, "{counted}");
}

#[test]
fn without_a_scenario_there_is_a_table_with_a_row_for_each() {
    let text = stdout(&["--iters=1", "--warmups=0", "--rounds=1", "--work=3"]);
    assert!(text.starts_with("5000 cycles with 3 units of work each, a unit takes "), "{text}");
    for flags in SCENARIOS {
        let name = flags[0].trim_start_matches("--scenario=");
        assert_eq!(text.lines().filter(|line| line.starts_with(name)).count(), 1, "{text}");
    }
}

#[test]
fn under_json_a_table_is_a_record_a_line_for_no_work_and_some() {
    let text = stdout(&["--iters=1", "--warmups=0", "--rounds=1", "--json"]);
    let records: Vec<_> = text.lines().map(|line| Record::parse(line).expect("a record")).collect();
    assert_eq!(records.len(), 2 * SCENARIOS.len());
    for units in [0, 500] {
        let of_units = records.iter().filter(|record| record.parameters["work"] == units);
        assert_eq!(of_units.count(), SCENARIOS.len());
    }
}

#[test]
fn quiet_prints_nothing() {
    assert_eq!(stdout(&["--iters=1", "--warmups=0", "--rounds=1", "--work=0", "--quiet"]), "");
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    refused(&["--scenario=sched-yield"], &["--scenario sched-yield", "--placement same-cpu"]);
    refused(&["--scenario=goto"], &["--scenario", "goto"]);
    refused(&["--placement=spread"], &["--placement spread"]);
    refused(&["--work=-1"], &["--work"]);
    refused(&["--work=1e3"], &["--work"]);
    refused(&["--work=2000000000"], &["--work"]);
    refused(&["--rounds=0"], &["--rounds"]);
    refused(&["--iters=0"], &["--iters"]);
    refused(&["--tasks=2"], &["--tasks"]);
}
