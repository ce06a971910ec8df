//! `brigade report --hosts` and `brigade compare --hosts`: many machines that are made up.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bench::{Bench, Ended, RECORD};
use crate::fleet::Fleet;

const FLEET: Fleet =
    Fleet { hosts: 24, slow: 3, slower: 1.15, cases: 3, rounds: 6, seed: 1, date: "2026-11-23" };

fn made_up(fleet: Fleet) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fleet.write(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), folder.path()).unwrap();
    folder
}

fn folders(of: &TempDir) -> Vec<PathBuf> {
    let entries = fs::read_dir(of.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.collect();
    folders.sort();
    folders
}

fn brigade(words: &[&str], folders: &[PathBuf]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brigade"));
    Ended::from(command.args(words).args(folders).output().unwrap())
}

fn report(folders: &[PathBuf]) -> Value {
    let ended = brigade(&["report", "--hosts", "--format", "json"], folders);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.stdout).unwrap()
}

fn named(report: &Value, standing: &str) -> Vec<String> {
    let hosts = report["hosts"].as_array().unwrap().iter();
    let found = hosts.filter(|host| host["standing"] == standing);
    let mut names: Vec<String> =
        found.map(|host| host["host"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

fn edit(folder: &Path, name: &str, change: impl FnOnce(&mut Value)) {
    let path = folder.join(name);
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

#[test]
fn the_slow_hosts_are_found_with_what_they_share() {
    let fleet = made_up(FLEET);
    let found = report(&folders(&fleet));
    assert_eq!(named(&found, "slower"), ["node-0000", "node-0001", "node-0002"]);
    assert_eq!(found["shared"][0]["fact"], "processor.governor");
    assert_eq!(found["shared"][0]["content"], "powersave");
    assert_eq!(found["left_out"], json!([]));
    // What each format says of the slowest host.
    let slowest = found["hosts"][0]["host"].as_str().unwrap();
    for format in ["text", "html", "csv"] {
        let ended = brigade(&["report", "--hosts", "--format", format], &folders(&fleet));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        assert!(ended.stdout.contains(slowest) && ended.stdout.contains("slower"), "{format}");
    }
    // A folder is one of a run like any other.
    let one = brigade(&["report"], &folders(&fleet)[..1]);
    assert_eq!(one.code, Some(0), "{one:?}");
    assert!(one.stdout.contains("ring-0/free"), "{one:?}");
}

#[test]
fn what_is_no_folder_of_such_a_host_costs_itself_and_one_line() {
    let fleet = made_up(FLEET);
    let folders = folders(&fleet);
    let [torn, newer, other_type, link, unknown, half] =
        [18, 19, 20, 21, 22, 23].map(|of| &folders[of]);
    fs::write(torn.join("run.json"), "{\"schema_version\":").unwrap();
    edit(newer, "environment.json", |of| of["schema_version"] = json!("99.0"));
    edit(other_type, "environment.json", |of| of["processor"]["online_cpus"] = json!(64));
    fs::remove_file(link.join("records.jsonl")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", link.join("records.jsonl")).unwrap();
    fs::remove_dir_all(unknown).unwrap();
    // A part is left out, and the rest counts.
    let records = fs::read_to_string(half.join("records.jsonl")).unwrap();
    fs::write(half.join("records.jsonl"), &records[..records.len() - 100]).unwrap();
    let ended = brigade(&["report", "--hosts", "--format", "json"], &folders);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 6, "{lines:?}");
    for (folder, said) in [
        (torn, "left out: "),
        (newer, "99.0"),
        (other_type, "64 CPUs"),
        (link, "not a regular file"),
        (unknown, "left out: "),
        (half, "ends in the middle"),
    ] {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let of_folder: Vec<_> = lines.iter().filter(|line| line.contains(name)).collect();
        assert!(matches!(of_folder[..], [line] if line.contains(said)), "{name}: {lines:?}");
    }
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(found["hosts"].as_array().unwrap().len(), 19);
    assert_eq!(found["left_out"].as_array().unwrap().len(), 5);
    assert_eq!(named(&found, "slower").len(), 3);
}

#[test]
fn nothing_that_can_be_read_is_an_error() {
    let ended = brigade(&["report", "--hosts"], &[PathBuf::from("nowhere")]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(ended.stderr.contains("none of 1 folders can be read"), "{ended:?}");
    let ended = brigade(&["report", "--hosts", "--format", "bmf"], &[PathBuf::from("nowhere")]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

/// The comparison of the first hosts of a fleet with further ones.
fn compared(words: &[&str], groups: [&[PathBuf]; 2]) -> (Ended, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brigade"));
    command.args(["compare", "--format", "json"]).args(words).args(groups[0]).arg("--");
    let ended = Ended::from(command.args(groups[1]).output().unwrap());
    let found = serde_json::from_str(&ended.stdout).unwrap_or_default();
    (ended, found)
}

#[test]
fn two_groups_of_hosts_are_compared_with_the_host_as_sample() {
    let fleet = made_up(Fleet { slow: 12, ..FLEET });
    let folders = folders(&fleet);
    let (ended, found) = compared(&["--hosts"], [&folders[12..], &folders[..12]]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(
        (&found["design"], &found["candidate"]["records"]),
        (&json!("hosts"), &json!("12 hosts"))
    );
    for case in found["cases"].as_array().unwrap() {
        assert_eq!((&case["verdict"], &case["rounds"]), (&json!("slower"), &json!([12, 12])));
    }
    let governor = json!({ "name": "processor.governor", "values": ["performance", "powersave"] });
    assert_eq!(found["environment_differences"], json!([governor]));
    let (ended, _) =
        compared(&["--hosts", "--fail-on", "slower"], [&folders[12..], &folders[..12]]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
}

#[test]
fn boots_are_the_sample_whatever_their_folders_are_called() {
    let fleet = made_up(Fleet { slow: 12, ..FLEET });
    let folders = folders(&fleet);
    // Two runs of one boot are one of the sample.
    let boot = fs::read_to_string(folders[0].join("environment.json")).unwrap();
    fs::write(folders[1].join("environment.json"), boot).unwrap();
    // One that does not say is complained of.
    edit(&folders[2], "environment.json", |of| of["boot"] = Value::Null);
    let (ended, found) = compared(&["--by", "boot"], [&folders[12..], &folders[..12]]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    assert!(ended.stderr.contains("which boot"), "{ended:?}");
    assert_eq!(found["design"], "boots");
    let case = &found["cases"][0];
    assert_eq!((&case["verdict"], &case["rounds"]), (&json!("slower"), &json!([12, 10])));
}

#[test]
fn groups_without_the_word_that_joins_them_are_a_usage_error() {
    let folders = [PathBuf::from("a"), PathBuf::from("b"), PathBuf::from("c")];
    for ended in [
        brigade(&["compare"], &folders),
        compared(&[], [&folders[..1], &folders[1..]]).0,
        brigade(&["compare", "--hosts"], &folders),
        brigade(&["report", "--margin", "5"], &folders),
    ] {
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    }
}

// The page's own example of a fleet: eight hosts on two days, and a run that is made here.
#[test]
fn every_command_of_the_document_runs_as_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let bench = Bench::printing(RECORD);
    fs::write(bench.path("suite.toml"), bench.manifest()).unwrap();
    for (date, seed) in [("2026-11-22", 1), ("2026-11-23", 2)] {
        let fleet = Fleet { hosts: 8, slow: 1, slower: 1.5, seed, date, ..FLEET };
        fleet.write(&root, &bench.path("results")).unwrap();
    }
    let document = fs::read_to_string(root.join("docs/FLEET.md")).unwrap();
    let commands: Vec<&str> =
        document.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(commands.len() >= 4, "{commands:?}");
    let brigade = Path::new(env!("CARGO_BIN_EXE_brigade")).parent().unwrap();
    let path = format!("{}:{}", brigade.display(), std::env::var("PATH").unwrap());
    let mut printed = String::new();
    for words in commands {
        let mut shell = Command::new("bash");
        shell.args(["-ec", words]).current_dir(bench.path("")).env("PATH", &path);
        let ended = Ended::from(shell);
        assert_eq!(ended.code, Some(0), "{words}: {ended:?}");
        printed += &ended.stdout;
    }
    let table = printed.split("Which hosts differ?").nth(1).unwrap();
    assert!(table.lines().nth(2).unwrap().starts_with("node-0000 "), "{table}");
    assert!(bench.path("fleet.html").exists() && bench.path("fleet.csv").exists());
}
