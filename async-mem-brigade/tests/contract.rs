//! Tests async-mem-brigade from outside: flags in, record out.

use contract::record::voluntary_switches;
use contract::{Measurement, Program};

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_async-mem-brigade"),
    measurements: &[Measurement::HOPS],
    spread: Some(&["--runtime=tokio"]),
    traces: true,
    claimed_switches: Some(0.0),
    ..Program::NEW
};

contract::keeps!(PROGRAM);

#[test]
fn on_one_thread_the_kernel_has_nothing_to_switch_over_any_channel() {
    for runtime in ["tokio-current-thread", "tokio-local", "async-executor", "compio", "local-pool"]
    {
        contract::placement::check_that_one_thread_is_all(&PROGRAM, &["--runtime", runtime]);
        for channel in ["tokio", "async-channel"] {
            let flags = ["--tasks=50", "--iters=1000", "--runtime", runtime, "--channel", channel];
            let Some(record) = PROGRAM.record_if_possible(&flags) else { continue };
            let switches = voluntary_switches(&record);
            assert!(switches < 0.1, "{runtime}, {channel}: {switches}");
        }
    }
    let several = PROGRAM.record(&["--tasks=5", "--iters=20", "--runtime=tokio"]).switches;
    assert_eq!(several.expect("the kernel counts switches").expected_per_operation, None);
}

/// A runtime with an I/O driver makes a system call for it now and then.
#[test]
fn tokio_opens_no_epoll() {
    for runtime in ["tokio-current-thread", "tokio-local", "tokio"] {
        let look = "--command=readlink /proc/{pid}/fd/*; true";
        let run = PROGRAM.run(&["--tasks=5", "--iters=5", "--quiet", "--runtime", runtime, look]);
        assert!(!run.stdout.is_empty() && !run.stdout.contains("eventpoll"), "{run:#?}");
    }
}
