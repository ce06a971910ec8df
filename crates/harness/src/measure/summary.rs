//! The summary for people: a record in a few lines of text.

use crate::record::{ChannelLoad, CpuTime, Ending, Measurement, Record, Serving};

/// A duration with three decimals in the largest unit that keeps it above 1.
pub fn duration(nanoseconds: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let fits = |(divisor, _): &(f64, &str)| nanoseconds.abs() >= *divisor;
    let (divisor, unit) = units.into_iter().find(fits).unwrap_or((1.0, "ns"));
    format!("{:.3}{unit}", nanoseconds / divisor)
}

/// The summary of a record, in lines that end with a newline.
pub fn summary(record: &Record) -> String {
    let mut text = heading(record);
    let Some((principal, others)) = record.measurements.split_first() else {
        return text + "nothing was measured\n";
    };
    text += &distribution(principal);
    text += &record.clock_step_ns.map_or(String::new(), |step| clock_line(step, principal));
    for other in others {
        let is_cpu_time = record.serving.is_some() || other.name == "cpu";
        text += &if is_cpu_time && other.count == 1 {
            let ns = duration(other.ns_per_operation);
            format!("{}: {ns} of CPU time per {}\n", other.name, other.operation)
        } else {
            format!("{}:{}", other.name, distribution_of_phase(other))
        };
    }
    text += &record.serving.as_ref().map_or(String::new(), |found| serving_lines(found, record));
    let operation = &principal.operation;
    if let Some(kept) = &record.schedule {
        let late = kept.called_late.map(|late| format!(", {late} were requested late"));
        let late = late.unwrap_or_default();
        text += &format!("schedule: {} came before their task waited{late}\n", kept.missed);
    }
    if !record.is_sweep() {
        text += &usage_lines(record, principal);
    }
    if let Some(channel) = &record.channel {
        text += &channel_line(channel, record);
    }
    if let Some(together) = record.readers_together {
        text += if together {
            "readers were inside together in the warm-up\n"
        } else {
            "exclusive: no readers were inside together in the warm-up\n"
        };
    }
    if let Some(awake) = record.awake.filter(|awake| *awake > 0) {
        text += &format!("still awake when the event came: {}\n", counted(awake, "thread"));
    }
    if let Some(calls) = record.system_calls_per_operation {
        text += &format!("system calls per {operation}: {calls:.3}\n");
    }
    if let Some(rebuilds) = record.rebuilds_per_operation {
        text += &format!("rebuilds of the heap per {operation}: {rebuilds:.6}\n");
    }
    text
}

/// CPU time and switches per operation of the principal measurement.
fn usage_lines(record: &Record, principal: &Measurement) -> String {
    let operation = &principal.operation;
    let mut text = record.cpu.map(|cpu| cpu_line(&cpu, principal)).unwrap_or_default();
    if let Some(switches) = &record.switches {
        let claimed = switches.expected_per_operation.map(|count| format!(" ({count} expected)"));
        text += &format!(
            "switches per {operation}: {:.3} voluntary, {:.3} involuntary{}\n",
            switches.voluntary_per_operation,
            switches.involuntary_per_operation,
            claimed.unwrap_or_default()
        );
        if let Some(share) = switches.cross_cpu_share {
            text += &format!("hops between CPUs: {:.1} %\n", share * 100.0);
        }
    } else if record.cpu.is_some() {
        text += &format!("switches per {operation}: unknown, this kernel does not count them\n");
    }
    text
}

/// The fewest steps of the clock in a sample whose time is more than roughly known.
pub const FEWEST_STEPS: f64 = 20.0;

/// That samples are short for the clock; empty if they are not.
fn clock_line(step_ns: u64, principal: &Measurement) -> String {
    let steps = principal.mean_ns / step_ns as f64;
    if steps >= FEWEST_STEPS {
        return String::new();
    }
    format!(
        "too short for the clock, which shows times from {step_ns} ns on: {steps:.1} of its steps\n"
    )
}

/// What fits into a channel, and what was in it.
fn channel_line(channel: &ChannelLoad, record: &Record) -> String {
    let mut text = match channel.capacity {
        Some(capacity) => {
            format!("the channel has room for {}", counted(capacity, "message"))
        }
        None => "the channel is unbounded".to_owned(),
    };
    if let Some(length) = channel.mean_length {
        text += &format!("; {length:.3} messages under way on average");
    }
    let switches =
        record.switches.map(|of| of.voluntary_per_operation + of.involuntary_per_operation);
    if let Some(switches) = switches.filter(|count| *count > 0.0) {
        text += &format!("; {:.1} messages between two switches", 1.0 / switches);
    }
    text + "\n"
}

/// How busy a server and its load were.
fn serving_lines(serving: &Serving, record: &Record) -> String {
    let percent = |share: f64| share * 100.0;
    let polls = match serving.empty_polls {
        None => format!("{:.3} polls per request", serving.polls_per_request),
        Some(share) => format!("{:.0} % of its polls found nothing", percent(share)),
    };
    let claimed = serving.expected_server_switches_per_request;
    let claimed = claimed.map(|count| format!(" ({count} expected)")).unwrap_or_default();
    let waits = serving.server_waits_per_request.map(|waits| format!(", {waits:.3} waits"));
    let waits = waits.unwrap_or_default();
    let switches = serving.server_switches_per_request;
    let switches = switches.map_or("unknown".to_owned(), |count| format!("{count:.3}"));
    let capacity = match (serving.capacity_per_second, serving.empty_polls) {
        (Some(capacity), _) => format!("requests per second at most: {capacity:.0}\n"),
        (None, Some(_)) => "requests per second at most: unknown, the load was busy\n".to_owned(),
        (None, None) if record.schedule.is_none() => {
            "CPU time only: server and load share their CPUs\n".to_owned()
        }
        (None, None) => String::new(),
    };
    format!(
        "server {:.0} % busy, {switches} switches per request{claimed}{waits}; load {:.0} % busy, \
         {polls}\n{capacity}",
        percent(serving.server_busy),
        percent(serving.load_busy),
    )
}

/// The heading with the numbers of tasks and iterations.
fn heading(record: &Record) -> String {
    let incomplete = match (record.complete, record.ended_by) {
        (true, Ending::MaxTime) => " (--max-time reached)",
        (true, _) => "",
        (false, Ending::Signal) => " (incomplete: interrupted)",
        (false, _) => " (incomplete: failed)",
    };
    let tasks = counted(record.tasks, "task");
    let laps = counted(record.iterations, "iteration");
    format!("{tasks}, {laps}{incomplete}:\n")
}

/// A count of things, such as `1 task` or `2 tasks`.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A phase after its name: of one sample, which has no distribution, one figure.
fn distribution_of_phase(phase: &Measurement) -> String {
    if phase.count > 1 {
        return format!("\n  {}", distribution(phase));
    }
    format!(" {} per {}, in one sample\n", duration(phase.ns_per_operation), phase.operation)
}

/// Mean and percentiles of a measurement, in two lines.
fn distribution(measurement: &Measurement) -> String {
    let is_one_operation = measurement.ns_per_task.is_none() && measurement.operations == 1;
    let sample = if is_one_operation { &*measurement.operation } else { "iteration" };
    let per_task =
        measurement.ns_per_task.map(|ns| format!(" ({} per task per iter)", duration(ns)));
    let percentiles = [
        ("min", measurement.min_ns),
        ("p50", measurement.p50_ns),
        ("p90", measurement.p90_ns),
        ("p99", measurement.p99_ns),
        ("max", measurement.max_ns),
    ];
    format!(
        "mean {} per {sample}, stddev {}{}\n  {}\n",
        duration(measurement.mean_ns),
        measurement.stddev_ns.map_or("unknown".into(), duration),
        per_task.unwrap_or_default(),
        percentiles.map(|(name, ns)| format!("{name} {}", duration(ns as f64))).join(", ")
    )
}

/// Wall time of an operation as CPU time and waiting, or the CPU time alone. CPU time of several
/// simultaneous threads can exceed the wall time; then nothing waits.
fn cpu_line(cpu: &CpuTime, principal: &Measurement) -> String {
    let operation = &principal.operation;
    let user = cpu.user_ns_per_operation;
    let system = cpu.system_ns_per_operation;
    let divided = format!("{} user, {} kernel", duration(user), duration(system));
    // Only if the principal measurement covers the whole iteration.
    let line = if principal.name == "iteration" {
        let wall = principal.ns_per_operation;
        let rest = wall - user - system;
        let what = if rest >= 0.0 { "waiting" } else { "overlapped" };
        let [wall, rest] = [wall, rest.abs()].map(duration);
        format!("per {operation}: {wall}: {divided}, {rest} {what}\n")
    } else {
        format!("CPU time per {operation}: {}: {divided}\n", duration(user + system))
    };
    let uncounted = cpu.uncounted_ns_per_operation.map(duration);
    let uncounted = uncounted.map(|ns| format!("  and {ns} in the kernel after the join\n"));
    line + &uncounted.unwrap_or_default()
}
