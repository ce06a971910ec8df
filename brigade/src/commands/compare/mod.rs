//! `brigade compare`: a baseline and a candidate, case by case: two saved runs, or
//! two builds, commands or sets of flags that run side by side.

mod saved_runs;
mod side_by_side;
mod sides;

use std::path::Path;
use std::time::Duration;

use crate::commands::flags::{CompareFlags, ComparisonFormat, FailOn};
use crate::commands::output;
use crate::commands::pairs::{self, Which};
use crate::commands::session::{Session, described};
use crate::exit::{Exit, UsageError};
use crate::manifest::{Case, Manifest};
use crate::plan;
use crate::show;
use crate::store::environment::Environment;
use crate::store::results::Skipped;
use crate::store::results::{self, Folder, RunDescription};

use crate::judge::compare::comparison::{Comparison, Design, Judgement};
use crate::judge::compare::interim::{CONFIDENCE, MOST_ROUNDS};
use crate::judge::compare::sample::Sample;
use crate::judge::compare::verdict::{Pair, Verdict};
use side_by_side::{Measured, Measuring, Plan};
pub use sides::Side;

/// The budget of a comparison side by side, for each of its cases.
const SECONDS_FOR_A_CASE: f64 = 25.0;

/// Runs `brigade compare`.
///
/// # Errors
/// When the flags or the manifest are wrong, a run cannot be read, the programs
/// cannot be built, or the results or standard output cannot be written.
pub fn compare(flags: &CompareFlags) -> anyhow::Result<Exit> {
    match saved(flags)? {
        Some(comparison) => {
            print(&comparison, flags)?;
            Ok(exit_after(&comparison, flags, Exit::Done))
        }
        None => side_by_side(flags, Side::both(flags)?),
    }
}

/// The comparison of what was saved, if folders are named.
fn saved(flags: &CompareFlags) -> anyhow::Result<Option<Comparison>> {
    match &flags.runs[..] {
        [] => Ok(None),
        [first, second] => Ok(Some(saved_runs::compare([first, second], margin(flags))?)),
        _ => Err(UsageError("compare: name the folders of two saved runs".to_owned()).into()),
    }
}

/// Measures a baseline and a candidate.
///
/// # Errors
/// As [`compare`].
pub fn side_by_side(flags: &CompareFlags, sides: Pair<Side>) -> anyhow::Result<Exit> {
    let mut manifest = Manifest::load(flags.programs.manifest.as_deref())?;
    pairs::of_machine(&mut manifest, Which::All)?;
    let manifest = manifest;
    let chosen = manifest.chosen(&[], &flags.cases, &flags.profile)?;
    let parent = flags.results.clone().unwrap_or_else(|| manifest.root.join(results::FOLDER));
    results::check_writable(&parent)?;
    let mut session = Session::begin(&manifest, &flags.programs)?;
    let (possible, _) = session.capabilities.divide(chosen.clone());
    let binaries = sides::binaries(sides.each_ref(), &possible, &mut session)?;
    let (cases, skipped) = session.capabilities.divide(chosen);
    let signals = &mut session.signals;

    let environment = Environment::capture(&manifest)?;
    let plan = plan(flags, &manifest, cases, sides)?;
    let label = flags.name.clone().unwrap_or_else(|| environment.label());
    let description = RunDescription {
        rounds: MOST_ROUNDS as u32,
        seed: plan.seed,
        skipped: skipped.clone(),
        ..described(&manifest, &flags.profile, &plan.cases, &[])
    };
    let mut folders = folders(&parent, &label, &description, &environment)?;
    let measured = Measuring::new(&plan, &binaries, &mut folders).measure(signals)?;
    signals.exit_on_next_stop();

    let comparison = judge(&plan, &folders, &environment, &skipped, &measured);
    print(&comparison, flags)?;
    if signals.stops() > 0 {
        return Ok(Exit::Interrupted);
    }
    Ok(exit_after(
        &comparison,
        flags,
        crate::commands::exit_after(measured.invocations.iter().flatten()),
    ))
}

/// The difference that does not matter, as a share.
fn margin(flags: &CompareFlags) -> f64 {
    flags.margin / 100.0
}

fn plan<'a>(
    flags: &CompareFlags,
    manifest: &'a Manifest,
    cases: Vec<&'a Case>,
    sides: Pair<Side>,
) -> anyhow::Result<Plan<'a>> {
    let budget = flags.budget.unwrap_or(SECONDS_FOR_A_CASE * cases.len() as f64);
    let of_profile = &manifest.profile(&flags.profile)?.flags;
    Ok(Plan {
        flags: manifest.compare_flags.as_ref().unwrap_or(of_profile),
        seed: flags.seed.unwrap_or_else(plan::random_seed),
        budget: Duration::try_from_secs_f64(budget).unwrap_or(Duration::MAX),
        cases,
        sides,
        margin: margin(flags),
    })
}

/// A folder for each side, like that of a run.
fn folders(
    parent: &Path,
    label: &str,
    description: &RunDescription,
    environment: &Environment,
) -> anyhow::Result<Pair<Folder>> {
    let folder = |side: &str| {
        let folder = Folder::create(parent, description, &format!("{label}-{side}"))?;
        let side = Some(side.to_owned());
        folder.write_once(results::RUN, &RunDescription { side, ..description.clone() })?;
        folder.write_once(results::ENVIRONMENT, environment)?;
        anyhow::Ok(folder)
    };
    Ok([folder("baseline")?, folder("candidate")?])
}

/// The comparison of what was measured.
fn judge(
    plan: &Plan,
    folders: &Pair<Folder>,
    environment: &Environment,
    skipped: &[Skipped],
    measured: &Measured,
) -> Comparison {
    let each = plan.cases.iter().zip(&measured.confidences).map(|(case, confidence)| {
        let sides = measured.invocations.each_ref().map(|side| Sample::of(&case.name, side));
        (plan.judgement(*confidence), &*case.name, sides)
    });
    let (cases, not_compared) = Judgement::of_each(each);
    let not_compared = [skipped, &not_compared].concat();
    let described = |side: usize| {
        let name = folders[side].path().file_name().unwrap_or_default().to_string_lossy();
        plan.sides[side].described(name.into_owned(), environment)
    };
    Comparison {
        schema_version: crate::judge::compare::comparison::SCHEMA_VERSION.to_owned(),
        design: Design::SideBySide,
        baseline: described(0),
        candidate: described(1),
        confidence: CONFIDENCE,
        margin: plan.margin,
        drift: None,
        machine: None,
        environment_differences: Vec::new(),
        cases,
        not_compared,
    }
}

fn print(comparison: &Comparison, flags: &CompareFlags) -> anyhow::Result<()> {
    output::print(&match flags.format {
        ComparisonFormat::Text => show::comparison::render(comparison),
        ComparisonFormat::Html => show::html::comparison(comparison),
        ComparisonFormat::Markdown => show::comparison::markdown(comparison),
        ComparisonFormat::Json => serde_json::to_string(comparison)? + "\n",
    })
}

/// The exit code of a comparison; `measured` is that of its invocations.
fn exit_after(comparison: &Comparison, flags: &CompareFlags, measured: Exit) -> Exit {
    let fails = flags.fail_on == Some(FailOn::Slower) && comparison.count(Verdict::Slower) > 0;
    if fails { Exit::Slower } else { measured }
}
