//! The programs' files: built by cargo where they are packages of the workspace,
//! by a command of the manifest, or found, as all are in a package.

mod cargo;
mod command;
mod prebuilt;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::exit::UsageError;
use crate::manifest::program::{Program, Source};
use crate::manifest::{Case, Manifest};
use crate::measure::availability::Capabilities;
use crate::measure::process::{self, Cause};
use crate::measure::signals::Signals;
use command::Built;

/// A program that can be started.
#[derive(Clone, Debug)]
pub struct Executable {
    /// What is measured: a binary or a script.
    pub file: PathBuf,
    /// What the manifest says of it.
    pub program: Program,
    /// The file as it was found.
    found: FileState,
}

impl Executable {
    fn new(file: PathBuf, program: &Program) -> anyhow::Result<Self> {
        let found =
            FileState::of(&file).with_context(|| format!("looking for {}", file.display()))?;
        Ok(Self { file, program: program.clone(), found })
    }

    /// Whether there is another file in its place, or other contents in the file. One
    /// that is gone is found out by starting it.
    pub fn is_replaced(&self) -> bool {
        FileState::of(&self.file).is_ok_and(|now| now != self.found)
    }
}

/// By which a file that is replaced is noticed before an invocation: a run must not mix two
/// builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileState {
    device: u64,
    inode: u64,
    length: u64,
    /// When it was last written to: seconds and nanoseconds since 1970.
    written: (i64, i64),
}

impl FileState {
    fn of(path: &Path) -> io::Result<Self> {
        let file = path.metadata()?;
        Ok(Self {
            device: file.dev(),
            inode: file.ino(),
            length: file.len(),
            written: (file.mtime(), file.mtime_nsec()),
        })
    }
}

/// The programs that can be started here, by their names.
pub type Binaries = BTreeMap<String, Executable>;

/// Finds the `needed` programs, after building what is missing or stale if
/// `build` is true. What cannot be built by its own command is noted in
/// `capabilities`. `None` means that the runner was interrupted meanwhile.
///
/// # Errors
/// When cargo fails, or a file is not where it should be.
pub fn binaries(
    manifest: &Manifest,
    needed: &BTreeSet<&str>,
    build: bool,
    capabilities: &mut Capabilities,
    signals: &mut Signals,
) -> anyhow::Result<Option<Binaries>> {
    if let Some(prebuilt) = &manifest.prebuilt {
        return prebuilt::binaries(manifest, prebuilt, needed, capabilities).map(Some);
    }
    let needed = |(name, _): &(&String, &Program)| needed.contains(&***name);
    let needed: Vec<(&String, &Program)> = manifest.programs.iter().filter(needed).collect();
    let sources = needed.iter().map(|(_, program)| &program.source);
    let packages: BTreeSet<&str> = sources
        .filter_map(|source| match source {
            Source::Package(package) => Some(package.as_str()),
            Source::Path(_) | Source::Built(_) => None,
        })
        .collect();
    let packaged = if packages.is_empty() {
        BTreeMap::new()
    } else {
        let Some(found) = cargo::executables(&manifest.root, &packages, build, signals)? else {
            return Ok(None);
        };
        found
    };
    let mut binaries = Binaries::new();
    for (name, program) in needed {
        let path = match &program.source {
            Source::Package(package) => packaged.get(package).cloned().with_context(|| {
                format!("building program '{name}': package '{package}' has no binary of its name")
            })?,
            _ if capabilities.lacking_for(name).is_some() => continue,
            Source::Path(path) => manifest.root.join(path),
            Source::Built(how) => match command::file(&manifest.root, name, how, build, signals)? {
                Built::File(path) => path,
                Built::Failed(reason) => {
                    capabilities.note_missing(name, reason);
                    continue;
                }
                Built::Stopped => return Ok(None),
            },
        };
        let file = existing(name, path)?;
        binaries.insert(name.clone(), Executable::new(file, program)?);
    }
    Ok(Some(binaries))
}

/// The programs of `cases`, found in `folder` by the names that a build gives
/// their files.
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
        let program = &manifest.programs[name];
        let file = match &program.source {
            Source::Package(package) => package.as_ref(),
            Source::Path(path) => path.file_name().unwrap_or_default(),
            Source::Built(_) => name.as_ref(),
        };
        let path = folder.join(file);
        let file = path.canonicalize().map_err(|error| {
            UsageError(format!("program '{name}': looking for {}: {error}", path.display()))
        })?;
        Ok((name.clone(), Executable::new(file, program)?))
    };
    needed.into_iter().map(binary).collect()
}

fn existing(program: &str, path: PathBuf) -> anyhow::Result<PathBuf> {
    // A bare relative path would be looked up in $PATH.
    path.canonicalize().with_context(|| {
        format!(
            "program '{program}': looking for {}: build it first, by leaving out --no-build if the \
             manifest says how",
            path.display()
        )
    })
}

/// Runs a build tool, `name`, and returns its standard output; `None` means
/// that the runner was interrupted meanwhile.
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
