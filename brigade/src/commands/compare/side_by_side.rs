//! A side-by-side comparison: in every round, baseline and candidate run each case once in a fresh
//! process, until the rounds or the budget are used up. Both run the same cases, with different
//! binaries, under different commands or with different flags.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use harness::cpus;
use harness::terminal;

use super::{exit_after, margin, print};
use crate::commands::flags::CompareFlags;
use crate::commands::output::Live;
use crate::commands::session::{Session, described};
use crate::exit::{Exit, UsageError};
use crate::judge::compare::{BetweenRuns, Comparison, Design, Pair, Side};
use crate::judge::row::cases_of;
use crate::manifest::{Case, Manifest};
use crate::measure::executables::{self, Executables};
use crate::measure::invoke::{Job, invoke, without_place};
use crate::measure::process::Signals;
use crate::plan::{self, Order, Pairing, shared_cpu};
use crate::store::results::{
    self, Environment, Folder, Invocation, Outcome, RunDescription, SavedRun,
};

/// The default budget per case.
const SECONDS_FOR_A_CASE: f64 = 25.0;

/// The most rounds that fit any budget.
const MOST_ROUNDS: u32 = 500;

/// A case is given up after this many failures on one side: one may be an accident.
const MOST_FAILURES: usize = 3;

/// Measures a baseline and a candidate.
///
/// # Errors
/// As [`super::compare`].
pub fn compare(flags: &CompareFlags, mut manifest: Manifest) -> anyhow::Result<Exit> {
    let variants = Variant::both(flags)?;
    let measure = &flags.measure;
    manifest.admit(&flags.runs);
    let chosen = manifest.chosen(&flags.runs)?;
    let parent = measure.results(&manifest)?;
    let mut session = Session::begin(&manifest)?;
    let (own, capabilities) = session.build(&chosen)?;
    let (cases, skipped) = capabilities.divide(chosen);
    let binaries = binaries(variants.each_ref(), &manifest, &cases, &own)?;
    let signals = &mut session.signals;

    let environment = Environment::capture(&manifest)?;
    let label = measure.name.clone().unwrap_or_else(|| environment.label());
    let of_all = manifest.comparison_flags();
    let description = RunDescription {
        rounds: measure.rounds.unwrap_or(MOST_ROUNDS),
        seed: measure.seed.unwrap_or_else(plan::random_seed),
        skipped: skipped.clone(),
        ..described(&manifest, &cases, &flags.runs)
    };
    let folders = folders(&parent, &label, &description, &environment)?;
    let seconds = measure.seconds(SECONDS_FOR_A_CASE * cases.len() as f64);
    let mut measuring = Measuring {
        failures: vec![[0, 0]; cases.len()],
        cases,
        variants,
        flags: &of_all,
        rounds: description.rounds,
        budget: Duration::try_from_secs_f64(seconds.unwrap_or(f64::MAX)).unwrap_or(Duration::MAX),
        binaries,
        folders,
        invocations: Pair::default(),
        began: Instant::now(),
        cpus: cpus::allowed().unwrap_or_default(),
        live: Live::default(),
    };
    measuring.measure(description.seed, signals)?;
    signals.exit_on_next_stop();

    let mut comparison = measuring.comparison(&manifest, &description, &environment, margin(flags));
    comparison.not_compared.splice(..0, skipped);
    print(&comparison, flags)?;
    if signals.stops() > 0 {
        return Ok(Exit::Interrupted);
    }
    let measured = crate::commands::exit_after(measuring.invocations.iter().flatten());
    Ok(exit_after(&comparison, flags, measured))
}

/// Creates a folder for each side, like a run's.
fn folders(
    parent: &Path,
    label: &str,
    description: &RunDescription,
    environment: &Environment,
) -> anyhow::Result<Pair<Folder>> {
    let folder = |side: &str| {
        let folder = Folder::create(parent, description, &format!("{label}-{side}"))?;
        let side = Some(side.to_owned());
        folder.write_json(results::RUN, &RunDescription { side, ..description.clone() })?;
        folder.write_json(results::ENVIRONMENT, environment)?;
        anyhow::Ok(folder)
    };
    Ok([folder("baseline")?, folder("candidate")?])
}

/// A comparison in progress.
struct Measuring<'a> {
    cases: Vec<&'a Case>,
    variants: Pair<Variant>,
    /// Flags of every invocation, added to those of its case and side.
    flags: &'a [String],
    rounds: u32,
    /// No invocation begins after this time.
    budget: Duration,
    binaries: Pair<Executables>,
    folders: Pair<Folder>,
    invocations: Pair<Vec<Invocation>>,
    /// Failures of each case on each side.
    failures: Vec<Pair<usize>>,
    began: Instant,
    /// The CPUs that programs may use; empty if they cannot be read.
    cpus: Vec<usize>,
    live: Live,
}

impl Measuring<'_> {
    /// Measures until the rounds or the budget are used up, or a signal arrives. Appends each
    /// invocation to its side's folder as it ends.
    ///
    /// # Errors
    /// If a record cannot be written.
    fn measure(&mut self, seed: u64, signals: &mut Signals) -> anyhow::Result<()> {
        let mut order = Order::new(self.cases.len(), seed);
        let mut open: Vec<usize> = (0..self.cases.len()).collect();
        'rounds: for round in 1..=self.rounds {
            for turn in order.turns(round, &open) {
                if self.began.elapsed() >= self.budget {
                    break 'rounds;
                }
                self.run_pair(turn, round, signals)?;
                if signals.stops() > 0 {
                    break 'rounds;
                }
            }
            open.retain(|case| self.failures[*case].iter().all(|failed| *failed < MOST_FAILURES));
            if open.is_empty() {
                break;
            }
        }
        self.live = Live::default();
        Ok(())
    }

    /// Runs both sides of a case back to back.
    fn run_pair(&mut self, turn: Pairing, round: u32, signals: &mut Signals) -> anyhow::Result<()> {
        let (index, sides) = turn;
        let case = self.cases[index];
        let spent = self.began.elapsed().div_duration_f64(self.budget);
        let done = f64::from(round - 1) / f64::from(self.rounds);
        let (percent, name) = (100.0 * spent.max(done), terminal::line(&case.name));
        self.live.draw(|| format!("{percent:>3.0} % round {round}, {name}\n"));
        for side in sides {
            let Variant { wrap: under, args, .. } = &self.variants[side];
            let flags = [self.flags, args.as_slice()].concat();
            let binary = &self.binaries[side][&case.program];
            // A wrapper command may place the program itself.
            let shared_cpu = under.is_empty().then(|| shared_cpu(round, &self.cpus)).flatten();
            let job = Job { case, round, attempt: 1, under, binary, flags: &flags, shared_cpu };
            let invocation = invoke(&job, signals);
            self.folders[side].append(&invocation)?;
            let failed = &mut self.failures[index][side];
            match invocation.outcome {
                Outcome::Measured => {}
                // The limit would refuse later invocations, too.
                Outcome::Refused => *failed = MOST_FAILURES,
                Outcome::Failed | Outcome::TimedOut => *failed += 1,
            }
            self.invocations[side].push(invocation);
            if signals.stops() > 0 {
                break;
            }
        }
        Ok(())
    }

    /// Compares the measurements.
    fn comparison(
        &self,
        manifest: &Manifest,
        description: &RunDescription,
        environment: &Environment,
        margin: f64,
    ) -> Comparison {
        let sides = [0, 1].map(|side| {
            let name = self.folders[side].path().file_name().unwrap_or_default().to_string_lossy();
            self.variants[side].described(name.into_owned(), environment)
        });
        let rows = self.invocations.each_ref().map(|invocations| {
            let mut saved = SavedRun::new(description.clone(), environment.clone());
            saved.invocations.clone_from(invocations);
            cases_of(manifest, &saved)
        });
        Comparison::of(Design::SideBySide, sides, rows, margin, &BetweenRuns::default())
    }
}

/// How the baseline or the candidate runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Variant {
    /// Its `brigade`, or a folder of binaries; `None` for this one.
    build: Option<PathBuf>,
    /// Whether the other variant has another build.
    is_other_binary: bool,
    /// The command that runs its programs; empty to run them directly.
    wrap: Vec<String>,
    /// Flags of its programs, added to those of the case.
    args: Vec<String>,
}

impl Variant {
    /// Reads baseline and candidate from the flags.
    ///
    /// # Errors
    /// [`UsageError`] if a flag is given more than twice, or cannot be parsed.
    fn both(flags: &CompareFlags) -> Result<Pair<Self>, UsageError> {
        let builds = each("--bin", &flags.bin)?;
        let wraps = each("--wrap", &flags.wrap)?;
        let args = each("--args", &flags.args)?;
        let is_other_binary = builds[0] != builds[1];
        let variant = |side: usize| {
            Ok(Self {
                build: builds[side].clone(),
                is_other_binary,
                wrap: wrapper(wraps[side].as_deref().unwrap_or_default())?,
                args: words("--args", args[side].as_deref().unwrap_or_default())?,
            })
        };
        Ok([variant(0)?, variant(1)?])
    }

    /// Describes the side, whose records are in the folder `records`. The
    /// manifest's programs were built in `workspace`.
    fn described(&self, records: String, workspace: &Environment) -> Side {
        let shared = |words: &[String]| words.iter().map(|word| without_place(word)).collect();
        Side {
            records,
            revision: self.build.is_none().then(|| workspace.revision()).flatten(),
            wrap: shared(&self.wrap),
            args: shared(&self.args),
            other_binary: self.is_other_binary,
        }
    }
}

/// Splits a command that runs the programs; `env` runs one that begins with a variable.
fn wrapper(command: &str) -> Result<Vec<String>, UsageError> {
    let mut words = words("--wrap", command)?;
    if words.first().is_some_and(|word| word.contains('=')) {
        words.insert(0, "env".to_owned());
    }
    Ok(words)
}

/// A flag's values for both sides: the same if it was given once.
fn each<T: Clone>(flag: &str, given: &[T]) -> Result<Pair<Option<T>>, UsageError> {
    match given {
        [] => Ok([None, None]),
        [both] => Ok([Some(both.clone()), Some(both.clone())]),
        [first, second] => Ok([Some(first.clone()), Some(second.clone())]),
        _ => Err(UsageError(format!(
            "{flag}: given {} times; give it once for both sides, or twice",
            given.len()
        ))),
    }
}

/// The words of `text`, split as a shell does.
fn words(flag: &str, text: &str) -> Result<Vec<String>, UsageError> {
    let unclosed = || UsageError(format!("{flag}: splitting '{text}' into words: close its quote"));
    shlex::split(text).ok_or_else(unclosed)
}

/// The binaries of both sides for `cases`; `own` are those of this brigade and its manifest.
///
/// # Errors
/// [`UsageError`] if a folder lacks a binary.
fn binaries(
    sides: Pair<&Variant>,
    manifest: &Manifest,
    cases: &[&Case],
    own: &Executables,
) -> anyhow::Result<Pair<Executables>> {
    let built = |side: &Variant| match &side.build {
        None => Ok(own.clone()),
        Some(build) => executables::executables_in(build, manifest, cases, own)
            .with_context(|| format!("--bin: looking for programs in {}", build.display())),
    };
    let [first, second] = sides.map(built);
    Ok([first?, second?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn flags(bin: &[&str], wrap: &[&str], args: &[&str]) -> CompareFlags {
        CompareFlags {
            bin: bin.iter().map(PathBuf::from).collect(),
            wrap: strings(wrap),
            args: strings(args),
            ..CompareFlags::default()
        }
    }

    #[test]
    fn a_flag_given_once_applies_to_both_sides() {
        let variants = Variant::both(&flags(&["old", "new"], &["taskset -c 1"], &[])).unwrap();
        let variant = |folder: &str| Variant {
            build: Some(folder.into()),
            is_other_binary: true,
            wrap: strings(&["taskset", "-c", "1"]),
            args: Vec::new(),
        };
        assert_eq!(variants, [variant("old"), variant("new")]);
    }
}
