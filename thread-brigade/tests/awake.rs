//! `--keep-awake`: a process of the least class spins on each CPU, and none is left
//! whatever ends the program.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use harness::cpus;
use harness::record::Record;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// `SCHED_IDLE`, in the 41st field of a process's `stat`.
const IDLE_CLASS: &str = "5";

fn program(flags: &[&str]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_thread-brigade"));
    program.args(["--tasks", "5"]).args(flags);
    program
}

fn record(flags: &[&str]) -> Record {
    let output = program(flags).args(["--json", "--iters", "500"]).output().expect("a program");
    serde_json::from_slice(&output.stdout).expect("a record")
}

/// What a process has in a field of `stat` from the third on; `None` for one that has
/// ended.
fn field(process: &str, number: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let field = stat.rsplit_once(')')?.1.split_whitespace().nth(number - 3)?.to_owned();
    Some(field)
}

fn is_alive(process: &str) -> bool {
    field(process, 3).is_some_and(|state| !"ZX".contains(&state))
}

/// The children of a process.
fn children(of: &Child) -> Vec<String> {
    let parent = of.id().to_string();
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|process| field(process, 4).as_deref() == Some(&parent)).collect()
}

fn eventually(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(600), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn one_spins_on_each_cpu_and_none_is_left() {
    let cpus = cpus::allowed().expect("the CPUs").len();
    for signal in [Signal::SIGKILL, Signal::SIGINT, Signal::SIGTERM] {
        let mut program = program(&["--keep-awake", "--iters", "1000000000", "--quiet"]);
        let mut program = program.stderr(Stdio::null()).spawn().expect("a program");
        let spinners = || {
            let mut children = children(&program);
            children.retain(|child| field(child, 41).as_deref() == Some(IDLE_CLASS));
            children
        };
        eventually("a process spins on each CPU", || spinners().len() == cpus);
        let spinners = spinners();
        kill(Pid::from_raw(program.id().cast_signed()), signal).expect("a signal");
        program.wait().expect("its end");
        eventually("they have ended", || !spinners.iter().any(|spinner| is_alive(spinner)));
    }
}

#[test]
fn cpus_that_are_kept_awake_enter_no_idle_state() {
    let kept = record(&["--keep-awake"]);
    assert_eq!(kept.parameters["keep_awake"], true);
    assert_eq!(record(&[]).parameters["keep_awake"], false);
    let Some(states) = kept.waiting.and_then(|waiting| waiting.idle_states) else {
        return contract::skip("idle CPUs", "the kernel has no driver of idle states");
    };
    let entries: f64 = states.iter().map(|state| state.entries_per_operation).sum();
    assert!(entries < 0.05, "{entries} per hop");
}

/// The sender goes on until it blocks, and the thread that it has woken waits for it.
#[test]
fn threads_that_share_a_cpu_wait_for_it() {
    let waiting = record(&["--placement", "same-cpu"]).waiting.expect("a span");
    let Some(runnable_ns) = waiting.runnable_ns_per_operation else {
        return contract::skip("run delay", "the kernel keeps no account of it");
    };
    assert!(runnable_ns > 0.0, "{waiting:?}");
}

#[test]
fn a_hop_between_two_cpus_enters_an_idle_state_and_one_on_a_single_cpu_none() {
    if cpus::allowed().expect("the CPUs").len() < 2 {
        return contract::skip("hops between CPUs", "there is one CPU");
    }
    let entries = |placement| {
        let waiting = record(&["--placement", placement]).waiting.expect("a span");
        let states = waiting.idle_states?;
        Some(states.iter().map(|state| state.entries_per_operation).sum::<f64>())
    };
    let Some((spread, same_cpu)) = entries("spread").zip(entries("same-cpu")) else {
        return contract::skip("idle CPUs", "the kernel has no driver of idle states");
    };
    // On a busy machine CPUs have others to run, and idle neither way.
    println!("{spread} and {same_cpu} idle entries per hop");
    assert!(spread < 2.0 && same_cpu < 0.5, "{spread} {same_cpu}");
}
