//! How a run ends before its time.

use std::fs::{self, File, OpenOptions};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use contract::has_two_cpus;
use harness::record::{Ending, Record};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::run::{complaints, program, text};

/// How long a condition may take to come true before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Flags of a run that does not end by itself.
const ENDLESS: &str = "--json --iters 1000000000000 --warmups 0";

/// Waits until `found` finds something.
fn eventually<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "gave up waiting: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

fn start(flags: &str) -> Child {
    let mut command = program(&format!("{ENDLESS} {flags}"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

/// The process that `parent` has forked, once there is one.
fn child_of(parent: &Child) -> Pid {
    let file = format!("/proc/{0}/task/{0}/children", parent.id());
    eventually("for a child", || {
        let children = fs::read_to_string(&file).ok()?;
        children.split_whitespace().next()?.parse().ok().map(Pid::from_raw)
    })
}

/// Waits until a process has had some CPU time: it has come to measuring.
fn wait_until_busy(process: u32) {
    eventually("for CPU time", || {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // Of 52 fields the 15th and the 14th, in clock ticks.
        let times = stat.rsplit(' ').skip(52 - 15).take(2);
        let ticks: u64 = times.map(|ticks| ticks.parse::<u64>()).sum::<Result<_, _>>().ok()?;
        (ticks > 5).then_some(())
    });
}

fn mechanisms_between_processes() -> impl Iterator<Item = &'static str> {
    let spin = has_two_cpus().then_some("spin --placement spread");
    let others = ["pipe", "socketpair", "eventfd", "futex", "condvar"];
    others.into_iter().chain(["yield --placement same-cpu"]).chain(spin)
}

/// Also where the kernel tells nobody of the death.
#[test]
fn a_child_that_is_killed_is_a_failed_run_and_not_a_hang() {
    for via in mechanisms_between_processes() {
        let parent = start(&format!("--kind process --via {via}"));
        let child = child_of(&parent);
        wait_until_busy(child.as_raw().unsigned_abs());
        kill(child, Signal::SIGKILL).expect("the child is ours");
        let output = parent.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(1), "{via}: {output:?}");
        assert!(complaints(&output)[0].contains("task 1 "), "{output:?}");
        let record = Record::parse(&text(&output.stdout)).expect("a record");
        assert_eq!((record.complete, record.ended_by), (false, Ending::Error), "{via}");
    }
}

#[test]
fn a_child_dies_with_its_parent() {
    for via in mechanisms_between_processes() {
        let mut parent = start(&format!("--kind process --via {via}"));
        let child = child_of(&parent);
        wait_until_busy(child.as_raw().unsigned_abs());
        parent.kill().expect("the parent is ours");
        parent.wait().expect("it ends");
        eventually("for the child's end", || kill(child, None).is_err().then_some(()));
    }
}

#[test]
fn an_interruption_tells_what_was_measured() {
    for kind in ["thread", "process"] {
        let started = start(&format!("--via futex --kind {kind}"));
        wait_until_busy(started.id());
        let pid = Pid::from_raw(started.id().try_into().expect("a process id"));
        kill(pid, Signal::SIGINT).expect("the program is ours");
        let output = started.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        let record = Record::parse(&text(&output.stdout)).expect("a record");
        assert_eq!((record.complete, record.ended_by), (false, Ending::Signal));
        assert!(record.iterations > 0 && record.switches.is_some());
    }
}

#[test]
fn an_output_that_cannot_be_written_is_a_failure_and_one_that_is_closed_is_not() {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    for flags in ["--iters 20", "--iters 20 --json", "--kind process --iters 20"] {
        let output = program(flags).stdout(full.try_clone().expect("a file")).output();
        assert_eq!(output.expect("it starts").status.code(), Some(1), "{flags}");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = program(flags).stdout(writer).output().expect("it starts");
        assert_eq!((output.status.code(), complaints(&output).len()), (Some(0), 0), "{flags}");
    }
}

/// What the parent has written before it forks is written once.
#[test]
fn a_forked_program_prints_once() {
    let folder = std::env::temp_dir();
    let path = folder.join(format!("thread-switch-{}", std::process::id()));
    let file = File::create(&path).expect("a file");
    let status = program("--kind process --iters 20").stdout(file).status().expect("it starts");
    let printed = fs::read_to_string(&path).expect("what was printed");
    fs::remove_file(&path).expect("it was there");
    assert!(status.success());
    assert_eq!(printed.matches("2 tasks, 20 iterations:").count(), 1, "{printed}");
    assert!(printed.contains("round trips per second: "), "{printed}");
}
