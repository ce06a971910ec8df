//! `brigade prove`: the instrument itself, measured.
//!
//! Every property is shown by an experiment of known outcome: [`a_a`] compares
//! cases with themselves, [`known_work`] puts work of a known length into every
//! hop, [`detection`] lets the verdict find known differences, [`known_counts`] compares
//! counts with those that follow from a case's construction, [`instrument`] measures the
//! clock and the lap.

mod detection;
mod disturbance;
mod instrument;
mod known_work;
mod linearity;
mod ring;
mod rounds;
mod runs;
mod system_calls;

use std::collections::BTreeMap;
use std::time::SystemTime;

use harness::instrument::empty_lap;
use humantime::format_rfc3339_millis;

use crate::commands::flags::ProveFlags;
use crate::commands::output;
use crate::commands::session::Session;
use crate::exit::{Exit, UsageError};
use crate::judge::prove::detection::figures as detection_figures;
use crate::judge::prove::known_work::unit_spread;
use crate::judge::prove::proof::{Figure, Proof, Property, SCHEMA_VERSION, Standing, trouble};
use crate::judge::prove::{a_a, accounting, known_counts, known_disturbance};
use crate::manifest::{Case, Manifest};
use crate::measure::availability::Capabilities;
use crate::measure::build::Binaries;
use crate::measure::signals::Signals;
use crate::plan;
pub use crate::show::proof::{markdown, page};
use crate::store::invocation::Invocation;
use crate::store::saved_run::SavedRun;
use rounds::until_shown;
use runs::Runs;

/// Runs `brigade prove`.
///
/// # Errors
/// When the flags or the manifest are wrong, the programs cannot be built, the
/// saved run cannot be read, or standard output cannot be written. A property
/// that fails is no error but a result.
pub fn prove(flags: &ProveFlags) -> anyhow::Result<Exit> {
    let manifest = Manifest::load(flags.programs.manifest.as_deref())?;
    let plan = manifest
        .prove
        .as_ref()
        .ok_or_else(|| UsageError("the manifest has no table [prove]".to_owned()))?;
    let profile = flags.profile.as_ref().unwrap_or(&plan.profile);
    manifest.profile(profile)?;
    let saved = flags.run.as_deref().map(SavedRun::read).transpose()?;
    let mut session = Session::begin(&manifest, &flags.programs)?;
    let all: Vec<&Case> = manifest.cases.iter().collect();
    let binaries = session.binaries(&all)?;
    let mut runs = Runs {
        manifest: &manifest,
        plan,
        capabilities: &session.capabilities,
        binaries: &binaries,
        seconds: flags.seconds.unwrap_or(plan.seconds),
        seed: flags.seed.unwrap_or_else(plan::random_seed),
        signals: &mut session.signals,
    };
    let saved = saved.as_ref().map(|saved| saved.invocations.as_slice());
    let Some(proof) = examine(&mut runs, profile, saved)? else {
        output::complain("interrupted: there is no proof, as not every property was examined");
        return Ok(Exit::Interrupted);
    };
    let text = match flags.json {
        true => serde_json::to_string(&proof)? + "\n",
        false => page(&proof),
    };
    output::print(&text)?;
    Ok(match proof.standing() {
        Standing::Fails => Exit::Failed,
        Standing::NotShown => Exit::NotShown,
        Standing::Holds | Standing::Unjudged => Exit::Done,
    })
}

/// The proof that belongs to a run, whose rounds are compared in time order; it
/// is made with the run's own programs and seed. `None` if interrupted, or if the
/// manifest has no table `[prove]`.
///
/// # Errors
/// When the CPUs that this process may use cannot be read or used.
pub fn for_run(
    manifest: &Manifest,
    binaries: &Binaries,
    seed: u64,
    invocations: &[Invocation],
    signals: &mut Signals,
) -> anyhow::Result<Option<Proof>> {
    let Some(plan) = &manifest.prove else { return Ok(None) };
    let capabilities = &Capabilities::detect(manifest)?;
    let mut runs =
        Runs { manifest, plan, capabilities, binaries, seconds: plan.seconds, seed, signals };
    examine(&mut runs, &plan.profile, Some(invocations))
}

/// Examines every property. The rounds of `saved`, or without them those that run
/// here, are compared in time order. `None` if interrupted.
fn examine(
    runs: &mut Runs,
    profile: &str,
    saved: Option<&[Invocation]>,
) -> anyhow::Result<Option<Proof>> {
    let (seed, started_at) = (runs.seed, format_rfc3339_millis(SystemTime::now()).to_string());
    let clock = instrument::clock()?;
    let Some(same) = runs.side_by_side(profile) else { return Ok(None) };
    let Some(mut narrowed) = narrowed(runs) else { return Ok(None) };
    // Known work is among the first of the page.
    let work = narrowed.remove(0);
    let Some(once) = runs.each_case_once() else { return Ok(None) };
    let Some(further) = further(runs) else { return Ok(None) };
    let Some(calls) = calls(runs) else { return Ok(None) };

    let mut identical = first_troubles(&same.invocations);
    let all = saved.unwrap_or(&same.invocations);
    identical.push(a_a::in_time_order(all));
    identical.extend(a_a::side_by_side(&same.pairs));
    let lap = instrument::lap(empty_lap()?, once.iter().map(|(_, invocation)| invocation));
    let crossings = known_counts::crossings(&runs.plan.crossing, &once);
    Ok(Some(Proof {
        schema_version: SCHEMA_VERSION.to_owned(),
        brigade_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
        seed,
        properties: vec![
            Property::of("A/A", identical),
            work,
            Property::of("known switches", known_counts::switches(&once)),
            Property::of("known crossing", crossings),
            Property::of("clock", clock),
            Property::of("empty lap", lap),
            Property::of("accounting", accounting::figures(&same.invocations)),
        ]
        .into_iter()
        .chain(further)
        .chain(narrowed)
        .chain(calls)
        .collect(),
    }))
}

/// The properties that the plan asks for. `None` if interrupted.
fn further(runs: &mut Runs) -> Option<Vec<Property>> {
    let plan = runs.plan;
    let mut properties = Vec::new();
    if plan.comparisons > 0 {
        let trials = detection::trials(runs)?;
        properties.push(Property::of("known differences", detection_figures(&trials)));
    }
    if let Some(name) = &plan.disturbed {
        let figures = match runs.named(Some(name)) {
            None => vec![Figure::missing(name, "it cannot run here")],
            Some(case) => known_disturbance::figures(name, &disturbance::invocations(runs, case)?),
        };
        properties.push(Property::of("known disturbance", figures));
    }
    Some(properties)
}

/// Known work, and the others that the plan asks for whose experiments go on until they
/// show something. `None` if interrupted.
fn narrowed(runs: &mut Runs) -> Option<Vec<Property>> {
    let of_properties = [
        ("known work", known_work::of_plan(runs)),
        ("ring in C", ring::of_plan(runs).into_iter().collect()),
        ("linearity", linearity::of_plan(runs)),
    ];
    let names = of_properties.each_ref().map(|(name, of)| (*name, of.len()));
    let mut experiments: Vec<_> = of_properties.into_iter().flat_map(|(_, of)| of).collect();
    let mut figures = until_shown(&mut experiments, runs)?.into_iter();
    let units = experiments.iter().filter_map(|of| of.units_of_harness(runs));
    let mut spread = Some(unit_spread(units));
    let property = |(name, count)| {
        let of: Vec<Figure> = figures.by_ref().take(count).flatten().chain(spread.take()).collect();
        (!of.is_empty()).then(|| Property::of(name, of))
    };
    Some(names.into_iter().filter_map(property).collect())
}

/// System calls, if the plan asks for them. `None` if interrupted.
fn calls(runs: &mut Runs) -> Option<Option<Property>> {
    if runs.plan.counted.is_empty() {
        return Some(None);
    }
    let figures = system_calls::figures(runs, &runs.plan.counted)?;
    Some(Some(Property::of("system calls", figures)))
}

/// The first failure of each case.
fn first_troubles(invocations: &[Invocation]) -> Vec<Figure> {
    let mut by_case: BTreeMap<&str, Figure> = BTreeMap::new();
    for invocation in invocations {
        if let Some(figure) = trouble(invocation) {
            by_case.entry(&invocation.case).or_insert(figure);
        }
    }
    by_case.into_values().collect()
}
