//! `brigade run`: runs every case once per round, each time in a fresh process, and saves every
//! record.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use anyhow::Context;
use harness::{cpus, terminal};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use crate::commands::flags::{RunCommand, RunFlags, ShowFlags};
use crate::commands::report::{Reporter, full_text};
use crate::commands::session::{Session, described};
use crate::commands::{exit_after, output};
use crate::exit::{Exit, UsageError};
use crate::manifest::{Case, Manifest};
use crate::measure::executables::{Executables, fingerprints};
use crate::measure::invoke::reference;
use crate::measure::invoke::{Job, command, invoke};
use crate::measure::process::Signals;
use crate::plan::{self, Schedule, Turn};
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
    check_size(&description)?;
    let label = flags.name.clone().unwrap_or_else(|| environment.label());
    let mut folder = Folder::create(&results, &description, &label)?;
    // `run.json` makes a run resumable, so it is written last.
    folder.write_once(results::ENVIRONMENT, &environment)?;
    folder.write_once(results::RUN, &description)?;
    let saved = SavedRun::new(description, environment);
    let run = Run { manifest: &manifest, cases, binaries };
    run.finish(&mut folder, saved, flags.show, &mut session.signals)
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
        self.measure(folder, &mut saved, signals)?;
        signals.exit_on_next_stop();
        let reporter = Reporter::new(self.manifest, folder.path());
        let report = reporter.report(&saved);
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
        signals: &mut Signals,
    ) -> anyhow::Result<()> {
        let flags = self.manifest.flags();
        let mut schedule = Schedule::of(&saved.description, &saved.invocations);
        let mut progress = Progress::new();
        let path = folder.path().to_owned();
        let reporter = Reporter::new(self.manifest, &path);
        let cpus = cpus::allowed().context("reading the CPUs that this process may use")?;
        while signals.stops() == 0
            && let Some(turn) = schedule.next_turn()
        {
            let case = self.cases[turn.case];
            progress.starting(turn, case, &schedule);
            if progress.shows_figures(saved.invocations.len()) {
                progress.figures(&reporter.screen(&reporter.report(saved)));
            }
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

/// Progress on standard error: on a terminal a bar above the figures so far, otherwise a line
/// now and then. It is drawn between invocations: the runner is idle while a program measures.
struct Progress {
    bar: ProgressBar,
    printed: Instant,
    figures_at: Option<Instant>,
}

/// Interval between figures on a terminal, each of which costs up to 0.2 s of CPU time.
const FIGURES_EVERY: Duration = Duration::from_secs(5);

/// Interval between lines if standard error is no terminal.
const PRINTED_EVERY: Duration = Duration::from_secs(30);

impl Progress {
    /// Its bar counts from 0 to 1000.
    fn new() -> Self {
        let style = ProgressStyle::with_template("{percent:>3} % {bar:16} {wide_msg}{prefix}");
        let bar = ProgressBar::new(1000).with_style(style.expect("the template is well-formed"));
        Self { bar, printed: Instant::now(), figures_at: None }
    }

    /// Whether somebody sees figures of these many invocations, and they are due.
    fn shows_figures(&self, invocations: usize) -> bool {
        let is_due = self.figures_at.is_none_or(|at| at.elapsed() >= FIGURES_EVERY);
        invocations > 0 && is_due && !self.bar.is_hidden()
    }

    /// Shows the figures so far below the bar, as many lines as the terminal has.
    fn figures(&mut self, text: &str) {
        self.figures_at = Some(Instant::now());
        self.bar.set_prefix(format!("\n\n{text}"));
    }

    /// Shows that a turn of `schedule` starts.
    fn starting(&mut self, turn: Turn, case: &Case, schedule: &Schedule) {
        let left = HumanDuration(schedule.time_left());
        let message = format!("{left} left, round {}, {}", turn.round, case.name);
        let message = terminal::line(&message);
        let done = schedule.share();
        self.bar.set_position((1000.0 * done) as u64);
        self.bar.set_message(message.clone().into_owned());
        self.bar.tick();
        if !io::stderr().is_terminal() && self.printed.elapsed() >= PRINTED_EVERY {
            self.printed = Instant::now();
            output::warn(&format!("{:.0} % done, {message}", 100.0 * done));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
