//! What baseline and candidate run: the same cases, with different binaries, under
//! different commands or with different flags.

use std::path::PathBuf;

use anyhow::Context;

use crate::commands::flags::CompareFlags;
use crate::commands::session::Session;
use crate::exit::UsageError;
use crate::manifest::Case;
use crate::measure::build::{self, Binaries};
use crate::measure::invoke::without_place;
use crate::measure::settings::{Content, write};
use crate::store::environment::Environment;

use crate::judge::compare::comparison::Described;
use crate::judge::compare::verdict::Pair;

/// The baseline or the candidate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Side {
    /// The folder of its binaries; `None` for those of the manifest.
    pub folder: Option<PathBuf>,
    /// The words of the command that runs its programs; none to run them
    /// directly.
    pub under: Vec<String>,
    /// Flags of its programs in addition to those of the case and the profile.
    pub with: Vec<String>,
    /// A setting of the machine in words, and what is written before each invocation.
    pub setting: Option<(String, Vec<Content>)>,
}

impl Side {
    /// The baseline and the candidate that the flags describe.
    ///
    /// # Errors
    /// [`UsageError`] if no flag is given twice, or one cannot be parsed.
    pub fn both(flags: &CompareFlags) -> anyhow::Result<Pair<Self>> {
        let given = [flags.bin.len(), flags.under.len(), flags.with.len()];
        if !given.contains(&2) {
            let advice = "compare: name the folders of two saved runs, or give --bin, --under or \
                          --with twice, for the baseline and the candidate";
            return Err(UsageError(advice.to_owned()).into());
        }
        let [first, second] = each("--bin", &flags.bin)?;
        let [first_under, second_under] = each("--under", &flags.under)?;
        let [first_with, second_with] = each("--with", &flags.with)?;
        let side = |folder, under: Option<String>, with: Option<String>| {
            anyhow::Ok(Self {
                folder,
                under: wrapper(&under.unwrap_or_default())?,
                with: words("--with", &with.unwrap_or_default())?,
                setting: None,
            })
        };
        Ok([side(first, first_under, first_with)?, side(second, second_under, second_with)?])
    }

    /// A description of the side, whose records are in the folder `records`.
    /// `workspace` is of where the manifest's programs were built.
    pub fn described(&self, records: String, workspace: &Environment) -> Described {
        let shared = |words: &[String]| words.iter().map(|word| without_place(word)).collect();
        Described {
            records,
            revision: self.folder.is_none().then(|| workspace.revision()).flatten(),
            under: shared(&self.under),
            with: shared(&self.with),
            setting: self.setting.as_ref().map(|(text, _)| text.clone()),
        }
    }

    /// Makes the machine what this side is measured on.
    ///
    /// # Errors
    /// When a setting cannot be written.
    pub fn set(&self) -> anyhow::Result<()> {
        self.setting.as_ref().map_or(Ok(()), |(_, contents)| write(contents))
    }
}

/// The values of a flag for both sides: the same if it was given once.
fn each<T: Clone>(flag: &str, given: &[T]) -> Result<Pair<Option<T>>, UsageError> {
    match given {
        [] => Ok([None, None]),
        [both] => Ok([Some(both.clone()), Some(both.clone())]),
        [first, second] => Ok([Some(first.clone()), Some(second.clone())]),
        _ => Err(UsageError(format!(
            "{flag}: given {} times; give it once for both sides, or twice",
            given.len()
        ))),
    }
}

/// The words of the command that runs the programs. Where it begins with an
/// assignment such as `LANG=C`, that is `env`.
fn wrapper(command: &str) -> Result<Vec<String>, UsageError> {
    let mut words = words("--under", command)?;
    if words.first().is_some_and(|word| is_assignment(word)) {
        words.insert(0, "env".to_owned());
    }
    Ok(words)
}

/// Whether a shell would take a word as setting an environment variable.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| !c.is_ascii_digit()) && name.chars().all(is_word)
}

/// The words of `text`, split as a shell does.
fn words(flag: &str, text: &str) -> Result<Vec<String>, UsageError> {
    let unclosed = || UsageError(format!("{flag}: splitting '{text}' into words: close its quote"));
    shlex::split(text).ok_or_else(unclosed)
}

/// The binaries of both sides for `cases`; those of the manifest are built first
/// if a side needs them.
///
/// # Errors
/// [`UsageError`] if a folder lacks a binary; otherwise when the build fails.
pub fn binaries(
    sides: Pair<&Side>,
    cases: &[&Case],
    session: &mut Session,
) -> anyhow::Result<Pair<Binaries>> {
    let built = if sides.iter().any(|side| side.folder.is_none()) {
        session.binaries(cases)?
    } else {
        Binaries::new()
    };
    let of = |side: &Side| match &side.folder {
        None => Ok(built.clone()),
        Some(folder) => build::binaries_in(folder, session.manifest, cases)
            .with_context(|| format!("--bin: looking for programs in {}", folder.display())),
    };
    let [first, second] = sides.map(of);
    Ok([first?, second?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn flags(bin: &[&str], under: &[&str], with: &[&str]) -> CompareFlags {
        CompareFlags {
            bin: bin.iter().map(PathBuf::from).collect(),
            under: strings(under),
            with: strings(with),
            ..CompareFlags::default()
        }
    }

    #[test]
    fn a_flag_given_once_holds_for_both_sides() {
        let sides = Side::both(&flags(&["old", "new"], &["taskset -c 1"], &[])).unwrap();
        let side = |folder: &str| Side {
            folder: Some(folder.into()),
            under: strings(&["taskset", "-c", "1"]),
            ..Side::default()
        };
        assert_eq!(sides, [side("old"), side("new")]);
    }

    #[test]
    fn words_are_split_as_a_shell_does() {
        let sides = Side::both(&flags(&[], &[], &["--work 5 --name 'a b'", ""])).unwrap();
        assert_eq!(sides[0].with, strings(&["--work", "5", "--name", "a b"]));
        assert_eq!(sides[1], Side::default());
    }
}
