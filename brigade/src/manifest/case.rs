//! A case: a program with its parameters.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::program::{CheckSize, parse_flags};
use super::rows::TaskKind;

/// A program with its parameters, and how it is run and reported.
#[derive(Clone, Debug)]
pub struct Case {
    /// What reports call it: for display, and a unique address for `--case`.
    pub name: String,
    /// The program to run.
    pub program: String,
    /// Value of `--placement`.
    pub placement: Placement,
    /// What distinguishes the case from others of its program; a sub-command
    /// stands first.
    pub flags: Vec<String>,
    /// How `brigade check` runs it, where not as its program says.
    pub check: Option<CheckSize>,
    /// The profiles that include the case.
    pub profiles: BTreeSet<String>,
    /// How long one invocation may take before it is killed, in seconds.
    pub timeout_seconds: u64,
    /// The least number of CPUs on which the case makes sense.
    pub needs_cpus: usize,
    /// Whether it makes no sense without io_uring.
    pub needs_io_uring: bool,
    /// Whether its tasks may block more often than the program claims, as they
    /// do where one that is woken finds a lock still held.
    pub may_block_more: bool,
    /// The case whose time reports subtract from this one's, round by round.
    pub baseline: Option<String>,
    /// What its tasks are in reports, where not what its program says.
    pub kind: Option<TaskKind>,
    /// Where its entry begins in the manifest, in bytes.
    pub(super) at: usize,
}

impl Case {
    /// What identifies the case.
    pub fn key(&self) -> CaseKey {
        CaseKey::new(&self.program, self.placement, &self.flags)
    }
}

/// What identifies a case: its program and its parameters. Two cases of one key
/// are one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CaseKey {
    /// The program.
    pub program: String,
    /// The flags that are given, by the names that records use: `resident_mib`
    /// for `--resident-mib`. A flag without a value has the value `true`, a
    /// sub-command is `subcommand`, and `placement` is always there.
    pub parameters: BTreeMap<String, String>,
}

impl CaseKey {
    fn new(program: &str, placement: Placement, flags: &[String]) -> Self {
        let mut parameters =
            BTreeMap::from([("placement".to_owned(), placement.as_str().to_owned())]);
        let given = parse_flags(flags).into_iter();
        parameters.extend(given.map(|(name, value)| {
            (name.unwrap_or("subcommand").replace('-', "_"), value.unwrap_or("true").to_owned())
        }));
        Self { program: program.to_owned(), parameters }
    }
}

/// Which CPUs the tasks of a case run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The kernel decides.
    #[default]
    Free,
    /// All on one.
    SameCpu,
    /// Neighbours on different ones.
    Spread,
}

impl Placement {
    /// All of them.
    pub(super) const ALL: [Self; 3] = [Self::Free, Self::SameCpu, Self::Spread];

    /// The value of `--placement`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::SameCpu => "same-cpu",
            Self::Spread => "spread",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(flags: &str) -> CaseKey {
        let flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
        CaseKey::new("fake", Placement::Free, &flags)
    }

    #[test]
    fn the_order_and_the_spelling_of_flags_do_not_matter() {
        assert_eq!(key("--via pipe --tasks 5"), key("--tasks=5 --via pipe"));
        assert_ne!(key("--via pipe"), key("--via futex"));
        assert_ne!(key("--self"), key(""));
        let spread = CaseKey::new("fake", Placement::Spread, &[]);
        assert_ne!(spread, key(""));
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
        let parameters = key("creation --resident-mib 8 --self --via fork").parameters;
        let found: Vec<_> = parameters.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(found, expected);
    }
}
