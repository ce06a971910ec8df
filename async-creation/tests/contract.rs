//! async-creation from outside: flags in, record out.

use contract::{Measurement, Program, Spread};

const PROGRAM: Program = Program {
    name: env!("CARGO_PKG_NAME"),
    path: env!("CARGO_BIN_EXE_async-creation"),
    measurements: &[
        Measurement::per_task("create", "task creation"),
        Measurement::per_task("join", "join"),
        Measurement::once("create_cold", "task creation"),
        Measurement::of_each_task("start", "start"),
    ],
    spread: Spread::Offered(&[]),
    traces: false,
    claimed_switches: None,
    files_per_task: 0,
    threads_per_task: 0,

    fixed_tasks: None,
};

contract::keeps!(PROGRAM, with - -tasks);

#[test]
fn on_the_current_thread_one_thread_does_everything() {
    let flags = ["--tasks=50", "--iters=20", "--runtime=tokio-current-thread", "--quiet"];
    let run = PROGRAM.with(&flags).and(&["--command", "ls /proc/{pid}/task | wc -l"]).run();
    assert_eq!(run.succeeded().stdout.trim(), "1");
}

#[test]
fn workers_that_the_runtime_cannot_have_are_usage_errors() {
    let current_thread = ["--runtime=tokio-current-thread", "--workers=2"];
    PROGRAM.refuses(&current_thread, &["--workers 2", "tokio-current-thread"]);
    PROGRAM.refuses(&["--workers=1025"], &["--workers"]);
}

#[test]
fn workers_are_threads_that_the_pids_limit_refuses() {
    contract::limits::check_that_workers_meet_the_pids_limit(&PROGRAM, &["--workers=60"]);
}

/// The address space that tokio meets while it starts them would leave it
/// waiting for ever.
#[test]
fn workers_take_address_space() {
    contract::limits::check_that_workers_meet_the_address_space_limit(&PROGRAM, &["--workers=64"]);
}
