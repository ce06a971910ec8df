//! Tests wake-latency from outside: flags in, record out.

use contract::invocation::at_once;
use contract::{Measurement, Program};
use harness::cpus::allowed;
use harness::record::Record;

/// One sample per wake-up.
const fn wake_ups(name: &'static str) -> Measurement {
    Measurement { operations: |_| 1, covers_tasks: false, ..Measurement::per_task(name, "wake-up") }
}

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_wake-latency"),
    measurements: &[wake_ups("wake-up"), wake_ups("from_call")],
    spread: Some(&[]),
    claimed_switches: Some(2.0),
    ..Program::NEW
};

contract::keeps!(PROGRAM);

/// Every way to be woken.
const WAYS: [[&str; 4]; 7] = [
    ["--runtime", "threads", "--source", "futex"],
    ["--runtime", "threads", "--source", "timer"],
    ["--runtime", "tokio", "--source", "waker"],
    ["--runtime", "tokio", "--source", "timer"],
    ["--runtime", "tokio-current-thread", "--source", "waker"],
    ["--runtime", "tokio-current-thread", "--source", "timer"],
    ["--runtime", "async-executor", "--source", "waker"],
];

fn counted(record: &Record) -> Vec<(&str, u64)> {
    record.measurements.iter().map(|measured| (&*measured.name, measured.count)).collect()
}

#[test]
fn no_wake_up_is_omitted() {
    for way in WAYS {
        for tasks in ["--tasks=1", "--tasks=7"] {
            let record = PROGRAM.record(&[&way[..], &[tasks, "--iters=500"]].concat());
            let calls = if way[3] == "timer" { None } else { Some(("from_call", 500)) };
            let expected: Vec<_> = [("wake-up", 500)].into_iter().chain(calls).collect();
            assert_eq!(counted(&record), expected, "{way:?}");
            let kept = record.schedule.expect("it keeps one");
            assert_eq!(kept.called_late.is_some(), calls.is_some(), "{way:?}");
            // A thread switches whenever it waits.
            let waits = |skipped: u64| 500.0 - skipped as f64;
            let all = waits(kept.missed) + kept.called_late.map_or(0.0, waits);
            let claimed = (way[1] == "threads").then_some(all / 500.0);
            let switches = record.switches.expect("the kernel counts switches");
            assert_eq!(switches.expected_per_operation, claimed, "{way:?}: {kept:?}");
        }
        let greedy = ["--greedy=2", "--greedy-for=500", "--iters=200", "--rate=2000"];
        assert_eq!(PROGRAM.record(&[&way[..], &greedy].concat()).iterations, 200, "{way:?}");
    }
}

/// However far behind it is: each is measured from its intended time.
#[test]
fn a_rate_that_cannot_be_kept_shows_in_the_latency() {
    let flags = ["--rate=1000000", "--iters=20000", "--placement=same-cpu"];
    let record = PROGRAM.record(&flags);
    assert_eq!(counted(&record), [("wake-up", 20_000), ("from_call", 20_000)]);
    let kept = record.schedule.expect("it keeps one");
    assert!(kept.missed + kept.called_late.expect("there are wakers") > 0, "{kept:?}");
    // 50 million threads a second would have to switch on one CPU.
    let [intended, called] = [0, 1].map(|number| record.measurements[number].mean_ns);
    assert!(intended > called, "{intended} ns from the intended time, {called} ns from the call");
}

/// However short a sleep is, it takes longer than a microsecond, and the next time has passed.
#[test]
fn a_sleeper_on_a_timer_misses_times_that_come_too_fast() {
    for runtime in ["threads", "tokio", "tokio-current-thread"] {
        let flags = ["--source=timer", "--tasks=1", "--rate=1000000", "--iters=20000"];
        let record = PROGRAM.with(&flags).and(&["--runtime", runtime]).record();
        let missed = record.schedule.expect("it keeps one").missed;
        assert!((1000..=20_000).contains(&missed), "{runtime}: {missed}");
    }
}

/// The waker has one CPU, and a runtime on one thread another.
#[test]
fn a_runtime_on_one_thread_is_placed_apart_from_its_waker() {
    if !contract::has_two_cpus() {
        return contract::skip("a runtime apart from its waker", "there is one CPU");
    }
    let [first, second] = allowed().expect("the CPUs of this process")[..2] else { panic!("two") };
    let cpus = format!("--cpus={first},{second}");
    let reading = "--command=grep Cpus_allowed_list: /proc/{pid}/status";
    for way in [WAYS[4], WAYS[6]] {
        let flags = ["--placement=spread", &cpus, "--iters=20", "--quiet", reading];
        let run = PROGRAM.with(&way).and(&flags).run().succeeded();
        assert_eq!(run.stdout, format!("Cpus_allowed_list:\t{second}\n"), "{way:?}");
    }
    let alone = [&WAYS[5][..], &["--placement=spread"]].concat();
    PROGRAM.refuses(&alone, &["--placement spread"]);
}

#[test]
fn flags_that_contradict_one_another_are_usage_errors() {
    for (flags, named) in [
        (&["--source=waker"][..], "--source"),
        (&["--runtime=tokio"], "--source"),
        (&["--runtime=async-executor", "--source=timer"], "--runtime"),
        (&["--greedy=1", "--greedy-for=0"], "--greedy-for"),
        (&["--trace=file"], "--trace"),
    ] {
        PROGRAM.refuses(flags, &[named]);
    }
}

/// Four hogs would use most of the time.
#[test]
fn hogs_end_with_the_program_and_their_cpu_time_is_not_the_tasks() {
    let hogs = Program { flags: &["--hogs=2"], ..PROGRAM };
    contract::ending::signals_keep_the_record_and_leave_no_process(&hogs);
    let flags = ["--hogs=4", "--iters=500", "--rate=1000", "--placement=same-cpu"];
    let record = PROGRAM.record(&flags);
    let cpu = record.cpu.expect("the kernel counts CPU time");
    let own_ns = (cpu.user_ns_per_operation + cpu.system_ns_per_operation) * 500.0;
    let wall_ns = record.interference.wall_ns.expect("a span") as f64;
    assert!(own_ns < wall_ns / 2.0, "{own_ns} of {wall_ns} ns");
}

/// Even for sleepers whose next time is far off.
#[test]
fn an_interruption_ends_every_way_to_wait() {
    at_once(WAYS, |way| {
        contract::ending::check_interruption(PROGRAM.with(&way).and(&["--rate=2", "--tasks=3"]), 2);
    });
}

/// One thread runs all tasks, and a wake-up is due in each of the greedy task's 20 ms.
#[test]
fn a_greedy_task_on_one_worker_delays_the_others_until_it_yields() {
    for way in &WAYS[4..] {
        let greedy = ["--greedy=1", "--greedy-for=20000", "--iters=200", "--rate=1000"];
        let record = PROGRAM.record(&[&way[..], &greedy].concat());
        let [wake_up, ..] = &record.measurements[..] else { panic!("a measurement") };
        assert!(wake_up.count == 200 && wake_up.max_ns > 10_000_000, "{way:?}: {wake_up:?}");
    }
}
