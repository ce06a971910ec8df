//! What brigade prints from saved runs, and from the manifest.

use std::fs;
use std::process::Command;

use crate::bench::{Bench, Ended, RECORD};

fn reported(bench: &Bench, folders: &[&str]) -> Ended {
    bench.ends(&[&["report", "--full"], folders].concat())
}

#[test]
fn a_report_repeats_what_the_run_printed() {
    let script = format!("[ ${{0##*/}} = a ] && exit 1; echo '{RECORD}'");
    let bench = Bench::new(&["a", "b"], &script);
    let ran = bench.ends(&["run", "--rounds", "3"]);
    let folder = bench.result_folders()[0].clone();
    assert!(ran.stdout.contains("- a: 3 failed: "), "{ran:?}");
    let again = reported(&bench, &[folder.to_str().unwrap()]);
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""));
    assert_eq!(again.stdout, ran.stdout);
}

#[test]
fn the_page_in_the_folder_is_the_report_in_markdown_and_names_no_path() {
    let bench = Bench::printing(RECORD);
    bench.ends(&["run", "--seed", "7", "--name", "here", "--rounds", "2"]);
    let folder = &bench.result_folders()[0];
    let page = fs::read_to_string(folder.join("report.md")).unwrap();
    assert!(page.contains("    brigade run --rounds 2 --seed 7\n"), "{page}");
    assert!(page.starts_with(&format!("# {}\n", folder.file_name().unwrap().display())), "{page}");
    assert!(page.contains("\n| a | hop | 75.0 ns "), "{page}");
    assert!(!page.contains(bench.path("").to_str().unwrap()), "{page}");
    let again = reported(&bench, &["--format", "markdown", folder.to_str().unwrap()]);
    assert_eq!(again.stdout, page);
}

#[test]
fn a_report_is_written_to_a_file() {
    let bench = Bench::printing(RECORD);
    bench.ends(&["run", "--rounds", "2", "--name", "here"]);
    let folder = &bench.result_folders()[0];
    let folder = folder.to_str().unwrap();
    let json = reported(&bench, &["--format", "json", folder]).stdout;
    let file = bench.path("report.json");
    let to_file = ["--format", "json", "-o", file.to_str().unwrap(), folder];
    assert_eq!(reported(&bench, &to_file).stdout, "");
    assert_eq!(fs::read_to_string(file).unwrap(), json);
}

#[test]
fn a_run_of_another_manifest_can_be_reported_without_it() {
    let bench = Bench::printing(RECORD);
    bench.ends(&["run", "--rounds", "1"]);
    // Nor is a local one read.
    fs::write(bench.path("suite.toml"), "no manifest").unwrap();
    let mut brigade = Command::new(env!("CARGO_BIN_EXE_brigade"));
    brigade.current_dir(bench.path("")).args(["report", "--full"]).arg(&bench.result_folders()[0]);
    let ended = Ended::from(brigade.output().unwrap());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.stdout.contains("1 invocations"), "{ended:?}");
}

#[test]
fn a_folder_without_a_run_is_refused_and_named() {
    let bench = Bench::printing(RECORD);
    let ended = reported(&bench, &["nowhere"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("nowhere"), "{ended:?}");
    let ended = reported(&bench, &[]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("results contains no run"), "{ended:?}");
}

#[test]
fn the_list_shows_groups_and_their_cases_and_what_a_case_does() {
    let bench = Bench::new(&["a", "b --via c"], "");
    let list = |arguments: &[&str]| {
        let ended = bench.ends(&[&["list"], arguments].concat());
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        ended.stdout
    };
    let groups = list(&[]);
    assert!(groups.contains("letters     2      30 Which?"), "{groups}");
    assert_eq!(list(&["letters"]), "a\nb --via c\n");
    let case = list(&["b --via=c"]);
    assert!(case.contains("Which?") && case.contains("brigade run 'b --via c'"), "{case}");
    let program = Command::new(env!("CARGO_BIN_EXE_brigade")).args(["list", "rings"]).output();
    assert!(String::from_utf8_lossy(&program.unwrap().stdout).contains("rings --rings 8"));
}

#[test]
fn without_a_folder_the_latest_run_is_reported() {
    let bench = Bench::printing(RECORD);
    for name in ["z-first", "a-second"] {
        bench.ends(&["run", "--rounds", "1", "--name", name]);
    }
    let ended = bench.ends(&["report"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("-a-second"), "{ended:?}");
}
