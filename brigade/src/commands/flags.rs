//! The command line, and its completion by a shell: `source <(COMPLETE=bash brigade)`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use anyhow::bail;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use harness::limits::Kind;

use crate::commands::output;
use crate::exit::{Exit, UsageError};
use crate::judge::run::Run;
use crate::manifest::Manifest;
use crate::measure::environment::REVISION;
use crate::programs;
use crate::store::results::Folder;

/// Measures what threads, async tasks, coroutines and processes cost on this machine.
///
/// Without a subcommand, `brigade` is `brigade run`.
#[derive(Debug, Parser)]
#[command(version = version())]
#[command(after_help = after(&["brigade", "measuring"]))]
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
    #[command(after_help = after(&["run", "measuring"]))]
    Run {
        /// Groups and cases to run, such as hops or 'thread-creation --tasks 20'; see 'brigade list'
        #[arg(value_name = "GROUP|CASE", conflicts_with = "resume")]
        #[arg(add = ArgValueCandidates::new(groups_and_cases))]
        names: Vec<String>,
        #[command(flatten)]
        flags: RunFlags,
    },
    /// Show a saved run
    #[command(after_help = after(&["report"]))]
    Report(ReportFlags),
    /// List groups or cases, or explain a case
    #[command(after_help = after(&["list"]))]
    List {
        /// Groups to list, or cases to explain
        #[arg(value_name = "GROUP|CASE", add = ArgValueCandidates::new(groups_and_cases))]
        names: Vec<String>,
    },
    /// Run every case for a few iterations and verify its record
    #[command(hide = true, after_help = after(&["check", "measuring"]))]
    Check {
        /// Groups and cases to check [default: all]
        #[arg(value_name = "GROUP|CASE", add = ArgValueCandidates::new(groups_and_cases))]
        names: Vec<String>,
    },
    /// Predict how many tasks fit on this machine, and the limit that stops more
    #[command(after_help = after(&["limits"]))]
    Limits(LimitsFlags),
    /// Compare two builds, commands or sets of flags, or saved runs
    #[command(after_help = after(&["compare", "measuring"]))]
    Compare(CompareFlags),
    /// Rank this machine among others, and list settings that change its speed
    #[command(after_help = after(&["advise"]))]
    Advise(AdviseFlags),
    /// Estimate whether context switches matter to a program
    #[command(after_help = after(&["impact"]))]
    Impact(ImpactFlags),
    /// Show where a hop's time goes
    #[command(after_help = after(&["trace", "measuring"]))]
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
fn after(paragraphs: &[&str]) -> String {
    let texts = paragraphs.iter().map(|name| &*HELP[*name]).chain([EXIT_CODES]);
    let programs = programs::names().collect::<Vec<_>>().join(", ");
    texts.collect::<Vec<_>>().join("\n\n").replace("{programs}", &programs)
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
    /// When to fail; also with 1 if nothing was compared
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
    /// Number of rounds; a round runs every case once [default: as many as fit the time]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: Option<u32>,
    /// Start nothing after this many seconds [default: 7 per case, at least 30; comparisons: 25 per
    /// case; with --rounds: no limit]
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
    /// Run that measured the cost of switches [default: this machine's latest]
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
    if let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand)
        && Manifest::load(None).is_ok_and(|all| all.groups.iter().any(|group| group.name == *name))
    {
        bail!(UsageError(format!("'{name}' is a group: brigade run {name}")));
    }
    bail!(UsageError(format!("{} (try --help)", harness::flags::reason(error))))
}

/// Answers a shell that requests completions (`COMPLETE=bash brigade`), and exits.
pub fn complete() {
    let command = || {
        programs::names().map(clap::Command::new).fold(Cli::command(), clap::Command::subcommand)
    };
    CompleteEnv::with_factory(command).complete();
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
    use super::*;

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
