//! What every command that runs programs does: take the lock, handle signals, find out what the
//! machine lacks, build the programs, and measure.

use std::fs::File;
use std::mem;
use std::time::SystemTime;

use anyhow::{Context, bail, ensure};
use harness::anonymous;
use harness::cpus;
use harness::limits::{Kind, Need, admit, in_force};
use harness::system_files::SystemFiles;
use humantime::format_rfc3339_millis;

use crate::commands::flags::MeasureFlags;
use crate::commands::output::{self, Live};
use crate::exit::UsageError;
use crate::judge::run::Run;
use crate::manifest::{Case, Manifest};
use crate::measure::availability::Capabilities;
use crate::measure::executables::{self, Executables};
use crate::measure::invoke::{Job, command, invoke, reference};
use crate::measure::lock;
use crate::measure::others::Others;
use crate::measure::process::Signals;
use crate::plan::{Schedule, Turn, has_refused_flags};
use crate::programs::refusal;
use crate::show::screen::{BUILDING, progress};
use crate::store::results::{self, CaseDetail, Folder, Invocation, RunDescription, Skipped};

/// Why an empty manifest, or a group without cases, measures nothing.
pub const NO_CASES: &str =
    "nothing to measure: the manifest or the group has no cases (brigade list)";

/// Cases whose programs were built.
pub struct Built<'c> {
    /// The cases that can run here.
    pub cases: Vec<&'c Case>,
    /// Their programs.
    pub binaries: Executables,
    /// Why the others cannot run.
    pub skipped: Vec<Skipped>,
}

/// The right to measure on this machine; dropping it releases the lock.
pub struct Session<'a> {
    manifest: &'a Manifest,
    pub signals: Signals,
    /// The screen while the session lasts.
    pub live: Live,
    /// The cases that were typed, not named by a group.
    pub typed: Vec<String>,
    /// Who else uses the CPUs, for a screen on a terminal.
    others: Option<Others>,
    _lock: File,
}

impl<'a> Session<'a> {
    /// Takes the lock, after any process that holds it.
    ///
    /// # Errors
    /// If the set-up fails.
    pub fn begin(manifest: &'a Manifest) -> anyhow::Result<Self> {
        admit(&Need::new(Kind::Process, 1), &in_force(&SystemFiles::live()))?;
        let signals = Signals::register().context("setting up signal handlers")?;
        let lock = lock::take(output::warn)?;
        Ok(Self {
            manifest,
            signals,
            live: Live::default(),
            typed: Vec::new(),
            others: None,
            _lock: lock,
        })
    }

    /// Builds the programs of cases.
    ///
    /// # Errors
    /// If [`executables::executables`] fails.
    pub fn build<'c>(&mut self, chosen: Vec<&'c Case>) -> anyhow::Result<Built<'c>> {
        self.live.note(BUILDING);
        let names = chosen.iter().map(|case| &*case.program).collect();
        let mut capabilities = Capabilities::detect(self.manifest, &names)?;
        let signals = &mut self.signals;
        let binaries = executables::executables(self.manifest, &names, &mut capabilities, signals)?;
        let (cases, skipped) = capabilities.divide(chosen);
        Ok(Built { cases, binaries, skipped })
    }

    /// The names of other programs that use the CPUs, the busiest first; none without a terminal.
    pub fn programs(&mut self) -> Vec<String> {
        self.others.as_mut().map_or_else(Vec::new, Others::names)
    }

    /// Runs the turns of `schedule` until it ends or a signal arrives, and draws `screen` between
    /// them. Appends each invocation to its folder as it ends.
    ///
    /// # Errors
    /// If the results cannot be written; [`UsageError`] if a program refuses the flags of a case
    /// that was typed.
    pub fn measure(
        &mut self,
        schedule: &mut Schedule,
        cases: &[&Case],
        series: &mut [Series],
        screen: impl Fn(&Schedule, Turn, &mut Run, &[String]) -> String,
    ) -> anyhow::Result<()> {
        let mut live = mem::take(&mut self.live);
        let cpus = cpus::allowed().context("reading the CPUs that this process may use")?;
        // The sides of a comparison are references for each other, and its screen names nobody.
        let is_run = series.iter().all(|series| series.run.description.side.is_none());
        let is_shown = is_run && output::lines_of_terminal().is_some();
        self.others = is_shown.then(|| Others::begin(cpus.len()));
        while self.signals.stops() == 0
            && let Some(turn) = schedule.next_turn()
        {
            let Turn { round, case, side, attempt } = turn;
            let Series { folder, run, binaries, wrap, flags } = &mut series[side];
            let ended = run.len();
            live.draw(|| screen(schedule, turn, run, &self.programs()));
            live.log(|| progress(schedule.share(), round, schedule.time_left().as_secs_f64()));
            let job = Job {
                case: cases[case],
                under: wrap,
                binary: &binaries[&cases[case].program],
                flags,
                // Each CPU in turn, since the first often serves the interrupts. A wrapper command
                // may place the program itself.
                shared_cpu: wrap.is_empty().then(|| cpus[(round as usize - 1) % cpus.len()]),
            };
            let reference = if is_run { reference(&cpus, ended) } else { None };
            let invocation =
                Invocation { round, attempt, reference, ..invoke(&job, &mut self.signals) };
            folder.append(&invocation)?;
            schedule.record(case, side, &invocation);
            let is_typed = || self.typed.contains(&invocation.case);
            if has_refused_flags(&invocation) && schedule.has_given_up(case) && is_typed() {
                let Invocation { case, error, .. } = invocation;
                bail!(UsageError(format!("{case}: {}", error.unwrap_or_default())));
            }
            run.add(&invocation);
        }
        self.signals.exit_at_once(true);
        Ok(())
    }
}

/// The invocations of a run, or of a side of a comparison, in progress.
pub struct Series {
    pub folder: Folder,
    /// What the folder contains, as far as its report needs it.
    pub run: Run,
    pub binaries: Executables,
    /// The command that runs its programs; empty to run them directly.
    pub wrap: Vec<String>,
    /// Flags of its programs, added to those of the case.
    pub flags: Vec<String>,
}

/// Checks the flags of cases whose programs this binary contains, with `more` flags, before anything
/// is waited for or built.
///
/// # Errors
/// [`UsageError`] if no machine accepts those of a case that was typed, or of any case.
pub fn check_flags(
    manifest: &Manifest,
    cases: &[&Case],
    typed: &[String],
    more: &[String],
) -> Result<(), UsageError> {
    let mut refused = None;
    let mut is_one_accepted = false;
    for case in cases {
        let is_typed = typed.contains(&case.name);
        if is_one_accepted && !is_typed {
            continue;
        }
        let program = manifest.program_of(case);
        let words = command(program.form, case, more);
        let refusal =
            if program.is_contained() { refusal(&case.program, &words[1..]) } else { None };
        let Some(reason) = refusal else {
            is_one_accepted = true;
            continue;
        };
        let error = UsageError(format!("{}: {reason}", case.name));
        if is_typed {
            return Err(error);
        }
        refused.get_or_insert(error);
    }
    match refused {
        Some(error) if !is_one_accepted => Err(error),
        _ => Ok(()),
    }
}

/// Checks that something was measured or at least tried.
///
/// # Errors
/// Why there is no process.
pub fn require_processes(run: &Run) -> anyhow::Result<()> {
    let RunDescription { cases, skipped, .. } = &run.description;
    ensure!(
        run.len() > 0,
        match skipped.first() {
            _ if !cases.is_empty() =>
                "nothing was measured: --time leaves no time for a process".into(),
            Some(Skipped { case, reason }) =>
                format!("nothing was measured: {case}: skipped: {reason}"),
            None => NO_CASES.into(),
        }
    );
    Ok(())
}

/// The parts of `run.json` that `run` and `compare` have in common; `chosen` are the groups and
/// cases on the command line.
pub fn described(
    manifest: &Manifest,
    cases: &[&Case],
    chosen: &[String],
    measure: &MeasureFlags,
) -> RunDescription {
    // The group is the first chosen one that has the case, or else the first of all.
    let detail = |case: &&Case| {
        let mut groups = manifest.groups.iter().filter(|group| group.cases.contains(&case.name));
        let first = groups.clone().find(|group| chosen.contains(&group.name));
        let group = first.or_else(|| groups.next()).map(|group| group.name.clone());
        CaseDetail {
            case: case.name.clone(),
            program: case.program.clone(),
            parameters: case.parameters.clone(),
            group,
            rounds: None,
        }
    };
    RunDescription {
        schema_version: results::SCHEMA_VERSION.to_owned(),
        brigade_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: format_rfc3339_millis(SystemTime::now()).to_string(),
        profile: if chosen.is_empty() {
            "default".to_owned()
        } else {
            anonymous::command(&chosen.join(", "))
        },
        rounds: measure.rounds.unwrap_or(0),
        // Short enough to type.
        seed: measure.seed.unwrap_or_else(|| fastrand::u32(..).into()),
        cases: cases.iter().map(|case| case.name.clone()).collect(),
        details: cases.iter().map(detail).collect(),
        ..RunDescription::default()
    }
}
