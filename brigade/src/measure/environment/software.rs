//! What the programs were built from and with.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::manifest::Manifest;
use crate::manifest::program::Tool;
use crate::measure::process;
use crate::store::environment::Software;

use harness::system_files::recordable;
use serde::Deserialize;

impl Software {
    /// Asks the C library, the compilers, git and `Cargo.lock`.
    ///
    /// # Errors
    /// When the manifest's `Cargo.lock` cannot be read as one.
    pub(super) fn read(manifest: &Manifest) -> anyhow::Result<Self> {
        let root = &manifest.root;
        let version_of = |tool: &Tool| {
            let (program, arguments) = tool.command.split_first().expect("not without words");
            let printed = output(root, program, arguments);
            (tool.command.join(" "), printed.map(|version| recordable(&version)))
        };
        let Origin { rustc, git_revision, git_dirty } = Origin::of(manifest);
        Ok(Self {
            brigade: env!("CARGO_PKG_VERSION").to_owned(),
            libc: libc_version(),
            rustc,
            tools: manifest
                .programs
                .values()
                .flat_map(|program| &program.needs)
                .map(version_of)
                .collect(),
            go: None,
            measured_crates: crate_versions(root, &manifest.measured_crates)?,
            git_revision,
            git_dirty,
        })
    }
}

/// What the programs were built from and by.
struct Origin {
    rustc: Option<String>,
    git_revision: Option<String>,
    git_dirty: Option<bool>,
}

impl Origin {
    /// As a package says, or else by asking the compiler and git of this machine.
    fn of(manifest: &Manifest) -> Self {
        let line = |text: &String| recordable(text);
        if let Some(prebuilt) = &manifest.prebuilt {
            return Self {
                rustc: prebuilt.rustc.as_ref().map(line),
                git_revision: prebuilt.git_revision.as_ref().map(line),
                git_dirty: prebuilt.git_dirty,
            };
        }
        let root = &manifest.root;
        let git_revision = output(root, "git", &["rev-parse", "--show-prefix", "HEAD"])
            .and_then(|answer| revision(&answer));
        let git_dirty = git_revision.as_ref().and_then(|_| {
            let changes = output(root, "git", &["status", "--porcelain", "--untracked-files=no"])?;
            Some(!changes.is_empty())
        });
        let rustc = output(root, "rustc", &["--version"]).as_ref().map(line);
        Self { rustc, git_revision, git_dirty }
    }
}

impl Software {
    /// The commit, abbreviated, with `+` where files differed from it.
    pub fn revision(&self) -> Option<String> {
        let commit: String = self.git_revision.as_ref()?.chars().take(12).collect();
        Some(if self.git_dirty == Some(true) { commit + "+" } else { commit })
    }
}

/// The versions of `names` in the `Cargo.lock` of `root`, which is not needed
/// when there are no names.
fn crate_versions(
    root: &Path,
    names: &[String],
) -> anyhow::Result<BTreeMap<String, Option<String>>> {
    if names.is_empty() {
        return Ok(BTreeMap::new());
    }
    let path = root.join("Cargo.lock");
    let lock =
        std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    locked_versions(&lock, names).with_context(|| format!("parsing {}", path.display()))
}

/// What `program` prints when run in `directory`; `None` if it cannot be run
/// or fails.
fn output(directory: &Path, program: &str, arguments: &[impl AsRef<OsStr>]) -> Option<String> {
    let mut command = Command::new(program);
    let output = process::ask(command.args(arguments).current_dir(directory)).ok()?;
    output.status.success().then_some(())?;
    String::from_utf8(output.stdout).ok()
}

/// The commit in the answer of `git rev-parse --show-prefix HEAD`. The first
/// line is empty at the top of a working tree; below the top the repository
/// is not this workspace's, but one that it was unpacked in.
fn revision(answer: &str) -> Option<String> {
    let hash = answer.strip_prefix('\n')?.trim_end();
    (hash.len() >= 40 && hash.chars().all(|c| c.is_ascii_hexdigit())).then(|| hash.to_owned())
}

/// The version of each of `crates` in the text of a `Cargo.lock`. Where it
/// holds several, all of them, joined by `, `.
fn locked_versions(
    lock: &str,
    crates: &[String],
) -> Result<BTreeMap<String, Option<String>>, toml::de::Error> {
    #[derive(Deserialize)]
    struct Lock {
        #[serde(default)]
        package: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
    }
    let lock: Lock = toml::from_str(lock)?;
    let version = |name: &String| {
        let found: Vec<_> = lock
            .package
            .iter()
            .filter(|package| package.name == *name)
            .map(|package| package.version.as_str())
            .collect();
        (!found.is_empty()).then(|| found.join(", "))
    };
    Ok(crates.iter().map(|name| (name.clone(), version(name))).collect())
}

#[cfg(target_env = "gnu")]
fn libc_version() -> Option<String> {
    // SAFETY: the function takes nothing and returns a pointer to a string
    // that ends in NUL and lives as long as the process.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    Some(format!("glibc {}", recordable(version.to_str().ok()?)))
}

/// Other C libraries do not tell.
#[cfg(not(target_env = "gnu"))]
fn libc_version() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
        version = 4
        [[package]]
        name = "tokio"
        version = "1.54.0"
        [[package]]
        name = "base64"
        version = "0.22.1"
        [[package]]
        name = "base64"
        version = "0.23.1"
    "#;

    fn versions(lock: &str, crates: &[&str]) -> Vec<Option<String>> {
        let crates: Vec<_> = crates.iter().map(|&name| name.to_owned()).collect();
        locked_versions(lock, &crates).expect("a lock file").into_values().collect()
    }

    #[test]
    fn versions_come_from_the_lock_file() {
        assert_eq!(versions(LOCK, &["tokio"]), [Some("1.54.0".to_owned())]);
        assert_eq!(versions(LOCK, &["base64"]), [Some("0.22.1, 0.23.1".to_owned())]);
        assert_eq!(versions(LOCK, &["tok"]), [None]);
        assert_eq!(versions("version = 4", &["tokio"]), [None]);
        assert!(locked_versions("[[package]]\nname = 1", &[]).is_err());
    }

    #[test]
    fn only_a_repository_of_its_own_names_the_revision() {
        let hash = "14b7c3c2a138b4cb0b2101dcc80d1326320fc790";
        assert_eq!(revision(&format!("\n{hash}\n")), Some(hash.to_owned()));
        assert_eq!(revision(&format!("vendor/brigade/\n{hash}\n")), None);
        assert_eq!(revision("\nHEAD\n"), None);
        assert_eq!(revision(""), None);
    }

    #[test]
    fn a_program_that_is_missing_or_fails_has_no_output() {
        let here = Path::new(".");
        assert_eq!(output(here, "no-such-program-of-brigade", &[""; 0]), None);
        assert_eq!(output(here, "false", &[""; 0]), None);
        assert_eq!(output(here, "echo", &["on"]), Some("on\n".to_owned()));
    }

    #[test]
    fn an_unreadable_lock_file_is_an_error_that_names_it() {
        let empty = tempfile::tempdir().expect("a temporary directory");
        let error =
            crate_versions(empty.path(), &["tokio".to_owned()]).expect_err("there is no lock file");
        assert!(format!("{error:#}").contains("Cargo.lock"), "{error:#}");
    }
}
