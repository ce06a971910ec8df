//! The command of a run, ready to paste. The run may be a stranger's, so nothing but `brigade run` is
//! printed, with groups, cases and the flags that this command records.

use harness::terminal;

use super::page::unbroken;
use crate::judge::report::{OTHER_MANIFEST, RunSummary};
use crate::shell::quoted;

/// The flags that a run records, each with a value.
const RECORDED: [&str; 3] = ["--rounds", "--time", "--seed"];
/// The flags that bound a run's length.
const BOUNDS: [&str; 2] = ["--rounds", "--time"];

/// How long a run is suggested whose default length shows nothing, in seconds.
const LONG_SECONDS: &str = "600";

/// The words after `brigade run`; `None` of another command, or if there are other flags.
fn own_words(run: &RunSummary) -> Option<&[String]> {
    let (words, _) = run.command_and_manifest();
    let [program, command, words @ ..] = words else { return None };
    let is_known = |word: &String| RECORDED.contains(&&**word) || !word.starts_with('-');
    let is_ours = program == "brigade" && command == "run" && words.iter().all(is_known);
    is_ours.then_some(words)
}

/// The command that repeats a run; `None` if the run does not have it.
pub fn repeating(run: &RunSummary) -> Option<String> {
    own_words(run)?;
    Some(terminal::line(&quoted(run.command.iter().map(String::as_str))))
}

/// The command for the same groups and cases; `None` if the run does not have it.
pub fn same_cases(run: &RunSummary) -> Option<String> {
    let mut words = own_words(run)?.iter();
    let mut kept = vec!["brigade", "run"];
    while let Some(word) = words.next() {
        if RECORDED.contains(&&**word) {
            // The flag's value is no name.
            words.next();
        } else {
            kept.push(word);
        }
    }
    let (_, has_manifest) = run.command_and_manifest();
    if has_manifest {
        kept.extend(OTHER_MANIFEST);
    }
    Some(unbroken(&terminal::line(&quoted(kept))))
}

/// The command for a longer run of the same groups and cases: of the default length, or more.
pub fn longer(run: &RunSummary) -> Option<String> {
    let mut command = same_cases(run)?;
    let is_bounded = run.command.iter().any(|word| BOUNDS.contains(&&**word));
    if !is_bounded {
        command += &unbroken(&format!(" --time {LONG_SECONDS}"));
    }
    Some(command)
}
