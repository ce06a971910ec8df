//! thread-brigade from outside: flags in, record out.

use contract::placement::check_that_spread_hops_cross;
use contract::record::voluntary_switches;
use contract::{Measurement, Program, Spread};

const PROGRAM: Program = Program {
    name: env!("CARGO_PKG_NAME"),
    path: env!("CARGO_BIN_EXE_thread-brigade"),
    measurements: &[Measurement::HOPS],
    spread: Spread::Offered(&[]),
    traces: true,
    claimed_switches: Some(1.0),
    files_per_task: 2,
    threads_per_task: 1,
};

contract::keeps!(PROGRAM, with - -work);

/// On recent kernels the woken thread may preempt its waker, which counts as
/// an involuntary switch besides; those are not bounded here.
#[test]
fn every_hop_on_one_cpu_is_a_thread_that_blocks() {
    for channel in ["pipe", "socketpair"] {
        let record = PROGRAM.record(&[
            "--tasks=50",
            "--iters=500",
            "--placement=same-cpu",
            "--channel",
            channel,
        ]);
        assert_eq!(record.parameters["channel"], channel);
        let switches = voluntary_switches(&record);
        assert!((0.90..=1.05).contains(&switches), "{channel}: {switches}");
    }
}

#[test]
fn every_hop_of_a_spread_brigade_crosses() {
    check_that_spread_hops_cross(&PROGRAM, &["--tasks=50", "--iters=100"]);
    check_that_spread_hops_cross(&PROGRAM, &["--tasks=51", "--iters=100"]);
}

#[test]
fn a_stack_that_no_thread_can_have_is_a_usage_error() {
    for size in ["1", "0", "-1", "1MiB", "99999999999999999999"] {
        PROGRAM.refuses(&["--stack-size", size], &["--stack-size"]);
    }
}

#[test]
fn stacks_take_the_address_space_that_was_asked_for() {
    let flags = ["--tasks=100", "--iters=2", "--stack-size=16777216"];
    let memory = PROGRAM.record(&flags).memory.expect("Linux tells about memory");
    assert!(memory.virtual_bytes >= 100 * (16 << 20), "{memory:?}");
}

#[test]
fn a_limit_of_few_maps_refuses() {
    contract::limits::check_that_few_maps_refuse(&PROGRAM, 4);
}
