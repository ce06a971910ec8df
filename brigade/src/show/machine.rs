//! Words about a machine: its name, the conditions of figures, what processes inherited, and how two
//! environments differ.

use super::page::ABSENT;
use super::quantity::duration_of_fact;
use crate::judge::environment::{Conditions, Difference, InheritedFact, Machine, Unusual};
use crate::judge::report::RunSummary;

/// The fewest characters to which a CPU's name is cut.
const SHORTEST_NAME: usize = 8;

/// The machine in a few words: its CPUs and its hypervisor.
pub fn machine(machine: &Machine) -> String {
    join([Some(cpu(machine)), cpus(machine), host(machine)])
}

/// The machine in at most so many columns: if it is longer, the CPU's name is cut.
pub fn machine_within(of: &Machine, columns: usize) -> String {
    let whole = machine(of);
    let over = whole.chars().count().saturating_sub(columns);
    let name = cpu(of);
    let length = name.chars().count();
    // The mark takes a column.
    let kept = length.saturating_sub(over + 1);
    if over == 0 {
        whole
    } else if kept >= SHORTEST_NAME {
        let cut = name.chars().take(kept).chain(['…']).collect();
        join([Some(cut), cpus(of), host(of)])
    } else {
        whole.chars().take(columns.saturating_sub(1)).chain(['…']).collect()
    }
}

/// The machine and the day in one line; the full report has kernel options.
pub fn machine_and_day(run: &RunSummary) -> String {
    let day = run.started_at.get(..10).unwrap_or_default();
    format!("{}, {day}", machine(&run.machine))
}

/// The CPU's model, family and number, such as `AMD EPYC 25/17`.
fn cpu(Machine { cpu, family, model_number, .. }: &Machine) -> String {
    let known = family.as_ref().zip(model_number.as_ref());
    let known = known.map(|(family, number)| format!(" {family}/{number}"));
    cpu.clone() + &known.unwrap_or_default()
}

/// The number of CPUs, and how many of them the run could use, if fewer.
fn cpus(machine: &Machine) -> Option<String> {
    let online = machine.online_cpus?;
    let allowed = machine.allowed_cpus.map_or(String::new(), |allowed| format!("{allowed} of "));
    Some(format!("{allowed}{online} CPU{}", if online == 1 { "" } else { "s" }))
}

fn host(machine: &Machine) -> Option<String> {
    if let Some(real) = &machine.emulated_on {
        return Some(format!("emulated on {real}"));
    }
    match machine.virtualisation.as_deref()? {
        "none" => Some("bare metal".to_owned()),
        "kvm" => Some("KVM virtual machine".to_owned()),
        hypervisor => Some(format!("{hypervisor} virtual machine")),
    }
}

/// All conditions of the figures in one sentence, the most important first.
pub fn conditions(of_machine: &Machine, others: &Conditions) -> String {
    let named =
        |what: &str, value: &Option<String>| value.as_ref().map(|value| format!("{what}{value}"));
    let facts = [
        Some(machine(of_machine)),
        named("idle ", &others.idle_driver),
        named("governor ", &others.governor),
        named("clock ", &others.clock_source),
        named("Linux ", &others.kernel),
        named("preemption ", &others.preemption),
        others.compiler.clone(),
        named("revision ", &others.revision),
    ];
    format!("Measured on: {}.", join(facts))
}

fn join<const COUNT: usize>(facts: [Option<String>; COUNT]) -> String {
    let known = facts.into_iter().flatten().filter(|fact| !fact.is_empty());
    known.collect::<Vec<_>>().join(", ")
}

/// What changed during a run, or is unusual.
pub fn inherited(fact: &InheritedFact) -> String {
    match fact {
        InheritedFact::Changed(change) => {
            let [was, now] = values(change);
            format!("{} changed from {was} to {now}: those processes are not used", change.name)
        }
        InheritedFact::Unusual(fact) => unusual(fact),
    }
}

/// A fact and what it does, such as `timer slack 5 ms: sleepers wake later or earlier`.
fn unusual(Unusual { what, now, is_ns, ran_on, does, .. }: &Unusual) -> String {
    let now = if *is_ns { duration_of_fact(now) } else { now.clone() };
    let ran_on = ran_on.as_ref().map_or(String::new(), |cpus| format!(" (all ran on {cpus})"));
    format!("{what} {now}{ran_on}: {does}")
}

/// A difference, such as `kernel.release: 6.1.0 → 6.18.0`.
pub fn difference(difference: &Difference) -> String {
    let [first, second] = values(difference);
    format!("{}: {first} → {second}", difference.name)
}

/// The two values of a fact.
fn values(difference: &Difference) -> [&str; 2] {
    difference.values.each_ref().map(|value| value.as_deref().unwrap_or(ABSENT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::results::Environment;

    const MACHINE: [(&str, &str); 4] = [
        ("processor.model", "AMD EPYC"),
        ("processor.allowed_cpus", "2"),
        ("processor.online_cpus", "2"),
        ("processor.virtualisation", "kvm"),
    ];

    /// The machine with other facts.
    fn machine_with(facts: &[(&str, &str)]) -> Environment {
        let mut environment = Environment::default();
        for (name, value) in MACHINE.iter().chain(facts) {
            environment.set(*name, Some(value));
        }
        environment
    }

    #[test]
    fn a_machine_in_a_line() {
        let shown = |environment: &Environment| machine(&environment.machine());
        assert_eq!(shown(&machine_with(&[])), "AMD EPYC, 2 CPUs, KVM virtual machine");
        let polling = machine_with(&[
            ("processor.family", "23"),
            ("processor.model_number", "49"),
            ("processor.idle_driver", "haltpoll"),
            ("processor.allowed_cpus", "1"),
        ]);
        assert_eq!(shown(&polling), "AMD EPYC 23/49, 1 of 2 CPUs, KVM virtual machine");
        let expected =
            "Measured on: AMD EPYC 23/49, 1 of 2 CPUs, KVM virtual machine, idle haltpoll.";
        assert_eq!(conditions(&polling.machine(), &polling.conditions()), expected);
        let emulated = machine_with(&[("processor.emulated_on", "x86_64")]);
        assert_eq!(shown(&emulated), "AMD EPYC, 2 CPUs, emulated on x86_64");
        assert_eq!(shown(&Environment::default()), "");
    }

    /// Some hypervisors give a CPU two names.
    #[test]
    fn a_long_name_of_a_cpu_leaves_room_for_the_rest() {
        let models = [
            "AMD EPYC",
            "Intel(R) Xeon(R) Platinum 8481C Special Edition For Somebody CPU @ 2.70GHz",
            "AMD EPYC-Rome Processor\nAMD EPYC 7B12 64-Core Processor",
            &"x".repeat(500),
        ];
        for model in models {
            let machine = machine_with(&[("processor.model", model)]).machine();
            for columns in [30, 54, 80] {
                let shown = machine_within(&machine, columns);
                assert!(shown.chars().count() <= columns && !shown.contains('\n'), "{shown}");
                let has_room = columns > 30;
                assert!(!has_room || shown.ends_with(", 2 CPUs, KVM virtual machine"), "{shown}");
            }
        }
    }

    #[test]
    fn an_unusual_fact_has_its_unit_and_what_it_does() {
        let facts = [
            ("scheduling.timer_slack_ns", "5000000"),
            ("scheduling.slice_ns", "default"),
            ("variables.GODEBUG", "x=1"),
        ];
        let found: Vec<String> = machine_with(&facts).unusual().iter().map(unusual).collect();
        assert!(found.iter().any(|line| line.starts_with("timer slack 5 ms: ")), "{found:?}");
        assert!(found.iter().any(|line| line.starts_with("GODEBUG x=1: ")), "{found:?}");
        assert_eq!(found.len(), 2);
        let unknown = Difference { name: "a".to_owned(), values: [None, Some("1".to_owned())] };
        assert_eq!(difference(&unknown), "a: – → 1");
    }
}
