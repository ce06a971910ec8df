//! All output of the runner, made safe for a terminal. A closed pipe is not an
//! error; a full disk is.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
pub use harness::program::{print, print_coloured};
use harness::terminal;

use crate::show::screen::Style;
use crate::store::results::{self, SavedRun};

/// How to print a screen: in colour on a terminal, unless NO_COLOR is set.
pub fn style() -> Style {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let colours = io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb;
    Style { colours, ascii: is_ascii() }
}

/// Whether the caller's locale is not UTF-8.
fn is_ascii() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"].map(std::env::var_os);
    let locale = names.into_iter().flatten().find(|value| !value.is_empty());
    let locale = locale.unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    !(locale.contains("utf-8") || locale.contains("utf8"))
}

/// Writes text to the `--output` file, escaped likewise: it may be shown on a terminal.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, terminal::text(text).as_bytes())
        .with_context(|| format!("writing {}", path.display()))
}

/// Replaces a file by this text, escaped likewise.
///
/// # Errors
/// If it cannot be written.
pub fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    results::replace(path, &terminal::text(text))
}

/// Reads a saved run. Warns of what cannot be used.
///
/// # Errors
/// If `path` contains no run.
pub fn read(path: &Path) -> anyhow::Result<SavedRun> {
    let saved = SavedRun::read(path)?;
    for warning in &saved.warnings {
        warn(&format!("{}: {warning}", path.display()));
    }
    Ok(saved)
}

/// Writes one line to standard error, after the program's name.
pub fn warn(message: &str) {
    // Without standard error, nobody can read the warning.
    let _ = writeln!(io::stderr(), "brigade: {}", terminal::line(message));
}
