//! `brigade impact`: whether switches matter to a program, by how many it makes and what
//! one costs on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use harness::counters::Counters;
use harness::cpus;
use harness::usage::{Span, Start};

use crate::commands::flags::ImpactFlags;
use crate::commands::output;
use crate::commands::report;
use crate::exit::{Exit, UsageError};
use crate::judge::impact::{Costs, Impact, SwitchCost, Used};
use crate::manifest::{ImpactPlan, Manifest};
use crate::measure::signals::Signals;
use crate::show;
use crate::store::environment::Environment;
use crate::store::results;

/// Runs `brigade impact`.
///
/// # Errors
/// When the flags are wrong, there is no run of this machine, or the program cannot be
/// started or watched.
pub fn impact(flags: &ImpactFlags) -> anyhow::Result<Exit> {
    let manifest = Manifest::load(flags.manifest.as_deref(), None)?;
    let Some(plan) = &manifest.impact else {
        return Err(UsageError("impact: suite.toml has no [impact]".to_owned()).into());
    };
    let (run, costs) = costs(flags, &manifest, plan)?;
    let mut signals = Signals::register().context("setting up signal handlers")?;
    signals.defer_stops();
    let (used, failed) = match flags.pid {
        Some(pid) => (watch(pid, Duration::from_secs_f64(flags.seconds), &mut signals)?, None),
        None => run_command(&flags.command)?,
    };
    let impact = Impact::of(used, run, costs);
    let json = || anyhow::Ok(serde_json::to_string(&impact)? + "\n");
    output::print(&if flags.json { json()? } else { show::text::impact(&impact) })?;
    if let Some(status) = failed {
        output::complain(&format!("{}: {status}", flags.command.join(" ")));
        return Ok(Exit::Failed);
    }
    Ok(if signals.stops() > 0 { Exit::Interrupted } else { Exit::Done })
}

/// What a process does for so long, or until a stop is asked for.
fn watch(pid: u32, seconds: Duration, signals: &mut Signals) -> anyhow::Result<Used> {
    let folder = format!("/proc/{pid}");
    ensure!(Path::new(&folder).exists(), "--pid {pid}: there is no such process");
    let cpus = cpus::allowed().context("reading the CPUs that may be used")?;
    let threads = || fs::read_dir(format!("{folder}/task")).map_or(0, Iterator::count);
    let began = Instant::now();
    let start = Start::of_process(pid, &cpus);
    signals.sleep_until(began + seconds);
    let threads = threads();
    let wall = began.elapsed();
    let Some(span) = start.end() else {
        bail!("--pid {pid}: it ended while it was watched; start it by brigade impact -- COMMAND");
    };
    Ok(used(&span, wall, threads.min(cpus.len())))
}

/// What a command does from its start to its end, and its status if that is not 0.
fn run_command(command: &[String]) -> anyhow::Result<(Used, Option<ExitStatus>)> {
    let [program, arguments @ ..] = command else {
        return Err(UsageError("impact: name a process, --pid PID, or a command".to_owned()).into());
    };
    let at_once = cpus::allowed().context("reading the CPUs that may be used")?.len();
    let before = Counters::of_children();
    let began = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .spawn()
        .with_context(|| format!("starting {program}"))?;
    let status = child.wait().with_context(|| format!("waiting for {program}"))?;
    let wall = began.elapsed();
    let span = Span { used: Counters::of_children().since(before), ..Span::default() };
    Ok((used(&span, wall, at_once), (!status.success()).then_some(status)))
}

fn used(span: &Span, wall: Duration, at_once: usize) -> Used {
    Used {
        wall_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
        cpu_ns: span.used.user_ns + span.used.system_ns,
        voluntary: span.used.voluntary,
        involuntary: span.used.involuntary,
        migrations: span.migrations,
        run_delay_ns: span.waited.run_delay_ns,
        at_once: at_once as u64,
    }
}

/// The run that is named, or else the latest of this machine, and what switches cost by it.
fn costs(
    flags: &ImpactFlags,
    manifest: &Manifest,
    plan: &ImpactPlan,
) -> anyhow::Result<(String, Costs)> {
    let cases: Vec<&str> = plan.cases().map(|(_, case)| case.as_str()).collect();
    let needed = format!("brigade run --case {}", cases.join(" "));
    let of_run = |folder: PathBuf| {
        let report = report::report_of(manifest, &[folder])?;
        let cost = |(key, case): (_, &String)| Some((key, SwitchCost::of(&report, case)?));
        let costs: Costs = plan.cases().filter_map(cost).collect();
        let is_enough = costs.contains_key("lowest") && costs.contains_key("highest");
        anyhow::Ok(is_enough.then(|| (report.runs[0].name.clone(), costs)))
    };
    if let Some(folder) = &flags.run {
        return of_run(folder.clone())?
            .with_context(|| format!("--run {}: it lacks a case: {needed}", folder.display()));
    }
    let parent = results::default_folder(manifest.root.as_deref());
    let label = Environment::capture(manifest)?.label();
    for folder in report::latest_first(&parent, Some(&label)) {
        if let Some(found) = of_run(folder)? {
            return Ok(found);
        }
    }
    let parent = parent.display();
    bail!("{parent} has no run of this machine, {label}, with the cases that are needed: {needed}")
}
