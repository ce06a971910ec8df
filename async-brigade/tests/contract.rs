//! Tests async-brigade from outside: flags in, record out.

use contract::invocation::filters_calls;
use contract::limits::{check_that_files_meet_their_limit, check_that_workers_meet_the_pids_limit};
use contract::{Measurement, Program, fits_here, runs_natively};
use harness::limits::Kind;

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_async-brigade"),
    measurements: &[Measurement::HOPS],
    spread: Some(&[]),
    traces: true,
    ..Program::NEW
};

contract::keeps!(PROGRAM);

#[test]
fn a_trace_has_every_switch() {
    contract::trace::the_switches_are_those_that_the_kernel_counts(&PROGRAM);
}

#[test]
fn on_one_thread_the_kernel_has_nothing_to_switch() {
    for runtime in ["tokio-current-thread", "tokio-local", "async-executor", "compio"] {
        contract::placement::check_that_one_thread_is_all(&PROGRAM, &["--runtime", runtime]);
        for channel in ["pipe", "socketpair"] {
            let flags = ["--tasks=50", "--iters=200", "--runtime", runtime, "--channel", channel];
            let Some(record) = PROGRAM.record_if_possible(&flags) else { continue };
            let switches = record.switches.expect("the kernel counts switches");
            assert_eq!(switches.expected_per_operation, Some(0.0));
            let voluntary = switches.voluntary_per_operation;
            assert!(voluntary < 0.1, "{runtime}, {channel}: {voluntary}");
            // The kernel may move the single thread, between two tokens or within one.
            let share = switches.cross_cpu_share.expect("hops are traced");
            assert!(share < 0.05, "{runtime}, {channel}: {share}");
        }
    }
}

#[test]
fn a_runtime_has_the_requested_workers() {
    // An emulator has threads, too.
    let more_than_workers = [3, 7].map(|workers: usize| {
        let workers_flag = format!("--workers={workers}");
        let count = "ls /proc/{pid}/task | wc -l";
        let flags = ["--tasks=3", "--iters=5", &workers_flag, "--quiet", "--command", count];
        let threads: usize =
            PROGRAM.run(&flags).succeeded().stdout.trim().parse().expect("a number");
        threads - workers
    });
    assert_eq!(more_than_workers[0], more_than_workers[1]);
    if runs_natively("all threads of a runtime") {
        assert_eq!(more_than_workers[0], 1);
    }
    check_that_workers_meet_the_pids_limit(&PROGRAM, &["--workers=60"]);
}

/// A filter of system calls denies io_uring, as in containers.
#[test]
fn a_runtime_needs_files_and_io_uring() {
    check_that_files_meet_their_limit(&PROGRAM, &["--runtime=async-executor"]);
    if filters_calls() {
        PROGRAM.with(&["--runtime=compio"]).denied_io_uring().run().failed(3, &["io_uring"]);
    }
    if fits_here(Kind::IoUring, 1) {
        check_that_files_meet_their_limit(&PROGRAM, &["--runtime=compio"]);
    }
}
