//! `brigade list`.

use crate::bench::{Bench, Ended, RECORD};

#[test]
fn the_list_shows_groups_profiles_and_the_cases_of_either() {
    let mut bench = Bench::printing(RECORD);
    bench.case_keys = "flags = ['--runtime', 'tokio-current-thread', '--channel', 'socketpair']";
    let group = "[profiles.group]\nrounds = 2\nflags = ['--max-time', '1.5']\n[programs";
    let manifest = bench.manifest().replacen("[programs", group, 1);
    let list = |arguments: &[&str]| {
        let ended = Ended::from(bench.brigade_with(&manifest, arguments));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        ended.stdout
    };
    insta::assert_snapshot!(list(&["list"]), @r"
    group   cases at least question
    letters     1      3 s Which?

    profile rounds flags for every program
    default      3 --max-time 1
    group        2 --max-time 1.5

    `brigade list GROUP` and `brigade list --profile PROFILE` show cases.
    ");
    let cases = list(&["list", "letters"]);
    assert_eq!(list(&["list", "--profile", "default"]), cases);
    insta::assert_snapshot!(cases, @r"
    case placement profiles program and flags
    a    free      default  fake --runtime tokio-current-thread --channel socketpair
    ");
}
