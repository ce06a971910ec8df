//! Sleepers that are due to run at given times: how late a task runs.
//!
//! The intended times are an open loop: wake-up k is due at k / rate seconds, regardless of the one
//! before, and belongs to sleeper k modulo N. One iteration is one wake-up, and so is one
//! operation: its latency runs from the intended time to the moment when the sleeper reads the
//! clock. A wake-up that is late because an earlier one was late counts in full (no coordinated
//! omission), and none is omitted.
//!
//! With `timer` each sleeper waits for its times: a thread in `clock_nanosleep`, an async task in
//! tokio's `sleep_until`. With `futex` and `waker` another thread waits for them, in
//! `clock_nanosleep` without timer slack, and wakes the sleeper: a thread with the system call
//! futex, a task with its `std::task::Waker`. The waker's own delay is part of the latency;
//! `from_call` is the time from the call only.
//!
//! What is counted: a waiting thread makes one switch per wake-up; with `futex` the waker makes one
//! more. A sleeper that is still busy when it is called, or whose time has passed, does not wait
//! and does not switch, nor does a late waker; the record's `schedule` counts both, and the claim
//! excludes them. For tasks of a runtime no number is claimed.
//!
//! `--greedy K` tasks of the same runtime compute for `--greedy-for` and then yield, in turn: a
//! sleeper on their worker waits until then, unless the kernel or the runtime preempts them.
//!
//! Known biases: the sleeper does nothing else, so its caches are those of an idle thread. Threads
//! of the normal class have a timer slack of 50 µs, by which the kernel may delay them; that is
//! part of the latency, as in any program. Tokio's timers tick in milliseconds. Run it with `chrt
//! -f 80` for real-time threads.

mod calls;
mod conductor;
mod tasks;
mod threads;

use anyhow::Context as _;
use clap::value_parser;
use harness::RuntimeKind::{AsyncExecutor, Threads, Tokio, TokioCurrentThread};
use harness::failure::UsageError;
use harness::flags::name;
use harness::limits::Kind;
use harness::spinners::Spinners;
use harness::{Bench, Lateness, Launch, RuntimeFlags, Spec, TaskKind};

/// The stack of a sleeper or waker, in bytes.
const STACK_BYTES: usize = 256 << 10;

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
#[command(after_help = "Examples:
  brigade wake-latency --rate 1000 --hogs 2
  brigade wake-latency --runtime tokio --source timer --greedy 1")]
struct Flags {
    /// What wakes a sleeper
    #[arg(long, value_enum, default_value_t = Source::Futex)]
    source: Source,

    #[command(flatten)]
    runtime: RuntimeFlags,

    /// Wake-ups per second, of all sleepers together
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    #[arg(value_parser = value_parser!(u32).range(1..=MOST_RATE))]
    rate: u32,

    /// Busy processes next to the tasks
    #[arg(long, value_name = "K", default_value_t = 0)]
    #[arg(value_parser = value_parser!(u32).range(..=MOST_BESIDE))]
    hogs: u32,

    /// Tasks on the same runtime that compute and rarely yield
    #[arg(long, value_name = "K", default_value_t = 0)]
    #[arg(value_parser = value_parser!(u32).range(..=MOST_BESIDE))]
    greedy: u32,

    /// How long a greedy task computes before it yields
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 10_000)]
    #[arg(value_parser = value_parser!(u32).range(1..=MOST_GREED))]
    greedy_for: u32,
}

/// Values of `--source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Source {
    /// Another thread, with the system call futex; for threads
    Futex,
    /// Another thread, with the task's waker; for tasks
    Waker,
    /// Its own timer
    Timer,
}

const SPEC: Spec = Spec {
    tasks: 4,
    iters: 10_000,
    spread: true,
    runtimes: &[Threads, Tokio, TokioCurrentThread, AsyncExecutor],
    stack_bytes: STACK_BYTES as u64,
    ..Spec::new(TaskKind::Thread, Kind::Thread)
};

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    check(flags)?;
    // A tokio task has a driver in a thread.
    let is_thread = flags.runtime.are_threads();
    let waker = u32::from(flags.source != Source::Timer);
    let others = waker + if is_thread { flags.greedy } else { 1 };
    let spec = SPEC.with_runtime(flags.runtime, launch)?;
    let threads = spec.threads + u64::from(others);
    let heap_bytes = Lateness::BYTES + calls::BYTES;
    // With a waker, the tasks of a runtime on one thread communicate with another thread.
    let spread = spec.spread || flags.source == Source::Waker;
    Ok(Spec { threads, processes: flags.hogs.into(), spread, heap_bytes, ..spec })
}

/// Refuses flags that contradict one another.
fn check(flags: &Flags) -> Result<(), UsageError> {
    let wrong = match (flags.source, flags.runtime.runtime) {
        (Source::Waker, Threads) => {
            "--source waker: a thread has none; choose futex or timer".into()
        }
        (Source::Futex | Source::Timer, AsyncExecutor) => {
            "--runtime async-executor: its tasks only have a waker; choose --source waker".into()
        }
        (Source::Futex, kind) if kind != Threads => format!(
            "--source futex: tasks of {} do not wait for one; choose waker or timer",
            name(&kind)
        ),
        _ => return Ok(()),
    };
    Err(UsageError(wrong))
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let hogs = Spinners::hogs(flags.hogs).context("--hogs")?;
    bench.leave_out(hogs.processes());
    match (flags.runtime.runtime, flags.source) {
        (Threads, Source::Timer) => threads::by_timer(flags, bench),
        (Threads, _) => threads::by_futex(flags, bench),
        (_, Source::Timer) => tasks::by_timer(flags, bench),
        (_, _) => tasks::by_waker(flags, bench),
    }
}
