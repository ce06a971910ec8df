//! `brigade check` detects a program whose report does not match the request.

use crate::bench::{Bench, Ended, RECORD};

/// Checks the output of `brigade check` for one case, and its exit code.
fn check(bench: &Bench, line: &str, tally: &str, code: i32) {
    let ended = bench.ends(&["check"]);
    assert_eq!(ended.stdout, format!("{line}\n{tally}\n"), "{ended:?}");
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(code), ""));
}

#[test]
fn a_correct_program_passes() {
    let bench = Bench::printing(RECORD);
    check(&bench, "a: ok", "1 passed, 0 failed, 0 skipped", 0);
}

#[test]
fn the_size_of_the_check_overrides_that_of_the_case() {
    let mut bench = Bench::new(&["a"], "echo \"$@\" >&2; exit 1");
    bench.case_keys = "flags = ['--tasks', '4000', '--max-time', '20']";
    let flags = "--tasks 1 --iters 2 --warmups 0 --placement free --json --quiet";
    let line = format!("a: FAILED exited with 1: {flags}");
    check(&bench, &line, "0 passed, 1 failed, 0 skipped", 1);
}

#[test]
fn a_program_that_was_never_built_is_skipped_without_a_build() {
    let bench = Bench::new(&["a"], "");
    // A file next to the guests would be found.
    std::fs::remove_file(bench.path("fake")).unwrap();
    let built = "build = { in = '.', command = ['cp', 'other', '{output}'] }";
    let manifest = bench.manifest().replace("path = \"fake\"", built);
    let ended = Ended::from(bench.brigade_with(&manifest, &["check", "--no-build"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let line = "a: skipped not built: omit --no-build to build it\n";
    assert!(ended.stdout.starts_with(line), "{ended:?}");
}

#[test]
fn a_wrong_record_fails() {
    for (edits, reason) in [
        (&[(r#""program":"fake""#, r#""program":"x""#)][..], "is a record of 'x', not of 'fake'"),
        (&[(r#""warmups":0"#, r#""warmups":1"#)], "reports 1 warm-ups, not 0"),
        (&[(r#""count":2"#, r#""count":3"#)], "reports 3 samples, not 2, its iterations"),
        (
            &[(r#""mean_ns":150.0"#, r#""mean_ns":0.0"#)],
            "'iteration': its mean, 0 ns, is not between 100 and 200 ns",
        ),
        (
            &[(r#""voluntary_per_operation":0.0,"i"#, r#""voluntary_per_operation":1.0,"i"#)],
            "its threads blocked 1.000 times per operation, not 0",
        ),
        (
            &[(r#""complete":true"#, r#""complete":false"#)],
            "exited with 0, but its record is marked incomplete",
        ),
        // Consistent, but smaller or larger than requested.
        (
            &[
                (r#""tasks":1"#, r#""tasks":3"#),
                (r#""ns_per_task":150.0"#, r#""ns_per_task":50.0"#),
            ],
            "reports 3 tasks, not 1",
        ),
        (
            &[(r#""iterations":2"#, r#""iterations":1"#), (r#""count":2"#, r#""count":1"#)],
            "reports 1 iterations, not 2",
        ),
        (
            &[
                (r#""operations":2"#, r#""operations":1"#),
                ("operation\":75.0", "operation\":150.0"),
            ],
            "reports 1 operations in a sample, not 2",
        ),
    ] {
        let mut record = RECORD.to_owned();
        for (from, to) in edits {
            assert!(record.contains(from), "{from} is not in the record");
            record = record.replacen(from, to, 1);
        }
        let line = format!("a: FAILED {reason}");
        check(&Bench::printing(&record), &line, "0 passed, 1 failed, 0 skipped", 1);
    }
}

#[test]
fn a_refusal_is_skipped_with_its_reason() {
    let bench = Bench::new(&["a"], "echo '--tasks: too many files' >&2; exit 3");
    let line = "a: skipped exited with 3: --tasks: too many files";
    check(&bench, line, "0 passed, 0 failed, 1 skipped", 0);
}
