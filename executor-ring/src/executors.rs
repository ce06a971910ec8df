//! The executors, each set up around the measured loop.
//!
//! Every function takes the spawner to use and what a node runs. Those of one
//! thread claim that the kernel has nothing to switch.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use anyhow::Context as _;
use async_executors::{AsyncStd, TokioCt, TokioTp};
use futures::FutureExt as _;
use futures::channel::oneshot;
use futures::executor::{LocalPool, LocalSpawner, ThreadPool, block_on};
use harness::failure::UsageError;
use harness::runtime::with_workers;
use harness::{Amounts, Bench, failure};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::LocalSet;

use crate::combination::{Combination, Executor, Interface};
use crate::measure::drive;
use crate::ring::{Delivery, Node, run};
use crate::spawners::{
    AsyncStdNative, ByLocalSpawn, ByLocalSpawnHandle, BySpawn, BySpawnHandle, Start,
};

/// Stack that the standard library gives a thread, in bytes.
const STACK: u64 = 2 << 20;

/// Measures one combination in this process.
///
/// # Errors
/// [`UsageError`] for a combination that does not exist.
pub fn measure(combination: Combination, bench: &Bench) -> anyhow::Result<()> {
    use Executor as On;
    use Interface as By;
    bench.require(Amounts::async_task(), workers(combination.executor, bench))?;
    match (combination.executor, combination.interface) {
        (On::LocalPool, By::LocalSpawn) => local_pool(bench, ByLocalSpawn, run),
        (On::LocalPool, By::LocalSpawnHandle) => local_pool(bench, ByLocalSpawnHandle, run),
        (On::ThreadPool, By::Spawn) => thread_pool(bench, BySpawn, run),
        (On::ThreadPool, By::SpawnHandle) => thread_pool(bench, BySpawnHandle, run),
        (On::TokioCt, By::Native) => tokio_ct(bench, run),
        (On::TokioCt, By::LocalSpawn) => wrapped_tokio_ct(bench, ByLocalSpawn, run),
        (On::TokioCt, By::LocalSpawnHandle) => wrapped_tokio_ct(bench, ByLocalSpawnHandle, run),
        (On::TokioTp, By::Native) => tokio_tp(bench, run),
        (On::TokioTp, By::Spawn) => wrapped_tokio_tp(bench, BySpawn, run),
        (On::TokioTp, By::SpawnHandle) => wrapped_tokio_tp(bench, BySpawnHandle, run),
        (On::AsyncStd, By::Native) => async_std(bench, AsyncStdNative, run),
        (On::AsyncStd, By::Spawn) => async_std(bench, BySpawn(AsyncStd), run),
        (On::AsyncStd, By::SpawnHandle) => async_std(bench, BySpawnHandle(AsyncStd), run),
        (On::Smol, By::Native) => async_executor(bench, run),
        _ => Err(UsageError(combination.absence()).into()),
    }
}

/// What the threads of an executor take.
fn workers(executor: Executor, bench: &Bench) -> Amounts {
    let threads = match executor {
        Executor::LocalPool | Executor::TokioCt => 0,
        _ => bench.placement().cpus().len(),
    };
    (0..threads).fold(Amounts::default(), |sum, _| sum.and(Amounts::thread(STACK)))
}

fn local_pool<S, F>(
    bench: &Bench,
    spawner: fn(LocalSpawner) -> S,
    node: fn(Node, S) -> F,
) -> anyhow::Result<()>
where
    S: Start<Delivery> + Start<F>,
    F: Future<Output = ()>,
{
    bench.expect_switches(0.0);
    let mut pool = LocalPool::new();
    let spawner = spawner(pool.spawner());
    drive(bench, &spawner, node, |counts| pool.run_until(counts))
}

fn thread_pool<S, F>(
    bench: &Bench,
    spawner: fn(ThreadPool) -> S,
    node: fn(Node, S) -> F,
) -> anyhow::Result<()>
where
    S: Start<Delivery> + Start<F>,
    F: Future<Output = ()>,
{
    let pool = ThreadPool::builder()
        .pool_size(bench.placement().cpus().len())
        .create()
        .map_err(|error| failure::creating(format_args!("the thread pool"), error))?;
    drive(bench, &spawner(pool), node, block_on)
}

/// The runtime that tokio's own interface and the wrapper both get.
fn current_thread() -> anyhow::Result<Runtime> {
    Builder::new_current_thread().build().context("starting tokio")
}

/// As [`current_thread`], with a worker for each CPU.
fn multi_thread(bench: &Bench) -> anyhow::Result<Runtime> {
    with_workers(Builder::new_multi_thread(), bench.placement().cpus().len())
        .map_err(|error| failure::creating(format_args!("the tokio runtime"), error))
}

fn tokio_ct<F>(bench: &Bench, node: fn(Node, Rc<LocalSet>) -> F) -> anyhow::Result<()>
where
    F: Future<Output = ()> + 'static,
{
    bench.expect_switches(0.0);
    let runtime = current_thread()?;
    let tasks = Rc::new(LocalSet::new());
    drive(bench, &tasks, node, |counts| tasks.block_on(&runtime, counts))
}

fn wrapped_tokio_ct<S, F>(
    bench: &Bench,
    spawner: fn(TokioCt) -> S,
    node: fn(Node, S) -> F,
) -> anyhow::Result<()>
where
    S: Start<Delivery> + Start<F>,
    F: Future<Output = ()>,
{
    bench.expect_switches(0.0);
    let tokio = TokioCt::try_from(current_thread()?).expect("it is of one thread");
    drive(bench, &spawner(tokio.clone()), node, |counts| tokio.block_on(counts))
}

fn tokio_tp<F>(bench: &Bench, node: fn(Node, Handle) -> F) -> anyhow::Result<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = multi_thread(bench)?;
    drive(bench, runtime.handle(), node, |counts| runtime.block_on(counts))
}

fn wrapped_tokio_tp<S, F>(
    bench: &Bench,
    spawner: fn(TokioTp) -> S,
    node: fn(Node, S) -> F,
) -> anyhow::Result<()>
where
    S: Start<Delivery> + Start<F>,
    F: Future<Output = ()>,
{
    let tokio = TokioTp::try_from(multi_thread(bench)?).expect("it is of several threads");
    drive(bench, &spawner(tokio.clone()), node, |counts| tokio.block_on(counts))
}

/// The executor of async-std is global: there is nothing to start.
fn async_std<S, F>(bench: &Bench, spawner: S, node: fn(Node, S) -> F) -> anyhow::Result<()>
where
    S: Start<Delivery> + Start<F>,
    F: Future<Output = ()>,
{
    drive(bench, &spawner, node, async_std::task::block_on)
}

/// async-executor has no threads of its own: one for each CPU runs it.
fn async_executor<F>(
    bench: &Bench,
    node: fn(Node, Arc<async_executor::Executor<'static>>) -> F,
) -> anyhow::Result<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    let executor = Arc::new(async_executor::Executor::new());
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = stopped.shared();
    thread::scope(|scope| {
        for _ in bench.placement().cpus() {
            let (executor, stopped) = (Arc::clone(&executor), stopped.clone());
            let worker = thread::Builder::new();
            worker
                .spawn_scoped(scope, move || block_on(executor.run(stopped)))
                .map_err(|error| failure::creating(format_args!("a worker"), error))?;
        }
        let driven = drive(bench, &executor, node, block_on);
        drop(stop);
        driven
    })
}
