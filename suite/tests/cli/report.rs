//! `brigade report`: a saved run, told again.

use std::fs;

use crate::bench::{Bench, Ended, RECORD};

fn reported(bench: &Bench, folders: &[&str]) -> Ended {
    bench.ends(&[&["report"], folders].concat())
}

#[test]
fn a_report_repeats_what_the_run_printed() {
    let bench = Bench::new(&["a", "b"], &format!("[ \"$1\" = x ] && exit 1; echo '{RECORD}'"));
    let manifest = bench.manifest().replacen("profiles = [", "flags = ['x']\nprofiles = [", 1);
    let ran = Ended::from(bench.brigade_with(&manifest, &["run"]));
    let folder = bench.result_folders()[0].clone();
    assert!(ran.stdout.contains("b                  –        hop"), "{ran:?}");
    assert!(ran.stdout.contains("- a: 3 failed, of 3 started; first: "), "{ran:?}");
    let told = reported(&bench, &[folder.to_str().unwrap()]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    assert_eq!(told.stdout, ran.stdout);
}

#[test]
fn the_page_in_the_folder_has_the_text_and_the_command_and_no_path() {
    let bench = Bench::printing(RECORD);
    let ran = bench.ends(&["run", "--seed", "7", "--name", "here", "--rounds", "2"]);
    let folder = &bench.result_folders()[0];
    let page = fs::read_to_string(folder.join("report.md")).unwrap();
    let command = "    brigade run --profile default --rounds 2 --seed 7\n";
    assert!(page.contains(command), "{page}");
    assert!(page.starts_with(&format!("# {}\n", folder.file_name().unwrap().display())), "{page}");
    let (text, _) = ran.stdout.split_once("\nrecords in ").unwrap();
    for line in text.lines() {
        let line = if line.is_empty() { String::new() } else { format!("    {line}") };
        assert!(page.lines().any(|of_page| of_page == line), "{line:?} is not in {page}");
    }
    assert!(!page.contains(bench.path("").to_str().unwrap()), "{page}");
}

#[test]
fn several_runs_are_told_one_after_the_other() {
    let bench = Bench::printing(RECORD);
    for name in ["one", "two"] {
        bench.ends(&["run", "--rounds", "1", "--name", name]);
    }
    let folders = bench.result_folders();
    let paths: Vec<&str> = folders.iter().map(|folder| folder.to_str().unwrap()).collect();
    let both = reported(&bench, &paths);
    let each: Vec<String> = paths.iter().map(|path| reported(&bench, &[path]).stdout).collect();
    assert_eq!(both.stdout, each.join("\n"));
}

#[test]
fn a_run_can_be_told_where_there_is_no_manifest() {
    let bench = Bench::printing(RECORD);
    bench.ends(&["run", "--rounds", "1"]);
    let mut brigade = bench.brigade(&["report", bench.result_folders()[0].to_str().unwrap()]);
    fs::write(bench.path("suite.toml"), "no manifest").unwrap();
    let ended = Ended::from(brigade.output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.starts_with("brigade: the table goes without sentences: "), "{ended:?}");
    assert!(ended.stdout.contains("1 of 1 invocations"), "{ended:?}");
}

#[test]
fn what_is_no_run_is_refused_and_named() {
    let bench = Bench::printing(RECORD);
    let ended = reported(&bench, &["nowhere"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("nowhere"), "{ended:?}");
    assert_eq!(reported(&bench, &[]).code, Some(2));
}
