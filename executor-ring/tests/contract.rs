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
    for (executor, offered) in COMBINATIONS {
        for spawn in ["native", "spawn", "spawn-handle", "local-spawn", "local-spawn-handle"] {
            let flags = ["--tasks=7", "--iters=3", "--executor", executor, "--spawn", spawn];
            if offered.contains(&spawn) {
                check_measurements(&PROGRAM, &PROGRAM.record(&flags));
            } else {
                PROGRAM.refuses(&flags, &["--spawn", executor]);
            }
        }
    }
}

#[test]
fn more_nodes_than_an_iteration_should_wait_for_are_refused() {
    for tasks in ["--tasks=2001", "--tasks=999999", "--tasks=4294967295"] {
        PROGRAM.refuses(&[tasks, "--max-time=0.01"], &["--tasks", "2000 at most"]);
    }
}

#[test]
fn a_worker_that_cannot_be_created_is_a_limit_and_not_a_hang() {
    for (executor, spawn) in [("thread-pool", "spawn"), ("tokio-tp", "native")] {
        let flags = ["--tasks=5", "--iters=3", "--executor", executor, "--spawn", spawn];
        contract::limits::check_unseen(&PROGRAM, 1, &flags, "cannot create");
    }
}
