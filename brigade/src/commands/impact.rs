//! `brigade impact`: estimates whether switches matter to a program, from their number and their
//! cost on this machine.

use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::ValueEnum as _;
use harness::clock;
use harness::counters::{Counters, SwitchCounter, ended_ns};
use harness::cpus;
use harness::system_files::SystemFiles;
use harness::system_load::CpuCounts;

use crate::commands::flags::ImpactFlags;
use crate::commands::output;
use crate::commands::report::{LATEST, label_here, report_of, reports_here};
use crate::exit::{Exit, UsageError};
use crate::judge::impact::{Impact, Prices, SwitchCost, SwitchKind, Used};
use crate::judge::report::Report;
use crate::judge::row::{idle_entries, interrupts};
use crate::manifest::Manifest;
use crate::measure::process::Signals;
use crate::shell::quoted;
use crate::show;

/// Runs `brigade impact`.
///
/// # Errors
/// If nothing is named, no run has the costs, or the program cannot be started or watched.
pub fn impact(flags: &ImpactFlags, manifest: &Manifest) -> anyhow::Result<Exit> {
    if flags.pid.is_none() && flags.command.is_empty() {
        let which = "impact: name a process, --pid PID, or a command, -- COMMAND";
        bail!(UsageError(which.to_owned()));
    }
    let prices = prices(flags, manifest)?;
    let mut signals = Signals::register().context("setting up signal handlers")?;
    signals.exit_at_once(false);
    let cpus = cpus::allowed().context("reading the CPUs that this process may use")?;
    let counted = || {
        let files = SystemFiles::live();
        let stat = files.text("proc/stat").unwrap_or_default();
        let switches = stat.lines().find_map(|line| line.strip_prefix("ctxt ")?.parse().ok());
        (clock::now(), CpuCounts::read(&files, &cpus), switches.unwrap_or(0_u64))
    };
    let (began_ns, before, switches_before) = counted();
    let (used, failed) = match flags.pid {
        Some(pid) => (watch(pid, flags.time, &mut signals)?, None),
        None => run_command(&flags.command)?,
    };
    let (ended_ns, after, switches_after) = counted();
    let seen = after.since(&before, None, 1.0);
    let used = Used {
        wall_ns: ended_ns - began_ns,
        at_once: used.at_once.min(cpus.len() as u64),
        idle_entries: idle_entries(&seen),
        interrupts: interrupts(&seen),
        switches_of_all: switches_after.saturating_sub(switches_before) as f64,
        ..used
    };
    let impact = Impact::of(used, prices);
    output::print(&if flags.json { output::json(&impact)? } else { show::text::impact(&impact) })?;
    if let Some(status) = failed {
        output::warn(&format!("{}: {status}", flags.command.join(" ")));
    }
    // Ctrl-C also ends the command.
    Ok(match failed {
        _ if signals.stops() > 0 => Exit::Interrupted,
        Some(_) => Exit::Failed,
        None => Exit::Done,
    })
}

/// How much CPU time threads may seem to have used that have not ended, in nanoseconds.
const UNCERTAIN_NS: u64 = 100_000;

/// Counts what a process uses for so many seconds, or until a signal. `/proc` lacks the switches of
/// ended threads; who may attach counters to the process counts them.
fn watch(pid: u32, seconds: f64, signals: &mut Signals) -> anyhow::Result<Used> {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let ended =
        || format!("--pid {pid}: no such process, or it ended; try brigade impact -- COMMAND");
    let counters = || Counters::of_process(pid).zip(ended_ns(pid)).with_context(ended);
    let counter = SwitchCounter::of_process(pid);
    let (before, ended_before) = counters()?;
    signals.sleep_until(end);
    let (after, ended_after) = counters()?;
    let (used, all) = (after.since(before), counter.and_then(|counter| counter.count()));
    let has_ended = ended_after.saturating_sub(ended_before) > UNCERTAIN_NS;
    let threads = SystemFiles::live().names(&format!("proc/{pid}/task")).len() as u64;
    Ok(Used {
        // Most switches of a thread that ended were waits.
        voluntary: used.voluntary.max(all.unwrap_or(0).saturating_sub(used.involuntary)),
        at_least: has_ended && all.is_none(),
        at_once: if has_ended { u64::MAX } else { threads },
        ..used_of(used)
    })
}

/// Runs a command and counts what it uses. Returns its status if that is not 0.
fn run_command(command: &[String]) -> anyhow::Result<(Used, Option<ExitStatus>)> {
    let (program, arguments) = command.split_first().context("a command has a program")?;
    let before = Counters::of_children();
    let started = Command::new(program).args(arguments).status();
    let status = started.with_context(|| format!("starting {program}"))?;
    let used = used_of(Counters::of_children().since(before));
    Ok((used, (!status.success()).then_some(status)))
}

fn used_of(Counters { user_ns, system_ns, voluntary, involuntary }: Counters) -> Used {
    let (cpu_ns, at_once) = (user_ns + system_ns, u64::MAX);
    Used { cpu_ns, voluntary, involuntary, at_once, ..Used::default() }
}

/// The first costs of an undisturbed run, or else the first.
fn latest_fit(prices: impl Iterator<Item = Prices>) -> Option<Prices> {
    let mut disturbed = None;
    for prices in prices.take(LATEST) {
        if prices.state.is_fit {
            return Some(prices);
        }
        disturbed.get_or_insert(prices);
    }
    disturbed
}

/// The named run, or else this machine's latest undisturbed one with every cost.
fn prices(flags: &ImpactFlags, manifest: &Manifest) -> anyhow::Result<Prices> {
    let of_run = |report: Report| {
        let cost =
            |kind: &SwitchKind| Some((*kind, SwitchCost::of(&report, manifest.impact.get(kind)?)?));
        let costs = SwitchKind::value_variants().iter().map(cost).collect::<Option<_>>()?;
        Some(Prices { run: report.run.name, state: report.run.state, costs })
    };
    let found = match &flags.run {
        None => latest_fit(reports_here(manifest).filter_map(of_run)),
        Some(folder) => {
            let report = report_of(manifest, folder)?;
            let (name, its, here) = (&report.run.name, &report.run.label, label_here());
            if *its != here {
                output::warn(&format!("{name}: measured on another machine, {its}, not {here}"));
            }
            of_run(report)
        }
    };
    found.with_context(|| {
        let cases = manifest.impact.values().flatten().map(String::as_str);
        let run = ["brigade", "run"].into_iter();
        format!("measure what a switch costs here first: {}", quoted(run.chain(cases)))
    })
}
