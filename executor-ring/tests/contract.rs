//! Tests executor-ring from outside: flags in, record out.

use contract::record::check_measurements;
use contract::{Measurement, Program};

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_executor-ring"),
    measurements: &[Measurement {
        operations: |nodes| nodes * nodes + nodes,
        ..Measurement::per_task("iteration", "spawn")
    }],
    ..Program::NEW
};

contract::keeps!(PROGRAM);

/// Every executor and its interfaces, the native one first.
const COMBINATIONS: [(&str, &[&str]); 5] = [
    ("local-pool", &["local-spawn", "local-spawn-handle"]),
    ("thread-pool", &["spawn", "spawn-handle"]),
    ("tokio-ct", &["native", "local-spawn", "local-spawn-handle"]),
    ("tokio-tp", &["native", "spawn", "spawn-handle"]),
    ("async-std", &["native", "spawn", "spawn-handle"]),
];

#[test]
fn every_combination_spawns_the_nodes_and_every_send() {
    for (executor, interfaces) in COMBINATIONS {
        for spawn in interfaces {
            let flags = ["--tasks=7", "--iters=3", "--executor", executor, "--spawn", spawn];
            let record = PROGRAM.record(&flags);
            check_measurements(&PROGRAM, &record);
            assert_eq!(record.parameters["spawn"], *spawn);
        }
    }
}

#[test]
fn combinations_that_do_not_exist_are_refused_with_those_that_do() {
    for (executor, offered) in COMBINATIONS {
        for spawn in ["native", "spawn", "local-spawn"] {
            if !offered.contains(&spawn) {
                let words = ["--spawn", spawn, executor, &offered.join(", ")];
                PROGRAM.refuses(&["--executor", executor, "--spawn", spawn], &words);
            }
        }
    }
}

#[test]
fn a_worker_that_cannot_be_created_is_a_limit_and_not_a_hang() {
    for (executor, spawn, what) in [
        ("thread-pool", "spawn", "cannot create the thread pool"),
        ("tokio-tp", "native", "cannot create the tokio runtime"),
        ("tokio-tp", "spawn", "cannot create the tokio runtime"),
    ] {
        let flags = ["--tasks=5", "--iters=3", "--executor", executor, "--spawn", spawn];
        contract::limits::check_unseen(&PROGRAM, 1, &flags, what);
    }
}
