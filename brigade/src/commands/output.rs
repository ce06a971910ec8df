//! All output of the runner, made safe for a terminal. A closed pipe is not an
//! error; a full disk is.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
pub use harness::program::{print, print_coloured};
use harness::terminal;
use nix::unistd::{AccessFlags, access};
use serde::Serialize;
use terminal_size::{Height, Width, terminal_size_of};

use crate::store::results;
use crate::store::warnings::Warnings;

/// Whether to print a screen in colour: on a terminal, unless NO_COLOR is set.
pub fn has_colours() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb()
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term == "dumb")
}

/// A screen that is drawn again and again in one place, if standard error is a terminal. Dropping it
/// clears it.
#[derive(Debug, Default)]
pub struct Live {
    /// The lines on the terminal.
    lines: usize,
    /// When they were drawn, and how long that took.
    drawn: Option<(Instant, Duration)>,
    /// When the last line was written, or could have been.
    written: Option<Instant>,
}

/// How often a run without a screen prints its progress.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// Drawing takes at most one part in so many of the time: the longer a run, the longer a draw takes.
const TIMES_BETWEEN: u32 = 50;

/// A person waits no longer for a drawing, even if others take the CPU while one is made.
const LONGEST_BETWEEN: Duration = Duration::from_secs(10);

impl Live {
    /// Draws `text` over what was drawn before, cut to the terminal, unless it drew a moment ago.
    pub fn draw(&mut self, text: impl FnOnce() -> String) {
        let Some(most) = lines_of_terminal() else { return };
        if self.drawn.is_some_and(|(ended, took)| ended.elapsed() < pause_after(took)) {
            return;
        }
        let began = Instant::now();
        let text = text();
        // Erased before it is written: after a line of 80 columns the cursor is still in the last.
        let lines: Vec<String> =
            text.lines().take(most - 1).map(|line| format!("\x1b[K{line}\n")).collect();
        let to_first_line = self.cursor_to_first_line();
        self.lines = lines.len();
        // Without wrapping, so that each line takes one.
        show(&format!("{to_first_line}\x1b[?7l{}\x1b[J\x1b[?7h", lines.concat()));
        self.drawn = Some((Instant::now(), began.elapsed()));
    }

    /// Says every 30 seconds how far a run is if standard error shows no screen: in a log, or on a
    /// dumb terminal.
    pub fn log(&mut self, line: impl FnOnce() -> String) {
        if lines_of_terminal().is_none() && is_due(&mut self.written, Instant::now()) {
            warn(&line());
        }
    }

    /// Says on a terminal without a screen what takes a while.
    pub fn note(&self, message: &str) {
        if self.lines == 0 && is_read() {
            warn(message);
        }
    }

    /// What moves the cursor to the first line.
    fn cursor_to_first_line(&self) -> String {
        if self.lines > 0 { format!("\x1b[{}F", self.lines) } else { String::new() }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if self.lines > 0 {
            show(&format!("{}\x1b[J", self.cursor_to_first_line()));
        }
    }
}

/// The time until the next drawing after one that took so long.
fn pause_after(took: Duration) -> Duration {
    LONGEST_BETWEEN.min(TIMES_BETWEEN * took)
}

/// Whether a line is due: the first one [`BETWEEN_LINES`] after the first question.
fn is_due(written: &mut Option<Instant>, now: Instant) -> bool {
    let last = *written.get_or_insert(now);
    let is_due = now.saturating_duration_since(last) >= BETWEEN_LINES;
    if is_due {
        *written = Some(now);
    }
    is_due
}

/// Whether a person reads standard error.
pub fn is_read() -> bool {
    io::stderr().is_terminal()
}

/// Writes to the terminal in one go, so that it does not flicker.
fn show(text: &str) {
    // A terminal that is gone shows nothing.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// The height of the terminal on standard error; `None` without one that can move its cursor.
pub fn lines_of_terminal() -> Option<usize> {
    let height = || terminal_size_of(io::stderr()).map_or(24, |(_, Height(rows))| rows.into());
    (io::stderr().is_terminal() && !is_dumb()).then(height)
}

/// The height of the terminal on standard output; `None` without one.
pub fn height() -> Option<usize> {
    let (_, Height(rows)) = terminal_size_of(io::stdout())?;
    Some(rows.into())
}

/// The width of the terminal on standard output; `None` without one.
pub fn width() -> Option<usize> {
    let (Width(columns), _) = terminal_size_of(io::stdout())?;
    Some(columns.into())
}

/// A value as a line of JSON.
///
/// # Errors
/// Never: nothing that is printed has keys that JSON does not allow.
pub fn json(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string(value)? + "\n")
}

/// Writes text to a file, escaped: it may be shown on a terminal. The file may be in a stranger's
/// folder, so nothing is written through a link, or into a pipe that nobody reads.
///
/// # Errors
/// If it cannot be written, or exists and is no regular file.
pub fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let written = || -> anyhow::Result<()> {
        check_free(path)?;
        Ok(results::write(path, &terminal::text(text))?)
    };
    written().with_context(|| writing(path))
}

/// Checks that a file can be written later.
///
/// # Errors
/// As [`write()`].
pub fn check_file(path: &Path) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    check_free(path).and_then(|()| check_folder(folder)).with_context(|| writing(path))
}

fn writing(path: &Path) -> String {
    format!("writing {}", path.display())
}

fn check_free(path: &Path) -> anyhow::Result<()> {
    let is_free = fs::symlink_metadata(path).map_or(true, |found| found.is_file());
    ensure!(is_free, "it is a link, or no regular file: remove it, or name another");
    Ok(())
}

/// Checks that files can be created in a folder.
///
/// # Errors
/// Why not.
pub fn check_folder(folder: &Path) -> anyhow::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    access(&folder.join("."), AccessFlags::W_OK | AccessFlags::X_OK)?;
    Ok(())
}

/// Warns of what cannot be used of the run in this folder.
pub fn warn_of(path: &Path, warnings: &Warnings) {
    for warning in warnings.lines() {
        warn(&format!("{}: {warning}", path.display()));
    }
}

/// The name of a run: that of its folder.
pub fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Warns of what a command may come across several times.
pub fn warn_once(message: &str) {
    static GIVEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let is_new = GIVEN.lock().is_ok_and(|mut given| given.insert(message.to_owned()));
    if is_new {
        warn(message);
    }
}

/// Writes one line to standard error, after the program's name.
pub fn warn(message: &str) {
    // Without standard error, nobody can read the warning.
    let _ = writeln!(io::stderr(), "brigade: {}", terminal::message(message));
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_log_gets_a_line_every_30_seconds() {
        let begun = Instant::now();
        let mut written = None;
        let lines =
            (0..100).filter(|second| is_due(&mut written, begun + Duration::from_secs(*second)));
        assert_eq!(lines.collect::<Vec<_>>(), [30, 60, 90]);
    }

    #[test]
    fn a_screen_is_drawn_rarely_but_every_10_seconds() {
        let pauses = [0, 10, 200, 2000].map(|ms| pause_after(Duration::from_millis(ms)));
        assert_eq!(pauses.map(|pause| pause.as_millis()), [0, 500, 10_000, 10_000]);
    }

    #[test]
    fn without_a_terminal_no_screen_is_worked_out() {
        if lines_of_terminal().is_some() {
            contract::skip("a screen that nobody sees", "standard error is a terminal");
            return;
        }
        let mut live = Live::default();
        live.draw(|| panic!("nobody sees it"));
        assert_eq!((live.lines, live.drawn), (0, None));
    }

    /// Set in a terminal in which this test draws instead of checking.
    const DRAWS: &str = "BRIGADE_TEST_DRAWS";

    /// Lines that fill the terminal's width; the last column of each shows its number.
    fn text(lines: usize, mark: char) -> String {
        (0..lines).map(|at| format!("{}{}\n", mark.to_string().repeat(79), at % 10)).collect()
    }

    #[test]
    fn a_terminal_shows_every_column_of_the_live_screen() {
        if std::env::var_os(DRAWS).is_some() {
            let mut live = Live::default();
            live.draw(|| text(60, 'a'));
            live.drawn = None;
            live.draw(|| text(10, 'b') + "end\n");
            live.drawn = live.drawn.map(|(ended, _)| (ended, Duration::from_secs(60)));
            live.draw(|| text(20, 'c'));
            // Until the terminal closes.
            let _ = io::stdin().read(&mut [0]);
            return;
        }
        if !contract::can("the live screen in a terminal", Command::new("tmux").arg("-V")) {
            return;
        }
        for (columns, rows) in [("80", "24"), ("80", "45"), ("120", "50")] {
            let socket = format!("brigade-test-{}-{columns}-{rows}", std::process::id());
            let tmux = |words: &[&str]| {
                let mut command = Command::new("tmux");
                command.args(["-L", &socket, "-f", "/dev/null"]).args(words);
                command.output().expect("tmux")
            };
            let own = std::env::current_exe().expect("the test's program");
            let name = "commands::output::tests::a_terminal_shows_every_column_of_the_live_screen";
            let command = format!(
                "exec {} --exact {name} --nocapture",
                shlex::try_quote(&own.to_string_lossy()).expect("a path")
            );
            let draws = format!("{DRAWS}=1");
            tmux(&["new-session", "-d", "-x", columns, "-y", rows, "-e", &draws, &command]);
            let begun = Instant::now();
            let mut shown = String::new();
            while !shown.contains("end") && begun.elapsed() < Duration::from_secs(60) {
                shown = String::from_utf8_lossy(&tmux(&["capture-pane", "-p"]).stdout).into_owned();
            }
            tmux(&["kill-server"]);
            let expected = text(10, 'b') + "end";
            assert!(shown.contains(&expected), "{columns}×{rows}:\n{shown}");
            // The third draw comes too soon after the second.
            assert!(!shown.contains(['a', 'c']), "{columns}×{rows}:\n{shown}");
        }
    }
}
