//! `brigade run --resume DIR`: resumes a run that was interrupted or killed.
//! Existing records stay; missing invocations run in the original order.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use crate::commands::exit_after;
use crate::commands::flags::{ProgramFlags, ShowFlags};
use crate::commands::output;
use crate::commands::report::{Summary, warned};
use crate::commands::run::Run;
use crate::commands::session::{Session, pair_with_run};
use crate::exit::Exit;
use crate::judge::environment::{Difference, differences};
use crate::manifest::{Case, LONGEST_SPACING, Manifest};
use crate::measure::availability::Capabilities;
use crate::measure::executables::fingerprints;
use crate::measure::invoke::command;
use crate::show::markdown::markdown;
use crate::store::environment::Environment;
use crate::store::results::{self, Folder, Procedure, Repair, RunDescription, Skipped};
use crate::store::saved_run::SavedRun;

/// Facts of the environment that must be unchanged: figures from two machines
/// or kernels are not one sample. Fingerprints check the programs.
const FIXED: [&str; 6] = [
    "processor.",
    "kernel.",
    "memory_total_bytes",
    "software.libc",
    "limits.cgroup.cpu_quota_millicpus",
    "scheduling.",
];

/// Facts whose change is reported and harmless.
const REPORTED: &str = "limits.";

/// Flags that a run may give to every program without the manifest's consent: they only limit how
/// long to measure. The folder may come from a stranger, and some flags run a command or write a
/// file.
const HARMLESS: [&str; 3] = ["--iters", "--max-time", "--warmups"];

/// Runs `brigade run --resume`.
///
/// # Errors
/// If the run in `path` cannot be resumed here, the programs cannot be built,
/// or the results or standard output cannot be written.
pub fn resume(path: &Path, flags: &ProgramFlags, show: ShowFlags) -> anyhow::Result<Exit> {
    let manifest = flags.manifest()?;
    // Before reading anything: a run that writes to the folder holds the lock.
    let mut session = Session::begin(&manifest, flags)?;
    let Opened { mut folder, repair, saved } = open(path)?;
    let SavedRun { description, environment, invocations, .. } = &saved;
    let mut manifest = flags.manifest()?;
    pair_with_run(&mut manifest, description)?;
    if let Some(side) = &description.side {
        bail!(
            "--resume {}: this folder is the {side} of a comparison; run the comparison again",
            path.display()
        );
    }

    let summary = Summary::new(&manifest, &saved, path);
    if let Some(end) = summary.end() {
        repair_records(&mut folder, repair)?;
        folder.replace(results::PAGE, &markdown(&summary.report()))?;
        folder.write_end(&end)?;
        let path = path.display();
        output::print(&format!("nothing to do: the run is complete (brigade report {path})\n"))?;
        return Ok(exit_after(invocations));
    }
    let trouble = || format!("--resume {}", path.display());
    let (cases, procedure) = same_cases(&manifest, description).with_context(trouble)?;
    all_can_run(&session.capabilities, &cases).with_context(trouble)?;
    let binaries = session.binaries(&cases)?;
    all_can_run(&session.capabilities, &cases).with_context(trouble)?;
    let now = Environment::capture(&manifest)?;
    same_environment(environment, &now).with_context(trouble)?;
    same_binaries(procedure, &fingerprints(&cases, &binaries)?).with_context(trouble)?;
    repair_records(&mut folder, repair)?;
    let run = Run { manifest: &manifest, cases, binaries };
    run.finish(&mut folder, saved, show, &mut session.signals)
}

/// The folder of a run to resume. Nothing has been written to it.
struct Opened {
    folder: Folder,
    repair: Repair,
    saved: SavedRun,
}

/// Opens the folder of a run and reads it.
fn open(path: &Path) -> anyhow::Result<Opened> {
    ensure!(
        path.join(results::RUN).exists(),
        "--resume {}: there is no {}: this is no run, or one that ended before its first \
         measurement; start a new run",
        path.display(),
        results::RUN
    );
    let (folder, records) = Folder::open(path)?;
    let repair = Repair::of(&records);
    let saved = SavedRun::read_beside(path, &records[..repair.kept])?;
    let saved = warned(path, saved);
    Ok(Opened { folder, repair, saved })
}

/// Cuts off an incomplete last line, with a warning.
fn repair_records(folder: &mut Folder, repair: Repair) -> anyhow::Result<()> {
    folder.repair(repair)?;
    if repair.cut > 0 {
        output::warn(&format!(
            "{}: cut off {} bytes of an incomplete line; that invocation runs again",
            folder.path().join(results::RECORDS).display(),
            repair.cut
        ));
    }
    Ok(())
}

/// The cases of a run, if the manifest has not changed them.
fn same_cases<'a, 'b>(
    manifest: &'a Manifest,
    run: &'b RunDescription,
) -> anyhow::Result<(Vec<&'a Case>, &'b Procedure)> {
    let procedure = run.procedure.as_ref().context(
        "an older Brigade, which did not record what resuming needs, started it; start a new run",
    )?;
    if let Some(flag) = procedure.flags.iter().find(|flag| !is_known(manifest, flag)) {
        bail!(
            "its profile gives {flag} to every program, but suite.toml does not; start a new run"
        );
    }
    ensure!(
        (0.0..=LONGEST_SPACING).contains(&procedure.spacing_seconds),
        "its rounds begin {} s apart, but suite.toml allows {LONGEST_SPACING}; start a new run",
        procedure.spacing_seconds
    );
    let case = |name: &String| {
        let case = manifest.cases.iter().find(|case| case.name == *name);
        let case = case.with_context(|| format!("suite.toml no longer has case '{name}'"))?;
        let now = command(manifest.program_of(case).form, case, &procedure.flags);
        let was = procedure.commands.get(name);
        ensure!(
            was == Some(&now),
            "case '{name}' was '{}' and is now '{}': restore it, or start a new run",
            was.map_or_else(String::new, |words| words.join(" ")),
            now.join(" ")
        );
        Ok(case)
    };
    let cases = run.cases.iter().map(case).collect::<anyhow::Result<Vec<_>>>()?;
    Ok((cases, procedure))
}

/// Whether a word of a profile's flags is a value, a harmless flag, or one of the manifest's.
fn is_known(manifest: &Manifest, word: &str) -> bool {
    let flag = word.split('=').next().unwrap_or_default();
    let mut own = manifest.profiles.values().flat_map(|profile| &profile.flags);
    !word.starts_with('-') || HARMLESS.contains(&flag) || own.any(|own| own == word)
}

fn all_can_run(capabilities: &Capabilities, cases: &[&Case]) -> anyhow::Result<()> {
    match capabilities.divide(cases.to_vec()).1.first() {
        None => Ok(()),
        Some(Skipped { case, reason }) => {
            bail!("case '{case}' can no longer run here: {reason}")
        }
    }
}

/// Checks that the programs have not changed since the run began.
fn same_binaries(procedure: &Procedure, now: &BTreeMap<String, String>) -> anyhow::Result<()> {
    let changed = now.iter().find(|(program, now)| procedure.binaries.get(*program) != Some(now));
    let Some((program, now)) = changed else { return Ok(()) };
    let was = procedure.binaries.get(program).map_or("unknown", String::as_str);
    bail!(
        "program '{program}' has changed since the run began ({now}, not {was}): build the old \
         one, or start a new run"
    )
}

/// Checks that machine and kernel have not changed since the run began, and reports limits that
/// have.
fn same_environment(was: &Environment, now: &Environment) -> anyhow::Result<()> {
    let changes = differences(was, now);
    // A fact unknown on one side is no change; but an absent boot parameter means that it was not
    // given.
    let fixed = |change: &&Difference| {
        FIXED.iter().any(|part| change.name.starts_with(part))
            && (!change.values.contains(&None) || change.name.contains(".boot_parameters."))
    };
    let (fatal, others): (Vec<&Difference>, Vec<_>) = changes.iter().partition(fixed);
    for change in others.iter().filter(|change| change.name.starts_with(REPORTED)) {
        output::warn(&format!("since the run began, {}", change.line()));
    }
    let fatal: Vec<String> = fatal.into_iter().map(Difference::line).collect();
    ensure!(fatal.is_empty(), "the machine has changed: {}; start a new run", fatal.join("; "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two environments that differ in one fact.
    fn changed(name: &str, values: [Option<&str>; 2]) -> anyhow::Result<()> {
        let [was, now] = values.map(|value| {
            let mut environment = Environment::default();
            environment.set(name, value);
            environment
        });
        same_environment(&was, &now)
    }

    #[test]
    fn another_machine_or_kernel_is_refused_by_name() {
        for name in [
            "limits.cgroup.cpu_quota_millicpus",
            "processor.model",
            "scheduling.policy",
            "processor.allowed_cpus",
            "processor.mitigations.mds",
            "kernel.release",
            "memory_total_bytes",
            "software.libc",
        ] {
            let error = changed(name, [Some("a"), Some("b")]).unwrap_err().to_string();
            assert!(error.contains(&format!("{name}: a → b")), "{error}");
        }
        changed("kernel.boot_parameters.isolcpus", [None, Some("1")]).unwrap_err();
    }

    #[test]
    fn changes_that_do_not_affect_figures_and_unknown_facts_do_not_prevent_resuming() {
        for name in ["boot", "software.git_revision", "software.rustc", "limits.open_files.soft"] {
            changed(name, [Some("a"), Some("b")]).unwrap();
        }
        changed("kernel.release", [Some("6.1.0"), None]).unwrap();
    }
}
