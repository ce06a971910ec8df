//! A program of the manifest: its file, its needs, and the form of its output. A case is a program
//! with parameters.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use harness::limits::Kind;
pub use harness::placement::Policy as Placement;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::plans::TaskKind;

/// A program that measures one thing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Program {
    path: Option<PathBuf>,
    build: Option<Build>,
    /// A command that runs the file, such as `python3`; empty for a binary.
    #[serde(default)]
    pub interpreter: Vec<String>,
    /// The form of its output.
    #[serde(default)]
    pub form: Form,
    /// Tools that must be installed.
    #[serde(default)]
    pub needs: Vec<Tool>,
    /// The kind of its tasks, if the runner must check their limits.
    pub tasks: Option<Kind>,
    /// The kind of its tasks in reports, unless a case overrides it; `None` if nothing is handed
    /// over or created.
    pub kind: Option<TaskKind>,
    /// The size at which `brigade check` runs it.
    pub check: CheckSize,
    /// Rules for cases with certain flags.
    #[serde(default)]
    pub with: Vec<Rule>,
    /// The title of its cases, with `{flag}` for the value of a flag.
    pub title: Option<String>,
    /// Default values of flags, for the title.
    #[serde(default)]
    pub defaults: BTreeMap<String, String>,
}

impl Program {
    /// The origin of its file.
    pub fn source(&self) -> Source<'_> {
        match (&self.path, &self.build) {
            (Some(path), _) => Source::Path(path),
            (None, Some(build)) => Source::Built(build),
            (None, None) => Source::Contained,
        }
    }
}

impl<'de> Deserialize<'de> for Program {
    fn deserialize<D: Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
        let program = Self::deserialize(table)?;
        let built = program.build.iter().map(|build| &build.command);
        let mut commands = built.chain(program.needs.iter().map(|tool| &tool.command));
        if program.path.is_some() && program.build.is_some() {
            Err(D::Error::custom("a program has either `path` or `build`"))
        } else if commands.any(Vec::is_empty) {
            Err(D::Error::custom("a `command` needs at least one word"))
        } else {
            Ok(program)
        }
    }
}

/// Overrides for a program's cases with certain flags; a case overrides them in
/// turn.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    flags: Vec<String>,
    /// The size at which `brigade check` runs them.
    pub check: Option<CheckSize>,
    /// The kind of their tasks in reports.
    pub kind: Option<TaskKind>,
    /// The fewest CPUs they need.
    pub needs_cpus: Option<usize>,
    /// Whether they need io_uring.
    #[serde(default)]
    pub needs_io_uring: bool,
    /// Their title, instead of the program's.
    pub title: Option<String>,
}

impl Rule {
    /// Whether it applies to a case with these flags.
    pub(super) fn applies(&self, flags: &[(Option<&str>, Option<&str>)]) -> bool {
        parse_flags(&self.flags).iter().all(|flag| flags.contains(flag))
    }
}

/// The origin of a program's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// This binary, which contains the program.
    Contained,
    /// An existing file; relative to the folder of guests.
    Path(&'a Path),
    /// A file that a command builds.
    Built(&'a Build),
}

/// How to build a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// The folder to build in, relative to that of guests.
    #[serde(rename = "in")]
    pub folder: PathBuf,
    /// The command; the word `{output}` is replaced by the path of the file.
    pub command: Vec<String>,
}

/// The form of a program's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A complete record.
    #[default]
    Record,
    /// Laps; the runner builds the record.
    Laps,
}

/// A tool that must be installed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// The command that prints its version.
    pub command: Vec<String>,
    /// The oldest suitable version, such as `1.21`.
    pub version: Option<String>,
}

/// The size of a check, and the number of operations to expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSize {
    /// Value of `--tasks`; `None` for a program without that flag.
    pub tasks: Option<u64>,
    /// Value of `--iters`.
    pub iters: u64,
    /// Value of `--warmups`.
    pub warmups: u64,
    /// Operations in one sample of the principal measurement at this size;
    /// `None` to skip the check.
    pub operations: Option<u64>,
}

/// The name of each flag, without dashes, and its value, if any; a subcommand
/// is a value without a name.
pub(super) fn parse_flags(words: &[String]) -> Vec<(Option<&str>, Option<&str>)> {
    let mut words = words.iter().map(String::as_str).peekable();
    let mut flags = Vec::new();
    while let Some(word) = words.next() {
        flags.push(match word.strip_prefix("--") {
            None => (None, Some(word)),
            Some(flag) => match flag.split_once('=') {
                Some((name, value)) => (Some(name), Some(value)),
                None => (Some(flag), words.next_if(|next| !next.starts_with("--"))),
            },
        });
    }
    flags
}

/// A program with parameters, and how to run and report it.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its unique name, for reports and `--case`.
    pub name: String,
    /// A title for readers who do not know it; overrides the program's.
    pub title: Option<String>,
    /// The program to run.
    pub program: String,
    /// Value of `--placement`.
    pub placement: Placement,
    /// Flags that distinguish it from other cases of its program; a subcommand
    /// comes first.
    pub flags: Vec<String>,
    /// The size at which `brigade check` runs it; overrides the program's.
    pub check: Option<CheckSize>,
    /// The profiles that include the case.
    pub profiles: BTreeSet<String>,
    /// Time-out of one invocation, in seconds.
    pub timeout_seconds: u64,
    /// The fewest CPUs it needs.
    pub needs_cpus: usize,
    /// Whether it needs io_uring.
    pub needs_io_uring: bool,
    /// Whether its tasks may block more often than the program claims, because
    /// a woken task may find a lock still held.
    pub may_block_more: bool,
    /// The case whose time reports subtract from this one's, round by round.
    pub baseline: Option<String>,
    /// The kind of its tasks in reports; overrides the program's.
    pub kind: Option<TaskKind>,
    /// Where its entry begins in the manifest, in bytes.
    pub(super) at: usize,
}

impl Case {
    /// The flags, by their names in records: `resident_mib` for `--resident-mib`. A flag without a
    /// value has the value `true`, a subcommand is `subcommand`, and `placement` is always
    /// included. Two cases of a program with the same parameters are the same.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        parameters(self.placement, &self.flags)
    }
}

fn parameters(placement: Placement, flags: &[String]) -> BTreeMap<String, String> {
    let given = parse_flags(flags).into_iter().map(|(name, value)| {
        (name.unwrap_or("subcommand").replace('-', "_"), value.unwrap_or("true").to_owned())
    });
    let placement = ("placement".to_owned(), placement.as_str().to_owned());
    [placement].into_iter().chain(given).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(flags: &str) -> BTreeMap<String, String> {
        let flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
        parameters(Placement::Free, &flags)
    }

    #[test]
    fn the_order_and_the_spelling_of_flags_do_not_matter() {
        assert_eq!(key("--via pipe --tasks 5"), key("--tasks=5 --via pipe"));
        assert_ne!(key("--via pipe"), key("--via futex"));
        assert_ne!(key("--self"), key(""));
        assert_ne!(parameters(Placement::Spread, &[]), key(""));
    }

    #[test]
    fn parameters_have_the_names_that_records_use() {
        let expected = [
            ("placement", "free"),
            ("resident_mib", "8"),
            ("self", "true"),
            ("subcommand", "creation"),
            ("via", "fork"),
        ];
        let parameters = key("creation --resident-mib 8 --self --via fork");
        let found: Vec<_> = parameters.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(found, expected);
    }
}
