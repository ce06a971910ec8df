//! `brigade impact`: estimates whether switches matter to a program, from their number and their
//! cost on this machine.

use std::collections::BTreeSet;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use clap::ValueEnum as _;
use harness::counters::{Counters, SwitchCounter, ended_ns};
use harness::cpus;
use harness::flags::name;
use harness::record::IdleState;
use harness::system_files::SystemFiles;
use harness::system_load::CpuCounts;

use crate::commands::flags::ImpactFlags;
use crate::commands::output;
use crate::commands::report::{label_here, report_of, reports_here};
use crate::exit::{Exit, UsageError};
use crate::judge::impact::{Impact, Meanwhile, Prices, SwitchCost, SwitchKind, Used};
use crate::judge::report::Report;
use crate::manifest::Manifest;
use crate::measure::process::Signals;
use crate::show;
use crate::show::verdict::{Verdict, verdict};

/// Runs `brigade impact`.
///
/// # Errors
/// If the flags are wrong, there is no run of this machine, or the program cannot be started or
/// watched.
pub fn impact(flags: &ImpactFlags) -> anyhow::Result<Exit> {
    let manifest = flags.programs.alone()?;
    if flags.pid.is_none() && flags.command.is_empty() {
        let which = "impact: name a process, --pid PID, or a command, -- COMMAND";
        bail!(UsageError(which.to_owned()));
    }
    let mut kinds = SwitchKind::value_variants().iter();
    if let Some(kind) = kinds.find(|kind| !manifest.impact.contains_key(kind)) {
        bail!(UsageError(format!("impact: [impact] of suite.toml lacks {}", name(kind))));
    }
    if let Some(pid) = flags.pid {
        ensure!(Counters::of_process(pid).is_some(), "--pid {pid}: there is no such process");
    }
    let prices = prices(flags, &manifest)?;
    let mut signals = Signals::register().context("setting up signal handlers")?;
    signals.defer_stops();
    let before = counted()?;
    let (used, failed) = match flags.pid {
        Some(pid) => (watch(pid, Duration::from_secs_f64(flags.time), &mut signals)?, None),
        None => run_command(&flags.command)?,
    };
    let meanwhile = meanwhile(&before, &counted()?);
    let impact = Impact::of(used, &meanwhile, prices);
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

/// The kernel's counters of all CPUs at one moment, and of the switches of all programs.
type Counted = (CpuCounts, Option<u64>);

fn counted() -> anyhow::Result<Counted> {
    let files = SystemFiles::live();
    let allowed = cpus::allowed().context("reading the CPUs that this process may use")?;
    let stat = files.text("proc/stat").unwrap_or_default();
    let switches = stat.lines().find_map(|line| line.strip_prefix("ctxt ")?.parse().ok());
    Ok((CpuCounts::read(&files, &allowed), switches))
}

fn meanwhile(before: &Counted, after: &Counted) -> Meanwhile {
    let waiting = after.0.since(&before.0, None);
    let entries = |all: Vec<IdleState>| all.iter().map(|state| state.entries_per_operation).sum();
    let interrupts = waiting.reschedules_per_operation.zip(waiting.calls_per_operation);
    let switches = after.1.zip(before.1);
    Meanwhile {
        idle_entries: waiting.idle_states.map(entries),
        interrupts: interrupts.map(|(reschedules, calls)| reschedules + calls),
        switches: switches.map(|(after, before)| after.saturating_sub(before) as f64),
    }
}

/// How much CPU time threads may seem to have used that have not ended, in nanoseconds.
const UNCERTAIN_NS: u64 = 100_000;

/// Counts what a process uses for this long, or until a signal. `/proc` lacks the switches of ended
/// threads; who may attach counters to the process counts them.
fn watch(pid: u32, seconds: Duration, signals: &mut Signals) -> anyhow::Result<Used> {
    let threads = || BTreeSet::from_iter(SystemFiles::live().names(&format!("proc/{pid}/task")));
    let counters = || {
        Counters::of_process(pid).with_context(|| {
            format!("--pid {pid}: the process ended; use brigade impact -- COMMAND")
        })
    };
    let counter = SwitchCounter::of_process(pid);
    let (began, then, ended) = (Instant::now(), threads(), ended_ns(pid));
    let (before, counted) = (counters()?, counter.as_ref().and_then(SwitchCounter::count));
    signals.sleep_until(began + seconds);
    let all = counter.as_ref().and_then(SwitchCounter::count).zip(counted);
    let (wall, now, after) = (began.elapsed(), threads(), counters()?);
    let used = used(after.since(before), wall)?;
    let more = ended_ns(pid).zip(ended).map(|(after, before)| after.saturating_sub(before));
    let has_ended = !then.is_subset(&now) || more.is_none_or(|ns| ns > UNCERTAIN_NS);
    let at_once = if has_ended { used.at_once } else { used.at_once.min(now.len() as u64) };
    // Most switches of a thread that ended were waits.
    let others = all.map_or(0, |(after, before)| {
        (after - before).saturating_sub(used.voluntary + used.involuntary)
    });
    let (voluntary, at_least) = (used.voluntary + others, has_ended && all.is_none());
    Ok(Used { at_once, at_least, voluntary, ..used })
}

/// Runs a command and counts what it uses. Returns its status if that is not 0.
fn run_command(command: &[String]) -> anyhow::Result<(Used, Option<ExitStatus>)> {
    let (program, arguments) = command.split_first().context("a command has a program")?;
    let (before, began) = (Counters::of_children(), Instant::now());
    let started = Command::new(program).args(arguments).status();
    let status = started.with_context(|| format!("starting {program}"))?;
    let used = used(Counters::of_children().since(before), began.elapsed())?;
    Ok((used, (!status.success()).then_some(status)))
}

fn used(counters: Counters, wall: Duration) -> anyhow::Result<Used> {
    let cpus = cpus::allowed().context("reading the CPUs that this process may use")?;
    Ok(Used {
        wall_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
        cpu_ns: counters.user_ns + counters.system_ns,
        voluntary: counters.voluntary,
        involuntary: counters.involuntary,
        at_least: false,
        at_once: cpus.len() as u64,
    })
}

/// The named run, or else this machine's latest.
fn prices(flags: &ImpactFlags, manifest: &Manifest) -> anyhow::Result<Prices> {
    let of_run = |report: Report| {
        let plan = manifest.impact.iter();
        let costs = plan.map(|(kind, cases)| Some((*kind, SwitchCost::of(&report, cases)?)));
        let costs = costs.collect::<Option<_>>()?;
        let Verdict { is_good, text, .. } = verdict(&report.run);
        Some(Prices { run: report.run.name, disturbed: (!is_good).then_some(text), costs })
    };
    let found = match &flags.run {
        None => reports_here(manifest).find_map(of_run),
        Some(folder) => {
            let report = report_of(manifest, folder)?;
            let (its, here) = (&report.run.label, label_here());
            if *its != here {
                let name = folder.display();
                output::warn(&format!(
                    "--run {name}: measured on another machine, {its}, not {here}"
                ));
            }
            of_run(report)
        }
    };
    found.with_context(|| {
        let cases = manifest.impact.values().map(|cases| cases.join("' '"));
        let cases = cases.collect::<Vec<_>>().join("' '");
        format!("measure what a switch costs here first: brigade run '{cases}'")
    })
}
