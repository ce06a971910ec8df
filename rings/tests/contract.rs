//! Tests rings from outside: flags in, record out.

use contract::record::voluntary_switches;
use contract::{Measurement, Program};
use nix::sys::resource::Resource;

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_rings"),
    measurements: &[Measurement::HOPS],
    spread: Some(&[]),
    claimed_switches: Some(1.0),
    flags: &["--rings=1"],
    ..Program::NEW
};

contract::keeps!(PROGRAM);

/// On one CPU a hop blocks one thread, whatever the other rings do.
#[test]
fn rings_at_once_are_that_many_brigades() {
    for (runtime, rings, switches) in [
        ("threads", 1, 1.0),
        ("threads", 3, 1.0),
        ("tokio", 3, 0.0),
        ("tokio-current-thread", 3, 0.0),
    ] {
        let flags = ["--tasks=20", "--iters=100", "--placement=same-cpu", "--runtime", runtime];
        let record = PROGRAM.record(&[&flags[..], &["--rings", &rings.to_string()]].concat());
        assert_eq!((record.tasks, record.iterations), (20 * rings, 100), "{runtime}");
        let [iteration, of_one @ ..] = &record.measurements[..] else { panic!("a measurement") };
        assert_eq!((iteration.operations, iteration.count), (21 * rings, 100));
        for ring in of_one {
            assert_eq!((ring.name.as_str(), ring.operations, ring.count), ("ring", 21, 300));
            // Three rings that share a CPU wait for one another.
            assert!(ring.ns_per_operation > iteration.ns_per_operation, "{runtime}");
        }
        assert_eq!(of_one.len(), usize::from(rings > 1));
        let counted = voluntary_switches(&record);
        assert!((counted - switches).abs() <= 0.1, "{runtime}: {counted}");
    }
}

#[test]
fn rings_need_as_much_as_all_of_them_together() {
    let limited = |rings: &str| {
        let flags = ["--tasks=20", "--iters=2", "--warmups=0", "--rings", rings];
        PROGRAM.with(&flags).limited(Resource::RLIMIT_NOFILE, 150, 150)
    };
    // A channel of two files for each task and each driver.
    limited("4").run().failed(3, &["80 tasks"]);
    let _ = limited("3").run().succeeded();
    PROGRAM.refuses(&["--rings=1025"], &["--rings"]);
    PROGRAM.refuses(&["--runtime=tokio", "--channel=futex"], &["--channel futex"]);
}

/// The measurements of 150 rings take 39 MiB.
#[test]
fn memory_for_the_measurements_of_each_ring_is_declared() {
    let limit = 48 << 20;
    let limited = |rings: &str| {
        let flags = ["--runtime=tokio-current-thread", "--tasks=1", "--iters=2", "--rings", rings];
        PROGRAM.with(&flags).limited(Resource::RLIMIT_AS, limit, limit)
    };
    limited("150").run().failed(3, &["150 tasks"]);
    let _ = limited("10").run().succeeded();
}

#[test]
fn rings_are_interrupted_like_a_single_one() {
    for runtime in ["threads", "tokio"] {
        let flags = ["--tasks=20", "--rings=3", "--runtime", runtime];
        contract::ending::check_interruption(PROGRAM.with(&flags), 2);
    }
}
