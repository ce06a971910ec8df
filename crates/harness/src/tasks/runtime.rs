//! The runtimes of tokio, and their tasks.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use anyhow::Context as _;
use nix::unistd::gettid;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime, Runtime};
use tokio::task::{JoinError, JoinHandle};

use crate::failure::{UsageError, to_create};
use crate::machine::placement::{Placement, Policy};
use crate::measure::bench::Bench;
use crate::tasks::runtime_kind::{RuntimeFlags, RuntimeKind};
use crate::tasks::threads::{TaskError, panic_text};

/// Creates a task on the tokio runtime of this kind that runs the caller.
pub fn spawn<F>(kind: RuntimeKind, task: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    match kind {
        RuntimeKind::TokioLocal => tokio::task::spawn_local(task),
        _ => tokio::spawn(task),
    }
}

/// A runtime, ready for a driver, by where that runs.
#[derive(Debug)]
pub enum AsyncRuntime {
    /// The driver runs on one of the workers.
    Workers(Runtime),
    /// The driver runs on the thread that waits for it.
    CurrentThread(Runtime),
    /// The driver runs on the thread that waits for it, next to tasks that never leave that.
    Local(LocalRuntime),
}

impl AsyncRuntime {
    /// Starts a tokio runtime without I/O and time drivers: with one it would poll for events, a
    /// system call, every 61 polls. Under `spread`, a multi-thread runtime gets one worker pinned
    /// to each CPU; otherwise as many workers as the flag says, by default one per CPU of this
    /// process.
    ///
    /// # Errors
    /// [`UsageError`] if the flags contradict one another; otherwise the kernel's, if the runtime
    /// cannot be started.
    pub fn start(flags: RuntimeFlags, bench: &Bench) -> anyhow::Result<Self> {
        Self::start_with(|builder| builder, flags, bench)
    }

    /// Starts a runtime as [`Self::start`] does, with the drivers that `enable` enables.
    ///
    /// # Errors
    /// If [`Self::start`] would fail.
    pub fn start_with(
        enable: fn(&mut Builder) -> &mut Builder,
        RuntimeFlags { runtime, workers, tokio }: RuntimeFlags,
        bench: &Bench,
    ) -> anyhow::Result<Self> {
        let settings = tokio.unwrap_or_default();
        let mut one_thread = Builder::new_current_thread();
        settings.apply(enable(&mut one_thread));
        let started = match runtime {
            RuntimeKind::Tokio => {
                let (mut builder, workers) = multi_thread(workers, bench.placement())?;
                settings.apply(enable(&mut builder));
                with_workers(builder, workers).map(Self::Workers)
            }
            RuntimeKind::TokioLocal => {
                one_thread.build_local(LocalOptions::default()).map(Self::Local)
            }
            _ => one_thread.build().map(Self::CurrentThread),
        };
        started.map_err(to_create("the tokio runtime"))
    }

    /// Runs the driver to its end. With several workers it runs as a task on
    /// one of them: waiting for it from outside would add wake-ups across
    /// threads.
    ///
    /// # Errors
    /// The driver's, or that it panicked.
    pub fn drive(
        &self,
        driver: impl Future<Output = anyhow::Result<()>> + Send + 'static,
    ) -> anyhow::Result<()> {
        self.run(Box::pin(driver))
    }

    /// Runs any driver as [`Self::drive`] does, so that the runtime is compiled once.
    fn run(
        &self,
        driver: Pin<Box<dyn Future<Output = anyhow::Result<()>> + Send>>,
    ) -> anyhow::Result<()> {
        match self {
            Self::CurrentThread(runtime) => runtime.block_on(driver),
            Self::Local(runtime) => runtime.block_on(driver),
            Self::Workers(runtime) => {
                let driver = runtime.spawn(driver);
                runtime.block_on(driver).context("running the driver")?
            }
        }
    }
}

/// The builder of a runtime under this placement, and its number of workers.
fn multi_thread(
    workers: Option<usize>,
    placement: &Placement,
) -> Result<(Builder, usize), UsageError> {
    let mut builder = Builder::new_multi_thread();
    let cpus = placement.cpus.len();
    if placement.policy != Policy::Spread {
        return Ok((builder, workers.unwrap_or(cpus)));
    }
    if workers.is_some_and(|workers| workers != cpus) {
        return Err(UsageError(format!(
            "--workers: --placement spread pins one worker to each of {cpus} CPUs; \
             choose them with --cpus"
        )));
    }
    let placement = placement.clone();
    let seats = AtomicUsize::new(0);
    builder.on_thread_start(move || {
        // If pinning a worker fails, the crossing share shows it.
        let _ = placement.pin(seats.fetch_add(1, Relaxed));
    });
    Ok((builder, cpus))
}

/// Builds a runtime with `workers` worker threads.
///
/// # Errors
/// The kernel's, if it cannot create the threads. This function creates them once beforehand:
/// tokio panics without its first worker, and ignores failures of later ones, whose tasks then wait
/// for ever.
pub fn with_workers(mut builder: Builder, workers: usize) -> io::Result<Runtime> {
    try_threads(workers)?;
    builder.worker_threads(workers).build()
}

/// Creates this many threads at once, and ends them.
fn try_threads(count: usize) -> io::Result<()> {
    let gate = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let gate = &gate;
        let closed = gate.lock();
        let pass = move || drop(gate.lock().map(|mut passed| passed.push(gettid())));
        for _ in 0..count {
            thread::Builder::new().spawn_scoped(scope, pass)?;
        }
        drop(closed);
        io::Result::Ok(())
    })?;
    let passed = gate.into_inner().unwrap_or_default();
    // The kernel may count a joined thread for a moment.
    while passed.iter().any(|thread| Path::new(&format!("/proc/self/task/{thread}")).exists()) {
        thread::yield_now();
    }
    Ok(())
}

/// Waits for a task of a brigade, and returns its outcome.
///
/// # Errors
/// If it failed or panicked.
pub async fn outcome(task: JoinHandle<io::Result<()>>) -> Result<(), TaskError> {
    task.await.map_err(panicked)?.map_err(TaskError::Failed)
}

/// The result of the task with this number.
///
/// # Errors
/// If it panicked, with its number.
pub async fn join<T>(number: usize, task: JoinHandle<T>) -> anyhow::Result<T> {
    task.await.map_err(|error| panicked(error).of_task(number))
}

fn panicked(error: JoinError) -> TaskError {
    let panic = error.try_into_panic();
    TaskError::Panicked(panic.map_or("cancelled".into(), |panic| panic_text(&*panic)))
}
