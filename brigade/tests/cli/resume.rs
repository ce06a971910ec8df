//! `brigade run` stopped or killed, and `--resume`: interrupted runs are completed, and nothing is
//! lost or run twice.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::Duration;

use fastrand::Rng;
use nix::sys::signal::Signal;

use crate::bench::{
    Bench, Ended, RECORD, edit, end_of, eventually, lines_of, rounds_in, send, start,
};

/// A bench of two cases whose program creates `ready` in its third run, and
/// waits for `go`.
fn waiting() -> Bench {
    let script = format!(
        "echo run >>runs\n\
         if [ $(wc -l <runs) = 3 ]; then\n\
         touch ready; while [ ! -e go ]; do sleep 0.01; done\n\
         fi\necho '{RECORD}'"
    );
    Bench::new(&["a", "b"], &script)
}

/// A run of three rounds of two cases, killed in its third invocation.
pub fn killed() -> Bench {
    let bench = waiting();
    let mut brigade = start(&bench, &["run", "--seed", "7", "--name", "x"]);
    eventually("the third is running", || bench.path("ready").exists());
    brigade.kill().unwrap();
    brigade.wait().unwrap();
    fs::write(bench.path("go"), "").unwrap();
    bench
}

/// The rounds of an uninterrupted run, in order.
fn uninterrupted() -> Vec<(String, u64)> {
    let bench = Bench::new(&["a", "b"], &format!("echo '{RECORD}'"));
    assert_eq!(bench.ends(&["run", "--seed", "7"]).code, Some(0));
    rounds_in(&bench.result_folders()[0])
}

#[test]
fn a_killed_run_is_completed_in_its_original_order() {
    let bench = killed();
    let ended = bench.resumes();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(bench.result_folders().len(), 1);
    assert_eq!(rounds_in(&bench.result_folders()[0]), uninterrupted());
}

#[test]
fn an_interrupted_invocation_is_kept_and_run_again() {
    let bench = waiting();
    let brigade = start(&bench, &["run", "--seed", "7"]);
    eventually("the third is running", || bench.path("ready").exists());
    send(&brigade, Signal::SIGINT);
    let ended = end_of(brigade);
    assert_eq!(ended.code, Some(130));
    let folder = &bench.result_folders()[0];

    fs::write(bench.path("go"), "").unwrap();
    let ended = bench.resumes();
    assert_eq!(ended.code, Some(0), "the interrupted invocation counts as failed: {ended:?}");
    assert!(!ended.stdout.contains("failed"), "{ended:?}");
    let records = bench.records();
    assert_eq!(records.len(), 7);
    let interrupted = &records[2];
    assert_eq!(interrupted["interrupted"], true);
    let again = records.iter().find(|record| record["attempt"] == 2).unwrap();
    assert_eq!((&again["case"], &again["round"]), (&interrupted["case"], &interrupted["round"]));
    let mut rounds = rounds_in(folder);
    rounds.sort();
    let mut expected = uninterrupted();
    expected.sort();
    assert_eq!(rounds, expected);
}

#[test]
fn an_incomplete_line_is_cut_off_and_run_again() {
    let bench = killed();
    let folder = &bench.result_folders()[0];
    let mut records = fs::File::options().append(true).open(folder.join("records.jsonl")).unwrap();
    records.write_all(b"{\"schema_version\":\"1.1\",\"case\":\"").unwrap();
    let ended = bench.resumes();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("cut off 32 bytes of an incomplete line"), "{ended:?}");
    assert_eq!(rounds_in(folder), uninterrupted());
}

/// Checks that a killed run is refused with these words after `change`, and
/// that nothing runs.
fn check_refusal(change: impl Fn(&Bench, &Path), manifest: impl Fn(String) -> String, says: &str) {
    let bench = killed();
    let folder = bench.result_folders()[0].clone();
    change(&bench, &folder);
    let records = fs::read(folder.join("records.jsonl")).unwrap();
    let runs = fs::read(bench.path("runs")).unwrap();
    let path = folder.to_str().unwrap();
    let manifest = manifest(bench.manifest());
    let ended = Ended::from(bench.brigade_with(&manifest, &["run", "--resume", path]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.stderr.starts_with("brigade: --resume "), "{ended:?}");
    assert!(ended.stderr.contains(says), "{ended:?} does not contain {says:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    assert_eq!(fs::read(folder.join("records.jsonl")).unwrap(), records);
    assert_eq!(fs::read(bench.path("runs")).unwrap(), runs, "something was run");
}

#[test]
fn two_definitions_builds_or_machines_are_not_mixed() {
    let same = |manifest| manifest;
    let nothing = |_: &Bench, _: &Path| {};
    check_refusal(
        nothing,
        |manifest| manifest.replace("--max-time 1", "--max-time 2"),
        "'a' has changed since the run began",
    );
    check_refusal(
        nothing,
        |manifest| manifest.replace("\"b\"", "\"b --x\""),
        "suite.toml has no case 'b'",
    );
    check_refusal(
        nothing,
        |manifest| format!("rules = [{{ words = 'a', needs_cpus = 100000 }}]\n{manifest}"),
        "case 'a' can no longer run here: it needs 100000 CPUs",
    );
    let rebuild = |bench: &Bench, _: &Path| {
        let mut program = fs::File::options().append(true).open(bench.path("a")).unwrap();
        program.write_all(b"# another build\n").unwrap();
    };
    check_refusal(rebuild, same, "'a' has changed since the run began");
    let kernel = |_: &Bench, folder: &Path| {
        edit(folder.join("environment.json"), |json| json["kernel.release"] = "2.4.0".into());
    };
    check_refusal(kernel, same, "kernel.release: 2.4.0 → ");
    let old = |_: &Bench, folder: &Path| {
        edit(folder.join("run.json"), |json| {
            json.as_object_mut().unwrap().remove("procedure");
        });
    };
    check_refusal(old, same, "'a' has changed since the run began");
    let early = |_: &Bench, folder: &Path| fs::remove_file(folder.join("run.json")).unwrap();
    check_refusal(early, same, "there is no run.json");
}

/// How often the test below interrupts a run.
const MOMENTS: usize = 20;

/// The rounds and cases of those runs.
const ROUNDS: usize = 12;
const CASES: [&str; 3] = ["a", "b", "c"];

/// Interrupted at any moment, by SIGINT or SIGKILL, a run leaves a folder that
/// `report` reads and `--resume` completes; no round of a case is lost or run
/// twice.
#[test]
fn a_run_interrupted_at_any_moment_is_completed() {
    let seed = 20_261_121;
    let mut rng = Rng::with_seed(seed);
    let mut in_the_middle = 0;
    for number in 0..MOMENTS {
        let signal = if number % 2 == 0 { Signal::SIGINT } else { Signal::SIGKILL };
        // The moment: after this many records, and a bit more. The last invocation waits for it,
        // however busy the machine is.
        let records = rng.usize(0..ROUNDS * CASES.len());
        let and_then = Duration::from_micros(rng.u64(0..20_000));
        let last = ROUNDS * CASES.len();
        let script = format!(
            "echo run >>runs\n\
             [ $(wc -l <runs) -lt {last} ] || while [ ! -e go ]; do sleep 0.01; done\n\
             sleep 0.005; echo '{RECORD}'"
        );
        let bench = Bench::new(&CASES, &script);
        let brigade = start(&bench, &bounded(number));
        eventually("the moment has come", || lines_of(&bench) >= records);
        thread::sleep(and_then);
        send(&brigade, signal);
        end_of(brigade);
        fs::write(bench.path("go"), "").unwrap();
        eventually("its leftovers have ended", || is_free(&bench.path("lock")));
        let what = format!("{signal} after {records} records and {and_then:?}, seed {seed}");
        in_the_middle += usize::from(is_completed(&bench, &what));
    }
    assert!(in_the_middle >= MOMENTS / 2, "only {in_the_middle} of {MOMENTS} were under way");
}

/// Whether nobody holds the lock, or there never was one.
fn is_free(lock: &Path) -> bool {
    fs::File::open(lock).map_or(true, |file| file.try_lock().is_ok())
}

/// The flags of a run of so many rounds, bounded by time, too, in turn.
fn bounded(number: usize) -> Vec<&'static str> {
    let flags = ["run", "--rounds", "12", "--time", "1000"];
    if number % 4 < 2 { flags[..3].to_vec() } else { flags.to_vec() }
}

/// Completes a run; returns whether there was something to complete.
fn is_completed(bench: &Bench, what: &str) -> bool {
    let folders = bench.result_folders();
    let Some(folder) = folders.first().filter(|folder| folder.join("run.json").exists()) else {
        return false;
    };
    let before = rounds_in(folder);
    let reported = bench.ends(&["report", folder.to_str().unwrap()]);
    assert_eq!((reported.code, reported.stderr.as_str()), (Some(0), ""), "{what}: {reported:?}");
    let ended = bench.resumes();
    assert_eq!(ended.code, Some(0), "{what}: {ended:?}");
    let after = rounds_in(folder);
    assert_eq!(after[..before.len()], before, "{what}: existing files have changed");
    let mut times: BTreeMap<(String, u64), usize> = BTreeMap::new();
    after.into_iter().for_each(|round| *times.entry(round).or_default() += 1);
    assert_eq!(times.len(), ROUNDS * CASES.len(), "{what}: lost: {times:?}");
    assert!(times.values().all(|&times| times == 1), "{what}: run twice: {times:?}");
    before.len() < ROUNDS * CASES.len()
}

#[test]
fn a_stop_ends_the_program_and_is_recorded() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let script =
            "trap 'touch stopped; exit 130' INT; touch ready; while :; do sleep 0.01; done";
        let bench = Bench::new(&["a"], script);
        let brigade = start(&bench, &["run"]);
        eventually("the program is running", || bench.path("ready").exists());
        send(&brigade, signal);
        let ended = end_of(brigade);
        assert_eq!(ended.code, Some(130), "{ended:?}");
        assert!(bench.path("stopped").exists(), "the program was not sent SIGINT");
        assert_eq!(bench.records()[0]["error"], "was interrupted together with the run");
    }
}

#[test]
fn a_second_stop_ends_a_program_that_ignores_the_first() {
    let script = "trap 'touch stopped' INT; touch ready; while :; do sleep 0.01; done";
    let bench = Bench::new(&["a"], script);
    let brigade = start(&bench, &["run"]);
    eventually("the program is running", || bench.path("ready").exists());
    send(&brigade, Signal::SIGINT);
    eventually("the program received the signal", || bench.path("stopped").exists());
    send(&brigade, Signal::SIGINT);
    let ended = end_of(brigade);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(bench.records()[0]["signal"], Signal::SIGKILL as i32);
}
