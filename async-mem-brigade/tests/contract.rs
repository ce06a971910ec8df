//! Tests async-mem-brigade from outside: flags in, record out.

use contract::record::voluntary_switches;
use contract::{Measurement, Program, skip};

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

/// The runtimes that run every task on the driver's thread.
const ONE_THREAD: [&str; 5] =
    ["tokio-current-thread", "tokio-local", "async-executor", "compio", "local-pool"];

#[test]
fn on_one_thread_the_kernel_has_nothing_to_switch_over_any_channel() {
    let channels = ["tokio", "async-channel"];
    for (runtime, channel) in
        ONE_THREAD.iter().flat_map(|runtime| channels.map(|channel| (*runtime, channel)))
    {
        let flags = ["--tasks=50", "--iters=1000", "--json", "--channel", channel];
        let run = PROGRAM.with(&flags).and(&["--runtime", runtime]).run();
        if run.code == Some(3) {
            skip(runtime, run.complaints()[0]);
            continue;
        }
        let record = run.succeeded().record();
        let named = ["runtime", "channel"].map(|flag| record.parameters[flag].clone());
        assert_eq!(named, [runtime, channel]);
        let switches = voluntary_switches(&record);
        assert!(switches < 0.1, "{runtime}, {channel}: {switches}");
    }
}

/// A runtime with an I/O driver makes a system call for it now and then.
#[test]
fn tokio_opens_no_epoll() {
    for runtime in ["tokio-current-thread", "tokio-local", "tokio"] {
        let look = "readlink /proc/{pid}/fd/*; true";
        let flags = ["--tasks=5", "--iters=5", "--json", "--runtime", runtime, "--command", look];
        let run = PROGRAM.run(&flags);
        assert!(run.stderr.contains("pipe:"), "its own output is among its files: {run:#?}");
        assert!(!run.stderr.contains("eventpoll"), "{run:#?}");
    }
}

#[test]
fn nothing_is_claimed_for_several_workers() {
    let record = PROGRAM.record(&["--tasks=5", "--iters=20", "--runtime=tokio"]);
    let switches = record.switches.expect("the kernel counts switches");
    assert_eq!(switches.expected_per_operation, None);
}

#[test]
fn one_thread_has_neither_workers_nor_several_cpus() {
    for runtime in ONE_THREAD {
        let flags = ["--runtime", runtime];
        PROGRAM.refuses(&[&flags[..], &["--workers=2"]].concat(), &["--workers 2"]);
        contract::placement::check_that_spread_is_refused(&PROGRAM, &flags, "one thread");
    }
    PROGRAM.refuses(&["--workers=2"], &["--workers 2", "--runtime tokio"]);
}

/// Each task's future has separate memory: hundreds of them show.
#[test]
fn the_contents_of_futures_are_resident() {
    let resident = |bytes: &str| {
        let record = PROGRAM.record(&["--tasks=500", "--iters=1", "--future-bytes", bytes]);
        assert_eq!(record.parameters["future_bytes"].to_string(), bytes);
        record.memory.expect("it looks at itself").rss_bytes
    };
    PROGRAM.refuses(&["--future-bytes=1000"], &["--future-bytes"]);
    PROGRAM.refuses(&["--channel=async-channel", "--future-bytes=1024"], &["--channel tokio"]);
    let each = (resident("16384") - resident("0")) as f64 / 500.0;
    assert!((16_000.0..20_000.0).contains(&each), "{each} bytes");
}
