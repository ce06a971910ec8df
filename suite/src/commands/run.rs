//! `brigade run`: every case once per round, each time as a fresh process, and
//! every record kept.

use std::time::{Duration, SystemTime};

use anyhow::Context;
use humantime::format_rfc3339_millis;

use crate::commands::flags::{RunCommand, RunFlags};
use crate::commands::output;
use crate::commands::progress::Progress;
use crate::commands::prove;
use crate::commands::summary::Summary;
use crate::exit::Exit;
use crate::judge::prove::proof::{Proof, Standing};
use crate::manifest::{Case, CaseKey, Manifest, Profile};
use crate::measure::availability::Capabilities;
use crate::measure::build::{self, Binaries};
use crate::measure::fingerprint::fingerprints;
use crate::measure::invoke::{Job, command, invoke};
use crate::measure::lock::Lock;
use crate::measure::signals::Signals;
use crate::plan;
use crate::plan::history;
use crate::show::markdown::markdown;
use crate::store::environment::Environment;
use crate::store::invocation::Invocation;
use crate::store::results::{
    self, CaseDetail, Folder, FurtherRounds, Procedure, RunDescription, Skipped,
};

/// Obeys `brigade run`.
///
/// # Errors
/// When the flags or the manifest are wrong, the programs cannot be built, or
/// the results or standard output cannot be written. A failing program is no
/// error but a result.
pub fn run(asked: &RunCommand) -> anyhow::Result<Exit> {
    let flags = &asked.flags;
    let mut signals = Signals::register().context("setting up signal handlers")?;
    let manifest = Manifest::load(flags.programs.manifest.as_deref())?;
    let mut capabilities = Capabilities::detect(&manifest)?;
    let mut intent = Intent::new(&manifest, &capabilities, asked)?;
    let results = flags.results.clone().unwrap_or_else(|| manifest.root.join(results::FOLDER));
    results::check_writable(&results)?;
    let _lock = Lock::take()?;
    let build = !flags.programs.no_build;
    let built = build::binaries(&manifest, &intent.cases, build, &mut capabilities, &mut signals)?;
    let Some(binaries) = built else { return Ok(Exit::Interrupted) };
    intent.leave_out(&capabilities);

    let environment = Environment::capture(&manifest.root, &manifest.measured_crates)?;
    let description = intent.description(&binaries)?;
    let label = flags.name.clone().unwrap_or_else(|| environment.label());
    let mut folder = Folder::create(&results, &intent.date(), &label)?;
    // A run whose run.json is there can be resumed: it comes last.
    folder.write_once(results::ENVIRONMENT, &environment)?;
    folder.write_once(results::RUN, &description)?;
    let cases = intent.cases;
    let run = Run { manifest: &manifest, cases, binaries, description, environment };
    run.finish(&mut folder, Vec::new(), &mut signals)
}

/// What a run sets out to do.
struct Intent<'a> {
    /// UTC, RFC 3339.
    started_at: String,
    asked: &'a RunCommand,
    manifest: &'a Manifest,
    profile: &'a Profile,
    cases: Vec<&'a Case>,
    skipped: Vec<Skipped>,
    seed: u64,
}

impl<'a> Intent<'a> {
    fn new(
        manifest: &'a Manifest,
        capabilities: &Capabilities,
        asked: &'a RunCommand,
    ) -> anyhow::Result<Self> {
        let chosen = match (asked.groups.as_slice(), asked.flags.cases.as_slice()) {
            ([], []) => manifest.cases_of(asked.profile()).collect(),
            ([], names) => manifest.cases_named(names)?,
            (groups, _) => manifest.cases_of_groups(groups)?,
        };
        let profile = manifest.profile(asked.profile())?;
        let (cases, skipped) = capabilities.divide(chosen);
        Ok(Self {
            started_at: format_rfc3339_millis(SystemTime::now()).to_string(),
            asked,
            manifest,
            profile,
            cases,
            skipped,
            seed: asked.flags.seed.unwrap_or_else(plan::random_seed),
        })
    }

    /// Leaves out what turned out not to be buildable.
    fn leave_out(&mut self, capabilities: &Capabilities) {
        let (cases, skipped) = capabilities.divide(std::mem::take(&mut self.cases));
        self.cases = cases;
        self.skipped.extend(skipped);
    }

    /// The UTC date, as it begins the folder's name.
    fn date(&self) -> String {
        self.started_at.chars().take_while(|&letter| letter != 'T').collect()
    }

    fn description(&self, binaries: &Binaries) -> anyhow::Result<RunDescription> {
        Ok(RunDescription {
            schema_version: results::RUN_SCHEMA_VERSION.to_owned(),
            brigade_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: self.started_at.clone(),
            profile: self.asked.profile().to_owned(),
            rounds: self.asked.flags.rounds.unwrap_or(self.profile.rounds),
            seed: self.seed,
            cases: self.cases.iter().map(|case| case.name.clone()).collect(),
            details: details(self.manifest, &self.cases, &self.asked.groups),
            skipped: self.skipped.clone(),
            procedure: Some(self.procedure(binaries)?),
            side: None,
        })
    }

    fn procedure(&self, binaries: &Binaries) -> anyhow::Result<Procedure> {
        let Profile { flags, target_percent, budget_seconds, reruns, .. } = self.profile;
        let further =
            |budget_seconds| FurtherRounds { target_percent: *target_percent, budget_seconds };
        let named = |case: &&Case| {
            let form = binaries[&case.program].program.form;
            (case.name.clone(), command(form, case, flags))
        };
        Ok(Procedure {
            command: self.command(),
            flags: flags.clone(),
            // A number of rounds that was asked for is the number of rounds.
            further: budget_seconds.filter(|_| self.asked.flags.rounds.is_none()).map(further),
            reruns: *reruns,
            commands: self.cases.iter().map(named).collect(),
            binaries: fingerprints(&self.cases, binaries)?,
        })
    }

    /// What to type for another run like this.
    fn command(&self) -> Vec<String> {
        let RunFlags { cases, rounds, .. } = &self.asked.flags;
        let mut words = vec!["brigade".to_owned(), "run".to_owned()];
        words.extend_from_slice(&self.asked.groups);
        words.extend(["--profile".to_owned(), self.asked.profile().to_owned()]);
        if !cases.is_empty() {
            words.push("--case".to_owned());
            words.extend_from_slice(cases);
        }
        if let Some(rounds) = rounds {
            words.extend(["--rounds".to_owned(), rounds.to_string()]);
        }
        words.extend(["--seed".to_owned(), self.seed.to_string()]);
        words
    }
}

/// What each of `cases` is, and the group that it is run for: of those that
/// were `chosen`, or else of all, the first that has it.
pub fn details(manifest: &Manifest, cases: &[&Case], chosen: &[String]) -> Vec<CaseDetail> {
    let detail = |case: &&Case| {
        let CaseKey { program, parameters } = case.key();
        let mut groups = manifest.groups.iter().filter(|group| group.cases.contains(&case.name));
        let first = groups.clone().find(|group| chosen.contains(&group.name));
        let group = first.or_else(|| groups.next()).map(|group| group.name.clone());
        CaseDetail { case: case.name.clone(), program, parameters, group }
    };
    cases.iter().map(detail).collect()
}

/// A run that is described, with all that it takes.
pub struct Run<'a> {
    /// The manifest.
    pub manifest: &'a Manifest,
    /// The cases, as the description names them.
    pub cases: Vec<&'a Case>,
    /// The binary of each case's program.
    pub binaries: Binaries,
    /// What is run.
    pub description: RunDescription,
    /// What it runs on.
    pub environment: Environment,
}

impl Run<'_> {
    /// Takes the turns that `invocations` leave, then tells of all.
    ///
    /// # Errors
    /// When the results or standard output cannot be written.
    pub fn finish(
        &self,
        folder: &mut Folder,
        mut invocations: Vec<Invocation>,
        signals: &mut Signals,
    ) -> anyhow::Result<Exit> {
        self.measure(folder, &mut invocations, signals)?;
        let proof = self.proof(&invocations, signals)?;
        signals.exit_on_next_stop();
        let Self { manifest, description, environment, .. } = self;
        let summary =
            Summary::new(description, environment, &invocations, folder.path(), proof.as_ref());
        let report = summary.report(manifest);
        let printed = output::print(&summary.text(&report)).with_context(|| {
            format!("showing the results that are in {}", folder.path().display())
        });
        if let Some(end) = summary.end() {
            folder.write_once(results::RUN_END, &end)?;
        }
        if let Some(proof) = &proof {
            folder.write_once(results::PROOF, proof)?;
            folder.replace(results::PROOF_PAGE, &prove::markdown(proof))?;
        }
        folder.replace(results::PAGE, &markdown(&report))?;
        printed?;
        let proven = proof.is_none_or(|proof| proof.standing() != Standing::Fails);
        Ok(match crate::commands::exit_after(&invocations) {
            _ if signals.stops() > 0 => Exit::Interrupted,
            Exit::Done if !proven => Exit::Failed,
            exit => exit,
        })
    }

    /// The proof that a run of all cases of its profile ends with, where the
    /// profile asks for one; `None` also when the runner is told to stop.
    fn proof(
        &self,
        invocations: &[Invocation],
        signals: &mut Signals,
    ) -> anyhow::Result<Option<Proof>> {
        let RunDescription { profile, cases, skipped, seed, .. } = &self.description;
        let asked = self.manifest.profiles.get(profile).is_some_and(|profile| profile.prove);
        let skipped = || skipped.iter().map(|skipped| &skipped.case);
        let mut of_profile = self.manifest.cases_of(profile).map(|case| &case.name);
        let has_all = of_profile.all(|name| cases.iter().chain(skipped()).any(|case| case == name));
        if signals.stops() > 0 || !asked || !has_all {
            return Ok(None);
        }
        prove::for_run(self.manifest, &self.binaries, *seed, invocations, signals)
    }

    /// Takes turns until the run is complete or the runner is told to stop,
    /// and appends each invocation to `folder` as it ends.
    fn measure(
        &self,
        folder: &mut Folder,
        invocations: &mut Vec<Invocation>,
        signals: &mut Signals,
    ) -> anyhow::Result<()> {
        let flags = self.description.procedure.as_ref().map_or(&[][..], |how| &how.flags);
        let mut schedule = history::schedule(&self.description, invocations);
        let mut progress = Progress::new(&self.description.cases, self.description.rounds);
        while signals.stops() == 0
            && let Some(turn) = schedule.next_turn()
        {
            progress.starting(turn, &schedule);
            let case = self.cases[turn.case];
            let binary = &self.binaries[&case.program];
            let job =
                Job { case, round: turn.round, attempt: turn.attempt, under: &[], binary, flags };
            let invocation = invoke(&job, signals);
            folder.append(&invocation).with_context(|| {
                format!("free some space, then: brigade run --resume {}", folder.path().display())
            })?;
            schedule.record(turn.case, turn.round, history::attempt(&invocation));
            progress.ended(turn, Duration::from_nanos(invocation.duration_ns));
            invocations.push(invocation);
        }
        Ok(())
    }
}
