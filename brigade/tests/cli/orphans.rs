//! Processes that a program started end with the runner, however that ends; and two runners on one
//! machine wait for each other.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::bench::{Bench, RECORD, end_of, eventually, is_running, send, start};

/// A `brigade run` whose program has started an endless process, which writes its id to `child`,
/// and waits. The next run only prints a record.
fn waiting() -> (Bench, Child, String) {
    let starts = "sh -c 'echo $$ >child.new; mv child.new child; exec sleep 6000' &";
    let bench = Bench::new(&["a"], &format!("[ -e go ] || {{ {starts}\nwait; }}; echo '{RECORD}'"));
    let brigade = start(&bench, &["run"]);
    eventually("the child is running", || bench.path("child").exists());
    let child = fs::read_to_string(bench.path("child")).unwrap().trim().to_owned();
    fs::write(bench.path("go"), "").unwrap();
    (bench, brigade, child)
}

/// The processes whose parent is the runner.
fn children_of(brigade: &Child) -> Vec<String> {
    let list = format!("/proc/{0}/task/{0}/children", brigade.id());
    fs::read_to_string(list).unwrap().split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_killed_runner_leaves_nothing_running() {
    let (bench, mut brigade, child) = waiting();
    let program = children_of(&brigade);
    assert_eq!(program.len(), 1, "nothing runs next to the program");
    // Even a program that does not run.
    kill(Pid::from_raw(program[0].parse().unwrap()), Signal::SIGSTOP).unwrap();
    brigade.kill().unwrap();
    brigade.wait().unwrap();
    eventually("both have ended", || !is_running(&child) && !is_running(&program[0]));
    let ended = bench.ends(&["run"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
}

#[test]
fn child_processes_of_a_program_end_with_a_stopped_runner() {
    for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM] {
        let (bench, brigade, child) = waiting();
        send(&brigade, signal);
        let ended = end_of(brigade);
        assert_eq!(ended.code, Some(130), "{signal}: {ended:?}");
        assert!(!is_running(&child), "{signal}");
        assert_eq!(bench.records()[0]["interrupted"], true, "{signal}");
    }
}

/// A bench whose program waits until the file `go` exists.
fn until_go() -> Bench {
    let script = format!("touch ready; while [ ! -e go ]; do sleep 0.01; done; echo '{RECORD}'");
    Bench::new(&["a"], &script)
}

#[test]
fn an_ignored_hang_up_stays_ignored() {
    let bench = until_go();
    let ignoring = ["sh", "-c", "trap '' HUP; exec \"$0\" \"$@\""];
    let mut nohup = bench.brigade_under(&ignoring, &["run"]);
    let child = nohup.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the program is running", || bench.path("ready").exists());
    send(&child, Signal::SIGHUP);
    fs::write(bench.path("go"), "").unwrap();
    let ended = end_of(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_second_run_names_the_first_and_waits_for_it() {
    let bench = until_go();
    let first = start(&bench, &["run"]);
    eventually("the program is running", || bench.path("ready").exists());
    let mut second = start(&bench, &["check"]);
    let mut line = String::new();
    BufReader::new(second.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains(&format!("process {} (", first.id())), "{line}");
    assert!(second.try_wait().unwrap().is_none(), "it does not wait");
    fs::write(bench.path("go"), "").unwrap();
    assert_eq!(end_of(first).code, Some(0));
    assert_eq!(end_of(second).code, Some(0));
}
