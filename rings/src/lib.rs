//! Several brigades at once: the cost of a hop next to others, and their common throughput.
//!
//! Each of K rings is a brigade of N tasks with its driver and token, as in `thread-brigade` and
//! `async-brigade`. The drivers draw their laps from one pool, so that all of them run until it is
//! empty; a slow ring completes fewer. One iteration: as many laps as there are rings, by any of
//! them. Its time divided by its K (N + 1) hops is the machine's time per hop while all rings run,
//! the inverse of their throughput. The time of a hop in one ring is a second measurement, `ring`.
//!
//! What is counted: a hop between threads is one context switch; in an async runtime on one thread,
//! none.
//!
//! Known biases: at the end a ring waits for the others, for less than a lap: of n laps of each
//! ring the last one runs next to fewer rings, so the error is less than 1 / n. Between two laps a
//! ring takes the lock of the pool, once in N + 1 hops.

mod laps;
mod tasks;
mod threads;

use harness::failure::UsageError;
use harness::hand_over::{futex, pipe};
use harness::histogram;
use harness::limits::Kind;
use harness::{Bench, Count, Launch, RuntimeFlags, RuntimeKind, Spec, TaskKind};

/// Time bytes on their way through K rings of N tasks, all at once.
///
/// One iteration: K laps, by any of the rings. That makes K (N + 1) hops.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  brigade rings --rings 8 --tasks 50
  brigade rings --runtime tokio --rings 2 --placement spread")]
struct Flags {
    /// Number of rings at once, each with --tasks tasks
    #[arg(long, value_name = "K", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    rings: u32,

    #[command(flatten)]
    runtime: RuntimeFlags,

    /// Channel that carries the byte from one task to the next
    #[arg(long, value_enum, default_value_t = Carrier::Pipe)]
    channel: Carrier,
}

/// Values of `--channel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Carrier {
    /// A pipe
    Pipe,
    /// A word in memory, and the system call futex; for threads only
    Futex,
}

const SPEC: Spec = Spec {
    tasks: 100,
    iters: 10_000,
    spread: true,
    runtimes: &[RuntimeKind::Threads, RuntimeKind::Tokio, RuntimeKind::TokioCurrentThread],
    ..Spec::new(TaskKind::Thread, Kind::ThreadPipe)
};

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    let runtime = flags.runtime.runtime;
    let futex = flags.channel == Carrier::Futex;
    if futex && runtime != RuntimeKind::Threads {
        let why = "--channel futex: async tasks wait for pipes; choose --runtime threads";
        return Err(UsageError(why.to_owned()).into());
    }
    let needs = if futex { Kind::ThreadFutex } else { runtime.needs_over_pipes() };
    let (switches, drivers) = match runtime {
        RuntimeKind::Threads => (Some(1.0), flags.rings.into()),
        RuntimeKind::Tokio => (None, 0),
        _ => (Some(0.0), 0),
    };
    let spec = SPEC.with_runtime(flags.runtime, launch)?;
    Ok(Spec {
        tasks: launch.tasks.saturating_mul(flags.rings),
        count: Count::Fixed,
        switches,
        needs,
        threads: spec.threads + drivers,
        channels: u64::from(flags.rings) - 1,
        heap_bytes: histogram::BYTES.div_ceil(launch.tasks.into()),
        ..spec
    })
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let rings = flags.rings as usize;
    match (flags.runtime.runtime, flags.channel) {
        (RuntimeKind::Threads, Carrier::Pipe) => threads::measure(bench, rings, pipe),
        (RuntimeKind::Threads, Carrier::Futex) => threads::measure(bench, rings, futex),
        _ => tasks::measure(flags.runtime, bench, rings),
    }
}
