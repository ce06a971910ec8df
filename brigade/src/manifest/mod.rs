//! `suite.toml`: programs, the cases that run them, and profiles that say how
//! thoroughly to measure. The runner knows no other programs.

mod group;
mod plans;
pub mod program;
mod title;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;
use harness::limits::Kind;
use serde::Deserialize;

use crate::exit::UsageError;
pub use group::Group;
pub use plans::{AdvicePlan, Cost, ImpactPlan};
pub use plans::{FigureSpec, KindSpec, RecordedSpec, ScreenSpec, SentenceSpec, TaskKind};
pub use program::{Case, Placement};
use program::{CheckSize, Form, Program};

/// The longest time-out of a case, in seconds: 11 days.
const LONGEST_TIMEOUT: u64 = 1_000_000;

/// The most seconds between the starts of two rounds.
pub const LONGEST_SPACING: f64 = 60.0;

/// How similar a name must be to be suggested, by the Jaro-Winkler measure,
/// from 0 to 1; clap uses a similar one.
const ALIKE: f64 = 0.8;

/// The most names in an error: a few lines of a terminal.
const MOST_NAMED: usize = 16;

/// The manifest's file name.
const FILE_NAME: &str = "suite.toml";

/// The manifest of this binary.
const OWN: &str = include_str!("../../suite.toml");

/// The manifest.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The manifest's folder; for the one in this binary, the repository around the current folder,
    /// if any.
    #[serde(skip)]
    pub root: Option<PathBuf>,
    /// The folder of the programs outside this binary, if known; in the file it is relative to
    /// `root`.
    pub guests: Option<PathBuf>,
    /// Crates that the programs measure; their versions belong to the results.
    #[serde(default)]
    pub measured_crates: Vec<String>,
    /// Flags for every program of a side-by-side comparison, instead of the
    /// profile's.
    pub compare_flags: Option<Vec<String>>,
    /// The profiles by name.
    pub profiles: BTreeMap<String, Profile>,
    /// The programs by name.
    pub programs: BTreeMap<String, Program>,
    /// The questions, in the order of the report.
    #[serde(default, rename = "group")]
    pub groups: Vec<Group>,
    /// The cases of all groups, each once, in the order of the report.
    #[serde(skip)]
    pub cases: Vec<Case>,
    /// Words for the values of flags in titles.
    #[serde(default)]
    words: title::Words,
    /// The main figures of a report.
    #[serde(default)]
    pub headline: Vec<FigureSpec>,
    /// The first screen of a report.
    #[serde(default)]
    pub screen: Vec<ScreenSpec>,
    /// Candidates for the sentences below the first screen.
    #[serde(default, rename = "sentence")]
    pub sentences: Vec<SentenceSpec>,
    /// The times of recorded machines, with which the first screen compares this one.
    pub recorded: Option<RecordedSpec>,
    /// The rows of the table of all kinds of tasks.
    #[serde(default, rename = "kind")]
    pub kinds: Vec<KindSpec>,
    /// The cases for `brigade advise --try`.
    #[serde(default)]
    pub advice: AdvicePlan,
    /// The cases with a switch's cost for `brigade impact`, which needs them.
    pub impact: Option<ImpactPlan>,
    /// The plan of `brigade limits`; without it there is no `--verify`.
    pub limits: Option<LimitsPlan>,
}

/// The plan of `brigade limits`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsPlan {
    /// For `--verify`: the program that creates tasks of a `--kind` until one is refused.
    pub program: String,
    /// The cases that measure the cost of tasks.
    #[serde(default)]
    pub measured: Vec<MeasuredKinds>,
}

/// The cases that measure the cost of some kinds of tasks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredKinds {
    /// The kinds; the cases measure the first, and the others need an additional channel.
    pub kinds: Vec<Kind>,
    /// The case that creates one.
    pub create: Option<String>,
    /// The case that measures its memory.
    pub memory: Option<String>,
}

/// How thoroughly to measure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// How often each case runs, each time in a fresh process; with a budget,
    /// at least this often.
    pub rounds: u32,
    /// Seconds for all invocations together, including extra rounds of the
    /// cases whose interval is wider than the target; `None` for no extra
    /// rounds.
    pub budget_seconds: Option<f64>,
    /// The target for the half-width of a case's interval, in percent of its
    /// median.
    #[serde(default = "Profile::default_target_percent")]
    pub target_percent: f64,
    /// How often a case may be repeated because an invocation was too
    /// disturbed, over the whole run.
    #[serde(default = "Profile::default_reruns")]
    pub reruns: u32,
    /// The time over which the common rounds are spread evenly, in seconds, if they take less:
    /// disturbances last for seconds, so processes of a case in close succession are not
    /// independent.
    #[serde(default)]
    pub spread_seconds: f64,
    /// Flags for every program, such as `--max-time`.
    #[serde(default)]
    pub flags: Vec<String>,
}

impl Profile {
    fn default_target_percent() -> f64 {
        3.0
    }

    fn default_reruns() -> u32 {
        2
    }

    /// The least time of a run of this many cases, in seconds; `None` unless `--max-time` bounds
    /// an invocation.
    pub fn seconds(&self, cases: usize) -> Option<f64> {
        let mut flags = self.flags.iter().skip_while(|flag| *flag != "--max-time");
        let of_one: f64 = flags.nth(1)?.parse().ok()?;
        let rounds = f64::from(self.rounds);
        let waits = self.spacing_seconds(self.rounds) * (rounds - 1.0);
        let common = waits.max(of_one * cases as f64 * rounds);
        Some(self.budget_seconds.map_or(common, |budget| budget.max(common)))
    }

    /// The least time between the starts of two rounds, in seconds.
    pub fn spacing_seconds(&self, rounds: u32) -> f64 {
        self.spread_seconds / f64::from(rounds.max(1))
    }

    fn validate(&self) -> Result<(), String> {
        if self.rounds == 0 {
            return Err("rounds is 0; use at least 1".to_owned());
        }
        for (key, figure) in
            [("target_percent", Some(self.target_percent)), ("budget_seconds", self.budget_seconds)]
        {
            if let Some(figure) = figure.filter(|figure| !(*figure > 0.0 && *figure < 1e6)) {
                return Err(format!("{key} is {figure}; use more than 0 and less than 1e6"));
            }
        }
        let spacing = self.spacing_seconds(self.rounds);
        if !(0.0..=LONGEST_SPACING).contains(&spacing) {
            let (seconds, most) = (self.spread_seconds, LONGEST_SPACING);
            return Err(format!("spread_seconds is {seconds}; use 0 to {most} per round"));
        }
        Ok(())
    }
}

/// An error in a manifest that parses.
#[derive(Debug)]
struct Complaint {
    /// Where the wrong group or case begins, in bytes.
    at: Option<usize>,
    reason: String,
}

impl From<String> for Complaint {
    fn from(reason: String) -> Self {
        Self { at: None, reason }
    }
}

impl Manifest {
    /// Reads the manifest at `path`, by default the one in this binary. The folder of guests is
    /// `guests`, or else the manifest's, or else the one installed with this binary.
    ///
    /// # Errors
    /// [`UsageError`] if a path is wrong, or the manifest is, with line and key.
    pub fn load(path: Option<&Path>, guests: Option<&Path>) -> anyhow::Result<Self> {
        let name = path.unwrap_or(Path::new(FILE_NAME));
        let text = path.map_or_else(|| Ok(OWN.to_owned()), fs::read_to_string);
        let text = text.map_err(|error| {
            UsageError(format!("--manifest: reading {}: {error}", name.display()))
        })?;
        let parsed = Self::parse(&text);
        let mut manifest =
            parsed.map_err(|reason| UsageError(format!("{}{reason}", name.display())))?;
        // A command cannot run in the folder of an empty path.
        let folder = name.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let own = folder.join(manifest.guests.as_deref().unwrap_or(Path::new(".")));
        let own = if path.is_some() { Some(own) } else { installed_guests() };
        manifest.guests = guests.map(Path::to_owned).or(own);
        manifest.root = if path.is_some() { Some(folder.to_owned()) } else { repository() };
        if let Some(guests) = manifest.guests.as_deref().filter(|guests| !guests.is_dir()) {
            bail!(UsageError(format!("--guests: '{}' is not a folder", guests.display())));
        }
        Ok(manifest)
    }

    /// The default folder of runs: next to the manifest, in the repository, or here.
    pub fn results(&self) -> PathBuf {
        let root = self.root.as_ref();
        root.map_or_else(|| PathBuf::from("brigade-results"), |root| root.join("results"))
    }

    /// Parses and validates.
    ///
    /// # Errors
    /// The text after the file's name: line, key and reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let placed = |at: Option<usize>, reason: &str| match at {
            Some(at) => format!(":{}: {reason}", text[..at].matches('\n').count() + 1),
            None => format!(": {reason}"),
        };
        let mut manifest: Self = toml::from_str(text).map_err(|error| {
            placed(error.span().map(|span| span.start), &reason(error.message()))
        })?;
        let checked = manifest.expand(&[]).and_then(|()| manifest.validate());
        checked.map_err(|Complaint { at, reason }| placed(at, &reason))?;
        Ok(manifest)
    }

    fn validate(&self) -> Result<(), Complaint> {
        for (name, profile) in &self.profiles {
            profile.validate().map_err(|reason| format!("profile '{name}': {reason}"))?;
        }
        for case in &self.cases {
            self.validate_case(case).map_err(|reason| {
                let reason = format!("case '{}': {reason}", case.name);
                Complaint { at: Some(case.at), reason }
            })?;
        }
        // A row with an unknown case would never be shown.
        let planned = self.planned_cases().map(|(place, case)| (place, case.as_str()));
        for (place, case) in self.cases_of_rows().chain(planned) {
            self.case(case).map_err(|reason| format!("{place}: {reason}"))?;
        }
        Ok(())
    }

    /// The case with this name, or an error about the name.
    fn case(&self, name: &str) -> Result<&Case, String> {
        let known = || self.cases.iter().map(|case| &case.name);
        let found = self.cases.iter().find(|case| case.name == name);
        found.ok_or_else(|| unknown("case", name, known()))
    }

    fn validate_case(&self, case: &Case) -> Result<(), String> {
        if !self.programs.contains_key(&case.program) {
            return Err(unknown("program", &case.program, self.programs.keys()));
        }
        if self.program_of(case).form == Form::Laps && case.placement == Placement::Spread {
            return Err("placement: tasks of a program with form `laps` cannot be spread".into());
        }
        if !(1..=LONGEST_TIMEOUT).contains(&case.timeout_seconds) {
            let seconds = case.timeout_seconds;
            return Err(format!("timeout_seconds is {seconds}; use 1 to {LONGEST_TIMEOUT}"));
        }
        if let Some(name) = case.profiles.iter().find(|name| !self.profiles.contains_key(*name)) {
            return Err(unknown("profile", name, self.profiles.keys()));
        }
        let baseline = case.baseline.as_ref().map(|name| self.case(name)).transpose();
        baseline.map(drop).map_err(|reason| format!("baseline: {reason}"))
    }

    /// The profile with this name.
    ///
    /// # Errors
    /// [`UsageError`], listing all profiles.
    pub fn profile(&self, name: &str) -> Result<&Profile, UsageError> {
        self.profiles.get(name).ok_or_else(|| {
            UsageError(format!("--profile: {}", unknown("profile", name, self.profiles.keys())))
        })
    }

    /// The size at which `brigade check` runs a case.
    pub fn check_size(&self, case: &Case) -> CheckSize {
        case.check.unwrap_or(self.program_of(case).check)
    }

    /// The kind of the tasks of the case with this name, or of this program if there is no such
    /// case.
    pub fn kind_of(&self, case: &str, program: &str) -> Option<TaskKind> {
        let case = self.cases.iter().find(|known| known.name == case);
        let program = self.programs.get(case.map_or(program, |case| &case.program))?;
        case.and_then(|case| case.kind).or(program.kind)
    }

    /// The program that a case runs.
    pub fn program_of(&self, case: &Case) -> &Program {
        &self.programs[&case.program]
    }

    /// The cases in `profile`.
    pub fn cases_of<'a, 'b>(
        &'a self,
        profile: &'b str,
    ) -> impl Iterator<Item = &'a Case> + use<'a, 'b> {
        self.cases.iter().filter(move |case| case.profiles.contains(profile))
    }

    /// The cases in any profile.
    pub fn profiled_cases(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(|case| !case.profiles.is_empty())
    }

    /// The cases of these groups, or else with these names, or else in the profile, in the
    /// manifest's order.
    ///
    /// # Errors
    /// [`UsageError`] for an unknown name, listing the known ones.
    pub fn chosen(
        &self,
        groups: &[String],
        cases: &[String],
        profile: &str,
    ) -> Result<Vec<&Case>, UsageError> {
        let chosen = match (groups, cases) {
            ([], []) => self.cases_of(profile).collect::<Vec<_>>(),
            ([], names) => self.cases_named(names)?,
            (groups, _) => self.cases_of_groups(groups)?,
        };
        self.profile(profile)?;
        Ok(chosen)
    }

    /// The cases of the groups with these names, each once, in the manifest's
    /// order.
    ///
    /// # Errors
    /// [`UsageError`] for an unknown group, listing the known ones.
    pub fn cases_of_groups(&self, names: &[String]) -> Result<Vec<&Case>, UsageError> {
        let known = || self.groups.iter().map(|group| &group.name);
        if let Some(name) = names.iter().find(|name| !known().any(|known| known == *name)) {
            return Err(UsageError(unknown("group", name, known())));
        }
        let chosen = |case: &&Case| {
            let mut groups = self.groups.iter().filter(|group| names.contains(&group.name));
            groups.any(|group| group.cases.contains(&case.name))
        };
        Ok(self.cases.iter().filter(chosen).collect())
    }

    /// The cases with these names, in the manifest's order.
    ///
    /// # Errors
    /// [`UsageError`] for an unknown name, listing the known ones.
    pub fn cases_named(&self, names: &[String]) -> Result<Vec<&Case>, UsageError> {
        for name in names {
            self.case(name).map_err(UsageError)?;
        }
        Ok(self.cases.iter().filter(|case| names.contains(&case.name)).collect())
    }
}

/// The nearest folder with a manifest, from the current one up. Nothing in it is executed.
fn repository() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().find(|folder| folder.join(FILE_NAME).is_file()).map(Path::to_owned)
}

/// The guests installed next to this binary, or in the workspace around its `target/release`.
fn installed_guests() -> Option<PathBuf> {
    let executable = std::env::current_exe().ok()?;
    let folders = ["guests", "../share/brigade/guests", "../../guests"];
    let mut folders = folders.map(|folder| executable.with_file_name(folder)).into_iter();
    folders.find(|folder| folder.is_dir())
}

/// A parser's message on one line, with a suggestion for an unknown key. The
/// message quotes with backticks the unknown key, then the expected ones.
fn reason(message: &str) -> String {
    let message = message.trim();
    let Some(rest) = message.strip_prefix("unknown field") else { return message.to_owned() };
    let quoted: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    let meant = quoted.split_first().map(|(key, expected)| meant(key, expected));
    format!("unknown key{rest}{}", meant.unwrap_or_default())
}

/// Names the unknown name, the known ones unless they would fill the screen, and a suggestion.
fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a String>) -> String {
    let known: Vec<&str> = known.map(String::as_str).collect();
    let all = match known.len() {
        ..=MOST_NAMED => format!("known: {}", known.join(", ")),
        count if what == "case" => format!("there are {count}; brigade list GROUP names a group's"),
        count => format!("brigade list shows all {count}"),
    };
    format!("unknown {what} '{name}'; {all}{}", meant(name, &known))
}

/// Suggests the most similar of the `known` names; empty if none is similar.
fn meant(name: &str, known: &[&str]) -> String {
    let likeness = |known: &&&str| strsim::jaro_winkler(name, known);
    let nearest = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest.filter(|nearest| likeness(nearest) > ALIKE) {
        Some(nearest) => format!("; did you mean '{nearest}'?"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    const GOOD: &str = r#"
[profiles.default]
rounds = 5
[programs.fake]
path = "fake"
check = { tasks = 1, iters = 2, warmups = 0, operations = 2 }
[[group]]
name = "g"
question = "What?"
[[group.case]]
name = "a"
program = "fake"
profiles = ["default"]
"#;

    /// Parses the valid manifest with `from` replaced by `to`.
    fn parse_with(from: &str, to: &str) -> Result<Manifest, String> {
        assert!(GOOD.contains(from), "{from:?} is not in the manifest");
        Manifest::parse(&GOOD.replacen(from, to, 1))
    }

    proptest! {
        #[test]
        fn any_text_is_a_manifest_or_an_error_of_one_line(text in ".*|[\\[\\]a-z.\"'=\n{} 0-9]{0,80}") {
            prop_assert!(Manifest::parse(&text).is_err_and(|error| error.starts_with(':')));
        }

        #[test]
        fn a_damaged_manifest_is_reported_with_its_line(
            place in any::<Index>(),
            length in 0_usize..12,
            piece in "|\\[|\\]|=|-1|''|\"|\n|#|\\{|b",
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
    fn errors_name_the_place_and_the_reason() {
        for (from, to, expected) in [
            ("rounds = 5", "runds = 5", ":3: unknown key `runds`, expected one of `rounds`, "),
            ("rounds = 5", "rounds = 'five'", ":3: invalid type"),
            ("rounds = 5", "rounds = 0", ": profile 'default': rounds is 0"),
            ("rounds = 5", "rounds = ", ":3: "),
            (
                "rounds = 5",
                "rounds = 5\ntarget_percent = 0",
                ": profile 'default': target_percent is 0; use more than 0",
            ),
            ("rounds = 5", "rounds = 5\nbudget_seconds = nan", "'default': budget_seconds is NaN"),
            ("operations = 2", "operation = 2", ":6: unknown key `operation`"),
            (
                "path = ",
                "build = { in = '', command = ['make'] }\npath = ",
                ":4: a program has either `path` or `build`",
            ),
            ("path = ", "needs = [{ command = [] }]\npath = ", ":4: a `command` needs"),
            ("path = ", "tasks = 'gopher'\npath = ", ":5: unknown variant `gopher`"),
            ("program = ", "placement = 'near'\nprogram = ", ":12: unknown variant `near`"),
            (
                "\"fake\"\nprofiles",
                "\"fakes\"\nprofiles",
                ":10: case \'a\': unknown program 'fakes'; known: fake; did you mean 'fake'?",
            ),
            (
                "[\"default\"]",
                "[\"quick\"]",
                ":10: case \'a\': unknown profile 'quick'; known: default",
            ),
            (
                "[\"default\"]",
                "[\"default\"]\nbaseline = 'b'",
                ":10: case \'a\': baseline: unknown case 'b'; known: a",
            ),
            (
                "\"What?\"",
                "\"What?\"\ncomparisons = [{ case = 'a', minus = 'b' }]",
                ": comparisons: minus: unknown case 'b'; known: a",
            ),
            (
                "[\"default\"]",
                "[\"default\"]\n[[headline]]\ntext = 'x'\ncase = 'b'",
                ": headline: case: unknown case 'b'; known: a",
            ),
            (
                "[\"default\"]",
                "[\"default\"]\n[[kind]]\ntext = 'x'\nhop = 'a'\nmemory = 'b'",
                ": kind: memory: unknown case 'b'; known: a",
            ),
            (
                "[\"default\"]",
                "[\"default\"]\n[[headline]]\ntext = 'x'\ncase = 'a'\nover = 'b'",
                ": headline: over: unknown case 'b'; known: a",
            ),
        ] {
            let error = parse_with(from, to).unwrap_err();
            assert!(error.contains(expected), "{error:?} does not contain {expected:?}");
            assert!(!error.contains('\n'), "{error:?} is more than one line");
        }
    }

    #[test]
    fn the_least_time_of_a_run_includes_the_waits_between_rounds() {
        let rounds = "rounds = 5\nflags = ['--max-time', '0.1']\nspread_seconds = 50";
        let profile = parse_with("rounds = 5", rounds).unwrap().profiles.remove("default").unwrap();
        assert_eq!(profile.seconds(2), Some(40.0));
        assert_eq!(profile.seconds(200), Some(100.0));
    }

    #[test]
    fn only_a_guests_tasks_cannot_be_spread() {
        let spread = "placement = 'spread'\nprogram = ";
        assert!(parse_with("program = ", spread).is_ok());
        let guest = GOOD.replace("check = ", "form = 'laps'\ncheck = ");
        let error = Manifest::parse(&guest.replace("program = ", spread)).unwrap_err();
        assert!(error.contains(": case 'a': placement: tasks of a program"), "{error}");
    }

    #[test]
    fn every_case_of_a_recorded_run_still_has_its_name() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let manifest = Manifest::load(Some(&root.join(FILE_NAME)), None).unwrap();
        for folder in contract::repository::recorded_runs() {
            let run = fs::read_to_string(folder.join("run.json")).unwrap();
            let run: serde_json::Value = serde_json::from_str(&run).unwrap();
            let names = run["cases"].as_array().unwrap().iter();
            let names: Vec<String> = names.map(|name| name.as_str().unwrap().to_owned()).collect();
            assert_eq!(manifest.cases_named(&names).unwrap().len(), names.len());
        }
    }

    #[test]
    fn cases_are_in_the_order_of_the_manifest() {
        let second = "[[group.case]]\nname = \"b\"\nprogram = \"fake\"\nflags = [\"x\"]\n";
        let manifest = Manifest::parse(&format!("{GOOD}{second}")).unwrap();
        let named = manifest.cases_named(&["b".to_owned(), "a".to_owned()]).unwrap();
        assert_eq!(named.iter().map(|case| &case.name).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(manifest.cases_of("default").count(), 1);
    }

    #[test]
    fn a_similar_name_is_suggested() {
        assert_eq!(meant("runds", &["flags", "rounds"]), "; did you mean 'rounds'?");
        assert_eq!(meant("x", &["flags", "rounds"]), "");
        let names: Vec<_> = (0..=MOST_NAMED).map(|number| format!("case-{number}")).collect();
        let few = unknown("case", "x", names[..2].iter());
        assert_eq!(few, "unknown case 'x'; known: case-0, case-1");
        let many = unknown("case", "case-", names.iter());
        let start = "unknown case 'case-'; there are 17; brigade list GROUP names a group's; did";
        assert!(many.starts_with(start), "{many}");
        let many = unknown("group", "case-", names.iter());
        assert!(
            many.starts_with("unknown group 'case-'; brigade list shows all 17; did"),
            "{many}"
        );
    }
}
