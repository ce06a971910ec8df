//! `brigade` with programs that cargo builds, or a command of the manifest.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bench::{Bench, Ended, RECORD};

/// A bench whose program is a package, `fake`, with this `main.rs`.
fn package(main: &str) -> (Bench, String) {
    let bench = Bench::new(&["a"], "");
    let cargo_toml =
        "[workspace]\n[package]\nname = \"fake\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let cargo_lock = "version = 4\n[[package]]\nname = \"fake\"\nversion = \"0.1.0\"\n";
    fs::write(bench.path("Cargo.toml"), cargo_toml).unwrap();
    fs::write(bench.path("Cargo.lock"), cargo_lock).unwrap();
    fs::create_dir(bench.path("src")).unwrap();
    fs::write(bench.path("src/main.rs"), main).unwrap();
    let manifest = bench.manifest().replace("path = ", "package = ");
    (bench, manifest)
}

fn run(bench: &Bench, manifest: &str, arguments: &[&str]) -> Ended {
    let mut brigade = bench.brigade_with(manifest, &["run", "--rounds", "1"]);
    brigade.args(arguments).env_remove("CARGO_TARGET_DIR");
    Ended::from(brigade)
}

#[test]
fn a_package_is_built_when_it_is_missing_or_stale() {
    let printing = |text: &str| format!("fn main() {{ println!(\"{{}}\", r#\"{text}\"#); }}");
    let (bench, manifest) = package(&printing("stale"));

    let ended = run(&bench, &manifest, &["--no-build"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("program 'fake': looking for "), "{ended:?}");
    assert!(ended.stderr.contains("leaving out --no-build"), "{ended:?}");

    assert_eq!(run(&bench, &manifest, &[]).code, Some(1));
    fs::write(bench.path("src/main.rs"), printing(RECORD)).unwrap();
    assert_eq!(run(&bench, &manifest, &["--no-build"]).code, Some(1));
    assert_eq!(run(&bench, &manifest, &[]).code, Some(0));
    assert_eq!(run(&bench, &manifest, &["--no-build"]).code, Some(0));
}

/// Cargo would complain that there is no such package.
#[test]
fn what_no_case_needs_is_not_built() {
    let (bench, manifest) =
        package(&format!("fn main() {{ println!(\"{{}}\", r#\"{RECORD}\"#); }}"));
    let other = "[programs.other]\npackage = \"absent\"\n\
                 check = { tasks = 1, iters = 1, warmups = 0, operations = 2 }\n";
    let ended = run(&bench, &format!("{manifest}\n{other}"), &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_package_that_does_not_compile_ends_the_run() {
    let (bench, manifest) = package("fn main() { nonsense }");
    let ended = run(&bench, &manifest, &[]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("cannot find value `nonsense`"), "{ended:?}");
    assert!(
        ended.stderr.contains("brigade: building the programs: cargo ended with "),
        "{ended:?}"
    );
    assert!(bench.result_folders().is_empty());
}

/// Versions that nobody has locked are not measured.
#[test]
fn a_build_resolves_no_versions() {
    let (bench, manifest) =
        package(&format!("fn main() {{ println!(\"{{}}\", r#\"{RECORD}\"#); }}"));
    fs::remove_file(bench.path("Cargo.lock")).unwrap();
    let ended = run(&bench, &manifest, &[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("--locked"), "{ended:?}");
    assert!(!bench.path("Cargo.lock").exists());
}

/// A bench whose program a tool builds, and a folder to be its `$PATH`, with a
/// `tool` that is this shell script.
fn built_by(tool: &str) -> (Bench, String) {
    let bench = Bench::new(&["a"], "");
    fs::remove_file(bench.path("fake")).unwrap();
    for folder in ["source", "path"] {
        fs::create_dir(bench.path(folder)).unwrap();
    }
    if !tool.is_empty() {
        contract::executable::write(&bench.path("path/tool"), &format!("#!/bin/sh\n{tool}\n"));
    }
    let build = "needs = [{ command = ['tool', 'version'], version = '1.21' }]\n\
                 build = { in = 'source', command = ['tool', 'build', '{output}'] }";
    let manifest = bench.manifest().replace("path = \"fake\"", build);
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
        (["run"], "a: skipped: tool is not installed\n"),
        (["check"], "a: skipped tool is not installed\n"),
        (["list"], "\na: skipped: tool is not installed\n"),
    ] {
        let ended = with_its_path(&bench, &manifest, &arguments);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        assert!(ended.stdout.contains(line), "{arguments:?}: {ended:?}");
    }
    assert_eq!(bench.records().len(), 0);
}

#[test]
fn a_command_of_the_manifest_builds_a_program_beside_the_packages() {
    let tool = format!(
        "[ \"$1\" = version ] && echo 1.26.8 && exit\n\
         [ \"$PWD\" = \"$(cd -P ../source && pwd)\" ] || exit 9\n\
         [ \"$1\" = build ] || exit 8\n\
         /bin/mkdir -p \"${{2%/*}}\"\n\
         printf '#!/bin/sh\\necho '\\''%s'\\''\\n' '{RECORD}' >\"$2\"\n\
         /bin/chmod +x \"$2\""
    );
    let (bench, manifest) = built_by(&tool);
    let ended = with_its_path(&bench, &manifest, &["run", "--no-build"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("leaving out --no-build"), "{ended:?}");

    let ended = with_its_path(&bench, &manifest, &["run", "--rounds", "1"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(bench.records()[0]["outcome"], "measured");
    assert!(bench.path("target/release/fake").exists());
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
fn a_program_that_cannot_be_built_costs_its_own_cases_alone() {
    for tool in ["echo no cache >&2; exit 1", "[ $1 = version ] || { echo no cache >&2; exit 1; }"]
    {
        let (bench, manifest) = built_by(tool);
        let record = RECORD.replace("\"program\":\"fake\"", "\"program\":\"other\"");
        contract::executable::write(&bench.path("other"), &format!("#!/bin/sh\necho '{record}'\n"));
        let manifest = manifest
            + "[programs.other]\npath = 'other'\n\
               check = { tasks = 1, iters = 2, warmups = 0, operations = 2 }\n\
               [[group.case]]\nname = 'b'\nprogram = 'other'\nprofiles = ['default']\n";
        let ended = with_its_path(&bench, &manifest, &["run", "--rounds", "1"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        assert!(ended.stdout.contains("- a: skipped: tool "), "{ended:?}");
        assert!(ended.stdout.contains("no cache"), "{ended:?}");
        assert_eq!(bench.records().len(), 1);
    }
}

/// A package, with the runner in its `bin`, and where its results go. It has the
/// program of case `a`, and lacks that of case `b`, which a tool builds.
fn unpacked() -> (Bench, PathBuf) {
    let bench = Bench::new(&["a"], &format!("echo '{RECORD}'"));
    fs::create_dir(bench.path("bin")).unwrap();
    fs::rename(bench.path("fake"), bench.path("bin/fake")).unwrap();
    let brigade = Path::new(env!("CARGO_BIN_EXE_brigade"));
    contract::executable::copy(brigade, &bench.path("bin/brigade"));
    let manifest = bench.manifest().replace("path = ", "package = ")
        + "[programs.other]\nneeds = [{ command = ['tool'] }]\n\
           build = { in = 'source', command = ['tool', '{output}'] }\n\
           check = { tasks = 1, iters = 2, warmups = 0, operations = 2 }\n\
           [[group.case]]\nname = 'b'\nprogram = 'other'\nprofiles = ['default']\n\
           [prebuilt]\nfolder = 'bin'\nrustc = 'rustc 1.95.0'\n\
           git_revision = '0123456789abcdef0123456789abcdef01234567'\ngit_dirty = false\n";
    fs::write(bench.path("suite.toml"), manifest).unwrap();
    let elsewhere = bench.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    // Another's manifest is not the package's.
    fs::write(elsewhere.join("suite.toml"), "nonsense").unwrap();
    (bench, elsewhere)
}

#[test]
fn a_package_runs_what_it_has_and_builds_nothing() {
    let (bench, elsewhere) = unpacked();
    let mut brigade = std::process::Command::new(bench.path("bin/brigade"));
    brigade.args(["run", "--full", "--rounds", "1", "--results", "r"]).current_dir(&elsewhere);
    brigade.env("BRIGADE_LOCK", bench.path("lock")).env("PATH", bench.path("nothing"));
    let ended = Ended::from(brigade);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let reason = "b: skipped: this package has no build of it: run it from the sources";
    assert!(ended.stdout.contains(reason), "{ended:?}");
    let folder = fs::read_dir(elsewhere.join("r")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(crate::bench::records_in(&folder)[0]["outcome"], "measured");
    let environment = crate::bench::json_in(folder.join("environment.json"));
    let revision = "0123456789abcdef0123456789abcdef01234567";
    assert_eq!(environment["software.git_revision"], revision);
    assert_eq!(environment["software.rustc"], "rustc 1.95.0");
    assert_eq!(environment["software.git_dirty"], "false");
}

#[test]
fn a_package_that_lacks_a_program_says_so() {
    let (bench, elsewhere) = unpacked();
    fs::remove_file(bench.path("bin/fake")).unwrap();
    let mut brigade = std::process::Command::new(bench.path("bin/brigade"));
    brigade.arg("check").current_dir(&elsewhere).env("BRIGADE_LOCK", bench.path("lock"));
    let ended = Ended::from(brigade);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("bin/fake: unpack the package again"), "{ended:?}");
}
