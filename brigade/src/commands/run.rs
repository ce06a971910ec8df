//! `brigade run`: every case once per round, each time as a fresh process, and
//! every record kept.

use std::time::{Duration, Instant};

use anyhow::Context;
use harness::{cpus, terminal};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use crate::commands::flags::{RunCommand, RunFlags};
use crate::commands::output;
use crate::commands::prove;
use crate::commands::report::{Summary, is_to_be_proven};
use crate::commands::session::{Session, described};
use crate::commands::session::{Which, pair_with_machine};
use crate::exit::{Exit, UsageError};
use crate::judge::prove::{Proof, Status};
use crate::manifest::{Case, Manifest, Profile};
use crate::measure::executables::Executables;
use crate::measure::executables::fingerprints;
use crate::measure::invoke::{Job, command, invoke};
use crate::measure::reference::reference;
use crate::measure::signals::Signals;
use crate::plan::{self, Attempt, Schedule, Turn};
use crate::show::html::html;
use crate::show::markdown::markdown;
use crate::store::environment::Environment;
use crate::store::invocation::Invocation;
use crate::store::results::{self, Folder, FurtherRounds, Procedure, RunDescription};

/// Runs `brigade run`.
///
/// # Errors
/// When the flags or the manifest are wrong, the programs cannot be built, or
/// the results or standard output cannot be written. A failing program is no
/// error but a result.
pub fn run(args: &RunCommand) -> anyhow::Result<Exit> {
    let flags = &args.flags;
    let mut manifest = flags.programs.manifest()?;
    pair_with_machine(&mut manifest, if flags.all_pairs { Which::All } else { Which::Chosen })?;
    let manifest = manifest;
    let chosen = manifest.chosen(&args.groups, &flags.cases, args.profile())?;
    let results =
        flags.results.clone().unwrap_or_else(|| results::default_folder(manifest.root.as_deref()));
    results::check_writable(&results)?;
    let mut session = Session::begin(&manifest, &flags.programs)?;
    let (possible, _) = session.capabilities.divide(chosen.clone());
    let binaries = session.binaries(&possible)?;
    // What turned out not to be buildable is left out too.
    let (cases, skipped) = session.capabilities.divide(chosen);

    let environment = Environment::capture(&manifest)?;
    let described = described(&manifest, args.profile(), &cases, &args.groups);
    let profile = manifest.profile(args.profile())?;
    let seed = flags.seed.unwrap_or_else(plan::random_seed);
    let description = RunDescription {
        rounds: flags.rounds.unwrap_or(profile.rounds),
        seed,
        skipped,
        procedure: Some(Procedure {
            command: command_line(args, seed),
            binaries: fingerprints(&cases, &binaries)?,
            ..procedure(&manifest, profile, &cases, flags)
        }),
        ..described
    };
    check_size(&description)?;
    let label = flags.name.clone().unwrap_or_else(|| environment.label());
    let mut folder = Folder::create(&results, &description, &label)?;
    // A run whose run.json is there can be resumed: it comes last.
    folder.write_once(results::ENVIRONMENT, &environment)?;
    folder.write_once(results::RUN, &description)?;
    let run = Run { manifest: &manifest, cases, binaries, description, environment };
    run.finish(&mut folder, Vec::new(), None, &mut session.signals)
}

/// Checks that the run can be read back.
fn check_size(run: &RunDescription) -> Result<(), UsageError> {
    let (cases, rounds, most) = (run.cases.len(), run.rounds, results::MOST_INVOCATIONS);
    let planned = cases.saturating_mul(rounds as usize);
    if planned <= most {
        return Ok(());
    }
    Err(UsageError(format!(
        "{rounds} rounds of {cases} cases are {planned} invocations, more than {most}: use fewer, \
         with --rounds"
    )))
}

/// How the flags and the profile say that a run of these cases goes.
fn procedure(
    manifest: &Manifest,
    profile: &Profile,
    cases: &[&Case],
    flags: &RunFlags,
) -> Procedure {
    // A number of rounds that was asked for is the number of rounds.
    let budget = flags.budget.or(profile.budget_seconds.filter(|_| flags.rounds.is_none()));
    let target_percent = profile.target_percent;
    let mut partners = manifest.partners();
    partners.retain(|pair| pair.iter().all(|name| cases.iter().any(|case| case.name == *name)));
    let command = |case: &&Case| command(manifest.program_of(case).form, case, &profile.flags);
    Procedure {
        flags: profile.flags.clone(),
        further: budget.map(|budget_seconds| FurtherRounds { target_percent, budget_seconds }),
        reruns: profile.reruns,
        spacing_seconds: profile.spacing_seconds(flags.rounds.unwrap_or(profile.rounds)),
        partners,
        commands: cases.iter().map(|case| (case.name.clone(), command(case))).collect(),
        ..Procedure::default()
    }
}

/// What to type for another run like this.
fn command_line(args: &RunCommand, seed: u64) -> Vec<String> {
    let RunFlags { cases, rounds, budget, all_pairs, .. } = &args.flags;
    let mut words = vec!["brigade".to_owned(), "run".to_owned()];
    words.extend_from_slice(&args.groups);
    words.extend(["--profile".to_owned(), args.profile().to_owned()]);
    if !cases.is_empty() {
        words.push("--case".to_owned());
        words.extend_from_slice(cases);
    }
    words.extend(all_pairs.then(|| "--all-pairs".to_owned()));
    for (flag, value) in [
        ("--rounds", rounds.map(|rounds| rounds.to_string())),
        ("--budget", budget.map(|budget| budget.to_string())),
        ("--seed", Some(seed.to_string())),
    ] {
        words.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
    }
    words
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
    pub binaries: Executables,
    /// What is run.
    pub description: RunDescription,
    /// What it runs on.
    pub environment: Environment,
}

impl Run<'_> {
    /// Runs the remaining invocations, then proves unless there is a `proof`, reports and
    /// saves. `run-end.json` comes last.
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
        let Self { manifest, binaries, description, environment, .. } = self;
        let proves =
            proof.is_none() && signals.stops() == 0 && is_to_be_proven(manifest, description);
        let made = if proves {
            prove::for_run(manifest, binaries, description.seed, &invocations, signals)?
        } else {
            None
        };
        signals.exit_on_next_stop();
        let proof = proof.as_ref().or(made.as_ref());
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
        let progress = Progress::new(&self.description);
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
            invocations.push(invocation);
        }
        Ok(())
    }
}

/// The progress bar of a run, on standard error; hidden unless that is a terminal. It is
/// drawn between invocations: nothing of the runner runs while a program measures.
struct Progress<'a> {
    bar: ProgressBar,
    run: &'a RunDescription,
}

impl<'a> Progress<'a> {
    fn new(run: &'a RunDescription) -> Self {
        let style = ProgressStyle::with_template("{pos}/{len} {bar:30} {msg}, {eta} left");
        let style = style.expect("the template is well-formed");
        let bar = ProgressBar::new(run.cases.len() as u64 * u64::from(run.rounds));
        Self { bar: bar.with_style(style), run }
    }

    /// Shows that a turn of `schedule` starts now.
    fn starting(&self, turn: Turn, schedule: &Schedule) {
        let RunDescription { rounds, cases, .. } = self.run;
        let remaining: u32 = schedule.remaining().iter().sum();
        self.bar.set_position(self.bar.length().unwrap_or(0).saturating_sub(remaining.into()));
        let of = if turn.round > *rounds { "beyond the" } else { "of" };
        let budget = schedule.budget_left().map(HumanDuration);
        let budget = budget.map_or_else(String::new, |left| format!(", budget {left}"));
        let message = format!("round {} {of} {rounds}, {}{budget}", turn.round, cases[turn.case]);
        self.bar.set_message(terminal::line(&message).into_owned());
        self.bar.tick();
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
