//! The programs that can be started: those in this binary, existing files, and files that a command
//! of the manifest builds.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use std::{fs, io};

use anyhow::{Context, bail, ensure};

use crate::exit::{Interrupted, UsageError};
use crate::manifest::tables::{Build, OutputForm, ProgramSpec};
use crate::manifest::{Case, Manifest};
use crate::measure::availability::{Capabilities, prebuilt};
use crate::measure::process::{self, Cause, Signals};
use crate::measure::sources;
use crate::programs;

/// This binary, even if its file was replaced.
const OWN: &str = "/proc/self/exe";

/// The program that is the load of servers.
pub const LOAD: &str = "echo-server";

/// A program that can be started.
#[derive(Clone, Debug)]
pub struct Executable {
    /// The measured file: a binary or a script.
    pub file: PathBuf,
    pub program: ProgramSpec,
    /// Its name in `file`, which is a `brigade`; `None` if the file is the program.
    contained: Option<String>,
    /// The folder that a guest runs in; `None` for this process's.
    folder: Option<PathBuf>,
    found: (u64, SystemTime),
}

/// A file's inode and the time of its last write. They show before an invocation that a file was
/// replaced: a run must not mix two builds.
fn state(path: &Path) -> io::Result<(u64, SystemTime)> {
    let file = path.metadata()?;
    Ok((file.ino(), file.modified()?))
}

impl Executable {
    fn new(file: PathBuf, contained: Option<&str>, program: &ProgramSpec) -> anyhow::Result<Self> {
        let looking = || format!("looking for {}: build it first", file.display());
        let found = state(&file).with_context(looking)?;
        let contained = contained.map(str::to_owned);
        Ok(Self { file, program: program.clone(), contained, folder: None, found })
    }

    /// A command that runs it through its interpreter, under the command `under` unless that is
    /// empty. A server is run by its load.
    pub fn command(&self, under: &[String]) -> Command {
        let Self { file, program, contained, folder, .. } = self;
        let (started, name) = match program.server {
            Some(_) => (Path::new(OWN), Some(LOAD)),
            None => (file.as_path(), contained.as_deref()),
        };
        let mut words = under.iter().chain(&program.interpreter).map(OsStr::new);
        let mut command;
        if let Some(first) = words.next() {
            command = Command::new(first);
            command.args(words).arg(elsewhere(started)).args(name);
        } else {
            command = Command::new(started);
            command.arg0(name.map_or(started.as_os_str(), OsStr::new));
        }
        // Interpreters load code from the current folder, which may be anybody's. A command around the
        // guest may have files there.
        if let Some(folder) = folder
            && under.is_empty()
        {
            command.current_dir(folder);
        }
        if let Some(subcommand) = &program.server {
            let path = elsewhere(file).to_string_lossy().into_owned();
            let line = [&*path, subcommand].map(|word| shlex::try_quote(word).unwrap_or_default());
            command.args(["--server", &line.join(" ")]);
        }
        command
    }

    /// Whether the file was replaced or changed. If it is gone, starting it fails.
    pub fn is_replaced(&self) -> bool {
        state(&self.file).is_ok_and(|now| now != self.found)
    }
}

/// A file as a path that is valid in other processes.
fn elsewhere(file: &Path) -> PathBuf {
    // The path of a deleted file, which cannot be found, is better than one of another file.
    file.canonicalize().or_else(|_| fs::read_link(file)).unwrap_or_else(|_| file.to_owned())
}

/// The programs that can be started here, by name.
pub type Executables = BTreeMap<String, Executable>;

/// Finds the `needed` programs, and builds them first. Failed builds are recorded in
/// `capabilities`.
///
/// # Errors
/// If a file is missing, or this binary lacks a program; [`Interrupted`].
pub fn executables(
    manifest: &Manifest,
    needed: &BTreeSet<&str>,
    capabilities: &mut Capabilities,
    signals: &mut Signals,
) -> anyhow::Result<Executables> {
    let guests = manifest.guests.as_deref().unwrap_or(Path::new("."));
    let mut executables = Executables::new();
    for (name, program) in manifest.programs.iter().filter(|(name, _)| needed.contains(&***name)) {
        if capabilities.missing.contains_key(name) {
            continue;
        }
        let (file, contained) = match (&program.path, &program.build) {
            (None, None) if programs::page(name).is_some() => (OWN.into(), Some(&**name)),
            (None, None) => bail!(UsageError(format!(
                "program '{name}': brigade contains no program with this name; give its `path` or \
                 `build`"
            ))),
            (Some(path), _) => (guests.join(path), None),
            (None, Some(how)) => match built(guests, name, how, signals) {
                Ok(file) => (file, None),
                Err(error) if error.is::<Interrupted>() => return Err(error),
                Err(error) => {
                    capabilities.missing.insert(name.clone(), format!("{error:#}"));
                    continue;
                }
            },
        };
        let executable = Executable::new(file, contained, program);
        let mut executable = executable.with_context(|| format!("program '{name}'"))?;
        if program.form == OutputForm::Laps {
            executable.folder = Some(guests.to_owned());
        }
        executables.insert(name.clone(), executable);
    }
    Ok(executables)
}

/// The programs of `cases` in `build`: a `brigade`, or a folder with one or with separate binaries.
/// Programs that a command builds come from `others` if they are missing there.
///
/// # Errors
/// [`UsageError`] if one is missing.
pub fn executables_in(
    build: &Path,
    manifest: &Manifest,
    cases: &[&Case],
    others: &Executables,
) -> anyhow::Result<Executables> {
    let whole = if build.is_file() { build.to_owned() } else { build.join("brigade") };
    let mut found = others.clone();
    for name in cases.iter().map(|case| &case.program) {
        let program = &manifest.programs[name];
        let file_name = program.path.as_ref().and_then(|path| path.file_name());
        let alone = build.join(file_name.unwrap_or(name.as_ref()));
        let (path, contained) = match (&program.path, &program.build) {
            _ if alone.is_file() => (&alone, None),
            (None, None) if whole.is_file() => (&whole, Some(name.as_str())),
            (Some(_), _) if build.is_file() => continue,
            (None, Some(_)) => continue,
            _ => (&alone, None),
        };
        let file = path.canonicalize().map_err(|error| {
            UsageError(format!("program '{name}': looking for {}: {error}", path.display()))
        })?;
        found.insert(name.clone(), Executable::new(file, contained, program)?);
    }
    Ok(found)
}

/// The file of program `name`, built first unless it was before; the command decides whether there is
/// anything to do.
///
/// # Errors
/// [`Interrupted`], or the reason why it cannot be built.
fn built(guests: &Path, name: &str, how: &Build, signals: &mut Signals) -> anyhow::Result<PathBuf> {
    if let Some(file) = prebuilt(guests, name) {
        return Ok(file);
    }
    let folder = guests.join(&how.folder);
    // Two copies of a guest do not overwrite each other's builds.
    let copy = format!("{:08x}", crc32fast::hash(folder.as_os_str().as_bytes()));
    let cache = sources::private_folder(&copy).context("there is no folder to build it in")?;
    let file = cache.join(name);
    let (tool, words) = how.command.split_first().context("a build command has words")?;
    let words = words.iter().map(OsStr::new);
    let words = words.map(|word| if word == "{output}" { file.as_os_str() } else { word });
    let mut command = Command::new(tool);
    command.args(words).current_dir(folder);
    let ended = process::run(&mut command, None, signals, None)
        .with_context(|| format!("{tool} cannot be run"))?;
    ensure!(ended.cause != Cause::Stopped, Interrupted);
    ensure!(ended.status.success(), "{tool} cannot build it: {}", ended.reason());
    Ok(file)
}

/// The fingerprint of each program's binary: its length in bytes and its CRC-32. A resumed run must
/// not mix two builds.
///
/// # Errors
/// If a binary cannot be read.
pub fn fingerprints(executables: &Executables) -> anyhow::Result<BTreeMap<String, String>> {
    // Most programs are in one file.
    let files: BTreeSet<&Path> = executables.values().map(|program| &*program.file).collect();
    let known = files.into_iter().map(|path| {
        let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        let checksum = crc32fast::hash(&bytes);
        anyhow::Ok((path, format!("{} bytes, CRC-32 {checksum:08x}", bytes.len())))
    });
    let known: BTreeMap<_, _> = known.collect::<anyhow::Result<_>>()?;
    let of_program =
        |(name, program): (&String, &Executable)| (name.clone(), known[&*program.file].clone());
    Ok(executables.iter().map(of_program).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_around_a_server_starts_this_file_and_not_itself() {
        let manifest =
            Manifest::parse("[programs.a]\nserver = 'serve'\ntasks = 'thread'\n").unwrap();
        let server = Executable::new(OWN.into(), None, &manifest.programs["a"]).unwrap();
        let command = server.command(&["env".to_owned()]);
        assert_eq!(
            command.get_args().next(),
            std::env::current_exe().ok().as_deref().map(Path::as_os_str)
        );
    }
}
