//! The cost of a blocking call from an async task: to a thread where blocking does no harm, and
//! back.
//!
//! One iteration: each of N callers, async tasks of tokio, makes 32 calls one after another. A call
//! does `--work` units of work (none by default) in the place that `--via` selects, and its caller
//! awaits it. `inline` runs the call in the caller: the additional time of the others is the cost
//! of crossing. A call that blocks for less than that is cheaper inline, if nothing else waits for
//! its thread.
//!
//! What is counted: one operation is one call, there and back. Every call checks the thread that it
//! runs on: on a dedicated thread it must differ from its caller's, otherwise it must be the same;
//! a call in the wrong place fails the run. With several callers at once, the time is that of the
//! iteration divided by the number of all calls, so simultaneous calls make it shorter.
//!
//! Known biases: the driver starts the callers of an iteration with a message each and waits for
//! one from each, which is included in the time of 32 calls. Tokio keeps the threads of
//! `spawn_blocking` and wakes them through one condition variable, so with few callers it mostly
//! wakes a sleeping thread, and its CPU. A worker left by `block_in_place` hands its queue to
//! another thread; if that finds nothing to do, little is handed over. If none of the pool is idle
//! yet, tokio creates that thread, up to its default of 512: even one caller has hundreds within a
//! second, and a short run contains their creation. `max_blocking_threads` keeps its default, as in
//! most programs: a lower limit would measure another pool than theirs, and delays other blocking
//! calls. `--command 'grep Threads /proc/{pid}/status'` shows their number.

use std::io::{self, ErrorKind};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, mpsc as blocking};
use std::thread::{self, JoinHandle, ThreadId};

use anyhow::{Context as _, bail, ensure};
use harness::async_tasks::end;
use harness::failure::{UsageError, to_create};
use harness::limits::Kind;
use harness::runtime::{AsyncRuntime, outcome, spawn};
use harness::{Bench, Launch, Measured, RuntimeFlags, RuntimeKind, Spec, TaskKind, Work, WorkFlag};
use tokio::sync::mpsc;
use tokio::task::{block_in_place, spawn_blocking};

/// Calls per caller and iteration.
const CALLS: u64 = 32;

/// Time blocking calls from async tasks: to a place where they may block, and back.
///
/// One iteration: each of N async tasks makes 32 calls, one after another, by the mechanism in
/// --via. One operation is one call.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  brigade blocking-crossing --via block-in-place
  brigade blocking-crossing --via spawn-blocking --tasks 4 --work 500")]
struct Flags {
    /// Where a call runs
    #[arg(long, value_enum, default_value_t = Via::SpawnBlocking)]
    via: Via,

    #[command(flatten)]
    runtime: RuntimeFlags,

    #[command(flatten)]
    work: WorkFlag,
}

/// Values of `--via`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Via {
    /// Nowhere else: in the caller
    Inline,
    /// A thread of tokio's pool, with spawn_blocking
    SpawnBlocking,
    /// The caller's thread, with block_in_place
    BlockInPlace,
    /// A dedicated thread per caller, through a channel in each direction
    Channel,
}

const SPEC: Spec = Spec {
    tasks: 1,
    iters: 1000,
    runtimes: RuntimeKind::OF_TOKIO,
    ..Spec::new(TaskKind::AsyncTask, Kind::TokioBlocking)
};

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    let Flags { via, runtime, work } = *flags;
    if via == Via::BlockInPlace && runtime.runtime != RuntimeKind::Tokio {
        bail!(UsageError("--via block-in-place: needs workers; choose --runtime tokio".into()));
    }
    let needs = if via == Via::Inline { Kind::Tokio } else { Kind::TokioBlocking };
    Ok(Spec { load: Some(work.into()), needs, ..SPEC.with_runtime(runtime, launch)? })
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let Flags { via, runtime, work } = *flags;
    let started = AsyncRuntime::start(runtime, bench)?;
    started.drive(crossings(runtime.runtime, via, work.work(), bench.clone()))
}

/// Starts the callers, and measures their calls.
async fn crossings(runtime: RuntimeKind, via: Via, work: Work, bench: Bench) -> anyhow::Result<()> {
    let callers = bench.tasks();
    let here = Arc::new(AtomicU64::new(0));
    let mut starts = Vec::with_capacity(callers);
    let mut ends = Vec::with_capacity(callers);
    let mut tasks = Vec::with_capacity(callers);
    for number in bench.tasks_to_create() {
        let (start, started) = mpsc::channel(1);
        let (done, end) = mpsc::channel(1);
        let own = (via == Via::Channel).then(|| Own::start(number, work)).transpose()?;
        let crossing = Crossing { via, work, own };
        let caller = call(crossing, started, done, Arc::clone(&here));
        tasks.push(outcome(spawn(runtime, caller)));
        starts.push(start);
        ends.push(end);
    }

    let result = drive(&bench, &starts, &mut ends, &here, via).await;
    end(&bench, result, starts, tasks).await
}

/// Lets all callers make their calls, lap after lap, and checks where these ran. Each caller reports
/// the end of its calls through a channel of `ends`, which closes if it fails.
async fn drive(
    bench: &Bench,
    starts: &[mpsc::Sender<()>],
    ends: &mut [mpsc::Receiver<()>],
    here: &AtomicU64,
    via: Via,
) -> anyhow::Result<()> {
    let operations = starts.len() as u64 * CALLS;
    let measured = Measured::per_task("iteration", "call", operations as usize);
    // Those that run on their caller's thread.
    let expected = if matches!(via, Via::Inline | Via::BlockInPlace) { operations } else { 0 };
    for lap in bench.laps(&[measured]) {
        for start in starts {
            start.send(()).await.context("starting a caller")?;
        }
        for end in &mut *ends {
            end.recv().await.context("waiting for the callers")?;
        }
        lap.finish();
        let here = here.swap(0, Relaxed);
        ensure!(
            here == expected,
            "{here} of {operations} calls ran on their caller's thread, instead of {expected}"
        );
    }
    Ok(())
}

/// A caller's loop: makes its calls each time it is started.
async fn call(
    mut crossing: Crossing,
    mut started: mpsc::Receiver<()>,
    done: mpsc::Sender<()>,
    own_thread: Arc<AtomicU64>,
) -> io::Result<()> {
    while started.recv().await.is_some() {
        let mut here = 0;
        for _ in 0..CALLS {
            here += u64::from(crossing.call().await?);
        }
        own_thread.fetch_add(here, Relaxed);
        if done.send(()).await.is_err() {
            break;
        }
    }
    crossing.end()
}

/// One caller's way to run calls.
struct Crossing {
    via: Via,
    work: Work,
    /// The thread and the channels of [`Via::Channel`].
    own: Option<Own>,
}

/// A dedicated thread for the calls of one caller.
struct Own {
    calls: blocking::SyncSender<()>,
    returns: mpsc::Receiver<ThreadId>,
    thread: JoinHandle<io::Result<()>>,
}

impl Own {
    /// Starts the thread for the caller with this number.
    fn start(number: usize, work: Work) -> anyhow::Result<Self> {
        let (calls, called) = blocking::sync_channel(1);
        let (returned, returns) = mpsc::channel(1);
        let thread = thread::Builder::new().spawn(move || serve(&called, &returned, work));
        let thread = thread.map_err(to_create(format_args!("the thread of task {number}")))?;
        Ok(Self { calls, returns, thread })
    }
}

/// The call, and the thread that it ran on.
fn blocking_call(work: Work) -> ThreadId {
    work.perform();
    thread::current().id()
}

impl Crossing {
    /// Makes a call and awaits it. Returns whether it ran on the calling thread.
    ///
    /// # Errors
    /// If the thread has ended.
    async fn call(&mut self) -> io::Result<bool> {
        let caller = thread::current().id();
        let work = self.work;
        let called = match (&mut self.own, self.via) {
            (Some(own), _) => {
                own.calls.send(()).map_err(io::Error::other)?;
                own.returns.recv().await.ok_or(ErrorKind::UnexpectedEof)?
            }
            (None, Via::SpawnBlocking) => spawn_blocking(move || blocking_call(work)).await?,
            (None, Via::BlockInPlace) => block_in_place(|| blocking_call(work)),
            (None, _) => blocking_call(work),
        };
        Ok(called == caller)
    }

    /// Ends the thread, if there is one, and panics if it did.
    ///
    /// # Errors
    /// If it failed.
    fn end(self) -> io::Result<()> {
        let Some(Own { calls, thread, .. }) = self.own else { return Ok(()) };
        drop(calls);
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// The dedicated thread's loop, until its caller has gone.
fn serve(
    called: &blocking::Receiver<()>,
    returned: &mpsc::Sender<ThreadId>,
    work: Work,
) -> io::Result<()> {
    while called.recv().is_ok() {
        returned.blocking_send(blocking_call(work)).map_err(io::Error::other)?;
    }
    Ok(())
}
