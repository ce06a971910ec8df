//! One interface to all interfaces: the ring spawns by [`Start`].
//!
//! The trait has the task as its parameter, not its method, so that a spawner
//! says for itself which tasks it takes: those of several threads only tasks
//! that can be sent between them. Nothing is boxed on the way.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use async_executors::{
    LocalSpawnHandle, LocalSpawnHandleExt as _, SpawnHandle, SpawnHandleExt as _,
};
use futures::task::{LocalSpawn, LocalSpawnExt as _, Spawn, SpawnExt as _};

/// Spawns tasks of type `T` and leaves them to themselves.
pub trait Start<T>: Clone + 'static {
    /// Spawns `task`.
    ///
    /// # Panics
    /// When the executor is shutting down, which no ring outlives.
    fn start(&self, task: T);
}

/// Why an executor takes every task.
const RUNS: &str = "the executor takes tasks while it runs";

/// Spawns by the trait `Spawn` of `futures`.
#[derive(Clone)]
pub struct BySpawn<E>(pub E);

impl<E, T> Start<T> for BySpawn<E>
where
    E: Spawn + Clone + 'static,
    T: Future<Output = ()> + Send + 'static,
{
    fn start(&self, task: T) {
        self.0.spawn(task).expect(RUNS);
    }
}

/// Spawns by the trait `SpawnHandle` of `async_executors`.
#[derive(Clone)]
pub struct BySpawnHandle<E>(pub E);

impl<E, T> Start<T> for BySpawnHandle<E>
where
    E: SpawnHandle<()> + Clone + 'static,
    T: Future<Output = ()> + Send + 'static,
{
    fn start(&self, task: T) {
        self.0.spawn_handle(task).expect(RUNS).detach();
    }
}

/// Spawns by the trait `LocalSpawn` of `futures`.
#[derive(Clone)]
pub struct ByLocalSpawn<E>(pub E);

impl<E, T> Start<T> for ByLocalSpawn<E>
where
    E: LocalSpawn + Clone + 'static,
    T: Future<Output = ()> + 'static,
{
    fn start(&self, task: T) {
        self.0.spawn_local(task).expect(RUNS);
    }
}

/// Spawns by the trait `LocalSpawnHandle` of `async_executors`.
#[derive(Clone)]
pub struct ByLocalSpawnHandle<E>(pub E);

impl<E, T> Start<T> for ByLocalSpawnHandle<E>
where
    E: LocalSpawnHandle<()> + Clone + 'static,
    T: Future<Output = ()> + 'static,
{
    fn start(&self, task: T) {
        self.0.spawn_handle_local(task).expect(RUNS).detach();
    }
}

/// Tokio's own interface to a runtime of several threads.
impl<T: Future<Output = ()> + Send + 'static> Start<T> for tokio::runtime::Handle {
    fn start(&self, task: T) {
        drop(self.spawn(task));
    }
}

/// Tokio's own interface to tasks of one thread.
impl<T: Future<Output = ()> + 'static> Start<T> for Rc<tokio::task::LocalSet> {
    fn start(&self, task: T) {
        drop(self.spawn_local(task));
    }
}

/// The global executor of async-std, by its own interface.
#[derive(Clone)]
pub struct AsyncStdNative;

impl<T: Future<Output = ()> + Send + 'static> Start<T> for AsyncStdNative {
    fn start(&self, task: T) {
        drop(async_std::task::spawn(task));
    }
}

/// The own interface of async-executor.
impl<T: Future<Output = ()> + Send + 'static> Start<T> for Arc<async_executor::Executor<'static>> {
    fn start(&self, task: T) {
        self.spawn(task).detach();
    }
}
