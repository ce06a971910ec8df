//! The scripts, with a cargo and a brigade that are scripts themselves.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use contract::executable;
use serde_json::json;
use tempfile::TempDir;

use crate::bench::Ended;

/// A script of the repository.
fn script(name: &str) -> Command {
    let mut bash = contract::command("bash");
    bash.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name));
    bash
}

/// A folder with these shell scripts, and a `$PATH` that begins with it.
fn tools(scripts: &[(&str, &str)]) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in scripts {
        executable::write(&folder.path().join(name), format!("#!/bin/sh\n{text}\n"));
    }
    let path = std::env::var("PATH").expect("a PATH");
    let path = format!("{}:{path}", folder.path().display());
    (folder, path)
}

#[test]
fn ranges_have_a_bound_that_is_named() {
    let (_folder, path) = tools(&[("cargo", "exit 1")]);
    for (name, arguments, named) in [
        ("scripts/core-to-core.sh", &["--cpus", "0-999999999"][..], "0-999999999"),
        ("scripts/core-to-core.sh", &["--cpus", "1-0"], "1-0"),
        ("scripts/core-to-core.sh", &["--cpus", &"0,".repeat(3000)], "6000 characters"),
        ("scripts/rss-per-task.sh", &["--from", "1", "--to", "999999999", "--step", "1"], "--to"),
        (".ci/test-elsewhere", &["plain:999999999"], "plain"),
        (".ci/action", &["999999999"], "999999999"),
    ] {
        let mut command = script(name);
        let ended = Ended::from({
            command.args(arguments).env("PATH", &path);
            command
        });
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{name}: {ended:?}");
        assert!(ended.stderr.contains(named) && ended.stderr.lines().count() == 1, "{ended:?}");
    }
}

/// A folder with these programs where cargo puts those of a target, and a cargo that names them.
fn built(programs: &[&str]) -> (TempDir, String) {
    let (folder, path) = tools(&[]);
    let release = folder.path().join("x86_64-unknown-linux-gnu/release");
    fs::create_dir_all(&release).expect("a folder");
    let mut messages = vec![json!({"reason": "compiler-artifact", "executable": null})];
    for program in programs {
        let file = release.join(program);
        symlink(env!("CARGO_BIN_EXE_brigade"), &file).expect("a link");
        messages.push(json!({"reason": "compiler-artifact", "executable": file}));
    }
    let lines: String = messages.iter().map(|message| format!("echo '{message}'\n")).collect();
    executable::write(&folder.path().join("cargo"), format!("#!/bin/sh\n{lines}"));
    (folder, path)
}

/// Wherever cargo's settings put it: `build.target` adds a folder for the target's name.
#[test]
fn a_script_runs_the_program_that_cargo_names() {
    let (_folder, path) = built(&["thread-brigade"]);
    let mut sweep = script("scripts/sweep-tasks.sh");
    sweep.args(["--to", "1", "thread-brigade", "--max-time", "0.01"]).env("PATH", &path);
    sweep.env("CARGO_TARGET_DIR", "/nonexistent");
    let ended = Ended::from(sweep);
    assert_eq!((ended.code, ended.stdout.lines().count()), (Some(0), 2), "{ended:?}");
}

#[test]
fn a_time_limit_is_given_in_two_words_or_in_one() {
    let (_folder, path) = built(&["thread-brigade", "async-brigade"]);
    for (name, arguments) in [
        ("scripts/sweep-tasks.sh", &["--to", "1", "thread-brigade"][..]),
        ("scripts/pinned-vs-free.sh", &["--rounds", "1", "--tasks", "2"]),
    ] {
        for (flag, code) in [("--max-time=0.01", 0), ("--max-time", 2)] {
            if code == 0
                && name.contains("pinned")
                && contract::command("taskset").arg("--version").output().is_err()
            {
                contract::skip(name, "taskset is not installed");
                continue;
            }
            let mut script = script(name);
            script.args(arguments).arg(flag).env("PATH", &path);
            let ended = Ended::from(script);
            assert_eq!(ended.code, Some(code), "{name} {flag}: {ended:?}");
            assert_eq!(ended.stderr.contains("--max-time"), code == 2, "{name}: {ended:?}");
        }
    }
}

/// The function of `.ci/run`, with experiments that print the next of `attempts` each time.
#[test]
fn an_experiment_that_failed_passes_only_if_it_is_decided_again() {
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ci/run");
    let failed = "echo 'test lab::a ... FAILED'; return 1";
    let undecided = "echo 'SKIPPED: a: not decided: busy'; echo 'test lab::a ... ok'";
    let many = "for i in 1 2 3; do echo 'SKIPPED: a: not decided: busy'; done";
    let passed = "echo 'test lab::a ... ok'";
    for (attempts, code) in [
        ([failed, passed], 0),
        ([failed, failed], 1),
        ([failed, undecided], 1),
        ([undecided, failed], 0),
        ([many, undecided], 0),
        ([many, many], 1),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut bash = contract::command("bash");
        bash.args([
            "-euo",
            "pipefail",
            "-c",
            "eval \"$(sed -n '/^prove() {/,/^}/p' \"$0\")\"\n\
            readonly MOST_UNDECIDED=2 scratch=$1\n\
            prove_with() { if mkdir \"$scratch/first\" 2>/dev/null; then eval \"$FIRST\"; \
            else eval \"$SECOND\"; fi; }\nprove",
        ]);
        bash.arg(&run).arg(folder.path()).env("FIRST", attempts[0]).env("SECOND", attempts[1]);
        let ended = Ended::from(bash);
        assert_eq!(ended.code, Some(code), "{attempts:?}: {ended:?}");
    }
}

#[test]
fn the_last_lines_compare_pinned_and_free_programs() {
    if contract::command("taskset").arg("--version").output().is_err() {
        return contract::skip("pinned and free programs", "taskset is not installed");
    }
    let programs = ["thread-brigade", "async-brigade"];
    let (_folder, path) = built(&programs);
    let here = tempfile::tempdir().expect("a folder");
    let mut script = script("scripts/pinned-vs-free.sh");
    script.args(["--rounds", "3", "--tasks", "5", "--max-time", "0.01"]);
    script.env("PATH", &path).current_dir(&here);
    let ended = Ended::from(script);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let compared: Vec<_> = ended.stdout.lines().filter(|line| line.starts_with("# ")).collect();
    assert_eq!(compared.len(), programs.len(), "{ended:?}");
    for (program, line) in programs.iter().zip(compared) {
        let ratio = line.strip_prefix(&format!("# {program}: median ")).expect(line);
        let ratio = ratio.split_once(", free / pinned ").expect(line).1;
        assert!(ratio.parse::<f64>().is_ok_and(|ratio| ratio > 0.0), "{line}");
    }
    assert_eq!(fs::read_dir(here).expect("the folder").count(), 0, "nothing is written there");
}

/// Where the toolchain file of Brigade applies, and not that of the repository.
#[test]
fn the_action_is_installed_from_its_own_folder() {
    let action = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../action.yml"))
        .expect("the action");
    let line = action.lines().find(|line| line.contains("cargo install")).expect("a line");
    let (cargo, _) = tools(&[("cargo", "echo \"$PWD: $*\"")]);
    let folder = tempfile::tempdir().expect("a folder");
    let mut bash = contract::command("bash");
    // There may be a brigade in another PATH.
    bash.args(["-c", &format!("PATH=$TOOLS\n{line}")]).env("TOOLS", cargo.path());
    bash.env("ACTION", folder.path());
    let ended = Ended::from(bash);
    let expected = format!("{}: install --locked --path brigade\n", folder.path().display());
    assert_eq!(ended.stdout, expected, "{ended:?}");
}

/// A repository whose second commit is `2`, and its first `1`.
fn two_commits() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for text in ["1", "2"] {
        fs::write(folder.path().join("source"), text).expect("write a source");
        for arguments in [&["init", "-q"][..], &["add", "."], &["commit", "-qm", text]] {
            let mut git = contract::command("git");
            git.args(["-c", "user.name=a", "-c", "user.email=a@localhost"]).args(arguments);
            assert!(git.current_dir(&folder).status().expect("git runs").success());
        }
    }
    folder
}

/// With a folder that cargo would use for both.
#[test]
fn two_commits_are_built_into_folders_of_their_own() {
    for tool in [["git", "--version"], ["python3", "--version"]] {
        if !contract::can("two commits", contract::command(tool[0]).arg(tool[1])) {
            return;
        }
    }
    let cargo = "target=${CARGO_TARGET_DIR:-$PWD/target}\ncase $1 in\n\
                 metadata) echo \"{\\\"target_directory\\\":\\\"$target\\\"}\" ;;\n\
                 build) mkdir -p $target/release && cp source $target/release/program ;;\nesac";
    let comparison = json!({ "cases": [{
        "rows": [{ "case": "a" }],
        "verdict": "same",
        "ratio": { "value": 1.0, "interval": { "low": 0.99, "high": 1.01 } },
    }] });
    let brigade = format!("cat $3 $5 >>\"$SEEN\"; echo '{comparison}'");
    let (folder, path) = tools(&[("cargo", cargo), ("brigade", &brigade)]);
    let repository = two_commits();
    let seen = folder.path().join("seen");
    let mut compare = script("scripts/compare-commits.sh");
    compare.args(["--base", "HEAD~1", "--bin", "target/release/program"]);
    compare.current_dir(&repository).env("PATH", &path).env("SEEN", &seen);
    compare.env("CARGO_TARGET_DIR", folder.path().join("shared"));
    let ended = Ended::from(compare);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(fs::read_to_string(seen).expect("it compared"), "12".repeat(3), "{ended:?}");
}
