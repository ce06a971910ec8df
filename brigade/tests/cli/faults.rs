//! Programs that fail in every possible way, missing means, disks that are full or read-only, and
//! other work on the CPU: nothing that was measured is lost.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use contract::invocation::deny;
use contract::skip;
use harness::cpus;
use nix::libc;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::bench::{
    Bench, Ended, RECORD, end_of, eventually, is_running, lines_of, records_in, rounds_in, send,
    start,
};

/// Runs `brigade` by a shell that first does this, with the rights of root over a mount of its own;
/// `None` if that is denied here.
fn after(bench: &Bench, first: &str, arguments: &[&str]) -> Option<Ended> {
    let script = format!("{first} && exec \"$0\" \"$@\"");
    let words = ["unshare", "--mount", "sh", "-c", &script];
    let mut trial = Command::new(words[0]);
    if !trial.args(&words[1..]).arg("true").output().is_ok_and(|output| output.status.success()) {
        skip(first, "a file system cannot be mounted over it");
        return None;
    }
    Some(Ended::from(bench.brigade_under(&words, arguments)))
}

fn check_refusal(ended: &Ended, words: &str) {
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{words}: {ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    assert!(ended.stderr.contains(words), "{ended:?}");
}

/// A main thread with too small a stack, or a runner without the rights it needs, ends before it
/// measures.
#[test]
fn missing_means_of_the_runner_are_named_in_one_line() {
    let bench = Bench::printing(RECORD);
    for (call, words) in [
        (libc::SYS_kill, "kill is denied"),
        (libc::SYS_waitid, "waitid is denied"),
        (libc::SYS_getrusage, "getrusage is denied"),
    ] {
        let mut brigade = bench.brigade(&["run"]);
        // SAFETY: between fork and exec, this makes two system calls.
        unsafe { brigade.pre_exec(move || deny(call)) };
        check_refusal(&brigade.into(), words);
    }
    for (limit, words) in [
        ("ulimit -n 16", "16 files may be open at once, but 64 are needed"),
        ("ulimit -s 64", "the stack may have only 64 KiB but needs 512"),
    ] {
        let limited = format!("{limit} && exec \"$0\" \"$@\"");
        check_refusal(&bench.brigade_under(&["sh", "-c", &limited], &["run"]).into(), words);
    }
    for (arguments, folder, words) in [
        (&["run"][..], "/dev", "opening /dev/null"),
        (&["run"], "/proc", "/proc is not mounted"),
        (&["report", "."], "/proc", "/proc is not mounted"),
    ] {
        let Some(ended) = after(&bench, &format!("mount -t tmpfs none {folder}"), arguments) else {
            return;
        };
        check_refusal(&ended, words);
    }
    assert!(bench.result_folders().is_empty());
}

#[test]
fn a_missing_program_or_an_unwritable_folder_is_reported_before_anything_runs() {
    let bench = Bench::new(&["a"], "touch ran");
    let ended = bench.ends(&["run", "--results", "a/results"]);
    check_refusal(&ended, "--results: writing to a/results");
    fs::remove_file(bench.path("a")).unwrap();
    check_refusal(&bench.ends(&["run"]), "program 'a'");
    assert!(!bench.path("ran").exists() && bench.result_folders().is_empty());
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
fn a_program_that_vanishes_or_is_replaced_costs_only_its_own_rounds() {
    for (change, reason) in [
        ("rm \"$0\"", "could not be run: No such file"),
        ("cp next new; mv new \"$0\"", "was replaced since"),
        ("touch -d 2001-01-01 \"$0\"", "was replaced since"),
    ] {
        let script = format!("echo run >>runs; [ $(wc -l <runs) = 2 ] && {{ {change}; }}");
        let bench = Bench::new(&["a"], &format!("{script}\necho '{RECORD}'"));
        contract::executable::write(&bench.path("next"), format!("#!/bin/sh\necho '{RECORD}'\n"));
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

#[test]
fn a_full_disk_behind_standard_output_loses_no_record() {
    let bench = Bench::printing(RECORD);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut brigade = bench.brigade(&["run"]);
    let ended = Ended::from(brigade.stdout(full).stderr(Stdio::piped()).output().unwrap());
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.starts_with("brigade: showing the results in "), "{ended:?}");
    assert!(ended.stderr.contains("No space left on device"), "{ended:?}");
    assert_eq!(bench.records().len(), 3);
}

#[test]
fn a_limit_on_file_sizes_costs_no_finished_record() {
    let bench = Bench::new(&["a"], &format!("echo '{RECORD}'"));
    // In blocks of 512 or 1024 bytes.
    let limited = ["sh", "-c", "ulimit -f 64; exec \"$0\" \"$@\""];
    let ended = Ended::from(bench.brigade_under(&limited, &["run", "--rounds", "200"]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.stderr.contains("File too large"), "{ended:?}");
    let kept = bench.records().len();
    assert!((10..200).contains(&kept), "{kept} records fit");
    assert_eq!(bench.resumes().code, Some(0));
    assert_eq!(bench.records().len(), 200);
}

#[test]
fn a_folder_that_disappears_during_a_run_is_noticed_at_the_next_record() {
    for (gone, left) in [
        ("rm -r results", None),
        ("mv results elsewhere", None),
        (
            "for folder in results/*; do mv $folder x; mkdir $folder; : >$folder/records.jsonl; done",
            Some(0),
        ),
    ] {
        let script = format!("echo run >>runs; [ $(wc -l <runs) = 2 ] && {{ {gone}; }}");
        let bench = Bench::new(&["a"], &format!("{script}\necho '{RECORD}'"));
        let ended = bench.ends(&["run", "--rounds", "9"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
        assert!(ended.stderr.contains("records.jsonl"), "{ended:?}");
        assert!(ended.stderr.contains("removed or replaced during the run"), "{ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        let runs = fs::read_to_string(bench.path("runs")).unwrap();
        assert_eq!(runs.lines().count(), 2, "it went on");
        let found = bench.result_folders().first().map(|folder| {
            assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "something was written");
            records_in(folder).len()
        });
        assert_eq!(found, left, "{gone}");
    }
}

/// A file system in memory, unmounted at its end.
struct Mount(PathBuf);

impl Mount {
    /// Mounts one with these options over a folder of the bench, or skips the
    /// test.
    fn over(bench: &Bench, name: &str, options: &str) -> Option<Self> {
        let path = bench.path(name);
        fs::create_dir_all(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&path).stderr(Stdio::null());
        if mount.status().is_ok_and(|status| status.success()) {
            return Some(Self(path));
        }
        skip("a disk of a few KiB", "mounting one needs root");
        None
    }

    fn remount(&self, options: &str) {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,{options}")]).arg(&self.0);
        assert!(mount.status().unwrap().success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn only_folder_in(parent: &Path) -> PathBuf {
    fs::read_dir(parent).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn a_disk_that_fills_up_costs_no_finished_record() {
    let bench = Bench::new(&["a"], &format!("echo '{RECORD}'"));
    let Some(disk) = Mount::over(&bench, "disk", "size=64k") else { return };
    let ended = bench.ends(&["run", "--results", "disk", "--rounds", "200"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    let folder = only_folder_in(&disk.0);
    let line = format!(
        "brigade: free some space, then: brigade run --resume {}: appending to ",
        Path::new("disk").join(folder.file_name().unwrap()).display()
    );
    assert!(ended.stderr.starts_with(&line), "{ended:?}");
    assert!(ended.stderr.contains("No space left on device"), "{ended:?}");
    let kept = records_in(&folder).len();
    assert!((10..200).contains(&kept), "{kept} records fit on the disk");

    let folder = folder.to_str().unwrap();
    let reported = bench.ends(&["report", "--full", folder]);
    assert_eq!((reported.code, reported.stderr.as_str()), (Some(0), ""));

    disk.remount("size=10m");
    assert_eq!(bench.ends(&["run", "--resume", folder]).code, Some(0));
    let expected: Vec<_> = (1..=200).map(|round| ("a".to_owned(), round)).collect();
    assert_eq!(rounds_in(Path::new(folder)), expected);
}

#[test]
fn a_read_only_disk_is_detected_before_anything_runs() {
    let bench = Bench::new(&["a"], &format!("touch ran; echo '{RECORD}'"));
    let Some(disk) = Mount::over(&bench, "results", "size=1m") else { return };
    let brigade = start(&bench, &["run", "--rounds", "10000"]);
    eventually("a record is there", || lines_of(&bench) > 0);
    send(&brigade, Signal::SIGINT);
    assert_eq!(end_of(brigade).code, Some(130));
    fs::remove_file(bench.path("ran")).unwrap();
    disk.remount("ro");
    check_refusal(&bench.ends(&["run"]), "Read-only file system");
    check_refusal(&bench.resumes(), "Read-only file system");
    assert!(!bench.path("ran").exists());
}

/// A busy shell, until it is dropped or this process has died.
struct Hog(Child);

impl Hog {
    fn start() -> Self {
        Self(Command::new("sh").args(["-c", "while kill -0 $PPID; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Runs a busy program once for 0.4 s on this thread's CPU, and returns the CPU time of others, its
/// own, and the length of the span, in nanoseconds.
fn others_own_and_wall() -> (f64, f64, f64) {
    let bench = Bench::new(&["one-thread-brigade"], "");
    let manifest = bench.manifest().replace("path = 'one-thread-brigade', ", "");
    let manifest = manifest.replace("--max-time 1", "--max-time 0.4");
    let ended = Ended::from(bench.brigade_with(&manifest, &["run", "--rounds", "1"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let record = &bench.records()[0]["record"];
    let figure = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{record}"));
    let laps = &record["measurements"][0];
    let cpu = |space: &str| figure(&record["cpu"][space]);
    let per_operation = cpu("user_ns_per_operation") + cpu("system_ns_per_operation");
    let own = per_operation * figure(&laps["count"]) * figure(&laps["operations"]);
    let interference = &record["interference"];
    (figure(&interference["others_cpu_ns"]), own, figure(&interference["wall_ns"]))
}

/// The error of one or two clock ticks on one CPU, in nanoseconds.
const TICKS_NS: f64 = 20e6;

#[test]
fn a_hog_on_its_cpu_disturbs_a_program_and_the_program_itself_does_not() {
    cpus::confine(&cpus::allowed().unwrap()[..1]).unwrap();
    let hog = Hog::start();
    let (others, _, wall) = others_own_and_wall();
    drop(hog);
    assert!(others > 0.1 * wall, "{others} of {wall}");
    // However busy the machine is, both cannot use more than the CPU's time. If the program's time
    // counted as that of others, the sum would exceed it.
    let (others, own, wall) = others_own_and_wall();
    assert!(own > 0.0 && others + own <= wall + TICKS_NS, "{others} and {own} of {wall}");
}
