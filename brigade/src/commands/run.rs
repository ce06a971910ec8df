//! `brigade run`: runs every case once per round, each time in a fresh process, and saves every
//! record.

use std::mem;
use std::path::Path;

use anyhow::Context;
use harness::cpus;
use harness::system_files::SystemFiles;

use crate::commands::exit_after;
use crate::commands::flags::{MeasureFlags, RunFlags};
use crate::commands::report::Reporter;
use crate::commands::session::{Session, described};
use crate::exit::Exit;
use crate::manifest::{Case, Manifest, default_seconds};
use crate::measure::executables::{Executables, fingerprints};
use crate::measure::invoke::{Job, command, invoke, reference};
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
pub fn run(names: &[String], flags: &RunFlags, mut manifest: Manifest) -> anyhow::Result<Exit> {
    let measure = &flags.measure;
    manifest.admit(names);
    let chosen = manifest.chosen(names)?;
    let results = measure.results(&manifest)?;
    let mut session = Session::begin(&manifest)?;
    // Rows have their places from the beginning.
    let planned = described(&manifest, &chosen, names);
    let planned = SavedRun::new(planned, Environment::of_machine(&SystemFiles::live()));
    session.live.draw(|| Reporter::alone(&manifest, Path::new("")).running(&planned));
    let (binaries, capabilities) = session.build(&chosen)?;
    let (cases, skipped) = capabilities.divide(chosen);

    let environment = Environment::capture(&manifest)?;
    let seed = measure.seed.unwrap_or_else(plan::random_seed);
    let mut partners = manifest.partners();
    partners.retain(|pair| pair.iter().all(|name| cases.iter().any(|case| case.name == *name)));
    let description = RunDescription {
        rounds: measure.rounds.unwrap_or(0),
        seed,
        skipped,
        procedure: Some(Procedure {
            command: command_line(names, measure, seed),
            flags: manifest.flags(),
            seconds: measure.seconds(default_seconds(cases.len())),
            partners,
            commands: cases.iter().map(|case| command_of(&manifest, case)).collect(),
            binaries: fingerprints(&binaries)?,
        }),
        ..described(&manifest, &cases, names)
    };
    let label = measure.name.clone().unwrap_or_else(|| environment.label());
    let mut folder = Folder::create(&results, &description, &label)?;
    // `run.json` makes a run resumable, so it is written last.
    folder.write_json(results::ENVIRONMENT, &environment)?;
    folder.write_json(results::RUN, &description)?;
    let saved = SavedRun::new(description, environment);
    let run = Run { manifest: &manifest, cases, binaries };
    run.finish(&mut folder, saved, flags.full, &mut session)
}

/// A case's name and its command.
pub fn command_of(manifest: &Manifest, case: &Case) -> (String, Vec<String>) {
    let words = command(manifest.program_of(case).form, case, &manifest.flags());
    (case.name.clone(), words)
}

/// The command that repeats this run.
fn command_line(names: &[String], flags: &MeasureFlags, seed: u64) -> Vec<String> {
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
        full: bool,
        session: &mut Session,
    ) -> anyhow::Result<Exit> {
        let path = folder.path().to_owned();
        // It reads earlier runs, which the loop must not.
        let reporter = Reporter::new(self.manifest, &path);
        self.measure(folder, &mut saved, &reporter, session)?;
        let signals = &mut session.signals;
        signals.exit_on_next_stop();
        let report = reporter.report(&saved, false);
        let printed = reporter
            .print(&report, full)
            .with_context(|| format!("showing the results in {}", folder.path().display()));
        folder.write(results::PAGE, &markdown(&report))?;
        folder.write(results::HTML_PAGE, &html(&report))?;
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
        session: &mut Session,
    ) -> anyhow::Result<()> {
        let (mut live, signals) = (mem::take(&mut session.live), &mut session.signals);
        let flags = self.manifest.flags();
        let mut schedule = Schedule::of(&saved.description, &saved.invocations);
        let cpus = cpus::allowed().context("reading the CPUs that this process may use")?;
        while signals.stops() == 0
            && let Some(turn) = schedule.next_turn()
        {
            let case = self.cases[turn.case];
            live.draw(|| reporter.running(saved));
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
