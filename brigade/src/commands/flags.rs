//! The command line.

use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::engine::{ArgValueCandidates as Candidates, ArgValueCompleter as Completer};

use harness::limits::Kind;

use crate::commands::{output, values};
use crate::exit::Exit;
use crate::manifest::Manifest;
use crate::measure::environment::REVISION;
use crate::programs;

/// Runs its programs in shuffled rounds of fresh processes and keeps every record.
///
/// Without a subcommand, `brigade` is `brigade run`.
#[derive(Debug, Parser)]
#[command(version = version(), args_conflicts_with_subcommands = true)]
#[command(after_help = after(&by_hand(), &[Exit::Limit]))]
#[command(max_term_width = 80)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The flags of `run`, which is what happens without a subcommand.
    #[command(flatten)]
    pub run: RunFlags,
}

/// The subcommands of `brigade`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run every case once per round, keep every record
    #[command(after_help = after(&format!("{RUNNING}\n\n{MEASURING}"), &[Exit::Limit]))]
    Run(RunCommand),
    /// Show the table and the findings of runs from their folders
    #[command(after_help = after(REPORTING, &[]))]
    Report(ReportFlags),
    /// Show the groups and profiles, or the cases of a group or profile
    #[command(after_help = after("Examples:\n  brigade list\n  brigade list hops", &[]))]
    List(ListFlags),
    /// Explain a case: what it does, what is counted, known biases, the command
    #[command(after_help = after("Examples:\n  brigade explain thread-brigade/same-cpu", &[]))]
    Explain(ExplainFlags),
    /// Run every case for a few iterations and verify what it reports
    #[command(after_help = after(&format!("{CHECKING}\n\n{MEASURING}"), &[Exit::Limit]))]
    Check(CheckFlags),
    /// Predict how many tasks fit on this machine, and which limit stops them
    #[command(after_help = after(&format!("{FITTING}\n\n{MEASURING}"), &[Exit::Limit]))]
    Limits(LimitsFlags),
    /// Compare two saved runs, or two builds, commands or sets of flags side by side
    #[command(after_help = after(COMPARING, &[Exit::Limit, Exit::Slower]))]
    Compare(CompareFlags),
    /// Verify the instrument itself by experiments of known outcome
    #[command(after_help = after(PROVING, &[Exit::NotShown]))]
    Prove(ProveFlags),
    /// List the settings of this machine that change the results, and try one
    #[command(after_help = after(ADVISING, &[Exit::Limit]))]
    Advise(AdviseFlags),
    /// Estimate whether switches matter to a program, from their cost on this machine
    #[command(after_help = after(EXPLAINING, &[]))]
    Impact(ImpactFlags),
    /// Show where the time of each hop of a case goes, from the kernel's records of switches
    #[command(after_help = after(TRACING, &[Exit::Limit]))]
    Trace(TraceFlags),
    /// Write the manual pages into this folder
    #[command(hide = true)]
    Man {
        /// The folder.
        folder: PathBuf,
    },
}

/// The version, and the commit that a release build is of.
fn version() -> String {
    let revision = REVISION.map(|revision| format!(" ({revision})"));
    env!("CARGO_PKG_VERSION").to_owned() + &revision.unwrap_or_default()
}

/// The help after the flags: `text`, and the exit codes besides those of every command.
fn after(text: &str, more: &[Exit]) -> String {
    let codes = [&[Exit::Done, Exit::Failed, Exit::Usage], more, &[Exit::Interrupted]].concat();
    format!("{text}\n\n{}", Exit::help(&codes))
}

/// The programs of this binary, and advice on measuring.
fn by_hand() -> String {
    let names: Vec<_> = programs::names().collect();
    format!(
        "{RUNNING}\n  brigade thread-brigade --tasks 100\n\n\
         Programs, to run by hand (brigade PROGRAM --help):\n{}\n\n{MEASURING}",
        names.join(", ")
    )
}

const RUNNING: &str = "\
Examples:
  brigade run
  brigade run hops creation --budget 120
  brigade run --profile thorough
  brigade run --resume results/2026-11-24-amd-epyc-2cpu";

const REPORTING: &str = "\
Examples:
  brigade report --open
  brigade report --full results/A results/B
  brigade report --format csv --output run.csv";

const CHECKING: &str = "\
Examples:
  brigade check
  brigade check --case fork thread-brigade/spread";

const FITTING: &str = "\
Examples:
  brigade limits --tasks 10000
  brigade limits --kind thread --verify";

const MEASURING: &str = "\
Only one brigade measures at a time: it holds the lock /run/lock/brigade.lock, or \
/tmp/brigade.lock where that cannot be written; BRIGADE_LOCK=PATH names another file.";

const COMPARING: &str = "\
Examples:
  brigade compare results/A results/B
  brigade compare results/2026-11-22-* -- results/2026-11-23-*
  brigade compare --bin old/brigade target/release/brigade
  brigade compare --under 'taskset -c 0' --under 'chrt -b 0'
  brigade compare --with '--tasks 50' --with '--tasks 500'

The first of each is the baseline, the second the candidate. A flag that is given once holds \
for both. Builds, conditions and flags are compared side by side: in every round both run \
every case, in balanced order, until the budget is spent.";

const ADVISING: &str = "\
Examples:
  brigade advise
  brigade advise --try guest_halt_poll_ns=200000

--try changes the machine while it measures, and needs the right to. A detached process puts \
the old value back at the end, even after Ctrl-C or if the runner is killed.";

const EXPLAINING: &str = "\
Examples:
  brigade impact --pid 1234 --seconds 10
  brigade impact -- make -j2

The program's switches are multiplied with what a switch costs in the latest run of this machine \
in results/, from the cheapest to the most expensive. Of a command, the processes that it starts and \
waits for count as well.";

const TRACING: &str = "\
An ordinary user may trace where kernel.perf_event_paranoid is 2 or less. With CAP_PERFMON, as \
root has it, a gap also names the other process that had the CPU, or that the CPU slept.";

const PROVING: &str = "\
Examples:
  brigade prove
  brigade prove --run results/2026-11-24-amd-epyc-2cpu

Each property holds, FAILS, is NOT SHOWN because the machine is too busy, or cannot be \
measured here.";

/// The flags of `brigade compare`.
#[derive(Debug, Default, Args)]
pub struct CompareFlags {
    /// Folders of two saved runs, the baseline and the candidate; or several of the baseline
    #[arg(value_name = "RUN", num_args = 1.., conflicts_with_all = ["bin", "under", "with", "cases"])]
    #[arg(add = Completer::new(values::runs))]
    pub runs: Vec<PathBuf>,
    /// Folders of the candidate: each run, such as one of each host or boot, is one sample
    #[arg(last = true, value_name = "RUN", requires = "runs")]
    #[arg(add = Completer::new(values::runs))]
    pub others: Vec<PathBuf>,
    /// Another brigade, or a folder of programs' binaries [default: this brigade]
    #[arg(long, value_name = "FILE", num_args = 1..=2)]
    pub bin: Vec<PathBuf>,
    /// Command that runs the programs, such as 'taskset -c 1' or 'LANG=C'
    #[arg(long, value_name = "CMD")]
    pub under: Vec<String>,
    /// Additional flags for the programs, such as '--tasks 50'
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub with: Vec<String>,
    /// Compare the cases of this profile of the manifest
    #[arg(long, default_value = "default")]
    #[arg(add = Candidates::new(values::profiles))]
    pub profile: String,
    /// Compare only these cases, regardless of the profile
    #[arg(long = "case", visible_alias = "cases", value_name = "NAME", num_args = 1..)]
    #[arg(add = Candidates::new(values::cases))]
    pub cases: Vec<String>,
    /// Rounds, each with every case once on both sides, instead of a budget
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    #[arg(conflicts_with = "budget")]
    pub rounds: Option<u32>,
    /// Start no invocation after this many seconds [default: 25 per case]
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub budget: Option<f64>,
    /// Largest difference that does not matter, in percent
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = not_negative, allow_negative_numbers = true)]
    pub margin: f64,
    /// Exit with 4 if a case has this verdict
    #[arg(long, value_enum, value_name = "VERDICT")]
    pub fail_on: Option<FailOn>,
    /// Format of the comparison
    #[arg(long, value_enum, default_value_t)]
    pub format: ComparisonFormat,
    /// Seed of the order of the invocations, to repeat an earlier one
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Parent of the two folders of records [default: results/ of the repository, or brigade-results/]
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// Label for the two results folders [default: CPU model and count]
    #[arg(long, value_name = "LABEL", value_parser = label)]
    pub name: Option<String>,
    /// The manifest and how to get its programs.
    #[command(flatten)]
    pub programs: ProgramFlags,
}

/// The verdicts that make a comparison fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A case takes longer; it fails, too, if nothing could be compared
    Slower,
    /// Likewise, or if a verdict is unresolved
    Unresolved,
}

/// The default profile of groups.
pub const GROUP_PROFILE: &str = "group";

/// `brigade run`.
#[derive(Debug, Args)]
pub struct RunCommand {
    /// Groups of cases to run, such as 'switches'; see 'brigade list'
    #[arg(value_name = "GROUP", conflicts_with_all = ["cases", "resume"])]
    #[arg(add = Candidates::new(values::groups))]
    pub groups: Vec<String>,
    /// Its flags.
    #[command(flatten)]
    pub flags: RunFlags,
}

impl RunCommand {
    /// The profile to run with.
    pub fn profile(&self) -> &str {
        let of_groups = if self.groups.is_empty() { "default" } else { GROUP_PROFILE };
        self.flags.profile.as_deref().unwrap_or(of_groups)
    }
}

/// The flags of `brigade run`, which `brigade` without a subcommand takes too.
#[derive(Debug, Args)]
pub struct RunFlags {
    /// How thoroughly to measure: a profile of the manifest [default: default,
    /// or group where groups are named]
    #[arg(long)]
    #[arg(add = Candidates::new(values::profiles))]
    pub profile: Option<String>,
    /// Run only these cases, regardless of the profile
    #[arg(long = "case", value_name = "NAME", num_args = 1..)]
    #[arg(add = Candidates::new(values::cases))]
    pub cases: Vec<String>,
    /// Run all pairs of CPUs, even on more than 32 CPUs, where a sample of each distance is
    /// the default
    #[arg(long)]
    pub all_pairs: bool,
    /// Rounds, instead of the profile's number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: Option<u32>,
    /// Seconds that all invocations and waits between rounds may take, while further
    /// rounds narrow the widest intervals, instead of the profile's
    #[arg(long, value_name = "SECONDS", value_parser = budget, conflicts_with = "rounds")]
    pub budget: Option<f64>,
    /// Seed of the order of the cases, to repeat that of an earlier run
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Folder that receives the folder of this run [default: results/ of the repository, or brigade-results/]
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// Name of this run's folder after the date, instead of CPU model and count
    #[arg(long, value_name = "LABEL", value_parser = label)]
    pub name: Option<String>,
    #[command(flatten)]
    pub show: ShowFlags,
    /// Resume the run in this folder, which was interrupted or killed
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = [
            "profile", "cases", "all_pairs", "rounds", "budget", "seed", "results", "name"
        ]
    )]
    #[arg(add = Completer::new(values::runs))]
    pub resume: Option<PathBuf>,
    /// The manifest and how to get its programs.
    #[command(flatten)]
    pub programs: ProgramFlags,
}

/// What to print besides the first screen.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ShowFlags {
    /// Print all tables and notes instead of the first screen
    #[arg(long)]
    pub full: bool,
    /// Also print the notes on single cases
    #[arg(long)]
    pub notes: bool,
}

/// The flags of `brigade report`.
#[derive(Debug, Args)]
pub struct ReportFlags {
    /// Folders of runs, as `run` leaves them in results/; several are set side by side
    /// [default: the latest run]
    #[arg(value_name = "DIR")]
    #[arg(add = Completer::new(values::runs))]
    pub folders: Vec<PathBuf>,
    /// Format of the report [default: text, and html with --open]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    #[command(flatten)]
    pub show: ShowFlags,
    /// Write the report to this file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Open the page, which is report.html in the folder of the run unless --output
    /// names another file
    #[arg(long, conflicts_with = "update")]
    pub open: bool,
    /// Rewrite the figures between the markers of these Markdown files
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["folders", "output"])]
    pub update: Vec<PathBuf>,
    /// The manifest, which has groups, headline and findings
    /// [default: the one in this binary]
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
}

/// A format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Plain text of 80 columns
    Text,
    /// An HTML page in one file
    Html,
    /// The picture of a run to post, 1200 × 630
    Svg,
    /// A page in Markdown
    Markdown,
    /// One object, as report.schema.json describes it
    Json,
    /// A row for each value of each invocation
    Csv,
    /// The format of Go's benchmarks, which benchstat reads
    Benchstat,
    /// Bencher Metric Format
    Bmf,
    /// The JSON of github-action-benchmark, smaller is better
    Github,
}

/// A format of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ComparisonFormat {
    /// Plain text of 80 columns
    #[default]
    Text,
    /// An HTML page in one file
    Html,
    /// A comment on a change: what is the same is folded away
    Markdown,
    /// One object, as comparison.schema.json describes it
    Json,
}

/// The flags of `brigade list`.
#[derive(Debug, Args)]
pub struct ListFlags {
    /// Show the cases of these groups
    #[arg(value_name = "GROUP", conflicts_with = "profile")]
    #[arg(add = Candidates::new(values::groups))]
    pub groups: Vec<String>,
    /// Show the cases of this profile
    #[arg(long)]
    #[arg(add = Candidates::new(values::profiles))]
    pub profile: Option<String>,
    /// The manifest [default: the one in this binary]
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
}

/// The flags of `brigade explain`.
#[derive(Debug, Args)]
pub struct ExplainFlags {
    /// The case, by its name or its title
    #[arg(value_name = "CASE")]
    #[arg(add = Candidates::new(values::cases))]
    pub case: String,
    /// The manifest [default: suite.toml here or in a folder above]
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
}

/// The flags of `brigade check`.
#[derive(Debug, Args)]
pub struct CheckFlags {
    /// Check only the cases of these groups
    #[arg(value_name = "GROUP", conflicts_with = "cases")]
    #[arg(add = Candidates::new(values::groups))]
    pub groups: Vec<String>,
    /// Check only these cases
    #[arg(long = "case", value_name = "NAME", num_args = 1..)]
    #[arg(add = Candidates::new(values::cases))]
    pub cases: Vec<String>,
    /// The manifest and how to get its programs.
    #[command(flatten)]
    pub programs: ProgramFlags,
}

/// The flags of `brigade prove`.
#[derive(Debug, Args)]
pub struct ProveFlags {
    /// Compare the cases of this profile with themselves [default: the manifest's]
    #[arg(long)]
    #[arg(add = Candidates::new(values::profiles))]
    pub profile: Option<String>,
    /// How long each invocation measures [default: the manifest's]
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub seconds: Option<f64>,
    /// Compare the halves of this saved run, instead of the rounds that run here
    #[arg(long, value_name = "DIR")]
    #[arg(add = Completer::new(values::runs))]
    pub run: Option<PathBuf>,
    /// Seed of the order of the invocations
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print the proof as one JSON object
    #[arg(long)]
    pub json: bool,
    /// The manifest and how to get its programs.
    #[command(flatten)]
    pub programs: ProgramFlags,
}

/// The flags of `brigade advise`.
#[derive(Debug, Args)]
pub struct AdviseFlags {
    /// Measure the cases that a setting touches, side by side as it is and with another
    /// value, without one the advised
    #[arg(long = "try", value_name = "NAME[=VALUE]", conflicts_with = "json")]
    #[arg(add = Candidates::new(values::settings))]
    pub tried: Option<String>,
    /// Put back what an attempt left changed that was killed with all of its helpers
    #[arg(long, conflicts_with = "tried")]
    pub restore: bool,
    /// Print one JSON object instead
    #[arg(long)]
    pub json: bool,
    /// Try it with these cases instead
    #[arg(long = "case", visible_alias = "cases", value_name = "NAME", num_args = 1..)]
    #[arg(requires = "tried")]
    #[arg(add = Candidates::new(values::cases))]
    pub cases: Vec<String>,
    /// Rounds, each with every case once on both sides, instead of a budget
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    #[arg(conflicts_with = "budget")]
    pub rounds: Option<u32>,
    /// Start no invocation after this many seconds [default: 25 per case]
    #[arg(long, value_name = "SECONDS", value_parser = positive, requires = "tried")]
    pub budget: Option<f64>,
    /// Seed of the order of the invocations, to repeat an earlier one
    #[arg(long, value_name = "N", requires = "tried")]
    pub seed: Option<u64>,
    /// Parent of the two folders of records [default: results/ of the repository, or brigade-results/]
    #[arg(long, value_name = "DIR", requires = "tried")]
    pub results: Option<PathBuf>,
    /// Label for the two results folders [default: CPU model and count]
    #[arg(long, value_name = "LABEL", value_parser = label, requires = "tried")]
    pub name: Option<String>,
    /// The folder that contains the settings, for a simulated machine
    #[arg(long, value_name = "DIR", hide = true)]
    pub root: Option<PathBuf>,
    #[command(flatten)]
    pub programs: ProgramFlags,
}

/// The flags of `brigade impact`.
#[derive(Debug, Args)]
pub struct ImpactFlags {
    /// Watch this process, all of its threads
    #[arg(
        long,
        value_name = "PID",
        conflicts_with = "command",
        required_unless_present = "command"
    )]
    pub pid: Option<u32>,
    /// How long to watch, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = budget, default_value = "10")]
    pub seconds: f64,
    /// Run this command to its end instead
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Folder of the run that measured the cost of a switch [default: the latest of this
    /// machine in results/ of the repository, or brigade-results/]
    #[arg(long, value_name = "DIR")]
    #[arg(add = Completer::new(values::runs))]
    pub run: Option<PathBuf>,
    /// Print one JSON object instead
    #[arg(long)]
    pub json: bool,
    /// The manifest [default: the one in this binary]
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
}

/// The flags of `brigade trace`.
#[derive(Debug, Args)]
pub struct TraceFlags {
    /// The case
    #[arg(value_name = "CASE")]
    pub case: String,
    /// Write the timeline of one lap as a picture
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write all laps as Trace Event JSON, for Perfetto and chrome://tracing
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    #[command(flatten)]
    pub programs: ProgramFlags,
}

/// The flags of `brigade limits`.
#[derive(Debug, Args)]
pub struct LimitsFlags {
    /// Show all limits of one kind of task
    #[arg(long, value_enum)]
    pub kind: Option<Kind>,
    /// Exit with 3 unless this many tasks fit, and print the commands that make room
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub tasks: Option<u64>,
    /// Create tasks up to the limit, to verify the prediction
    #[arg(long, requires = "kind")]
    pub verify: bool,
    /// Print one JSON object instead
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub programs: ProgramFlags,
}

/// The flags of every command that runs programs.
#[derive(Clone, Debug, Default, Args)]
pub struct ProgramFlags {
    /// The manifest [default: the one in this binary]
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
    /// Folder of the programs in other languages [default: guests/ next to brigade, or in
    /// ../share/brigade]
    #[arg(long, value_name = "DIR")]
    pub guests: Option<PathBuf>,
    /// Run the programs in other languages without building them again
    #[arg(long)]
    pub no_build: bool,
    /// Wait while another brigade measures, instead of refusing
    #[arg(long)]
    pub wait: bool,
}

impl ProgramFlags {
    /// The manifest that they name, or the one in this binary.
    ///
    /// # Errors
    /// As [`Manifest::load`].
    pub fn manifest(&self) -> anyhow::Result<Manifest> {
        Manifest::load(self.manifest.as_deref(), self.guests.as_deref())
    }
}

/// Accepts what is safe as part of a folder's name on any system.
fn label(text: &str) -> Result<String, String> {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if text.is_empty() || !text.chars().all(safe) {
        return Err("use letters, digits, '-', '_' and '.' only".to_owned());
    }
    Ok(text.to_owned())
}

/// A number above zero.
fn positive(text: &str) -> Result<f64, String> {
    number(text).filter(|number| *number > 0.0).ok_or_else(|| "use a number above 0".to_owned())
}

/// Seconds of measuring: above zero, and less than two weeks.
fn budget(text: &str) -> Result<f64, String> {
    let bounded = positive(text).ok().filter(|seconds| *seconds < 1e6);
    bounded.ok_or_else(|| "use a number of seconds above 0 and below 1000000".to_owned())
}

/// A number of zero or more.
fn not_negative(text: &str) -> Result<f64, String> {
    number(text).filter(|number| *number >= 0.0).ok_or_else(|| "use a number from 0".to_owned())
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Prints the help, version or error of clap: help and version on standard output,
/// anything else as one line on standard error.
pub fn explain(error: &clap::Error) -> Exit {
    let text = error.render().to_string();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return match output::print(&text) {
            Ok(()) => Exit::Done,
            Err(error) => {
                output::complain(&format!("{error:#}"));
                Exit::Failed
            }
        };
    }
    if let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand)
        && Manifest::load(None, None)
            .is_ok_and(|suite| suite.groups.iter().any(|of| of.name == *name))
    {
        output::complain(&format!("'{name}' is a group: brigade run {name}"));
        return Exit::Usage;
    }
    // Flags that are missing stand on lines of their own.
    let lines: Vec<&str> =
        text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    let said = lines.join(" ");
    let reason = said.strip_prefix("error: ").unwrap_or(&said);
    output::complain(&format!("{reason} (try 'brigade --help')"));
    Exit::Usage
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_flags_are_consistent() {
        Cli::command().debug_assert();
    }
}
