//! Tests the scripts from outside: flags in, table and exit code out. Cargo and
//! the programs are replaced by stubs, so that the figures are known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::bench::Ended;

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts").join(name)
}

/// A directory of stubs: tools that precede those in `PATH`, and the release
/// folder of a build.
struct Stage(tempfile::TempDir);

impl Stage {
    /// A stage whose cargo builds nothing, without programs.
    fn new() -> Self {
        let stage = Self(tempfile::tempdir().expect("a temporary directory"));
        stage.write("tools/cargo", "exit 0");
        stage
    }

    /// Adds a shell script that has the value of `--tasks` in `$tasks`.
    fn write(&self, path: &str, body: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("create a directory");
        let find_tasks = "for word; do [ \"$last\" = --tasks ] && tasks=$word; last=$word; done";
        contract::executable::write(&path, format!("#!/bin/sh\n{find_tasks}\n{body}\n"));
    }

    /// Adds a program of the workspace.
    fn program(self, name: &str, body: &str) -> Self {
        self.write(&format!("target/release/{name}"), body);
        self
    }

    /// Runs a script with the stage's tools first, from another directory.
    fn run(&self, name: &str, arguments: &[&str]) -> Ended {
        let tools = self.0.path().join("tools").display().to_string();
        let path = std::env::var("PATH").expect("a search path");
        let mut bash = Command::new("bash");
        bash.arg(script(name)).args(arguments).current_dir(self.0.path());
        bash.env("PATH", format!("{tools}:{path}")).env("TMPDIR", self.0.path());
        bash.env("CARGO_TARGET_DIR", self.0.path().join("target"));
        bash.env_remove("RUST_TEST_THREADS");
        Ended::from(bash)
    }
}

impl Ended {
    /// Asserts a refusal in one line that contains `words`.
    fn refuses(&self, code: i32, words: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        assert!(self.stderr.contains(words), "{self:?}");
    }

    /// Asserts success and returns the last line of standard output.
    fn last_line(&self) -> &str {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout.lines().last().expect("output")
    }
}

/// The last line of pmap, with these KiB.
fn pmap_total(resident: &str) -> String {
    format!("echo \"total kB $((5000 + tasks)) {resident} 7\"")
}

/// Prints a record with this time per operation, as `--json` does.
fn record(ns: &str) -> String {
    let principal = format!(r#"{{"operation":"hop","ns_per_operation":'"{ns}"'}}"#);
    let other = r#"{"operation":"other","ns_per_operation":1}"#;
    let cpu = r#"{"user_ns_per_operation":2}"#;
    format!(r#"echo '{{"iterations":100,"measurements":[{principal},{other}],"cpu":{cpu}}}'"#)
}

#[test]
fn every_script_has_examples_and_refuses_wrong_flags_before_it_builds() {
    let few = ["--from", "10", "--to", "11", "--step", "1"];
    for (name, arguments, words) in [
        ("rss-per-thread.sh", &["--from"] as &[&str], "--from: ''"),
        ("rss-per-task.sh", &few, "fewer than three counts"),
        ("sweep-tasks.sh", &["no-such-program"], "'no-such-program'"),
        ("pinned-vs-free.sh", &["--rounds", "x"], "--rounds: 'x'"),
        ("core-to-core.sh", &["--via", "pipe"], "--via: 'pipe'"),
        ("core-to-core.sh", &["--cpus", "0"], "two CPUs"),
        ("compare-commits.sh", &["--base", "main"], "--bin is missing"),
        ("compare-versions.sh", &["tokio", "1.50.0", "new", "async-brigade"], "'new'"),
    ] {
        let stage = Stage::new();
        stage.write("tools/cargo", "echo built >&2; exit 1");
        stage.run(name, arguments).refuses(2, words);
        let help = stage.run(name, &["--help"]);
        assert_eq!(help.code, Some(0), "{help:?}");
        assert!(help.stdout.starts_with(&format!("Usage: {name} ")), "{help:?}");
        assert!(help.stdout.contains("Examples:") && help.stdout.contains("Exit codes:"));
    }
}

#[test]
fn each_pair_of_cpus_has_its_median() {
    // The figure of a pair is the number of its CPUs, as in 12 for 1 and 2.
    let body =
        "for word; do [ \"$was\" = --cpus ] && ns=$(echo \"$word\" | tr -d ,); was=$word; done\n";
    let stage = Stage::new().program("thread-switch", &(body.to_owned() + &record("$ns")));
    let ended = stage.run("core-to-core.sh", &["--cpus", "1-2,4", "--rounds", "2"]);
    let table = "cpu\t1\t2\t4\n1\t-\t12\t14\n2\t12\t-\t24\n4\t14\t24\t-\n";
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), table), "{ended:?}");
}

#[test]
fn a_verdict_needs_all_three_builds() {
    let stage = Stage::new();
    let folder = stage.0.path();
    let comparison = |verdicts: [&str; 3]| {
        let case = |(name, verdict): (&str, &str)| {
            let ratio = json!({ "value": 1.5, "interval": { "low": 1.25, "high": 1.75 } });
            json!({ "rows": [{ "case": name }], "verdict": verdict, "ratio": ratio })
        };
        let cases: Vec<_> = ["a", "b", "c"].into_iter().zip(verdicts).map(case).collect();
        json!({ "cases": cases }).to_string()
    };
    let files = ["1", "2", "3"].map(|name| folder.join(name));
    for (file, second) in files.iter().zip(["slower", "slower", "unresolved"]) {
        fs::write(file, comparison(["slower", second, "equal"])).unwrap();
    }
    let ended = |fail_on: &str| {
        let mut python = Command::new("python3");
        python.arg(script("three-ways.py")).arg(fail_on).args(&files);
        Ended::from(python)
    };
    let (fails, passes) = (ended("slower"), ended("never"));
    assert_eq!((fails.code, passes.code), (Some(4), Some(0)), "{fails:?}");
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let rows: Vec<Vec<String>> = passes.stdout.lines().skip(2).take(3).map(cells).collect();
    let verdicts: Vec<&str> = rows.iter().map(|row| &*row[4]).collect();
    assert_eq!(verdicts, ["slower", "depends on the build", "equal"], "{passes:?}");
    assert_eq!(rows[0][1], "1.500 [1.250, 1.750]");
}

#[test]
fn memory_that_deviates_from_a_line_gives_the_least_squares_line() {
    // Worked by hand: (1, 1), (2, 3), (3, 4) have slope 3/2, intercept -1/3 and
    // R² 27/28.
    let body = pmap_total("$((tasks == 1 ? 1 : tasks + 1))");
    let stage = Stage::new().program("async-brigade", &body);
    stage.write("tools/pmap", "");
    let ended = stage.run("rss-per-task.sh", &["--from", "1", "--to", "3", "--step", "1"]);
    let line = "# 1.500 KiB per task, intercept -0.3 KiB, R² 0.96429";
    assert_eq!(ended.last_line(), line);
}

#[test]
fn a_refused_count_ends_the_table_and_the_others_give_the_line() {
    let body = "[ \"$tasks\" -le 300 ] || { echo 'thread-brigade: too many' >&2; exit 3; }\n";
    let stage = Stage::new().program("thread-brigade", &(body.to_owned() + &pmap_total("$tasks")));
    stage.write("tools/pmap", "");
    let ended = stage.run("rss-per-thread.sh", &[]);
    ended.refuses(3, "too many");
    assert_eq!(ended.stdout.lines().count(), 1 + 5 + 2, "{ended:?}");
    assert!(ended.stdout.contains("over 100 to 300 threads:\n# 1.000 KiB"), "{ended:?}");
    let too_few = stage.run("rss-per-thread.sh", &["--from", "200", "--step", "100"]);
    too_few.refuses(3, "too many");
    assert!(!too_few.stdout.contains('#'), "two counts make no line: {too_few:?}");
}

#[test]
fn a_sweep_ends_where_a_limit_refuses() {
    let body = format!("[ \"$tasks\" -le 50 ] || exit 3\n{}", record("$((1000 + tasks)).5"));
    let ended =
        Stage::new().program("thread-brigade", &body).run("sweep-tasks.sh", &["thread-brigade"]);
    assert_eq!(ended.last_line(), "50\t1050.5\t100");
    assert!(ended.stdout.starts_with("tasks\tns_per_hop\titerations\n1\t1001.5\t100\n2\t"));
    assert!(ended.stderr.contains("100 tasks are more than fit"), "{ended:?}");
}

#[test]
fn the_ratio_is_that_of_the_medians() {
    let free_or_pinned = |free: &str, pinned: &str| {
        format!("if [ -n \"$PINNED\" ]; then ns={pinned}; else ns={free}; fi\n{}", record("$ns"))
    };
    let stage = Stage::new()
        .program("thread-brigade", &free_or_pinned("9000", "3000"))
        .program("async-brigade", &free_or_pinned("500.5", "500.5"));
    stage.write("tools/taskset", "shift 2; PINNED=1 exec \"$@\"");
    let ended = stage.run("pinned-vs-free.sh", &["--rounds", "2"]);
    let lines: Vec<_> = ended.stdout.lines().collect();
    assert_eq!(lines[1], "1\tthread-brigade\tfree\t9000.0");
    assert_eq!(lines[5], "2\tthread-brigade\tpinned\t3000.0", "the next round starts pinned");
    let expected = "# thread-brigade: median 9000 ns free, 3000 ns pinned, free / pinned 3.00";
    assert_eq!(lines[9], expected);
    assert!(lines[10].ends_with("free / pinned 1.00"), "{ended:?}");
}
