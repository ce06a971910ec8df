//! async-brigade from outside: flags in, record out.

use contract::record::voluntary_switches;
use contract::{Measurement, Program, Spread};

const PROGRAM: Program = Program {
    name: env!("CARGO_PKG_NAME"),
    path: env!("CARGO_BIN_EXE_async-brigade"),
    measurements: &[Measurement::HOPS],
    spread: Spread::Offered(&[]),
    traces: true,
    claimed_switches: None,
    files_per_task: 2,
    threads_per_task: 0,

    fixed_tasks: None,
};

contract::keeps!(PROGRAM, with - -tasks - -work);

#[test]
fn on_the_current_thread_the_kernel_has_nothing_to_switch() {
    for channel in ["pipe", "socketpair"] {
        let record = PROGRAM.record(&[
            "--tasks=50",
            "--iters=200",
            "--runtime=tokio-current-thread",
            "--channel",
            channel,
        ]);
        let switches = record.switches.expect("the kernel counts switches");
        assert_eq!(switches.expected_per_operation, Some(0.0));
        // The kernel may move the one thread, between two tokens or within one.
        let share = switches.cross_cpu_share.expect("hops are traced");
        assert!(share < 0.05, "{channel}: {share}");
        let switches = voluntary_switches(&record);
        assert!(switches < 0.1, "{channel}: {switches}");
    }
}

#[test]
fn a_runtime_has_the_workers_that_were_asked_for() {
    let count = "ls /proc/{pid}/task | wc -l";
    let flags = ["--tasks=3", "--iters=5", "--workers=7", "--quiet", "--command", count];
    assert_eq!(PROGRAM.run(&flags).succeeded().stdout.trim(), "8");
}

#[test]
fn workers_that_the_runtime_cannot_have_are_usage_errors() {
    let current_thread = ["--runtime=tokio-current-thread", "--workers=2"];
    PROGRAM.refuses(&current_thread, &["--workers 2", "tokio-current-thread"]);
    PROGRAM.refuses(&["--workers=0"], &["--workers"]);
    PROGRAM.refuses(&["--runtime=none"], &["--runtime"]);
}

#[test]
fn the_current_thread_cannot_be_spread() {
    contract::placement::check_that_spread_is_refused(
        &PROGRAM,
        &["--runtime=tokio-current-thread"],
        "one thread",
    );
}

#[test]
fn workers_are_threads_that_the_pids_limit_refuses() {
    contract::limits::check_that_workers_meet_the_pids_limit(&PROGRAM, &["--workers=60"]);
}

#[test]
fn a_runtime_that_cannot_have_all_its_workers_is_refused() {
    contract::limits::check_that_no_worker_is_missing(&PROGRAM, &["--workers=60"]);
}
