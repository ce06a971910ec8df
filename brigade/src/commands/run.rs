//! `brigade run`: runs every case once per round, each time in a fresh process,
//! and saves every record.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use harness::{cpus, terminal};
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use crate::commands::flags::{RunCommand, RunFlags, ShowFlags};
use crate::commands::report::Summary;
use crate::commands::session::{Session, Which, described, pair_with_machine};
use crate::commands::{exit_after, output};
use crate::exit::{Exit, UsageError};
use crate::manifest::{Case, Manifest, Profile};
use crate::measure::executables::{Executables, fingerprints};
use crate::measure::invoke::{Job, command, invoke};
use crate::measure::reference::reference;
use crate::measure::signals::Signals;
use crate::plan::{self, Attempt, Schedule, Turn};
use crate::show::html::html;
use crate::show::markdown::markdown;
use crate::show::screen;
use crate::store::environment::Environment;
use crate::store::invocation::Invocation;
use crate::store::results::{self, Folder, FurtherRounds, Procedure, RunDescription};
use crate::store::saved_run::SavedRun;

/// Runs `brigade run`.
///
/// # Errors
/// If the flags or the manifest are wrong, the programs cannot be built, or the
/// results or standard output cannot be written. A failing program is a result,
/// not an error.
pub fn run(args: &RunCommand) -> anyhow::Result<Exit> {
    let flags = &args.flags;
    let mut manifest = flags.programs.manifest()?;
    pair_with_machine(&mut manifest, if flags.all_pairs { Which::All } else { Which::Chosen })?;
    let manifest = manifest;
    let chosen = manifest.chosen(&args.groups, &flags.cases, args.profile())?;
    let results = flags.results.clone().unwrap_or_else(|| manifest.results());
    results::check_writable(&results)?;
    let mut session = Session::begin(&manifest, &flags.programs)?;
    let (possible, _) = session.capabilities.divide(chosen.clone());
    let binaries = session.binaries(&possible)?;
    // Drops cases whose programs could not be built.
    let (cases, skipped) = session.capabilities.divide(chosen);
    if let ([], [first, ..], true) = (&cases[..], &skipped[..], flags.programs.no_build) {
        bail!("no case can run: {}: {}", first.case, first.reason);
    }

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

/// The procedure for these cases, from the flags and the profile.
fn procedure(
    manifest: &Manifest,
    profile: &Profile,
    cases: &[&Case],
    flags: &RunFlags,
) -> Procedure {
    // An explicit number of rounds is exact: no budget applies.
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

/// The command that repeats this run.
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

/// A run in progress.
pub struct Run<'a> {
    pub manifest: &'a Manifest,
    /// The cases, as the description names them.
    pub cases: Vec<&'a Case>,
    pub binaries: Executables,
}

impl Run<'_> {
    /// Runs the remaining invocations, reports and saves. `run-end.json` is written last.
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
        let summary = Summary::new(self.manifest, &saved, folder.path());
        let report = summary.report();
        let text = match signals.stops() {
            0 => summary.text(&report, show),
            _ => summary.interrupted(),
        };
        let printed = output::print_coloured(&text)
            .with_context(|| format!("showing the results in {}", folder.path().display()));
        folder.replace(results::PAGE, &markdown(&report))?;
        folder.replace(results::HTML_PAGE, &html(&report))?;
        if let Some(end) = summary.end() {
            folder.write_end(&end)?;
        }
        printed?;
        Ok(if signals.stops() > 0 { Exit::Interrupted } else { exit_after(&saved.invocations) })
    }

    /// Runs turns until the run is complete or a signal arrives. Appends each
    /// invocation to `folder` as it ends.
    fn measure(
        &self,
        folder: &mut Folder,
        saved: &mut SavedRun,
        signals: &mut Signals,
    ) -> anyhow::Result<()> {
        let procedure = saved.description.procedure.as_ref();
        let flags = procedure.map_or(&[][..], |how| &how.flags);
        let spacing = procedure.map_or(Duration::ZERO, Procedure::spacing);
        let mut schedule = Schedule::of(&saved.description, &saved.invocations);
        let mut progress = Progress::new(self.manifest, &saved.description, spacing);
        let cpus = cpus::allowed().context("reading the CPUs that this process may use")?;
        let mut round: Option<(u32, Instant)> = None;
        while signals.stops() == 0
            && let Some(turn) = schedule.next_turn()
        {
            progress.starting(turn, &schedule);
            if progress.shows_figures(saved.invocations.len()) {
                let summary = Summary::new(self.manifest, saved, folder.path());
                progress.figures(&screen::figures(&summary.report(), output::style()));
            }
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
            let reference = reference(&cpus, saved.invocations.len());
            let invocation = Invocation { reference, ..invoke(&job, signals) };
            folder.append(&invocation)?;
            schedule.record(turn.case, turn.round, Attempt::of(&invocation));
            saved.invocations.push(invocation);
        }
        Ok(())
    }
}

/// Progress on standard error: on a terminal a bar above the figures so far, otherwise a line
/// now and then. It is drawn between invocations: the runner is idle while a program measures.
struct Progress<'a> {
    bar: ProgressBar,
    manifest: &'a Manifest,
    run: &'a RunDescription,
    spacing: Duration,
    began: Instant,
    printed: Instant,
    started: u32,
    figures_at: Option<Instant>,
}

/// Interval between figures on a terminal, each of which costs up to 0.2 s of CPU time.
const FIGURES_EVERY: Duration = Duration::from_secs(5);

/// Interval between lines if standard error is no terminal.
const PRINTED_EVERY: Duration = Duration::from_secs(30);

impl<'a> Progress<'a> {
    fn new(manifest: &'a Manifest, run: &'a RunDescription, spacing: Duration) -> Self {
        let style = ProgressStyle::with_template("{pos}/{len} {bar:20} {wide_msg}{prefix}");
        let style = style.expect("the template is well-formed");
        let bar = ProgressBar::new(run.cases.len() as u64 * u64::from(run.rounds));
        let (bar, now) = (bar.with_style(style), Instant::now());
        let figures_at = None;
        Self { bar, manifest, run, spacing, began: now, printed: now, started: 0, figures_at }
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
    fn starting(&mut self, turn: Turn, schedule: &Schedule) {
        let RunDescription { rounds, cases, .. } = self.run;
        let remaining: u32 = schedule.remaining().iter().sum();
        let of_one = self.began.elapsed().checked_div(self.started).unwrap_or_default();
        self.started += 1;
        let left = time_left(schedule, (turn.round, *rounds), of_one, self.spacing);
        let round = if turn.round > *rounds {
            "further rounds".to_owned()
        } else {
            format!("round {} of {rounds}", turn.round)
        };
        let title = self.manifest.title_of(&cases[turn.case]);
        let message = format!("{} left, {round}, {title}", HumanDuration(left));
        let message = terminal::line(&message);
        let done = self.bar.length().unwrap_or(0).saturating_sub(remaining.into());
        self.bar.set_position(done);
        self.bar.set_message(message.clone().into_owned());
        self.bar.tick();
        if !io::stderr().is_terminal() && self.printed.elapsed() >= PRINTED_EVERY {
            self.printed = Instant::now();
            output::warn(&format!("{done} of {} done, {message}", self.bar.length().unwrap_or(0)));
        }
    }
}

/// Upper bound on the remaining time of a run if each invocation takes `of_one`: the common rounds,
/// which begin `spacing` apart, and the unused budget for extra ones.
fn time_left(
    schedule: &Schedule,
    (round, rounds): (u32, u32),
    of_one: Duration,
    spacing: Duration,
) -> Duration {
    let remaining: u32 = schedule.remaining().iter().sum();
    let waits = spacing.saturating_mul(rounds.saturating_sub(round));
    let common = of_one.saturating_mul(remaining).max(waits);
    common.max(schedule.budget_left().unwrap_or_default())
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four cases of 50 ms in rounds that begin 5 s apart: in round 2 of 4, two waits remain,
    /// however short the invocations are.
    #[test]
    fn the_time_left_counts_the_waits_between_rounds() {
        let run = serde_json::json!({
            "schema_version": "1.0", "brigade_version": "", "started_at": "", "profile": "",
            "rounds": 4, "seed": 0, "cases": ["a", "b", "c", "d"], "details": [], "skipped": [],
            "procedure": null, "side": null,
        });
        let run: RunDescription = serde_json::from_value(run).unwrap();
        let schedule = Schedule::of(&run, &[]);
        let of_one = Duration::from_millis(50);
        let spacing = Duration::from_secs(5);
        assert_eq!(time_left(&schedule, (2, 4), of_one, spacing), Duration::from_secs(10));
        assert_eq!(time_left(&schedule, (4, 4), of_one, Duration::ZERO), of_one * 16);
    }
}
