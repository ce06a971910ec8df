//! Tests event-loop-brigade from outside: flags in, record out.

use contract::record::voluntary_switches;
use contract::{Measurement, Program};

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_event-loop-brigade"),
    measurements: &[Measurement::HOPS],
    traces: true,
    claimed_switches: Some(0.0),
    ..Program::NEW
};

contract::keeps!(PROGRAM);

/// The loops, with their system calls per hop, and whether a kernel thread takes part.
const LOOPS: [(&str, f64, bool); 5] = [
    ("epoll-level", 3.0, false),
    ("epoll-edge", 3.0, false),
    ("io-uring", 1.0, false),
    ("io-uring-defer", 1.0, false),
    ("io-uring-sqpoll", 1.0, true),
];

#[test]
fn every_loop_passes_the_token_with_the_expected_system_calls() {
    for (name, calls, of_kernel) in LOOPS {
        for channel in ["pipe", "socketpair"] {
            let flags = ["--tasks=50", "--iters=200", "--loop", name, "--channel", channel];
            let Some(record) = PROGRAM.record_if_possible(&flags) else { continue };
            let made = record.system_calls_per_operation.expect("it counts them");
            let switches = record.switches.expect("the kernel counts switches");
            if of_kernel {
                assert_eq!(switches.expected_per_operation, None);
                continue;
            }
            // If the kernel completes a request later, waiting for it takes one more call.
            let most = if name.starts_with("epoll") { calls } else { 2.0 * calls };
            assert!((calls..=most).contains(&made), "{name}, {channel}: {made}");
            let switches = voluntary_switches(&record);
            assert!(switches < 0.1, "{name}, {channel}: {switches}");
        }
    }
}

#[test]
fn one_thread_does_everything() {
    let count = "ls /proc/{pid}/task | wc -l";
    let flags = ["--tasks=30", "--iters=5", "--quiet", "--command", count];
    assert_eq!(PROGRAM.run(&flags).succeeded().stdout.trim(), "1");
}

/// With a filter of system calls, as in containers.
#[test]
fn a_denied_ring_is_a_limit_with_the_reason() {
    let flags = ["--loop=io-uring", "--iters=2", "--tasks=2"];
    let run = PROGRAM.with(&flags).denied_io_uring().run();
    run.failed(3, &["io_uring"]);
    let _ = PROGRAM.with(&["--loop=epoll-edge", "--iters=2"]).denied_io_uring().run().succeeded();
}
