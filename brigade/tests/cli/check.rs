//! `brigade check` detects a program whose report does not match the request.

use crate::bench::{Bench, RECORD};

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
    let bench = Bench::new(&["a --tasks 4000 --max-time 20"], "echo \"$@\" >&2; exit 1");
    let flags = "--tasks 1 --iters 2 --warmups 0 --placement free --json --quiet";
    let line = format!("a --tasks 4000 --max-time 20: FAILED exited with 1: {flags}");
    check(&bench, &line, "0 passed, 1 failed, 0 skipped", 1);
}

#[test]
fn a_wrong_record_fails() {
    for (edits, reason) in [
        (&[(r#""program":"a""#, r#""program":"x""#)][..], "is a record of 'x', not of 'a'"),
        (&[(r#""warmups":0"#, r#""warmups":1"#)], "reports 1 for --warmups 0"),
        (&[(r#""count":2"#, r#""count":3"#)], "reports 3 samples, not 2, its iterations"),
        (
            &[(r#""mean_ns":150.0"#, r#""mean_ns":0.0"#)],
            "'iteration': its mean, 0 ns, is not between 100 and 200 ns",
        ),
        (
            &[(r#""voluntary_per_operation":0.0,"i"#, r#""voluntary_per_operation":1.0,"i"#)],
            "the kernel counted 1.000 switches per operation, not 0",
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
            "reports 3 for --tasks 1",
        ),
        (
            &[(r#""iterations":2"#, r#""iterations":1"#), (r#""count":2"#, r#""count":1"#)],
            "reports 1 for --iters 2",
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
