//! `brigade prove`: verifies Brigade by experiments with known outcomes. Each property is a set of
//! experiments and a function that judges them.

mod experiments;
mod outside;

use std::time::SystemTime;

use anyhow::Context;
use harness::cpus;
use harness::instrument;
use humantime::format_rfc3339_millis;

use crate::commands::check::size_flags;
use crate::commands::flags::ProveFlags;
use crate::commands::output;
use crate::commands::session::Session;
use crate::exit::{Exit, Interrupted, UsageError};
use crate::judge::prove::{self as judge, Experiment, Figure, MORE_WORK, Proof, Property, Status};
use crate::manifest::{Case, Manifest};
use crate::measure::availability::Capabilities;
use crate::measure::executables::Executables;
use crate::measure::signals::Signals;
use crate::plan;
use crate::show::text;
use crate::store::invocation::Invocation;
use crate::store::saved_run::SavedRun;
use experiments::{Arm, Compiled, How, Runs, Set};

/// The fewest comparisons of cases with themselves.
const COMPARISONS: usize = 10;

/// Rounds of experiments that need few: the fewest that give an interval of 99
/// %.
const FEW: u32 = 12;

/// How many seconds longer the longer of two processes measures, by the second clock.
const LONGER_SECONDS: f64 = 0.3;

/// Laps of the two processes whose switches are counted. Both trace all of their laps.
const COUNTED_LAPS: [u64; 2] = [400, 2400];

/// Runs `brigade prove`.
///
/// # Errors
/// If the flags or the manifest are wrong, the programs cannot be built, the saved run cannot be
/// read, standard output cannot be written, or [`Interrupted`]. A property that fails is a result,
/// not an error.
pub fn prove(flags: &ProveFlags) -> anyhow::Result<Exit> {
    let manifest = flags.programs.manifest()?;
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
        compiled: None,
    };
    let saved = saved.as_ref().map(|saved| saved.invocations.as_slice());
    let proof = examine(&mut runs, profile, saved)?;
    output::print(&if flags.json {
        serde_json::to_string(&proof)? + "\n"
    } else {
        text::proof(&proof)
    })?;
    Ok(match proof.status() {
        Status::Fails => Exit::Failed,
        Status::NotShown => Exit::NotShown,
        Status::Holds | Status::Unjudged => Exit::Done,
    })
}

/// The proof for a run, whose rounds are compared in time order; it uses the run's programs and
/// seed. `None` if interrupted, or if the manifest has no table `[prove]`.
///
/// # Errors
/// If the CPUs that this process may use cannot be read or used.
pub fn for_run(
    manifest: &Manifest,
    binaries: &Executables,
    seed: u64,
    invocations: &[Invocation],
    signals: &mut Signals,
) -> anyhow::Result<Option<Proof>> {
    let Some(plan) = &manifest.prove else { return Ok(None) };
    let capabilities = &Capabilities::detect(manifest)?;
    let seconds = plan.seconds;
    let mut runs =
        Runs { manifest, plan, capabilities, binaries, seconds, seed, signals, compiled: None };
    match examine(&mut runs, &plan.profile, Some(invocations)) {
        Err(error) if error.is::<Interrupted>() => Ok(None),
        proof => proof.map(Some),
    }
}

/// Checks every property. Compares the rounds of `saved` in time order, or without it those of the
/// A/A experiments.
fn examine(runs: &mut Runs, profile: &str, saved: Option<&[Invocation]>) -> anyhow::Result<Proof> {
    let started_at = format_rfc3339_millis(SystemTime::now()).to_string();
    let cpus = cpus::allowed().context("reading the CPUs that this process may use")?;
    let across = instrument::clock_across(&cpus).context("reading the clock on every CPU")?;
    let clock =
        vec![judge::clock(instrument::clock_step()), judge::clock_across(cpus.len(), across)];
    let lap = judge::empty_lap(instrument::empty_lap()?);

    let mut sets = sets(runs, profile);
    runs.run(&mut sets)?;
    let same = &sets[0];
    let in_time_order = match saved {
        Some(saved) => judge::in_time_order(saved.iter()),
        None => judge::in_time_order(same.invocations().into_iter()),
    };
    let identical = [same.figures(), vec![in_time_order]].concat();
    let accounting = judge::accounting(&same.experiments);
    let all = sets.iter().flat_map(|set| &set.experiments);
    let independence = judge::independence(all, &same.experiments);
    let mut properties = vec![Property::of("A/A", identical)];
    let further = sets[1..].iter().filter(|set| set.is_planned());
    properties.extend(further.map(|set| Property::of(set.name, set.figures())));
    properties.extend([
        Property::of("independent rounds", independence),
        Property::of("clock", clock),
        Property::of("empty lap", lap),
        Property::of("accounting", accounting),
    ]);
    Ok(Proof {
        schema_version: judge::SCHEMA_VERSION.to_owned(),
        brigade_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
        seed: runs.seed,
        properties,
    })
}

/// The experiments of each property in the manifest's plan, A/A first.
fn sets<'a>(runs: &mut Runs<'a>, profile: &str) -> Vec<Set<'a>> {
    let (plan, manifest, seconds) = (runs.plan, runs.manifest, runs.seconds);
    let arm = |how, flags: String| Arm {
        how,
        flags: flags.split_whitespace().map(str::to_owned).collect(),
    };
    let measured =
        |flags: &str| arm(How::Invoked, format!("--max-time {seconds} --warmups 10 {flags}"));
    let tasks = |case: &Case, count: u64| match manifest.check_size(case).tasks {
        Some(_) => format!("--tasks {count}"),
        None => String::new(),
    };
    let working =
        |case: &Case, units: u64| measured(&format!("{} --work {units}", tasks(case, plan.tasks)));
    let at_check_size =
        |case: &Case| vec![Arm { how: How::Invoked, flags: size_flags(manifest.check_size(case)) }];
    let most_units = plan.units.iter().copied().max().unwrap_or_default();
    let more_units = (most_units as f64 * MORE_WORK).round() as u64;

    let same = runs.possible(manifest.cases_of(profile));
    let repeats = COMPARISONS.div_ceil(same.len().max(1));
    let same = same.into_iter().flat_map(|case| std::iter::repeat_n(Ok(case), repeats));
    let work = runs.all(&plan.work);
    let compared = work.iter().filter(|case| case.is_ok()).cycle();
    let compared = compared.take(plan.comparisons as usize).cloned();
    let every = runs.possible(manifest.profiled_cases()).into_iter().map(Ok);
    let mut sets = vec![
        Set::of("A/A", judge::same, plan.pairs, same, |_| vec![measured(""), measured("")]),
        Set::of("known work", judge::known_work, plan.rounds, work.iter().cloned(), |case| {
            plan.units.iter().map(|units| working(case, *units)).collect()
        })
        .repeating(),
        Set::of("known switches", judge::switches, 1, every, at_check_size),
        Set::of("known crossing", judge::crossings, 1, runs.all(&plan.crossing), at_check_size),
        Set::of("known differences", judge::differences, plan.pairs, compared, |case| {
            vec![working(case, most_units), working(case, more_units)]
        }),
    ];
    // Many iterations: the program's default could end long before.
    let for_time = |how, seconds: f64| {
        arm(how, format!("--max-time {seconds} --iters 1000000000 --warmups 10"))
    };
    let cases = runs.all(plan.disturbed.as_slice());
    sets.push(Set::of("known disturbance", judge::disturbance, FEW, cases, |_| {
        vec![for_time(How::Disturbed, seconds), for_time(How::Invoked, seconds)]
    }));
    if let Some(linear) = &plan.linear {
        let cases = runs.all(&linear.cases);
        let linearity = Set::of("linearity", judge::linearity, plan.rounds, cases, |_| {
            let flags = |tasks: &u64| format!("--tasks {tasks} --work {}", linear.units);
            linear.tasks.iter().map(|tasks| measured(&flags(tasks))).collect()
        });
        sets.push(linearity.repeating());
    }
    let compiled = plan.opponents.iter().any(|of| of.binary.is_none()).then(Compiled::now);
    let lacking = compiled.as_ref().and_then(|compiled| compiled.as_ref().err().cloned());
    runs.compiled = compiled.and_then(Result::ok);
    let cases = plan.opponents.iter().map(|opponent| {
        let case = runs.named(&opponent.case)?;
        let separate = opponent.binary.as_ref().map(|_| runs.opponent_file(case, opponent));
        let lacking = match separate {
            Some(file) if file.as_ref().is_some_and(|file| file.exists()) => None,
            Some(_) => Some("it is not built here".to_owned()),
            None => lacking.clone(),
        };
        lacking.map_or(Ok(case), |why| Err(Figure::missing(opponent.name(), why)))
    });
    let cases: Vec<_> = cases.collect();
    let judge = |of: &[Experiment]| judge::opponents(of, plan);
    let opponents = Set::of("opponents", judge, plan.rounds, cases, |case| {
        let opponent = plan.opponent(case).expect("that of the case");
        vec![arm(How::Beside(opponent), String::new()), measured(&opponent.flags)]
    });
    sets.push(opponents.repeating());
    let cases = runs.all(plan.timed.as_slice());
    sets.push(Set::of("second clock", judge::second_clock, FEW, cases, |_| {
        [seconds, seconds + LONGER_SECONDS].map(|time| for_time(How::Invoked, time)).into()
    }));
    let cases = runs.all(&plan.watched);
    sets.push(Set::of("switches outside", judge::switches_outside, 1, cases, |case| {
        let tasks = tasks(case, 20);
        let flags = |laps| format!("{tasks} --iters {laps} --warmups 10 --max-time 30");
        COUNTED_LAPS.map(|laps| arm(How::Watched, flags(laps))).into()
    }));
    let cases = runs.all(&plan.traced);
    sets.push(Set::of("traced hops", judge::traced_hops, FEW, cases, |case| {
        let flags = |how| arm(how, format!("{} --max-time {seconds}", tasks(case, 20)));
        [How::Invoked, How::Traced, How::TracedDisturbed].map(flags).into()
    }));
    let cases = plan.calls.keys().map(|case| runs.named(case));
    let judge = |of: &[Experiment]| judge::system_calls(of, &plan.calls);
    let calls = Set::of("system calls", judge, 2 * FEW, cases, |_| {
        [How::Invoked, How::Filtered].map(|how| for_time(how, seconds)).into()
    });
    sets.push(calls.repeating());
    let cases = runs.all(&plan.touching);
    sets.push(Set::of("known memory", judge::known_memory, 3, cases, |_| {
        let touch = |bytes| format!("--tasks 180 --touch {bytes}");
        [1, 2].map(|times| arm(How::Invoked, touch(times * judge::MORE_BYTES))).into()
    }));
    sets
}
