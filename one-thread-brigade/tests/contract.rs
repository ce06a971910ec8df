//! one-thread-brigade from outside: flags in, record out.

use contract::record::voluntary_switches;
use contract::{Measurement, Program};

const PROGRAM: Program = Program {
    name: env!("CARGO_PKG_NAME"),
    path: env!("CARGO_BIN_EXE_one-thread-brigade"),
    measurements: &[Measurement::HOPS],
    claimed_switches: Some(0.0),
    ..Program::NEW
};

contract::keeps!(PROGRAM);

#[test]
fn no_hop_switches() {
    for channel in ["pipe", "socketpair"] {
        let record = PROGRAM.record(&["--tasks=50", "--iters=500", "--channel", channel]);
        assert_eq!(record.parameters["channel"], channel);
        let switches = voluntary_switches(&record);
        assert!(switches < 0.01, "{channel}: {switches}");
    }
}

#[test]
fn one_thread_does_everything() {
    let count = "ls /proc/{pid}/task | wc -l";
    let flags = ["--tasks=30", "--iters=5", "--quiet", "--command", count];
    assert_eq!(PROGRAM.run(&flags).succeeded().stdout.trim(), "1");
}
