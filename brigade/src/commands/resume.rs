//! `brigade run --resume DIR`: goes on with a run that was interrupted or
//! killed. What its folder holds stays as it is; what is missing is run in the
//! order in which it would have been.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use crate::commands::flags::{ProgramFlags, ShowFlags};
use crate::commands::output;
use crate::commands::report::Summary;
use crate::commands::report::with_proof;
use crate::commands::run::{Run, exit_of};
use crate::commands::session::Session;
use crate::commands::session::pair_with_run;
use crate::exit::Exit;
use crate::judge::environment::{Difference, differences};
use crate::judge::prove::Proof;
use crate::manifest::{Case, LONGEST_SPACING, Manifest};
use crate::measure::availability::Capabilities;
use crate::measure::executables::fingerprints;
use crate::measure::invoke::command;
use crate::show::markdown::markdown;
use crate::store::environment::Environment;
use crate::store::results::{self, Folder, Mending, Procedure, RunDescription, Skipped};
use crate::store::saved_run::SavedRun;

/// The parts of an environment that must be as they were: figures from two
/// machines or kernels are not one sample. What the programs were built from is
/// checked by their fingerprints.
const FIXED: [&str; 6] = [
    "processor.",
    "kernel.",
    "memory_total_bytes",
    "software.libc",
    "limits.cgroup.cpu_quota_millicpus",
    "scheduling.",
];

/// The parts whose change is reported and does no harm.
const REPORTED: &str = "limits.";

/// The flags that a run may give to every program without the manifest's doing so:
/// they say for how long to measure, and no more. The folder may be a stranger's, and
/// there are flags that run a command or write a file.
const HARMLESS: [&str; 3] = ["--iters", "--max-time", "--warmups"];

/// Runs `brigade run --resume`.
///
/// # Errors
/// When `path` is not the folder of a run that can go on here, the programs
/// cannot be built, or the results or standard output cannot be written.
pub fn resume(path: &Path, flags: &ProgramFlags, show: ShowFlags) -> anyhow::Result<Exit> {
    let manifest = flags.manifest()?;
    // Before anything is read: a run that writes to the folder holds the lock.
    let mut session = Session::begin(&manifest, flags)?;
    let Opened { mut folder, mending, saved, proof } = open(path)?;
    let SavedRun { description, environment, invocations, .. } = saved;
    let mut manifest = flags.manifest()?;
    pair_with_run(&mut manifest, &description)?;
    if let Some(side) = &description.side {
        bail!("--resume {}: it is the {side} of a comparison; compare anew", path.display());
    }

    let summary =
        Summary::new(&manifest, &description, &environment, &invocations, path, proof.as_ref());
    if let Some(end) = summary.end() {
        mend(&mut folder, mending)?;
        folder.replace(results::PAGE, &markdown(&summary.report()))?;
        folder.write_end(&end)?;
        let path = path.display();
        output::print(&format!("nothing to do: the run is complete (brigade report {path})\n"))?;
        return Ok(exit_of(&invocations, proof.as_ref()));
    }
    let trouble = || format!("--resume {}", path.display());
    let (cases, procedure) = same_cases(&manifest, &description).with_context(trouble)?;
    all_can_run(&session.capabilities, &cases).with_context(trouble)?;
    let binaries = session.binaries(&cases)?;
    all_can_run(&session.capabilities, &cases).with_context(trouble)?;
    let now = Environment::capture(&manifest)?;
    same_environment(&environment, &now).with_context(trouble)?;
    same_binaries(procedure, &fingerprints(&cases, &binaries)?).with_context(trouble)?;
    mend(&mut folder, mending)?;
    let description = description.clone();
    let run = Run { manifest: &manifest, cases, binaries, description, environment };
    run.finish(&mut folder, invocations, proof, show, &mut session.signals)
}

/// The folder of a run that is to go on. Nothing has been written to it.
struct Opened {
    folder: Folder,
    mending: Mending,
    saved: SavedRun,
    proof: Option<Proof>,
}

/// Opens the folder of a run and reads it.
fn open(path: &Path) -> anyhow::Result<Opened> {
    ensure!(
        path.join(results::RUN).exists(),
        "--resume {}: there is no {}: it is not the folder of a run, or of one that ended before \
         it measured anything; start a new run",
        path.display(),
        results::RUN
    );
    let (folder, records) = Folder::open(path)?;
    let mending = Mending::of(&records);
    let saved = SavedRun::read_beside(path, &records[..mending.kept])?;
    let (saved, proof) = with_proof(path, saved);
    let unread = proof.is_none() && path.join(results::PROOF).symlink_metadata().is_ok();
    ensure!(
        !unread,
        "--resume {}: {} cannot be read: remove it, so that it is made again",
        path.display(),
        results::PROOF
    );
    Ok(Opened { folder, mending, saved, proof })
}

/// Cuts off a line that was never finished, and says so.
fn mend(folder: &mut Folder, mending: Mending) -> anyhow::Result<()> {
    folder.mend(mending)?;
    if mending.cut > 0 {
        output::complain(&format!(
            "{}: cut off {} bytes of a line that was never finished; it is run again",
            folder.path().join(results::RECORDS).display(),
            mending.cut
        ));
    }
    Ok(())
}

/// The cases of a run, if the manifest has them as they were.
fn same_cases<'a, 'b>(
    manifest: &'a Manifest,
    run: &'b RunDescription,
) -> anyhow::Result<(Vec<&'a Case>, &'b Procedure)> {
    let procedure = run
        .procedure
        .as_ref()
        .context("it is from a Brigade that did not record what resuming needs; start a new run")?;
    if let Some(flag) = procedure.flags.iter().find(|flag| !is_known(manifest, flag)) {
        bail!("its profile gives every program {flag}, and suite.toml does not; start a new run");
    }
    ensure!(
        (0.0..=LONGEST_SPACING).contains(&procedure.spacing_seconds),
        "its rounds begin {} s apart, and suite.toml allows {LONGEST_SPACING}; start a new run",
        procedure.spacing_seconds
    );
    let case = |name: &String| {
        let case = manifest.cases.iter().find(|case| case.name == *name);
        let case = case.with_context(|| format!("suite.toml has no case '{name}' any more"))?;
        let now = command(manifest.program_of(case).form, case, &procedure.flags);
        let was = procedure.commands.get(name);
        ensure!(
            was == Some(&now),
            "case '{name}' was '{}' and is '{}': put it back, or start a new run",
            was.map_or_else(String::new, |words| words.join(" ")),
            now.join(" ")
        );
        Ok(case)
    };
    let cases = run.cases.iter().map(case).collect::<anyhow::Result<Vec<_>>>()?;
    Ok((cases, procedure))
}

/// Whether a word of a profile's flags is a value, or a flag that is harmless or one of
/// the manifest's own.
fn is_known(manifest: &Manifest, word: &str) -> bool {
    let flag = word.split('=').next().unwrap_or_default();
    let mut own = manifest.profiles.values().flat_map(|profile| &profile.flags);
    !word.starts_with('-') || HARMLESS.contains(&flag) || own.any(|own| own == word)
}

fn all_can_run(capabilities: &Capabilities, cases: &[&Case]) -> anyhow::Result<()> {
    match capabilities.divide(cases.to_vec()).1.first() {
        None => Ok(()),
        Some(Skipped { case, reason }) => {
            bail!("case '{case}' cannot run here any more: {reason}")
        }
    }
}

/// Checks that the programs are those that the run began with.
fn same_binaries(procedure: &Procedure, now: &BTreeMap<String, String>) -> anyhow::Result<()> {
    let changed = now.iter().find(|(program, now)| procedure.binaries.get(*program) != Some(now));
    let Some((program, now)) = changed else { return Ok(()) };
    let was = procedure.binaries.get(program).map_or("unknown", String::as_str);
    bail!(
        "the program '{program}' is not the one that the run began with ({now}, not {was}): build \
         that again, or start a new run"
    )
}

/// Checks that machine and kernel are those that the run began with, and reports
/// limits that are not.
fn same_environment(was: &Environment, now: &Environment) -> anyhow::Result<()> {
    let changes = differences(was, now);
    // A fact that is not known of one is no change, but a boot parameter that is absent was
    // not given.
    let fixed = |change: &&Difference| {
        FIXED.iter().any(|part| change.name.starts_with(part))
            && (!change.values.contains(&None) || change.name.contains(".boot_parameters."))
    };
    let (fatal, others): (Vec<&Difference>, Vec<_>) = changes.iter().partition(fixed);
    for change in others.iter().filter(|change| change.name.starts_with(REPORTED)) {
        output::complain(&format!("since the run began, {}", change.line()));
    }
    let fatal: Vec<String> = fatal.into_iter().map(Difference::line).collect();
    ensure!(
        fatal.is_empty(),
        "it was not measured under these conditions: {}; start a new run",
        fatal.join("; ")
    );
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
    fn what_does_not_touch_the_figures_or_is_not_known_is_no_obstacle() {
        for name in ["boot", "software.git_revision", "software.rustc", "limits.open_files.soft"] {
            changed(name, [Some("a"), Some("b")]).unwrap();
        }
        changed("kernel.release", [Some("6.1.0"), None]).unwrap();
    }
}
