//! The programs' binaries: built by cargo where they are packages of the
//! workspace, found where they are files.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::manifest::{Manifest, Source};
use crate::process::{self, Cause};
use crate::signals::Signals;

/// The binary of every program of a manifest, by the program's name.
pub type Binaries = BTreeMap<String, PathBuf>;

/// Finds the binaries of all programs of the manifest, after building what is
/// missing or stale if `build` says so. All, whichever cases will run: cargo
/// unifies features over what is built together, so a subset could be built
/// differently and measure something else. `None` means that the runner was
/// told to stop meanwhile.
///
/// # Errors
/// When cargo fails, or a binary is not where it should be.
pub fn binaries(
    manifest: &Manifest,
    build: bool,
    signals: &mut Signals,
) -> anyhow::Result<Option<Binaries>> {
    let packages = packages(manifest);
    let built = if packages.is_empty() {
        BTreeMap::new()
    } else {
        let found = if build {
            built(&manifest.root, &packages, signals)?
        } else {
            last_built(&manifest.root, &packages, signals)?
        };
        let Some(found) = found else { return Ok(None) };
        found
    };
    let located = manifest.programs.iter().map(|(name, program)| {
        let path = match &program.source {
            Source::Package(package) => built.get(package).cloned().with_context(|| {
                format!("building program '{name}': package '{package}' has no binary of its name")
            })?,
            Source::Path(path) => manifest.root.join(path),
        };
        Ok((name.clone(), existing(name, path)?))
    });
    located.collect::<anyhow::Result<Binaries>>().map(Some)
}

fn packages(manifest: &Manifest) -> BTreeSet<&str> {
    let packages = manifest.programs.values().filter_map(|program| match &program.source {
        Source::Package(package) => Some(package.as_str()),
        Source::Path(_) => None,
    });
    packages.collect()
}

fn existing(program: &str, path: PathBuf) -> anyhow::Result<PathBuf> {
    // A bare relative path would be looked up in $PATH.
    path.canonicalize().with_context(|| {
        format!(
            "program '{program}': looking for {}: build it first, for a package by leaving out \
             --no-build",
            path.display()
        )
    })
}

/// Builds packages and returns the path of each one's binary.
fn built(
    root: &Path,
    packages: &BTreeSet<&str>,
    signals: &mut Signals,
) -> anyhow::Result<Option<BTreeMap<String, PathBuf>>> {
    let mut cargo = cargo(root);
    cargo.args(["build", "--release", "--message-format", "json-render-diagnostics"]);
    for package in packages {
        cargo.args(["--package", package]);
    }
    let Some(messages) = output_of(&mut cargo, signals)? else { return Ok(None) };
    messages
        .lines()
        .map(executable)
        .filter_map(Result::transpose)
        .collect::<Result<_, _>>()
        .map(Some)
}

/// The binary's name and path, if this message of cargo is about a binary.
fn executable(message: &str) -> anyhow::Result<Option<(String, PathBuf)>> {
    #[derive(Deserialize)]
    struct Message {
        target: Option<Target>,
        executable: Option<PathBuf>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    let Message { target, executable } = parse(message)?;
    Ok(target.zip(executable).map(|(target, path)| (target.name, path)))
}

/// Where cargo last put the packages' binaries, if it did.
fn last_built(
    root: &Path,
    packages: &BTreeSet<&str>,
    signals: &mut Signals,
) -> anyhow::Result<Option<BTreeMap<String, PathBuf>>> {
    #[derive(Deserialize)]
    struct Metadata {
        target_directory: PathBuf,
    }
    let mut cargo = cargo(root);
    cargo.args(["metadata", "--format-version", "1", "--no-deps"]);
    let Some(output) = output_of(&mut cargo, signals)? else { return Ok(None) };
    let folder = parse::<Metadata>(&output)?.target_directory.join("release");
    Ok(Some(packages.iter().map(|name| ((*name).to_owned(), folder.join(name))).collect()))
}

/// The cargo that started us, or else the one in `$PATH`.
fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    if !root.as_os_str().is_empty() {
        cargo.current_dir(root);
    }
    cargo
}

/// Runs cargo and returns its standard output; `None` means that the runner
/// was told to stop meanwhile.
fn output_of(cargo: &mut Command, signals: &mut Signals) -> anyhow::Result<Option<String>> {
    let ended = process::run(cargo, None, signals)
        .context("running cargo: install Rust, or use --no-build if nothing needs building")?;
    if ended.cause == Cause::Stopped {
        return Ok(None);
    }
    if !ended.status.success() {
        bail!("building the programs: cargo ended with {}, for the reason above", ended.status);
    }
    String::from_utf8(ended.stdout).map(Some).context("reading what cargo printed")
}

fn parse<T: DeserializeOwned>(json: &str) -> anyhow::Result<T> {
    serde_json::from_str(json).context("reading what cargo printed: it is not what cargo documents")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_about_executables_count() {
        let binary = r#"{"reason":"compiler-artifact","target":{"name":"a","kind":["bin"]},
            "executable":"/t/a","fresh":true}"#;
        let library = r#"{"reason":"compiler-artifact","target":{"name":"b"},"executable":null}"#;
        let finished = r#"{"reason":"build-finished","success":true}"#;
        let expected = Some(("a".to_owned(), PathBuf::from("/t/a")));
        assert_eq!(executable(binary).unwrap(), expected);
        assert_eq!(executable(library).unwrap(), None);
        assert_eq!(executable(finished).unwrap(), None);
        assert!(executable("warning: not JSON").is_err());
    }
}
