//! `brigade` with the programs that it contains, and with programs that a command builds.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::bench::{Bench, Ended, RECORD, json_in, records_in};

/// `brigade` in an empty folder, without a manifest, a repository or guests.
fn alone(bench: &Bench, arguments: &[&str]) -> Ended {
    let mut brigade = Command::new(env!("CARGO_BIN_EXE_brigade"));
    brigade.args(arguments).current_dir(bench.path(""));
    brigade.env("BRIGADE_LOCK", bench.path("lock")).env("XDG_CACHE_HOME", bench.path("cache"));
    Ended::from(brigade)
}

const SHORT: [&str; 6] = ["--tasks", "3", "--iters", "4", "--warmups", "1"];

#[test]
fn a_contained_program_runs_by_its_name_and_as_a_link() {
    let bench = Bench::new(&[], "");
    let ended = alone(&bench, &[&["thread-brigade"], &SHORT[..]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.starts_with("3 tasks, 4 iterations"), "{ended:?}");
    let help = alone(&bench, &["thread-brigade", "--help"]).stdout;
    assert!(help.contains("Usage: thread-brigade [OPTIONS]"), "{help}");
    assert_eq!(alone(&bench, &["thread-brigade", "--nonsense"]).code, Some(2));

    let link = bench.path("thread-brigade");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_brigade"), &link).unwrap();
    let ended = Ended::from(Command::new(link).args(SHORT).output().unwrap());
    assert!(ended.stdout.starts_with("3 tasks, 4 iterations"), "{ended:?}");
}

/// This binary contains every program of the suite that needs no build, and runs it under its name.
#[test]
fn every_program_of_the_suite_is_contained() {
    let suite = concat!(env!("CARGO_MANIFEST_DIR"), "/../suite.toml");
    let suite: toml::Table = fs::read_to_string(suite).unwrap().parse().unwrap();
    let programs = suite["programs"].as_table().unwrap();
    let contained = |table: &toml::Value| table.get("path").or(table.get("build")).is_none();
    let names: Vec<&String> =
        programs.iter().filter(|(_, table)| contained(table)).map(|(name, _)| name).collect();
    assert!(names.len() > 10, "{names:?}");
    let bench = Bench::new(&[], "");
    for name in names {
        let flags = ["--iters=1", "--warmups=0", "--command", "cat /proc/{pid}/comm"];
        let ended = alone(&bench, &[&[name.as_str()], &flags[..]].concat());
        assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
        let shown: String = name.chars().take(15).collect();
        let mut lines = ended.stdout.lines().chain(ended.stderr.lines());
        assert!(lines.any(|line| line == shown), "{name}: {ended:?}");
    }
}

#[test]
fn a_run_starts_contained_programs_as_processes_of_their_names() {
    let bench = Bench::new(&["a"], "");
    let manifest = "[programs]\nthread-brigade = {}\n[[group]]\nname = 'g'\nquestion = 'What?'\n\
                    cases = ['thread-brigade --tasks 2 --max-time 1']\n";
    let run = ["run", "--rounds", "1"];
    let ended = Ended::from(bench.brigade_with(manifest, &run));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let record = &bench.records()[0];
    assert_eq!(record["command"][0], "thread-brigade");
    assert_eq!(record["outcome"], "measured");
    // The program is found under another command, too, in this build or another.
    let build = env!("CARGO_BIN_EXE_brigade");
    let under = ["compare", "--rounds", "1", "--results", "r", "--wrap", "env", "--wrap", "nice"];
    let builds = ["compare", "--rounds", "1", "--results", "b", "--bin", build, "--bin", build];
    for words in [&under[..], &builds[..]] {
        let ended = Ended::from(bench.brigade_with(manifest, words));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        for folder in fs::read_dir(bench.path(words[4])).unwrap() {
            assert_eq!(records_in(&folder.unwrap().path())[0]["outcome"], "measured");
        }
    }
    let unknown = manifest.replace("thread-brigade", "thread-brigand");
    let ended = Ended::from(bench.brigade_with(&unknown, &run));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("brigade contains no program with this name"), "{ended:?}");
}

/// The suite and a folder for results are available without a repository.
#[test]
fn the_file_alone_measures() {
    let bench = Bench::new(&[], "");
    let case = ["thread-switch --via futex --placement same-cpu", "goroutine-brigade"];
    // Outside the workspace, whose guests it would find.
    let file = bench.path("brigade");
    contract::executable::copy(Path::new(env!("CARGO_BIN_EXE_brigade")), &file);
    let mut brigade = Command::new(file);
    brigade.args(["run", "--full", "--rounds", "1"]).args(case).current_dir(bench.path(""));
    let ended = Ended::from(brigade.env("BRIGADE_LOCK", bench.path("lock")).output().unwrap());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let reason = "goroutine-brigade: skipped: no guests next to brigade";
    assert!(ended.stdout.contains(reason), "{ended:?}");
    let folder = fs::read_dir(bench.path("brigade-results")).unwrap().next().unwrap().unwrap();
    let environment = json_in(folder.path().join("environment.json"));
    assert!(environment["software.rustc"].as_str().unwrap().starts_with("rustc "), "{environment}");
    assert!(environment["software.measured_crates.tokio"].is_string(), "{environment}");
    let page = folder.path().join("report.html");
    assert!(fs::read_to_string(page).unwrap().contains("thread-switch --via futex"));
}

/// A bench whose program a tool builds, and a folder for `$PATH` with a `tool`
/// that is this shell script.
fn built_by(tool: &str) -> (Bench, String) {
    let bench = Bench::new(&["a"], "");
    fs::remove_file(bench.path("a")).unwrap();
    for folder in ["source", "path"] {
        fs::create_dir(bench.path(folder)).unwrap();
    }
    if !tool.is_empty() {
        contract::executable::write(&bench.path("path/tool"), format!("#!/bin/sh\n{tool}\n"));
    }
    let build = "needs = [{ command = ['tool', 'version'], version = '1.21' }], \
                 build = { in = 'source', command = ['tool', 'build', '{output}'] }";
    let manifest = bench.manifest().replace("path = 'a'", build);
    (bench, manifest)
}

fn with_its_path(bench: &Bench, manifest: &str, arguments: &[&str]) -> Ended {
    let mut brigade = bench.brigade_with(manifest, arguments);
    brigade.env("PATH", bench.path("path"));
    Ended::from(brigade)
}

#[test]
fn without_its_tool_a_programs_cases_are_skipped_with_the_reason() {
    let (bench, manifest) = built_by("");
    for (arguments, line) in [
        (&["run"][..], "a: skipped: tool is not installed\n"),
        (&["check"], "a: skipped tool is not installed\n"),
        (&["list", "letters"], "a: skipped: tool is not installed\n"),
    ] {
        let ended = with_its_path(&bench, &manifest, arguments);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        assert!(ended.stdout.contains(line), "{arguments:?}: {ended:?}");
    }
    assert_eq!(bench.records().len(), 0);
}

#[test]
fn a_command_of_the_manifest_builds_a_program_in_the_cache() {
    let tool = format!(
        "[ \"$1\" = version ] && echo 1.26.8 && exit\n\
         [ \"$PWD\" = \"$(cd -P ../source && pwd)\" ] || exit 9\n\
         [ \"$1\" = build ] || exit 8\n\
         printf '#!/bin/sh\\necho '\\''%s'\\''\\n' '{RECORD}' >\"$2\"\n\
         /bin/chmod +x \"$2\""
    );
    let (bench, manifest) = built_by(&tool);
    let ended = with_its_path(&bench, &manifest, &["run", "--rounds", "1"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(bench.records()[0]["outcome"], "measured");
    let mut built = fs::read_dir(bench.path("cache/brigade")).unwrap();
    assert!(built.next().unwrap().unwrap().path().join("a").exists());
    assert!(built.next().is_none());
}

#[test]
fn a_program_that_its_tool_cannot_build_is_skipped_with_the_reason() {
    let (bench, manifest) =
        built_by("[ \"$1\" = version ] || { echo trouble; echo undefined: x >&2; exit 1; }");
    let reason = "tool cannot build it: undefined: x";
    for arguments in ["check", "run"] {
        let ended = with_its_path(&bench, &manifest, &[arguments]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        assert!(ended.stdout.contains(reason), "{ended:?}");
    }
    assert_eq!(bench.json("run.json")["skipped"][0]["reason"], reason);
}

#[test]
fn a_failed_build_affects_only_its_own_cases() {
    for tool in ["echo no cache >&2; exit 1", "[ $1 = version ] || { echo no cache >&2; exit 1; }"]
    {
        let (bench, manifest) = built_by(tool);
        let record = RECORD.replace("\"program\":\"a\"", "\"program\":\"other\"");
        contract::executable::write(&bench.path("other"), format!("#!/bin/sh\necho '{record}'\n"));
        let manifest = manifest
            + "[[group]]\nname = 'h'\nquestion = 'Who?'\ncases = ['other']\n\
               [programs.other]\npath = 'other'\n";
        let ended = with_its_path(&bench, &manifest, &["run", "--rounds", "1"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        assert!(ended.stdout.contains("- a: skipped: tool "), "{ended:?}");
        assert!(ended.stdout.contains("no cache"), "{ended:?}");
        assert_eq!(bench.records().len(), 1);
    }
}

/// An earlier build lies with the guests, so nobody needs its tool.
#[test]
fn a_guest_that_was_built_before_needs_no_tool() {
    let (bench, manifest) = built_by("");
    fs::create_dir(bench.path("guests")).unwrap();
    contract::executable::write(&bench.path("guests/a"), format!("#!/bin/sh\necho '{RECORD}'\n"));
    let manifest = format!("guests = 'guests'\n{manifest}");
    let ended = Ended::from(bench.brigade_with(&manifest, &["run", "--rounds", "1"]));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(bench.records()[0]["outcome"], "measured");
}
