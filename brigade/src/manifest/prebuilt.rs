//! What a package says of its programs: they are there, and nothing is built.

use std::path::PathBuf;

use serde::Deserialize;

/// The programs of a package, which were built on another machine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prebuilt {
    /// The folder with the files of packages and of what commands build, relative to
    /// the manifest's.
    pub folder: PathBuf,
    /// The compiler that built them, as `rustc --version` prints it.
    pub rustc: Option<String>,
    /// The commit that they were built from, in full.
    pub git_revision: Option<String>,
    /// Whether files differed from that commit.
    pub git_dirty: Option<bool>,
}
