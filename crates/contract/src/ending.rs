//! How a run ends early: by `--max-time` or by signals.

use std::fs;

use harness::emulation::emulated_on;
use harness::record::{Ending, Record};
use harness::system_files::{self, SystemFiles};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::invocation::{Invocation, Running, eventually};
use crate::machine::{children, stat, threads as threads_of};
use crate::{Program, skip};

/// Flags of an endless run.
const ENDLESS: &[&str] = &["--iters", "1000000000000", "--warmups", "0", "--json"];

/// CPU time a hundred times as long as setting up two tasks.
const MEASURING_TICKS: u64 = 20;

/// How many times as long setting up takes if an emulator translates the program first.
const EMULATED_SET_UP: u64 = 10;

/// An endless run that is measuring.
pub fn measuring(program: &Program) -> Running {
    let mut running = program.few_tasks(2).and(ENDLESS).start();
    let is_emulated = emulated_on(&SystemFiles::live()).is_some();
    let ticks = if is_emulated { MEASURING_TICKS * EMULATED_SET_UP } else { MEASURING_TICKS };
    running.wait_until("it was measuring", |pid| {
        stat(pid).is_some_and(|stat| stat.user_ticks + stat.system_ticks >= ticks)
    });
    running
}

fn check(record: &Record, complete: bool, ended_by: Ending) {
    assert_eq!((record.complete, record.ended_by, &record.error), (complete, ended_by, &None));
    assert!((1..1_000_000_000_000).contains(&record.iterations), "{}", record.iterations);
    assert_eq!(record.principal().expect("a measurement").count, record.iterations);
}

/// An interrupted program reports what it has measured. The signal reaches its children, too, as
/// Ctrl-C in a terminal does. No process of its group survives it, even if it alone is killed.
pub fn signals_keep_the_record_and_leave_no_process(program: &Program) {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL] {
        let running = measuring(program);
        let group = Pid::from_raw(running.pid());
        if signal == Signal::SIGKILL {
            running.signal(signal);
        } else {
            killpg(group, signal).expect("its group exists");
        }
        let run = running.end();
        if signal != Signal::SIGKILL {
            assert_eq!((run.code, run.complaints()), (Some(130), vec![]), "{run:#?}");
            check(&run.record(), false, Ending::Signal);
        }
        eventually("its processes have ended", || killpg(group, None).is_err());
    }
}

/// Interrupts an endless run as soon as it has this many threads and catches signals.
pub fn check_interruption(run: Invocation, threads: usize) {
    let mut running = run.and(&["--iters=1000000000", "--warmups=0"]).start();
    running.wait_until("it had its threads and caught SIGINT", |pid| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let caught = system_files::field(&status, "SigCgt").unwrap_or_default();
        let caught = u64::from_str_radix(caught, 16).is_ok_and(|caught| caught & 2 != 0);
        caught && threads_of(pid) >= threads
    });
    running.signal(Signal::SIGINT);
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
}

/// A lap that never ends, since a task was stopped, ends 20 s after the first signal.
pub fn a_lap_that_never_ends_is_left_after_one_signal(program: &Program) {
    let running = measuring(program);
    let [stopped] = children(running.pid())[..] else { panic!("one child") };
    kill(Pid::from_raw(stopped), Signal::SIGSTOP).expect("the child is ours");
    running.signal(Signal::SIGINT);
    assert_eq!(running.end().code, Some(130));
    eventually("the stopped task has ended", || kill(Pid::from_raw(stopped), None).is_err());
}

/// A signal that arrives as soon as it is caught is heeded: strace sends it when its handler is
/// installed.
pub fn a_signal_while_the_program_starts_ends_it(program: &Program) {
    let folder = tempfile::tempdir().expect("a folder");
    let calls = folder.path().join("calls");
    let traced = |options: &str| {
        let script = format!("exec strace -f -o {} {options} \"$@\"", calls.display());
        program.few_tasks(2).and(&["--max-time=0.2"]).from_shell(&script).run()
    };
    let untouched = traced("-e trace=rt_sigaction");
    if untouched.code != Some(0) {
        return skip("a signal while a program starts", &untouched.stderr);
    }
    let calls = fs::read_to_string(&calls).expect("the calls");
    let calls: Vec<&str> = calls.lines().filter(|line| line.contains("rt_sigaction(")).collect();
    for signal in ["INT", "TERM"] {
        let installs = format!("rt_sigaction(SIG{signal}, {{sa_handler=0x");
        let number = calls.iter().position(|call| call.contains(&installs)).expect("a handler") + 1;
        let run = traced(&format!("-e inject=rt_sigaction:signal={signal}:when={number}"));
        assert_eq!(run.code, Some(130), "SIG{signal} at call {number}: {run:#?}");
    }
}

/// A run that reaches `--max-time` ends as planned.
pub fn max_time_ends_the_measuring_early(program: &Program) {
    let run = program.few_tasks(2).and(ENDLESS).and(&["--max-time", "0.05"]).run().succeeded();
    check(&run.record(), true, Ending::MaxTime);
}

/// The command ends after the program, which waits for the command.
pub fn a_second_interruption_ends_a_program_that_is_stuck(program: &Program) {
    let stuck = "exec > /dev/null 2>&1; while kill -0 {pid}; do sleep 0.05; done";
    let flags = ["--tasks", "2", "--iters", "5", "--quiet", "--command", stuck];
    let mut running = program.with(&flags).start();
    running.wait_until("its command was running", |pid| !children(pid).is_empty());
    // Signals that are pending together are merged.
    eventually("it ended", || {
        running.signal(Signal::SIGINT);
        stat(running.pid()).is_none_or(|stat| stat.state == 'Z')
    });
    assert_eq!(running.end().code, Some(130));
}
