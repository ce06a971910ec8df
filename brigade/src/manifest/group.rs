//! Groups: the questions of the suite, each with the cases that answer it. An
//! entry of a group is one case or, with axes, one case for every combination
//! of their values.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use clap::ValueEnum as _;
use serde::Deserialize;
use toml::Spanned;

use super::plans::{FigureSpec, TaskKind};
use super::program::{Case, CheckSize, Placement, Program, Rule, parse_flags};
use super::{Complaint, Manifest};
use crate::exit::UsageError;

/// A question and the cases that answer it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Its name on the command line.
    pub name: String,
    /// The question in one sentence.
    pub question: String,
    /// A hint for readers of the answer, without figures.
    pub note: Option<String>,
    /// Cases to compare.
    #[serde(default)]
    pub comparisons: Vec<FigureSpec>,
    /// Whether the percentiles of single operations answer the question.
    #[serde(default)]
    pub tails: bool,
    /// The names of its cases, in the order of the report.
    #[serde(skip)]
    pub cases: Vec<String>,
    /// The default program of its entries.
    program: Option<String>,
    /// Flags of every case, before the entry's.
    #[serde(default)]
    flags: Vec<String>,
    /// The keys below are defaults of its entries.
    #[serde(default)]
    profiles: BTreeSet<String>,
    #[serde(default)]
    placement: Placement,
    check: Option<CheckSize>,
    kind: Option<TaskKind>,
    /// Cases of other groups, by name.
    #[serde(default, rename = "cases")]
    listed: Vec<String>,
    #[serde(default, rename = "case")]
    entries: Vec<Spanned<Entry>>,
}

/// A table `[[group.case]]`: one case, or several that differ in their axes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// With `{axis}` for the value of an axis.
    name: Option<String>,
    /// Likewise; overrides the program's.
    title: Option<String>,
    program: Option<String>,
    placement: Option<Placement>,
    #[serde(default)]
    flags: Vec<String>,
    /// The values of a flag, by its name without dashes. The last axis varies
    /// fastest.
    #[serde(default)]
    axes: BTreeMap<String, Spanned<Values>>,
    check: Option<CheckSize>,
    profiles: Option<BTreeSet<String>>,
    #[serde(default = "Entry::default_timeout_seconds")]
    timeout_seconds: u64,
    needs_cpus: Option<usize>,
    #[serde(default)]
    needs_io_uring: bool,
    #[serde(default)]
    may_block_more: bool,
    /// As in `name`.
    baseline: Option<String>,
    kind: Option<TaskKind>,
}

/// The values of an axis.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a list of values, a table of them by name, or \"pairs\" for every pair of CPUs"
)]
enum Values {
    Listed(Vec<Value>),
    /// By their labels in the names of cases.
    Named(BTreeMap<String, Value>),
    OfMachine(OfMachine),
}

/// Values that depend on the machine.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OfMachine {
    Pairs,
}

/// The axis whose values may be pairs of CPUs, and its label until they are known.
const PAIRED: (&str, &str) = ("cpus", "pairs");

/// A value of an axis.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Value {
    Number(i64),
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// For every axis in order: its name, a value, and that value's label.
type Point<'a> = Vec<(&'a str, String, String)>;

impl Entry {
    fn default_timeout_seconds() -> u64 {
        60
    }

    /// Whether it creates a case for every pair of CPUs.
    fn is_of_pairs(&self) -> bool {
        self.axes.values().any(|values| matches!(values.get_ref(), Values::OfMachine(_)))
    }

    fn validate(&self, group: &Group) -> Result<(), String> {
        let of_pairs = |values: &Spanned<Values>| matches!(values.get_ref(), Values::OfMachine(_));
        let (axis, value) = PAIRED;
        if let Some((name, _)) = self.axes.iter().find(|(name, of)| of_pairs(of) && *name != axis) {
            let reason = format!("'{name}' cannot be \"{value}\"; only '{axis}' can");
            return Err(reason);
        }
        let is_named_apart = self.name.as_ref().is_none_or(|name| name.contains("{cpus}"));
        if self.is_of_pairs() && self.placement.unwrap_or(group.placement) != Placement::Spread {
            Err("pairs of CPUs need placement = 'spread'".to_owned())
        } else if self.is_of_pairs() && !is_named_apart {
            Err("the cases of pairs need {cpus} in their name".to_owned())
        } else {
            Ok(())
        }
    }

    /// The combinations of the axes' values, with these pairs of CPUs.
    fn points<'a>(&'a self, pairs: &[[usize; 2]]) -> Vec<Point<'a>> {
        let same = |value: String| (value.clone(), value);
        let values = |of: &Values| -> Vec<(String, String)> {
            match of {
                Values::Listed(values) => values.iter().map(|it| same(it.to_string())).collect(),
                Values::Named(values) => {
                    values.iter().map(|(name, value)| (value.to_string(), name.clone())).collect()
                }
                Values::OfMachine(_) if pairs.is_empty() => vec![same(PAIRED.1.to_owned())],
                Values::OfMachine(_) => {
                    pairs.iter().map(|[first, second]| same(format!("{first},{second}"))).collect()
                }
            }
        };
        // TOML tables do not keep the order of their keys.
        let mut axes: Vec<_> = self.axes.iter().collect();
        axes.sort_by_key(|(_, values)| values.span().start);
        axes.into_iter().fold(vec![Point::new()], |points, (name, of)| {
            let values = values(of.get_ref());
            let with = |point: &Point<'a>, (value, shown): &(String, String)| {
                [point.clone(), vec![(name.as_str(), value.clone(), shown.clone())]].concat()
            };
            let longer = points.iter().flat_map(|point| values.iter().map(|it| with(point, it)));
            longer.collect()
        })
    }

    fn case(
        &self,
        group: &Group,
        programs: &BTreeMap<String, Program>,
        at: usize,
        point: &Point<'_>,
    ) -> Result<Case, String> {
        let mut program = self.program.as_ref().or(group.program.as_ref());
        let mut placement = self.placement.unwrap_or(group.placement);
        let mut flags = [&group.flags[..], &self.flags].concat();
        for (axis, value, _) in point {
            if *axis == "placement" {
                placement = Placement::from_str(value, false)
                    .map_err(|_| format!("unknown placement '{value}'"))?;
            } else if *axis == "program" {
                program = Some(value);
            } else {
                flags.extend([format!("--{axis}"), value.clone()]);
            }
        }
        let program = program.ok_or_else(|| "program: missing".to_owned())?;
        let filled = |pattern: &String| fill(pattern, point);
        let name = self.name.as_ref().map(filled).transpose()?;
        let given = parse_flags(&flags);
        let all = programs.get(program).map_or(&[][..], |program| &program.with);
        let rules: Vec<&Rule> = all.iter().filter(|rule| rule.applies(&given)).collect();
        let needs_cpus = self.needs_cpus.or(rules.iter().find_map(|rule| rule.needs_cpus));
        let least_cpus = if placement == Placement::Spread { 2 } else { 1 };
        Ok(Case {
            name: name.unwrap_or_else(|| made_name(program, &flags, placement)),
            title: self.title.as_ref().map(|title| with_program(title, point)),
            program: program.clone(),
            placement,
            check: (self.check.or(group.check)).or(rules.iter().find_map(|rule| rule.check)),
            profiles: self.profiles.as_ref().unwrap_or(&group.profiles).clone(),
            timeout_seconds: self.timeout_seconds,
            needs_cpus: needs_cpus.unwrap_or(1).max(least_cpus),
            needs_io_uring: self.needs_io_uring || rules.iter().any(|rule| rule.needs_io_uring),
            may_block_more: self.may_block_more,
            baseline: self.baseline.as_ref().map(filled).transpose()?,
            kind: self.kind.or(group.kind).or(rules.iter().find_map(|rule| rule.kind)),
            at,
            flags,
        })
    }
}

/// The title with `{program}` replaced by its label.
fn with_program(title: &str, point: &Point<'_>) -> String {
    let shown = point.iter().find(|(axis, ..)| *axis == "program").map(|(.., shown)| shown);
    shown.map_or_else(|| title.to_owned(), |shown| title.replace("{program}", shown))
}

/// The pattern with every `{axis}` replaced by its value.
fn fill(pattern: &str, point: &Point<'_>) -> Result<String, String> {
    let filled = point.iter().fold(pattern.to_owned(), |text, (axis, _, shown)| {
        text.replace(&format!("{{{axis}}}"), shown)
    });
    match filled.find(['{', '}']) {
        Some(_) => Err(format!("'{filled}' contains an unknown axis in braces")),
        None => Ok(filled),
    }
}

/// The default name of a case: program, values, placement.
fn made_name(program: &str, flags: &[String], placement: Placement) -> String {
    let words = parse_flags(flags).into_iter().filter_map(|(flag, value)| value.or(flag));
    let mut name = [program].into_iter().chain(words).collect::<Vec<_>>().join(" ");
    if placement != Placement::Free {
        name += &format!("/{}", placement.as_str());
    }
    name
}

impl Manifest {
    /// Assigns these pairs of CPUs to the cases that need them. Without pairs, one placeholder case
    /// remains, which no machine can run.
    ///
    /// # Errors
    /// [`UsageError`] if two cases get the same name.
    pub fn pair(&mut self, pairs: &[[usize; 2]]) -> Result<(), UsageError> {
        self.expand(pairs).map_err(|complaint| UsageError(complaint.reason))
    }

    /// Whether some cases need pairs of CPUs.
    pub fn has_pairs(&self) -> bool {
        let mut entries = self.groups.iter().flat_map(|group| &group.entries);
        entries.any(|entry| entry.get_ref().is_of_pairs())
    }

    /// Creates the cases of the groups, with these pairs of CPUs.
    pub(super) fn expand(&mut self, pairs: &[[usize; 2]]) -> Result<(), Complaint> {
        self.cases.clear();
        let mut groups = std::mem::take(&mut self.groups);
        for at in 0..groups.len() {
            let (before, name) = (&groups[..at], &groups[at].name);
            if before.iter().any(|other| other.name == *name) {
                return Err(format!("group '{name}': another group has this name").into());
            }
            groups[at].cases = self.expand_group(&groups[at], pairs)?;
        }
        for group in &groups {
            group.listed.iter().try_for_each(|case| {
                let found = self.case(case).map(drop);
                found.map_err(|reason| format!("group '{}': cases: {reason}", group.name))
            })?;
        }
        self.groups = groups;
        Ok(())
    }

    fn expand_group(
        &mut self,
        group: &Group,
        pairs: &[[usize; 2]],
    ) -> Result<Vec<String>, Complaint> {
        let Group { name, listed, entries, .. } = group;
        let safe = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if name.is_empty() || !name.chars().all(safe) {
            return Err(format!("group '{name}': use letters, digits and '-'").into());
        }
        let mut cases = listed.clone();
        for entry in entries {
            let (at, entry) = (entry.span().start, entry.get_ref());
            let complaint =
                |reason| Complaint { at: Some(at), reason: format!("group '{name}': {reason}") };
            entry.validate(group).map_err(complaint)?;
            for point in entry.points(pairs) {
                let case = entry.case(group, &self.programs, at, &point);
                cases.push(case.and_then(|case| self.add(case)).map_err(complaint)?);
            }
        }
        Ok(cases)
    }

    /// Adds a case and returns its name.
    fn add(&mut self, case: Case) -> Result<String, String> {
        if case.name.is_empty() {
            return Err("a case has an empty name".to_owned());
        }
        let parameters = case.parameters();
        let is_same =
            |known: &&Case| known.program == case.program && known.parameters() == parameters;
        if let Some(known) = self.cases.iter().find(is_same) {
            let reason = format!("cases '{}' and '{}' are the same", case.name, known.name);
            return Err(format!("{reason}: a group lists cases of other groups in `cases`"));
        }
        if self.cases.iter().any(|known| known.name == case.name) {
            return Err(format!("case '{}': another case has this name", case.name));
        }
        let name = case.name.clone();
        self.cases.push(case);
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "
[profiles.default]
rounds = 5
[programs.fake]
path = 'fake'
check = { iters = 2, warmups = 0 }
[[group]]
name = 'g'
question = 'What?'
program = 'fake'
";

    fn parse(entries: &str) -> Result<Manifest, String> {
        Manifest::parse(&format!("{HEAD}{entries}"))
    }

    fn names(manifest: &Manifest) -> Vec<&str> {
        manifest.cases.iter().map(|case| case.name.as_str()).collect()
    }

    #[test]
    fn axes_create_every_combination_and_the_last_varies_fastest() {
        let axes = "via = ['pipe', 'futex'], placement = ['same-cpu', 'free'], tasks = [2, 50]";
        let manifest = parse(&format!("[[group.case]]\naxes = {{ {axes} }}")).unwrap();
        assert_eq!(
            names(&manifest),
            [
                "fake pipe 2/same-cpu",
                "fake pipe 50/same-cpu",
                "fake pipe 2",
                "fake pipe 50",
                "fake futex 2/same-cpu",
                "fake futex 50/same-cpu",
                "fake futex 2",
                "fake futex 50",
            ]
        );
        assert_eq!(manifest.cases[0].flags, ["--via", "pipe", "--tasks", "2"]);
        assert_eq!(manifest.cases[0].placement, Placement::SameCpu);
        assert_eq!(manifest.groups[0].cases, names(&manifest));
    }

    #[test]
    fn names_and_baselines_follow_the_axes() {
        let manifest = parse(
            "[[group.case]]\nname = 'alone-{via}'\nflags = ['--self']\naxes = { via = ['a', 'b'] }
             [[group.case]]\nname = '{via}'\nbaseline = 'alone-{via}'\naxes = { via = ['a', 'b'] }",
        );
        let manifest = manifest.unwrap();
        assert_eq!(names(&manifest), ["alone-a", "alone-b", "a", "b"]);
        assert_eq!(manifest.cases[3].baseline.as_deref(), Some("alone-b"));
    }

    #[test]
    fn pairs_of_cpus_are_cases_once_they_are_known() {
        let mut manifest = parse(
            "[[group.case]]\nname = '{via}/{cpus}'\nplacement = 'spread'
             axes = { via = ['spin', 'futex'], cpus = 'pairs' }
             [[group.case]]\nname = 'other'",
        )
        .unwrap();
        assert!(manifest.has_pairs());
        assert_eq!(names(&manifest), ["spin/pairs", "futex/pairs", "other"]);
        assert_eq!(manifest.cases[0].needs_cpus, 2);
        manifest.pair(&[[0, 1], [0, 12]]).unwrap();
        let expected = ["spin/0,1", "spin/0,12", "futex/0,1", "futex/0,12", "other"];
        assert_eq!(names(&manifest), expected);
        assert_eq!(manifest.groups[0].cases, expected);
        assert_eq!(manifest.cases[1].flags, ["--via", "spin", "--cpus", "0,12"]);
        manifest.pair(&[]).unwrap();
        assert_eq!(names(&manifest), ["spin/pairs", "futex/pairs", "other"]);
        assert!(!parse("[[group.case]]").unwrap().has_pairs());
    }

    #[test]
    fn a_value_may_have_a_label_and_a_rule_of_its_program() {
        let rule = "with = [{ flags = ['--via', 'uring'], needs_io_uring = true, needs_cpus = 3 }]";
        let axes = "axes = { via = { y = 'uring', x = 'pipe' } }";
        let text = format!("{HEAD}[[group.case]]\nname = '{{via}}-brigade'\n{axes}");
        let manifest =
            Manifest::parse(&text.replace("path =", &format!("{rule}\npath ="))).unwrap();
        assert_eq!(names(&manifest), ["x-brigade", "y-brigade"]);
        assert_eq!(manifest.cases[1].flags, ["--via", "uring"]);
        let needs = manifest.cases.iter().map(|case| (case.needs_io_uring, case.needs_cpus));
        assert_eq!(needs.collect::<Vec<_>>(), [(false, 1), (true, 3)]);
    }

    #[test]
    fn a_case_of_two_groups_is_one_case() {
        let manifest = parse(
            "[[group.case]]\nname = 'a'\nflags = ['--via', 'pipe', '--tasks', '2']
             [[group.case]]\nname = 'b'
             [[group]]\nname = 'h'\nquestion = 'How?'\nprogram = 'fake'\ncases = ['a']
             [[group.case]]\nflags = ['--via=pipe']\naxes = { tasks = [1] }",
        );
        let manifest = manifest.unwrap();
        assert_eq!(names(&manifest), ["a", "b", "fake pipe 1"]);
        assert_eq!(manifest.groups[1].cases, ["a", "fake pipe 1"]);
        let both = ["h".to_owned(), "g".to_owned()];
        let chosen = manifest.cases_of_groups(&both).unwrap();
        assert_eq!(chosen.len(), 3, "{chosen:?}");
    }

    #[test]
    fn an_invalid_entry_is_reported_with_its_line() {
        for (entries, expected) in [
            ("[[group.case]]\nname = '{via}'", ":11: group 'g': '{via}' contains an unknown axis"),
            (
                "[[group.case]]\naxes = { placement = ['near'] }",
                "group \'g\': unknown placement 'near'",
            ),
            (
                "[[group.case]]\nname = 'a'\n[[group.case]]\nname = 'b'",
                "group \'g\': cases 'b' and 'a' are the same",
            ),
            (
                "[[group.case]]\nname = 'a'\n[[group.case]]\nname = 'a'\nplacement = 'spread'",
                "group \'g\': case 'a': another case has this name",
            ),
            ("[[group.case]]\nname = ''", "group \'g\': a case has an empty name"),
            ("cases = ['a']", "group 'g': cases: unknown case 'a'"),
            (
                "[[group.case]]\nplacement = 'spread'\naxes = { via = 'pairs' }",
                "group \'g\': 'via' cannot be \"pairs\"; only 'cpus' can",
            ),
            (
                "[[group.case]]\naxes = { cpus = 'pairs' }",
                "group \'g\': pairs of CPUs need placement = 'spread'",
            ),
            (
                "[[group.case]]\nname = 'a'\nplacement = 'spread'\naxes = { cpus = 'pairs' }",
                "group \'g\': the cases of pairs need {cpus} in their name",
            ),
            (
                "[[group.case]]\naxes = { via = 'some' }",
                ":12: expected a list of values, a table of them by name, or \"pairs\"",
            ),
            (
                "[[group.case]]\n[[group]]\nname = 'g'\nquestion = ''\ncase = []",
                "group 'g': another group has this name",
            ),
            (
                "[[group.case]]\n[[group]]\nname = 'a b'\nquestion = ''\ncase = []",
                "group 'a b': use letters, digits and '-'",
            ),
        ] {
            let error = parse(entries).unwrap_err();
            assert!(error.contains(expected), "{error:?} does not contain {expected:?}");
        }
    }
}
