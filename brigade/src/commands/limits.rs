//! `brigade limits`: predicts how many tasks of each kind fit and which limit
//! to raise, and verifies the prediction.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;

use anyhow::{Context, bail};
use clap::ValueEnum as _;
use harness::limits::{
    Forecast, Kind, Limit, Line, Need, Resource, admit, in_force, may_raise_hard_limits,
};
use harness::system_files::SystemFiles;
use nix::unistd::geteuid;

use crate::commands::flags::{LimitsFlags, ProgramFlags};
use crate::commands::session::Session;
use crate::commands::{output, report};
use crate::exit::{Exit, Interrupted, UsageError};
use crate::manifest::MeasuredKinds;
use crate::measure::invoke::classify;
use crate::measure::process::{self, Ended};
use crate::show::limits::{KindForecast, LimitsReport, OfTasks, SCHEMA_VERSION, Verified, page};
use crate::store::environment::Environment;
use crate::store::saved_run::SavedRun;

/// How far beyond the prediction to try, in percent.
const BEYOND_PERCENT: u64 = 2;
/// Tasks to leave of a limit shared with other processes; of a large limit,
/// 1/200.
const LEAST_MARGIN: u64 = 64;

/// Runs `brigade limits`.
///
/// # Errors
/// If the program that creates tasks cannot run, or standard output cannot be
/// written.
pub fn limits(flags: &LimitsFlags) -> anyhow::Result<Exit> {
    let limits = in_force(&SystemFiles::live());
    let kinds = flags.kind.map_or_else(|| Kind::value_variants().to_vec(), |kind| vec![kind]);
    // The same words as a program's refusal.
    let refusal = |kind: &Kind| {
        let refusal = admit(&need(*kind, flags.tasks?), &limits).err()?;
        Some(if flags.kind.is_some() { refusal.to_string() } else { format!("{kind}: {refusal}") })
    };
    let refusals: Vec<String> = kinds.iter().filter_map(refusal).collect();
    let (all, none_fit) = (kinds.len(), refusals.len() == kinds.len());
    let costs = flags.tasks.map(|_| Measured::here(&flags.programs)).unwrap_or_default();
    let forecast = |kind: Kind, limits: &[Limit]| KindForecast {
        kind,
        forecast: Forecast::new(&need(kind, 0), limits.to_vec(), flags.tasks),
        of_tasks: flags.tasks.map(|tasks| costs.of(kind, tasks)),
    };
    let verified = match flags.kind.filter(|_| flags.verify) {
        Some(kind) => Some(verify(kind, &forecast(kind, &limits).forecast, &flags.programs)?),
        None => None,
    };
    let wrong = verified.as_ref().is_some_and(|verified| !verified.confirms());
    let kinds = kinds.into_iter().map(|kind| forecast(kind, &limits)).collect();
    let report = LimitsReport {
        schema_version: SCHEMA_VERSION.to_owned(),
        tasks: flags.tasks,
        kinds,
        runs: costs.runs,
        verified,
    };
    let text = if flags.json {
        serde_json::to_string(&report)? + "\n"
    } else {
        let prlimit_fails = geteuid().is_root() && !may_raise_hard_limits(&SystemFiles::live());
        page(&report, prlimit_fails)
    };
    output::print(&text)?;
    // The table of all kinds already shows which fit.
    if all == 1 || flags.json {
        refusals.iter().for_each(|refusal| output::warn(refusal));
    }
    Ok(match (none_fit, wrong) {
        (true, _) => Exit::Limit,
        (false, true) => Exit::Failed,
        (false, false) => Exit::Done,
    })
}

/// The cost of tasks in this machine's saved runs.
#[derive(Default)]
struct Measured {
    /// By kind: creation time per task in nanoseconds, and memory per task in
    /// bytes.
    kinds: Vec<(Kind, Option<f64>, Option<f64>)>,
    runs: Vec<String>,
}

impl Measured {
    /// From the latest run of each case; empty without a manifest or a run.
    fn here(flags: &ProgramFlags) -> Self {
        let Ok(manifest) = flags.manifest() else {
            return Self::default();
        };
        let plans = manifest.limits.as_ref().map_or(&[][..], |limits| &limits.measured);
        let mut open: BTreeSet<&String> =
            plans.iter().flat_map(|of| of.create.iter().chain(&of.memory)).collect();
        let (mut found, mut runs) = (BTreeMap::new(), Vec::new());
        let label = Environment::capture(&manifest).map(|environment| environment.label());
        let parent = manifest.results();
        for folder in SavedRun::latest_first(&parent, label.ok().as_deref()) {
            let report = match open.is_empty() {
                true => break,
                false => report::report_of(&manifest, &folder),
            };
            let Ok(report) = report else { continue };
            let known = found.len();
            for row in report.groups.iter().flat_map(|group| &group.rows) {
                if let Some(of) = row.figure
                    && let Some(name) = open.take(&row.case)
                {
                    found.insert(name, of.value);
                }
            }
            runs.extend((found.len() > known).then(|| report.run.name.clone()));
        }
        let figure = |case: &Option<String>| found.get(case.as_ref()?).copied();
        let of_plan = |plan: &MeasuredKinds| {
            let Some(base) = plan.kinds.first().copied() else { return Vec::new() };
            let bytes = |kind: Kind| kind.per_task().of(Resource::Memory) as f64;
            let with_channel = |kind| Some(figure(&plan.memory)? + bytes(kind) - bytes(base));
            let kinds = plan.kinds.iter();
            kinds.map(|kind| (*kind, figure(&plan.create), with_channel(*kind))).collect()
        };
        Self { kinds: plans.iter().flat_map(of_plan).collect(), runs }
    }

    /// The cost of this many tasks.
    fn of(&self, kind: Kind, tasks: u64) -> OfTasks {
        let known = self.kinds.iter().find(|(of, ..)| *of == kind);
        let all = |each: Option<f64>| Some(each? * tasks as f64);
        OfTasks {
            memory_bytes: all(known.and_then(|(.., bytes)| *bytes)),
            create_ns: all(known.and_then(|(_, ns, _)| *ns)),
        }
    }
}

fn need(kind: Kind, tasks: u64) -> Need {
    Need { tasks, per_task: kind.per_task(), fixed: kind.fixed() }
}

/// Creates tasks up to the limit in a separate program, to verify the prediction; if the kernel
/// kills it, the runner survives. It stays below limits shared with other processes: on a machine
/// without a spare thread, nothing could even stop it.
///
/// # Errors
/// If no limit can be reached safely, or the program cannot run.
fn verify(kind: Kind, forecast: &Forecast, flags: &ProgramFlags) -> anyhow::Result<Verified> {
    let binding = forecast.binding().with_context(|| format!("--verify: no limit binds {kind}"))?;
    if binding.limit.resource == Resource::Memory {
        bail!(
            "--verify: the limit on {kind} is {}, and the kernel enforces it by killing processes; \
             set a lower limit, for example with prlimit, and verify that one",
            binding.limit.name
        );
    }
    if !kind.can_be_made() {
        bail!("--verify: the peers of the connections would be on this machine, too");
    }
    let predicted = binding.allows.unwrap_or_default();
    let wanted = wanted(predicted, forecast);
    let (reached, stopped_by) = count(kind, wanted, flags)?;
    let difference_percent = match predicted {
        0 => 100.0 * reached as f64,
        _ => (reached as f64 - predicted as f64) / predicted as f64 * 100.0,
    };
    Ok(Verified { predicted, asked: wanted, reached, difference_percent, stopped_by })
}

/// How many tasks to create: slightly more than predicted, but never all of a
/// shared limit.
fn wanted(predicted: u64, forecast: &Forecast) -> u64 {
    let beyond = predicted + (predicted * BEYOND_PERCENT / 100).max(1);
    let shared = forecast.limits.iter().filter(|line| is_shared(line));
    let margin = |allows: u64| allows.saturating_sub((allows / 200).max(LEAST_MARGIN));
    shared.filter_map(|line| line.allows.map(margin)).fold(beyond, u64::min)
}

/// Whether other processes share this limit.
fn is_shared(line: &Line) -> bool {
    use Resource::{CommittedMemory, Files, Memory, Threads};
    match line.limit.resource {
        Threads | Memory | CommittedMemory => true,
        Files => line.limit.source.ends_with("file-max"),
        _ => false,
    }
}

/// Runs the program that creates tasks. Returns their number, and what stopped
/// it.
fn count(kind: Kind, wanted: u64, flags: &ProgramFlags) -> anyhow::Result<(u64, Option<String>)> {
    if wanted == 0 {
        return Ok((0, None));
    }
    let manifest = flags.manifest()?;
    let plan = manifest.limits.as_ref().ok_or_else(|| {
        UsageError(
            "the manifest has no table [limits], which names the program that creates tasks"
                .to_owned(),
        )
    })?;
    let mut session = Session::begin(&manifest)?;
    let needed = BTreeSet::from([&*plan.program]);
    let binaries = session.programs(&needed)?;
    let binary = binaries
        .get(&plan.program)
        .ok_or_else(|| UsageError(format!("[limits]: there is no program '{}'", plan.program)))?;
    let mut command = binary.command(&[]);
    command.args(["--until-refused", "--json", "--quiet"]).args(kind.flags());
    command.args(["--tasks", &wanted.to_string()]).stderr(Stdio::piped());
    let ended = process::run(&mut command, None, &mut session.signals)
        .with_context(|| format!("running {}", plan.program))?;
    if session.signals.stops() > 0 { Err(Interrupted.into()) } else { Ok(reached(&ended)) }
}

/// The number of tasks, and what the kernel refused, or why that is unknown.
fn reached(ended: &Ended) -> (u64, Option<String>) {
    let verdict = classify(ended, None);
    match (verdict.error, verdict.record) {
        (None, Some(record)) => {
            let last = record.ledger.and_then(|mut points| points.pop());
            (record.tasks, last.and_then(|point| point.refused))
        }
        (error, record) => (record.map_or(0, |record| record.tasks), error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast(threads: u64, maps: u64) -> Forecast {
        let limits = [(Resource::Threads, threads), (Resource::Maps, maps)];
        let limits = limits.map(|(what, value)| Limit::new(what, "a limit", "here", Some(value)));
        Forecast::new(&need(Kind::Thread, 0), limits.to_vec(), None)
    }

    #[test]
    fn a_limit_of_the_process_is_exceeded_and_a_shared_one_is_not_reached() {
        assert_eq!(wanted(10_000, &forecast(100_000, 40_000)), 10_200);
        assert_eq!(wanted(10_000, &forecast(10_100, 40_000)), 10_100 - 64);
        assert_eq!(wanted(100_000, &forecast(100_000, 800_000)), 99_500);
        assert_eq!(wanted(10, &forecast(10, 1000)), 0);
        assert_eq!(wanted(10, &forecast(1000, 40)), 11);
    }

    #[test]
    fn memory_as_a_limit_is_not_used_up() {
        let memory = Limit::new(Resource::Memory, "available memory", "here", Some(1 << 20));
        let forecast = Forecast::new(&need(Kind::Goroutine, 0), vec![memory], None);
        let flags = ProgramFlags::default();
        let error =
            verify(Kind::Goroutine, &forecast, &flags).expect_err("nothing can be tried safely");
        assert!(error.to_string().starts_with("--verify: the limit on goroutine is available"));
    }
}
