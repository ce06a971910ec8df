//! The flags common to all programs. A program adds its flags with a
//! `clap::Args` struct, whose documentation becomes the text of `--help`; see
//! [`mod@crate::program`].

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser as _};
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches as _, ValueEnum as _, value_parser};
use serde_json::Value;

use crate::machine::cpus::CpuList;
use crate::machine::placement::Policy;
use crate::spec::{Count, Spec};
use crate::tasks::hand_over::Channel;
use crate::tasks::runtime_kind::RuntimeKind;
pub use crate::words::{description, name};

/// The upper bound of times in flags: 31 years. Its nanoseconds do not
/// overflow.
const LONGEST_TIME: Duration = Duration::from_secs(1_000_000_000);

/// `--channel`, for programs that support every [`Channel`].
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(skip)]
pub struct ChannelFlag {
    /// Channel that carries the byte
    #[arg(long, value_enum, default_value_t = Channel::Pipe)]
    pub channel: Channel,
}

/// The sizes of stacks, in bytes: from the smallest that glibc accepts, 16 KiB on x86-64 and 128 KiB
/// on AArch64.
pub const STACK_SIZES: RangeInclusive<u64> = libc::PTHREAD_STACK_MIN as u64..=1 << 40;

/// `--stack-size`, for tasks with stacks.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(skip)]
pub struct StackFlag {
    /// Address space reserved for the stack of each task
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(STACK_SIZES))]
    pub stack_size: usize,
}

/// The flags common to all programs.
#[derive(Clone, Debug, Default, clap::Args)]
// clap names a group after each struct of flags, and those of the programs are
// also called `Flags`.
#[group(skip)]
pub struct Flags {
    /// The value of `--tasks`, for programs with that flag.
    #[arg(skip)]
    pub tasks: Option<u32>,

    /// The value of every flag, also of the program's, by its long name with underscores.
    #[arg(skip)]
    pub(crate) parameters: BTreeMap<String, Value>,

    /// Iterations to measure
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub iters: u64,

    /// Warm-up iterations [default: 20 ms worth, at least 3, at most 2 s]
    #[arg(long, value_name = "N")]
    pub warmups: Option<u64>,

    /// Stop warming up, and then measuring, after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub max_time: Option<Duration>,

    /// Which CPUs the tasks run on
    #[arg(long, value_enum, default_value_t = Policy::Free, value_name = "POLICY")]
    pub placement: Policy,

    /// CPUs to choose from, like 0,2-3 [default: all that this process may use]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<CpuList>,

    /// Run a SCHED_IDLE spinner on each CPU so that it never goes idle
    #[arg(long)]
    pub keep_awake: bool,

    /// Run this shell command while the tasks are alive; {pid} stands for the process. Fail if it fails
    #[arg(long, value_name = "CMD")]
    pub command: Option<String>,

    /// Print no summary and no progress
    #[arg(long)]
    pub quiet: bool,

    /// Print one JSON record instead of the summary
    #[arg(long)]
    pub json: bool,

    /// Write the distribution to FILE as HdrHistogram percentile text, in
    /// nanoseconds
    #[arg(long, value_name = "FILE")]
    pub histogram: Option<PathBuf>,

    /// Record the switches of further laps in FILE, for brigade trace
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
}

impl Flags {
    /// Reads the common flags of a program.
    ///
    /// # Errors
    /// Clap's, if `matches` are not those of [`with_flags`].
    pub(crate) fn read(command: &Command, matches: &ArgMatches) -> Result<Self, clap::Error> {
        let tasks = matches.try_get_one("tasks").ok().flatten().copied();
        let recorded = |arg: &Arg| {
            let name = arg.get_long().filter(|name| !UNRECORDED.contains(name))?;
            let id = arg.get_id().as_str();
            // A hidden flag is for tests and experiments: without it, the case is the usual one.
            let is_given = matches.value_source(id) == Some(ValueSource::CommandLine);
            (is_given || !arg.is_hide_set()).then(|| (name.replace('-', "_"), value(matches, id)))
        };
        let parameters = command.get_arguments().filter_map(recorded).collect();
        Ok(Self { tasks, parameters, ..Self::from_arg_matches(matches)? })
    }
}

/// What clap's error says, in one line, with the nearest known word. clap prints each missing flag on
/// a separate line.
pub fn reason(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    let reason = lines.collect::<Vec<_>>().join(" ").trim_start_matches("error: ").to_owned();
    let nearest = nearest_known(error);
    nearest.map_or(reason.clone(), |word| format!("{reason}; did you mean '{word}'?"))
}

/// The flag, value or subcommand nearest to the wrong one, if one is near.
fn nearest_known(error: &clap::Error) -> Option<&str> {
    use ContextKind::{SuggestedArg, SuggestedSubcommand, SuggestedValue};
    let suggested = [SuggestedArg, SuggestedSubcommand, SuggestedValue];
    suggested.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(word) => Some(&**word),
        ContextValue::Strings(words) => words.last().map(|word| &**word),
        _ => None,
    })
}

fn seconds(text: &str) -> Result<Duration, String> {
    text.parse::<f64>()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|time| !time.is_zero() && *time < LONGEST_TIME)
        .ok_or_else(|| "not a number of seconds above 0 and below 1e9".into())
}

/// Flags that are not recorded: they measure nothing, or name a path that runs.
const UNRECORDED: [&str; 4] = ["help", "version", "trace", "server"];

/// The value of a flag: a number, whether it is given, or its text.
fn value(matches: &ArgMatches, id: &str) -> Value {
    let mut texts = matches.get_raw(id).into_iter().flatten();
    let text = || {
        let text = texts.next()?.to_string_lossy();
        // Such as --capacity: a number, or a word.
        Some(text.parse::<u64>().map_or_else(|_| (*text).into(), Value::from))
    };
    let found = typed(matches, id, |number: &u32| (*number).into())
        .or_else(|| typed(matches, id, |number: &u64| (*number).into()))
        .or_else(|| typed(matches, id, |number: &usize| (*number).into()))
        .or_else(|| typed(matches, id, |given: &bool| (*given).into()))
        .or_else(|| typed(matches, id, |time: &Duration| time.as_secs_f64().into()))
        .or_else(|| typed(matches, id, |cpus: &CpuList| cpus.to_string().into()))
        .or_else(|| typed(matches, id, |text: &String| text.as_str().into()))
        .or_else(|| typed(matches, id, |path: &PathBuf| path.to_string_lossy().into()));
    found.unwrap_or_else(text).unwrap_or_default()
}

/// The value of a flag; `None` if it has another type.
fn typed<T: Clone + Send + Sync + 'static>(
    matches: &ArgMatches,
    id: &str,
    json: impl Fn(&T) -> Value,
) -> Option<Option<Value>> {
    Some(matches.try_get_one(id).ok()?.map(json))
}

/// Adds the common flags to `command`, with the defaults of `spec`, then the program's with `own`.
pub(crate) fn with_flags(command: Command, spec: &Spec, own: fn(Command) -> Command) -> Command {
    let with_default =
        |arg: Arg, default: u64| arg.required(false).default_value(default.to_string());
    let mut command = command.next_help_heading("Common options");
    let tasks = Arg::new("tasks").long("tasks").visible_alias("threads").alias("connections");
    let tasks = tasks.value_name("N").value_parser(value_parser!(u32).range(1..));
    command = match spec.count {
        Count::Fixed => command,
        Count::Open => command.arg(with_default(tasks, spec.tasks.into()).help("Number of tasks")),
    };
    // The last description is the program's.
    command = own(Flags::augment_args(command).next_help_heading(None::<&str>));
    if let [default, ..] = spec.runtimes {
        let values = spec.runtimes.iter().filter_map(RuntimeKind::to_possible_value);
        let one_of = PossibleValuesParser::new(values)
            .map(|name| RuntimeKind::from_str(&name, false).expect("one of the values"));
        command = command.mut_arg("runtime", |arg| {
            arg.required(false).default_value(name(default)).value_parser(one_of)
        });
    }
    if let Some(warmups) = spec.warmups {
        command =
            command.mut_arg("warmups", |arg| with_default(arg, warmups).help("Warm-up iterations"));
    }
    let command = command.mut_arg("iters", |arg| with_default(arg, spec.iters));
    // A negative number is a wrong value, not an unknown flag.
    command.mut_args(|arg| {
        let takes_values = arg.get_action().takes_values();
        arg.allow_negative_numbers(takes_values)
    })
}

#[cfg(test)]
mod tests {
    use super::{Command, Count, Flags, Spec, with_flags};
    use crate::machine::limits::Kind;
    use crate::tasks::task_kind::TaskKind;

    fn read(count: Count, line: &[&str]) -> Result<Flags, clap::Error> {
        let spec = Spec { tasks: 7, iters: 10, count, ..Spec::new(TaskKind::Thread, Kind::Thread) };
        let command = with_flags(Command::new("program").no_binary_name(true), &spec, |of| of);
        Flags::read(&command.clone(), &command.try_get_matches_from(line)?)
    }

    #[test]
    fn the_number_of_tasks_is_open_or_fixed() {
        let tasks = |count, line: &[&str]| {
            let flags = read(count, line).expect("valid flags");
            (flags.tasks, flags.iters)
        };
        assert_eq!(tasks(Count::Open, &[]), (Some(7), 10));
        assert_eq!(tasks(Count::Open, &["--threads", "3"]), (Some(3), 10));
        assert_eq!(tasks(Count::Fixed, &[]), (None, 10));
        assert!(read(Count::Fixed, &["--tasks", "2"]).is_err());
    }
}
