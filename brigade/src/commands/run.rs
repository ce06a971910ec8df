//! `brigade run`: every case once per round, each time as a fresh process, and
//! every record kept.

use std::time::{Duration, Instant};

use anyhow::Context;
use harness::cpus;

use crate::commands::description::described;
use crate::commands::flags::{RunCommand, RunFlags};
use crate::commands::output;
use crate::commands::pairs::{self, Which};
use crate::commands::progress::Progress;
use crate::commands::prove;
use crate::commands::session::Session;
use crate::commands::summary::{Summary, is_to_be_proven};
use crate::exit::{Exit, UsageError};
use crate::judge::prove::{Proof, Status};
use crate::manifest::{Case, Manifest, Profile};
use crate::measure::build::Binaries;
use crate::measure::fingerprint::fingerprints;
use crate::measure::invoke::{Job, command, invoke};
use crate::measure::reference::reference;
use crate::measure::signals::Signals;
use crate::plan::{self, Attempt, Schedule};
use crate::show::html::html;
use crate::show::markdown::markdown;
use crate::store::environment::Environment;
use crate::store::invocation::Invocation;
use crate::store::results::{self, Folder, FurtherRounds, Procedure, RunDescription, Skipped};

/// Runs `brigade run`.
///
/// # Errors
/// When the flags or the manifest are wrong, the programs cannot be built, or
/// the results or standard output cannot be written. A failing program is no
/// error but a result.
pub fn run(asked: &RunCommand) -> anyhow::Result<Exit> {
    let flags = &asked.flags;
    let mut manifest = Manifest::load(flags.programs.manifest.as_deref())?;
    pairs::of_machine(&mut manifest, if flags.all_pairs { Which::All } else { Which::Chosen })?;
    let manifest = manifest;
    let chosen = manifest.chosen(&asked.groups, &flags.cases, asked.profile())?;
    let results = flags.results.clone().unwrap_or_else(|| manifest.root.join(results::FOLDER));
    results::check_writable(&results)?;
    let mut session = Session::begin(&manifest, &flags.programs)?;
    let (possible, _) = session.capabilities.divide(chosen.clone());
    let binaries = session.binaries(&possible)?;
    // What turned out not to be buildable is left out too.
    let (cases, skipped) = session.capabilities.divide(chosen);
    let intent = Intent::new(&manifest, asked, cases, skipped)?;

    let environment = Environment::capture(&manifest)?;
    let description = intent.description(&binaries)?;
    check_extent(&description)?;
    let label = flags.name.clone().unwrap_or_else(|| environment.label());
    let mut folder = Folder::create(&results, &description, &label)?;
    // A run whose run.json is there can be resumed: it comes last.
    folder.write_once(results::ENVIRONMENT, &environment)?;
    folder.write_once(results::RUN, &description)?;
    let cases = intent.cases;
    let run = Run { manifest: &manifest, cases, binaries, description, environment };
    run.finish(&mut folder, Vec::new(), None, &mut session.signals)
}

/// Checks that the run can be read back.
fn check_extent(run: &RunDescription) -> Result<(), UsageError> {
    let planned = run.cases.len().saturating_mul(run.rounds as usize);
    if planned <= results::MOST_INVOCATIONS {
        return Ok(());
    }
    Err(UsageError(format!(
        "{} rounds of {} cases are {planned} invocations, more than {}: use fewer, with --rounds",
        run.rounds,
        run.cases.len(),
        results::MOST_INVOCATIONS
    )))
}

/// What a run sets out to do.
struct Intent<'a> {
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
        asked: &'a RunCommand,
        cases: Vec<&'a Case>,
        skipped: Vec<Skipped>,
    ) -> anyhow::Result<Self> {
        let profile = manifest.profile(asked.profile())?;
        let seed = asked.flags.seed.unwrap_or_else(plan::random_seed);
        Ok(Self { asked, manifest, profile, cases, skipped, seed })
    }

    fn description(&self, binaries: &Binaries) -> anyhow::Result<RunDescription> {
        Ok(RunDescription {
            rounds: self.asked.flags.rounds.unwrap_or(self.profile.rounds),
            seed: self.seed,
            skipped: self.skipped.clone(),
            procedure: Some(self.procedure(binaries)?),
            ..described(self.manifest, self.asked.profile(), &self.cases, &self.asked.groups)
        })
    }

    fn procedure(&self, binaries: &Binaries) -> anyhow::Result<Procedure> {
        let Profile { flags, target_percent, budget_seconds, reruns, spacing_seconds, .. } =
            self.profile;
        let RunFlags { rounds, budget, .. } = self.asked.flags;
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
            further: budget.or(budget_seconds.filter(|_| rounds.is_none())).map(further),
            reruns: *reruns,
            spacing_seconds: *spacing_seconds,
            partners: self.partners(),
            commands: self.cases.iter().map(named).collect(),
            binaries: fingerprints(&self.cases, binaries)?,
        })
    }

    /// The partners among its cases.
    fn partners(&self) -> Vec<[String; 2]> {
        let has = |name: &String| self.cases.iter().any(|case| case.name == *name);
        let mut partners = self.manifest.partners();
        partners.retain(|pair| pair.iter().all(has));
        partners
    }

    /// What to type for another run like this.
    fn command(&self) -> Vec<String> {
        let RunFlags { cases, rounds, budget, all_pairs, .. } = &self.asked.flags;
        let mut words = vec!["brigade".to_owned(), "run".to_owned()];
        words.extend_from_slice(&self.asked.groups);
        words.extend(["--profile".to_owned(), self.asked.profile().to_owned()]);
        if !cases.is_empty() {
            words.push("--case".to_owned());
            words.extend_from_slice(cases);
        }
        if *all_pairs {
            words.push("--all-pairs".to_owned());
        }
        if let Some(rounds) = rounds {
            words.extend(["--rounds".to_owned(), rounds.to_string()]);
        }
        if let Some(budget) = budget {
            words.extend(["--budget".to_owned(), budget.to_string()]);
        }
        words.extend(["--seed".to_owned(), self.seed.to_string()]);
        words
    }
}

/// The exit code of a run that is complete.
pub fn exit_of(invocations: &[Invocation], proof: Option<&Proof>) -> Exit {
    match crate::commands::exit_after(invocations) {
        Exit::Done if proof.is_some_and(|proof| proof.status() == Status::Fails) => Exit::Failed,
        exit => exit,
    }
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
    /// Takes the turns that `invocations` leave and makes the proof that is to be
    /// made unless `proof` is that, then tells of all. What tells that the run has
    /// ended is written last.
    ///
    /// # Errors
    /// When the results or standard output cannot be written.
    pub fn finish(
        &self,
        folder: &mut Folder,
        mut invocations: Vec<Invocation>,
        proof: Option<Proof>,
        signals: &mut Signals,
    ) -> anyhow::Result<Exit> {
        self.measure(folder, &mut invocations, signals)?;
        let made = if proof.is_none() { self.proof(&invocations, signals)? } else { None };
        signals.exit_on_next_stop();
        let proof = proof.as_ref().or(made.as_ref());
        let Self { manifest, description, environment, .. } = self;
        let summary =
            Summary::new(manifest, description, environment, &invocations, folder.path(), proof);
        let report = summary.report();
        let printed = output::print(&summary.text(&report)).with_context(|| {
            format!("showing the results that are in {}", folder.path().display())
        });
        if let Some(proof) = &made {
            folder.write_once(results::PROOF, proof)?;
        }
        folder.replace(results::PAGE, &markdown(&report))?;
        folder.replace(results::HTML_PAGE, &html(&report))?;
        if let Some(end) = summary.end() {
            folder.write_end(&end)?;
        }
        printed?;
        let page = folder.path().join(results::HTML_PAGE);
        output::print(&output::page_at(&page))?;
        Ok(if signals.stops() > 0 { Exit::Interrupted } else { exit_of(&invocations, proof) })
    }

    /// The proof that a run of all cases of its profile ends with, where the
    /// profile asks for one; `None` also when the runner is interrupted.
    fn proof(
        &self,
        invocations: &[Invocation],
        signals: &mut Signals,
    ) -> anyhow::Result<Option<Proof>> {
        if signals.stops() > 0 || !is_to_be_proven(self.manifest, &self.description) {
            return Ok(None);
        }
        prove::for_run(self.manifest, &self.binaries, self.description.seed, invocations, signals)
    }

    /// Takes turns until the run is complete or the runner is interrupted,
    /// and appends each invocation to `folder` as it ends.
    fn measure(
        &self,
        folder: &mut Folder,
        invocations: &mut Vec<Invocation>,
        signals: &mut Signals,
    ) -> anyhow::Result<()> {
        let procedure = self.description.procedure.as_ref();
        let flags = procedure.map_or(&[][..], |how| &how.flags);
        let spacing = procedure.map_or(Duration::ZERO, Procedure::spacing);
        let mut schedule = Schedule::of(&self.description, invocations);
        let mut progress = Progress::new(&self.description.cases, self.description.rounds);
        let cpus = cpus::allowed().context("reading which CPUs may be used")?;
        let mut round: Option<(u32, Instant)> = None;
        while signals.stops() == 0
            && let Some(turn) = schedule.next_turn()
        {
            progress.starting(turn, &schedule);
            if let Some((_, began)) = round.filter(|(round, _)| *round != turn.round)
                && let Some(end) = began.checked_add(spacing)
            {
                signals.sleep_until(end);
                if signals.stops() > 0 {
                    break;
                }
            }
            round = round.filter(|(round, _)| *round == turn.round);
            round.get_or_insert_with(|| (turn.round, Instant::now()));
            let case = self.cases[turn.case];
            let job = Job {
                case,
                round: turn.round,
                attempt: turn.attempt,
                under: &[],
                binary: &self.binaries[&case.program],
                flags,
                shared_cpu: plan::shared_cpu(turn.round, &cpus),
            };
            let reference = reference(&cpus, invocations.len());
            let invocation = Invocation { reference, ..invoke(&job, signals) };
            folder.append(&invocation)?;
            schedule.record(turn.case, turn.round, Attempt::of(&invocation));
            progress.ended(turn, Duration::from_nanos(invocation.duration_ns));
            invocations.push(invocation);
        }
        Ok(())
    }
}
