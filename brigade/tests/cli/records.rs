//! `brigade run` with programs that print something else than one sound record
//! of what was asked for: each is kept as a failure that says what is wrong.

use crate::bench::{Bench, RECORD};

/// Runs a program that prints these bytes and exits with 0, and checks what is
/// kept of it and what is said.
fn check_failure(printed: impl AsRef<[u8]>, reason: &str) {
    let bench = Bench::new(&["a"], "cat printed");
    std::fs::write(bench.path("printed"), printed).unwrap();
    let ended = bench.ends(&["run", "--rounds", "1"]);
    assert_eq!(ended.code, Some(1), "{reason}: {ended:?}");
    let [line] = &bench.records()[..] else { panic!("not one record") };
    assert_eq!(line["outcome"], "failed", "{reason}");
    let error = line["error"].as_str().unwrap();
    assert!(error.contains(reason), "{error:?} does not say {reason:?}");
    assert!(ended.stdout.contains("- a: 1 failed, of 1 started; first: "), "{ended:?}");
    assert!(!error.contains('\n'), "{error:?}");
}

/// The sound record with `from` replaced by `to`.
fn with(from: &str, to: &str) -> String {
    assert!(RECORD.contains(from), "{from} is not in the record");
    RECORD.replacen(from, to, 1)
}

#[test]
fn what_is_no_record_is_a_failure() {
    let twice = format!("{RECORD}\n{RECORD}");
    let long = RECORD.to_owned() + &" ".repeat(1 << 20) + ".";
    for (printed, reason) in [
        ("garbage", "reading a record: expected value at line 1 column 1"),
        (" \n\n", "printed no record"),
        (&RECORD[..RECORD.len() / 2], "reading a record: EOF while parsing"),
        (&twice, "printed 2 JSON values, and not one record"),
        (&twice[..RECORD.len() + 99], "reading a record: trailing characters"),
        (&"[".repeat(100_000), "reading a record: "),
        (&long, "more than 1048576"),
        (r#"{"schema_version":"9.0"}"#, "its schema version is 9.0"),
        (&with("version\":\"1.", "version\":\"2."), "its schema version is 2."),
    ] {
        check_failure(printed, reason);
    }
    check_failure([RECORD.as_bytes(), &[0xc3, 0x28]].concat(), "its standard output is not text");
}

#[test]
fn a_record_that_is_wrong_is_a_failure() {
    for (from, to, reason) in [
        ("\"fake\"", "\"other\"", "is the record of 'other', not of 'fake'"),
        (
            "\"parameters\":{}",
            "\"parameters\":{\"placement\":\"spread\"}",
            "reports the placement 'spread', not 'free'",
        ),
        ("\"iterations\":2", "\"iterations\":7", "reports 2 samples, not 7, its iterations"),
        ("\"count\":2", "\"count\":0", "'iteration': has 0 samples of 2 operations"),
        ("\"operations\":2", "\"operations\":-2", "invalid value: integer `-2`"),
        ("150.0,\"stddev", "NaN,\"stddev", "reading a record: expected value"),
        ("150.0,\"stddev", "null,\"stddev", "reading a record: invalid type: null"),
    ] {
        check_failure(with(from, to), reason);
    }
}
