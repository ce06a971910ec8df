//! Tests one-thread-brigade from outside: flags in, record out.

use contract::{Measurement, Program};

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_one-thread-brigade"),
    measurements: &[Measurement::HOPS],
    claimed_switches: Some(0.0),
    ..Program::NEW
};

contract::keeps!(PROGRAM);

#[test]
fn one_thread_does_everything() {
    let count = "ls /proc/{pid}/task | wc -l";
    let flags = ["--channel=socketpair", "--iters=5", "--quiet", "--command", count];
    assert_eq!(PROGRAM.run(&flags).succeeded().stdout.trim(), "1");
}
