//! Writing to the caller: the one place where text leaves the runner, and where
//! it is made safe for a terminal. A reader that has gone away is no failure; a
//! full disk is one.

use std::fs;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use harness::terminal;

use crate::show::screen::Style;
use crate::store::results;

/// Writes text to standard output, with what would act on a terminal escaped;
/// JSON stays the same JSON.
///
/// # Errors
/// When standard output cannot be written, unless its reader has closed it.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_coloured(&terminal::text(text))
}

/// Writes text that is safe for a terminal already, and may have colours.
///
/// # Errors
/// As `print`.
pub fn print_coloured(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("writing to standard output")
        }
        _ => Ok(()),
    }
}

/// How a screen is written here: in colours on a terminal, unless NO_COLOR is set.
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

/// Writes text to the file that `--output` names, escaped likewise: what shows it
/// may be a terminal.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, terminal::text(text).as_bytes())
        .with_context(|| format!("--output {}", path.display()))
}

/// Writes text, escaped likewise, to a file in place of what has its name.
///
/// # Errors
/// When it cannot be written.
pub fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    results::replace(path, &terminal::text(text))
}

/// Where a page to look at is, as the last line that is printed.
pub fn page_at(path: &Path) -> String {
    format!("{}\n", path.display())
}

/// Writes one line to standard error, after the program's name.
pub fn complain(message: &str) {
    // Where standard error is gone there is nobody left to tell.
    let _ = writeln!(io::stderr(), "brigade: {}", terminal::line(message));
}
