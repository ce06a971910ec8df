//! The placement of tasks.

use harness::cpus;
use harness::record::Record;

use crate::{Program, skip};

fn crossings(record: &Record) -> Option<f64> {
    record.switches.expect("the kernel counts switches").cross_cpu_share
}

/// Every policy, with `--cpus` and under an inherited mask: the record lists the CPUs of the tasks,
/// and with only one of them no hop crosses. A CPU outside the inherited mask is a usage error.
pub fn the_placement_is_obeyed(program: &Program) {
    let allowed = cpus::allowed().expect("the CPUs of this process");
    let last = *allowed.last().expect("a CPU");
    let one = last.to_string();
    let backwards = format!("{last},{}", allowed[0]);
    let with = |flags: &[&str]| program.short().and(flags).record();
    assert_eq!(with(&[]).affinity, allowed);
    assert_eq!(program.short().on_cpus(&[last]).record().affinity, [last]);
    assert_eq!(with(&["--cpus", &one]).affinity, [last]);
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
            let spread = program.short().and(flags).and(&["--placement=spread", "--cpus", &one]);
            spread.run().failed(2, &["--placement spread"]);
            let outside = program.short().and(&["--cpus", &one]).on_cpus(&allowed[..1]);
            outside.run().failed(2, &["--cpus", &one]);
        }
    }
}

/// With these flags, which choose a runtime on one thread, there are neither workers nor several
/// CPUs.
pub fn check_that_one_thread_is_all(program: &Program, flags: &[&str]) {
    for more in ["--workers=2", "--placement=spread"] {
        program.with(flags).and(&[more]).run().failed(2, &[&more.replace('=', " ")]);
    }
}

/// With `--placement spread` and these flags, more than 95 % of the traced hops must cross. Not a
/// clause: a runtime that schedules tasks itself may run neighbours on one CPU.
pub fn check_that_spread_hops_cross(program: &Program, flags: &[&str]) {
    if !crate::has_two_cpus() {
        return skip("crossings under --placement spread", "there is one CPU");
    }
    let record = program.with(flags).and(&["--placement=spread"]).record();
    let share = crossings(&record).expect("a program that traces");
    assert!(share > 0.95, "{share}");
}
