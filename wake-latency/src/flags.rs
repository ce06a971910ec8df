//! The program's flags, and which of them do not go together.

use harness::failure::UsageError;
use harness::flags::name;
use harness::{RuntimeFlags, RuntimeKind};

/// The most wake-ups a second: one each microsecond.
const MOST_RATE: i64 = 1_000_000;

/// The most wakers, hogs and greedy tasks.
const MOST_BESIDE: i64 = 1024;

/// The longest that a greedy task computes: a second, in microseconds.
const MOST_GREED: i64 = 1_000_000;

/// Time how late tasks run that are due at given times.
///
/// One iteration is one wake-up: at its intended time, which does not depend on the ones
/// before, a sleeper is to run, woken by a timer or by another thread. Its latency runs
/// from the intended time until it does.
#[derive(Clone, Debug, clap::Args, serde::Serialize)]
pub struct Flags {
    /// What wakes a sleeper
    #[arg(long, value_enum, default_value_t = Source::Futex)]
    pub source: Source,

    #[command(flatten)]
    #[serde(flatten)]
    pub runtime: RuntimeFlags,

    /// Wake-ups a second, of all sleepers together
    #[arg(long, value_name = "N", default_value_t = 10_000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_RATE))]
    pub rate: u32,

    /// Threads that wake sleepers, each its share of them; without it, 1
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_BESIDE))]
    pub wakers: Option<u32>,

    /// Processes that do nothing but take CPU time beside the tasks
    #[arg(long, value_name = "K", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=MOST_BESIDE))]
    pub hogs: u32,

    /// Tasks next to the sleepers, of the same runtime, that compute and seldom give way
    #[arg(long, value_name = "K", default_value_t = 0, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=MOST_BESIDE))]
    pub greedy: u32,

    /// How long a greedy task computes before it yields to its runtime, or a thread to others
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 10_000)]
    #[arg(allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_GREED))]
    pub greedy_for: u32,
}

/// What `--source` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Another thread, by the system call futex; of threads
    Futex,
    /// Another thread, by the task's waker; of tasks
    Waker,
    /// Its own timer
    Timer,
}

impl Flags {
    /// How many wakers there are.
    pub fn wakers(&self) -> u32 {
        match self.source {
            Source::Timer => 0,
            Source::Futex | Source::Waker => self.wakers.unwrap_or(1),
        }
    }

    /// Refuses flags that contradict one another.
    ///
    /// # Errors
    /// [`UsageError`], which says what to choose instead.
    pub fn check(&self, tasks: u32) -> Result<(), UsageError> {
        let refuse = |reason: String| Err(UsageError(reason));
        let runtime = self.runtime.runtime;
        match (self.source, runtime) {
            (Source::Waker, RuntimeKind::Threads) => {
                return refuse("--source waker: a thread has none; choose futex or timer".into());
            }
            (Source::Futex, kind) if kind != RuntimeKind::Threads => {
                return refuse(format!(
                    "--source futex: tasks of {} do not wait for one; choose waker or timer",
                    name(&kind)
                ));
            }
            _ => {}
        }
        match self.wakers {
            Some(wakers) if self.source == Source::Timer => refuse(format!(
                "--wakers {wakers}: by --source timer each sleeper wakes itself; leave it out"
            )),
            Some(wakers) if wakers > tasks => refuse(format!(
                "--wakers {wakers}: each needs its own sleeper, but there are {tasks}; raise --tasks"
            )),
            _ => Ok(()),
        }
    }
}
