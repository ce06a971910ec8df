//! `brigade run` with programs that cargo builds.

use std::fs;

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
