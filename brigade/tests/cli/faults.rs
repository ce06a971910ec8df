//! Programs that fail in every possible way, and a clock that jumps.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use contract::invocation::deny;
use contract::skip;
use nix::libc;
use nix::sys::signal::Signal;

use crate::bench::{Bench, Ended, RECORD, end_of, eventually, is_running, send, start};

/// An empty folder is mounted over `/proc`.
#[test]
fn without_proc_every_command_ends_with_one_line() {
    let hide = "mount -t tmpfs none /proc && exec \"$@\"";
    let without = ["unshare", "--mount", "sh", "-c", hide, "sh"];
    let mut trial = Command::new(without[0]);
    trial.args(&without[1..]).arg("true");
    if !trial.output().is_ok_and(|output| output.status.success()) {
        return skip("brigade without /proc", "a file system cannot be mounted over it");
    }
    let bench = Bench::printing(RECORD);
    for arguments in [&["run"][..], &["list"], &["check"], &["limits"], &["report", "."]] {
        let ended = Ended::from(bench.brigade_under(&without, arguments));
        let line = "brigade: /proc is not mounted here: mount -t proc proc /proc\n";
        assert_eq!((ended.code, &*ended.stderr, &*ended.stdout), (Some(1), line, ""));
    }
    assert!(bench.result_folders().is_empty());
}

/// A main thread with too small a stack, or a runner without the rights it needs, ends before it
/// measures.
#[test]
fn missing_means_of_the_runner_are_named_in_one_line() {
    let bench = Bench::printing(RECORD);
    let refused = |mut brigade: Command, words: &str| {
        brigade.stdout(Stdio::piped()).stderr(Stdio::piped());
        let ended = end_of(brigade.spawn().unwrap());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{words}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        assert!(ended.stderr.contains(words), "{ended:?}");
    };
    for (call, words) in [
        (libc::SYS_kill, "kill is denied"),
        (libc::SYS_waitid, "waitid is denied"),
        (libc::SYS_getrusage, "getrusage is denied"),
    ] {
        let mut brigade = bench.brigade(&["run"]);
        // SAFETY: between fork and exec, this makes two system calls.
        unsafe { brigade.pre_exec(move || deny(call)) };
        refused(brigade, words);
    }
    for (limit, words) in [
        ("ulimit -n 16", "16 files may be open at once, but 64 are needed"),
        ("ulimit -s 64", "the stack may have only 64 KiB but needs 512"),
    ] {
        let limited = format!("{limit} && exec \"$0\" \"$@\"");
        refused(bench.brigade_under(&["sh", "-c", &limited], &["run"]), words);
    }
    let hide = "mount -t tmpfs none /dev && exec \"$@\"";
    let without = ["unshare", "--mount", "sh", "-c", hide, "sh"];
    if !Command::new(without[0]).args(&without[1..]).arg("true").status().unwrap().success() {
        return skip("brigade without /dev/null", "a file system cannot be mounted over it");
    }
    refused(bench.brigade_under(&without, &["run"]), "opening /dev/null: No such file");
}

#[test]
fn a_program_that_hangs_is_killed_with_all_its_children() {
    let mut bench = Bench::new(&["a"], "sleep 600 & echo $! >child; wait");
    bench.case_keys = "timeout_seconds = 1";
    let ended = bench.ends(&["run", "--rounds", "1"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let record = &bench.records()[0];
    assert_eq!(record["outcome"], "timed-out");
    assert_eq!(record["signal"], 9);
    let child = fs::read_to_string(bench.path("child")).unwrap();
    eventually("the killed program's child is gone", || !is_running(child.trim()));
}

#[test]
fn a_program_that_ignores_every_signal_to_end_is_killed() {
    let script = "trap '' INT TERM; echo $$ >pid; touch ready; while :; do sleep 0.01; done";
    let bench = Bench::new(&["a"], script);
    let brigade = start(&bench, &["run"]);
    eventually("the program is running", || bench.path("ready").exists());
    send(&brigade, Signal::SIGTERM);
    let ended = end_of(brigade);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let record = &bench.records()[0];
    assert_eq!(record["signal"], Signal::SIGKILL as i32);
    assert_eq!(record["interrupted"], true);
    // After a few seconds of grace, not after its case's time-out of a minute.
    assert!(record["duration_ns"].as_u64().unwrap() < 30_000_000_000, "{record}");
    assert!(!is_running(fs::read_to_string(bench.path("pid")).unwrap().trim()));
}

#[test]
fn a_missing_program_is_reported_before_anything_runs() {
    let bench = Bench::printing(RECORD);
    fs::remove_file(bench.path("a")).unwrap();
    let ended = bench.ends(&["run"]);
    assert_eq!(ended.code, Some(1));
    let line = "brigade: program 'a': looking for ";
    assert!(ended.stderr.starts_with(line), "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    assert!(bench.result_folders().is_empty());
}

#[test]
fn a_program_that_vanishes_or_is_replaced_costs_only_its_own_rounds() {
    for (change, reason) in [
        ("rm \"$0\"", "could not be run: No such file"),
        ("cp next new; mv new \"$0\"", "was replaced since"),
        ("touch -d 2001-01-01 \"$0\"", "was replaced since"),
    ] {
        let script = format!("echo run >>runs; [ $(wc -l <runs) = 2 ] && {{ {change}; }}");
        let bench = Bench::new(&["a"], &format!("{script}\necho '{RECORD}'"));
        contract::executable::write(&bench.path("next"), &format!("#!/bin/sh\necho '{RECORD}'\n"));
        assert_eq!(bench.ends(&["run", "--seed", "1"]).code, Some(1));
        let records = bench.records();
        let outcomes: Vec<_> = records.iter().map(|record| &record["outcome"]).collect();
        assert_eq!(outcomes, ["measured", "measured", "failed"], "{change}");
        let error = records[2]["error"].to_string();
        assert!(error.contains(reason), "{error}");
    }
}

/// `brigade` with at most 100 MiB of address space, which its programs inherit.
fn in_little_memory(bench: &Bench) -> Ended {
    let limited = ["sh", "-c", "ulimit -v 102400 && exec \"$0\" \"$@\""];
    Ended::from(bench.brigade_under(&limited, &["run", "--rounds", "1"]))
}

#[test]
fn endless_output_is_neither_kept_nor_waited_for() {
    let flood = "head -c 104857600 /dev/zero";
    let bench = Bench::new(&["a"], &format!("echo $$ >pid; {flood}; exec yes"));
    let ended = in_little_memory(&bench);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let record = &bench.records()[0];
    let error = "was killed: its standard output exceeded 16 MiB";
    assert_eq!(record["error"], error);
    assert_eq!(record["signal"], Signal::SIGKILL as i32);
    assert!(!is_running(fs::read_to_string(bench.path("pid")).unwrap().trim()));

    let bench = Bench::new(&["a"], &format!("{flood} >&2; echo '{RECORD}'"));
    let ended = in_little_memory(&bench);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
}

/// A library that sets the wall clock an hour forward and back, in turn, for
/// every process that preloads it; `None` without a C compiler.
fn stepping_clock(bench: &Bench) -> Option<PathBuf> {
    let source = r"
        #define _GNU_SOURCE
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>
        static int calls;
        int clock_gettime(clockid_t clock, struct timespec *now) {
            int result = syscall(SYS_clock_gettime, clock, now);
            if (clock == CLOCK_REALTIME) now->tv_sec += calls++ % 2 ? -3600 : 3600;
            return result;
        }";
    let (file, library) = (bench.path("clock.c"), bench.path("clock.so"));
    fs::write(&file, source).unwrap();
    let mut cc = Command::new("cc");
    let built = cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&file).status();
    built.is_ok_and(|status| status.success()).then_some(library)
}

#[test]
fn setting_the_clock_during_a_run_changes_no_duration() {
    let bench = Bench::printing(RECORD);
    let Some(clock) = stepping_clock(&bench) else {
        skip("a clock step", "there is no C compiler, cc");
        return;
    };
    let mut brigade = bench.brigade(&["run", "--rounds", "4"]);
    let begun = Instant::now();
    let ended = Ended::from(brigade.env("LD_PRELOAD", clock).output().unwrap());
    let elapsed = begun.elapsed();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let records = bench.records();
    let started: Vec<_> = records.iter().map(|record| record["started_at"].to_string()).collect();
    assert!(!started.is_sorted(), "the clock did not step: {started:?}");
    for record in &records {
        let duration_ns = u128::from(record["duration_ns"].as_u64().unwrap());
        assert!(duration_ns > 0 && duration_ns < elapsed.as_nanos(), "{record}");
    }
    assert_eq!(bench.result_folders().len(), 1);
}
