//! Binaries of the workspace's packages.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::output_of;
use crate::measure::signals::Signals;

/// The binary of each of `packages`, by the package's name, after building
/// what is missing or stale if `build` says so. `None` means that the runner
/// was interrupted meanwhile.
///
/// # Errors
/// When cargo fails.
pub(super) fn executables(
    root: &Path,
    packages: &BTreeSet<&str>,
    build: bool,
    signals: &mut Signals,
) -> anyhow::Result<Option<BTreeMap<String, PathBuf>>> {
    if build { built(root, packages, signals) } else { last_built(root, packages, signals) }
}

/// Builds packages and returns the path of each one's binary.
fn built(
    root: &Path,
    packages: &BTreeSet<&str>,
    signals: &mut Signals,
) -> anyhow::Result<Option<BTreeMap<String, PathBuf>>> {
    let mut cargo = cargo(root);
    cargo.args(["build", "--locked", "--release", "--message-format", "json-render-diagnostics"]);
    for package in packages {
        cargo.args(["--package", package]);
    }
    let Some(messages) = output_of(&mut cargo, "cargo", signals)? else { return Ok(None) };
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
    let Some(output) = output_of(&mut cargo, "cargo", signals)? else { return Ok(None) };
    let folder = parse::<Metadata>(&output)?.target_directory.join("release");
    Ok(Some(packages.iter().map(|name| ((*name).to_owned(), folder.join(name))).collect()))
}

/// The cargo that started us, or else the one in `$PATH`.
fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    cargo.current_dir(root);
    cargo
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
