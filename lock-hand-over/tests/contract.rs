//! lock-hand-over from outside: flags in, record out.

use contract::record::{check_measurements, voluntary_switches};
use contract::{Measurement, Program};
use harness::record::Record;
use harness::trace::{Direction, Stop, Switch};

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_lock-hand-over"),
    measurements: &[
        Measurement {
            operations: |_| 1024,
            covers_tasks: false,
            ..Measurement::per_task("iteration", "acquisition")
        },
        Measurement {
            samples: |tasks, _| tasks,
            ..Measurement::of_each_task("turn", "acquisition")
        },
    ],
    spread: Some(&[]),
    ..Program::NEW
};

contract::keeps!(PROGRAM);

const fn of_each(name: &'static str) -> Measurement {
    Measurement {
        samples: |_, iterations| iterations,
        ..Measurement::of_each_task(name, "acquisition")
    }
}

/// The program in an open loop.
const WAITS: Program =
    Program { measurements: &[of_each("acquisition"), of_each("from_call")], ..PROGRAM };

const KINDS: &str =
    "std parking-lot pthread pthread-adaptive pthread-pi spin futex tokio async-lock";

const RUNTIMES: [&str; 3] = ["threads", "tokio", "tokio-current-thread"];

fn measured(kind: &str, runtime: &str, flags: &[&str]) -> Record {
    PROGRAM.record(&[&["--lock", kind, "--runtime", runtime], flags].concat())
}

#[test]
fn every_lock_excludes_and_no_acquisition_is_omitted() {
    for kind in KINDS.split(' ') {
        for runtime in RUNTIMES {
            let record = measured(kind, runtime, &["--tasks=3", "--iters=50", "--outside=50"]);
            check_measurements(&PROGRAM, &record);
            let flags = ["--tasks=3", "--iters=500", "--rate=50000", "--hold-fault"];
            let record = measured(kind, runtime, &flags);
            check_measurements(&WAITS, &record);
            let [due, called] = [0, 1].map(|number| record.measurements[number].mean_ns);
            assert!(due >= called, "{kind}, {runtime}: {due} from due, {called} from the call");
            assert!(record.schedule.expect("it keeps one").missed <= 500);
        }
    }
}

/// The work inside is long enough that threads preempt each other within it.
#[test]
fn a_lock_that_does_not_exclude_is_named() {
    for flags in [&["--iters=40"][..], &["--iters=20000", "--rate=100000"]] {
        let broken = ["--lock=broken", "--tasks=4", "--inside=20000"];
        let run = PROGRAM.run(&[&broken, flags].concat());
        run.failed(1, &["--lock broken"]);
    }
}

/// A round of a trace leads from holder to holder, with each one's release between. Tasks that spin
/// on one CPU take it from one another while one holds the lock.
#[test]
fn a_trace_shows_that_a_holder_is_preempted() {
    let flags = ["--lock=spin", "--tasks=3", "--inside=20000", "--placement=same-cpu", "--iters=1"];
    let Some(trace) = contract::trace::traced(&PROGRAM, &flags) else { return };
    let rounds = || trace.batches.iter().flat_map(|batch| &batch.laps);
    for stops in rounds() {
        let tasks: Vec<_> = stops.iter().map(|stop| stop.task).collect();
        assert!(tasks.iter().skip(1).step_by(2).all(Option::is_none), "{stops:?}");
        assert!(tasks.windows(3).step_by(2).all(|trio| trio[0].is_some() && trio[0] != trio[2]));
    }
    let holds = || rounds().flat_map(|stops| stops.chunks_exact(2));
    let switches = || trace.batches.iter().flat_map(|batch| &batch.switches);
    let preempted = |hold: &[Stop]| {
        let within = |at_ns| hold[0].at_ns < at_ns && at_ns < hold[1].at_ns;
        let of_holder = |switch: &Switch| switch.tid == hold[0].tid && within(switch.at_ns);
        switches().any(|switch| switch.way == Direction::Preempted && of_holder(switch))
    };
    assert!(holds().any(preempted), "{} holds", holds().count());
}

/// The shares of all tasks add up to 1, so the largest is at least 1 / N and the smallest at most.
#[test]
fn turns_are_the_shares_of_the_tasks() {
    let record = measured("std", "threads", &["--tasks=4", "--iters=200", "--inside=100"]);
    let [iteration, turn] = &record.measurements[..] else { panic!("two") };
    let share = |turn_ns: u64| iteration.ns_per_operation / turn_ns as f64;
    let lucky = share(turn.min_ns);
    let unlucky = share(turn.max_ns);
    assert!(lucky >= 0.249 && unlucky <= 0.251 && lucky <= 1.001, "{lucky}, {unlucky}");
}

/// One task never waits for the lock.
#[test]
fn a_single_task_does_not_switch() {
    for kind in KINDS.split(' ') {
        let record = measured(kind, "threads", &["--tasks=1", "--iters=1000"]);
        assert_eq!(record.switches.and_then(|found| found.expected_per_operation), Some(0.0));
        let counted = voluntary_switches(&record);
        assert!(counted < 0.01, "{kind}: {counted}");
    }
}

#[test]
fn an_interruption_ends_every_loop() {
    for runtime in RUNTIMES {
        for flag in ["--inside=1000", "--rate=2"] {
            let run = PROGRAM.with(&["--tasks=3", flag, "--runtime", runtime]);
            contract::ending::check_interruption(run, 1);
        }
    }
}

#[test]
fn workers_and_settings_need_tokio() {
    PROGRAM.refuses(&["--workers=2"], &["--workers"]);
    PROGRAM.refuses(&["--tokio=event_interval=1"], &["--tokio"]);
    PROGRAM.refuses(&["--runtime=tokio", "--tokio=event_interval=0"], &["--tokio"]);
    let flags = ["--tokio=event_interval=1,global_queue_interval=31", "--iters=20"];
    for runtime in ["tokio", "tokio-current-thread"] {
        let record = measured("tokio", runtime, &flags);
        assert_eq!(record.parameters["tokio"], flags[0].trim_start_matches("--tokio="));
    }
}
