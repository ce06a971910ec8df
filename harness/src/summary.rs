//! The human summary: a record in a few lines of text.

use std::fmt::Write as _;

use crate::record::{CpuTime, Ending, Measurement, Memory, Record, Switches};

/// A duration with three decimals in the largest unit that keeps it above 1.
#[must_use]
pub fn duration(nanoseconds: f64) -> String {
    let size = nanoseconds.abs();
    let (divisor, unit) = match size {
        _ if size >= 1e9 => (1e9, "s"),
        _ if size >= 1e6 => (1e6, "ms"),
        _ if size >= 1e3 => (1e3, "µs"),
        _ => (1.0, "ns"),
    };
    format!("{:.3}{unit}", nanoseconds / divisor)
}

/// The summary of a record, in lines that end with a newline.
#[must_use]
pub fn summary(record: &Record) -> String {
    let mut text = heading(record);
    let Some((principal, others)) = record.measurements.split_first() else {
        text.push_str("nothing was measured\n");
        return text;
    };
    text.push_str(&mean_line(principal));
    text.push_str(&percentile_line(principal));
    for other in others {
        text.push_str(&format!("{}: {}", other.name, mean_line(other)));
        text.push_str(&percentile_line(other));
    }
    if let Some(cpu) = &record.cpu {
        text.push_str(&cpu_line(cpu, principal));
    }
    if let Some(switches) = &record.switches {
        text.push_str(&switches_line(switches, principal));
    }
    if let Some(memory) = &record.memory {
        text.push_str(&memory_line(memory));
    }
    text
}

/// The line that says how many tasks and iterations this is about.
fn heading(record: &Record) -> String {
    let incomplete = match (record.complete, record.ended_by) {
        (true, Ending::MaxTime) => " (--max-time spent)",
        (true, _) => "",
        (false, Ending::Signal) => " (incomplete: interrupted)",
        (false, _) => " (incomplete: failed)",
    };
    let plural = |count, one: &'static str, many| if count == 1 { one } else { many };
    format!(
        "{} {}, {} {}{incomplete}:\n",
        record.tasks,
        plural(record.tasks, "task", "tasks"),
        record.iterations,
        plural(record.iterations, "iteration", "iterations"),
    )
}

/// What a sample of a measurement is called after "per".
fn sample_name(measurement: &Measurement) -> &str {
    if measurement.ns_per_task.is_some() { "iteration" } else { &measurement.operation }
}

fn mean_line(measurement: &Measurement) -> String {
    let mut line = format!(
        "mean {} per {}, stddev {}",
        duration(measurement.mean_ns),
        sample_name(measurement),
        measurement.stddev_ns.map_or("unknown".into(), duration),
    );
    if let Some(per_task) = measurement.ns_per_task {
        let _ = write!(line, " ({} per task per iter)", duration(per_task));
    }
    line.push('\n');
    line
}

fn percentile_line(measurement: &Measurement) -> String {
    let values = [
        ("min", measurement.min_ns),
        ("p50", measurement.p50_ns),
        ("p90", measurement.p90_ns),
        ("p99", measurement.p99_ns),
        ("max", measurement.max_ns),
    ];
    let cells = values.map(|(name, ns)| format!("{name} {}", duration(ns as f64)));
    format!("  {}\n", cells.join(", "))
}

/// Wall time of an operation as CPU time and waiting. CPU time of several
/// threads at once can exceed the wall time, and then nothing waits.
fn cpu_line(cpu: &CpuTime, principal: &Measurement) -> String {
    let (user, system) = (cpu.user_ns_per_operation, cpu.system_ns_per_operation);
    let wall = wall_ns_per_operation(principal);
    let rest = wall.map_or(String::new(), |wall| match wall - user - system {
        waiting if waiting >= 0.0 => {
            format!(
                ": {} user, {} kernel, {} waiting",
                duration(user),
                duration(system),
                duration(waiting)
            )
        }
        overlap => format!(
            ": {} user, {} kernel, {} overlapped",
            duration(user),
            duration(system),
            duration(-overlap)
        ),
    });
    let wall = wall.map_or_else(|| duration(user + system), duration);
    format!("per {}: {wall}{rest}\n", principal.operation)
}

/// The wall time of one operation, if the principal measurement is all that
/// an iteration does.
fn wall_ns_per_operation(principal: &Measurement) -> Option<f64> {
    (principal.name == "iteration").then_some(principal.ns_per_operation)
}

fn switches_line(switches: &Switches, principal: &Measurement) -> String {
    let mut line = format!(
        "switches per {}: {:.3} voluntary, {:.3} involuntary",
        principal.operation, switches.voluntary_per_operation, switches.involuntary_per_operation,
    );
    if let Some(expected) = switches.expected_per_operation {
        let _ = write!(line, " ({expected} expected)");
    }
    line.push('\n');
    if let Some(share) = switches.cross_cpu_share {
        let _ = write!(line, "hops between CPUs: {:.1} %", share * 100.0);
        if let Some(migrations) = switches.migrations {
            let _ = write!(line, ", {migrations} migrations");
        }
        line.push('\n');
    }
    line
}

fn memory_line(memory: &Memory) -> String {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    format!(
        "memory: {:.1} MiB resident, {:.1} MiB virtual\n",
        mib(memory.rss_bytes),
        mib(memory.virtual_bytes)
    )
}
