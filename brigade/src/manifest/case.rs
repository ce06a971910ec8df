//! Cases: command lines of programs. The line is the case's name.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::OnceLock;

use clap::ValueEnum as _;
use harness::TaskKind;
use harness::anonymous;
pub use harness::placement::Policy as Placement;
use serde::Deserialize;

use super::nearest::did_you_mean;
use crate::bounds::{LONGEST_CASE, MOST_CASES};

/// Flags that decide how long a case measures, not what: they are in no name.
const EFFORT: [&str; 3] = ["iters", "max_time", "warmups"];

/// How `brigade check` runs a case without a rule about that.
const CHECK: &str = "--tasks 20 --iters 50 --warmups 5";

/// The longest line with alternatives, in characters.
const LONGEST_LINE: usize = 4000;

/// The time-out of an invocation, in seconds.
const TIMEOUT_SECONDS: u64 = 60;

/// The name of each flag, without dashes, and its value, if any; a word before the flags is a value
/// without a name.
type Pairs<'a> = Vec<(Option<&'a str>, Option<&'a str>)>;

/// A program with parameters, and how to run and report it.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its unique name: its command line without `flags` that decide how long it measures.
    pub name: String,
    /// The program to run.
    pub program: String,
    /// Value of `--placement`.
    pub placement: Placement,
    /// The other words of the command: a subcommand first.
    pub flags: Vec<String>,
    /// The flags, by their names in records: `resident_mib` for `--resident-mib`. A flag without a
    /// value has the value `true`, a subcommand is `subcommand`, and `placement` is always
    /// included.
    pub parameters: BTreeMap<String, String>,
    /// The parameters without the program's defaults. Two cases of a program in which they are the
    /// same are one case.
    pub(super) identity: BTreeMap<String, String>,
    /// The flags with which `brigade check` runs it.
    pub check: Vec<String>,
    /// Time-out of one invocation, in seconds.
    pub timeout_seconds: u64,
    /// The most rounds in a run of the first screen, whose other cases need more; `None` for all.
    pub rounds: Option<u32>,
    /// The fewest CPUs it needs.
    pub needs_cpus: usize,
    /// Whether it needs io_uring.
    pub needs_io_uring: bool,
    /// What its tasks are, once somebody has asked.
    pub(super) kind: OnceLock<Option<TaskKind>>,
}

/// More about the cases that have certain words.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The words; a flag without a value matches any. In the file with alternatives.
    words: String,
    /// The words as flags and values: hundreds of cases look for them.
    #[serde(skip)]
    wanted: Vec<(Option<String>, Option<String>)>,
    /// Flags in addition to the case's.
    flags: Option<String>,
    /// The flags with which `brigade check` runs them.
    check: Option<String>,
    /// The most rounds in a run of the first screen.
    rounds: Option<NonZero<u32>>,
    needs_cpus: Option<usize>,
    #[serde(default)]
    needs_io_uring: bool,
    timeout_seconds: Option<u64>,
}

impl Rule {
    /// The rules that one with alternatives stands for.
    pub(super) fn expanded(self) -> Result<Vec<Self>, String> {
        let lines = expand(&self.words).map_err(|reason| format!("rules: {reason}"))?;
        let owned = |word: Option<&str>| word.map(str::to_owned);
        let with_words = |words: String| {
            let wanted = pairs(words.split_whitespace()).into_iter();
            let wanted = wanted.map(|(name, value)| (owned(name), owned(value))).collect();
            Self { words, wanted, ..self.clone() }
        };
        Ok(lines.into_iter().map(with_words).collect())
    }

    fn applies(&self, given: &Pairs) -> bool {
        let has = |(name, value): &(Option<String>, Option<String>)| {
            has_flag(given, name.as_deref(), value.as_deref())
        };
        self.wanted.iter().all(has)
    }
}

/// Whether this flag is given; without a value it matches any.
fn has_flag(given: &Pairs, name: Option<&str>, value: Option<&str>) -> bool {
    given.iter().any(|pair| pair.0 == name && (value.is_none() || pair.1 == value))
}

impl Case {
    /// The case with this command line. `defaults` are flags of its program that make no
    /// difference.
    pub(super) fn parse(line: &str, defaults: &Defaults, rules: &[Rule]) -> Result<Self, String> {
        let given = pairs(line.split_whitespace());
        let Some((None, Some(program))) = given.first().copied() else {
            return Err(format!("'{line}' does not begin with a program"));
        };
        let rules: Vec<&Rule> = rules.iter().filter(|rule| rule.applies(&given)).collect();
        let mut placement = Placement::Free;
        let mut flags = Vec::new();
        for (name, value) in &given[1..] {
            if *name == Some("placement") {
                let value = value.unwrap_or_default();
                placement = Placement::from_str(value, false)
                    .map_err(|_| format!("'{line}': {}", unknown_placement(value)))?;
            } else {
                if let Some(name) = name {
                    flags.push(format!("--{name}"));
                }
                if let Some(value) = value {
                    flags.push((*value).to_owned());
                }
            }
        }
        // A name is recorded, so it shows no folder.
        let mut name = anonymous::command(&[&[program.to_owned()], &flags[..]].concat().join(" "));
        if placement != Placement::Free {
            name += &format!(" --placement {}", harness::flags::name(&placement));
        }
        let length = name.chars().count();
        if length > LONGEST_CASE {
            let name: String = name.chars().take(60).collect();
            return Err(format!("'{name}…' has {length} characters, more than {LONGEST_CASE}"));
        }
        let more = rules.iter().find_map(|rule| rule.flags.as_deref()).unwrap_or_default();
        flags.extend(words(more));
        let mut parameters = parameters(flags.iter().map(String::as_str));
        parameters.retain(|name, _| !EFFORT.contains(&&**name));
        for value in parameters.values_mut() {
            *value = anonymous::command(value);
        }
        parameters.insert("placement".to_owned(), harness::flags::name(&placement));
        let check = rules.iter().find_map(|rule| rule.check.as_deref());
        let least_cpus = if placement == Placement::Spread { 2 } else { 1 };
        let needs_cpus = rules.iter().find_map(|rule| rule.needs_cpus).unwrap_or(1);
        let timeout = rules.iter().find_map(|rule| rule.timeout_seconds);
        Ok(Self {
            name,
            program: program.to_owned(),
            placement,
            flags,
            identity: identity(&parameters, defaults),
            parameters,
            check: words(check.unwrap_or(CHECK)),
            timeout_seconds: timeout.unwrap_or(TIMEOUT_SECONDS),
            rounds: rules.iter().find_map(|rule| rule.rounds).map(NonZero::get),
            needs_cpus: needs_cpus.max(least_cpus),
            needs_io_uring: rules.iter().any(|rule| rule.needs_io_uring),
            kind: OnceLock::new(),
        })
    }

    /// Whether its command line has these words; a flag without a value matches any.
    pub(super) fn has(&self, words: &str) -> bool {
        let given = pairs(self.flags.iter().map(String::as_str));
        pairs(words.split_whitespace()).iter().all(|(name, value)| has_flag(&given, *name, *value))
    }

    /// All its flags, with its placement.
    pub(super) fn all_flags(&self) -> Vec<String> {
        let placement = ["--placement".to_owned(), harness::flags::name(&self.placement)];
        self.flags.iter().cloned().chain(placement).collect()
    }
}

/// Names the unknown placement and the nearest known one.
fn unknown_placement(value: &str) -> String {
    let known: Vec<String> = Placement::value_variants().iter().map(harness::flags::name).collect();
    let nearest = did_you_mean(value, known.iter().map(String::as_str));
    format!("unknown placement '{value}'; use one of {}{nearest}", known.join(", "))
}

/// The flags of a program that make no difference, by their names in records.
pub(super) type Defaults = BTreeMap<String, String>;

/// What identifies a case of a program, with these parameters.
pub(super) fn identity(
    parameters: &BTreeMap<String, String>,
    defaults: &Defaults,
) -> BTreeMap<String, String> {
    let mut others = parameters.clone();
    others.retain(|name, value| !EFFORT.contains(&&**name) && defaults.get(name) != Some(value));
    others
}

pub(super) fn parameters<'a>(words: impl Iterator<Item = &'a str>) -> BTreeMap<String, String> {
    named(words).into_iter().collect()
}

/// The program of a command line.
pub fn program_of(line: &str) -> &str {
    line.split_whitespace().next().unwrap_or_default()
}

/// The flags of a command line in their order, by their names in records, each with its value; as
/// parameters have them.
pub fn flags_of(line: &str) -> Vec<(String, String)> {
    named(line.split_whitespace().skip(1))
}

fn named<'a>(words: impl Iterator<Item = &'a str>) -> Vec<(String, String)> {
    let named = |(name, value): (Option<&str>, Option<&str>)| {
        (name.unwrap_or("subcommand").replace('-', "_"), value.unwrap_or("true").to_owned())
    };
    pairs(words).into_iter().map(named).collect()
}

/// The words of a text.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn pairs<'a>(words: impl Iterator<Item = &'a str>) -> Pairs<'a> {
    let mut words = words.peekable();
    let mut pairs = Vec::new();
    while let Some(word) = words.next() {
        pairs.push(match word.strip_prefix("--") {
            None => (None, Some(word)),
            Some(flag) => match flag.split_once('=') {
                Some((name, value)) => (Some(name), Some(value)),
                None => (Some(flag), words.next_if(|next| !next.starts_with("--"))),
            },
        });
    }
    pairs
}

/// The command line of a case without one of its flags, given by its name in records, and the flag's
/// value.
pub fn without_flag(line: &str, parameter: &str) -> String {
    let is_other = |(name, _): &(Option<&str>, Option<&str>)| {
        name.is_none_or(|name| name.replace('-', "_") != parameter)
    };
    let mut words = Vec::new();
    for (name, value) in pairs(line.split_whitespace()).into_iter().filter(is_other) {
        words.extend(name.map(|name| format!("--{name}")));
        words.extend(value.map(str::to_owned));
    }
    words.join(" ")
}

/// The lines that a line with alternatives, `{a,b}`, stands for; the last alternatives vary fastest.
pub(super) fn expand(line: &str) -> Result<Vec<String>, String> {
    let length = line.chars().count();
    if length > LONGEST_LINE {
        let line: String = line.chars().take(60).collect();
        return Err(format!("'{line}…' has {length} characters, more than {LONGEST_LINE}"));
    }
    let count =
        |braces: &str| braces.split('}').next().map_or(1, |inside| inside.split(',').count());
    let lines = line.split('{').skip(1).map(count).fold(1, usize::saturating_mul);
    if lines > MOST_CASES {
        return Err(format!("'{line}' stands for {lines} cases, more than {MOST_CASES}"));
    }
    alternatives(line)
}

fn alternatives(line: &str) -> Result<Vec<String>, String> {
    let trouble = || format!("'{line}': close each {{ with a }}, and put none inside another");
    let Some((before, rest)) = line.split_once(['{', '}']) else {
        return Ok(vec![line.to_owned()]);
    };
    let (inside, after) = rest.split_once('}').ok_or_else(trouble)?;
    if !line[before.len()..].starts_with('{') || inside.contains('{') {
        return Err(trouble());
    }
    let ends = alternatives(after)?;
    let with = |value: &str| {
        let begin = format!("{before}{value}");
        ends.iter().map(move |end| format!("{begin}{end}")).collect::<Vec<_>>()
    };
    Ok(inside.split(',').flat_map(with).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Case {
        let rule = "words = '--via spin'\nneeds_cpus = 3\nflags = '--max-time 2'";
        let rules = toml::from_str::<Rule>(rule).unwrap().expanded().unwrap();
        let defaults = Defaults::from([("kind".to_owned(), "thread".to_owned())]);
        Case::parse(line, &defaults, &rules).unwrap()
    }

    #[test]
    fn a_name_leaves_out_free_and_puts_the_placement_last() {
        for (line, name) in [
            ("p --placement free  --kind thread", "p --kind thread"),
            (
                "p sub --placement spread --via=pipe --self",
                "p sub --via pipe --self --placement spread",
            ),
            ("p --kind process --via spin", "p --kind process --via spin"),
        ] {
            assert_eq!(parsed(line).name, name);
            assert_eq!(parsed(name).parameters, parsed(line).parameters);
        }
        for line in ["--via pipe", "", "p --placement near", "p --placement"] {
            Case::parse(line, &Defaults::new(), &[]).unwrap_err();
        }
    }

    #[test]
    fn a_default_makes_no_other_case() {
        let identity = |line| parsed(line).identity;
        assert_eq!(identity("p --kind thread --via pipe"), identity("p --via=pipe --iters 5"));
        assert_ne!(identity("p --kind process"), identity("p"));
        assert_ne!(identity("p --placement spread"), identity("p"));
    }

    #[test]
    fn a_line_without_a_flag_has_the_others() {
        for (line, expected) in [
            ("p --tasks 5 --b c", "p --b c"),
            ("p sub --b --tasks=5", "p sub --b"),
            ("p --tasks 5", "p"),
            ("p", "p"),
        ] {
            assert_eq!(without_flag(line, "tasks"), expected);
        }
        assert_eq!(without_flag("p --greedy-for 5 --greedy 1", "greedy_for"), "p --greedy 1");
    }

    #[test]
    fn a_rule_adds_what_its_cases_need() {
        let spin = parsed("p --via spin");
        let pipe = parsed("p --via pipe --placement spread");
        assert_eq!((spin.needs_cpus, pipe.needs_cpus), (3, 2));
        assert!(spin.has("--via spin") && spin.has("--via") && !pipe.has("--via spin"));
        assert_eq!(spin.flags, ["--via", "spin", "--max-time", "2"]);
        assert_eq!(spin.parameters.len(), 2, "how long it measures is not part of a case");
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
        let parameters = parsed("p creation --resident-mib 8 --self --via fork").parameters;
        let found: Vec<_> = parameters.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(found, expected);
        let flags = flags_of("p creation --resident-mib 8 --self");
        let flags: Vec<_> = flags.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(flags, [("subcommand", "creation"), ("resident_mib", "8"), ("self", "true")]);
    }

    #[test]
    fn alternatives_make_every_combination() {
        let all = ["p --a 1 --b 3", "p --a 1 --b 4", "p --a 2 --b 3", "p --a 2 --b 4"];
        assert_eq!(expand("p --a {1,2} --b {3,4}").unwrap(), all);
        assert_eq!(expand("p{, --a}").unwrap(), ["p", "p --a"]);
        assert_eq!(expand("{p,q r}").unwrap(), ["p", "q r"]);
        for line in ["p {a", "p a}", "p {a,{b}}", "p }a{"] {
            expand(line).unwrap_err();
        }
        let error = expand(&format!("p {}", "{1,2}".repeat(20))).unwrap_err();
        assert!(error.contains("1048576 cases, more than 2000"), "{error}");
        let error = expand(&format!("p {}", "x".repeat(100_000))).unwrap_err();
        assert!(
            error.contains("100002 characters, more than 4000") && error.len() < 150,
            "{error}"
        );
    }
}
