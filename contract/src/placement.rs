//! The placement of tasks.

use harness::cpus;
use harness::record::Record;

use crate::{Program, skip};

fn allowed() -> Vec<usize> {
    cpus::allowed().expect("the CPUs of this process")
}

fn crossings(record: &Record) -> Option<f64> {
    record.switches.expect("the kernel counts switches").cross_cpu_share
}

/// Every policy, with `--cpus` and under an inherited mask: the record lists the CPUs of the tasks,
/// and with only one of them no hop crosses.
pub fn the_placement_is_obeyed(program: &Program) {
    let allowed = allowed();
    let last = *allowed.last().expect("a CPU");
    let list = last.to_string();
    let backwards = format!("{last},{}", allowed[0]);
    let with = |flags: &[&str]| program.short().and(flags).record();
    assert_eq!(with(&[]).affinity, allowed);
    assert_eq!(program.short().on_cpus(&[last]).record().affinity, [last]);
    assert_eq!(with(&["--cpus", &list]).affinity, [last]);
    assert_eq!(with(&["--cpus", &backwards, "--placement=same-cpu"]).affinity, [last]);
    let same_cpu = with(&["--placement=same-cpu"]);
    assert_eq!(same_cpu.affinity, allowed[..1]);
    assert_eq!(crossings(&same_cpu), program.traces.then_some(0.0));

    let spread = program.short().and(&["--placement=spread"]);
    match program.spread {
        None => drop(spread.run().failed(2, &["--placement spread"])),
        Some(_) if allowed.len() < 2 => skip("--placement spread", "there is one CPU"),
        Some(flags) => {
            assert_eq!(spread.and(flags).record().affinity, allowed);
            let one = program.short().and(flags).and(&["--placement=spread", "--cpus", &list]);
            one.run().failed(2, &["--placement spread"]);
        }
    }
}

/// A CPU outside the inherited mask.
pub fn a_cpu_that_is_not_ours_is_a_usage_error(program: &Program) {
    if let [inside, .., outside] = allowed()[..] {
        let outside = outside.to_string();
        let run = program.with(&["--cpus", &outside]).on_cpus(&[inside]).run();
        run.failed(2, &["--cpus", &outside]);
    }
}

/// With these flags, which choose a runtime on one thread, there are neither workers nor several
/// CPUs.
pub fn check_that_one_thread_is_all(program: &Program, flags: &[&str]) {
    program.with(flags).and(&["--workers=2"]).run().failed(2, &["--workers 2"]);
    program.with(flags).and(&["--placement=spread"]).run().failed(2, &["--placement spread"]);
}

/// With `--placement spread` and these flags, more than 95 % of the traced hops must cross. Not a
/// clause: a runtime that schedules tasks itself may run neighbours on one CPU.
pub fn check_that_spread_hops_cross(program: &Program, flags: &[&str]) {
    if allowed().len() < 2 {
        return skip("crossings under --placement spread", "there is one CPU");
    }
    let record = program.with(flags).and(&["--placement=spread"]).record();
    let share = crossings(&record).expect("a program that traces");
    assert!(share > 0.95, "{share}");
}
