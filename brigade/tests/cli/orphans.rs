//! Processes that a program started end with the runner, however that ends; and two runners on one
//! machine refuse each other.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use contract::skip;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

use crate::bench::{Bench, Ended, RECORD, end_of, eventually, is_running, send, start};

/// Starts an endless process that writes its id to `child`: in the program's process group, or in a
/// new session.
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
fn child_processes_of_a_program_end_with_a_killed_runner() {
    for starts in STARTS {
        let (bench, mut brigade, child) = waiting(starts);
        brigade.kill().unwrap();
        brigade.wait().unwrap();
        // The next run neither measures next to leftovers nor is refused.
        let ended = bench.ends(&["run"]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        assert!(!is_running(&child), "{starts}");
    }
}

#[test]
fn child_processes_of_a_program_end_with_a_stopped_runner() {
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
fn a_process_in_a_separate_session_is_ended() {
    let script =
        format!("{} while [ ! -e child ]; do sleep 0.01; done; echo '{RECORD}'", STARTS[1]);
    let bench = Bench::new(&["a"], &script);
    let ended = bench.ends(&["run", "--rounds", "1"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!(!is_running(fs::read_to_string(bench.path("child")).unwrap().trim()));
}

#[test]
fn an_ignored_hang_up_stays_ignored() {
    let bench = Bench::new(
        &["a"],
        &format!("touch ready; while [ ! -e go ]; do sleep 0.01; done; echo '{RECORD}'"),
    );
    let ignoring = ["sh", "-c", "trap '' HUP; exec \"$0\" \"$@\""];
    let mut nohup = bench.brigade_under(&ignoring, &["run"]);
    let child = nohup.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the program is running", || bench.path("ready").exists());
    send(&child, Signal::SIGHUP);
    fs::write(bench.path("go"), "").unwrap();
    let ended = end_of(child);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// The ids of the runner's children.
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
fn a_process_that_outlives_the_guard_holds_the_lock_and_is_named() {
    let (bench, mut brigade, child) = waiting(STARTS[1]);
    let program = children_of(&brigade);
    assert!(!program.is_empty());
    for pid in program {
        kill(pid, Signal::SIGSTOP).unwrap();
    }
    // A running runner would kill the leftovers now that its program has ended.
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
fn only_sleeping_processes_run_next_to_a_program() {
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

/// A `brigade run` whose program waits until the file `go` exists.
fn measuring() -> (Bench, Child) {
    let script = format!("touch ready; while [ ! -e go ]; do sleep 0.01; done; echo '{RECORD}'");
    let bench = Bench::new(&["a"], &script);
    let child = start(&bench, &["run"]);
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
             wait for it to end, or add --wait ({} is locked)\n",
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

/// To this user, another user's file is like an own file with access forbidden; root first drops
/// its capabilities.
#[test]
fn a_lock_that_another_user_made_unreadable_is_reported_with_a_remedy() {
    let weak = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"];
    let becomes_weak = Command::new(weak[0]).args(&weak[1..]).arg("true").status();
    if geteuid().is_root() && !becomes_weak.is_ok_and(|status| status.success()) {
        return skip("a lock that may not be read", "setpriv cannot take root's capabilities away");
    }
    let bench = Bench::new(&["a"], "touch ran");
    let lock = bench.path("lock");
    fs::write(&lock, "1 1\n").unwrap();
    fs::set_permissions(&lock, Permissions::from_mode(0o000)).unwrap();
    let ended = if geteuid().is_root() {
        Ended::from(bench.brigade_under(&weak, &["run"]))
    } else {
        bench.ends(&["run"])
    };
    let line = format!(
        "brigade: taking the lock {}: name another file with BRIGADE_LOCK=PATH: or ask its owner \
         to let every user write it (chmod 666): Permission denied (os error 13)\n",
        lock.display()
    );
    assert_eq!((ended.code, ended.stdout, ended.stderr), (Some(1), String::new(), line));
    assert!(!bench.path("ran").exists());
}
