//! `brigade run`: what runs, in which order, and what is saved.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use contract::invocation::deny;
use contract::skip;
use harness::cpus;
use serde_json::Value;

use crate::bench::{Bench, Ended, RECORD, records_in, rounds_in};

#[test]
fn every_round_runs_every_case_once_and_saves_its_record() {
    let bench = Bench::new(&["a", "b", "c"], &format!("echo '{RECORD}'"));
    let ended = bench.ends(&["run", "--name", "here", "--seed", "7"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!(bench.result_folders()[0].display().to_string().ends_with("-here"));
    assert_eq!(bench.json("run.json")["seed"], 7);

    let records = bench.records();
    assert_eq!(records.len(), 9);
    for round in 1..=3 {
        let of_round = records.iter().filter(|record| record["round"] == round);
        let cases: BTreeSet<_> = of_round.map(|record| record["case"].as_str().unwrap()).collect();
        assert_eq!(cases, BTreeSet::from(["a", "b", "c"]));
    }
    assert!(records.iter().all(|record| record["outcome"] == "measured"));
    let of_a = records.iter().find(|record| record["case"] == "a").unwrap();
    assert_eq!(of_a["record"], serde_json::from_str::<Value>(RECORD).unwrap());
}

#[test]
fn a_terminal_shows_a_line_that_fits_and_the_figures_while_the_rest_is_measured() {
    let bench = Bench::new(&["a", "b"], &format!("echo '{RECORD}'"));
    let brigade = bench.brigade(&["run"]);
    let words: Vec<_> = brigade.get_args().map(|word| word.to_str().unwrap()).collect();
    let program = brigade.get_program().to_str().unwrap();
    let line = format!("stty rows 30 cols 40; {program} {}", words.join(" "));
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &line, "/dev/null"]).current_dir(bench.path("")).stdin(Stdio::null());
    terminal.env("BRIGADE_LOCK", bench.path("lock")).env("LANG", "C.UTF-8").env("TERM", "xterm");
    let Ok(output) = terminal.output() else {
        return skip("figures on a terminal", "script is not installed");
    };
    let ended = Ended::from(output);
    let (figure, last_bar) = (ended.stdout.find("75.0 ns"), ended.stdout.rfind("░"));
    assert!(figure.is_some() && figure < last_bar, "{ended:?}");
    // 40 columns have room for the bar and `0 seconds left,`.
    assert!(ended.stdout.contains(" left,") && !ended.stdout.contains("round 1"), "{ended:?}");
}

#[test]
fn without_a_terminal_a_line_is_printed_now_and_then() {
    let bench = Bench::new(&["a"], &format!("sleep 16; echo '{RECORD}'"));
    let ended = bench.ends(&["run"]);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    let starts = |start: &str| lines.iter().any(|line| line.starts_with(start));
    // On a busy machine there may be one before.
    assert!(starts("brigade: 67 % done, ") && lines.len() <= 2, "{ended:?}");
}

#[test]
fn the_command_can_be_repeated_and_contains_no_path() {
    let case = "a --stack-size 1 --placement same-cpu";
    let bench = Bench::new(&[case], &format!("echo '{RECORD}'"));
    bench.ends(&["run", "--rounds", "1"]);
    let first = cpus::allowed().unwrap()[0];
    let expected =
        format!("a --stack-size 1 --max-time 1 --placement same-cpu --json --quiet --cpus {first}");
    let words: Vec<_> = expected.split(' ').collect();
    assert_eq!(bench.records()[0]["command"], serde_json::json!(words));
}

#[test]
fn an_earlier_run_is_never_touched() {
    let bench = Bench::printing(RECORD);
    for _ in 0..3 {
        assert_eq!(bench.ends(&["run", "--name", "x", "--rounds", "1"]).code, Some(0));
    }
    let folders = bench.result_folders();
    let names: Vec<_> =
        folders.iter().map(|folder| folder.file_name().unwrap().to_str().unwrap()).collect();
    let (dates, suffixes): (Vec<_>, Vec<_>) =
        names.iter().map(|name| name.split_at("2026-01-01".len())).unzip();
    // At midnight the numbers start again.
    if dates.iter().all(|date| *date == dates[0]) {
        assert_eq!(suffixes, ["-x", "-x-2", "-x-3"], "{names:?}");
    }
    assert_eq!(folders.len(), 3, "{names:?}");
    assert!(folders.iter().all(|folder| records_in(folder).len() == 1));
}

#[test]
fn every_outcome_of_a_program_is_a_record() {
    for (script, outcome, reason, code) in [
        ("echo oops >&2; exit 1", "failed", "exited with 1: oops", 1),
        ("kill -SEGV $$", "failed", "ended by SIGSEGV: it gave no reason", 1),
        ("yes", "failed", "standard output exceeded 16 MiB", 1),
        ("echo 'open files: 10' >&2; exit 3", "refused", "open files: 10", 3),
    ] {
        let bench = Bench::new(&["a"], script);
        let ended = bench.ends(&["run", "--rounds", "1"]);
        let record = &bench.records()[0];
        assert_eq!(record["outcome"], outcome, "{script}: {record}");
        let error = record["error"].as_str().unwrap();
        assert!(error.contains(reason), "{script}: {error:?} does not contain {reason:?}");
        assert_eq!(ended.code, Some(code), "{script}: {ended:?}");
        let printed = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(printed.contains(error), "{ended:?}");
        // Paths can have any length.
        let place = bench.path("").display().to_string();
        let mut words = ended.stdout.lines().filter(|line| !line.contains(&place));
        assert!(words.all(|line| line.chars().count() <= 80), "{ended:?}");
    }
}

#[test]
fn a_case_that_needs_more_cpus_is_skipped_without_running() {
    let mut bench = Bench::new(&["a"], "touch ran");
    bench.case_keys = "needs_cpus = 100000";
    for (command, line) in [
        ("run", "\n- a: skipped: it needs 100000 CPUs"),
        ("check", "a: skipped it needs 100000 CPUs"),
    ] {
        let ended = bench.ends(&[command]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains(line), "{ended:?}");
    }
    assert!(bench.records().is_empty() && !bench.path("ran").exists());
}

/// With a filter of system calls, as in containers.
#[test]
fn a_case_that_needs_io_uring_is_skipped_with_the_reason_if_it_is_denied() {
    let mut bench = Bench::printing(RECORD);
    bench.case_keys = "needs_io_uring = true";
    let mut brigade = bench.brigade(&["run"]);
    // SAFETY: it only makes two system calls, on local values.
    unsafe { brigade.pre_exec(|| deny(libc::SYS_io_uring_setup)) };
    let ended = Ended::from(brigade);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("\n- a: skipped: no io_uring: "), "{ended:?}");
    assert_eq!(bench.records().len(), 0);
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

    let run = bench.json("run.json");
    let words = ["brigade", "run", "c", "b --x=1", "--rounds", "2", "--seed", "1"];
    assert_eq!(run["procedure"]["command"], serde_json::json!(words));
    let details = serde_json::json!([
        {
            "case": "b --x 1", "program": "b", "group": "letters",
            "parameters": { "placement": "free", "x": "1" },
        },
        {
            "case": "a --tasks 2", "program": "a", "group": "c",
            "parameters": { "placement": "free", "tasks": "2" },
        },
        {
            "case": "a --tasks 50", "program": "a", "group": "c",
            "parameters": { "placement": "free", "tasks": "50" },
        },
    ]);
    assert_eq!(run["details"], details);
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let bench = Bench::printing(RECORD);
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut brigade = bench.brigade(&["run"]);
    let ended = Ended::from(brigade.stdout(writer).stderr(Stdio::piped()).output().unwrap());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

/// Runs a program that prints these bytes and exits with 0, and checks the
/// saved record and the messages.
fn check_failure(printed: impl AsRef<[u8]>, reason: &str) {
    let bench = Bench::new(&["a"], "cat printed");
    fs::write(bench.path("printed"), printed).unwrap();
    let ended = bench.ends(&["run", "--rounds", "1"]);
    assert_eq!(ended.code, Some(1), "{reason}: {ended:?}");
    let [line] = &bench.records()[..] else { panic!("not one record") };
    assert_eq!(line["outcome"], "failed", "{reason}");
    let error = line["error"].as_str().unwrap();
    assert!(error.contains(reason), "{error:?} does not contain {reason:?}");
    assert!(!error.contains('\n'), "{error:?}");
}

/// The valid record with `from` replaced by `to`.
fn with(from: &str, to: &str) -> String {
    assert!(RECORD.contains(from), "{from} is not in the record");
    RECORD.replacen(from, to, 1)
}

#[test]
fn output_that_is_no_record_is_a_failure() {
    let twice = format!("{RECORD}\n{RECORD}");
    let long = RECORD.to_owned() + &" ".repeat(1 << 20) + ".";
    for (printed, reason) in [
        ("garbage", "reading a record: expected value at line 1 column 1"),
        (" \n\n", "printed no record"),
        (&RECORD[..RECORD.len() / 2], "reading a record: EOF while parsing"),
        (&twice, "printed 2 JSON values instead of one record"),
        (&twice[..RECORD.len() + 99], "reading a record: trailing characters"),
        (&"[".repeat(100_000), "reading a record: "),
        (&long, "more than 1048576"),
        (r#"{"schema_version":"9.0"}"#, "its schema version is 9.0"),
        (&with("version\":\"1.", "version\":\"2."), "its schema version is 2."),
    ] {
        check_failure(printed, reason);
    }
    check_failure([RECORD.as_bytes(), &[0xc3, 0x28]].concat(), "its standard output is not text");
}

#[test]
fn a_wrong_record_is_a_failure() {
    for (from, to, reason) in [
        ("\"program\":\"a\"", "\"program\":\"x\"", "is a record of 'x', not of 'a'"),
        (
            "\"parameters\":{}",
            "\"parameters\":{\"placement\":\"spread\"}",
            "reports the placement 'spread', not 'free'",
        ),
        ("\"iterations\":2", "\"iterations\":7", "reports 2 samples, not 7, its iterations"),
        ("\"count\":2", "\"count\":0", "'iteration': has 0 samples of 2 operations"),
        ("\"operations\":2", "\"operations\":-2", "invalid value: integer `-2`"),
        ("150.0,\"stddev", "NaN,\"stddev", "reading a record: expected value"),
        ("150.0,\"stddev", "null,\"stddev", "reading a record: invalid type: null"),
    ] {
        check_failure(with(from, to), reason);
    }
}
