//! Tests event-loop-brigade from outside: flags in, record out.

use contract::invocation::filters_calls;
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

#[test]
fn every_loop_passes_the_token_with_the_expected_system_calls() {
    // If the kernel completes a request later, waiting for it takes one more call.
    let loops = ["epoll-level", "epoll-edge", "io-uring", "io-uring-defer"];
    for (name, calls) in loops.into_iter().zip([3.0..=3.0, 3.0..=3.0, 1.0..=2.0, 1.0..=2.0]) {
        for channel in ["pipe", "socketpair"] {
            let flags = ["--tasks=50", "--iters=200", "--loop", name, "--channel", channel];
            let Some(record) = PROGRAM.record_if_possible(&flags) else { continue };
            let made = record.system_calls_per_operation.expect("it counts them");
            assert!(calls.contains(&made), "{name}, {channel}: {made}");
            let switches = voluntary_switches(&record);
            assert!(switches < 0.1, "{name}, {channel}: {switches}");
        }
    }
    // A kernel thread takes part.
    let polled =
        PROGRAM.record_if_possible(&["--tasks=50", "--iters=200", "--loop=io-uring-sqpoll"]);
    let switches = polled.and_then(|record| record.switches);
    assert!(switches.is_none_or(|switches| switches.expected_per_operation.is_none()));
}

/// With a filter of system calls, as in containers.
#[test]
fn a_denied_ring_is_a_limit_with_the_reason() {
    if !filters_calls() {
        return;
    }
    let flags = ["--loop=io-uring", "--iters=2", "--tasks=2"];
    PROGRAM.with(&flags).denied_io_uring().run().failed(3, &["io_uring"]);
    let _ = PROGRAM.with(&["--loop=epoll-edge", "--iters=2"]).denied_io_uring().run().succeeded();
}
