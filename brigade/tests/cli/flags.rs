//! Wrong flags and wrong manifests: one clear line, exit code 2.

use crate::bench::{Bench, Ended, RECORD};

/// Checks that `brigade` printed exactly this line and nothing ran.
fn check_refusal(arguments: &[&str], expected: &str) {
    let bench = Bench::new(&["a", "b"], "touch ran");
    let ended = bench.ends(arguments);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(ended.stderr, format!("brigade: {expected}\n"));
    assert_eq!(ended.stdout, "");
    assert!(!bench.path("ran").exists());
}

#[test]
fn wrong_flags_are_reported_on_one_line() {
    for (arguments, expected) in [
        (&["run", "--profile", "x"][..], "--profile: unknown profile 'x'; known: default"),
        (&["list", "--profile", "x"], "--profile: unknown profile 'x'; known: default"),
        (&["run", "--case", "x"], "--case: unknown case 'x'; known: a, b"),
        (&["check", "--case", "a", "x"], "--case: unknown case 'x'; known: a, b"),
        (&["run", "leters"], "unknown group 'leters'; known: letters; did you mean 'letters'?"),
        (&["check", "x"], "unknown group 'x'; known: letters"),
        (&["list", "x"], "unknown group 'x'; known: letters"),
        (&["run", "letters"], "--profile: unknown profile 'group'; known: default"),
        (&["run", "--sed", "1"], "unexpected argument '--sed' found (try 'brigade --help')"),
        (
            &["run", "--resume", "x", "--seed", "1"],
            "the argument '--resume <DIR>' cannot be used with '--seed <N>' \
             (try 'brigade --help')",
        ),
        (
            &["advise", "--budget", "3"],
            "the following required arguments were not provided: --try <NAME[=VALUE]> \
             (try 'brigade --help')",
        ),
        (
            &["impact"],
            "the following required arguments were not provided: --pid <PID> \
             (try 'brigade --help')",
        ),
        (&["walk"], "unrecognized subcommand 'walk' (try 'brigade --help')"),
        (
            &["run", "--rounds", "0"],
            "invalid value '0' for '--rounds <N>': 0 is not in 1..=100000 \
             (try 'brigade --help')",
        ),
        (
            &["run", "--name", "a/b"],
            "invalid value 'a/b' for '--name <LABEL>': use letters, digits, '-', '_' and '.' only \
             (try 'brigade --help')",
        ),
        (
            &["run", "--manifest", "none.toml"],
            "--manifest: reading none.toml: No such file or directory (os error 2)",
        ),
    ] {
        check_refusal(arguments, expected);
    }
}

#[test]
fn a_typo_in_the_manifest_is_reported_with_line_and_key() {
    let bench = Bench::printing(RECORD);
    let manifest = bench.manifest().replace("rounds", "runds");
    let ended = Ended::from(bench.brigade_with(&manifest, &["run"]));
    assert_eq!(ended.code, Some(2));
    let line = "suite.toml:2: unknown key `runds`, expected one of `rounds`, ";
    assert!(ended.stderr.contains(line), "{ended:?}");
    assert!(
        ended.stderr.ends_with(
            "; did you mean 'rounds'?
"
        ),
        "{ended:?}"
    );
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
}

#[test]
fn a_cycle_of_baselines_is_reported_with_line_and_key() {
    let mut bench = Bench::new(&["a", "b"], "touch ran");
    bench.case_keys = "baseline = 'b'";
    for command in ["run", "check", "list"] {
        let ended = bench.ends(&[command]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
        let line = "suite.toml:14: case 'a': baseline: leads back to itself: b -> b\n";
        assert!(ended.stderr.ends_with(line), "{ended:?}");
    }
    assert!(!bench.path("ran").exists());
}

#[test]
fn the_manifest_is_found_in_a_folder_above() {
    let bench = Bench::printing(RECORD);
    let below = bench.path("a/b");
    std::fs::create_dir_all(&below).unwrap();
    let mut brigade = bench.brigade(&["run"]);
    brigade.current_dir(below);
    assert_eq!(Ended::from(brigade).code, Some(0));
    assert_eq!(bench.records().len(), 3);
}

#[test]
fn help_is_complete_and_no_error() {
    let bench = Bench::printing(RECORD);
    for (arguments, words) in [
        (&["--help"][..], &["run", "list", "check", "--profile", "Exit codes", "BRIGADE_LOCK"][..]),
        (
            &["run", "--help"],
            &[
                "GROUP",
                "--profile",
                "--case",
                "--rounds",
                "--seed",
                "--results",
                "--name",
                "--resume",
                "--manifest",
                "--no-build",
                "Exit codes",
            ],
        ),
        (&["list", "--help"], &["--profile", "--manifest"]),
        (&["check", "--help"], &["--case", "--manifest", "--no-build", "Exit codes"]),
    ] {
        let ended = bench.ends(arguments);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        for word in words {
            assert!(ended.stdout.contains(word), "{arguments:?} does not say {word}");
        }
    }
}
