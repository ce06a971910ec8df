//! The programs' binaries: built by cargo where they are packages of the
//! workspace, by go where they are Go modules, found where they are files.

mod cargo;
mod go;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::exit::UsageError;
use crate::manifest::{Case, Manifest, Source};
use crate::measure::availability::Here;
use crate::measure::process::{self, Cause};
use crate::measure::signals::Signals;

/// The binary of every program of a manifest that can be built here, by the
/// program's name.
pub type Binaries = BTreeMap<String, PathBuf>;

/// Finds the binaries of all programs of the manifest, after building what is
/// missing or stale if `build` says so. All, whichever cases will run: cargo
/// unifies features over what is built together, so a subset could be built
/// differently and measure something else. Programs that cannot be built here
/// are left out. `None` means that the runner was told to stop meanwhile.
///
/// # Errors
/// When cargo or go fails, or a binary is not where it should be.
pub fn binaries(
    manifest: &Manifest,
    build: bool,
    here: &Here,
    signals: &mut Signals,
) -> anyhow::Result<Option<Binaries>> {
    let packages = packages(manifest);
    let packaged = if packages.is_empty() {
        BTreeMap::new()
    } else {
        let Some(found) = cargo::executables(&manifest.root, &packages, build, signals)? else {
            return Ok(None);
        };
        found
    };
    let mut binaries = Binaries::new();
    for (name, program) in &manifest.programs {
        let path = match &program.source {
            Source::Package(package) => packaged.get(package).cloned().with_context(|| {
                format!("building program '{name}': package '{package}' has no binary of its name")
            })?,
            Source::Path(path) => manifest.root.join(path),
            Source::Go(_) if here.lacks_tool_for(program) => continue,
            Source::Go(folder) => match go::executable(&manifest.root, folder, build, signals)? {
                Some(path) => path,
                None => return Ok(None),
            },
        };
        binaries.insert(name.clone(), existing(name, path)?);
    }
    Ok(Some(binaries))
}

/// The binaries that `cases` need, found in `folder` by the names that a build
/// gives them.
///
/// # Errors
/// [`UsageError`] if one is not there.
pub fn binaries_in(
    folder: &Path,
    manifest: &Manifest,
    cases: &[&Case],
) -> anyhow::Result<Binaries> {
    let needed: BTreeSet<&String> = cases.iter().map(|case| &case.program).collect();
    let binary = |name: &String| {
        let file = match &manifest.programs[name].source {
            Source::Package(package) => package.as_ref(),
            Source::Path(path) | Source::Go(path) => path.file_name().unwrap_or_default(),
        };
        let path = folder.join(file);
        let found = path.canonicalize().map_err(|error| {
            UsageError(format!("program '{name}': looking for {}: {error}", path.display()))
        })?;
        Ok((name.clone(), found))
    };
    needed.into_iter().map(binary).collect()
}

fn packages(manifest: &Manifest) -> BTreeSet<&str> {
    let packages = manifest.programs.values().filter_map(|program| match &program.source {
        Source::Package(package) => Some(package.as_str()),
        Source::Path(_) | Source::Go(_) => None,
    });
    packages.collect()
}

fn existing(program: &str, path: PathBuf) -> anyhow::Result<PathBuf> {
    // A bare relative path would be looked up in $PATH.
    path.canonicalize().with_context(|| {
        format!(
            "program '{program}': looking for {}: build it first, for a package or a Go module by \
             leaving out --no-build",
            path.display()
        )
    })
}

/// Runs a build tool, `name`, and returns its standard output; `None` means
/// that the runner was told to stop meanwhile.
fn output_of(
    tool: &mut Command,
    name: &str,
    signals: &mut Signals,
) -> anyhow::Result<Option<String>> {
    let ended = process::run(tool, None, signals).with_context(|| {
        format!("running {name}: install it, or use --no-build if nothing needs building")
    })?;
    if ended.cause == Cause::Stopped {
        return Ok(None);
    }
    if !ended.status.success() {
        bail!("building the programs: {name} ended with {}, for the reason above", ended.status);
    }
    let text = String::from_utf8(ended.stdout);
    text.map(Some).with_context(|| format!("reading what {name} printed"))
}
