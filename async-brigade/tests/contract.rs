//! Tests async-brigade from outside: flags in, record out.

use contract::record::voluntary_switches;
use contract::{Measurement, Program, fits_here, skip};
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

/// The runtimes that run every task on the driver's thread.
const ONE_THREAD: [&str; 4] = ["tokio-current-thread", "tokio-local", "async-executor", "compio"];

#[test]
fn on_one_thread_the_kernel_has_nothing_to_switch() {
    for (runtime, channel) in
        ONE_THREAD.iter().flat_map(|runtime| ["pipe", "socketpair"].map(|of| (*runtime, of)))
    {
        let flags = ["--tasks=50", "--iters=200", "--json", "--channel", channel];
        let run = PROGRAM.with(&flags).and(&["--runtime", runtime]).run();
        if run.code == Some(3) {
            skip(runtime, run.complaints()[0]);
            continue;
        }
        let record = run.succeeded().record();
        assert_eq!(record.parameters["runtime"], runtime);
        let switches = record.switches.expect("the kernel counts switches");
        assert_eq!(switches.expected_per_operation, Some(0.0));
        // The kernel may move the single thread, between two tokens or within
        // one.
        let share = switches.cross_cpu_share.expect("hops are traced");
        assert!(share < 0.05, "{runtime}, {channel}: {share}");
        let switches = voluntary_switches(&record);
        assert!(switches < 0.1, "{runtime}, {channel}: {switches}");
    }
}

#[test]
fn a_runtime_has_the_requested_workers() {
    let count = "ls /proc/{pid}/task | wc -l";
    let flags = ["--tasks=3", "--iters=5", "--workers=7", "--quiet", "--command", count];
    assert_eq!(PROGRAM.run(&flags).succeeded().stdout.trim(), "8");
}

#[test]
fn one_thread_has_neither_workers_nor_several_cpus() {
    for runtime in ONE_THREAD {
        let flags = ["--runtime", runtime];
        PROGRAM.refuses(&[&flags[..], &["--workers=2"]].concat(), &["--workers 2"]);
        contract::placement::check_that_spread_is_refused(&PROGRAM, &flags, "one thread");
    }
    PROGRAM.refuses(&["--workers=0"], &["--workers"]);
}

/// With a filter of system calls, as in containers.
#[test]
fn compio_without_io_uring_is_a_limit_with_the_reason() {
    let run = PROGRAM.with(&["--runtime=compio", "--tasks=2", "--iters=2"]).denied_io_uring().run();
    run.failed(3, &["io_uring rings", "permits is 0"]);
}

/// The limit on files is checked before the first task is created, and is
/// correct.
#[test]
fn a_runtime_with_a_separate_relay_needs_the_files_it_declares() {
    for name in ["async-executor", "compio"] {
        if name == "compio" && !fits_here(Kind::IoUring, 1) {
            continue;
        }
        contract::limits::check_that_files_meet_their_limit(&PROGRAM, &["--runtime", name]);
    }
}

#[test]
fn workers_are_threads_that_the_pids_limit_refuses() {
    contract::limits::check_that_workers_meet_the_pids_limit(&PROGRAM, &["--workers=60"]);
}
