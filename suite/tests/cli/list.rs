//! `brigade list`.

use crate::bench::{Bench, RECORD};

#[test]
fn the_list_shows_cases_and_profiles() {
    let mut bench = Bench::printing(RECORD);
    bench.case_keys = "flags = ['--runtime', 'tokio-current-thread', '--channel', 'socketpair']";
    let ended = bench.ends(&["list"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    insta::assert_snapshot!(ended.stdout, @r"
    case  placement  program and flags                              profiles
    a     free       fake --runtime tokio-current-thread --channel  default
                     socketpair

    profile  rounds  flags for every program
    default  3       --max-time 1
    ");
}

#[test]
fn the_list_of_this_repository_fits_80_columns() {
    let bench = Bench::printing(RECORD);
    let manifest = include_str!("../../../suite.toml");
    let output = bench.brigade_with(manifest, &["list"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("thread-brigade"));
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line:?} is wider");
    }
}
