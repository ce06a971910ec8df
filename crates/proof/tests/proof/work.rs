//! Known work: what is added to every hop appears in its time.
//!
//! Each process times a unit of work itself, so the work per hop is known independently of the
//! laps. The slope of a hop's time over it must be 1: it would be 1/2 if hops were counted twice,
//! and 2 if every other one were missed. Means are judged, since reports print them. Their unit is
//! the mean one between the laps, so that disturbances slow both alike.

use std::iter;

use contract::Program;
use harness::record::Record;
use serde_json::Value;

use crate::lab::{DEFAULT, Outcome, brigade, hop_ns, invocation, is_busy, median_within, shown};

const SHORT: &str = "--max-time 0.04 --warmups 10";
const ROUNDS: usize = 18;
const UNITS: [u64; 3] = [2_000, 11_000, 20_000];

/// A ratio that must be 1: the CPU's clock and caches differ slightly between laps and the time
/// between them.
const ONE: [f64; 2] = [0.95, 1.05];

/// One program of each kind of task.
const PROGRAMS: [&str; 7] = [
    "thread-brigade --placement same-cpu --tasks 4",
    "async-brigade --runtime tokio-current-thread --tasks 4",
    "async-mem-brigade --tasks 4",
    "coroutine-brigade --tasks 4",
    "thread-switch --via futex --placement same-cpu",
    "lock-hand-over --lock futex --tasks 8 --placement same-cpu",
    // With more requests under way, work makes batches smaller.
    "echo-server --kind epoll --tasks 50 --busy 1 --placement same-cpu",
];

fn slope(points: &[(f64, f64)]) -> f64 {
    let mean =
        |axis: fn(&(f64, f64)) -> f64| points.iter().map(axis).sum::<f64>() / points.len() as f64;
    let x = mean(|point| point.0);
    let y = mean(|point| point.1);
    let products = points.iter().map(|point| (point.0 - x) * (point.1 - y));
    products.sum::<f64>() / points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>()
}

/// A figure of a record, in nanoseconds.
type Figure = fn(&Record) -> f64;

/// A round's slope of hops over their work: of the means if there are units between the laps, and
/// otherwise of the fastest.
fn slope_of(round: &[Record], figure: Figure) -> f64 {
    let work = |record: &Record| record.work.expect("it has --work");
    let fastest = |ns: f64, record: &Record| ns.min(work(record).ns_per_unit.expect("a unit"));
    let fastest = round.iter().fold(f64::INFINITY, fastest);
    let point = |record: &Record| {
        let units = work(record).units as f64;
        let laps = record.principal().expect("laps");
        match work(record).mean_ns_per_unit {
            Some(unit_ns) => (units * unit_ns, figure(record)),
            None => (units * fastest, laps.min_ns as f64 / laps.operations as f64),
        }
    };
    slope(&round.iter().map(point).collect::<Vec<_>>())
}

/// The slope of a program of `brigade` over all rounds. Woken threads do not preempt others: the more work,
/// the more often they would, and these switches take time, too.
fn known_work(words: &str, figure: Figure, bounds: [f64; 2]) -> Outcome {
    let chrt = Program { name: "chrt", path: "chrt", ..Program::NEW };
    let words = format!("--batch 0 {} {words} {SHORT} --json", DEFAULT.binary("brigade").path);
    let one = |units: &u64| {
        let run = invocation(&chrt, &words).and(&["--work", &units.to_string()]).run();
        run.succeeded().record()
    };
    let rounds: Vec<Vec<Record>> =
        iter::repeat_with(|| UNITS.iter().map(one).collect()).take(ROUNDS).collect();
    let slopes: Vec<f64> = rounds.iter().map(|round| slope_of(round, figure)).collect();
    median_within(&slopes, bounds).or_unclear_if(is_busy(rounds.iter().flatten()))
}

#[test]
#[ignore = "part of the proof"]
fn work_in_every_hop_appears_in_its_time() {
    for words in PROGRAMS {
        shown(words, || known_work(words, hop_ns, ONE));
    }
}

/// A consumer's work for each message appears in its CPU time.
#[test]
#[ignore = "part of the proof"]
fn work_for_every_message_appears_in_its_cpu_time() {
    let words = "channel-load --channel queue --placement same-cpu";
    let cpu_ns = |record: &Record| record.measurement("cpu").expect("CPU time").ns_per_operation;
    shown("channel-load", || known_work(words, cpu_ns, [0.97, 1.03]));
}

/// Cases for comparisons, in which a hop takes at most ten times as long as the work.
const CASES: [&str; 6] = [
    "thread-brigade --placement same-cpu --tasks 20",
    "async-brigade",
    "async-mem-brigade --runtime async-executor",
    "coroutine-brigade",
    "event-loop-brigade --loop epoll-edge",
    "thread-switch --via futex --placement same-cpu",
];

/// How many cases `brigade compare` finds faster, the same and slower with this work instead of
/// 1000 units. The others are unresolved.
fn compared(units: u32, seconds: u32) -> [usize; 3] {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().to_str().expect("UTF-8");
    let flags = format!("compare --format json --time {seconds} --results {folder}");
    let sides = ["--args", "--work 1000", "--args", &format!("--work {units}")];
    let run = brigade(&flags).and(&sides).and(&CASES).run();
    let found: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"));
    let cases = found["cases"].as_array().expect("a list");
    assert_eq!(cases.len(), CASES.len(), "{found}");
    let count = |verdict: &str| cases.iter().filter(|case| case["verdict"] == verdict).count();
    ["faster", "same", "slower"].map(count)
}

/// Equal flags, and work that takes a fifth longer: five of six cases are resolved, in ten seconds each.
#[test]
#[ignore = "part of the proof"]
fn a_comparison_finds_known_differences_and_no_others() {
    shown("the same flags compared", || {
        let [faster, same, slower] = compared(1000, 36);
        Outcome::new(faster + slower == 0, format!("{faster} faster, {same} same, {slower} slower"))
    });
    shown("a fifth more work compared", || {
        let [faster, same, slower] = compared(1200, 60);
        let figures = format!("{faster} faster, {same} same, {slower} slower");
        Outcome::new(slower >= 5, figures).or_unclear_if(faster + same <= 1)
    });
}
