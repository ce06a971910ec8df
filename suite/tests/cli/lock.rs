//! Two that measure on one machine refuse each other.

use std::fs;
use std::process::{Child, Stdio};

use crate::bench::{Bench, RECORD, eventually};

/// A `brigade run` whose program waits until the file `go` is there.
fn measuring() -> (Bench, Child) {
    let script = format!("touch ready; while [ ! -e go ]; do sleep 0.01; done; echo '{RECORD}'");
    let bench = Bench::new(&["a"], &script);
    let mut brigade = bench.brigade(&["run"]);
    let child = brigade.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the program is running", || bench.path("ready").exists());
    (bench, child)
}

#[test]
fn a_second_run_refuses_to_start_and_names_the_first() {
    let (bench, mut first) = measuring();
    for command in ["run", "check"] {
        let ended = bench.ends(&[command]);
        let line = format!(
            "brigade: another brigade, process {}, is measuring on this machine: \
             wait for it to end ({} is locked)\n",
            first.id(),
            bench.path("lock").display()
        );
        assert_eq!((ended.code, ended.stderr), (Some(1), line), "{command}");
        assert_eq!(ended.stdout, "", "{command}");
    }
    assert_eq!(bench.result_folders().len(), 1, "the refused one left a folder");
    fs::write(bench.path("go"), "").unwrap();
    assert!(first.wait().unwrap().success(), "the first was disturbed");
    assert_eq!(bench.ends(&["check"]).code, Some(0), "the first still holds the lock");
}

#[test]
fn the_lock_of_one_that_was_killed_is_taken_over() {
    let (bench, mut first) = measuring();
    first.kill().unwrap();
    first.wait().unwrap();
    fs::write(bench.path("go"), "").unwrap();
    let ended = bench.ends(&["run"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
}
