//! `brigade run`: runs every case once per round, each time in a fresh process, and saves every
//! record.

use anyhow::Context;
use harness::cpus;

use crate::commands::flags::{RunCommand, RunFlags, ShowFlags};
use crate::commands::report::{Reporter, full_text};
use crate::commands::session::{Session, described};
use crate::commands::{exit_after, output};
use crate::exit::Exit;
use crate::manifest::{Case, Manifest};
use crate::measure::executables::{Executables, fingerprints};
use crate::measure::invoke::reference;
use crate::measure::invoke::{Job, command, invoke};
use crate::measure::process::Signals;
use crate::plan::{self, Schedule};
use crate::show::formats::markdown;
use crate::show::html::html;
use crate::store::results::{
    self, Environment, Folder, Invocation, Procedure, RunDescription, SavedRun,
};

/// Runs `brigade run`.
///
/// # Errors
/// If the flags or the manifest are wrong, the programs cannot be built, or the results or standard
/// output cannot be written. A failing program is a result, not an error.
pub fn run(args: &RunCommand) -> anyhow::Result<Exit> {
    let RunCommand { names, flags } = args;
    let mut manifest = flags.programs.manifest()?;
    manifest.admit(names);
    let chosen = manifest.chosen(names)?;
    let results = flags.results.clone().unwrap_or_else(|| manifest.results());
    results::check_writable(&results)?;
    let mut session = Session::begin(&manifest)?;
    let (possible, _) = session.capabilities.divide(chosen.clone());
    let binaries = session.binaries(&possible)?;
    // Drops cases whose programs could not be built.
    let (cases, skipped) = session.capabilities.divide(chosen);

    let environment = Environment::capture(&manifest)?;
    let seed = flags.seed.unwrap_or_else(plan::random_seed);
    let seconds = match flags.rounds {
        None => Some(flags.time.unwrap_or_else(|| plan::default_seconds(cases.len()))),
        Some(_) => flags.time,
    };
    let mut partners = manifest.partners();
    partners.retain(|pair| pair.iter().all(|name| cases.iter().any(|case| case.name == *name)));
    let description = RunDescription {
        rounds: flags.rounds.unwrap_or(0),
        seed,
        skipped,
        procedure: Some(Procedure {
            command: command_line(names, flags, seed),
            flags: manifest.flags(),
            seconds,
            partners,
            commands: cases.iter().map(|case| command_of(&manifest, case)).collect(),
            binaries: fingerprints(&cases, &binaries)?,
        }),
        ..described(&manifest, &cases, names)
    };
    let label = flags.name.clone().unwrap_or_else(|| environment.label());
    let mut folder = Folder::create(&results, &description, &label)?;
    // `run.json` makes a run resumable, so it is written last.
    folder.write_once(results::ENVIRONMENT, &environment)?;
    folder.write_once(results::RUN, &description)?;
    let saved = SavedRun::new(description, environment);
    let run = Run { manifest: &manifest, cases, binaries };
    run.finish(&mut folder, saved, flags.show, &mut session.signals)
}

/// A case's name and its command.
pub fn command_of(manifest: &Manifest, case: &Case) -> (String, Vec<String>) {
    let words = command(manifest.program_of(case).form, case, &manifest.flags());
    (case.name.clone(), words)
}

/// The command that repeats this run.
fn command_line(names: &[String], flags: &RunFlags, seed: u64) -> Vec<String> {
    let values = [
        ("--rounds", flags.rounds.map(|rounds| rounds.to_string())),
        ("--time", flags.time.map(|seconds| seconds.to_string())),
        ("--seed", Some(seed.to_string())),
    ];
    let values = values.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), value?]));
    let begin = ["brigade", "run"].map(str::to_owned);
    begin.into_iter().chain(names.iter().cloned()).chain(values.flatten()).collect()
}

/// A run in progress.
pub struct Run<'a> {
    pub manifest: &'a Manifest,
    /// The cases, as the description names them.
    pub cases: Vec<&'a Case>,
    pub binaries: Executables,
}

impl Run<'_> {
    /// Runs the remaining invocations, then reports and saves.
    ///
    /// # Errors
    /// If the results or standard output cannot be written.
    pub fn finish(
        &self,
        folder: &mut Folder,
        mut saved: SavedRun,
        show: ShowFlags,
        signals: &mut Signals,
    ) -> anyhow::Result<Exit> {
        let path = folder.path().to_owned();
        // It reads earlier runs, which the loop must not.
        let reporter = Reporter::new(self.manifest, &path);
        self.measure(folder, &mut saved, &reporter, signals)?;
        signals.exit_on_next_stop();
        let report = reporter.report(&saved, false);
        let text = if show.full { full_text(&report) } else { reporter.screen(&report) };
        let printed = output::print_coloured(&text)
            .with_context(|| format!("showing the results in {}", folder.path().display()));
        folder.replace(results::PAGE, &markdown(&report))?;
        folder.replace(results::HTML_PAGE, &html(&report))?;
        printed?;
        Ok(if signals.stops() > 0 { Exit::Interrupted } else { exit_after(&saved.invocations) })
    }

    /// Runs turns until the run is complete or a signal arrives. Appends each invocation to
    /// `folder` as it ends.
    fn measure(
        &self,
        folder: &mut Folder,
        saved: &mut SavedRun,
        reporter: &Reporter,
        signals: &mut Signals,
    ) -> anyhow::Result<()> {
        let flags = self.manifest.flags();
        let mut schedule = Schedule::of(&saved.description, &saved.invocations);
        let mut live = output::Live::default();
        let cpus = cpus::allowed().context("reading the CPUs that this process may use")?;
        while signals.stops() == 0
            && let Some(turn) = schedule.next_turn()
        {
            let case = self.cases[turn.case];
            live.draw(|| reporter.screen(&reporter.report(saved, true)));
            let job = Job {
                case,
                round: turn.round,
                attempt: turn.attempt,
                under: &[],
                binary: &self.binaries[&case.program],
                flags: &flags,
                shared_cpu: plan::shared_cpu(turn.round, &cpus),
            };
            let reference = reference(&cpus, saved.invocations.len());
            let invocation = Invocation { reference, ..invoke(&job, signals) };
            folder.append(&invocation)?;
            schedule.record(turn.case, &invocation);
            saved.invocations.push(invocation);
        }
        Ok(())
    }
}
