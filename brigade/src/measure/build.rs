//! The programs' files: built by cargo where they are packages of the workspace,
//! by a command of the manifest, or found, as all are in a package.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{self, Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use crc32fast::Hasher;
use serde::Deserialize;

use crate::exit::{Interrupted, UsageError};
use crate::manifest::program::{Build, Program, Source};
use crate::manifest::{Case, Manifest};
use crate::measure::availability::Capabilities;
use crate::measure::process::last_line;
use crate::measure::process::{self, Cause, Ended};
use crate::measure::signals::Signals;

/// How much of a binary is read at once, in bytes.
const BLOCK: usize = 1024 * 1024;

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

impl Executable {
    fn new(file: PathBuf, program: &Program) -> anyhow::Result<Self> {
        let found = FileState::of(&file);
        let found = found.with_context(|| format!("looking for {}", file.display()))?;
        Ok(Self { file, program: program.clone(), found })
    }

    /// Whether there is another file in its place, or other contents in the file. One
    /// that is gone is found out by starting it.
    pub fn is_replaced(&self) -> bool {
        FileState::of(&self.file).is_ok_and(|now| now != self.found)
    }
}

/// The programs that can be started here, by their names.
pub type Binaries = BTreeMap<String, Executable>;

/// Finds the `needed` programs, after building what is missing or stale if `build` is
/// true; those of a package are never built. What cannot be built by its own command,
/// or a package lacks, is noted in `capabilities`.
///
/// # Errors
/// When cargo fails, or a file is not where it should be; [`Interrupted`].
pub fn binaries(
    manifest: &Manifest,
    needed: &BTreeSet<&str>,
    build: bool,
    capabilities: &mut Capabilities,
    signals: &mut Signals,
) -> anyhow::Result<Binaries> {
    let needed = |(name, _): &(&String, &Program)| needed.contains(&***name);
    let needed: Vec<(&String, &Program)> = manifest.programs.iter().filter(needed).collect();
    let (root, prebuilt) = (&manifest.root, manifest.prebuilt.as_ref());
    let folder = prebuilt.map(|prebuilt| root.join(&prebuilt.folder));
    let mut packages = BTreeMap::new();
    if folder.is_none() {
        let sources = needed.iter().map(|(_, program)| &program.source);
        let names = sources.filter_map(|source| match source {
            Source::Package(package) => Some(package.as_str()),
            Source::Path(_) | Source::Built(_) => None,
        });
        packages = executables(root, &names.collect(), build, signals)?;
    }
    let mut binaries = Binaries::new();
    for (name, program) in needed {
        let is_package = matches!(program.source, Source::Package(_));
        if (folder.is_some() || !is_package) && capabilities.lacking_for(name).is_some() {
            continue;
        }
        let path = match (&program.source, &folder) {
            (Source::Path(path), _) => root.join(path),
            (Source::Package(package), Some(folder)) => folder.join(package),
            (Source::Package(package), None) => {
                packages.get(package).cloned().with_context(|| {
                    format!(
                        "building program '{name}': package '{package}' has no binary of its name"
                    )
                })?
            }
            (Source::Built(_), Some(folder)) => folder.join(name),
            (Source::Built(how), None) => match by_command(root, name, how, build, signals)? {
                Ok(path) => path,
                Err(reason) => {
                    capabilities.note_missing(name, reason);
                    continue;
                }
            },
        };
        let is_built = matches!(program.source, Source::Built(_));
        if !build && is_built && folder.is_none() && !path.exists() {
            capabilities
                .note_missing(name, "not built: build it by leaving out --no-build".to_owned());
            continue;
        }
        // A bare relative path would be looked up in $PATH.
        let file = match path.canonicalize() {
            Err(error)
                if folder.is_some()
                    && matches!(program.source, Source::Built(_))
                    && error.kind() == ErrorKind::NotFound =>
            {
                let reason = "this package has no build of it: run it from the sources";
                capabilities.note_missing(name, reason.to_owned());
                continue;
            }
            found => found.with_context(|| {
                let cure = if folder.is_some() {
                    "unpack the package again"
                } else {
                    "build it first, by leaving out --no-build if the manifest says how"
                };
                format!("program '{name}': looking for {}: {cure}", path.display())
            })?,
        };
        binaries.insert(name.clone(), Executable::new(file, program)?);
    }
    Ok(binaries)
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

/// The binary of each of `packages`, by the package's name: built by cargo, or where cargo
/// last put them.
fn executables(
    root: &Path,
    packages: &BTreeSet<&str>,
    build: bool,
    signals: &mut Signals,
) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    /// A message of `cargo build`, or the answer of `cargo metadata`.
    #[derive(Deserialize)]
    struct Message {
        target: Option<Target>,
        executable: Option<PathBuf>,
        target_directory: Option<PathBuf>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    if packages.is_empty() {
        return Ok(BTreeMap::new());
    }
    // The cargo that started us, or else the one in `$PATH`.
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    cargo.current_dir(root);
    if build {
        cargo.args(["build", "--locked", "--release", "--message-format"]);
        cargo.arg("json-render-diagnostics");
        cargo.args(packages.iter().flat_map(|package| ["--package", package]));
    } else {
        cargo.args(["metadata", "--format-version", "1", "--no-deps"]);
    }
    let ended = run(&mut cargo, signals)?
        .context("running cargo: install it, or use --no-build if nothing needs building")?;
    if !ended.status.success() {
        bail!("building the programs: cargo ended with {}, for the reason above", ended.status);
    }
    let mut found = BTreeMap::new();
    for line in String::from_utf8_lossy(&ended.stdout).lines() {
        let message: Message = serde_json::from_str(line)
            .context("reading what cargo printed: it is not what cargo documents")?;
        found.extend(message.target.map(|of| of.name).zip(message.executable));
        if let Some(target) = message.target_directory {
            let folder = target.join("release");
            found.extend(packages.iter().map(|name| ((*name).to_owned(), folder.join(name))));
        }
    }
    Ok(found)
}

/// The file of program `name`, after building it if `build` is true; the command
/// finds out by itself whether there is anything to do. The inner error is why it cannot
/// be built, in one line.
fn by_command(
    root: &Path,
    name: &str,
    how: &Build,
    build: bool,
    signals: &mut Signals,
) -> anyhow::Result<Result<PathBuf, String>> {
    let root = path::absolute(root.join(".")).context("finding the manifest's folder")?;
    // Beside those of cargo.
    let file = root.join("target/release").join(name);
    if !build {
        return Ok(Ok(file));
    }
    let (tool, words) = how.command.split_first().context("a build command has words")?;
    let mut command = Command::new(tool);
    for word in words {
        if word == "{output}" {
            command.arg(&file)
        } else {
            command.arg(word)
        };
    }
    command.current_dir(root.join(&how.folder)).stderr(Stdio::piped());
    Ok(match run(&mut command, signals)? {
        Err(error) => Err(format!("{tool} cannot be run: {error}")),
        Ok(ended) if ended.status.success() => Ok(file),
        Ok(ended) => {
            let reason = last_line(&ended.stderr).unwrap_or_else(|| ended.status.to_string());
            Err(format!("{tool} cannot build it: {reason}"))
        }
    })
}

/// Runs a build tool. The inner error is why it cannot be run.
fn run(tool: &mut Command, signals: &mut Signals) -> Result<io::Result<Ended>, Interrupted> {
    let ended = process::run(tool, None, signals);
    let is_stopped = ended.as_ref().is_ok_and(|ended| ended.cause == Cause::Stopped);
    if is_stopped { Err(Interrupted) } else { Ok(ended) }
}

/// The fingerprint of the binary of each program that `cases` run, by the
/// program's name: its length in bytes and its CRC-32. A run that is resumed must not
/// mix two builds.
///
/// # Errors
/// When a binary cannot be read.
pub fn fingerprints(
    cases: &[&Case],
    binaries: &Binaries,
) -> anyhow::Result<BTreeMap<String, String>> {
    let programs: BTreeSet<&String> = cases.iter().map(|case| &case.program).collect();
    let fingerprint = |program: &String| {
        let path = &binaries[program].file;
        let found = fingerprint(path).with_context(|| format!("reading {}", path.display()))?;
        Ok((program.clone(), found))
    };
    programs.into_iter().map(fingerprint).collect()
}

fn fingerprint(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let (mut hasher, mut block, mut length) = (Hasher::new(), vec![0; BLOCK], 0);
    loop {
        let count = file.read(&mut block)?;
        if count == 0 {
            return Ok(format!("{length} bytes, CRC-32 {:08x}", hasher.finalize()));
        }
        hasher.update(&block[..count]);
        length += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_the_length_and_the_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("binary");
        // The check value of CRC-32 in every catalogue of checksums.
        std::fs::write(&path, "123456789").unwrap();
        assert_eq!(fingerprint(&path).unwrap(), "9 bytes, CRC-32 cbf43926");
        std::fs::write(&path, vec![0; 2 * BLOCK + 1]).unwrap();
        assert!(fingerprint(&path).unwrap().starts_with("2097153 bytes, "));
    }
}
