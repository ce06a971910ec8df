//! A side-by-side comparison: in every round, baseline and candidate run each case once in a fresh
//! process, until the rounds or the time are used up. Both run the same cases, with different
//! binaries, under different commands or with different flags.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use harness::{anonymous, terminal};

use super::{exit_after, print};
use crate::commands::flags::CompareFlags;
use crate::commands::output;
use crate::commands::session::{
    Built, NO_CASES, Series, Session, check_flags, described, require_processes,
};
use crate::exit::{Exit, UsageError};
use crate::judge::compare::{Comparison, Design, NotCompared, NotComparedFor, Side};
use crate::judge::run::Run;
use crate::judge::state::State;
use crate::manifest::{Case, Manifest};
use crate::measure::executables::{Executables, executables_in};
use crate::plan::{Schedule, Turn};
use crate::show::comparison::interrupted;
use crate::show::screen::progress;
use crate::store::results::{Environment, Procedure, RunDescription, Skipped};

/// The default time per case.
const SECONDS_FOR_A_CASE: f64 = 25.0;

/// Measures a baseline and a candidate.
///
/// # Errors
/// If the flags or the manifest are wrong, the programs cannot be built, or the results or standard
/// output cannot be written.
pub fn compare(flags: &CompareFlags, mut manifest: Manifest) -> anyhow::Result<Exit> {
    let [baseline, candidate] = [Variant::from_flags(flags, 0)?, Variant::from_flags(flags, 1)?];
    let measure = &flags.measure;
    manifest.admit(&flags.runs);
    let chosen = manifest.chosen(&flags.runs)?;
    ensure!(!chosen.is_empty(), NO_CASES);
    let typed = manifest.typed(&flags.runs);
    for variant in [&baseline, &candidate] {
        variant.check(&manifest, &chosen, &typed)?;
    }
    measure.check_folder(&manifest)?;
    let mut session = Session::begin(&manifest)?;
    session.typed = typed;
    let Built { cases, binaries: own, skipped } = session.build(chosen)?;
    let binaries = |variant: &Variant| variant.binaries(&manifest, &cases, &own);
    let binaries = [binaries(&baseline)?, binaries(&candidate)?];

    let environment = Environment::capture(&manifest);
    let skipped: Vec<_> = skipped.into_iter().map(Skipped::anonymous).collect();
    let description = RunDescription {
        skipped: skipped.clone(),
        procedure: Some(Procedure {
            flags: manifest.comparison_flags(),
            seconds: measure.seconds(SECONDS_FOR_A_CASE * cases.len() as f64),
            ..Procedure::default()
        }),
        ..described(&manifest, &cases, &flags.runs, measure)
    };
    let series = |variant: &Variant, side: &str, binaries: Executables| {
        let description = RunDescription { side: Some(side.to_owned()), ..description.clone() };
        let run = Run::new(description, environment.clone());
        let folder = measure.folder(&manifest, &run)?;
        let flags = [manifest.comparison_flags(), variant.args.clone()].concat();
        anyhow::Ok(Series { folder, run, binaries, wrap: variant.wrap.clone(), flags })
    };
    let [first, second] = binaries;
    let mut series =
        [series(&baseline, "baseline", first)?, series(&candidate, "candidate", second)?];
    let screen = |schedule: &Schedule, turn: Turn, _: &mut Run, _: &[String]| {
        let name = terminal::line(&cases[turn.case].name);
        let seconds_left = schedule.time_left().as_secs_f64();
        format!("{}: {name}\n", progress(schedule.share(), turn.round, seconds_left))
    };
    let mut schedule = Schedule::of_comparison(&description);
    let began = Instant::now();
    session.measure(&mut schedule, &cases, &mut series, screen)?;
    let seconds = began.elapsed().as_secs_f64();

    let rows = series.each_mut().map(|series| series.run.cases(&manifest));
    let others = baseline.build != candidate.build;
    let other_cpus = ran_on_other_cpus(&series[0].run, &series[1].run);
    let rounds = [0, 1].map(|side| schedule.rounds_of_side(side));
    let side = |variant: &Variant, side: usize| Side {
        other_binary: others,
        other_cpus,
        ..variant.described(&series[side], other_cpus, rounds[side])
    };
    let sides = [side(&baseline, 0), side(&candidate, 1)];
    let margin = flags.margin / 100.0;
    let mut comparison = Comparison::new(Design::SideBySide, sides, rows, margin, None, &[]);
    comparison.seconds = Some(seconds);
    comparison.not_compared.splice(..0, skipped.into_iter().map(not_compared));
    print(&comparison, flags)?;
    if session.signals.stops() > 0 {
        output::warn(&interrupted(schedule.rounds()));
        return Ok(Exit::Interrupted);
    }
    require_processes(&series[0].run)?;
    let processes = series.iter().flat_map(|series| series.run.samples());
    Ok(exit_after(&comparison, flags, crate::commands::exit_after(processes)))
}

/// A case that cannot run here.
fn not_compared(Skipped { case, reason }: Skipped) -> NotCompared {
    NotCompared { case, reason: NotComparedFor::Skipped(reason) }
}

/// Whether a process could use other CPUs than its partner, the process of the other side.
fn ran_on_other_cpus(first: &Run, second: &Run) -> bool {
    let second = second.cpus();
    let mut pairs = first.cpus().into_iter();
    pairs.any(|(place, cpus)| second.get(&place).is_some_and(|others| *others != cpus))
}

/// How the baseline or the candidate runs.
#[derive(Debug, PartialEq, Eq)]
struct Variant<'a> {
    /// Its `brigade`, or a folder of binaries; `None` for this one.
    build: Option<&'a PathBuf>,
    /// The command that runs its programs; empty to run them directly.
    wrap: Vec<String>,
    /// Flags of its programs, added to those of the case.
    args: Vec<String>,
}

impl<'a> Variant<'a> {
    /// Reads a side, 0 for the baseline, from the flags.
    ///
    /// # Errors
    /// [`UsageError`] if a quote is not closed.
    fn from_flags(flags: &'a CompareFlags, side: usize) -> Result<Self, UsageError> {
        let mut wrap = words("--wrap", given(&flags.wrap, side))?;
        // `env` runs a command that begins with a variable.
        if wrap.first().is_some_and(|word| word.contains('=')) {
            wrap.insert(0, "env".to_owned());
        }
        let args = words("--args", given(&flags.args, side))?;
        Ok(Self { build: given(&flags.bin, side), wrap, args })
    }

    /// Checks what can be checked before anything is waited for or built: that the build and the
    /// command exist, and that programs accept the flags. Those of another build are not known.
    ///
    /// # Errors
    /// [`UsageError`] if something is wrong.
    fn check(&self, manifest: &Manifest, cases: &[&Case], typed: &[String]) -> anyhow::Result<()> {
        if let Some(build) = self.build {
            build.metadata().map_err(|error| {
                UsageError(format!("--bin: looking for {}: {error}", build.display()))
            })?;
        }
        let is_contained = |case: &&&Case| manifest.program_of(case).is_contained();
        let contained: Vec<&Case> = cases.iter().filter(is_contained).copied().collect();
        self.binaries(manifest, &contained, &Executables::new())?;
        if let Some(command) = self.wrap.first()
            && !is_installed(command)
        {
            bail!(UsageError(format!("--wrap: {command} is not installed")));
        }
        if self.build.is_none() {
            let flags = [manifest.comparison_flags(), self.args.clone()].concat();
            check_flags(manifest, cases, typed, &flags)?;
        }
        Ok(())
    }

    /// The programs of the cases that this side runs; `own` are those of this binary.
    ///
    /// # Errors
    /// [`UsageError`] if one is missing.
    fn binaries(
        &self,
        manifest: &Manifest,
        cases: &[&Case],
        own: &Executables,
    ) -> anyhow::Result<Executables> {
        let Some(build) = self.build else { return Ok(own.clone()) };
        executables_in(build, manifest, cases, own)
            .with_context(|| format!("--bin: looking for programs in {}", build.display()))
    }

    /// Describes the side with these records.
    fn described(&self, series: &Series, other_cpus: bool, rounds: u32) -> Side {
        let shared = |words: &[String]| words.iter().map(|word| anonymous::command(word)).collect();
        let state = if other_cpus {
            State::on_its_cpus(&series.run, rounds)
        } else {
            State::of_run(&series.run, rounds)
        };
        // The manifest's programs were built in its workspace.
        let revision = if self.build.is_none() { series.run.environment.revision() } else { None };
        Side {
            records: Some(output::name_of(&series.folder.path)),
            revision,
            wrap: shared(&self.wrap),
            args: shared(&self.args),
            states: vec![state],
            ..Side::default()
        }
    }
}

/// Whether a command can be found, by its path or in `$PATH`.
fn is_installed(command: &str) -> bool {
    if command.contains('/') {
        return Path::new(command).exists();
    }
    // Without it the C library has a default.
    let Some(folders) = env::var_os("PATH") else { return true };
    env::split_paths(&folders).any(|folder| folder.join(command).is_file())
}

/// A flag's value for a side: the same for both if it was given once.
fn given<T>(values: &[T], side: usize) -> Option<&T> {
    values.get(side).or(values.first())
}

/// The words of a flag's value, split as a shell does.
fn words(flag: &str, text: Option<&String>) -> Result<Vec<String>, UsageError> {
    let text = text.map_or("", String::as_str);
    let unclosed = || UsageError(format!("{flag}: splitting '{text}' into words: close its quote"));
    shlex::split(text).ok_or_else(unclosed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_flag_given_once_applies_to_both_sides() {
        let flags = CompareFlags {
            bin: vec!["old".into(), "new".into()],
            wrap: strings(&["taskset -c 1"]),
            ..CompareFlags::default()
        };
        for side in [0, 1] {
            let expected = Variant {
                build: Some(&flags.bin[side]),
                wrap: strings(&["taskset", "-c", "1"]),
                args: Vec::new(),
            };
            assert_eq!(Variant::from_flags(&flags, side).unwrap(), expected);
        }
    }
}
