//! The executors, each set up around the measured loop, and one trait for their interfaces: a graph
//! spawns through [`Spawner`].

use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use anyhow::Context as _;
use async_executors::{
    AsyncStd, LocalSpawnHandle, LocalSpawnHandleExt as _, SpawnHandle, SpawnHandleExt as _,
    TokioCt, TokioTp,
};
use clap::ValueEnum;
use futures::FutureExt as _;
use futures::channel::oneshot::{self, Canceled, Receiver};
use futures::executor::{LocalPool, ThreadPool, block_on};
use futures::task::{LocalSpawn, LocalSpawnExt as _, Spawn, SpawnExt as _};
use harness::failure::{UsageError, creating};
use harness::flags::name;
use harness::runtime::with_workers;
use harness::{Bench, Measured};
use tokio::runtime::Builder;
use tokio::task::LocalSet;

use crate::graph::{Counts, Delivery, Graph, Node, run};

/// Values of `--executor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Executor {
    /// The LocalPool of `futures`, on one thread
    LocalPool,
    /// The ThreadPool of `futures`
    ThreadPool,
    /// Tokio on one thread, with a LocalSet
    TokioCt,
    /// Tokio on several threads
    TokioTp,
    /// The global executor of async-std
    AsyncStd,
    /// The executor of smol, with one thread per CPU
    #[value(name = "async-executor")]
    #[serde(rename = "async-executor")]
    Smol,
}

/// Values of `--spawn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interface {
    /// The executor's native function
    Native,
    /// The trait Spawn of `futures`
    Spawn,
    /// The trait SpawnHandle of `async_executors`
    SpawnHandle,
    /// The trait LocalSpawn of `futures`
    LocalSpawn,
    /// The trait LocalSpawnHandle of `async_executors`
    LocalSpawnHandle,
}

impl Executor {
    /// The requested interface, or the executor's native one.
    ///
    /// # Errors
    /// [`UsageError`] if the executor lacks it, listing those that it has.
    pub fn interface(self, requested: Option<Interface>) -> Result<Interface, UsageError> {
        use Interface::{LocalSpawn, LocalSpawnHandle, Native, Spawn, SpawnHandle};
        let offered: &[Interface] = match self {
            Self::LocalPool => &[LocalSpawn, LocalSpawnHandle],
            Self::ThreadPool => &[Spawn, SpawnHandle],
            Self::TokioCt => &[Native, LocalSpawn, LocalSpawnHandle],
            Self::TokioTp | Self::AsyncStd => &[Native, Spawn, SpawnHandle],
            Self::Smol => &[Native],
        };
        let interface = requested.unwrap_or(offered[0]);
        if offered.contains(&interface) {
            return Ok(interface);
        }
        let offered: Vec<_> = offered.iter().map(name).collect();
        Err(UsageError(format!(
            "--spawn {}: {} has no such interface; choose from {}",
            name(&interface),
            name(&self),
            offered.join(", ")
        )))
    }
}

/// Measures an executor through one of its interfaces. All interfaces use the same runtime; if it
/// has several threads, one worker per CPU.
///
/// # Errors
/// If a limit refuses the executor's threads, or a count is wrong.
pub fn measure(
    executor: Executor,
    interface: Interface,
    graph: Graph,
    bench: &Bench,
) -> anyhow::Result<()> {
    let run = Run { interface, graph, bench };
    let cpus = bench.placement().cpus().len();
    let is_native = interface == Interface::Native;
    match executor {
        Executor::LocalPool => {
            let mut pool = LocalPool::new();
            run.by_local_traits(pool.spawner(), |counts| pool.run_until(counts))
        }
        Executor::ThreadPool => {
            let pool = ThreadPool::builder().pool_size(cpus).create();
            let pool = pool.map_err(|error| creating(format_args!("the thread pool"), error))?;
            run.by_traits(pool, block_on)
        }
        Executor::TokioCt => {
            let runtime = Builder::new_current_thread().build().context("starting tokio")?;
            if is_native {
                let tasks = Rc::new(LocalSet::new());
                return run.drive(&tasks, |counts| tasks.block_on(&runtime, counts));
            }
            let tokio = TokioCt::try_from(runtime).expect("it has one thread");
            run.by_local_traits(tokio.clone(), |counts| tokio.block_on(counts))
        }
        Executor::TokioTp => {
            let runtime = with_workers(Builder::new_multi_thread(), cpus)
                .map_err(|error| creating(format_args!("the tokio runtime"), error))?;
            if is_native {
                return run.drive(runtime.handle(), |counts| runtime.block_on(counts));
            }
            let tokio = TokioTp::try_from(runtime).expect("it has several threads");
            run.by_traits(tokio.clone(), |counts| tokio.block_on(counts))
        }
        Executor::AsyncStd if is_native => run.drive(&AsyncStd, async_std::task::block_on),
        Executor::AsyncStd => run.by_traits(AsyncStd, async_std::task::block_on),
        Executor::Smol => run.on_smol(),
    }
}

/// A measurement, on any executor.
struct Run<'a> {
    interface: Interface,
    graph: Graph,
    bench: &'a Bench,
}

impl Run<'_> {
    fn by_traits<E: Spawn + SpawnHandle<()> + Clone + Send + 'static>(
        &self,
        executor: E,
        wait: impl FnMut(Receiver<Counts>) -> Result<Counts, Canceled>,
    ) -> anyhow::Result<()> {
        match self.interface {
            Interface::SpawnHandle => self.drive(&BySpawnHandle(executor), wait),
            _ => self.drive(&BySpawn(executor), wait),
        }
    }

    fn by_local_traits<E: LocalSpawn + LocalSpawnHandle<()> + Clone + 'static>(
        &self,
        executor: E,
        wait: impl FnMut(Receiver<Counts>) -> Result<Counts, Canceled>,
    ) -> anyhow::Result<()> {
        match self.interface {
            Interface::LocalSpawnHandle => self.drive(&ByLocalSpawnHandle(executor), wait),
            _ => self.drive(&ByLocalSpawn(executor), wait),
        }
    }

    /// The executor of smol has no threads: one per CPU runs it.
    fn on_smol(&self) -> anyhow::Result<()> {
        let executor = Arc::new(async_executor::Executor::new());
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = stopped.shared();
        thread::scope(|scope| {
            for _ in self.bench.placement().cpus() {
                let (executor, stopped) = (Arc::clone(&executor), stopped.clone());
                thread::Builder::new()
                    .spawn_scoped(scope, move || block_on(executor.run(stopped)))
                    .map_err(|error| creating(format_args!("a worker"), error))?;
            }
            let driven = self.drive(&executor, block_on);
            drop(stop);
            driven
        })
    }

    /// Passes messages through the graph, lap after lap, with tasks spawned by `spawner`. `wait`
    /// makes the executor wait for the counts. A lap's nodes are created before it begins.
    fn drive<S: Spawner>(
        &self,
        spawner: &S,
        mut wait: impl FnMut(Receiver<Counts>) -> Result<Counts, Canceled>,
    ) -> anyhow::Result<()> {
        let spawns = Measured::per_task("iteration", "spawn", self.graph.spawns() as usize);
        let mut next = self.graph.nodes();
        for lap in self.bench.laps(&[spawns]) {
            let (nodes, counts) = next;
            for ready in nodes {
                spawner.start_node(ready);
            }
            let counts = wait(counts);
            lap.finish();
            counts.context("waiting for all nodes to end")?.verify(self.graph)?;
            next = self.graph.nodes();
        }
        self.bench.observe()
    }
}

/// Spawns tasks and detaches them. There is a method for each of the two types of tasks in a graph,
/// so that nothing is boxed, and multi-threaded executors can require `Send`.
pub trait Spawner: Clone + 'static {
    /// Spawns a node.
    ///
    /// # Panics
    /// If the executor is shutting down, which no graph outlives.
    fn start_node(&self, node: Node);

    /// Spawns a send.
    ///
    /// # Panics
    /// If the executor is shutting down, which no graph outlives.
    fn start(&self, delivery: Delivery);
}

/// Both methods of a spawner that spawns the two types of tasks in the same
/// way.
macro_rules! both {
    (|$own:ident, $task:ident| $spawn:expr) => {
        fn start_node(&self, node: Node) {
            let ($own, $task) = (self, run(node, self.clone()));
            $spawn;
        }

        fn start(&self, delivery: Delivery) {
            let ($own, $task) = (self, delivery);
            $spawn;
        }
    };
}

/// Spawns through the trait `Spawn` of `futures`.
#[derive(Clone)]
pub struct BySpawn<E>(pub E);

impl<E: Spawn + Clone + Send + 'static> Spawner for BySpawn<E> {
    both!(|own, task| own.0.spawn(task).expect("it runs"));
}

/// Spawns through the trait `SpawnHandle` of `async_executors`.
#[derive(Clone)]
pub struct BySpawnHandle<E>(pub E);

impl<E: SpawnHandle<()> + Clone + Send + 'static> Spawner for BySpawnHandle<E> {
    both!(|own, task| own.0.spawn_handle(task).expect("it runs").detach());
}

/// Spawns through the trait `LocalSpawn` of `futures`.
#[derive(Clone)]
pub struct ByLocalSpawn<E>(pub E);

impl<E: LocalSpawn + Clone + 'static> Spawner for ByLocalSpawn<E> {
    both!(|own, task| own.0.spawn_local(task).expect("it runs"));
}

/// Spawns through the trait `LocalSpawnHandle` of `async_executors`.
#[derive(Clone)]
pub struct ByLocalSpawnHandle<E>(pub E);

impl<E: LocalSpawnHandle<()> + Clone + 'static> Spawner for ByLocalSpawnHandle<E> {
    both!(|own, task| own.0.spawn_handle_local(task).expect("it runs").detach());
}

/// Tokio's native interface to a multi-thread runtime.
impl Spawner for tokio::runtime::Handle {
    both!(|own, task| drop(own.spawn(task)));
}

/// Tokio's native interface to tasks on one thread.
impl Spawner for Rc<LocalSet> {
    both!(|own, task| drop(own.spawn_local(task)));
}

/// The native interface of async-std's global executor.
impl Spawner for AsyncStd {
    both!(|_own, task| drop(async_std::task::spawn(task)));
}

/// The native interface of async-executor.
impl Spawner for Arc<async_executor::Executor<'static>> {
    both!(|own, task| own.spawn(task).detach());
}
