//! Whether a record can be believed: it is of its case, its sizes have bounds, and its figures agree
//! with one another. What a program printed and what a folder contains are verified alike. A record
//! that was forged consistently cannot be distinguished from a real one.

use anyhow::{Context as _, ensure};
use harness::flags::name;
use harness::placement::{Placement, Policy};
use harness::record::{Measurement, Record};
use serde_json::Value;

/// The tolerated difference between two ways to compute a figure, as a share of it.
const ROUNDING: f64 = 1e-6;

/// The longest name of a program, of its version, and of a measurement or its operation, in
/// characters.
const LONGEST_NAME: usize = 200;

/// The most measurements of a record; servers have four.
const MOST_MEASUREMENTS: usize = 16;

/// The most inherited facts, CPUs, idle states and points in a ledger. Machines have up to 8192
/// CPUs.
const MOST: usize = 8192;

/// How many messages a consumer counts at a time.
const LOT: u64 = 256;

/// The most bytes that the parameters of a record take as JSON: they are repeated in each line of
/// CSV.
const LONGEST_PARAMETERS: usize = 4096;

/// Verifies that the record of a process that measured is complete, of this program under this
/// placement, and does not contradict itself.
///
/// # Errors
/// The first contradiction.
pub fn verify(record: &Record, program: &str, policy: Policy) -> anyhow::Result<()> {
    verify_sizes(record)?;
    ensure!(record.complete, "exited with 0, but its record is marked incomplete");
    let found = &record.program;
    ensure!(found == program, "is a record of '{found}', not of '{program}'");
    let placement = name(&policy);
    let under = record.parameters.get("placement").and_then(Value::as_str).unwrap_or(&placement);
    ensure!(under == placement, "reports the placement '{under}', not '{placement}'");
    for measurement in &record.measurements {
        verify_measurement(measurement, record.tasks)
            .with_context(|| format!("'{}'", measurement.name))?;
    }
    let tasks = record.tasks;
    let tokens = record.tokens;
    ensure!(tokens <= tasks, "has {tokens} tokens for {tasks} tasks");
    let iterations = record.iterations;
    if let Some(Measurement { count, .. }) = record.principal() {
        ensure!(*count == iterations, "reports {count} samples, not {iterations}, its iterations");
    }
    if let Some(channel) = record.channel
        && let Some(principal) = record.principal()
    {
        let all = channel.messages;
        let measured = principal.count.saturating_mul(principal.operations);
        // In a closed loop consumers count in lots, which they may have begun in the round before.
        let is_open = channel.mean_length.is_some();
        let before = if is_open { 0 } else { tasks.saturating_mul(LOT) };
        ensure!(
            all.saturating_add(before) >= measured,
            "reports {all} messages, fewer than the {measured} of its iterations"
        );
    }
    if let (Some(awake), Some(principal)) = (record.awake, record.principal()) {
        let woken = principal.count.saturating_mul(principal.operations);
        ensure!(awake <= woken, "reports that {awake} of {woken} woken threads did not sleep");
    }
    ensure!(record.clock_step_ns != Some(0), "reports a clock that shows times of 0 ns");
    if let Some(kept) = record.schedule {
        let missed = kept.missed.max(kept.called_late.unwrap_or(0));
        ensure!(missed <= iterations, "missed {missed} of {iterations} iterations");
    }
    verify_amounts(record)?;
    verify_shares(record)?;
    verify_cpus(record, policy)
}

/// Verifies that a record has no more of anything than a record can have: whatever its process
/// did, others repeat its names and parameters.
///
/// # Errors
/// What it has too much of.
pub fn verify_sizes(record: &Record) -> anyhow::Result<()> {
    let measurements = record.measurements.len();
    ensure!(
        measurements <= MOST_MEASUREMENTS,
        "has {measurements} measurements, more than {MOST_MEASUREMENTS}"
    );
    let names = record.measurements.iter().flat_map(|one| [&one.name, &one.operation]);
    for name in names.chain([&record.program, &record.version]) {
        let length = name.chars().count();
        ensure!(
            (1..=LONGEST_NAME).contains(&length),
            "has a name of {length} characters, not of 1 to {LONGEST_NAME}"
        );
    }
    let length = serde_json::to_string(&record.parameters)?.len();
    ensure!(
        length <= LONGEST_PARAMETERS,
        "has parameters of {length} bytes, more than {LONGEST_PARAMETERS}"
    );
    let states = record.waiting.as_ref().and_then(|waiting| waiting.idle_states.as_ref());
    for (what, count) in [
        ("inherited facts", record.inherited.len()),
        ("CPUs", record.affinity.len()),
        ("idle states", states.map_or(0, Vec::len)),
        ("points in its ledger", record.ledger.as_ref().map_or(0, Vec::len)),
    ] {
        ensure!(count <= MOST, "has {count} {what}, more than {MOST}");
    }
    Ok(())
}

fn verify_measurement(measurement: &Measurement, tasks: u64) -> anyhow::Result<()> {
    let Measurement { operations, count, mean_ns, min_ns, max_ns, .. } = measurement;
    ensure!(*count > 0 && *operations > 0, "has {count} samples of {operations} operations");
    let min = *min_ns as f64;
    let max = *max_ns as f64;
    let slack = max * ROUNDING;
    ensure!(
        (min - slack..=max + slack).contains(mean_ns),
        "its mean, {mean_ns} ns, is not between {min_ns} and {max_ns} ns"
    );
    let deviation = measurement.stddev_ns.unwrap_or(0.0);
    ensure!(
        (0.0..=max - min + slack).contains(&deviation),
        "its deviation, {deviation} ns, is not within its range"
    );
    let Measurement { p50_ns, p90_ns, p99_ns, p999_ns, .. } = *measurement;
    let percentiles = [p50_ns, p90_ns, p99_ns, p999_ns, *max_ns];
    ensure!(percentiles.is_sorted(), "its percentiles decrease");
    verify_quotient("operations", *mean_ns, *operations, measurement.ns_per_operation)?;
    match measurement.ns_per_task {
        Some(figure) => verify_quotient("tasks", *mean_ns, tasks, figure),
        None => Ok(()),
    }
}

/// Verifies a figure that is the mean over a number of operations or tasks.
fn verify_quotient(what: &str, mean_ns: f64, divisor: u64, figure: f64) -> anyhow::Result<()> {
    ensure!(divisor > 0, "has a mean per task, but no tasks");
    let right = mean_ns / divisor as f64;
    ensure!(
        (figure - right).abs() <= right * ROUNDING,
        "its mean over {divisor} {what} is {right} ns, not {figure}"
    );
    Ok(())
}

/// Verifies that nothing that is counted or timed is negative.
fn verify_amounts(record: &Record) -> anyhow::Result<()> {
    let cpu = record.cpu.as_ref();
    let switches = record.switches.as_ref();
    let waiting = record.waiting.as_ref();
    let serving = record.serving.as_ref();
    let work = record.work.as_ref();
    for (what, amount) in [
        ("CPU time", cpu.map(|cpu| cpu.user_ns_per_operation)),
        ("CPU time", cpu.map(|cpu| cpu.system_ns_per_operation)),
        ("CPU time", cpu.and_then(|cpu| cpu.uncounted_ns_per_operation)),
        ("switches", switches.map(|switches| switches.voluntary_per_operation)),
        ("switches", switches.map(|switches| switches.involuntary_per_operation)),
        ("switches", switches.and_then(|switches| switches.expected_per_operation)),
        ("system calls", record.system_calls_per_operation),
        ("rebuilds", record.rebuilds_per_operation),
        ("waiting", waiting.and_then(|waiting| waiting.runnable_ns_per_operation)),
        ("waiting", waiting.and_then(|waiting| waiting.idle_ns_per_operation)),
        ("interrupts", waiting.and_then(|waiting| waiting.reschedules_per_operation)),
        ("interrupts", waiting.and_then(|waiting| waiting.calls_per_operation)),
        ("polls", serving.map(|serving| serving.polls_per_request)),
        ("switches", serving.and_then(|serving| serving.server_switches_per_request)),
        ("waits", serving.and_then(|serving| serving.server_waits_per_request)),
        ("CPU time", serving.map(|serving| serving.server_busy)),
        ("CPU time", serving.map(|serving| serving.load_busy)),
        ("messages", record.channel.and_then(|channel| channel.mean_length)),
        ("work", work.and_then(|work| work.ns_per_unit)),
        ("work", work.and_then(|work| work.mean_ns_per_unit)),
    ] {
        let amount = amount.unwrap_or(0.0);
        ensure!(amount >= 0.0, "reports {what} of {amount}");
    }
    for state in waiting.iter().flat_map(|waiting| waiting.idle_states.iter().flatten()) {
        let amounts = [state.entries_per_operation, state.ns_per_operation];
        ensure!(amounts.iter().all(|amount| *amount >= 0.0), "reports idle states of {amounts:?}");
    }
    Ok(())
}

/// Verifies that shares are between 0 and 1.
fn verify_shares(record: &Record) -> anyhow::Result<()> {
    let crossing = record.switches.and_then(|switches| switches.cross_cpu_share);
    let empty = record.serving.and_then(|serving| serving.empty_polls);
    for (what, share) in [("hops between CPUs", crossing), ("empty polls", empty)] {
        let share = share.unwrap_or(0.0);
        ensure!((0.0..=1.0).contains(&share), "reports a share of {what} of {share}");
    }
    Ok(())
}

/// Verifies that the CPUs of the threads are those of the placement, and did not change.
fn verify_cpus(record: &Record, policy: Policy) -> anyhow::Result<()> {
    let crossing = record.switches.and_then(|switches| switches.cross_cpu_share);
    let is_spread = policy == Policy::Spread;
    let has_several = record.affinity.len() > 1;
    // A runtime places its tasks itself.
    let are_threads = record.parameters.get("runtime").is_none_or(|runtime| runtime == "threads");
    let is_stuck = is_spread && has_several && are_threads && crossing == Some(0.0);
    ensure!(!is_stuck, "reports the placement 'spread', but no hop between CPUs");
    let stays = policy != Policy::SameCpu || crossing.is_none_or(|share| share == 0.0);
    ensure!(stays, "reports the placement 'same-cpu', but hops between CPUs");
    let chosen = Placement { policy, cpus: record.affinity.clone() };
    match &record.cpus {
        Some(found) => chosen.verify(found),
        None => Ok(()),
    }
}
