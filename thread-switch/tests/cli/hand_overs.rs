//! Every mechanism hands over as often as it says.

use contract::has_two_cpus;
use harness::record::{Ending, Record};

use crate::run::record;

/// Mechanisms that block in the kernel, or yield to it.
const SWITCHING: [&str; 6] = ["pipe", "socketpair", "eventfd", "condvar", "futex", "yield"];
/// Those of them that work inside one process only.
const SWITCHING_THREADS: [&str; 3] = ["park", "channel", "rendezvous"];

/// An iteration is `trips` round trips, each of two operations.
fn check_counts(record: &Record, trips: u64) {
    assert_eq!((record.tasks, record.iterations), (2, 200));
    assert_eq!((record.complete, record.ended_by), (true, Ending::Iterations));
    let iteration = record.principal().expect("a measurement");
    assert_eq!((&*iteration.name, &*iteration.operation), ("iteration", "switch"));
    assert_eq!((iteration.operations, iteration.count), (2 * trips, 200));
}

/// On one CPU each hand-over is a switch. The kernel may preempt on top of
/// that, so there is no upper bound.
fn check_switching(via: &str, kind: &str) {
    let flags = format!("--via {via} --kind {kind} --placement same-cpu --iters 200");
    let record = record(&flags);
    check_counts(&record, if via == "yield" { 16 } else { 1 });
    assert_eq!(record.parameters["via"], via);
    assert_eq!(record.parameters["kind"], kind);
    let switches = record.switches.expect("the kernel counts switches");
    assert_eq!(switches.expected_per_operation, Some(1.0), "{flags}");
    let counted = switches.voluntary_per_operation + switches.involuntary_per_operation;
    assert!(counted >= 0.9, "{flags}: {counted}");
    assert!(record.cpu.is_some() && record.memory.is_some());
}

#[test]
fn threads_switch_as_often_as_claimed() {
    for via in SWITCHING.into_iter().chain(SWITCHING_THREADS) {
        check_switching(via, "thread");
    }
}

/// The switches of both processes are counted: one has only every other.
#[test]
fn processes_switch_as_often_as_claimed() {
    for via in SWITCHING {
        check_switching(via, "process");
    }
}

#[test]
fn spinning_takes_two_cpus_and_claims_no_switch() {
    if !has_two_cpus() {
        return;
    }
    for kind in ["thread", "process"] {
        let record = record(&format!("--via spin --kind {kind} --placement spread --iters 200"));
        check_counts(&record, 128);
        assert_eq!(record.switches.expect("counted").expected_per_operation, Some(0.0));
    }
}

#[test]
fn mechanisms_work_across_cpus() {
    if !has_two_cpus() {
        return;
    }
    for via in SWITCHING.iter().chain(&SWITCHING_THREADS).filter(|via| **via != "yield") {
        check_counts(&record(&format!("--via {via} --placement spread --iters 200")), 1);
        check_counts(&record(&format!("--via {via} --iters 200")), 1);
    }
}

/// Beyond what a pipe holds (64 KiB) and a socket buffers, a message travels
/// in pieces.
#[test]
fn messages_of_any_length_come_through() {
    for bytes in [2, 4096, 4097, 65_536, 65_537, 1 << 20] {
        for via in ["pipe", "socketpair"] {
            for kind in ["thread", "process"] {
                let flags = format!("--via {via} --kind {kind} --message {bytes} --iters 200");
                let record = record(&flags);
                check_counts(&record, 1);
                let claim = record.switches.expect("counted").expected_per_operation;
                assert_eq!(claim.is_some(), bytes <= 4096, "{flags}");
            }
        }
    }
}

#[test]
fn one_thread_alone_does_not_switch() {
    for (via, passes) in [
        ("pipe", 32),
        ("socketpair", 32),
        ("eventfd", 32),
        ("pipe --message 65537", 1),
        ("socketpair --message 1048576", 1),
    ] {
        let record = record(&format!("--self --via {via} --iters 200"));
        let own = record.principal().expect("a measurement");
        assert_eq!((&*own.name, &*own.operation), ("self", "write and read"));
        assert_eq!((own.operations, own.count), (passes, 200));
        let switches = record.switches.expect("counted");
        assert_eq!(switches.expected_per_operation, Some(0.0));
        assert!(switches.voluntary_per_operation < 0.05, "{via}: {switches:?}");
    }
}

/// Both sides work: the driver alone would make half of it. The quickest lap
/// and the quickest unit of a few runs are compared, for any one of them may
/// have met a busy machine.
#[test]
fn both_sides_work_before_they_hand_over() {
    const UNITS: u64 = 50_000;
    for flags in ["--via futex", "--via pipe --kind process", "--via pipe --self"] {
        let (mut lap_ns, mut unit_ns, mut operations) = (f64::MAX, f64::MAX, 0);
        for _ in 0..5 {
            let record = record(&format!("{flags} --placement same-cpu --iters 20 --work {UNITS}"));
            let work = record.work.expect("it offers --work");
            assert_eq!(work.units, UNITS, "{flags}");
            let lap = record.principal().expect("a measurement");
            operations = lap.operations;
            lap_ns = lap_ns.min(lap.min_ns as f64);
            unit_ns = unit_ns.min(work.ns_per_unit.expect("there was work to measure"));
        }
        let known = UNITS as f64 * unit_ns * operations as f64;
        assert!(lap_ns > 0.7 * known, "{flags}: a lap of {lap_ns} ns has {known} ns of work");
    }
}
