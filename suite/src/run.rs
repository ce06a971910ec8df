//! `brigade run`: every case once per round, each time as a fresh process, and
//! every record kept.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use harness::terminal;
use humantime::format_rfc3339_millis;

use crate::availability::{Here, Skipped};
use crate::build::{self, Binaries};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::flags::RunFlags;
use crate::invocation::{Invocation, Outcome};
use crate::invoke::{Job, invoke};
use crate::lock::Lock;
use crate::manifest::{Case, Manifest, Profile};
use crate::output;
use crate::plan::{self, Turn};
use crate::progress::Progress;
use crate::report;
use crate::results::{self, Folder, RunDescription};
use crate::signals::Signals;

/// The folder, beside the manifest, that receives the results.
const RESULTS: &str = "results";

/// Obeys `brigade run`.
///
/// # Errors
/// When the flags or the manifest are wrong, the programs cannot be built, or
/// the results or standard output cannot be written. A failing program is no
/// error but a result.
pub fn run(flags: &RunFlags) -> anyhow::Result<Exit> {
    let mut signals = Signals::register().context("setting up signal handlers")?;
    let manifest = Manifest::load(flags.programs.manifest.as_deref())?;
    let here = Here::look(&manifest)?;
    let intent = Intent::new(&manifest, &here, flags)?;
    let results = flags.results.clone().unwrap_or_else(|| manifest.root.join(RESULTS));
    results::check_writable(&results)?;
    let _lock = Lock::take()?;
    let build = !flags.programs.no_build;
    let Some(binaries) = build::binaries(&manifest, build, &here, &mut signals)? else {
        return Ok(Exit::Interrupted);
    };

    let environment = Environment::capture(&manifest.root, &manifest.measured_crates)?;
    let label = flags.name.clone().unwrap_or_else(|| environment.label());
    let mut folder = Folder::create(&results, &intent.date(), &label)?;
    folder.write_once(results::RUN, &intent.description())?;
    folder.write_once(results::ENVIRONMENT, &environment)?;
    let turns = plan::turns(intent.cases.len(), intent.rounds, intent.seed);
    let invocations = measure(&intent, &turns, &binaries, &mut folder, &mut signals)?;
    signals.exit_on_next_stop();

    let text = report::summary(&manifest, &intent.case_names(), &invocations)
        + &problems(&intent.skipped, &invocations)
        + &intent.closing_line(&invocations, &folder);
    output::print(&text)
        .with_context(|| format!("showing the results that are in {}", folder.path().display()))?;
    Ok(if signals.stops() > 0 { Exit::Interrupted } else { exit_after(&invocations) })
}

/// What a run sets out to do.
struct Intent<'a> {
    /// UTC, RFC 3339.
    started_at: String,
    profile_name: &'a str,
    profile: &'a Profile,
    cases: Vec<&'a Case>,
    skipped: Vec<Skipped>,
    rounds: u32,
    seed: u64,
}

impl<'a> Intent<'a> {
    fn new(manifest: &'a Manifest, here: &Here, flags: &'a RunFlags) -> anyhow::Result<Self> {
        let profile = manifest.profile(&flags.profile)?;
        let chosen = if flags.cases.is_empty() {
            manifest.cases_of(&flags.profile).collect()
        } else {
            manifest.cases_named(&flags.cases)?
        };
        let (cases, skipped) = here.divide(manifest, chosen);
        Ok(Self {
            started_at: format_rfc3339_millis(SystemTime::now()).to_string(),
            profile_name: &flags.profile,
            profile,
            cases,
            skipped,
            rounds: flags.rounds.unwrap_or(profile.rounds),
            seed: flags.seed.unwrap_or_else(plan::random_seed),
        })
    }

    fn case_names(&self) -> Vec<&str> {
        self.cases.iter().map(|case| case.name.as_str()).collect()
    }

    /// The UTC date, as it begins the folder's name.
    fn date(&self) -> String {
        self.started_at.chars().take_while(|&letter| letter != 'T').collect()
    }

    fn description(&self) -> RunDescription {
        RunDescription {
            schema_version: results::RUN_SCHEMA_VERSION.to_owned(),
            brigade_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: self.started_at.clone(),
            profile: self.profile_name.to_owned(),
            rounds: self.rounds,
            seed: self.seed,
            cases: self.cases.iter().map(|case| case.name.clone()).collect(),
            skipped: self.skipped.clone(),
        }
    }

    /// What to repeat this run with, how far it got, and where its records are.
    fn closing_line(&self, invocations: &[Invocation], folder: &Folder) -> String {
        let Self { profile_name, rounds, seed, cases, .. } = self;
        let done = invocations.len();
        let planned = cases.len() * *rounds as usize;
        let folder = folder.path().display();
        format!(
            "{done} of {planned} invocations, profile {profile_name}, {rounds} rounds, seed {seed}: \
             records in {folder}\n"
        )
    }
}

/// Takes the turns until all are done or the runner is told to stop, and
/// appends each invocation to `folder` as it ends.
fn measure(
    intent: &Intent,
    turns: &[Turn],
    binaries: &Binaries,
    folder: &mut Folder,
    signals: &mut Signals,
) -> anyhow::Result<Vec<Invocation>> {
    let order: Vec<&Case> = turns.iter().map(|turn| intent.cases[turn.case]).collect();
    let names: Vec<&str> = order.iter().map(|case| case.name.as_str()).collect();
    let mut progress = Progress::new(turns.len(), intent.rounds);
    let mut invocations = Vec::new();
    for (index, (turn, case)) in turns.iter().zip(order).enumerate() {
        if signals.stops() > 0 {
            break;
        }
        progress.starting(turn.round, &names[index..]);
        let binary = &binaries[&case.program];
        let job = Job { case, round: turn.round, attempt: 1, binary, flags: &intent.profile.flags };
        let invocation = invoke(&job, signals);
        folder.append(&invocation)?;
        progress.ended(&case.name, Duration::from_nanos(invocation.duration_ns));
        invocations.push(invocation);
    }
    Ok(invocations)
}

/// One line for each case that did not run, or not always well.
fn problems(skipped: &[Skipped], invocations: &[Invocation]) -> String {
    let mut by_case: BTreeMap<&str, Vec<&Invocation>> = BTreeMap::new();
    for invocation in invocations {
        by_case.entry(&invocation.case).or_default().push(invocation);
    }
    let skipped =
        skipped.iter().map(|Skipped { case, reason }| format!("{case}: skipped: {reason}"));
    let failed = by_case.iter().filter_map(|(case, invocations)| {
        let trouble = trouble(invocations)?;
        Some(format!("{case}: {trouble}"))
    });
    skipped.chain(failed).map(|line| terminal::line(&line).into_owned() + "\n").collect()
}

/// What went wrong with a case's invocations, and how often, if anything did.
fn trouble(invocations: &[&Invocation]) -> Option<String> {
    let bad: Vec<_> =
        invocations.iter().filter(|invocation| invocation.outcome != Outcome::Measured).collect();
    let reason = bad.first()?.error.as_deref().unwrap_or_default();
    let all_refused = invocations.iter().all(|invocation| invocation.outcome == Outcome::Refused);
    if all_refused {
        return Some(format!("skipped: {reason}"));
    }
    Some(format!("{} of {} failed: {reason}", bad.len(), invocations.len()))
}

/// The exit code of a run that was not interrupted.
fn exit_after(invocations: &[Invocation]) -> Exit {
    let any = |outcome| invocations.iter().any(|invocation| invocation.outcome == outcome);
    if any(Outcome::Failed) || any(Outcome::TimedOut) {
        Exit::Failed
    } else if any(Outcome::Refused) {
        Exit::Limit
    } else {
        Exit::Done
    }
}
