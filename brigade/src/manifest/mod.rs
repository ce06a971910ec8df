//! `suite.toml`: programs, the cases that run them, and the rows of reports. The runner knows no
//! other programs.

mod case;
mod nearest;
pub mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::path::{Path, PathBuf};

use harness::TaskKind;
use serde::Deserialize;

use crate::bounds::{self, MOST_CASES};
use crate::exit::UsageError;
use crate::programs;
pub use case::{Case, Placement, flags_of, program_of, without_flag};
use case::{Defaults, Rule, expand, identity, parameters, words};
pub use nearest::{did_you_mean, nearest};
pub use tables::{
    AdditionSpec, AnswerSpec, CostKind, FigureSpec, LineSpec, NameSpec, PinningSpec,
    PredictionSpec, ReadSharesSpec, ReasonSpec, SavingsSpec, ScreenPart, SentenceSpec, SwitchKind,
};
use tables::{OutputForm, ProgramSpec};

/// The tables whose cases `brigade run` measures.
const DEFAULT: [&str; 3] = ["screen", "sentence", "impact"];

/// The default time of a run for each of its cases, in seconds: a dozen rounds of most.
const SECONDS_FOR_A_CASE: f64 = 6.7;

/// The least default time, in seconds: a disturbance lasts for 10 to 20.
const LEAST_SECONDS: f64 = 30.0;

/// The default time of a run of this many cases, in seconds.
pub fn default_seconds(cases: usize) -> f64 {
    (cases as f64 * SECONDS_FOR_A_CASE).max(LEAST_SECONDS)
}

/// Flags of programs that run a command or write a file.
const NOT_FROM_STRANGERS: [&str; 4] = ["--command", "--histogram", "--server", "--trace"];

/// The manifest's file name.
const FILE_NAME: &str = "suite.toml";

/// The longest manifest, in bytes. The suite's has 60 KiB.
const LONGEST: u64 = 1 << 20;

/// The manifest of this binary.
const OWN: &str = include_str!("../../suite.toml");

/// The manifest.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Manifest {
    /// The manifest's folder; for the one in this binary, the repository around the current folder,
    /// if any.
    #[serde(skip)]
    pub root: Option<PathBuf>,
    /// The folder of the programs outside this binary, if known; in the file it is relative to
    /// `root`.
    pub guests: Option<PathBuf>,
    /// Why that folder is not known.
    #[serde(skip)]
    pub no_guests: Option<String>,
    /// Whether it is a file, not the one in this binary.
    #[serde(skip)]
    pub is_file: bool,
    /// Crates that the programs measure; their versions belong to the results.
    pub measured_crates: Vec<String>,
    /// Flags of every program, unless its case has them.
    flags: String,
    comparison_flags: Option<String>,
    /// The default time of a run of the first screen, in seconds.
    seconds: Option<NonZero<u32>>,
    rules: Vec<Rule>,
    /// The programs by name, also those of this binary without a table.
    pub programs: BTreeMap<String, ProgramSpec>,
    /// The flags that make no difference, by program.
    #[serde(skip)]
    defaults: BTreeMap<String, Defaults>,
    /// The questions, in the order of the report.
    #[serde(rename = "group")]
    pub groups: Vec<GroupSpec>,
    /// The cases of all groups, each once, in the order of the report.
    #[serde(skip)]
    pub cases: Vec<Case>,
    /// The first screen of a report.
    pub screen: Vec<ScreenPart<FigureSpec>>,
    /// Candidates for the sentences below the first screen.
    #[serde(rename = "sentence")]
    pub sentences: Vec<SentenceSpec>,
    /// The cases that show each cost that a setting can affect, for `brigade advise`.
    pub advice: BTreeMap<CostKind, Vec<String>>,
    /// The cases with a switch's cost for `brigade impact`, which needs every kind.
    pub impact: BTreeMap<SwitchKind, Vec<String>>,
}

/// A question and the cases that answer it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupSpec {
    /// Its name on the command line.
    pub name: String,
    /// The question in one sentence.
    pub question: String,
    /// A hint for readers of the answer, without figures.
    pub note: Option<String>,
    /// The names of its cases, in the order of the report; in the file with alternatives, and
    /// without those of `lines`, `savings`, `read_shares` and `predictions`.
    #[serde(default)]
    pub cases: Vec<String>,
    /// Cases to compare; in the file with alternatives.
    #[serde(default)]
    pub comparisons: Vec<FigureSpec>,
    /// Whether the percentiles of single operations answer the question.
    #[serde(default)]
    pub tails: bool,
    /// Whether the parts of the time answer it.
    #[serde(default)]
    pub parts: bool,
    /// Whether CPU time answers it, too: the table by load shows both.
    #[serde(default)]
    pub cpu: bool,
    /// Candidates for the sentences that answer it.
    #[serde(default)]
    pub sentences: Vec<SentenceSpec>,
    /// What a line of its table is.
    #[serde(default)]
    pub heading: String,
    /// The loads of a table, such as `8 tasks`.
    #[serde(default)]
    pub loads: Vec<String>,
    /// The lines of the table.
    #[serde(default)]
    pub lines: Vec<LineSpec>,
    /// What the table answers.
    #[serde(default)]
    pub answer: AnswerSpec,
    /// The measurement of how long a task waits for its turn.
    #[serde(default = "turn")]
    pub turn: String,
    /// What readers call cases whose command line makes no good name.
    #[serde(default)]
    pub names: Vec<NameSpec>,
    /// The cases that explain why threads are faster on one CPU.
    pub pinning: Option<PinningSpec>,
    /// What a case costs next to another one, to whose operations it is added.
    pub addition: Option<AdditionSpec>,
    /// What one kind of task saves, by the work in an operation.
    #[serde(default)]
    pub savings: Vec<SavingsSpec>,
    /// Read-write locks next to the mutexes of their crates.
    #[serde(default)]
    pub read_shares: Vec<ReadSharesSpec>,
    /// Servers whose cost follows from that of hops, if it does.
    #[serde(default)]
    pub predictions: Vec<PredictionSpec>,
}

/// The measurement of the time from one turn of a task to its next.
fn turn() -> String {
    "turn".to_owned()
}

impl Manifest {
    /// Reads the manifest at `path`, by default the one in this binary, whose folder of guests is
    /// unknown here.
    ///
    /// # Errors
    /// [`UsageError`] if a path is wrong, or the manifest is.
    pub fn load(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else {
            let own = Self::parse(OWN).map_err(UsageError)?;
            return Ok(Self { guests: None, root: repository(), ..own });
        };
        let name = path.display();
        let text = bounds::read(path, LONGEST).and_then(|bytes| Ok(String::from_utf8(bytes)?));
        let text =
            text.map_err(|error| UsageError(format!("--manifest: reading {name}: {error}")))?;
        let manifest =
            Self::parse(&text).map_err(|reason| UsageError(format!("{name}{reason}")))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let guests = folder.join(manifest.guests.as_deref().unwrap_or(Path::new(".")));
        // A relative path of a program without a slash would be looked up in $PATH.
        let guests = guests.canonicalize().map_err(|error| {
            UsageError(format!("guests: looking for {}: {error}", guests.display()))
        })?;
        let root = Some(folder.to_owned());
        Ok(Self { root, guests: Some(guests), is_file: true, ..manifest })
    }

    /// The default folder of runs: next to the manifest, in the repository, or here.
    pub fn results(&self) -> PathBuf {
        let root = self.root.as_ref();
        root.map_or_else(|| PathBuf::from("brigade-results"), |root| root.join("results"))
    }

    /// Parses and resolves the names of cases.
    ///
    /// # Errors
    /// The text after the file's name: a line or a group, and the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut manifest: Self = toml::from_str(text).map_err(|error| {
            let line = |at: usize| format!("{}:", text[..at].matches('\n').count() + 1);
            let line = error.span().map_or_else(String::new, |span| line(span.start));
            format!(":{line} {}", error.message().trim())
        })?;
        manifest.resolve().map_err(|reason| format!(": {reason}"))?;
        Ok(manifest)
    }

    /// Makes cases of the groups' lines and comparisons, and checks the names in the other tables.
    fn resolve(&mut self) -> Result<(), String> {
        let rules = std::mem::take(&mut self.rules).into_iter().map(Rule::expanded);
        self.rules = rules.collect::<Result<Vec<_>, _>>()?.concat();
        // This binary's programs need no table.
        for name in programs::names() {
            self.programs.entry(name.to_owned()).or_default();
        }
        for (name, program) in &self.programs {
            program.check().map_err(|reason| format!("program '{name}': {reason}"))?;
            let mut defaults = programs::defaults(name);
            defaults.extend(parameters(program.defaults.split_whitespace()));
            self.defaults.insert(name.clone(), defaults);
        }
        let mut groups = std::mem::take(&mut self.groups);
        let mut names = BTreeSet::new();
        for group in &mut groups {
            let place = |reason| format!("group '{}': {reason}", group.name);
            if !names.insert(group.name.clone()) {
                return Err(place("another group has this name".to_owned()));
            }
            if let AnswerSpec::Waking(load) = &group.answer
                && !group.loads.contains(load)
            {
                return Err(place(format!("answer: '{load}' is not one of the loads")));
            }
            let mut lines = Vec::new();
            for LineSpec { text, case, .. } in &group.lines {
                let cases = expand(case).map_err(place)?;
                let found = cases.len();
                let loads = group.loads.len();
                if found != loads {
                    return Err(place(format!("'{text}' has {found} cases for {loads} loads")));
                }
                // A line may have no case for a load.
                lines.extend(cases.into_iter().filter(|case| !case.is_empty()));
            }
            let lines =
                lines.iter().chain(group.savings.iter().flat_map(|spec| [&spec.case, &spec.over]));
            let shares = group.read_shares.iter().flat_map(|spec| [&spec.case, &spec.over]);
            let lines = lines.chain(shares);
            let lines = lines.chain(group.predictions.iter().flat_map(PredictionSpec::lines));
            group.cases = self.expanded(group.cases.iter().chain(lines)).map_err(place)?;
        }
        for group in &mut groups {
            let place = |reason| format!("group '{}': comparisons: {reason}", group.name);
            group.comparisons.extend(group.savings.iter().map(SavingsSpec::comparison));
            group.comparisons.extend(group.read_shares.iter().map(ReadSharesSpec::comparison));
            let rows = group.comparisons.iter().map(|row| self.paired(row));
            group.comparisons = rows.collect::<Result<Vec<_>, _>>().map_err(place)?.concat();
        }
        self.groups = groups;
        let is_known = |name: &String| self.cases.iter().any(|case| case.name == *name);
        match self.stated().find(|(_, name)| !is_known(name)) {
            None => Ok(()),
            Some((table, name)) => Err(format!("{table}: {}", self.unknown_case(name))),
        }
    }

    /// The names of the cases of these lines, which become cases of the manifest.
    fn expanded<'a>(
        &mut self,
        lines: impl Iterator<Item = &'a String>,
    ) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        for line in lines {
            for line in expand(line)? {
                let case = self.parsed(&line)?;
                if self.program_of(&case).form == OutputForm::Laps
                    && case.placement == Placement::Spread
                {
                    return Err(format!("'{line}': a guest's tasks cannot be spread"));
                }
                let known = self.case_of(&case.program, &case.parameters);
                let name = known.unwrap_or(&case).name.clone();
                if known.is_none() {
                    self.cases.push(case);
                }
                if !names.contains(&name) {
                    names.push(name);
                }
                if self.cases.len() > MOST_CASES {
                    return Err(format!("the manifest has more than {MOST_CASES} cases"));
                }
            }
        }
        Ok(names)
    }

    /// The case with this command line, which need not be the manifest's.
    fn parsed(&self, line: &str) -> Result<Case, String> {
        let program = line.split_whitespace().next().unwrap_or_default();
        let defaults = self
            .defaults
            .get(program)
            .ok_or_else(|| unknown("program", program, self.programs.keys().map(String::as_str)))?;
        Case::parse(line, defaults, &self.rules)
    }

    /// The cases that rows and plans name, each with its table.
    fn stated(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let blocks = || self.screen.iter().flat_map(|part| &part.blocks);
        let rows = blocks().flat_map(|block| &block.rows).map(|row| &row.case);
        let sentences = self.sentences.iter().flat_map(SentenceSpec::cases);
        let of_groups = self.groups.iter().flat_map(|group| &group.sentences);
        let pinnings = self.groups.iter().filter_map(|group| group.pinning.as_ref());
        let additions = self.groups.iter().filter_map(|group| group.addition.as_ref());
        let additions = additions.flat_map(|spec| [&spec.case, &spec.to]);
        let names = self.groups.iter().flat_map(|group| &group.names);
        (rows.chain(blocks().map(|block| &block.reference)).map(|case| ("screen", case)))
            .chain(sentences.map(|case| ("sentence", case)))
            .chain(of_groups.flat_map(SentenceSpec::cases).map(|case| ("sentences", case)))
            .chain(pinnings.flat_map(PinningSpec::cases).map(|case| ("pinning", case)))
            .chain(additions.map(|case| ("addition", case)))
            .chain(names.map(|name| ("names", &name.case)))
            .chain(self.impact.values().flatten().map(|case| ("impact", case)))
            .chain(self.advice.values().flatten().map(|case| ("advice", case)))
    }

    /// The case with this command line; its flags may be in any order.
    ///
    /// # Errors
    /// If there is none.
    pub fn case(&self, line: &str) -> Result<&Case, String> {
        if let Some(named) = self.cases.iter().find(|case| case.name == line) {
            return Ok(named);
        }
        let case = self.parsed(line)?;
        let found = self.case_of(&case.program, &case.parameters);
        found.ok_or_else(|| self.unknown_case(line))
    }

    fn unknown_case(&self, line: &str) -> String {
        unknown("case", line, self.cases.iter().map(|case| &*case.name))
    }

    /// The case of this program with these flags, by their names in `run.json`, under any name.
    pub fn case_of(&self, program: &str, parameters: &BTreeMap<String, String>) -> Option<&Case> {
        let identity = identity(parameters, self.defaults.get(program)?);
        let mut cases = self.cases.iter().filter(|case| case.program == program);
        cases.find(|case| case.identity == identity)
    }

    /// What the tasks of a case are, as its program declares; `None` if it does not know.
    pub fn task_kind(&self, case: &Case) -> Option<TaskKind> {
        let declared = || {
            let stated = self.program_of(case).task_kind(case);
            stated.or_else(|| programs::task_kind(&case.program, &case.all_flags()))
        };
        *case.kind.get_or_init(declared)
    }

    /// The flags of every program, unless its case has them.
    pub fn flags(&self) -> Vec<String> {
        words(&self.flags)
    }

    /// The flags of every program in a comparison side by side, unless its case has them.
    pub fn comparison_flags(&self) -> Vec<String> {
        words(self.comparison_flags.as_ref().unwrap_or(&self.flags))
    }

    /// The program that a case runs.
    pub fn program_of(&self, case: &Case) -> &ProgramSpec {
        &self.programs[&case.program]
    }

    /// The default time of a run of these names, with so many cases, in seconds.
    pub fn seconds(&self, names: &[String], cases: usize) -> f64 {
        let of_screen = if names.is_empty() { self.seconds } else { None };
        of_screen.map_or_else(|| default_seconds(cases), |seconds| f64::from(seconds.get()))
    }

    /// The cases of the first screen, of its sentences and of `brigade impact`, in the manifest's
    /// order; all cases without a screen.
    pub fn default_cases(&self) -> Vec<&Case> {
        let stated = self.stated().filter(|(table, _)| DEFAULT.contains(table));
        let names: BTreeSet<&String> = stated.map(|(_, name)| name).collect();
        let is_default = |case: &&Case| self.screen.is_empty() || names.contains(&case.name);
        self.cases.iter().filter(is_default).collect()
    }

    /// Adds the cases with these command lines that no group has.
    pub fn admit(&mut self, lines: &[String]) {
        for line in lines {
            let is_known = self.groups.iter().any(|group| group.name == *line);
            if is_known || self.case(line).is_ok() {
                continue;
            }
            if let Ok(case) = self.parsed(line) {
                self.cases.push(case);
            }
        }
    }

    /// The names of the cases that have a command line here, and are not here as cases of a group.
    pub fn typed(&self, names: &[String]) -> Vec<String> {
        let is_group = |name: &&String| self.groups.iter().any(|group| group.name == **name);
        let cases = names.iter().filter(|name| !is_group(name));
        cases.filter_map(|line| Some(self.case(line).ok()?.name.clone())).collect()
    }

    /// Adds the cases with these command lines that no group has, unless a flag of one is not among
    /// those of the manifest's cases, or runs a command or writes a file: a stranger may have
    /// written the lines.
    pub fn admit_from_stranger(&mut self, lines: &[String]) {
        let mut flags: BTreeSet<&str> =
            self.cases.iter().flat_map(|case| &case.flags).map(String::as_str).collect();
        flags.retain(|flag| !NOT_FROM_STRANGERS.contains(flag));
        let is_harmless = |line: &&String| {
            let known = |flag: &str| flags.contains(flag) || flag == "--placement";
            let mut words = line.split_whitespace().filter(|word| word.starts_with('-'));
            words.all(|word| word.split('=').next().is_some_and(known))
        };
        let harmless: Vec<String> = lines.iter().filter(is_harmless).cloned().collect();
        self.admit(&harmless);
    }

    /// The cases of these groups and with these command lines, each once, in the manifest's order;
    /// the default ones without any.
    ///
    /// # Errors
    /// [`UsageError`] for an unknown name.
    pub fn chosen(&self, names: &[String]) -> Result<Vec<&Case>, UsageError> {
        if names.is_empty() {
            return Ok(self.default_cases());
        }
        let mut chosen = BTreeSet::new();
        for name in names {
            match self.groups.iter().find(|group| group.name == *name) {
                Some(group) => chosen.extend(&group.cases),
                None => {
                    let case = self.case(name).map_err(|reason| self.no_name(name, reason));
                    chosen.insert(&case.map_err(UsageError)?.name);
                }
            }
        }
        Ok(self.cases.iter().filter(|case| chosen.contains(&case.name)).collect())
    }

    /// Why this is the name of no group and no case; `reason` is why it is no case.
    fn no_name(&self, name: &str, reason: String) -> String {
        // A word alone may be meant as any of them.
        if name.split_whitespace().nth(1).is_some() || self.programs.contains_key(name) {
            return reason;
        }
        let groups = self.groups.iter().map(|group| &*group.name);
        unknown("group or case", name, groups.chain(self.programs.keys().map(String::as_str)))
    }

    /// The cases of a line with alternatives.
    ///
    /// # Errors
    /// If there is none for one of them.
    pub fn cases_of(&self, line: &str) -> Result<Vec<&Case>, String> {
        expand(line)?.iter().map(|line| self.case(line)).collect()
    }

    /// The cases of a line of a table, one for each load.
    ///
    /// # Errors
    /// If there is none for one of them that is given.
    pub fn cases_of_line(&self, line: &LineSpec) -> Result<Vec<Option<&Case>>, String> {
        let case =
            |line: &String| if line.is_empty() { Ok(None) } else { self.case(line).map(Some) };
        expand(&line.case)?.iter().map(case).collect()
    }

    /// The rows that a row with alternatives stands for: each of its cases with that of the others
    /// in the same place, which begin again.
    fn paired(&self, row: &FigureSpec) -> Result<Vec<FigureSpec>, String> {
        let cases = self.cases_of(&row.case)?;
        let others = row.other().map_or(Ok(Vec::new()), |line| self.cases_of(line))?;
        if !cases.len().is_multiple_of(others.len().max(1)) {
            return Err(format!(
                "'{}' makes {} cases, but the other {}",
                row.case,
                cases.len(),
                others.len()
            ));
        }
        let mut others = others.into_iter().cycle();
        let spec = |case: &Case| {
            let other = others.next().map(|other| other.name.clone());
            let [over, minus] =
                [&row.over, &row.minus].map(|given| given.as_ref().and(other.clone()));
            FigureSpec { case: case.name.clone(), over, minus, ..row.clone() }
        };
        Ok(cases.into_iter().map(spec).collect())
    }

    /// The pairs of cases that reports compare.
    pub fn partners(&self) -> Vec<[String; 2]> {
        let rows = self.groups.iter().flat_map(|group| &group.comparisons);
        let rows = rows.filter_map(|row| Some([&*row.case, row.other()?]));
        let of_groups = self.groups.iter().flat_map(|group| &group.sentences);
        let sentences = self.sentences.iter().chain(of_groups);
        let sentences = sentences.map(|sentence| [&*sentence.case, &*sentence.over]);
        rows.chain(sentences).map(|pair| pair.map(str::to_owned)).collect()
    }
}

/// The nearest folder with a manifest, from the current one up. Nothing in it is executed.
fn repository() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().find(|folder| folder.join(FILE_NAME).is_file()).map(Path::to_owned)
}

/// Names the unknown name, the nearest of the known ones, and how to find the others.
fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let advice = "brigade list shows the groups, brigade list GROUP its cases";
    let end = match nearest(name, known) {
        Some(known) => format!("did you mean '{known}'? {advice}"),
        None => advice.to_owned(),
    };
    format!("unknown {what} '{name}'; {end}")
}

#[cfg(test)]
mod tests {
    use harness::flags::name;
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    const GOOD: &str = r#"
[programs]
fake = { path = "fake", defaults = "--kind thread" }
guest = { form = "laps", tasks = "coroutine" }
[[group]]
name = "g"
question = "What?"
cases = ["fake --tasks {1,2} --placement {same-cpu,free}", "guest"]
comparisons = [{ case = "fake --tasks {1,2}", minus = "fake --tasks {1,2} --placement same-cpu" }]
[[group]]
name = "h"
question = "How?"
cases = ["fake --placement same-cpu --kind thread --tasks 2", "fake"]
"#;

    /// Parses the valid manifest with `from` replaced by `to`.
    fn parse_with(from: &str, to: &str) -> Result<Manifest, String> {
        assert!(GOOD.contains(from), "{from:?} is not in the manifest");
        Manifest::parse(&GOOD.replacen(from, to, 1))
    }

    fn names<'a>(cases: impl IntoIterator<Item = &'a Case>) -> Vec<&'a str> {
        cases.into_iter().map(|case| &*case.name).collect()
    }

    /// The suite, and the machine's folder of recorded runs.
    fn suite() -> Manifest {
        Manifest::load(Some(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(FILE_NAME)))
            .unwrap()
    }

    proptest! {
        #[test]
        fn a_damaged_manifest_is_reported_with_its_line(
            place in any::<Index>(),
            length in 0_usize..12,
            piece in "|\\[|\\]|=|-1|''|\"|\n|#|\\{|b|,",
        ) {
            let mut text = GOOD.to_owned();
            let at = place.index(text.len());
            let end = text.len().min(at + length);
            text.replace_range(at..end, &piece);
            if let Err(error) = Manifest::parse(&text) {
                let line = error.split(':').nth(1).and_then(|line| line.parse::<usize>().ok());
                prop_assert!(line.is_none_or(|line| line <= text.lines().count() + 1), "{}", error);
                prop_assert!(error.starts_with(':') && !error.contains('\n'), "{}", error);
            }
        }
    }

    #[test]
    fn a_case_of_two_groups_is_one_case_and_groups_and_cases_are_chosen() {
        let manifest = Manifest::parse(GOOD).unwrap();
        let all = [
            "fake --tasks 1 --placement same-cpu",
            "fake --tasks 1",
            "fake --tasks 2 --placement same-cpu",
            "fake --tasks 2",
            "guest",
            "fake",
        ];
        assert_eq!(names(&manifest.cases), all);
        assert_eq!(manifest.groups[1].cases, ["fake --tasks 2 --placement same-cpu", "fake"]);
        let chosen = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            names(manifest.chosen(&words).unwrap())
        };
        assert_eq!(chosen(&[]), all);
        assert_eq!(chosen(&["fake --placement=free --tasks=1", "h"]), [all[1], all[2], all[5]]);
        manifest.chosen(&["fake --tasks 3".to_owned()]).unwrap_err();
        let pairs = manifest.partners();
        assert_eq!(
            pairs,
            [[all[1], all[0]].map(str::to_owned), [all[3], all[2]].map(str::to_owned)]
        );
    }

    #[test]
    fn a_run_of_the_first_screen_has_a_time_of_its_own_and_rounds_are_positive() {
        let suite = suite();
        let cases = suite.default_cases();
        let [screen, group] = [vec![], vec!["kinds".to_owned()]]
            .map(|names: Vec<String>| suite.seconds(&names, cases.len()));
        assert!(screen < group, "{screen} and {group}");
        let few: Vec<&str> =
            cases.iter().filter_map(|case| case.rounds.map(|_| &*case.program)).collect();
        assert!(few.contains(&"task-memory") && few.len() < cases.len() / 2, "{few:?}");
        let rule = |rounds: &str| {
            let rules = format!("rules = [{{ words = 'fake', rounds = {rounds} }}]\n[programs]\n");
            parse_with("[programs]\n", &rules)
        };
        assert_eq!(rule("5").unwrap().cases[0].rounds, Some(5));
        rule("0").unwrap_err();
    }

    #[test]
    fn a_program_of_this_binary_needs_no_table() {
        let cases = "[[group]]\nname = 'g'\nquestion = 'What?'\ncases = ['rings --rings 8']\n";
        let manifest = Manifest::parse(cases).unwrap();
        let case = manifest.case("rings --rings=8 --tasks=100").unwrap();
        assert_eq!(case.name, "rings --rings 8");
        assert!(manifest.program_of(case).is_contained());
        Manifest::parse(&cases.replace("'rings ", "'kings ")).unwrap_err();
    }

    #[test]
    fn errors_name_the_place_and_the_reason() {
        for (from, to, expected) in [
            ("question =", "qestion =", ":7: unknown field `qestion`, expected one of `name`, "),
            ("\"g\"", "\"h\"", ": group 'h': another group"),
            (
                "[\"fake --t",
                "[\"fakes --t",
                ": group 'g': unknown program 'fakes'; did you mean 'fake'? brigade list",
            ),
            ("{1,2}", "{1,2", ": group 'g': 'fake --tasks {1,2"),
            (
                "same-cpu,free",
                "near",
                ": group 'g': 'fake --tasks 1 --placement near': unknown plac",
            ),
            ("\"guest\"", "\"guest --placement spread\"", "'guest --placement spread': a guest's"),
            (
                "minus = \"fake --tasks {1,2}",
                "minus = \"fake --tasks {1,3}",
                "unknown case 'fake --t",
            ),
            (
                "minus = \"fake --tasks {1,2}",
                "minus = \"fake --tasks {1,2,2}",
                "makes 2 cases, but",
            ),
            (", tasks = \"coroutine\"", "", ": program 'guest': its tasks"),
            ("path = \"fake\", ", "", ": program 'fake': brigade contains it"),
            ("[[group]]", "[impact]\nasleep = ['x']\n[[group]]", ": impact: unknown"),
        ] {
            let error = parse_with(from, to).unwrap_err();
            assert!(error.contains(expected), "{error:?} does not contain {expected:?}");
            assert!(!error.contains('\n'), "{error:?} is more than one line");
        }
    }

    /// `kinds.txt` lists cases with the kinds of their tasks. A case that it does not list only needs
    /// a kind.
    #[test]
    fn every_case_has_its_kind() {
        let suite = suite();
        let shown = |kind: Option<TaskKind>| kind.map_or_else(String::new, |kind| name(&kind));
        for line in include_str!("kinds.txt").lines() {
            let (kind, case) = line.split_once(char::is_whitespace).unwrap();
            let case = suite.parsed(case.trim()).unwrap();
            assert_eq!(shown(suite.task_kind(&case)), kind, "{line}");
        }
        for case in &suite.cases {
            assert_ne!(suite.task_kind(case), None, "{}", case.name);
        }
    }

    /// A note is the same for every run, so a comparison may be false of one: that is a sentence.
    #[test]
    fn notes_compare_nothing() {
        const COMPARE: [&str; 14] = [
            "than",
            "more",
            "less",
            "most",
            "least",
            "matters",
            "outweighs",
            "cheap",
            "cheaper",
            "expensive",
            "faster",
            "slower",
            "half",
            "twice",
        ];
        for group in &suite().groups {
            let note = group.note.as_deref().unwrap_or_default().to_lowercase();
            let mut words = note.split(|letter: char| !letter.is_alphabetic());
            assert_eq!(words.find(|word| COMPARE.contains(word)), None, "{}: {note}", group.name);
        }
    }

    /// Two lines that read alike would have two meanings.
    #[test]
    fn no_comparison_of_a_group_is_listed_twice() {
        for group in &suite().groups {
            let mut seen = BTreeSet::new();
            for row in &group.comparisons {
                let sides = (&row.case, row.other(), row.over.is_some());
                let phases = (&row.measurement, &row.other_measurement);
                assert!(seen.insert((sides, phases)), "{}: {row:?}", group.name);
                let is_itself = row.other() == Some(&*row.case);
                assert!(!is_itself || row.other_measurement.is_some(), "{row:?}");
                assert_eq!(row.text, None, "the label names both sides: {row:?}");
            }
        }
    }

    #[test]
    fn every_name_parses_back_to_its_case() {
        let suite = suite();
        let mut seen = BTreeSet::new();
        for case in &suite.cases {
            assert!(seen.insert(&case.name), "{} is twice", case.name);
            assert_eq!(suite.case(&case.name).unwrap().name, case.name);
            let found = suite.case_of(&case.program, &case.parameters).unwrap();
            assert_eq!(found.name, case.name);
            // The program has these anyway.
            for (flag, value) in &suite.defaults[&case.program] {
                let whole = format!("{} --{} {value}", case.name, flag.replace('_', "-"));
                let is_given = case.parameters.contains_key(flag);
                assert!(is_given || suite.case(&whole).unwrap().name == case.name, "{whole}");
            }
        }
        for group in &suite.groups {
            for line in &group.lines {
                let found = suite.cases_of_line(line).unwrap();
                assert_eq!(found.len(), group.loads.len(), "{}: {}", group.name, line.text);
                assert!(found.iter().any(Option::is_some), "{}: {}", group.name, line.text);
            }
        }
    }
}
