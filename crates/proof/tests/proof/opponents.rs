//! Independent implementations take as long as the programs, each built in the same profile.

use std::path::Path;

use contract::Program;
use contract::invocation::Invocation;

use crate::lab::{
    Build, DEFAULT, ONE_UNIT, Outcome, brigade, hop_ns, invocation, lower_quartile, on_one_cpu,
    program, shown,
};

const ROUNDS: usize = 24;
const SECONDS: &str = "0.04";
/// For a pipe: for milliseconds at a time, also after the pause before a round, the kernel lets the reader
/// preempt the writer ten times as often, and a longer process has its share of both.
const LONGER_SECONDS: &str = "0.3";

/// What an opponent prints.
fn opponent_ns(opponent: Invocation) -> f64 {
    let run = on_one_cpu(|| opponent.run());
    run.stdout.trim().parse().unwrap_or_else(|_| panic!("{run:?}"))
}

/// What a program measures in so many seconds.
fn our_ns(ours: &Program, words: &str, seconds: &str) -> f64 {
    let flags = ["--max-time", seconds, "--warmups", "10", "--json"];
    hop_ns(&invocation(ours, words).and(&flags).run().succeeded().record())
}

/// A program's time divided by its opponent's: of lower quartiles, since page placement makes one
/// process in four a tenth slower. Each must be within the bounds in two halves of the processes.
fn compare(
    ours: &Program,
    words: &str,
    theirs: &Program,
    their_words: &str,
    bounds: [f64; 2],
) -> Outcome {
    compare_for(SECONDS, ours, words, theirs, their_words, bounds)
}

/// Compares as [`compare`] does, for so many seconds a process.
fn compare_for(
    seconds: &str,
    ours: &Program,
    words: &str,
    theirs: &Program,
    their_words: &str,
    bounds: [f64; 2],
) -> Outcome {
    let our_run = || on_one_cpu(|| our_ns(ours, words, seconds));
    compare_runs(our_run, || opponent_ns(invocation(theirs, their_words).and(&[seconds])), bounds)
}

/// Compares as [`compare`] does, with two functions that each run a process and return its figure.
fn compare_runs(ours: impl Fn() -> f64, theirs: impl Fn() -> f64, bounds: [f64; 2]) -> Outcome {
    let pairs: Vec<(f64, f64)> = (0..ROUNDS).map(|_| (ours(), theirs())).collect();
    let ratio = |pairs: &[(f64, f64)]| {
        let (ours, theirs): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        lower_quartile(&ours) / lower_quartile(&theirs)
    };
    let halves = pairs.split_at(ROUNDS / 2);
    let ratios = [ratio(&pairs), ratio(halves.0), ratio(halves.1)];
    let figures = format!("{ratios:.3?}, must be within {bounds:?}");
    let [least, most] = bounds;
    if ratios.iter().all(|ratio| (least..=most).contains(ratio)) {
        Outcome::Holds(figures)
    } else if ratios.iter().all(|ratio| *ratio < least) || ratios.iter().all(|ratio| *ratio > most)
    {
        Outcome::Fails(figures)
    } else {
        Outcome::Unclear(figures)
    }
}

/// A program in C, if it can be compiled.
fn in_c(folder: &Path, name: &str) -> Option<Program> {
    let binary = folder.join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.c"));
    let mut cc = contract::command("cc");
    cc.args(["-O2", "-pthread", "-o"]).arg(&binary).arg(source);
    if !cc.status().is_ok_and(|status| status.success()) {
        contract::skip("the opponents in C", "cc cannot compile them");
        return None;
    }
    Some(program(binary))
}

/// CPU time of a request, of server and load on one CPU: the load is the same for both.
#[test]
#[ignore = "part of the proof"]
fn a_server_takes_as_long_as_in_c() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(theirs) = in_c(folder.path(), "epoll") else { return };
    let words = "echo-server --tasks 50 --placement same-cpu --max-time 0.1 --json";
    let request_ns = |server: [&str; 2]| {
        let record = brigade(words).and(&server).run().succeeded().record();
        record.measurement("cpu").expect("both on one CPU").ns_per_operation
    };
    let compared = || {
        let ours = || request_ns(["--kind", "epoll"]);
        compare_runs(ours, || request_ns(["--server", theirs.path]), [0.97, 1.03])
    };
    shown("a server of epoll / in C", compared);
}

/// The threads in C make the system calls of std's.
#[test]
#[ignore = "part of the proof"]
fn threads_take_as_long_as_in_c() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(theirs) = in_c(folder.path(), "threads") else { return };
    let ours = DEFAULT.binary("brigade");
    let ring = "thread-brigade --placement same-cpu --tasks 20";
    shown("a ring of threads / in C", || compare(&ours, ring, &theirs, "ring 20", [0.95, 1.05]));
    let creation = "thread-creation --tasks 20";
    shown("creating threads / in C", || compare(&ours, creation, &theirs, "create 20", [0.9, 1.5]));
}

/// Without laps, stations, tracer and work, on the same tokio and the same coroutines. In both
/// profiles, because the order of fields that a compiler chose once made tokio's core a tenth
/// slower.
#[test]
#[ignore = "part of the proof"]
fn tasks_take_as_long_as_in_a_bare_loop() {
    // As one unit, what a compiler makes of the opponent alone: the bare coroutines took 10.3 instead
    // of 8.7 ns a hop, with any number of tasks, and ours 8.6 and 8.4.
    let builds: [(&str, &Build, [f64; 2]); 2] =
        [("default", &DEFAULT, [0.9, 1.1]), ("one unit", &ONE_UNIT, [0.8, 1.25])];
    for (profile, build, bounds) in builds {
        for (ours, theirs) in [("async-mem-brigade", "tokio"), ("coroutine-brigade", "coroutines")]
        {
            let (program, words) = match profile {
                "default" => (build.binary("brigade"), format!("{ours} --tasks 500")),
                _ => (build.binary(ours), "--tasks 500".to_owned()),
            };
            let bare = build.binary("bare");
            let their_words = format!("{theirs} 500");
            let experiment = || compare(&program, &words, &bare, &their_words, bounds);
            shown(&format!("{ours} / bare {theirs}, {profile}"), experiment);
        }
    }
}

/// `bare-channel` checks every message and uses the same crates, without rounds, numbers of tasks and
/// lots. A message through a pipe is a system call on each side.
#[test]
#[ignore = "part of the proof"]
fn messages_take_as_long_as_in_a_bare_loop() {
    let ours = DEFAULT.binary("brigade");
    let bare = DEFAULT.binary("bare-channel");
    for (channel, flags, seconds, bounds) in [
        ("std", "", SECONDS, [0.9, 1.1]),
        ("crossbeam", "", SECONDS, [0.9, 1.1]),
        ("queue", "", SECONDS, [0.9, 1.1]),
        ("tokio", "--runtime tokio-current-thread", SECONDS, [0.9, 1.1]),
        ("pipe", "--iters 10000", LONGER_SECONDS, [0.97, 1.03]),
    ] {
        let words = format!("channel-load --channel {channel} {flags} --placement same-cpu");
        let their_words = format!("{channel} checked");
        let experiment = || compare_for(seconds, &ours, &words, &bare, &their_words, bounds);
        shown(&format!("{channel} / a bare loop"), experiment);
    }
}

/// What it costs to check each message: the bare loop with the checks over that without them.
#[test]
#[ignore = "part of the proof"]
fn checking_a_message_costs_little() {
    let bare = DEFAULT.binary("bare-channel");
    let message_ns = |checks: &str| {
        let words = format!("crossbeam {checks}");
        opponent_ns(invocation(&bare, &words).and(&[SECONDS]))
    };
    let compared =
        || compare_runs(|| message_ns("checked"), || message_ns("unchecked"), [0.9, 1.1]);
    shown("a bare loop with checks / without", compared);
}

/// Consumers on several CPUs that add to the common count once in 256 messages take as long as with one in
/// 4,096, so the figure is not that of the count's cache line.
#[test]
#[ignore = "part of the proof"]
fn counting_in_lots_costs_nothing() {
    if !contract::has_two_cpus() {
        contract::skip("counting in lots", "there is one CPU");
        return;
    }
    let ours = DEFAULT.binary("brigade");
    let message_ns = |lot: &str| {
        let words = format!("channel-load --channel crossbeam --consumers 2 --lot {lot}");
        our_ns(&ours, &words, LONGER_SECONDS)
    };
    let compared = || compare_runs(|| message_ns("256"), || message_ns("4096"), [0.9, 1.1]);
    shown("lots of 256 / of 4,096", compared);
}

/// The same crates and checks without laps, rounds and tallies, eight threads that read and write, a
/// hundred that one event wakes, and twenty that are created. An acquisition with nothing inside takes 1.3 to
/// 1.4 times as long as there: the program keeps counts and times in memory, and an atomic operation waits
/// until what was written before it is there.
#[test]
#[ignore = "part of the proof"]
fn timers_threads_and_readers_take_as_long_as_in_a_bare_loop() {
    let (ours, bare) = (DEFAULT.binary("brigade"), DEFAULT.binary("bare-tasks"));
    let readers = "lock-hand-over --lock std-rw --read 90 --inside 0 --placement same-cpu";
    let busy_readers = "lock-hand-over --lock std-rw --read 90 --inside 100 --placement same-cpu";
    for (words, theirs, bounds) in [
        ("timer-cost", "timers", [0.9, 1.1]),
        ("wake-all --placement same-cpu", "wake", [0.9, 1.1]),
        ("thread-creation --tasks 20", "create", [0.9, 1.1]),
        (readers, "readers", [1.0, 1.6]),
        (busy_readers, "busy-readers", [0.9, 1.1]),
    ] {
        let experiment = || compare(&ours, words, &bare, theirs, bounds);
        shown(&format!("{words} / a bare loop"), experiment);
    }
}
