//! `brigade` with programs that cargo and go build.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::bench::{Bench, Ended, RECORD};

/// A bench whose program is a package, `fake`, with this `main.rs`.
fn package(main: &str) -> (Bench, String) {
    let bench = Bench::new(&["a"], "");
    let cargo_toml =
        "[workspace]\n[package]\nname = \"fake\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    fs::write(bench.path("Cargo.toml"), cargo_toml).unwrap();
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

/// A bench whose program is a Go module, and a folder to be its `$PATH`, with
/// a `go` that is this shell script.
fn go_module(go: &str) -> (Bench, String) {
    let bench = Bench::new(&["a"], "");
    fs::remove_file(bench.path("fake")).unwrap();
    for folder in ["fake", "path"] {
        fs::create_dir(bench.path(folder)).unwrap();
    }
    if !go.is_empty() {
        fs::write(bench.path("path/go"), format!("#!/bin/sh\n{go}\n")).unwrap();
        fs::set_permissions(bench.path("path/go"), Permissions::from_mode(0o755)).unwrap();
    }
    let manifest = bench.manifest().replace("path = ", "go = ");
    (bench, manifest)
}

fn with_its_path(bench: &Bench, manifest: &str, arguments: &[&str]) -> Ended {
    let mut brigade = bench.brigade_with(manifest, arguments);
    brigade.env("PATH", bench.path("path"));
    Ended::from(brigade)
}

#[test]
fn without_go_its_cases_are_skipped_with_the_reason() {
    let (bench, manifest) = go_module("");
    for (arguments, line) in [
        (["run"], "a: skipped: go is not installed\n"),
        (["check"], "a: skipped go is not installed\n"),
        (["list"], "\na: skipped: go is not installed\n"),
    ] {
        let ended = with_its_path(&bench, &manifest, &arguments);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        assert!(ended.stdout.contains(line), "{arguments:?}: {ended:?}");
    }
    assert_eq!(bench.records().len(), 0);
}

#[test]
fn a_go_that_is_too_old_is_as_good_as_none() {
    let (bench, manifest) = go_module("echo go1.19.8");
    let ended = with_its_path(&bench, &manifest, &["check"]);
    let line = "a: skipped go 1.19.8 is too old: 1.21 or later is needed\n";
    assert!(ended.stdout.starts_with(line), "{ended:?}");
    assert_eq!(ended.code, Some(0));
}

#[test]
fn a_go_module_is_built_beside_the_packages() {
    let go = format!(
        "[ \"$1\" = env ] && echo go1.26.8 && exit\n\
         [ \"$PWD\" = \"$(cd -P ../fake && pwd)\" ] || exit 9\n\
         [ \"$1 $2 $4\" = 'build -o .' ] || exit 8\n\
         /bin/mkdir -p \"${{3%/*}}\"\n\
         printf '#!/bin/sh\\necho '\\''%s'\\''\\n' '{RECORD}' >\"$3\"\n\
         /bin/chmod +x \"$3\""
    );
    let (bench, manifest) = go_module(&go);
    let ended = with_its_path(&bench, &manifest, &["run", "--no-build"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("leaving out --no-build"), "{ended:?}");

    let ended = with_its_path(&bench, &manifest, &["run", "--rounds", "1"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(bench.records()[0]["outcome"], "measured");
    assert!(bench.path("target/release/fake").exists());
}

#[test]
fn a_go_module_that_does_not_compile_ends_the_run() {
    let (bench, manifest) = go_module("[ \"$1\" = env ] || { echo undefined: x >&2; exit 1; }");
    let ended = with_its_path(&bench, &manifest, &["run"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let lines = "undefined: x\nbrigade: building the programs: go ended with exit status: 1, ";
    assert!(ended.stderr.starts_with(lines), "{ended:?}");
    assert!(bench.result_folders().is_empty());
}
