//! Tests thread-brigade from outside: flags in, record out.

use contract::ending::check_interruption;
use contract::invocation::eventually;
use contract::machine::{children, stat};
use contract::placement::check_that_spread_hops_cross;
use contract::record::voluntary_switches;
use contract::{Measurement, Program, skip};
use harness::inherited::Scheduling;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_thread-brigade"),
    measurements: &[Measurement::HOPS],
    spread: Some(&[]),
    traces: true,
    claimed_switches: Some(1.0),
    ..Program::NEW
};

contract::keeps!(PROGRAM, in full);

#[test]
fn a_signal_while_it_starts_ends_it() {
    contract::ending::a_signal_while_the_program_starts_ends_it(&PROGRAM);
}

#[test]
fn a_trace_has_every_switch() {
    contract::trace::the_switches_are_those_that_the_kernel_counts(&PROGRAM);
}

mod processes {
    use super::*;

    const PROCESSES: Program = Program { flags: &["--kind=process"], traces: false, ..PROGRAM };

    contract::keeps!(PROCESSES);

    #[test]
    fn a_killed_task_is_named_and_the_others_end() {
        for channel in ["pipe", "socketpair"] {
            let flags = ["--kind=process", "--tasks=20", "--iters=1000000000", "--channel"];
            let mut running = PROGRAM.with(&flags).and(&[channel]).start();
            running.wait_until("its processes were there", |pid| children(pid).len() == 20);
            let tasks = children(running.pid());
            kill(Pid::from_raw(tasks[7]), Signal::SIGKILL).expect("it is ours");
            let ended = running.end();
            assert!(ended.code == Some(1) && ended.stderr.contains("task 7"), "{ended:?}");
            assert!(!tasks.into_iter().any(is_alive), "{ended:?}");
        }
        for channel in ["eventfd", "futex", "mpsc", "condvar"] {
            PROGRAM.refuses(&["--kind=process", "--channel", channel], &["--kind process"]);
        }
    }
}

/// On one CPU every hop blocks one thread. On recent kernels the woken thread may preempt its
/// waker, which counts as an involuntary switch; those are not bounded here.
#[test]
fn a_brigade_over_any_channel_switches_crosses_and_ends() {
    for channel in ["pipe", "socketpair", "eventfd", "futex", "mpsc", "condvar"] {
        let of_channel = |flags: &[&'static str]| [flags, &["--channel", channel]].concat();
        let flags = of_channel(&["--tasks=50", "--iters=500", "--placement=same-cpu"]);
        let switches = voluntary_switches(&PROGRAM.record(&flags));
        // If the sender wakes a thread while it holds the lock of the list of waiters, the thread
        // finds it taken, and blocks once more.
        let most = if channel == "mpsc" { 2.10 } else { 1.05 };
        assert!((0.90..=most).contains(&switches), "{channel}: {switches}");
        check_that_spread_hops_cross(&PROGRAM, &of_channel(&["--tasks=51", "--iters=100"]));
        if ["pipe", "socketpair", "eventfd"].contains(&channel) {
            contract::limits::check_that_files_meet_their_limit(&PROGRAM, &of_channel(&[]));
        }
        check_interruption(PROGRAM.with(&of_channel(&["--tasks=20"])), 21);
    }
}

#[test]
fn stacks_take_the_requested_address_space() {
    let bytes = PROGRAM.memory(&["--tasks=100", "--stack-size=16777216"], "VmSize");
    assert!(bytes >= 100 * (16 << 20), "{bytes}");
    PROGRAM.refuses(&["--stack-size=1"], &["--stack-size"]);
}

#[test]
fn as_many_threads_run_as_fit_into_memory_maps() {
    let flags = ["--channel=futex", "--iters=1", "--warmups=0", "--quiet"];
    contract::limits::check_that_as_many_threads_run_as_fit(&PROGRAM, &flags);
}

fn is_alive(pid: i32) -> bool {
    stat(pid).is_some_and(|stat| stat.state != 'Z')
}

#[test]
fn keep_awake_spins_on_each_cpu_and_leaves_no_spinner() {
    let cpus = harness::cpus::allowed().expect("the CPUs").len();
    let scheduling = |pid: &i32| Scheduling::of_thread(pid.unsigned_abs());
    let idle = |pid: &i32| scheduling(pid).is_some_and(|scheduling| scheduling.policy() == "idle");
    let spinners = |parent| children(parent).into_iter().filter(idle).collect::<Vec<_>>();
    for signal in [Signal::SIGKILL, Signal::SIGINT] {
        let flags = ["--tasks=5", "--keep-awake", "--iters=1000000000", "--quiet"];
        let mut running = PROGRAM.with(&flags).start();
        running.wait_until("a process spins on each CPU", |pid| spinners(pid).len() == cpus);
        let spinners = spinners(running.pid());
        running.signal(signal);
        let _ = running.end();
        eventually("they have ended", || !spinners.iter().copied().any(is_alive));
    }
}

/// On one CPU the sender continues until it blocks, while the thread that it woke waits.
#[test]
fn hops_wait_for_their_cpu_or_wake_an_idle_one() {
    let waiting =
        |flag: &str| PROGRAM.record(&["--tasks=5", "--iters=500", flag]).waiting.expect("a span");
    match waiting("--placement=same-cpu").runnable_ns_per_operation {
        Some(runnable_ns) => assert!(runnable_ns > 0.0),
        None => skip("run delay", "the kernel keeps no account of it"),
    }
    let Some(states) = waiting("--keep-awake").idle_states else {
        return skip("idle CPUs", "the kernel has no driver of idle states");
    };
    let entries: f64 = states.iter().map(|state| state.entries_per_operation).sum();
    assert!(entries < 0.05, "{entries} per hop");
}
