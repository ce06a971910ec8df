//! channel-load from outside: flags in, record out.

use contract::invocation::at_once;
use contract::limits::{check_unseen, reaches_the_kernel};
use contract::record::check_measurements;
use contract::{Measurement, Program};
use harness::record::Record;
use nix::sys::resource::Resource;

/// One sample for each producer, or for each consumer, of one and one.
const fn of_each(name: &'static str) -> Measurement {
    Measurement { samples: |tasks, _| tasks / 2, ..Measurement::of_each_task(name, "message") }
}

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_channel-load"),
    measurements: &[
        Measurement {
            operations: |_| 16_384,
            covers_tasks: false,
            ..Measurement::per_task("iteration", "message")
        },
        of_each("producer"),
        of_each("consumer"),
        Measurement {
            operations: |_| 0,
            covers_tasks: false,
            ..Measurement::once("cpu", "message")
        },
    ],
    spread: Some(&[]),
    fixed_tasks: Some(2),
    ..Program::NEW
};

contract::keeps!(PROGRAM);

/// The channels with their ways to wait, and whether they can have several consumers. Of several
/// tasks that receive from flume one may not be woken.
const CHANNELS: [(&str, &str, bool); 14] = [
    ("std", "threads", false),
    ("crossbeam", "threads", true),
    ("flume", "threads", true),
    ("flume", "tokio", false),
    ("kanal", "threads", true),
    ("kanal", "tokio", true),
    ("async-channel", "threads", true),
    ("async-channel", "tokio", true),
    ("tokio", "threads", false),
    ("tokio", "tokio", false),
    ("tokio", "tokio-current-thread", false),
    ("futures", "tokio", false),
    ("queue", "threads", true),
    ("pipe", "threads", true),
];

fn measured(channel: &str, runtime: &str, flags: &[&str]) -> Record {
    PROGRAM.record(&[&["--channel", channel, "--runtime", runtime], flags].concat())
}

fn count(record: &Record, name: &str) -> u64 {
    record.measurement(name).unwrap_or_else(|| panic!("no {name}: {record:?}")).count
}

/// The program verifies that each arrives once.
#[test]
fn every_message_of_every_channel_arrives() {
    for (channel, runtime, is_shared) in CHANNELS {
        let consumers = if is_shared { "3" } else { "1" };
        for message in ["8", "64", "1024"] {
            let several = ["--producers", "4", "--consumers", consumers, "--message", message];
            let flags = [&several[..], &["--iters=3", "--warmups=1", "--credit"]].concat();
            let record = measured(channel, runtime, &flags);
            let tasks = 4 + consumers.parse::<u64>().expect("a number");
            assert_eq!((record.tasks, record.iterations), (tasks, 3), "{channel}, {runtime}");
            assert_eq!((count(&record, "producer"), count(&record, "consumer")), (4, tasks - 4));
            // Nor are hidden flags, which make faults.
            for hidden in ["fault", "at", "lot"] {
                assert_eq!(record.parameters.get(hidden), None, "{channel}, {runtime}");
            }
            let load = record.channel.expect("a channel");
            // A consumer may have begun a lot of 256 in the warm-up.
            let begun = (tasks - 4) * 256;
            assert!(load.messages + begun >= 3 * 16_384, "{load:?}");
            assert_eq!(load.mean_length, None, "{channel}, {runtime}");
        }
    }
}

/// Not many more, although each of 256 consumers counts in lots of 256.
#[test]
fn iterations_are_as_many_messages_as_arrive() {
    let flags = ["--consumers=256", "--iters=4", "--warmups=1"];
    let load = measured("async-channel", "threads", &flags).channel.expect("a channel");
    let others = load.messages.abs_diff(4 * 16_384);
    assert!(others < 12_000, "{load:?}");
}

/// What fits before a producer waits.
#[test]
fn the_capacity_is_found_by_filling_the_channel() {
    for (channel, runtime, _) in CHANNELS {
        if channel == "pipe" {
            continue;
        }
        for (capacity, fits) in [("1", Some(1)), ("64", Some(64)), ("unbounded", None)] {
            let flags = ["--capacity", capacity, "--iters=1", "--warmups=0", "--producers=2"];
            let load = measured(channel, runtime, &flags).channel.expect("a channel");
            // futures has room for one more of each sender.
            let more = if channel == "futures" { 2 } else { 0 };
            assert_eq!(load.capacity, fits.map(|fits| fits + more), "{channel}, {runtime}");
        }
    }
    for channel in ["std", "crossbeam", "flume", "kanal"] {
        let load =
            measured(channel, "threads", &["--capacity=0", "--iters=1", "--warmups=0"]).channel;
        assert_eq!(load.expect("a channel").capacity, Some(0), "{channel}");
    }
    let of_pipe = |message| {
        let flags = ["--message", message, "--iters=1", "--warmups=0"];
        measured("pipe", "threads", &flags).channel.expect("a channel").capacity.expect("pages")
    };
    assert_eq!(of_pipe("64"), 16 * of_pipe("1024"));
}

/// Each in its time, also if it is late; the schedule counts those that were due before.
#[test]
fn no_message_of_an_open_loop_is_omitted() {
    for (channel, runtime, is_shared) in CHANNELS {
        let consumers = if is_shared { "--consumers=2" } else { "--consumers=1" };
        let flags = ["--producers=3", consumers, "--rate=50000", "--iters=2000", "--warmups=10"];
        for capacity in ["--capacity=64", "--capacity=unbounded"] {
            let capacity: &[&str] = if channel == "pipe" { &[] } else { &[capacity] };
            let record = measured(channel, runtime, &[&flags[..], capacity].concat());
            assert_eq!(record.iterations, 2000);
            assert_eq!(count(&record, "message"), 2000, "{channel}, {runtime}");
            let load = record.channel.expect("a channel");
            assert!(load.mean_length.is_some_and(f64::is_finite), "{channel}, {runtime}: {load:?}");
            assert_eq!(load.messages, 2000, "{channel}, {runtime}");
            assert!(record.schedule.expect("it keeps one").missed <= 2000);
            // A task of a runtime waits by yielding.
            assert_eq!(record.cpu.is_some(), runtime == "threads", "{channel}, {runtime}");
        }
    }
}

/// If a message cannot be received in time, others wait: 1000 a second of 5 ms each.
#[test]
fn a_rate_that_cannot_be_kept_makes_a_queue() {
    let flags = ["--rate=1000", "--iters=100", "--warmups=0", "--work=4000000"];
    let record = measured("std", "threads", &flags);
    let length = record.channel.and_then(|load| load.mean_length).expect("an open loop");
    assert!(length > 5.0, "{length}");
}

/// At the first message, somewhere and at the last one; of a round that is measured, and of a warm-up.
#[test]
fn a_broken_channel_is_named() {
    for fault in ["lose", "double", "swap"] {
        for at in ["1", "20000", "0"] {
            for warmups in ["0", "2"] {
                let flags = ["--channel=broken", "--fault", fault, "--at", at, "--iters=2"];
                let run = PROGRAM.run(&[&flags[..], &["--warmups", warmups]].concat());
                run.failed(1, &["--channel broken", "producer"]);
            }
        }
    }
    let late = ["--channel=broken", "--at=500000000", "--iters=2", "--warmups=1"];
    check_measurements(&PROGRAM, &PROGRAM.record(&late));
}

/// A lost message is found among several consumers and in an open loop, too.
#[test]
fn a_fault_is_found_with_several_consumers_and_at_a_rate() {
    let broken = ["--channel=broken", "--producers=2", "--consumers=2", "--at=100"];
    for more in [&["--iters=2"][..], &["--iters=500", "--rate=100000"]] {
        for fault in ["lose", "double"] {
            let run = PROGRAM.run(&[&broken[..], more, &["--fault", fault]].concat());
            run.failed(1, &["--channel broken", "producer"]);
        }
    }
}

#[test]
fn a_task_whose_channel_is_closed_is_named() {
    let closes = ["--channel=broken", "--fault=close", "--at=1000", "--iters=2"];
    for more in [&[][..], &["--producers=3", "--consumers=2"], &["--credit"]] {
        PROGRAM.run(&[&closes[..], more].concat()).failed(1, &["task ", "closed"]);
    }
}

/// Nobody is woken any more: the program says so, instead of waiting for ever.
#[test]
fn tasks_that_wait_for_ever_end_the_run() {
    let stalls = ["--channel=broken", "--fault=stall", "--iters=2"];
    at_once(["--consumers=1", "--consumers=3", "--credit", "--rate=20000"], |more| {
        PROGRAM.run(&[&stalls[..], &[more]].concat()).failed(1, &["--channel broken", "wake-up"]);
    });
}

#[test]
fn what_a_channel_cannot_do_is_a_usage_error() {
    for (flags, named) in [
        (&["--channel=futures"][..], "--channel futures"),
        (&["--channel=crossbeam", "--runtime=tokio"], "--channel crossbeam"),
        (&["--channel=queue", "--runtime=tokio-current-thread"], "--channel queue"),
        (&["--channel=std", "--consumers=2"], "--consumers 2"),
        (&["--channel=tokio", "--consumers=2", "--runtime=tokio"], "--consumers 2"),
        (&["--channel=pipe", "--capacity=64"], "--capacity"),
        (&["--channel=tokio", "--capacity=0"], "--capacity 0"),
        (&["--channel=queue", "--capacity=0"], "--capacity 0"),
        (&["--capacity=many"], "--capacity"),
        (&["--message=9"], "--message"),
        (&["--producers=0"], "--producers"),
        (&["--workers=2"], "--workers"),
        (&["--trace=file"], "--trace"),
    ] {
        PROGRAM.refuses(flags, &[named]);
    }
}

/// Faster or slower, the shares of producers add up to 1.
#[test]
fn shares_are_those_of_the_messages() {
    let record =
        measured("crossbeam", "threads", &["--producers=4", "--consumers=4", "--iters=20"]);
    let each_ns = record.principal().expect("iterations").ns_per_operation;
    for name in ["producer", "consumer"] {
        let of = record.measurement(name).expect("one of each");
        let [lucky, unlucky] = [of.min_ns, of.max_ns].map(|ns| each_ns / ns as f64);
        assert!(lucky >= 0.249 && unlucky <= 0.251 && lucky <= 1.01, "{lucky}, {unlucky}");
    }
}

/// On one CPU, where nothing overlaps: each message takes at least its 2,000 units.
#[test]
fn consumers_do_their_work() {
    let flags = ["--placement=same-cpu", "--iters=3", "--warmups=1", "--work=2000"];
    let record = measured("std", "threads", &flags);
    let work = record.work.expect("it offers --work");
    let work_ns = work.units as f64 * work.ns_per_unit.expect("there was work");
    let least = record.principal().expect("iterations").min_ns as f64 / 16_384.0;
    assert!(least > 0.7 * work_ns, "a message of {least} ns has {work_ns} ns of work");
}

#[test]
fn an_interruption_ends_every_loop() {
    at_once(CHANNELS, |(channel, runtime, _)| {
        for more in [&["--producers=3"][..], &["--rate=2"]] {
            let run = PROGRAM.with(&["--channel", channel, "--runtime", runtime]).and(more);
            contract::ending::check_interruption(run, 1);
        }
    });
}

/// The channel's own memory counts, too.
#[test]
fn what_does_not_fit_is_refused() {
    if !reaches_the_kernel(Resource::RLIMIT_DATA) {
        return;
    }
    let large = PROGRAM.with(&["--capacity=65536", "--message=1024"]);
    let refused = large.limited(Resource::RLIMIT_DATA, 64 << 20, 64 << 20).run();
    refused.failed(3, &["RLIMIT_DATA", "--capacity"]);
    // A flag that was not given is not to blame.
    let many = PROGRAM.with(&["--channel=crossbeam", "--producers=1024", "--consumers=1024"]);
    let refused = many.limited(Resource::RLIMIT_DATA, 64 << 20, 64 << 20).run();
    let refused = refused.failed(3, &["RLIMIT_DATA"]);
    assert!(!refused.stderr.contains("--capacity"), "{refused:?}");
    // In an open loop, only consumers keep the times of messages.
    let open = PROGRAM.with(&["--producers=100", "--rate=10000", "--iters=100"]);
    let fits = open.limited(Resource::RLIMIT_DATA, 64 << 20, 64 << 20).run();
    assert_eq!(fits.code, Some(0), "{fits:?}");
}

#[test]
fn a_limit_that_cannot_be_seen_names_the_task() {
    check_unseen(&PROGRAM, 50, &["--producers=100"], "task ");
}
