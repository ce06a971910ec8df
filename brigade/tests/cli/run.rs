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

use crate::bench::{Bench, Ended, RECORD, eventually, records_in, rounds_in};

#[test]
fn every_round_runs_every_case_once_and_saves_its_record() {
    let bench = Bench::new(&["a", "b", "c"], &format!("echo '{RECORD}'"));
    let ended = bench.ends(&["run", "--name", "here", "--seed", "7"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let [.., line, last_line] = &lines[..] else { panic!() };
    assert_eq!(*line, "9 of 9 invocations, profile default, 3 rounds, seed 7");
    assert!(last_line.starts_with("records in "), "{last_line}");
    assert!(last_line.ends_with("-here"), "{last_line}");
    let page = fs::read_to_string(bench.result_folders()[0].join("report.md")).unwrap();
    for text in [&ended.stdout, &page] {
        let count = text.lines().filter(|line| line.contains("Measured on: ")).count();
        assert_eq!(count, 1, "{text}");
    }

    let records = bench.records();
    assert_eq!(records.len(), 9);
    for round in 1..=3 {
        let of_round = records.iter().filter(|record| record["round"] == round);
        let cases: BTreeSet<_> = of_round.map(|record| record["case"].as_str().unwrap()).collect();
        assert_eq!(cases, BTreeSet::from(["a", "b", "c"]));
    }
    assert!(records.iter().all(|record| record["outcome"] == "measured"));
    assert_eq!(records[0]["record"], serde_json::from_str::<Value>(RECORD).unwrap());
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
    assert!(starts("brigade: 2 of 3 done, ") && lines.len() <= 2, "{ended:?}");
}

#[test]
fn the_command_can_be_repeated_and_contains_no_path() {
    let mut bench = Bench::printing(RECORD);
    bench.case_keys = "placement = 'same-cpu'\nflags = ['--stack-size', '1']";
    bench.ends(&["run", "--rounds", "1"]);
    let first = cpus::allowed().unwrap()[0];
    let expected = format!(
        "fake --stack-size 1 --max-time 1 --placement same-cpu --json --quiet --cpus {first}"
    );
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
        let said = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            said.contains(&format!("- a: 1 {outcome}, of 1 started; first: {error}")),
            "{ended:?}"
        );
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
fn cases_can_be_chosen_regardless_of_the_profile() {
    let bench = Bench::new(&["a", "b", "c"], "exit 1");
    let manifest = bench.manifest().replace("[\"default\"]", "[]");
    let ended = Ended::from(
        bench.brigade_with(&manifest, &["run", "--rounds", "1", "--case", "c", "a", "--seed", "1"]),
    );
    let cases: BTreeSet<String> =
        bench.records().iter().map(|record| record["case"].to_string()).collect();
    assert_eq!(cases, ["\"a\"".to_owned(), "\"c\"".to_owned()].into(), "{ended:?}");
}

/// A bench with a second group; one of its two cases is also in the first.
fn with_two_groups() -> (Bench, String) {
    let bench = Bench::new(&["a", "b"], &format!("echo '{RECORD}'"));
    let manifest = bench.manifest().replacen(
        "[programs",
        "[profiles.group]\nrounds = 2\nflags = ['--warmups', '7']\n[programs",
        1,
    );
    let numbers = "[[group]]\nname = 'numbers'\nquestion = 'How many?'\nprogram = 'fake'\n\
                   cases = ['b']\n\
                   [[group.case]]\naxes = { tasks = [2, 50], placement = ['same-cpu'] }\n";
    (bench, manifest + numbers)
}

fn cases_and_rounds(bench: &Bench) -> Vec<(String, u64)> {
    let mut found = rounds_in(&bench.result_folders()[0]);
    found.sort();
    found
}

#[test]
fn a_group_is_run_with_the_profile_for_groups() {
    let (bench, manifest) = with_two_groups();
    let ended = Ended::from(bench.brigade_with(&manifest, &["run", "numbers", "--seed", "1"]));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let names = ["b", "fake 2/same-cpu", "fake 50/same-cpu"];
    let expected: Vec<_> =
        names.iter().flat_map(|name| [1, 2].map(|round| ((*name).to_owned(), round))).collect();
    assert_eq!(cases_and_rounds(&bench), expected);
    let records = bench.records();
    let record = records.iter().find(|record| record["case"] == "fake 2/same-cpu").unwrap();
    assert_eq!(record["round"], 1);
    let first = cpus::allowed().unwrap()[0];
    let words =
        format!("fake --tasks 2 --warmups 7 --placement same-cpu --json --quiet --cpus {first}");
    assert_eq!(record["command"], serde_json::json!(words.split(' ').collect::<Vec<_>>()));

    let run = bench.json("run.json");
    assert_eq!(run["profile"], "group");
    let words = "brigade run numbers --profile group --seed 1";
    assert_eq!(
        run["procedure"]["command"],
        serde_json::json!(words.split(' ').collect::<Vec<_>>())
    );
    let details = serde_json::json!([
        {
            "case": "b", "program": "fake", "group": "numbers",
            "parameters": { "placement": "free", "subcommand": "b" },
        },
        {
            "case": "fake 2/same-cpu", "program": "fake", "group": "numbers",
            "parameters": { "placement": "same-cpu", "tasks": "2" },
        },
        {
            "case": "fake 50/same-cpu", "program": "fake", "group": "numbers",
            "parameters": { "placement": "same-cpu", "tasks": "50" },
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

/// A bench with a case for each pair of CPUs.
fn bench() -> Bench {
    let keys = "placement = 'spread'\naxes = { cpus = 'pairs' }";
    let mut bench = Bench::new(&["core/{cpus}"], &format!("echo '{RECORD}'"));
    bench.case_keys = keys;
    bench
}

/// The CPUs that this process may use, if there are several.
fn several_cpus(what: &str) -> Option<Vec<usize>> {
    let cpus = cpus::allowed().unwrap();
    if cpus.len() < 2 {
        skip(what, "it needs two CPUs");
        return None;
    }
    Some(cpus)
}

#[test]
fn every_pair_is_a_case_that_is_pinned_to_its_cpus() {
    let Some(cpus) = several_cpus("pairs of CPUs") else { return };
    let bench = bench();
    let ended = bench.ends(&["run", "--rounds", "1", "--all-pairs"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let records = records_in(&bench.result_folders()[0]);
    assert_eq!(records.len(), cpus.len() * (cpus.len() - 1) / 2);
    let pair = format!("{},{}", cpus[0], cpus[1]);
    let first = records.iter().find(|of| of["case"] == format!("core/{pair}")).expect("a pair");
    let words: Vec<&str> =
        first["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(words.windows(2).any(|of| of == ["--cpus", &pair]), "{words:?}");
    assert!(words.windows(2).any(|of| of == ["--placement", "spread"]), "{words:?}");
    assert!(
        bench.json("run.json")["procedure"]["command"]
            .as_array()
            .unwrap()
            .contains(&"--all-pairs".into())
    );
}

#[test]
fn a_resumed_run_keeps_its_pairs() {
    let Some(_) = several_cpus("pairs of CPUs") else { return };
    let bench = bench();
    assert_eq!(bench.ends(&["run", "--rounds", "2"]).code, Some(0));
    let folder = &bench.result_folders()[0];
    let (whole, records) = (records_in(folder), folder.join("records.jsonl"));
    let text = fs::read_to_string(&records).unwrap();
    fs::write(&records, format!("{}\n", text.lines().next().unwrap())).unwrap();
    fs::remove_file(folder.join("run-end.json")).unwrap();
    let ended = bench.resumes();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let names =
        |records: &[Value]| -> Vec<Value> { records.iter().map(|of| of["case"].clone()).collect() };
    assert_eq!(names(&records_in(folder)), names(&whole));
}

#[test]
fn on_one_cpu_pairs_are_skipped_with_the_reason() {
    let bench = bench();
    let cpu = cpus::allowed().unwrap()[0].to_string();
    for arguments in [&["run", "--rounds", "1"][..], &["list", "letters"]] {
        let ended = Ended::from(bench.brigade_under(&["taskset", "-c", &cpu], arguments));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let said = ended.stdout.replace("\n  ", " ");
        let expected = "core/pairs: skipped: it needs 2 CPUs, but this process may use 1";
        assert!(said.contains(expected), "{ended:?}");
    }
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
    assert!(ended.stdout.contains("- a: 1 failed, of 1 started; first: "), "{ended:?}");
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
        ("\"fake\"", "\"other\"", "is a record of 'other', not of 'fake'"),
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

#[test]
fn a_run_waits_for_the_lock_if_it_is_asked_to() {
    let bench = Bench::printing(RECORD);
    let lock = fs::File::create(bench.path("lock")).unwrap();
    lock.lock().unwrap();
    let refused = bench.ends(&["run", "--rounds", "1"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let mut waiting = bench.brigade(&["run", "--rounds", "1", "--wait"]).spawn().unwrap();
    let sleeps = format!("{} ", libc::SYS_clock_nanosleep);
    let call = format!("/proc/{}/syscall", waiting.id());
    eventually("it waits", || {
        let call = fs::read_to_string(&call).unwrap_or_default();
        call.starts_with(&sleeps) || waiting.try_wait().unwrap().is_some()
    });
    lock.unlock().unwrap();
    assert_eq!(Ended::from(waiting.wait_with_output().unwrap()).code, Some(0));
}
