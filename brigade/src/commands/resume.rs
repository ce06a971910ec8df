//! `brigade run --resume DIR`: resumes a run that was interrupted or killed. Existing records stay;
//! missing invocations run in the original order. The folder may come from a stranger: all that
//! runs is programs of this binary's manifest, with its flags, and only if it is the one of the run.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use crate::commands::report::Reporter;
use crate::commands::run::{command_of, finish, write_pages};
use crate::commands::saved::Saved;
use crate::commands::session::{Built, Series, Session};
use crate::commands::{exit_after, output};
use crate::exit::Exit;
use crate::judge::environment::{Difference, differences, is_inherited_by_figures};
use crate::manifest::Manifest;
use crate::measure::executables::fingerprints;
use crate::shell::quoted_path;
use crate::show::machine::difference;
use crate::store::results::{self, Environment, Folder, RunDescription, SavedRun};

/// Facts of the environment that must be unchanged: figures from two machines or kernels are not
/// one sample. Fingerprints check the programs.
const FIXED: [&str; 4] = ["processor.", "kernel.", "memory_total_bytes", "software.libc"];

/// Runs `brigade run --resume`.
///
/// # Errors
/// If the run in `path` cannot be resumed here, the programs cannot be built, or the results or
/// standard output cannot be written.
pub fn resume(path: &Path, mut manifest: Manifest, full: bool) -> anyhow::Result<Exit> {
    let resuming = || format!("--resume {}", path.display());
    // It does not change during a run, and lists the cases that were typed.
    let described = described(path).with_context(resuming)?;
    require_run(&described.description).with_context(resuming)?;
    manifest.admit_from_stranger(&described.description.cases);
    // Before reading the records: a run that writes to the folder holds the lock.
    let mut session = Session::begin(&manifest)?;
    resumed(&manifest, &mut session, path, full).with_context(resuming)
}

fn described(path: &Path) -> anyhow::Result<SavedRun> {
    let is_run = path.join(results::RUN).exists();
    ensure!(is_run, "there is no {}: start a new run", results::RUN);
    SavedRun::described(path)
}

/// Checks that the folder is no side of a comparison.
fn require_run(description: &RunDescription) -> anyhow::Result<()> {
    let Some(side) = &description.side else { return Ok(()) };
    bail!("this folder is the {side} of a comparison; run the comparison again");
}

fn resumed(
    manifest: &Manifest,
    session: &mut Session,
    path: &Path,
    full: bool,
) -> anyhow::Result<Exit> {
    let mut folder = Folder::open(path)?;
    let repair = folder.needed_repair()?;
    let Saved { mut run, mut schedule } = Saved::to_resume(&folder, repair)?;
    if schedule.clone().next_turn().is_none() {
        // The disk may have been full when they were due.
        let is_written = [results::PAGE, results::HTML_PAGE].map(|name| path.join(name).exists());
        let done = if is_written == [true; 2] {
            "nothing to do: the run is complete"
        } else {
            let report = Reporter::new(manifest, path, &run).report(&mut run, &mut schedule);
            write_pages(&folder, &report)?;
            "the run is complete: its pages were missing, and are written"
        };
        output::print(&format!("{done} (brigade report {})\n", quoted_path(path)))?;
        return Ok(exit_after(run.samples()));
    }
    let case = |name: &String| {
        let case = manifest.cases.iter().find(|case| case.name == *name);
        case.with_context(|| format!("suite.toml has no case '{name}'; start a new run"))
    };
    let cases = run.description.cases.iter().map(case).collect::<anyhow::Result<Vec<_>>>()?;
    let was = run.description.procedure.clone().unwrap_or_default();
    same(&was.commands, &cases.iter().map(|case| command_of(manifest, case)).collect())?;
    session.live.draw(|| Reporter::alone(manifest, path).running(&mut run, &schedule, &[]));
    let Built { cases, binaries, skipped } = session.build(cases)?;
    if let Some(skipped) = skipped.first() {
        bail!("case '{}' can no longer run here: {}", skipped.case, skipped.reason);
    }
    same(&was.binaries, &fingerprints(&binaries)?)?;
    same_environment(&run.environment, &Environment::capture(manifest))?;
    folder.repair(repair)?;
    if repair.cut > 0 {
        output::warn(&format!(
            "{}: cut off {} bytes of an incomplete line; that invocation runs again",
            path.join(results::RECORDS).display(),
            repair.cut
        ));
    }
    let series = Series { folder, run, binaries, wrap: Vec::new(), flags: manifest.flags() };
    finish(manifest, session, full, &cases, series, schedule.resumed())
}

/// Checks that each command, or each program's binary, is what it was when the run began.
fn same<T: PartialEq + Debug>(
    was: &BTreeMap<String, T>,
    now: &BTreeMap<String, T>,
) -> anyhow::Result<()> {
    let Some((name, now)) = now.iter().find(|(name, now)| was.get(*name) != Some(now)) else {
        return Ok(());
    };
    let was = was.get(name);
    bail!("'{name}' has changed since the run began ({now:?}, not {was:?}): start a new run")
}

/// Checks that machine and kernel have not changed since the run began.
fn same_environment(was: &Environment, now: &Environment) -> anyhow::Result<()> {
    // A fact unknown on one side is no change; but an absent boot parameter means that it was not
    // given.
    let is_change = |change: &&Difference| {
        let is_fixed = FIXED.iter().any(|part| change.name.starts_with(part));
        let is_known = !change.values.contains(&None) || change.name.contains(".boot_parameters.");
        (is_fixed && is_known) || is_inherited_by_figures(&change.name)
    };
    let changes = differences(&was.facts, &now.facts);
    let fatal: Vec<String> = changes.iter().filter(is_change).map(difference).collect();
    ensure!(fatal.is_empty(), "the machine has changed: {}; start a new run", fatal.join("; "));
    Ok(())
}
