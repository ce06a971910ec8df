//! How a run ends early: by `--max-time` or by signals.

use harness::process_stat::ProcessStat;
use harness::record::{Ending, Record};
use harness::system_files::SystemFiles;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::Program;
use crate::invocation::{Running, eventually};

/// Flags of an endless run.
const ENDLESS: &[&str] = &["--iters", "1000000000000", "--warmups", "0", "--json"];

/// CPU time a hundred times as long as setting up two tasks.
const MEASURING_TICKS: u64 = 20;

/// An endless run that is measuring.
pub fn measuring(program: &Program) -> Running {
    let mut running = program.few_tasks(2).and(ENDLESS).start();
    running.wait_until("it was measuring", |pid| cpu_ticks(pid) >= MEASURING_TICKS);
    running
}

fn cpu_ticks(pid: i32) -> u64 {
    stat(pid).map_or(0, |stat| stat.user_ticks + stat.system_ticks)
}

fn stat(pid: i32) -> Option<ProcessStat> {
    ProcessStat::read(&SystemFiles::live(), &format!("proc/{pid}"))
}

fn check(record: &Record, complete: bool, ended_by: Ending) {
    assert_eq!((record.complete, record.ended_by, &record.error), (complete, ended_by, &None));
    assert!((1..1_000_000_000_000).contains(&record.iterations), "{}", record.iterations);
    assert_eq!(record.principal().expect("a measurement").count, record.iterations);
}

/// Sends SIGINT to a measuring run, which must report its measurements.
fn interrupt(running: Running) {
    running.signal(Signal::SIGINT);
    let run = running.end();
    assert_eq!((run.code, run.complaints()), (Some(130), vec![]), "{run:#?}");
    check(&run.record(), false, Ending::Signal);
}

pub fn an_interruption_keeps_the_record(program: &Program) {
    interrupt(measuring(program));
}

/// No process of its group survives the program, even if it is killed.
pub fn nothing_is_left_behind(program: &Program) {
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let running = measuring(program);
        let group = Pid::from_raw(running.pid());
        running.signal(signal);
        let _ = running.end();
        eventually("its processes have ended", || killpg(group, None).is_err());
    }
}

/// Such a run ends as planned.
pub fn max_time_ends_the_measuring_early(program: &Program) {
    let run = program.few_tasks(2).and(ENDLESS).and(&["--max-time", "0.05"]).run().succeeded();
    check(&run.record(), true, Ending::MaxTime);
}

/// As with Ctrl-Z and `fg`. Some system calls are interrupted by that even
/// though no signal is caught.
pub fn stopping_and_continuing_disturbs_nothing(program: &Program) {
    let mut running = measuring(program);
    let stopped = |pid| stat(pid).is_some_and(|stat| stat.state == 'T');
    for _ in 0..20 {
        running.signal(Signal::SIGSTOP);
        running.wait_until("it was stopped", stopped);
        running.signal(Signal::SIGCONT);
        running.wait_until("it was continued", |pid| !stopped(pid));
    }
    let before = cpu_ticks(running.pid());
    running.wait_until("it continued measuring", |pid| cpu_ticks(pid) > before + MEASURING_TICKS);
    interrupt(running);
}

/// The command ends after the program, which waits for the command.
pub fn a_second_interruption_ends_a_program_that_is_stuck(program: &Program) {
    let stuck = "exec > /dev/null 2>&1; while kill -0 {pid}; do sleep 0.05; done";
    let flags = ["--tasks", "2", "--iters", "5", "--quiet", "--command", stuck];
    let mut running = program.with(&flags).start();
    running.wait_until("its command was running", |pid| {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        children.is_ok_and(|children| !children.is_empty())
    });
    // Signals that are pending together are merged.
    eventually("it ended", || {
        running.signal(Signal::SIGINT);
        stat(running.pid()).is_none_or(|stat| stat.state == 'Z')
    });
    assert_eq!(running.end().code, Some(130));
}
