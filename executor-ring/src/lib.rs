//! The cost of executors, and of the interfaces to spawn on them, in a ring of N nodes that spawn
//! every send.
//!
//! One iteration: N nodes, each a task with a channel to the next one, start one message each. A
//! node adds one to each message that it receives and passes it on by spawning a task that sends
//! it; a message that has gone all the way round ends. That makes N² hops and N² + N tasks: a send
//! for each hop, and the nodes. The iteration ends when every task has ended. The ring follows the
//! executor benchmark of Naja Melan, the author of `async_executors`.
//!
//! What is counted: one operation is one spawn, with its share of the rest: the task's run and end,
//! and a message through an unbounded channel. After each iteration the hops, the messages that
//! came home and the tasks that ended are compared with the expected counts; a wrong count fails
//! the run.
//!
//! Known biases: handles are detached at once, so that all interfaces do the same; I/O drivers are
//! disabled except async-std's, which cannot be. The task spawned last runs next, followed by the
//! node that it wakes: an executor that keeps the last task in a special slot gains. `LocalPool`
//! and `ThreadPool` implement the traits of `futures` natively. Each send takes and drops a reference to
//! the counts and adds to one of them: three atomic operations, on cache lines that all workers share.

mod ring;

use std::rc::Rc;

use anyhow::Context as _;
use async_executors::{
    AsyncStd, LocalSpawnHandle, LocalSpawnHandleExt as _, SpawnHandle, SpawnHandleExt as _,
    TokioCt, TokioTp,
};
use clap::ValueEnum;
use futures::channel::oneshot::{Canceled, Receiver};
use futures::executor::{LocalPool, ThreadPool, block_on};
use futures::task::{LocalSpawn, LocalSpawnExt as _, Spawn, SpawnExt as _};
use harness::failure::{UsageError, to_create};
use harness::flags::name;
use harness::limits::Kind;
use harness::runtime::with_workers;
use harness::{Bench, Launch, Spec, TaskKind};
use tokio::runtime::Builder;
use tokio::task::LocalSet;

use ring::{Counts, Delivery, Node, Spawner, drive};

/// Time N² messages and N² + N spawns in a ring of N async tasks.
///
/// One iteration: each of N nodes starts one message; each node adds one and passes it on, spawning
/// the send, until it has gone round. One operation is one spawn.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  brigade executor-ring --executor tokio-ct
  brigade executor-ring --executor async-std --spawn spawn-handle")]
struct Flags {
    /// Executor of the tasks
    #[arg(long, value_enum, default_value_t = Executor::TokioTp, value_name = "NAME")]
    executor: Executor,

    /// Interface that spawns the tasks [default: the executor's native one]
    #[arg(long, value_enum, value_name = "INTERFACE")]
    spawn: Option<Interface>,
}

/// Values of `--executor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Executor {
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
}

/// Values of `--spawn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Interface {
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
    fn interface(self, requested: Option<Interface>) -> Result<Interface, UsageError> {
        use Interface::{LocalSpawn, LocalSpawnHandle, Native, Spawn, SpawnHandle};
        let offered: &[Interface] = match self {
            Self::LocalPool => &[LocalSpawn, LocalSpawnHandle],
            Self::ThreadPool => &[Spawn, SpawnHandle],
            Self::TokioCt => &[Native, LocalSpawn, LocalSpawnHandle],
            Self::TokioTp | Self::AsyncStd => &[Native, Spawn, SpawnHandle],
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

/// The most nodes: an iteration of their messages takes seconds, and only then a run can end.
const MOST_NODES: u32 = 2000;

const SPEC: Spec =
    Spec { tasks: 100, iters: 20, ..Spec::new(TaskKind::AsyncTask, Kind::AsyncExecutor) };

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    flags.executor.interface(flags.spawn)?;
    let nodes = launch.tasks;
    if nodes > MOST_NODES {
        let spawns = u64::from(nodes) * (u64::from(nodes) + 1);
        return Err(UsageError(format!(
            "--tasks {nodes}: an iteration would spawn {spawns} tasks, which cannot be interrupted; \
             use {MOST_NODES} at most"
        ))
        .into());
    }
    let one_thread = matches!(flags.executor, Executor::LocalPool | Executor::TokioCt);
    // The kernel has nothing to switch on one thread.
    let switches = one_thread.then_some(0.0);
    let threads = if one_thread { 0 } else { launch.cpus() as u64 };
    Ok(Spec { switches, threads, ..SPEC })
}

/// Measures an executor through one of its interfaces. All interfaces use the same runtime; if it
/// has several threads, one worker per CPU.
fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let interface = flags.executor.interface(flags.spawn)?;
    let cpus = bench.placement().cpus.len();
    let is_native = interface == Interface::Native;
    match flags.executor {
        Executor::LocalPool => {
            let mut pool = LocalPool::new();
            by_local_traits(bench, interface, pool.spawner(), |counts| pool.run_until(counts))
        }
        Executor::ThreadPool => {
            let pool = ThreadPool::builder().pool_size(cpus).create();
            let pool = pool.map_err(to_create("the thread pool"))?;
            by_traits(bench, interface, pool, block_on)
        }
        Executor::TokioCt => {
            let runtime = Builder::new_current_thread().build().context("starting tokio")?;
            if is_native {
                let tasks = Rc::new(LocalSet::new());
                return drive(bench, &tasks, |counts| tasks.block_on(&runtime, counts));
            }
            let tokio = TokioCt::try_from(runtime).expect("it has one thread");
            by_local_traits(bench, interface, tokio.clone(), |counts| tokio.block_on(counts))
        }
        Executor::TokioTp => {
            let runtime = with_workers(Builder::new_multi_thread(), cpus);
            let runtime = runtime.map_err(to_create("the tokio runtime"))?;
            if is_native {
                return drive(bench, runtime.handle(), |counts| runtime.block_on(counts));
            }
            let tokio = TokioTp::try_from(runtime).expect("it has several threads");
            by_traits(bench, interface, tokio.clone(), |counts| tokio.block_on(counts))
        }
        Executor::AsyncStd if is_native => drive(bench, &AsyncStd, async_std::task::block_on),
        Executor::AsyncStd => by_traits(bench, interface, AsyncStd, async_std::task::block_on),
    }
}

fn by_traits<E: Spawn + SpawnHandle<()> + Clone + Send + 'static>(
    bench: &Bench,
    interface: Interface,
    executor: E,
    wait: impl FnMut(Receiver<Counts>) -> Result<Counts, Canceled>,
) -> anyhow::Result<()> {
    match interface {
        Interface::SpawnHandle => drive(bench, &BySpawnHandle(executor), wait),
        _ => drive(bench, &BySpawn(executor), wait),
    }
}

fn by_local_traits<E: LocalSpawn + LocalSpawnHandle<()> + Clone + 'static>(
    bench: &Bench,
    interface: Interface,
    executor: E,
    wait: impl FnMut(Receiver<Counts>) -> Result<Counts, Canceled>,
) -> anyhow::Result<()> {
    match interface {
        Interface::LocalSpawnHandle => drive(bench, &ByLocalSpawnHandle(executor), wait),
        _ => drive(bench, &ByLocalSpawn(executor), wait),
    }
}

/// Both methods of a spawner that spawns the two types of tasks in the same
/// way.
macro_rules! both {
    (|$own:ident, $task:ident| $spawn:expr) => {
        fn start_node(&self, node: Node) {
            let ($own, $task) = (self, node.run(self.clone()));
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
struct BySpawn<E>(E);

impl<E: Spawn + Clone + Send + 'static> Spawner for BySpawn<E> {
    both!(|own, task| own.0.spawn(task).expect("it runs"));
}

/// Spawns through the trait `SpawnHandle` of `async_executors`.
#[derive(Clone)]
struct BySpawnHandle<E>(E);

impl<E: SpawnHandle<()> + Clone + Send + 'static> Spawner for BySpawnHandle<E> {
    both!(|own, task| own.0.spawn_handle(task).expect("it runs").detach());
}

/// Spawns through the trait `LocalSpawn` of `futures`.
#[derive(Clone)]
struct ByLocalSpawn<E>(E);

impl<E: LocalSpawn + Clone + 'static> Spawner for ByLocalSpawn<E> {
    both!(|own, task| own.0.spawn_local(task).expect("it runs"));
}

/// Spawns through the trait `LocalSpawnHandle` of `async_executors`.
#[derive(Clone)]
struct ByLocalSpawnHandle<E>(E);

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
