//! lock-hand-over from outside: flags in, record out.

use contract::invocation::at_once;
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

const MUTEXES: [&str; 9] = [
    "std",
    "parking-lot",
    "pthread",
    "pthread-adaptive",
    "pthread-pi",
    "spin",
    "futex",
    "tokio",
    "async-lock",
];

const READ_WRITE: [&str; 6] =
    ["std-rw", "parking-lot-rw", "pthread-rw", "pthread-rw-writer", "tokio-rw", "async-lock-rw"];

/// All locks.
fn kinds() -> impl Iterator<Item = &'static str> {
    MUTEXES.into_iter().chain(READ_WRITE)
}

const RUNTIMES: [&str; 3] = ["threads", "tokio", "tokio-current-thread"];

fn measured(kind: &str, runtime: &str, flags: &[&str]) -> Record {
    PROGRAM.record(&[&["--lock", kind, "--runtime", runtime], flags].concat())
}

#[test]
fn every_lock_excludes_and_no_acquisition_is_omitted() {
    for kind in kinds() {
        for runtime in RUNTIMES {
            let record = measured(kind, runtime, &["--tasks=3", "--iters=50", "--outside=50"]);
            check_measurements(&PROGRAM, &record);
            let flags = ["--tasks=3", "--iters=500", "--rate=50000", "--hold-fault"];
            let record = measured(kind, runtime, &flags);
            check_measurements(&WAITS, &record);
            let [due, called] = [0, 1].map(|number| record.measurements[number].mean_ns);
            assert!(due >= called, "{kind}, {runtime}: {due} from due, {called} from the call");
            // A task of a runtime waits by yielding.
            assert_eq!(record.cpu.is_some(), runtime == "threads", "{kind}, {runtime}");
        }
    }
}

/// An acquisition is due each microsecond, and the work inside takes longer. So a task is late for
/// nearly all of its acquisitions, since it waits only before the first ones.
#[test]
fn a_rate_that_cannot_be_kept_is_missed() {
    for runtime in RUNTIMES {
        let flags = ["--tasks=3", "--iters=500", "--rate=1000000", "--inside=20000"];
        let record = measured("std", runtime, &flags);
        let missed = record.schedule.expect("it keeps one").missed;
        assert!((400..=500).contains(&missed), "{runtime}: {missed}");
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

/// Readers and writers take each lock, in both ways to wait for it, and how long they wait is known.
/// If all read, nobody writes.
#[test]
fn every_lock_admits_readers_and_writers() {
    for kind in kinds() {
        for runtime in RUNTIMES {
            for (read, names) in [
                ("--read=90", &["iteration", "turn", "read_turn", "write_turn"][..]),
                ("--read=100", &["iteration", "turn", "read_turn"]),
            ] {
                let record = measured(kind, runtime, &["--tasks=3", "--iters=20", read]);
                let found = record.measurements.iter().map(|one| one.name.as_str());
                assert_eq!(found.collect::<Vec<_>>(), names, "{kind}, {runtime}");
                let [iteration, turn] = [&record.measurements[0], &record.measurements[1]];
                assert_eq!((iteration.operations, iteration.count, turn.count), (1024, 20, 3));
                // They cannot be seen, since nobody stays inside.
                assert_eq!(record.readers_together, None, "{kind}, {runtime}");
            }
        }
    }
}

/// One reader in 64 is timed, and each of the tenth that write.
#[test]
fn every_writer_is_timed_and_some_readers() {
    let record = measured("std-rw", "threads", &["--tasks=2", "--iters=200", "--read=90"]);
    let count = |name| record.measurement(name).expect("one of both").count as f64;
    let all = 200.0 * 1024.0;
    let [reads, writes] = [count("read_turn") / all, count("write_turn") / all];
    assert!((0.013..0.016).contains(&reads) && (0.09..0.11).contains(&writes), "{reads}, {writes}");
}

/// Two of four tasks run at once, and are nearly always inside.
#[test]
fn readers_are_inside_together_unless_the_lock_is_a_mutex() {
    if !contract::machine::has_two_cpus() {
        return contract::skip("readers inside together", "needs two CPUs");
    }
    let together = |kind, runtime, more: &[&str]| {
        let flags = ["--tasks=4", "--read=90", "--inside=20000", "--iters=1"];
        measured(kind, runtime, &[&flags[..], more].concat()).readers_together
    };
    for kind in READ_WRITE {
        assert_eq!(together(kind, "threads", &[]), Some(true), "{kind}");
    }
    assert_eq!(together("tokio-rw", "tokio", &[]), Some(true));
    assert_eq!(together("std", "threads", &[]), Some(false));
    assert_eq!(together("tokio", "tokio", &[]), Some(false));
    assert_eq!(together("std-rw", "threads", &["--placement=same-cpu"]), None);
    assert_eq!(together("std-rw", "threads", &["--warmups=0"]), None);
    // Few readers seldom meet.
    let few = ["--tasks=4", "--read=1", "--inside=20000", "--iters=1"];
    assert_eq!(measured("std-rw", "threads", &few).readers_together, None);
    assert_eq!(together("tokio-rw", "tokio-current-thread", &[]), None);
}

/// In every run, and in none with a lock that works.
#[test]
fn a_reader_next_to_a_writer_is_found() {
    let mixed = ["--tasks=4", "--read=50", "--inside=20000"];
    for _ in 0..5 {
        let broken = ["--lock=broken-read", "--iters=40"];
        PROGRAM.run(&[&mixed[..], &broken].concat()).failed(1, &["--lock broken-read", "readers"]);
        PROGRAM.run(&[&mixed[..], &["--lock=std-rw", "--iters=3"]].concat()).succeeded();
    }
    // Its writers exclude nobody, either.
    let broken = ["--lock=broken", "--iters=40"];
    PROGRAM.run(&[&mixed[..], &broken].concat()).failed(1, &["--lock broken"]);
    let writers = ["--tasks=4", "--read=1", "--inside=20000"];
    PROGRAM.run(&[&writers[..], &broken].concat()).failed(1, &["--lock broken"]);
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
    for kind in kinds() {
        for read in ["--read=0", "--read=90"] {
            let record = measured(kind, "threads", &["--tasks=1", "--iters=1000", read]);
            assert_eq!(record.switches.and_then(|found| found.expected_per_operation), Some(0.0));
            let counted = voluntary_switches(&record);
            assert!(counted < 0.01, "{kind}, {read}: {counted}");
        }
    }
}

#[test]
fn an_interruption_ends_every_loop() {
    at_once(RUNTIMES, |runtime| {
        for flag in ["--inside=1000", "--rate=2", "--read=90"] {
            let run = PROGRAM.with(&["--tasks=3", flag, "--runtime", runtime]);
            contract::ending::check_interruption(run, 1);
        }
    });
}

#[test]
fn workers_and_settings_need_tokio() {
    PROGRAM.refuses(&["--workers=2"], &["--workers"]);
    PROGRAM.refuses(&["--tokio=event_interval=1"], &["--tokio"]);
    PROGRAM.refuses(&["--runtime=tokio", "--tokio=event_interval=0"], &["--tokio"]);
    let settings = "event_interval=1,global_queue_interval=31";
    for runtime in ["tokio", "tokio-current-thread"] {
        let record = measured("tokio", runtime, &["--tokio", settings, "--iters=20"]);
        assert_eq!(record.parameters["tokio"], settings);
    }
}

#[test]
fn readers_are_a_share_of_a_closed_loop_without_a_trace() {
    PROGRAM.refuses(&["--read=101"], &["--read"]);
    PROGRAM.refuses(&["--read=50", "--rate=100"], &["--read"]);
    PROGRAM.refuses(&["--read=50", "--trace=file"], &["--trace"]);
}
