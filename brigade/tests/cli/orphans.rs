//! What a program started ends with the runner, whatever becomes of that.

use std::fs;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::bench::{Bench, Ended, RECORD, eventually};
use crate::faults::is_running;
use crate::interruption::{end_of, send, start};

/// Starts a process that writes its number to `child` and lives for ever: in the
/// group of the program, or in a session of its own.
const STARTS: [&str; 2] = [
    "sh -c 'echo $$ >child.new; mv child.new child; exec sleep 6000' &",
    "setsid sh -c 'echo $$ >child.new; mv child.new child; exec sleep 6000' &",
];

/// A `brigade run` whose program has started a process, and waits.
fn waiting(starts: &str) -> (Bench, Child, String) {
    let bench = Bench::new(&["a"], &format!("[ -e go ] || {{ {starts}\nwait; }}; echo '{RECORD}'"));
    let brigade = start(&bench, &["run"]);
    eventually("the child is running", || bench.path("child").exists());
    let child = fs::read_to_string(bench.path("child")).unwrap().trim().to_owned();
    fs::write(bench.path("go"), "").unwrap();
    (bench, brigade, child)
}

#[test]
fn what_a_program_started_ends_with_a_runner_that_is_killed() {
    for starts in STARTS {
        let (bench, mut brigade, child) = waiting(starts);
        brigade.kill().unwrap();
        brigade.wait().unwrap();
        // The next does not measure beside what is left, nor is it refused.
        let ended = bench.ends(&["run"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        assert!(!is_running(&child), "{starts}");
    }
}

#[test]
fn what_a_program_started_ends_with_a_runner_that_is_stopped() {
    for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM] {
        for starts in STARTS {
            let (bench, brigade, child) = waiting(starts);
            send(&brigade, signal);
            let ended = end_of(brigade);
            assert_eq!(ended.code, Some(130), "{signal}: {ended:?}");
            assert!(!is_running(&child), "{signal}: {starts}");
            assert_eq!(bench.records()[0]["interrupted"], true, "{signal}");
        }
    }
}

#[test]
fn what_a_program_leaves_in_a_session_of_its_own_is_ended() {
    let script =
        format!("{} while [ ! -e child ]; do sleep 0.01; done; echo '{RECORD}'", STARTS[1]);
    let bench = Bench::new(&["a"], &script);
    let ended = bench.ends(&["run", "--rounds", "1"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!(!is_running(fs::read_to_string(bench.path("child")).unwrap().trim()));
}

#[test]
fn a_hang_up_that_is_ignored_stays_ignored() {
    let bench = Bench::new(
        &["a"],
        &format!("touch ready; while [ ! -e go ]; do sleep 0.01; done; echo '{RECORD}'"),
    );
    let brigade = bench.brigade(&["run"]);
    let mut nohup = Command::new("sh");
    nohup.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(brigade.get_program());
    nohup
        .args(brigade.get_args())
        .current_dir(bench.path(""))
        .env("BRIGADE_LOCK", bench.path("lock"));
    let child = nohup.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the program is running", || bench.path("ready").exists());
    send(&child, Signal::SIGHUP);
    fs::write(bench.path("go"), "").unwrap();
    let ended = end_of(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// The numbers of the runner's children.
fn children_of(brigade: &Child) -> Vec<Pid> {
    let is_child = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
        fields.split_whitespace().nth(1) == Some(&brigade.id().to_string())
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(is_child).map(Pid::from_raw).collect()
}

#[test]
fn what_outlives_even_the_guard_holds_the_lock_and_is_named() {
    let (bench, mut brigade, child) = waiting(STARTS[1]);
    let program = children_of(&brigade);
    assert!(!program.is_empty());
    for pid in program {
        kill(pid, Signal::SIGSTOP).unwrap();
    }
    // A runner that goes on would end what is left, now that its program has ended.
    kill(Pid::from_raw(brigade.id().cast_signed()), Signal::SIGSTOP).unwrap();
    for pid in children_of(&brigade) {
        kill(pid, Signal::SIGKILL).unwrap();
    }
    brigade.kill().unwrap();
    brigade.wait().unwrap();
    let ended = bench.ends(&["run"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let named = format!("process {child} (sleep)");
    assert!(ended.stderr.contains(&named), "{ended:?}");
    assert!(ended.stderr.contains(&format!("kill -KILL {child}")), "{ended:?}");
    kill(Pid::from_raw(child.parse().unwrap()), Signal::SIGKILL).unwrap();
    eventually("the lock is free", || bench.ends(&["run"]).code == Some(0));
}

#[test]
fn nothing_runs_beside_a_program_but_what_sleeps() {
    let (_bench, brigade, _) = waiting("sleep 6000 & echo $! >child.new; mv child.new child");
    let sleeps = |pid: &Pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| stat.contains(") S "))
    };
    // The program, whose shell waits, and the guard.
    assert_eq!(children_of(&brigade).len(), 2);
    eventually("both sleep", || children_of(&brigade).iter().all(sleeps));
    send(&brigade, Signal::SIGTERM);
    let ended = end_of(brigade);
    assert_eq!(ended.code, Some(130), "{ended:?}");
}

#[test]
fn a_lock_is_free_as_soon_as_its_run_has_ended() {
    let bench = Bench::printing(RECORD);
    for _ in 0..20 {
        let ended = Ended::from(bench.brigade(&["check"]));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    }
}
