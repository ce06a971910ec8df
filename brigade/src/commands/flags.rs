//! The command line, and its completion by a shell: `source <(COMPLETE=bash brigade)`.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::{Context as _, bail};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use harness::limits::Kind;

use crate::commands::output;
use crate::exit::{Exit, UsageError};
use crate::judge::run::Run;
use crate::manifest::{Manifest, did_you_mean};
use crate::measure::environment::REVISION;
use crate::programs;
use crate::shell::quoted;
use crate::store::results::{Folder, cannot_write};

/// Measures what threads, async tasks, coroutines and processes cost on this machine.
///
/// Without a subcommand, `brigade` is `brigade run`.
#[derive(Debug, Parser)]
#[command(version = version())]
#[command(after_help = closing_help(&["brigade", "measuring"]))]
#[command(max_term_width = 80)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The flags of `run`, the default subcommand.
    #[command(flatten)]
    pub run: RunFlags,
    /// The manifest [default: the one in this binary]
    #[arg(long, value_name = "FILE", global = true)]
    pub manifest: Option<PathBuf>,
}

/// The subcommands of `brigade`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure cases in rounds and save every record
    #[command(after_help = closing_help(&["run", "measuring"]))]
    Run {
        /// Groups and cases to run, such as hops or 'thread-creation --tasks 20'; see 'brigade list'
        #[arg(value_name = "GROUP|CASE", conflicts_with = "resume")]
        #[arg(add = ArgValueCandidates::new(groups_and_cases))]
        names: Vec<String>,
        #[command(flatten)]
        flags: RunFlags,
    },
    /// Show a saved run
    #[command(after_help = closing_help(&["report"]))]
    Report(ReportFlags),
    /// List groups or cases, or explain a case
    #[command(after_help = closing_help(&["list"]))]
    List {
        /// Groups to list, or cases to explain
        #[arg(value_name = "GROUP|CASE", add = ArgValueCandidates::new(groups_and_cases))]
        names: Vec<String>,
    },
    /// Run every case for a few iterations and verify its record
    #[command(hide = true, after_help = closing_help(&["check", "measuring"]))]
    Check {
        /// Groups and cases to check [default: all]
        #[arg(value_name = "GROUP|CASE", add = ArgValueCandidates::new(groups_and_cases))]
        names: Vec<String>,
    },
    /// Predict how many tasks fit on this machine, and the limit that stops more
    #[command(after_help = closing_help(&["limits"]))]
    Limits(LimitsFlags),
    /// Compare two builds, commands or sets of flags, or saved runs
    #[command(after_help = closing_help(&["compare", "measuring"]))]
    Compare(CompareFlags),
    /// Rank this machine among others, and list settings that change its speed
    #[command(after_help = closing_help(&["advise"]))]
    Advise(AdviseFlags),
    /// Estimate whether context switches matter to a program
    #[command(after_help = closing_help(&["impact"]))]
    Impact(ImpactFlags),
    /// Show where a hop's time goes
    #[command(after_help = closing_help(&["trace", "measuring"]))]
    Trace(TraceFlags),
}

impl Cli {
    /// The command on this process's command line. `--manifest` may also be before the subcommand;
    /// flags of `run` there would be ignored.
    ///
    /// # Errors
    /// clap's, also for help and version.
    pub fn from_command_line() -> Result<Self, clap::Error> {
        let cli = Self::try_parse()?;
        if cli.command.is_some() && cli.run != RunFlags::default() {
            let message = "put flags after the subcommand, as in: brigade run --rounds 3\n";
            return Err(Self::command().error(ErrorKind::ArgumentConflict, message));
        }
        Ok(cli)
    }
}

impl Command {
    /// Whether it needs the guests.
    pub fn starts_programs(&self) -> bool {
        !matches!(self, Self::Report(_) | Self::Limits(_) | Self::Advise(_) | Self::Impact(_))
    }
}

/// The version, and the commit of a release build.
fn version() -> String {
    let revision = REVISION.map(|revision| format!(" ({revision})"));
    env!("CARGO_PKG_VERSION").to_owned() + &revision.unwrap_or_default()
}

/// The paragraphs of `help.toml`.
static HELP: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| toml::from_str(include_str!("help.toml")).expect("a table that is tested"));

/// The last paragraph of every help; see [`Exit`].
const EXIT_CODES: &str = "Exit codes: 0 done, 1 something failed, 2 wrong flags or manifest, \
                          3 a limit stopped a program, 4 a case is slower (compare --fail-on), \
                          130 interrupted.";

/// The help after the flags: paragraphs of `help.toml`, and the exit codes.
fn closing_help(paragraphs: &[&str]) -> String {
    closing_help_naming(paragraphs, &programs::names().collect::<Vec<_>>().join(", "))
}

/// The help after the flags, with a text in place of the names of the programs.
fn closing_help_naming(paragraphs: &[&str], programs: &str) -> String {
    let texts = paragraphs.iter().map(|name| &*HELP[*name]).chain([EXIT_CODES]);
    texts.collect::<Vec<_>>().join("\n\n").replace("{programs}", programs)
}

/// The flags of `brigade compare`.
#[derive(Debug, Default, Args)]
pub struct CompareFlags {
    /// Groups and cases to run, with --bin, --wrap or --args given twice; otherwise two saved
    /// runs, baseline first, or all runs of the baseline
    #[arg(value_name = "RUN|CASE", num_args = 1..)]
    pub runs: Vec<String>,
    /// Runs of the candidate; each run, such as one per host or boot, is one sample
    #[arg(last = true, value_name = "RUN", requires = "runs")]
    pub others: Vec<String>,
    /// Build to compare: a brigade, or a folder of programs [default: this brigade]
    #[arg(long, value_name = "FILE")]
    pub bin: Vec<PathBuf>,
    /// Command that runs the programs, such as 'taskset -c 1' or 'LANG=C'
    #[arg(long, value_name = "CMD")]
    pub wrap: Vec<String>,
    /// Additional flags for the programs, such as '--tasks 50'
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub args: Vec<String>,
    /// Largest difference that does not matter, in percent
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = amount, allow_negative_numbers = true)]
    pub margin: f64,
    /// When to fail; also with 1 if nothing was compared, or if the candidate has no figure of a
    /// case that the baseline measured
    #[arg(long, value_enum, value_name = "VERDICT")]
    pub fail_on: Option<FailOn>,
    /// Format of the comparison
    #[arg(long, value_enum, default_value_t)]
    pub format: ComparisonFormat,
    #[command(flatten)]
    pub measure: MeasureFlags,
}

/// Verdicts that make a comparison fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Exit with 4 if a case is slower
    Slower,
    /// Exit with 1 if a case is unresolved, too
    Unresolved,
}

/// The flags of `brigade run`, which `brigade` without a subcommand takes too.
#[derive(Debug, Default, PartialEq, Args)]
pub struct RunFlags {
    #[command(flatten)]
    pub measure: MeasureFlags,
    /// Print all tables and notes instead of the first screen
    #[arg(long)]
    pub full: bool,
    /// Resume the interrupted run in this folder
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["rounds", "time", "seed", "results", "name"]
    )]
    pub resume: Option<PathBuf>,
}

/// How to measure cases, and where to save the records.
#[derive(Debug, Default, PartialEq, Args)]
pub struct MeasureFlags {
    /// Number of rounds; a round runs every case once, but `brigade run` alone measures memory in
    /// five of them [default: as many as fit the time]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: Option<u32>,
    /// Start nothing after this many seconds [default: 7 per case, at least 30; `brigade run`
    /// alone: 120; comparisons: 25 per case; with --rounds: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = amount)]
    pub time: Option<f64>,
    /// Seed for the order of cases
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Where to create the results folder [default: results/ of the repository, or
    /// brigade-results/]
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// Name of the results folder, after the date [default: CPU model and count]
    #[arg(long, value_name = "LABEL", value_parser = label)]
    pub name: Option<String>,
}

impl MeasureFlags {
    /// Creates the folder of a run.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn folder(&self, manifest: &Manifest, run: &Run) -> anyhow::Result<Folder> {
        let parent = self.results.clone().unwrap_or_else(|| manifest.results());
        let label = self.name.clone().unwrap_or_else(|| run.environment.label());
        let side = run.description.side.as_ref().map_or(String::new(), |side| format!("-{side}"));
        Folder::create(&parent, &run.description, &run.environment, &(label + &side))
    }

    /// Checks that a run's folder can be created, before anything is waited for or built.
    ///
    /// # Errors
    /// Why it cannot be created.
    pub fn check_folder(&self, manifest: &Manifest) -> anyhow::Result<()> {
        let parent = self.results.clone().unwrap_or_else(|| manifest.results());
        let existing = parent.ancestors().find(|folder| folder.symlink_metadata().is_ok());
        let checked = output::check_folder(existing.unwrap_or(Path::new("")));
        checked.with_context(|| cannot_write(&parent))
    }

    /// The seconds that were given, or `default` unless rounds were.
    pub fn seconds(&self, default: f64) -> Option<f64> {
        match self.time {
            None if self.rounds.is_none() => Some(default),
            time => time,
        }
    }
}

/// The flags of `brigade report`.
#[derive(Debug, Args)]
pub struct ReportFlags {
    /// Folder of a saved run [default: the latest run]
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Format of the report
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Also write the pictures of groups, as SVG files in this folder
    #[arg(long, value_name = "DIR")]
    pub pictures: Option<PathBuf>,
    /// Print all tables and notes instead of the first screen
    #[arg(long)]
    pub full: bool,
}

/// A format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Plain text, 80 columns
    #[default]
    Text,
    /// One HTML page
    Html,
    /// The first screen as a picture
    Svg,
    /// Markdown
    Markdown,
    /// JSON, as in report.schema.json
    Json,
    /// One line per figure and process
    Csv,
}

/// A format of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ComparisonFormat {
    /// Plain text, 80 columns
    #[default]
    Text,
    /// A pull request comment; unchanged cases are folded away
    Markdown,
    /// JSON, as in comparison.schema.json
    Json,
}

/// The flags of `brigade advise`.
#[derive(Debug, Args)]
pub struct AdviseFlags {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Folder to read settings from, for a simulated machine
    #[arg(long, value_name = "DIR", hide = true)]
    pub root: Option<PathBuf>,
}

/// The flags of `brigade impact`.
#[derive(Debug, Args)]
pub struct ImpactFlags {
    /// Watch all threads of this process
    #[arg(long, value_name = "PID", conflicts_with = "command")]
    pub pid: Option<u32>,
    /// How long to watch, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = amount, default_value = "10")]
    pub time: f64,
    /// Run this command instead, until it ends
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Run that measured the cost of switches [default: this machine's latest undisturbed one]
    #[arg(long, value_name = "DIR")]
    pub run: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The flags of `brigade trace`.
#[derive(Debug, Args)]
pub struct TraceFlags {
    /// Case to trace: a ring or lock-hand-over, in Rust
    #[arg(value_name = "CASE", add = ArgValueCandidates::new(cases))]
    pub case: String,
    /// Write one lap as an SVG picture
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write all laps as Trace Event JSON, for Perfetto and chrome://tracing
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
}

/// The flags of `brigade limits`.
#[derive(Debug, Args)]
pub struct LimitsFlags {
    /// Show all limits of one kind of task
    #[arg(long, value_enum)]
    pub kind: Option<Kind>,
    /// Recommend threads or async for this many connections, and exit with 3 if neither fits; with
    /// --kind, print the commands that raise its limits
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub tasks: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Accepts characters that are safe in a folder's name on any system.
fn label(text: &str) -> Result<String, String> {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_safe = !text.is_empty() && text.chars().all(safe);
    let advice = || "use letters, digits, '-', '_' and '.' only".to_owned();
    is_safe.then(|| text.to_owned()).ok_or_else(advice)
}

/// A number of seconds or percent.
fn amount(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..1e6).contains(number));
    number.ok_or_else(|| "use a number of at least 0 and below 1000000".to_owned())
}

/// Prints clap's help, version or error: help and version to standard output, errors as one line to
/// standard error.
///
/// # Errors
/// If the help cannot be written.
pub fn explain(error: &clap::Error) -> anyhow::Result<Exit> {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        output::print(&error.render().to_string())?;
        return Ok(Exit::Done);
    }
    let words: Vec<String> =
        env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) {
        bail!(UsageError(unknown_command(name)));
    }
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(command) = with_quoted_case(&words)
    {
        bail!(UsageError(format!("quote the case: {command}")));
    }
    bail!(UsageError(format!("{} (try --help)", harness::flags::reason(error))))
}

/// Names a word that is no subcommand, and what may be meant.
fn unknown_command(name: &str) -> String {
    let groups = Manifest::load(None).unwrap_or_default().groups;
    let groups: Vec<&str> = groups.iter().map(|group| &*group.name).collect();
    if groups.contains(&name) {
        return format!("'{name}' is a group: brigade run {name}");
    }
    let cli = Cli::command();
    let commands = cli.get_subcommands().filter(|command| !command.is_hide_set());
    let mut known: Vec<&str> = commands.map(clap::Command::get_name).collect();
    known.extend(groups);
    for program in programs::names() {
        known.push(program);
    }
    format!("unknown command '{name}'{} (try --help)", did_you_mean(name, known))
}

/// The command line with quotes around a case that lacks them, such as the last three words of
/// `run thread-brigade --placement spread`; `None` if there is no such case.
fn with_quoted_case(words: &[String]) -> Option<String> {
    let manifest = Manifest::load(None).ok()?;
    let mut cli = Cli::command();
    cli.build();
    let command = words.iter().find_map(|word| cli.find_subcommand(word))?;
    let takes_cases = ["run", "list", "check", "compare", "trace"].contains(&command.get_name());
    let at = words.iter().position(|word| manifest.programs.contains_key(word))?;
    if !takes_cases || !words[at + 1..].iter().any(|word| word.starts_with("--")) {
        return None;
    }
    // The command's own flags are not the case's.
    let mut case = vec![&*words[at]];
    let mut own = Vec::new();
    let mut rest = words[at + 1..].iter().peekable();
    while let Some(word) = rest.next() {
        let name = word.split('=').next().unwrap_or_default();
        let mut flags = command.get_arguments();
        let flag = flags.find(|arg| arg.get_long().is_some_and(|long| name == format!("--{long}")));
        // A mistyped flag of the command is no flag of the case.
        let is_of_program = programs::page(&words[at]).is_none()
            || programs::has_flag(&words[at], name.trim_start_matches('-'));
        if flag.is_none() && word.starts_with("--") && !is_of_program {
            return None;
        }
        let list = if flag.is_some() { &mut own } else { &mut case };
        list.push(word);
        let takes_value = flag.is_none_or(|flag| flag.get_action().takes_values());
        if takes_value && word.starts_with("--") && !word.contains('=') {
            list.extend(rest.next_if(|next| !next.starts_with('-')).map(String::as_str));
        }
    }
    let case = case.join(" ");
    let before = words[..at].iter().map(String::as_str);
    let line = ["brigade"].into_iter().chain(before).chain([&*case]).chain(own);
    Some(quoted(line))
}

/// Answers a shell that requests completions (`COMPLETE=bash brigade`), and exits.
pub fn complete() {
    CompleteEnv::with_factory(with_programs).complete();
}

/// The command line with every program as a subcommand, which has the program's flags.
fn with_programs() -> clap::Command {
    // A program does not take the manifest.
    let none = || Arg::new("manifest").long("manifest").hide(true);
    let programs = programs::commands().map(|program| program.arg(none()));
    programs.fold(Cli::command(), clap::Command::subcommand)
}

fn groups_and_cases() -> Vec<CompletionCandidate> {
    let groups = Manifest::load(None).unwrap_or_default().groups.into_iter();
    groups.map(|group| CompletionCandidate::new(group.name)).chain(cases()).collect()
}

fn cases() -> Vec<CompletionCandidate> {
    let cases = Manifest::load(None).unwrap_or_default().cases.into_iter();
    cases.map(|case| CompletionCandidate::new(case.name)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::fixtures;
    use crate::judge::report::{RunData, RunProgress, report};
    use crate::show::screen::{Place, screen};

    #[test]
    fn a_case_without_quotes_gets_them_and_the_commands_flags_do_not() {
        for (line, expected) in [
            (
                "run thread-brigade --placement spread",
                Some("brigade run 'thread-brigade --placement spread'"),
            ),
            (
                "run thread-brigade --placement spread --rounds 3 --full --tasks=9",
                Some("brigade run 'thread-brigade --placement spread --tasks=9' --rounds 3 --full"),
            ),
            (
                "trace rings --tasks 5 --svg x.svg",
                Some("brigade trace 'rings --tasks 5' --svg x.svg"),
            ),
            (
                "--manifest m run goroutine-brigade memory --x",
                Some("brigade --manifest m run 'goroutine-brigade memory --x'"),
            ),
            ("run thread-brigade", None),
            ("run thread-brigade --rouns 3", None),
            ("run hops --placement spread", None),
            ("limits --tasks 5 thread-brigade --x", None),
            ("--placement spread", None),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(with_quoted_case(&words).as_deref(), expected, "{line}");
        }
    }

    /// Whether a reader can type a printed command: its flags are known, and the groups and cases
    /// that it names. Words in capitals are for the reader to replace.
    fn check_typed(line: &str) -> Result<(), String> {
        // What a shell does with the output, and alternatives.
        let line = line.split(['>', '|']).next().unwrap_or_default();
        let line = line.replace("--pid PID", "--pid 1").replace("--tasks N", "--tasks 1");
        let mut words = shlex::split(&line).ok_or("a quote is open")?;
        // A flag that is only mentioned lacks its value.
        if words.len() == 3
            && let Some(flag) = words[2].strip_prefix("--")
        {
            let mut whole = with_programs();
            whole.build();
            let command = whole.find_subcommand(&words[1]);
            let has = |arg: &Arg| arg.get_long() == Some(flag);
            if command.is_some_and(|command| command.get_arguments().any(has)) {
                words.pop();
            }
        }
        if let Some(name) = words.get(1)
            && programs::page(name).is_some()
        {
            return programs::refusal(name, &words[2..]).map_or(Ok(()), Err);
        }
        let cli = Cli::try_parse_from(&words).map_err(|error| harness::flags::reason(&error))?;
        let mut names = match cli.command {
            Some(Command::Run { names, .. } | Command::List { names }) => names,
            Some(Command::Trace(flags)) => vec![flags.case],
            _ => Vec::new(),
        };
        let is_placeholder = |name: &String| name.chars().all(|c| c.is_uppercase() || c == '…');
        names.retain(|name| !is_placeholder(name));
        if cli.manifest.is_none() && !names.is_empty() {
            let mut manifest = Manifest::load(None).map_err(|error| error.to_string())?;
            manifest.admit(&names);
            manifest.chosen(&names).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// The commands in a document: in backticks, or as a line of code.
    fn commands_in(document: &str) -> Vec<String> {
        let code = document.lines().filter_map(|line| line.strip_prefix("    "));
        let mut found: Vec<String> = code.map(str::to_owned).collect();
        for paragraph in document.split("\n\n").filter(|text| !text.contains("```")) {
            // A line may break inside of a command.
            let paragraph = paragraph.replace('\n', " ");
            found.extend(paragraph.split('`').skip(1).step_by(2).map(str::to_owned));
        }
        found.retain(|text| text.starts_with("brigade "));
        found
    }

    #[test]
    fn every_command_in_help_documents_and_screens_can_be_typed() {
        let mut commands = Vec::new();
        let helps = with_programs();
        let helps = helps.get_subcommands().filter_map(clap::Command::get_after_help);
        let helps = helps.map(ToString::to_string).chain([closing_help(&["brigade"])]);
        for help in helps {
            let lines = help.lines().filter_map(|line| line.strip_prefix("  brigade "));
            commands.extend(lines.map(|line| format!("brigade {line}")));
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let documents = root.join("docs").read_dir().expect("docs");
        let documents = documents.map(|entry| entry.expect("docs").path());
        let documents = documents.filter(|path| path.extension().is_some_and(|end| end == "md"));
        for path in documents.chain([root.join("README.md"), root.join("CONTRIBUTING.md")]) {
            commands.extend(commands_in(&fs::read_to_string(path).expect("a document")));
        }
        let manifest = Manifest::load(None).expect("a manifest");
        for folder in contract::repository::recorded_runs() {
            let mut run = fixtures::read(&folder).judged();
            let progress = RunProgress { is_complete: true, ..RunProgress::default() };
            let data = RunData { name: "a run".to_owned(), run: &mut run, progress, alike: &[] };
            let report = report(&manifest, data);
            let place = Place { folder: "a folder/of a run", ..Place::default() };
            let text = screen(&report, place);
            let lines = text.lines().filter_map(|line| line.split_once(": brigade "));
            let printed = lines.map(|(_, rest)| rest.split(" (").next().unwrap_or_default());
            commands.extend(printed.map(|rest| format!("brigade {rest}")));
        }
        assert!(commands.len() > 80, "{} commands: {commands:#?}", commands.len());
        for command in commands {
            let typed = check_typed(&command);
            assert_eq!(typed, Ok(()), "{command}");
        }
        for wrong in [
            "brigade run hopps",
            "brigade report --ful",
            "brigade report --ful x",
            "brigade rings --x 1",
            "brigade x",
        ] {
            check_typed(wrong).unwrap_err();
        }
    }

    /// The committed manual pages match the flags. After a change,
    /// `UPDATE_MANUAL=1 cargo test -p brigade manual` rewrites them.
    #[test]
    fn the_manual_pages_are_committed() {
        let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
        let written = tempfile::tempdir().expect("a folder");
        let help = closing_help_naming(&["brigade", "measuring"], "brigade --help lists them.");
        // The version of a release build has its commit, and a new program changes no page.
        let command = Cli::command().version(env!("CARGO_PKG_VERSION")).after_help(help);
        clap_mangen::generate_to(command, written.path()).expect("manual pages");
        let texts = |folder: &Path| -> BTreeMap<String, String> {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let text = |entry: fs::DirEntry| {
                let name = entry.file_name().into_string().expect("a name in UTF-8");
                (name, fs::read_to_string(entry.path()).expect("a page"))
            };
            entries.map(text).collect()
        };
        let pages = texts(written.path());
        assert!(pages.contains_key("brigade.1") && pages.contains_key("brigade-run.1"));
        if env::var_os("UPDATE_MANUAL").is_some() {
            let _ = fs::remove_dir_all(&committed);
            fs::create_dir(&committed).expect("a folder");
            for (name, text) in &pages {
                fs::write(committed.join(name), text).expect("a page");
            }
        }
        let is_same = texts(&committed) == pages;
        assert!(is_same, "stale: UPDATE_MANUAL=1 cargo test -p brigade manual");
    }

    #[test]
    fn completions_have_the_flags_of_programs() {
        let whole = with_programs();
        whole.clone().debug_assert();
        let program = whole.find_subcommand("thread-brigade").expect("a program");
        let flags: Vec<&str> = program.get_arguments().filter_map(Arg::get_long).collect();
        assert!(flags.contains(&"placement") && flags.contains(&"tasks"), "{flags:?}");
    }

    #[test]
    fn the_help_of_every_command_has_examples() {
        let whole = Cli::command();
        whole.clone().debug_assert();
        for command in whole.get_subcommands().filter(|command| !command.is_hide_set()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.starts_with("Examples:\n  brigade "), "{}: {help}", command.get_name());
        }
    }
}
