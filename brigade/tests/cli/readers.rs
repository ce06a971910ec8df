//! Reads Brigade's output with other programs: CSV and records with DuckDB. A test is skipped if its
//! program is not installed; `.ci/run` installs them all.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use contract::skip;
use serde_json::{Value, json};

/// A default run.
const RUN: &str = "2026-11-22-intel-xeon-6-207-2cpu";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The output of a program, for a test that is skipped without it.
fn printed(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("it can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Whether Python has this module; without it the test of `what` is skipped.
fn has_module(module: &str, package: &str, what: &str) -> bool {
    let mut python = Command::new("python3");
    python.args(["-c", &format!("import {module}")]).stderr(Stdio::null());
    let has = python.status().is_ok_and(|status| status.success());
    if !has {
        skip(what, &format!("Python has no module '{module}': python3 -m pip install {package}"));
    }
    has
}

/// The rows of a query in DuckDB.
fn rows(query: &str) -> Vec<Value> {
    const ASK: &str = "
import duckdb, json, sys
rows = duckdb.execute(sys.argv[1])
names = [column[0] for column in rows.description]
print(json.dumps([dict(zip(names, row)) for row in rows.fetchall()], default=str))
";
    let printed = printed(Command::new("python3").args(["-c", ASK, query]).current_dir(root()));
    serde_json::from_str::<Value>(&printed).unwrap().as_array().unwrap().clone()
}

/// The report of a recorded run in this format.
fn report(format: &str, run: &str) -> String {
    let mut brigade = Command::new(env!("CARGO_BIN_EXE_brigade"));
    brigade.current_dir(root()).args(["report", "--format", format]);
    printed(brigade.arg(format!("results/{run}")))
}

#[test]
fn duckdb_reads_the_csv_with_its_types() {
    if !has_module("duckdb", "duckdb", "CSV in DuckDB") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = report("csv", RUN);
    fs::write(folder.path().join("report.csv"), &text).unwrap();
    let types = rows(&format!("DESCRIBE FROM '{}/report.csv'", folder.path().display()));
    let of = |name: &str| types.iter().find(|of| of["column_name"] == name).unwrap();
    for (name, kind) in [("case", "VARCHAR"), ("round", "BIGINT"), ("ns", "DOUBLE")] {
        assert_eq!(of(name)["column_type"], kind, "{name}");
    }
    let query = format!(
        "SELECT count(*) AS rows, count(DISTINCT host) AS hosts,
             count(parameters::JSON->>'placement') AS placed
         FROM '{}/report.csv'",
        folder.path().display()
    );
    let count = text.lines().count() - 1;
    let expected = json!([{ "rows": count, "hosts": 1, "placed": count }]);
    assert_eq!(json!(rows(&query)), expected);
}
