//! timer-cost from outside: flags in, record out.

use std::collections::BTreeMap;

use contract::ending::check_interruption;
use contract::limits::reaches_the_kernel;
use contract::record::check_measurements;
use contract::{Measurement, Program};
use harness::record::Record;
use nix::sys::resource::Resource;

/// One sample per iteration, with 1000 operations.
const fn of_batch(name: &'static str, operation: &'static str) -> Measurement {
    let operations = |_| 1000;
    Measurement { operations, covers_tasks: false, ..Measurement::per_task(name, operation) }
}

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_timer-cost"),
    measurements: &[
        of_batch("iteration", "cycle"),
        of_batch("arm", "arm"),
        of_batch("cancel", "cancel"),
        of_batch("reset-later", "reset-later"),
        of_batch("reset-earlier", "reset-earlier"),
    ],
    claimed_switches: Some(0.0),
    fixed_tasks: Some(1),
    ..Program::NEW
};

contract::keeps!(PROGRAM);

const KINDS: [&str; 6] = ["tokio", "tokio-timeout", "async-io", "timerfd", "posix", "heap"];

/// A time-out cannot be reset.
const TIME_OUT: Program = Program { measurements: PROGRAM.measurements.split_at(3).0, ..PROGRAM };

fn measured(timer: &str, flags: &[&str]) -> Record {
    measured_if_possible(timer, flags).expect("the timers fit")
}

/// The record, unless so many timers do not fit here: an emulator has 32 of POSIX.
fn measured_if_possible(timer: &str, flags: &[&str]) -> Option<Record> {
    let few = ["--iters=5", "--warmups=1", "--timer", timer];
    let record = PROGRAM.record_if_possible(&[&few[..], flags].concat())?;
    check_measurements(if timer == "tokio-timeout" { &TIME_OUT } else { &PROGRAM }, &record);
    Some(record)
}

#[test]
fn every_kind_of_timer_is_armed_cancelled_and_reset() {
    for timer in KINDS {
        for flags in [&["--pending=0"][..], &["--pending=300"], &["--first"], &["--seed=7"]] {
            let Some(record) = measured_if_possible(timer, flags) else { continue };
            assert_eq!(record.tasks, 1, "{timer}");
            assert_eq!(record.rebuilds_per_operation.is_some(), timer == "heap");
            let calls = match timer {
                "timerfd" | "posix" => Some(2.0),
                "heap" => {
                    let calls = record.system_calls_per_operation.expect("it counts them");
                    assert!(calls < 0.2, "{flags:?}: {calls}");
                    Some(calls)
                }
                _ => None,
            };
            assert_eq!(record.system_calls_per_operation, calls, "{timer} {flags:?}");
        }
    }
}

/// When more than half of all entries are dead, and more than 64: after 65 or 1001 cycles.
#[test]
fn a_heap_is_rebuilt_as_often_as_half_of_it_is_dead() {
    for (pending, cycles) in [("--pending=0", 65.0), ("--pending=1000", 1001.0)] {
        let found = measured("heap", &[pending]).rebuilds_per_operation;
        let rebuilds = 6000.0 * found.expect("it counts them");
        let expected = 6000.0 / cycles;
        assert!(f64::abs(rebuilds - expected) <= 1.0, "{pending}: {rebuilds}, not {expected}");
    }
}

#[test]
fn workers_of_tokio_share_the_wheel() {
    for timer in ["tokio", "tokio-timeout"] {
        for pending in ["--pending=0", "--pending=1000"] {
            let record = measured(timer, &["--workers=3", pending]);
            assert_eq!((record.tasks, record.cpu), (3, None), "{timer}");
        }
    }
    measured("tokio", &["--workers=2", "--placement=same-cpu"]);
}

/// Also the pending ones: 1000 are timed.
#[test]
fn a_command_sees_all_timers() {
    let look = "--command=readlink /proc/{pid}/fd/* | grep -c timerfd";
    let run = PROGRAM.run(&["--timer=timerfd", "--pending=200", "--iters=2", "--quiet", look]);
    let stdout = run.succeeded().stdout;
    assert_eq!(stdout.lines().last(), Some("1200"), "{stdout}");
}

/// The system calls of a run with this many iterations, by name; `None` if they cannot be traced here.
fn system_calls(flags: &[&str], iterations: u64) -> Option<BTreeMap<String, u64>> {
    let iters = format!("--iters={iterations}");
    let run = PROGRAM.with(flags).and(&["--warmups=0", "--quiet", &iters]);
    run.system_calls("system calls of timers")
}

/// An iteration arms 5000 timers, or 3000 of a kind without reset, cancels as many and resets 2000.
/// Timers in memory take no call unless they are due before all others.
#[test]
fn the_kernel_sees_as_many_system_calls_as_are_stated() {
    for (flags, name, expected) in [
        (&["--timer=timerfd"][..], "timerfd_settime", 12_000),
        (&["--timer=timerfd", "--pending=0", "--first"], "timerfd_settime", 12_000),
        (&["--timer=posix"], "timer_settime", 12_000),
        (&["--timer=tokio"], "write", 0),
        (&["--timer=tokio-timeout"], "write", 0),
        // Those that are armed, and those that are reset to an earlier time.
        (&["--timer=tokio", "--pending=0"], "write", 6000),
        (&["--timer=tokio", "--first"], "write", 6000),
        (&["--timer=tokio-timeout", "--pending=0"], "write", 3000),
        (&["--timer=heap"], "timerfd_settime", 0),
    ] {
        let Some(few) = system_calls(flags, 1) else { return };
        let Some(many) = system_calls(flags, 3) else { return };
        let more = |name: &str| {
            let count = |calls: &BTreeMap<String, u64>| calls.get(name).copied().unwrap_or(0);
            count(&many).saturating_sub(count(&few))
        };
        let found = more(name);
        let tolerance = 100;
        assert!(found.abs_diff(2 * expected) <= tolerance, "{flags:?}: {found} {name}: {many:?}");
        // A clock without vDSO is read by a call. Before it starts a runtime, the harness looks until the
        // kernel has forgotten threads that have ended.
        let elsewhere = ["total", "clock_gettime", "statx", "sched_yield", name];
        let names = many.keys().filter(|other| !elsewhere.contains(&&***other));
        let others: u64 = names.map(|name| more(name)).sum();
        assert!(others <= 200, "{flags:?}: {others} others: {few:?} {many:?}");
    }
}

#[test]
fn flags_that_make_no_sense_are_usage_errors() {
    for (flags, named) in [
        (&["--timer=heap", "--workers=2"][..], "--workers 2"),
        (&["--timer=timerfd", "--workers=2"], "--workers 2"),
        (&["--workers=0"], "--workers"),
        (&["--timer=wheel"], "--timer"),
        (&["--pending=100000001"], "--pending"),
        (&["--pending=-1"], "--pending"),
        (&["--seed=x"], "--seed"),
        (&["--tasks=2"], "--tasks"),
        (&["--trace=file"], "--trace"),
        (&["--placement=spread"], "--placement spread"),
    ] {
        PROGRAM.refuses(flags, &[named]);
    }
}

/// Before any timer exists.
#[test]
fn timers_that_do_not_fit_are_refused() {
    for (timer, resource, most, named) in [
        ("timerfd", Resource::RLIMIT_NOFILE, 500, "RLIMIT_NOFILE"),
        ("posix", Resource::RLIMIT_SIGPENDING, 500, "RLIMIT_SIGPENDING"),
        ("tokio", Resource::RLIMIT_DATA, 64 << 20, "RLIMIT_DATA"),
        ("heap", Resource::RLIMIT_DATA, 64 << 20, "RLIMIT_DATA"),
    ] {
        if resource == Resource::RLIMIT_DATA && !reaches_the_kernel(resource) {
            continue;
        }
        let pending = if most > 500 { "--pending=1000000" } else { "--pending=0" };
        let run = PROGRAM.with(&["--timer", timer, pending]).limited(resource, most, most).run();
        run.failed(3, &[named, "--pending"]);
    }
}

#[test]
fn an_interruption_ends_the_run_also_while_timers_are_armed() {
    for timer in KINDS {
        let pending = if timer == "posix" { "--pending=100" } else { "--pending=400" };
        check_interruption(PROGRAM.with(&["--timer", timer, pending]), 1);
    }
    check_interruption(PROGRAM.with(&["--workers=2", "--pending=100000"]), 3);
}
