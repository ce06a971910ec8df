//! executor-ring from outside: flags in, record out.

use contract::{Measurement, Program, Spread};
use harness::record::Record;

const PROGRAM: Program = Program {
    name: env!("CARGO_PKG_NAME"),
    path: env!("CARGO_BIN_EXE_executor-ring"),
    measurements: &[Measurement {
        operations: |nodes| nodes * nodes + nodes,
        ..Measurement::per_task("iteration", "spawn")
    }],
    spread: Spread::Refused,
    traces: false,
    claimed_switches: None,
    files_per_task: 0,
    threads_per_task: 0,
};

/// Every executor and the interfaces that it has, its own first.
const COMBINATIONS: [(&str, &[&str]); 6] = [
    ("local-pool", &["local-spawn", "local-spawn-handle"]),
    ("thread-pool", &["spawn", "spawn-handle"]),
    ("tokio-ct", &["native", "local-spawn", "local-spawn-handle"]),
    ("tokio-tp", &["native", "spawn", "spawn-handle"]),
    ("async-std", &["native", "spawn", "spawn-handle"]),
    ("async-executor", &["native"]),
];

/// Every value of `--spawn`.
const INTERFACES: [&str; 5] =
    ["native", "spawn", "spawn-handle", "local-spawn", "local-spawn-handle"];

fn stdout(flags: &[&str]) -> String {
    PROGRAM.run(flags).succeeded().stdout
}

fn record(flags: &[&str]) -> Record {
    PROGRAM.record(&[flags, &["--iters=3", "--warmups=1"]].concat())
}

/// Asserts that a record of three iterations has what the program measures.
#[track_caller]
fn check_measurements(record: &Record) {
    assert_eq!(record.measurements.len(), PROGRAM.measurements.len(), "{record:#?}");
    for (found, expected) in record.measurements.iter().zip(PROGRAM.measurements) {
        assert_eq!((&*found.name, &*found.operation), (expected.name, expected.operation));
        assert_eq!((found.operations, found.count), ((expected.operations)(record.tasks), 3));
    }
}

#[test]
fn every_combination_spawns_the_nodes_and_every_send() {
    for (executor, interfaces) in COMBINATIONS {
        for spawn in interfaces {
            let record = record(&["--executor", executor, "--spawn", spawn, "--nodes=7"]);
            check_measurements(&record);
            assert_eq!((record.tasks, record.complete), (7, true));
            assert_eq!(record.parameters["executor"], executor);
            assert_eq!(record.parameters["spawn"], *spawn);
        }
    }
}

#[test]
fn combinations_that_do_not_exist_are_refused_with_those_that_do() {
    for (executor, offered) in COMBINATIONS {
        for spawn in INTERFACES.iter().filter(|spawn| !offered.contains(spawn)) {
            let words = ["--spawn", spawn, executor, &offered.join(", ")];
            PROGRAM.refuses(&["--executor", executor, "--spawn", spawn], &words);
        }
    }
}

#[test]
fn a_ring_of_one_node_is_a_ring() {
    let record = record(&["--executor=local-pool", "--spawn=local-spawn", "--nodes=1"]);
    assert_eq!(record.measurements[0].operations, 2);
}

#[test]
fn a_table_has_a_row_for_every_combination() {
    let text = stdout(&["--nodes=5", "--iters=1", "--warmups=0", "--rounds=1"]);
    assert!(text.starts_with("5 nodes: 25 hops and 30 spawns, all counted\n"), "{text}");
    let rows: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    for (executor, interfaces) in COMBINATIONS {
        for spawn in interfaces {
            let rows = rows.iter().filter(|row| row.starts_with(&[executor, spawn]));
            assert_eq!(rows.count(), 1, "{executor} {spawn}: {text}");
        }
    }
}

#[test]
fn without_a_number_of_nodes_there_are_three_under_json_a_record_a_line() {
    let flags = ["--executor=local-pool", "--iters=1", "--warmups=0", "--rounds=1", "--json"];
    let text = stdout(&flags);
    let mut nodes: Vec<_> =
        text.lines().map(|line| Record::parse(line).expect("a record").tasks).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, [10, 10, 100, 100, 200, 200]);
}

#[test]
fn quiet_prints_nothing() {
    assert_eq!(stdout(&["--nodes=2", "--iters=1", "--rounds=1", "--quiet"]), "");
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    PROGRAM.refuses(&["--executor=rayon"], &["--executor", "rayon"]);
    PROGRAM.refuses(&["--spawn=fork"], &["--spawn", "fork"]);
    PROGRAM.refuses(&["--nodes=0"], &["--nodes"]);
    PROGRAM.refuses(&["--nodes=-1"], &["--nodes"]);
    PROGRAM.refuses(&["--nodes=10001"], &["--nodes"]);
    PROGRAM.refuses(&["--tasks=10"], &["--tasks"]);
    PROGRAM.refuses(&["--rounds=0"], &["--rounds"]);
    PROGRAM.refuses(&["--placement=spread"], &["--placement spread"]);
    PROGRAM.refuses(&["--command=true"], &["--command", "several variants"]);
}

#[test]
fn a_worker_that_cannot_be_created_is_a_limit_and_not_a_hang() {
    for (executor, spawn, what) in [
        ("thread-pool", "spawn", "creating the thread pool"),
        ("async-executor", "native", "creating a worker"),
        ("tokio-tp", "native", "creating the tokio runtime"),
        ("tokio-tp", "spawn", "creating the tokio runtime"),
    ] {
        let flags = ["--nodes=5", "--iters=3", "--executor", executor, "--spawn", spawn];
        if let Some(run) = contract::limits::unseen(&PROGRAM, 1, &flags) {
            run.failed(3, &[what, "Resource temporarily unavailable"]);
        }
    }
}
