//! The program's flags, and their contradictions.

use harness::failure::UsageError;
use harness::flags::name;
use harness::{RuntimeFlags, RuntimeKind};

/// The stack of a sleeper or waker, in bytes.
pub const STACK_BYTES: usize = 256 << 10;

/// The most wake-ups per second: one each microsecond.
const MOST_RATE: i64 = 1_000_000;

/// The most hogs and greedy tasks.
const MOST_BESIDE: i64 = 1024;

/// The longest time that a greedy task computes, in microseconds.
const MOST_GREED: i64 = 1_000_000;

/// Time how late tasks run after their due time.
///
/// One iteration is one wake-up: at its intended time, independent of earlier wake-ups, a timer or
/// another thread wakes a sleeper. Its latency is the time from then until it runs.
#[derive(Clone, Debug, clap::Args)]
pub struct Flags {
    /// What wakes a sleeper
    #[arg(long, value_enum, default_value_t = Source::Futex)]
    pub source: Source,

    #[command(flatten)]
    pub runtime: RuntimeFlags,

    /// Wake-ups per second, of all sleepers together
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_RATE))]
    pub rate: u32,

    /// Busy processes next to the tasks
    #[arg(long, value_name = "K", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=MOST_BESIDE))]
    pub hogs: u32,

    /// Tasks on the same runtime that compute and rarely yield
    #[arg(long, value_name = "K", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=MOST_BESIDE))]
    pub greedy: u32,

    /// How long a greedy task computes before it yields
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 10_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MOST_GREED))]
    pub greedy_for: u32,
}

/// Values of `--source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Source {
    /// Another thread, with the system call futex; for threads
    Futex,
    /// Another thread, with the task's waker; for tasks
    Waker,
    /// Its own timer
    Timer,
}

impl Flags {
    /// Refuses flags that contradict one another.
    ///
    /// # Errors
    /// [`UsageError`], with an alternative.
    pub fn check(&self) -> Result<(), UsageError> {
        Err(UsageError(match (self.source, self.runtime.runtime) {
            (Source::Waker, RuntimeKind::Threads) => {
                "--source waker: a thread has none; choose futex or timer".into()
            }
            (Source::Futex | Source::Timer, RuntimeKind::AsyncExecutor) => {
                "--runtime async-executor: its tasks only have a waker; choose --source waker"
                    .into()
            }
            (Source::Futex, kind) if kind != RuntimeKind::Threads => format!(
                "--source futex: tasks of {} do not wait for one; choose waker or timer",
                name(&kind)
            ),
            _ => return Ok(()),
        }))
    }
}
