//! `brigade run`, `run --resume` and `check`: what runs, in which order, and what is saved.
//! Interrupted runs are completed, and nothing is lost or run twice.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use contract::control_group::ControlGroup;
use contract::invocation::{at_once, deny};
use contract::skip;
use fastrand::Rng;
use harness::cpus;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::bench::{
    Bench, Ended, RECORD, changed, edit, end_of, eventually, json_in, lines_of, on_terminal,
    rounds_in, send, start,
};

#[test]
fn every_round_runs_every_case_once_and_saves_its_record() {
    let bench = Bench::new(&["a", "b", "c"], &format!("echo '{RECORD}'"));
    let ended = bench.ends(&["run", "--name", "here", "--seed", "7"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!(bench.result_folders()[0].display().to_string().ends_with("-here"));
    assert_eq!(json_in(bench.result_folders()[0].join("run.json"))["seed"], 7);

    let records = bench.records();
    let rounds: BTreeSet<_> = rounds_in(&bench.result_folders()[0]).into_iter().collect();
    assert_eq!((records.len(), rounds.len()), (9, 9));
    assert!(records.iter().all(|record| record["outcome"] == "measured"));
    let of_a = records.iter().find(|record| record["case"] == "a").unwrap();
    assert_eq!(of_a["record"], serde_json::from_str::<Value>(RECORD).unwrap());
}

/// A program of many rounds: it prints `record` as soon as the terminal has shown `line`, or after about
/// three seconds. So a run lasts until then where screens are drawn rarely, and no longer elsewhere.
fn until_shown(line: &str, record: &str) -> String {
    format!(
        r#"
        terminal=$(dirname "$0")/terminal
        looks=0
        until grep -q '{line}' "$terminal" || [ $looks = 60 ]; do
            looks=$((looks + 1))
            sleep 0.05
        done
        echo '{record}'
        "#
    )
}

#[test]
fn a_terminal_shows_the_screen_while_the_rest_is_measured() {
    let bench = Bench::new(&["a", "b"], &until_shown("75.0 ns", RECORD));
    let brigade = bench.brigade(&["run", "--rounds", "60"]);
    let Some(ended) = on_terminal(&brigade, 80, &bench.path("terminal")) else { return };
    let announced =
        "brigade: measures threads, async tasks and processes for 60 rounds; Ctrl-C stops it";
    assert!(ended.stdout.starts_with(announced), "{ended:?}");
    // What ends each frame wraps lines again.
    let frames: Vec<_> = ended.stdout.split("\x1b[?7h").collect();
    assert!(frames[0].contains("0 of 60 rounds"), "{ended:?}");
    let shows_a_figure = |frame: &&str| frame.contains("75.0 ns") && frame.contains(" left");
    assert!(frames.iter().any(shows_a_figure), "{ended:?}");
    assert!(frames.last().unwrap().contains("60 of 60 rounds"), "{ended:?}");
}

/// While it goes on and at its end, but in no file.
#[test]
fn a_terminal_names_the_programs_that_disturb_a_run() {
    let busy = changed(&[(
        r#""steal_ns":null,"wall_ns":null,"others_cpu_ns":null"#,
        r#""steal_ns":0,"wall_ns":10000000000,"others_cpu_ns":3000000000"#,
    )]);
    // Programs of other tests may be busier, and are named instead.
    let named = "other programs took 30 % of the CPUs (";
    let bench = Bench::new(&["a"], &until_shown(named, &busy));
    let hog = bench.path("hog-of-brigade");
    contract::executable::write(&hog, "#!/bin/sh\nwhile :; do :; done\n");
    let count = 1 + cpus::allowed().unwrap().len() / 64;
    let mut hogs: Vec<_> =
        (0..count).map(|_| contract::command(hog.to_str().unwrap()).spawn().unwrap()).collect();
    let brigade = bench.brigade(&["run", "--rounds", "60"]);
    let ended = on_terminal(&brigade, 120, &bench.path("terminal"));
    for hog in &mut hogs {
        hog.kill().unwrap();
        hog.wait().unwrap();
    }
    let Some(ended) = ended else { return };
    // What ends each frame wraps lines again.
    let (frames, end) = ended.stdout.rsplit_once("\x1b[?7h").unwrap();
    assert!(frames.contains(named) && end.contains(named), "{ended:?}");
    for entry in fs::read_dir(&bench.result_folders()[0]).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains("hog-of-brigade") && !text.contains("of the CPUs ("), "{text}");
    }
}

#[test]
fn every_outcome_of_a_program_is_a_record() {
    let twice = format!("{RECORD}\n{RECORD}");
    let printed = |text: &str| format!("cat <<'END'\n{text}\nEND");
    let with = |from, to| changed(&[(from, to)]);
    let mut rows: Vec<(String, &str, &str, i32)> = [
        ("echo oops >&2; exit 1", "failed", "exited with 1: oops", 1),
        ("echo 'what is --x?' >&2; exit 2", "failed", "exited with 2: what is --x?", 2),
        ("kill -SEGV $$", "failed", "SIGSEGV", 1),
        ("yes", "failed", "16 MiB", 1),
        ("echo 'open files: 10' >&2; exit 3", "refused", "open files: 10", 3),
        ("printf '\\303\\050'", "failed", "not text", 1),
    ]
    .map(|(script, outcome, reason, code)| (script.to_owned(), outcome, reason, code))
    .into();
    for (text, reason) in [
        ("garbage", "line 1 column 1"),
        (" \n", "no record"),
        (&RECORD[..RECORD.len() / 2], "EOF"),
        (&twice, "trailing characters"),
        (&twice[..RECORD.len() + 99], "trailing characters"),
        (&"[".repeat(100_000), "reading a record: "),
        (&with("version\":\"1.", "version\":\"2."), "schema version is 2."),
        (&with("\"program\":\"a\"", "\"program\" :\"x\""), "of 'x', not of 'a'"),
        (&with("\"parameters\":{}", "\"parameters\":{\"placement\":\"spread\"}"), "'spread'"),
        (&with("\"iterations\":2", "\"iterations\":7"), "2 samples, not 7"),
        (&with("\"operations\":2", "\"operations\":-2"), "-2"),
        (&with("150.0,\"stddev", "null,\"stddev"), "null"),
    ] {
        rows.push((printed(text), "failed", reason, 1));
    }
    for (script, outcome, reason, code) in rows {
        let bench = Bench::new(&["a"], &script);
        let ended = bench.ends(&["run", "--rounds", "1"]);
        let [record] = &bench.records()[..] else { panic!("not one record") };
        assert_eq!(record["outcome"], outcome, "{reason}: {record}");
        let error = record["error"].as_str().unwrap();
        assert!(error.contains(reason), "{error:?} does not contain {reason:?}");
        assert!(!error.contains('\n'), "{error:?}");
        assert_eq!(ended.code, Some(code), "{reason}: {ended:?}");
    }
}

/// The second with a filter of system calls, as in containers.
#[test]
fn a_case_that_cannot_run_here_is_skipped_with_the_reason() {
    let mut bench = Bench::new(&["a"], "touch ran");
    bench.case_keys = ", needs_cpus = 100000";
    let ended = bench.ends(&["check"]);
    assert!(ended.code == Some(0) && ended.stdout.contains("100000 CPUs"), "{ended:?}");
    for (keys, reason) in
        [(", needs_cpus = 100000", "100000 CPUs"), (", needs_io_uring = true", "io_u")]
    {
        bench.case_keys = keys;
        let mut brigade = bench.brigade(&["run"]);
        // SAFETY: it only makes two system calls, on local values.
        unsafe { brigade.pre_exec(|| deny(libc::SYS_io_uring_setup)) };
        let ended = Ended::from(brigade);
        assert_eq!(ended.code, Some(1), "nothing was measured: {ended:?}");
        assert!(ended.stderr.contains(reason), "{ended:?}");
        let run = json_in(bench.result_folders().last().unwrap().join("run.json"));
        let skipped = &run["skipped"][0];
        assert_eq!(skipped["case"], "a");
        assert!(skipped["reason"].as_str().is_some_and(|why| why.contains(reason)), "{run}");
    }
    assert!(bench.records().is_empty() && !bench.path("ran").exists());
}

#[test]
fn the_reason_of_a_failure_is_the_line_with_the_error_and_the_rest_is_recorded() {
    let lines = "panic: no luck\n\ngoroutine 1 [running]:\n\tmain.go:7 +0x123\n";
    let bench = Bench::new(&["a"], &format!("printf '%b' '{lines}' >&2; exit 1"));
    bench.ends(&["run", "--rounds", "1"]);
    let record = &bench.records()[0];
    assert_eq!(record["error"], "exited with 1: panic: no luck");
    assert!(record["stderr"].as_str().unwrap().contains("main.go:7"), "{record}");
}

#[test]
fn a_process_that_the_kernel_killed_for_memory_failed_for_memory() {
    let group = match ControlGroup::with_most_memory(32 << 20) {
        Ok(group) => group,
        Err(reason) => return skip("running out of memory", &reason),
    };
    let vmstat = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    if !vmstat.contains("oom_kill ") {
        return skip("running out of memory", "the kernel does not count processes that it kills");
    }
    let bench = Bench::new(&["a"], &format!("set -- tail /dev/zero\n{}", group.entering()));
    let ended = bench.ends(&["run", "--rounds", "1"]);
    let error = bench.records()[0]["error"].clone();
    assert!(error.as_str().unwrap().contains("memory ran out"), "{error} {ended:?}");
}

/// A program that refuses `--nope`, as clap does, and measures otherwise.
fn refusing() -> String {
    format!("case \"$*\" in *--nope*) echo \"no --nope\" >&2; exit 2;; esac\necho '{RECORD}'")
}

#[test]
fn a_typed_case_whose_flags_are_refused_ends_the_run() {
    let bench = Bench::new(&["a", "b"], &refusing());
    for words in [&["run", "a --nope"][..], &["run", "b", "a --nope"]] {
        let ended = bench.ends(&[words, &["--rounds", "50"]].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
        assert!(ended.stderr.ends_with(": a --nope: exited with 2: no --nope\n"), "{ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    }
    for folder in bench.result_folders() {
        let rounds = rounds_in(&folder);
        let tried = rounds.iter().filter(|(case, _)| case == "a --nope");
        assert!(tried.count() == 1 && rounds.len() <= 2, "{rounds:?}");
    }
    let ended = bench.ends(&["compare", "--args", "", "--args", "--x", "a --nope"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
}

#[test]
fn a_case_of_a_group_whose_flags_are_refused_is_tried_once_and_listed() {
    let bench = Bench::new(&["a --nope", "b"], &refusing());
    let ended = bench.ends(&["run", "--rounds", "5"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(2), ""), "{ended:?}");
    let records = bench.records();
    let refused = records.iter().find(|record| record["case"] == "a --nope").unwrap();
    assert_eq!(refused["error"], "exited with 2: no --nope");
    let rounds = rounds_in(&bench.result_folders()[0]);
    let count = |name: &str| rounds.iter().filter(|(case, _)| case == name).count();
    assert_eq!((count("a --nope"), count("b")), (1, 5));
    assert!(bench.resumes().stdout.starts_with("nothing to do"));
}

#[test]
fn a_run_that_measures_nothing_fails_with_the_reason() {
    let bench = Bench::new(&["a"], &format!("echo '{RECORD}'"));
    let empty = bench.manifest() + "[[group]]\nname = 'none'\nquestion = 'Which?'\ncases = []\n";
    let sides = ["--args", "", "--args", ""];
    for (manifest, words, reason) in [
        (&*empty, &["run", "--time", "0"][..], "--time"),
        (&empty, &["run", "none"], "no cases"),
        ("", &["run"], "no cases"),
        (&empty, &[&["compare", "--time", "0"], &sides[..]].concat(), "--time"),
        (&empty, &[&["compare", "none"], &sides[..]].concat(), "no cases"),
    ] {
        let ended = Ended::from(bench.brigade_with(manifest, words));
        assert_eq!(ended.code, Some(1), "{words:?}: {ended:?}");
        let lines: Vec<&str> = ended.stderr.lines().collect();
        assert!(lines.last().is_some_and(|line| line.contains(reason)), "{words:?}: {ended:?}");
    }
    let folder = bench.result_folders()[0].display().to_string();
    assert_eq!(bench.ends(&["run", "--resume", &folder]).code, Some(1));
}

#[test]
fn groups_and_cases_are_run_by_name() {
    let bench = Bench::new(&["a", "b --x 1", "c"], &format!("echo '{RECORD}'"));
    let second = "[[group]]\nname = 'c'\nquestion = 'How many?'\ncases = ['a --tasks {2,50}']\n";
    let manifest = bench.manifest() + second;
    let words = ["run", "c", "b --x=1", "--rounds", "2", "--seed", "1"];
    let ended = Ended::from(bench.brigade_with(&manifest, &words));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let mut found = rounds_in(&bench.result_folders()[0]);
    found.sort();
    let names = ["a --tasks 2", "a --tasks 50", "b --x 1"];
    let expected = names.iter().flat_map(|name| [1, 2].map(|round| ((*name).to_owned(), round)));
    assert_eq!(found, expected.collect::<Vec<_>>());

    let run = json_in(bench.result_folders()[0].join("run.json"));
    let words = "brigade,run,c,b --x=1,--rounds,2,--seed,1,--manifest,FILE".split(',');
    assert_eq!(run["procedure"]["command"], json!(words.collect::<Vec<_>>()));
    let detail = json!({
        "case": "a --tasks 2", "program": "a", "group": "c",
        "parameters": { "placement": "free", "tasks": "2" },
    });
    assert_eq!(run["details"][1], detail);
}

#[test]
fn a_check_detects_a_report_that_does_not_match_the_request() {
    let wrong = |from, to| format!("echo '{}'", changed(&[(from, to)]));
    let flags = "--tasks 1 --iters 2 --warmups 0 --placement same-cpu --json --quiet\n";
    let switches = r#""voluntary_per_operation":0.0,"i"#;
    let expected = r#""expected_per_operation":0"#;
    let case = "a --tasks 4000 --max-time 20 --placement same-cpu";
    for (script, says, code) in [
        (format!("echo '{RECORD}'"), ": ok\n1 passed, 0 failed, 0 skipped\n", 0),
        ("echo '--tasks: no files' >&2; exit 3".to_owned(), ": skipped exited with 3: --tasks", 0),
        // The size of the check overrides that of the case.
        ("echo \"$@\" >&2; exit 1".to_owned(), flags, 1),
        (wrong(r#""warmups":0"#, r#""warmups":1"#), "reports 1 for --warmups 0", 1),
        (
            wrong(r#""tasks":1"#, r#""tasks":2"#).replace("task\":150", "task\":75"),
            "reports 2 for --tasks 1",
            1,
        ),
        (wrong(r#""count":2"#, r#""count":3"#), "3 samples, not 2", 1),
        (wrong(r#""mean_ns":150.0"#, r#""mean_ns":0.0"#), "not between 100 and 200 ns", 1),
        (wrong(switches, &switches.replace('0', "1")), "switches per operation, not 0", 1),
        (wrong(expected, r#""expected_per_operation":1"#), "counted 0.000 switches per", 1),
        (wrong(r#""complete":true"#, r#""complete":false"#), "incomplete", 1),
    ] {
        let ended = Bench::new(&[case], &script).ends(&["check"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(code), ""), "{says}: {ended:?}");
        assert!(ended.stdout.contains(says), "{ended:?} does not contain {says:?}");
        assert_eq!(ended.stdout.contains(": FAILED "), code == 1, "{ended:?}");
    }
}

#[test]
fn a_run_is_complete_when_its_time_is_up() {
    let bench = Bench::new(&["a", "b", "c"], &format!("sleep 0.2; echo '{RECORD}'"));
    let ended = bench.ends(&["run", "--time", "0.5"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!((1..=3).contains(&bench.records().len()), "one round does not fit");
    assert!(bench.resumes().stdout.starts_with("nothing to do"));
}

/// On a busy machine the process may be stopped for longer than requested.
#[test]
fn the_time_in_which_a_signal_stopped_a_process_is_recorded() {
    let stop = "(sleep 0.3; kill -CONT $$) & kill -STOP $$; wait;";
    let script =
        format!("echo run >>runs\nif [ $(wc -l <runs) -le 1 ]; then {stop} fi\necho '{RECORD}'");
    let bench = Bench::new(&["a"], &script);
    let ended = bench.ends(&["run"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let stopped: Vec<u64> =
        bench.records().iter().map(|record| record["stopped_ns"].as_u64().unwrap()).collect();
    assert!(stopped[0] > 100_000_000, "{stopped:?}");
    assert_eq!(stopped[1..], [0; 2]);
}

#[test]
fn tasks_that_share_a_cpu_share_another_one_in_the_next_round() {
    let case = "a --stack-size 1 --placement same-cpu";
    let bench = Bench::new(&[case, "a --cpus 0 --placement same-cpu"], &format!("echo '{RECORD}'"));
    assert_eq!(bench.ends(&["run"]).code, Some(0));
    let cpus = cpus::allowed().unwrap();
    for record in bench.records() {
        let round = record["round"].as_u64().unwrap() as usize;
        // A flag of the case overrides it.
        let expected = if record["case"] == case {
            let cpu = cpus[(round - 1) % cpus.len()];
            let flags = "--max-time 1 --placement same-cpu --json --quiet";
            format!("a --stack-size 1 {flags} --cpus {cpu}")
        } else {
            "a --cpus 0 --max-time 1 --placement same-cpu --json --quiet".to_owned()
        };
        // It can be repeated, and contains no path.
        assert_eq!(record["command"], json!(expected.split(' ').collect::<Vec<_>>()));
    }
}

/// The end of a file that `--resume` cuts off.
pub const TORN: &str = "{\"schema_version\":\"1.1\",\"case\":\"";

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
    for torn in ["", TORN] {
        let bench = killed();
        let folder = &bench.result_folders()[0];
        let mut records =
            fs::File::options().append(true).open(folder.join("records.jsonl")).unwrap();
        records.write_all(torn.as_bytes()).unwrap();
        let ended = bench.resumes();
        assert_eq!((ended.code, ended.stderr.is_empty()), (Some(0), torn.is_empty()), "{ended:?}");
        assert_eq!(bench.result_folders().len(), 1);
        assert_eq!(rounds_in(folder), uninterrupted());
    }
}

#[test]
fn an_interrupted_invocation_is_kept_and_run_again() {
    let bench = waiting();
    let brigade = start(&bench, &["run", "--seed", "7"]);
    eventually("the third is running", || bench.path("ready").exists());
    send(&brigade, Signal::SIGINT);
    assert_eq!(end_of(brigade).code, Some(130));
    fs::write(bench.path("go"), "").unwrap();
    let folder = bench.result_folders()[0].display().to_string();
    let screen = bench.ends(&["report", &folder]).stdout;
    let next = format!("next: brigade run --resume {folder} --manifest FILE\n");
    assert!(screen.contains(&next), "{screen}");
    let ended = bench.resumes();
    assert_eq!(ended.code, Some(0), "the interrupted invocation counts as failed: {ended:?}");
    let records = bench.records();
    assert_eq!(records.len(), 7);
    let interrupted = &records[2];
    assert_eq!(interrupted["interrupted"], true);
    let again = records.iter().find(|record| record["attempt"] == 2).unwrap();
    assert_eq!((&again["case"], &again["round"]), (&interrupted["case"], &interrupted["round"]));
}

#[test]
fn two_definitions_builds_or_machines_are_not_mixed() {
    type Change = fn(&Bench, &Path);
    let nothing: Change = |_, _| ();
    let rebuild: Change = |bench, _| {
        let mut program = fs::File::options().append(true).open(bench.path("a")).unwrap();
        program.write_all(b"# another build\n").unwrap();
    };
    let kernel: Change = |_, folder| {
        edit(folder.join("environment.json"), |json| json["kernel.release"] = "2.4.0".into());
    };
    let inherited: Change = |_, folder| {
        edit(folder.join("environment.json"), |json| json["variables.GODEBUG"] = "x".into());
    };
    let old: Change = |_, folder| {
        edit(folder.join("run.json"), |json| _ = json.as_object_mut().unwrap().remove("procedure"));
    };
    let early: Change = |_, folder| fs::remove_file(folder.join("run.json")).unwrap();
    for (change, keys, [from, to], says) in [
        (nothing, "", ["--max-time 1", "--max-time 2"], "'a' has changed since the run began"),
        (
            nothing,
            ", needs_cpus = 100000",
            [""; 2],
            "case 'a' can no longer run here: it needs 100000",
        ),
        (rebuild, "", [""; 2], "'a' has changed since the run began"),
        (kernel, "", [""; 2], "kernel.release: 2.4.0 → "),
        (inherited, "", [""; 2], "variables.GODEBUG: x → "),
        (old, "", [""; 2], "'a' has changed since the run began"),
        (early, "", [""; 2], "there is no run.json"),
    ] {
        let mut bench = killed();
        let folder = bench.result_folders().remove(0);
        change(&bench, &folder);
        bench.case_keys = keys;
        let files = [folder.join("records.jsonl"), bench.path("runs")];
        let state = || files.each_ref().map(|file| fs::read(file).unwrap());
        let before = state();
        let manifest = bench.manifest().replace(from, to);
        let arguments = ["run", "--resume", folder.to_str().unwrap()];
        let ended = Ended::from(bench.brigade_with(&manifest, &arguments));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
        assert!(ended.stderr.starts_with("brigade: --resume "), "{ended:?}");
        assert!(ended.stderr.contains(says), "{ended:?} does not contain {says:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        assert!(state() == before, "something was run");
    }
}

/// The line is typed, and no group has it.
#[test]
fn a_run_of_a_case_that_the_suite_lacks_is_completed() {
    let script = format!(
        "echo run >>runs\n\
         [ $(wc -l <runs) = 2 ] && {{ touch ready; while [ ! -e go ]; do sleep 0.01; done; }}\n\
         echo '{RECORD}'"
    );
    let bench = Bench::new(&["a --tasks 2 --via c"], &script);
    let brigade = start(&bench, &["run", "a --tasks 7"]);
    eventually("the second is running", || bench.path("ready").exists());
    send(&brigade, Signal::SIGINT);
    assert_eq!(end_of(brigade).code, Some(130));
    fs::write(bench.path("go"), "").unwrap();
    let ended = bench.resumes();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let folder = bench.result_folders().remove(0);
    let expected: Vec<_> = (1..=3).map(|round| ("a --tasks 7".to_owned(), round)).collect();
    assert_eq!(rounds_in(&folder), expected);
    // A folder's own words are no flags, and neither are those that run a command.
    fs::remove_file(folder.join("report.md")).unwrap();
    let text = fs::read_to_string(folder.join("run.json")).unwrap();
    for line in ["a --tasks=7 --command=reboot", "a --histogram x", "a -c x", "a --other 1", "z"] {
        let records = fs::read_to_string(folder.join("records.jsonl")).unwrap();
        fs::write(folder.join("run.json"), text.replace("a --tasks 7", line)).unwrap();
        fs::write(folder.join("records.jsonl"), "").unwrap();
        let ended = bench.resumes();
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
        assert!(ended.stderr.contains("suite.toml has no case"), "{ended:?}");
        fs::write(folder.join("records.jsonl"), records).unwrap();
    }
    assert_eq!(fs::read_to_string(bench.path("runs")).unwrap().lines().count(), 4);
}

#[test]
fn pages_that_a_full_disk_has_prevented_are_written_later() {
    let bench = Bench::printing(RECORD);
    assert_eq!(bench.ends(&["run"]).code, Some(0));
    let folder = bench.result_folders().remove(0);
    let pages = ["report.md", "report.html"].map(|name| folder.join(name));
    let before = pages.each_ref().map(|page| fs::read_to_string(page).unwrap());
    fs::remove_file(&pages[1]).unwrap();
    let ended = bench.resumes();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(pages.each_ref().map(|page| fs::read_to_string(page).unwrap()), before);
    assert!(bench.resumes().stdout.starts_with("nothing to do"));
}

/// Interrupted at any moment, by SIGINT or SIGKILL, a run leaves a folder that `report` reads and
/// `--resume` completes; no round of a case is lost or run twice.
#[test]
fn a_run_interrupted_at_any_moment_is_completed() {
    const MOMENTS: usize = 20;
    const CASES: [&str; 3] = ["a", "b", "c"];
    const LAST: usize = 12 * CASES.len();
    let mut rng = Rng::with_seed(20_261_121);
    // The moment: after this many records, and a bit more. The last invocation waits for it, however
    // busy the machine is.
    let moments: Vec<_> = (0..MOMENTS)
        .map(|number| (number, rng.usize(0..LAST), Duration::from_micros(rng.u64(0..20_000))))
        .collect();
    let in_the_middle = AtomicUsize::new(0);
    let check = |&(number, records, and_then): &(usize, usize, Duration)| {
        let signal = if number % 2 == 0 { Signal::SIGINT } else { Signal::SIGKILL };
        let script = format!(
            "echo run >>runs\n\
             [ $(wc -l <runs) -lt {LAST} ] || while [ ! -e go ]; do sleep 0.01; done\n\
             sleep 0.005; echo '{RECORD}'"
        );
        let bench = Bench::new(&CASES, &script);
        // In every other pair, bounded by time, too.
        let flags = ["run", "--rounds", "12", "--time", "1000"];
        let brigade = start(&bench, if number % 4 < 2 { &flags[..3] } else { &flags });
        eventually("the moment has come", || lines_of(&bench) >= records);
        thread::sleep(and_then);
        send(&brigade, signal);
        end_of(brigade);
        fs::write(bench.path("go"), "").unwrap();
        let is_free = |lock: fs::File| lock.try_lock().is_ok();
        let lock = bench.path("lock");
        eventually("its leftovers have ended", || fs::File::open(&lock).map_or(true, is_free));
        let what = format!("{signal} after {records} records and {and_then:?}");
        let folders = bench.result_folders();
        let Some(folder) = folders.first().filter(|folder| folder.join("run.json").exists()) else {
            return;
        };
        let before = rounds_in(folder);
        let reported = bench.ends(&["report", folder.to_str().unwrap()]);
        assert_eq!(
            (reported.code, reported.stderr.as_str()),
            (Some(0), ""),
            "{what}: {reported:?}"
        );
        let ended = bench.resumes();
        assert_eq!(ended.code, Some(0), "{what}: {ended:?}");
        let mut after = rounds_in(folder);
        assert_eq!(after[..before.len()], before, "{what}: existing files have changed");
        assert_eq!(after.len(), LAST, "{what}: {after:?}");
        after.sort();
        after.dedup();
        assert_eq!(after.len(), LAST, "{what}: run twice");
        in_the_middle.fetch_add(usize::from(before.len() < LAST), Relaxed);
    };
    for few in moments.chunks(4) {
        at_once(few, check);
    }
    let found = in_the_middle.into_inner();
    assert!(found >= MOMENTS / 2, "only {found} of {MOMENTS} were under way");
}
