//! Binaries of Go modules.

use std::path::{self, Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::output_of;
use crate::measure::signals::Signals;

/// Where binaries go, below the manifest's folder: beside those of cargo.
const OUTPUT: &str = "target/release";

/// The binary of the module in `folder`, by the folder's name, after building
/// it if `build` says so; go finds out by itself whether there is anything to
/// do. `None` means that the runner was told to stop meanwhile.
///
/// # Errors
/// When go fails.
pub(super) fn executable(
    root: &Path,
    folder: &Path,
    build: bool,
    signals: &mut Signals,
) -> anyhow::Result<Option<PathBuf>> {
    let name = folder.file_name().with_context(|| {
        format!("building the Go module '{}': its folder has no name", folder.display())
    })?;
    let root = path::absolute(root.join(".")).context("finding the manifest's folder")?;
    let binary = root.join(OUTPUT).join(name);
    if !build {
        return Ok(Some(binary));
    }
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(&binary).arg(".").current_dir(root.join(folder));
    Ok(output_of(&mut go, "go", signals)?.map(|_| binary))
}
