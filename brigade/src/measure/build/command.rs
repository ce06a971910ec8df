//! Programs that are built by a command of the manifest.

use std::path::{self, Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::manifest::program::Build;
use crate::measure::outcome::last_line;
use crate::measure::process::{self, Cause};
use crate::measure::signals::Signals;

/// Where files go, below the manifest's folder: beside those of cargo.
const OUTPUT: &str = "target/release";

/// What came of building a program.
pub(super) enum Built {
    /// Where its file is.
    File(PathBuf),
    /// Why it cannot be built, in one line.
    Failed(String),
    /// The runner was interrupted meanwhile.
    Stopped,
}

/// The file of program `name`, after building it if `build` is true; the command
/// finds out by itself whether there is anything to do.
///
/// # Errors
/// When the current folder cannot be found.
pub(super) fn file(
    root: &Path,
    name: &str,
    how: &Build,
    build: bool,
    signals: &mut Signals,
) -> anyhow::Result<Built> {
    let root = path::absolute(root.join(".")).context("finding the manifest's folder")?;
    let file = root.join(OUTPUT).join(name);
    if !build {
        return Ok(Built::File(file));
    }
    let (tool, words) = how.command.split_first().context("a build command has words")?;
    let mut command = Command::new(tool);
    for word in words {
        match word.as_str() {
            "{output}" => command.arg(&file),
            word => command.arg(word),
        };
    }
    command.current_dir(root.join(&how.folder)).stderr(Stdio::piped());
    let ended = match process::run(&mut command, None, signals) {
        Ok(ended) => ended,
        Err(error) => return Ok(Built::Failed(format!("{tool} cannot be run: {error}"))),
    };
    Ok(match ended {
        ended if ended.cause == Cause::Stopped => Built::Stopped,
        ended if ended.status.success() => Built::File(file),
        ended => {
            let reason = last_line(&ended.stderr).unwrap_or_else(|| ended.status.to_string());
            Built::Failed(format!("{tool} cannot build it: {reason}"))
        }
    })
}
