//! The flags that every program has.
//!
//! A program adds its own with a `clap::Args` struct, whose documentation
//! becomes the text of `--help`; see [`mod@crate::program`].

use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgMatches, Args as _, Command, FromArgMatches as _, ValueEnum};
use serde::Serialize;

use crate::channel::Channel;
use crate::cpus::CpuList;
use crate::depth;
use crate::failure::UsageError;
use crate::placement::Policy;

/// The values of `--tasks`, `--iters` and `--warmups` where they are not given.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// Tasks.
    pub tasks: Tasks,
    /// Measured iterations.
    pub iters: u64,
    /// Iterations that are run first and not measured; `None` for a warm-up by
    /// time.
    pub warmups: Option<u64>,
}

/// How many tasks a program has.
#[derive(Clone, Copy, Debug)]
pub enum Tasks {
    /// As many as `--tasks` says, and this many without it.
    Default(u32),
    /// Always this many: the program does not offer `--tasks`.
    Fixed(u32),
    /// Up to as many as `--tasks` says, also called `--to`, in as many steps
    /// as there are iterations, also called `--steps`. Without the flag the
    /// program's other flags decide.
    Swept,
}

/// The flag for the number of tasks, of programs that leave it open.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
pub struct TasksFlag {
    /// How many tasks
    #[arg(long, visible_alias = "threads", value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub tasks: u32,
}

/// No time that a flag gives is as long: 31 years. Its nanoseconds fit into the
/// numbers that count them.
const LONGEST_TIME: Duration = Duration::from_secs(1_000_000_000);

/// The most units of work at a hop.
const MOST_WORK: u64 = 1_000_000_000;

/// The flag for work at every hop, of programs whose tasks hand a token over:
/// such a program flattens it among its own flags, and asks the bench for the
/// work.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
#[group(skip)]
pub struct WorkFlag {
    /// Units of work done before each send; how long a unit takes is measured
    /// before the laps and after
    #[arg(long, value_name = "UNITS", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=MOST_WORK))]
    pub work: u64,
}

/// The most bytes that a task touches at a hop: 1 TiB.
const MOST_WORKING_SET: u64 = 1 << 40;

/// The stride of what a task touches, in bytes, unless another is asked for: a line of
/// the caches.
const STRIDE: u64 = 64;

/// The flags for what every task of a brigade does at a hop besides passing the token
/// on: such a program flattens them among its own, and tells the bench.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
#[group(skip)]
pub struct LoadFlags {
    /// Work before each send.
    #[command(flatten)]
    #[serde(flatten)]
    pub work: WorkFlag,

    /// Memory of its own that each task reads and writes before each send
    #[arg(long, value_name = "BYTES", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=MOST_WORKING_SET))]
    pub working_set: u64,

    /// From one word that is touched to the next; without it, 64, a cache line
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, requires = "working_set")]
    #[arg(value_parser = clap::value_parser!(u64).range(8..=MOST_WORKING_SET))]
    pub stride: Option<u64>,
}

impl LoadFlags {
    /// From one word that is touched to the next, in bytes.
    pub(crate) fn stride(&self) -> u64 {
        self.stride.unwrap_or(STRIDE)
    }
}

/// The flag for how many calls lie between a task's body and its wait.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
#[group(skip)]
pub struct DepthFlag {
    /// Calls between the body of each task and its wait
    #[arg(long, value_name = "CALLS", default_value = "0", allow_negative_numbers = true)]
    #[arg(value_parser = one_of(["0", "1", "10", "100"]))]
    pub depth: u32,
}

/// The numbers that there are: an async function is as deep and as large as it is compiled.
fn one_of<const N: usize>(numbers: [&'static str; N]) -> impl TypedValueParser<Value = u32> {
    PossibleValuesParser::new(numbers).map(|number| number.parse().expect("one of the numbers"))
}

impl DepthFlag {
    /// Refuses stacks that so many frames may not fit into, beside as much as the smallest
    /// stack has.
    ///
    /// # Errors
    /// [`UsageError`], with the stack that is needed.
    pub fn require_stack(&self, StackFlag { stack_size }: StackFlag) -> Result<(), UsageError> {
        let needed = SMALLEST_STACK + self.depth as usize * depth::MOST_FRAME_BYTES;
        if stack_size >= needed {
            return Ok(());
        }
        let depth = self.depth;
        Err(UsageError(format!(
            "--stack-size {stack_size}: {depth} calls deep a stack needs {needed} bytes"
        )))
    }
}

/// The flag for futures that hold much.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
#[group(skip)]
pub struct FutureFlag {
    /// Bytes that the future of each task holds besides
    #[arg(long, value_name = "BYTES", default_value = "0", allow_negative_numbers = true)]
    #[arg(value_parser = one_of(["0", "1024", "16384"]))]
    pub future_bytes: u32,
}

/// The flag for the channel, of programs that take every [`Channel`].
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
#[group(skip)]
pub struct ChannelFlag {
    /// What carries the byte
    #[arg(long, value_enum, default_value_t = Channel::Pipe)]
    pub channel: Channel,
}

/// The flag for the stacks of tasks that have one each.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
#[group(skip)]
pub struct StackFlag {
    /// Address space reserved for the stack of each task
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20, allow_negative_numbers = true)]
    #[arg(value_parser = stack_size)]
    pub stack_size: usize,
}

/// The flag for the workers of a runtime, of programs that choose one.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
#[group(skip)]
pub struct WorkersFlag {
    /// Worker threads of a multi-thread runtime; without it, one for each CPU
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = workers)]
    pub workers: Option<usize>,
}

impl WorkersFlag {
    /// Refuses workers for a runtime that has none.
    ///
    /// # Errors
    /// [`UsageError`], with `reason`.
    pub fn refuse(&self, reason: &str) -> Result<(), UsageError> {
        refuse_value("--workers", self.workers, reason)
    }
}

/// Refuses a flag that is given although it makes no sense.
fn refuse_value(flag: &str, value: Option<impl Display>, reason: &str) -> Result<(), UsageError> {
    match value {
        Some(value) => Err(UsageError(format!("{flag} {value}: {reason}"))),
        None => Ok(()),
    }
}

/// The most rings at once.
const MOST_RINGS: i64 = 1024;

/// The flag for several brigades at once, of programs that can have them.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
#[group(skip)]
pub struct RingsFlag {
    /// How many brigades run at once, each of --tasks tasks; an iteration then ends
    /// whenever K more laps are done, of any of them
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_RINGS))]
    pub rings: Option<u32>,
}

impl RingsFlag {
    /// Refuses several brigades where there is one.
    ///
    /// # Errors
    /// [`UsageError`], with `reason`.
    pub fn refuse(&self, reason: &str) -> Result<(), UsageError> {
        refuse_value("--rings", self.rings, reason)
    }
}

/// The flags common to all programs.
#[derive(Clone, Debug, clap::Args, Serialize)]
// clap names a group after each struct of flags, and those of the programs
// have this name too.
#[group(skip)]
pub struct Flags {
    /// The number of tasks, where the program offers the choice.
    #[arg(skip)]
    #[serde(flatten)]
    pub tasks: Option<TasksFlag>,

    /// How many iterations to measure
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub iters: u64,

    /// How many iterations to run first without measuring them; without it, at
    /// least 3 and for 20 ms, but none that begins after 2 seconds
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub warmups: Option<u64>,

    /// Start no further iteration after this many seconds of measuring; the
    /// warm-up is held to the same
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    #[serde(serialize_with = "as_seconds")]
    pub max_time: Option<Duration>,

    /// Which CPUs the tasks run on
    #[arg(long, value_enum, default_value_t = Policy::Free, value_name = "POLICY")]
    pub placement: Policy,

    /// The CPUs that placement draws from, like 0,2-3; without it, all that
    /// this process may use
    #[arg(long, value_name = "LIST", allow_negative_numbers = true)]
    pub cpus: Option<CpuList>,

    /// Keep those CPUs from idling: on each a process spins to which everything
    /// else comes first
    #[arg(long)]
    pub keep_awake: bool,

    /// Run this by `sh -c` while the tasks are alive, {pid} replaced; its
    /// failure is the program's
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
}

impl Flags {
    /// Reads the common flags of a program with these `defaults`.
    ///
    /// # Errors
    /// Clap's, when `matches` are not those of [`with_common`].
    pub(crate) fn read(matches: &ArgMatches, defaults: Defaults) -> Result<Self, clap::Error> {
        let mut flags = Self::from_arg_matches(matches)?;
        if !matches!(defaults.tasks, Tasks::Fixed(_)) {
            flags.tasks = matches.get_one("tasks").map(|tasks| TasksFlag { tasks: *tasks });
        }
        Ok(flags)
    }
}

/// The name of a flag's value on the command line.
///
/// # Panics
/// For a value that clap skips.
pub fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().expect("no value is skipped").get_name().to_owned()
}

/// The smallest stack that glibc takes (`PTHREAD_STACK_MIN`), in bytes.
const SMALLEST_STACK: usize = 16 << 10;

/// Reads the value of `--stack-size`, in bytes.
///
/// # Errors
/// What is wrong with the text, for the command line's error.
pub fn stack_size(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes) if (SMALLEST_STACK..=1 << 40).contains(&bytes) => Ok(bytes),
        Ok(_) => Err(format!("not between {SMALLEST_STACK} bytes and 1 TiB")),
        Err(_) => Err("not a number of bytes".into()),
    }
}

fn workers(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(workers) if (1..=1024).contains(&workers) => Ok(workers),
        Ok(_) => Err("not between 1 and 1024".into()),
        Err(_) => Err("not a number of threads".into()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    text.parse::<f64>()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|time| !time.is_zero() && *time < LONGEST_TIME)
        .ok_or_else(|| "not a number of seconds above 0 and below 1e9".into())
}

fn as_seconds<S: serde::Serializer>(
    time: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64()).serialize(serializer)
}

/// `command` with the program's own flags followed by the common ones, which
/// stand at `defaults`.
pub(crate) fn with_common(command: Command, defaults: Defaults) -> Command {
    let about = (command.get_about().cloned(), command.get_long_about().cloned());
    let mut command = command.next_help_heading("Common options");
    if let Tasks::Default(tasks) = defaults.tasks {
        command =
            TasksFlag::augment_args(command).mut_arg("tasks", |arg| standing_at(arg, tasks.into()));
    }
    if let Tasks::Swept = defaults.tasks {
        command = TasksFlag::augment_args(command)
            .mut_arg("tasks", |arg| arg.required(false).visible_alias("to").help("The most tasks"));
    }
    // Augmenting replaces what the command says about itself.
    command = Flags::augment_args(command).about(about.0.unwrap_or_default());
    if let Some(long) = about.1 {
        command = command.long_about(long);
    }
    if let Tasks::Swept = defaults.tasks {
        command = command.mut_arg("iters", |arg| {
            arg.visible_alias("steps").help("In how many steps to go up to the most tasks")
        });
    }
    if let Some(warmups) = defaults.warmups {
        command = command.mut_arg("warmups", |arg| {
            standing_at(arg, warmups)
                .help("How many iterations to run first without measuring them")
        });
    }
    command.mut_arg("iters", |arg| standing_at(arg, defaults.iters))
}

fn standing_at(arg: Arg, default: u64) -> Arg {
    arg.required(false).default_value(default.to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Command, Defaults, Flags, Tasks, seconds, stack_size, with_common};

    fn read(tasks: Tasks, line: &[&str]) -> Result<Flags, clap::Error> {
        let defaults = Defaults { tasks, iters: 10, warmups: None };
        let command = with_common(Command::new("program").no_binary_name(true), defaults);
        Flags::read(&command.try_get_matches_from(line)?, defaults)
    }

    #[test]
    fn an_open_number_of_tasks_is_a_flag_with_a_default() {
        let tasks = |line: &[&str]| {
            let flags = read(Tasks::Default(7), line).expect("valid flags");
            flags.tasks.expect("the flag is offered").tasks
        };
        assert_eq!(tasks(&[]), 7);
        assert_eq!(tasks(&["--threads", "3"]), 3);
    }

    #[test]
    fn a_fixed_number_of_tasks_is_neither_a_flag_nor_a_parameter() {
        assert!(read(Tasks::Fixed(2), &["--tasks", "2"]).is_err());
        let flags = read(Tasks::Fixed(2), &[]).expect("valid flags");
        let parameters = serde_json::to_value(&flags).expect("flags serialize");
        assert_eq!((&parameters["tasks"], &parameters["iters"]), (&().into(), &10.into()));
    }

    #[test]
    fn a_swept_number_of_tasks_has_no_default_and_a_second_name() {
        let flags = read(Tasks::Swept, &[]).expect("valid flags");
        assert!(flags.tasks.is_none());
        let flags = read(Tasks::Swept, &["--to", "50", "--steps", "5"]).expect("valid flags");
        assert_eq!((flags.tasks.map(|flag| flag.tasks), flags.iters), (Some(50), 5));
    }

    #[test]
    fn seconds_are_positive_numbers() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        for nonsense in ["0", "-1", "inf", "NaN", "1e99", "18446744073.71", "1e9", "soon", ""] {
            assert!(seconds(nonsense).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn stacks_have_sizes() {
        assert_eq!(stack_size("1048576"), Ok(1 << 20));
        for nonsense in ["0", "-1", "16383", "1MiB", "99999999999999999999"] {
            assert!(stack_size(nonsense).is_err(), "{nonsense}");
        }
    }
}
