//! `brigade run` told to stop, and killed.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{SigHandler, Signal, kill, signal};
use nix::unistd::Pid;

use crate::bench::{Bench, Ended, eventually};

pub fn start(bench: &Bench, arguments: &[&str]) -> Child {
    spawned(bench.brigade(arguments))
}

/// Starts with another manifest.
pub fn start_with(bench: &Bench, manifest: &str, arguments: &[&str]) -> Child {
    spawned(bench.brigade_with(manifest, arguments))
}

fn spawned(mut brigade: Command) -> Child {
    // Where the tests are a job in the background, SIGINT is ignored, and one that comes
    // before brigade handles it would be lost.
    let heed = || {
        // SAFETY: the default action calls nothing.
        unsafe { signal(Signal::SIGINT, SigHandler::SigDfl) }?;
        Ok(())
    };
    // SAFETY: between fork and exec, this makes one system call.
    unsafe { brigade.pre_exec(heed) };
    brigade.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

pub fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
}

pub fn end_of(child: Child) -> Ended {
    child.wait_with_output().unwrap().into()
}

pub fn lines_of(bench: &Bench) -> usize {
    let Some(folder) = bench.result_folders().into_iter().next() else { return 0 };
    fs::read_to_string(folder.join("records.jsonl")).map_or(0, |text| text.lines().count())
}

#[test]
fn a_stop_ends_the_program_and_tells_what_there_is() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let script = "trap 'touch told; exit 130' INT; touch ready; while :; do sleep 0.01; done";
        let bench = Bench::new(&["a"], script);
        let brigade = start(&bench, &["run"]);
        eventually("the program is running", || bench.path("ready").exists());
        send(&brigade, signal);
        let ended = end_of(brigade);
        assert_eq!(ended.code, Some(130), "{ended:?}");
        assert!(bench.path("told").exists(), "the program was not sent SIGINT");
        assert!(ended.stdout.contains("0 of 3 invocations (1 interrupted)"), "{ended:?}");
        assert_eq!(bench.records()[0]["error"], "was interrupted with the run");
    }
}

#[test]
fn a_second_stop_ends_a_program_that_ignores_the_first() {
    let script = "trap 'touch told' INT; touch ready; while :; do sleep 0.01; done";
    let bench = Bench::new(&["a"], script);
    let brigade = start(&bench, &["run"]);
    eventually("the program is running", || bench.path("ready").exists());
    send(&brigade, Signal::SIGINT);
    eventually("the program was told", || bench.path("told").exists());
    send(&brigade, Signal::SIGINT);
    let ended = end_of(brigade);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(bench.records()[0]["signal"], Signal::SIGKILL as i32);
}
