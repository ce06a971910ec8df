//! Where the tasks run.

use harness::cpus;
use harness::record::Record;

use crate::{Program, Spread, skip};

/// The CPUs that this test may use, which a program that it starts inherits.
fn allowed() -> Vec<usize> {
    cpus::allowed().expect("the CPUs of this process")
}

fn crossings(record: &Record) -> Option<f64> {
    record.switches.expect("the kernel counts switches").cross_cpu_share
}

/// The whole mask is in the record.
pub fn free_tasks_may_run_on_every_cpu_of_the_inherited_mask(program: &Program) {
    assert_eq!(program.short_record().affinity, allowed());
}

/// One CPU, the first of the list.
pub fn on_the_same_cpu_no_hop_crosses(program: &Program) {
    let record = program.short().and(&["--placement", "same-cpu", "--json"]).run();
    let record = record.succeeded().record();
    assert_eq!(record.affinity, allowed()[..1]);
    assert_eq!(crossings(&record), program.traces.then_some(0.0));
}

/// Offered: all CPUs. Refused: a usage error that says why.
pub fn spread_takes_every_cpu_or_is_refused(program: &Program) {
    let spread = program.short().and(&["--placement", "spread", "--json"]);
    match program.spread {
        Spread::Refused => {
            spread.run().failed(2, &["--placement spread"]);
        }
        Spread::Offered(_) if allowed().len() < 2 => skip("--placement spread", "there is one CPU"),
        Spread::Offered(flags) => {
            let record = spread.and(flags).run().succeeded().record();
            assert_eq!(record.affinity, allowed());
            assert_eq!(record.parameters["placement"], "spread");
        }
    }
}

/// `--cpus` names what placement draws from, in its order.
pub fn cpus_narrow_the_mask(program: &Program) {
    let allowed = allowed();
    let last = *allowed.last().expect("a CPU");
    let list = last.to_string();
    let narrowed = |list: &str, policy: &str| {
        let flags = ["--cpus", list, "--placement", policy, "--json"];
        program.short().and(&flags).run().succeeded().record()
    };
    let record = narrowed(&list, "free");
    assert_eq!(record.affinity, [last]);
    assert_eq!(record.parameters["cpus"], list);
    let backwards = format!("{last},{}", allowed[0]);
    assert_eq!(narrowed(&backwards, "same-cpu").affinity, [last]);
}

/// `taskset --cpu-list 1 PROGRAM` does what it says.
pub fn an_inherited_mask_is_kept(program: &Program) {
    for cpu in [allowed()[0], *allowed().last().expect("a CPU")] {
        let run = program.short().and(&["--json"]).on_cpus(&[cpu]).run();
        let record = run.succeeded().record();
        assert_eq!(record.affinity, [cpu]);
        assert_eq!(crossings(&record), program.traces.then_some(0.0));
    }
}

/// There are no two CPUs to spread over.
pub fn spread_on_one_cpu_is_a_usage_error(program: &Program) {
    let cpu = allowed()[0];
    let flags = match program.spread {
        Spread::Offered(flags) => flags,
        Spread::Refused => &[],
    };
    let spread = || program.with(&["--placement", "spread"]).and(flags);
    spread().on_cpus(&[cpu]).run().failed(2, &["--placement spread"]);
    spread().and(&["--cpus", &cpu.to_string()]).run().failed(2, &["--placement spread"]);
}

/// One that the machine lacks, and one that the mask leaves out.
pub fn a_cpu_that_is_not_ours_is_a_usage_error(program: &Program) {
    let allowed = allowed();
    let beyond = (allowed.last().expect("a CPU") + 1).to_string();
    let words = ["--cpus", &*beyond, "not available"];
    program.with(&["--cpus", &beyond]).run().failed(2, &words);
    match allowed[..] {
        [inside, .., outside] => {
            let outside = outside.to_string();
            let run = program.with(&["--cpus", &outside]).on_cpus(&[inside]).run();
            run.failed(2, &["--cpus", &outside, "not available"]);
        }
        _ => skip("--cpus outside of the mask", "there is one CPU"),
    }
}

/// With these flags `--placement spread` is refused for this reason. On one CPU
/// another one comes first.
pub fn check_that_spread_is_refused(program: &Program, flags: &[&str], reason: &str) {
    let reason = if allowed().len() < 2 { "needs two CPUs" } else { reason };
    let run = program.with(flags).and(&["--placement", "spread"]).run();
    run.failed(2, &["--placement spread", reason]);
}

/// Runs `program` with `--placement spread` and these flags: more than 95 % of
/// the traced hops must cross. Not a clause that every program keeps: a
/// runtime that schedules tasks itself may run neighbours on one CPU.
pub fn check_that_spread_hops_cross(program: &Program, flags: &[&str]) {
    if allowed().len() < 2 {
        return skip("crossings under --placement spread", "there is one CPU");
    }
    let run = program.with(flags).and(&["--placement", "spread", "--json"]).run().succeeded();
    let share = crossings(&run.record()).expect("a program that traces");
    assert!(share > 0.95, "{share}");
}
