//! `brigade impact`: estimates whether switches matter to a program, from their number and their
//! cost on this machine.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use clap::ValueEnum as _;
use harness::clock;
use harness::counters::{Counters, SwitchCounter, ended_ns};
use harness::cpus;
use harness::process_stat::{ProcessStat, family_of};
use harness::system_files::SystemFiles;
use harness::system_load::CpuCounts;

use crate::commands::flags::ImpactFlags;
use crate::commands::output;
use crate::commands::report::{LATEST, label_here, report_of, reports_here};
use crate::exit::{Exit, UsageError};
use crate::judge::amounts::{idle_entries, interrupts};
use crate::judge::impact::{Impact, Prices, SwitchCost, SwitchKind, Used};
use crate::judge::report::{Report, RunSummary};
use crate::manifest::Manifest;
use crate::measure::process::{Signals, run_with_terminal};
use crate::shell::quoted;
use crate::show;
use crate::show::json::ImpactOfProgram;

/// Runs `brigade impact`.
///
/// # Errors
/// If nothing is named, no run has the costs, or the program cannot be started or watched.
pub fn impact(flags: &ImpactFlags, manifest: &Manifest) -> anyhow::Result<Exit> {
    if flags.pid.is_none() && flags.command.is_empty() {
        let which = "impact: name a process, --pid PID, or a command, -- COMMAND";
        bail!(UsageError(which.to_owned()));
    }
    if let Some(pid) = flags.pid {
        ensure!(Path::new(&format!("/proc/{pid}")).exists(), ended(pid));
    }
    let prices = prices(flags, manifest)?;
    let mut signals = Signals::register().context("setting up signal handlers")?;
    signals.exit_at_once(false);
    let cpus = cpus::allowed().context("reading the CPUs that this process may use")?;
    let counted = || {
        let files = SystemFiles::live();
        let stat = files.text("proc/stat").unwrap_or_default();
        let switches = stat.lines().find_map(|line| line.strip_prefix("ctxt ")?.parse().ok());
        Counted {
            at_ns: clock::now(),
            cpus: CpuCounts::read(&files, &cpus),
            switches: switches.unwrap_or(0),
        }
    };
    let before = counted();
    let (used, status) = match flags.pid {
        Some(pid) => (watch(pid, flags.time, &mut signals)?, None),
        None => run_command(&flags.command, flags.json, &mut signals)?,
    };
    let after = counted();
    let seen = after.cpus.waiting_since(&before.cpus, None, 1.0);
    let used = Used {
        wall_ns: after.at_ns - before.at_ns,
        at_once: used.at_once.min(cpus.len() as u64),
        idle_entries: idle_entries(&seen),
        interrupts: interrupts(&seen),
        switches_of_all: after.switches.saturating_sub(before.switches) as f64,
        ..used
    };
    let impact = Impact::new(used, prices);
    output::print(&if flags.json {
        let exit_code = status.and_then(|status| status.code());
        let signal = status.and_then(|status| status.signal());
        output::json(&ImpactOfProgram::new(&impact, exit_code, signal))?
    } else {
        show::text::impact(&impact)
    })?;
    let has_failed = status.is_some_and(|status| !status.success());
    if let Some(status) = status
        && has_failed
    {
        let command = quoted(flags.command.iter().map(String::as_str));
        output::warn(&format!("{command}: {status}"));
    }
    Ok(if signals.stops() > 0 {
        Exit::Interrupted
    } else if has_failed {
        Exit::Failed
    } else {
        Exit::Done
    })
}

/// The error for a process that does not exist.
fn ended(pid: u32) -> String {
    format!("--pid {pid}: no such process, or it ended; try brigade impact -- COMMAND")
}

/// What the kernel has counted on all CPUs since boot.
struct Counted {
    /// When it was read, on the clock of [`clock`].
    at_ns: u64,
    cpus: CpuCounts,
    /// Switches of all programs.
    switches: u64,
}

/// How much CPU time threads may seem to have used that have not ended, in nanoseconds.
const UNCERTAIN_NS: u64 = 100_000;

/// A process that is watched.
struct Watched {
    reading: Reading,
    /// Counts switches of threads that end; `None` without the right.
    counter: Option<SwitchCounter>,
}

/// What a process has used since it began.
#[derive(Clone, Copy, Default)]
struct Reading {
    counters: Counters,
    /// CPU time of its ended threads.
    ended_ns: u64,
    /// CPU time of its ended children.
    children_ticks: u64,
}

impl Reading {
    fn of_process(pid: u32) -> Option<Self> {
        let stat = ProcessStat::read(&SystemFiles::live(), &format!("proc/{pid}"))?;
        Some(Self {
            counters: Counters::of_process(pid)?,
            ended_ns: ended_ns(pid)?,
            children_ticks: stat.children_ticks,
        })
    }
}

/// Counts what a process and its descendants use for so many seconds, or until a signal.
fn watch(pid: u32, seconds: f64, signals: &mut Signals) -> anyhow::Result<Used> {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let watched = |pid: u32| {
        let counter = SwitchCounter::of_process(pid);
        Some((pid, Watched { reading: Reading::of_process(pid)?, counter }))
    };
    let mut watched: BTreeMap<u32, Watched> =
        family_of(pid).into_iter().filter_map(watched).collect();
    watched.get(&pid).with_context(|| ended(pid))?;
    signals.sleep_until(end);
    let files = SystemFiles::live();
    let mut sum = Used { processes: Some(0), ..Used::default() };
    // The kernel may be built without the list of children.
    sum.at_least = files.text(&format!("proc/{pid}/task/{pid}/children")).is_none();
    for member in family_of(pid) {
        // One that started meanwhile has used nothing before.
        let before = watched.remove(&member);
        match used_since(member, before) {
            Some(used) => sum = sum.plus(used),
            None if member == pid => bail!(ended(pid)),
            None => sum.at_least = true,
        }
    }
    sum.at_least |= !watched.is_empty();
    Ok(sum)
}

/// What a process has used since it was watched, or since it began. `/proc` lacks the switches of
/// ended threads; who may attach counters to the process counts them.
fn used_since(pid: u32, watched: Option<Watched>) -> Option<Used> {
    let after = Reading::of_process(pid)?;
    let before = watched.as_ref().map(|watched| watched.reading).unwrap_or_default();
    let all = watched.and_then(|watched| watched.counter?.count());
    let used = after.counters.used_since(before.counters);
    let has_ended = after.ended_ns.saturating_sub(before.ended_ns) > UNCERTAIN_NS;
    let threads = SystemFiles::live().names(&format!("proc/{pid}/task")).len() as u64;
    Some(Used {
        // Most switches of a thread that ended were waits.
        voluntary: used.voluntary.max(all.unwrap_or(0).saturating_sub(used.involuntary)),
        at_least: has_ended && all.is_none() || after.children_ticks > before.children_ticks,
        processes: Some(1),
        at_once: if has_ended { u64::MAX } else { threads },
        ..used_of(used)
    })
}

/// Runs a command and counts what it uses. Standard output is for `json` alone: then the command's
/// goes to standard error.
fn run_command(
    command: &[String],
    json: bool,
    signals: &mut Signals,
) -> anyhow::Result<(Used, Option<ExitStatus>)> {
    let (program, arguments) = command.split_first().context("a command has a program")?;
    let before = Counters::of_children();
    let mut command = Command::new(program);
    if json {
        command.stdout(io::stderr());
    }
    let ended = run_with_terminal(command.args(arguments), signals);
    let status = ended.with_context(|| format!("starting {program}"))?;
    Ok((used_of(Counters::of_children().used_since(before)), Some(status)))
}

fn used_of(Counters { user_ns, system_ns, voluntary, involuntary }: Counters) -> Used {
    Used {
        cpu_ns: user_ns + system_ns,
        voluntary,
        involuntary,
        at_once: u64::MAX,
        ..Used::default()
    }
}

/// The folder of the first costs of an undisturbed run, or else of the first.
fn latest_fit(prices: impl Iterator<Item = (PathBuf, Prices)>) -> Option<PathBuf> {
    let mut disturbed = None;
    for (folder, prices) in prices.take(LATEST) {
        if prices.state.is_fit {
            return Some(folder);
        }
        disturbed.get_or_insert(folder);
    }
    disturbed
}

/// The named run, or else this machine's latest undisturbed one with every cost.
fn prices(flags: &ImpactFlags, manifest: &Manifest) -> anyhow::Result<Prices> {
    let of_run = |report: Report| {
        let cost = |kind: &SwitchKind| {
            Some((*kind, SwitchCost::measured(&report, manifest.impact.get(kind)?)?))
        };
        let costs = SwitchKind::value_variants().iter().map(cost).collect::<Option<_>>()?;
        Some(Prices { run: report.run.name, state: report.run.state, costs })
    };
    let found = match &flags.run {
        None => {
            let here = reports_here(manifest);
            let prices = here.filter_map(|(folder, report)| Some((folder, of_run(report)?)));
            match latest_fit(prices) {
                Some(folder) => of_run(report_of(manifest, &folder)?),
                None => None,
            }
        }
        Some(folder) => {
            let report = report_of(manifest, folder)?;
            let RunSummary { name, label, .. } = &report.run;
            let here = label_here();
            if *label != here {
                output::warn(&format!("{name}: measured on another machine, {label}, not {here}"));
            }
            of_run(report)
        }
    };
    found.with_context(|| {
        let mut cases: Vec<&str> = manifest.impact.values().flatten().map(String::as_str).collect();
        // One kind of switch may use the cases of another.
        cases.dedup();
        let run = ["brigade", "run"].into_iter();
        format!("measure what a switch costs here first: {}", quoted(run.chain(cases)))
    })
}
