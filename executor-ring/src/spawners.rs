//! One interface to all interfaces: a graph spawns by [`Spawner`].
//!
//! It has a method for each of the two types of tasks that a graph has, so that
//! nothing is boxed on the way, and those that run tasks on several threads can
//! ask for tasks that can be sent between them.

use std::rc::Rc;
use std::sync::Arc;

use async_executors::{
    LocalSpawnHandle, LocalSpawnHandleExt as _, SpawnHandle, SpawnHandleExt as _,
};
use futures::task::{LocalSpawn, LocalSpawnExt as _, Spawn, SpawnExt as _};

use crate::graph::{Delivery, Node, run};

/// Spawns tasks and detaches them.
pub trait Spawner: Clone + 'static {
    /// Spawns what a node does.
    ///
    /// # Panics
    /// When the executor is shutting down, which no graph outlives.
    fn start_node(&self, node: Node);

    /// Spawns a send.
    ///
    /// # Panics
    /// When the executor is shutting down, which no graph outlives.
    fn start(&self, delivery: Delivery);
}

/// Why an executor takes every task.
const RUNS: &str = "the executor takes tasks while it runs";

/// Both methods of a spawner that spawns both types of tasks in the same way.
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

/// Spawns by the trait `Spawn` of `futures`.
#[derive(Clone)]
pub struct BySpawn<E>(pub E);

impl<E: Spawn + Clone + Send + 'static> Spawner for BySpawn<E> {
    both!(|own, task| own.0.spawn(task).expect(RUNS));
}

/// Spawns by the trait `SpawnHandle` of `async_executors`.
#[derive(Clone)]
pub struct BySpawnHandle<E>(pub E);

impl<E: SpawnHandle<()> + Clone + Send + 'static> Spawner for BySpawnHandle<E> {
    both!(|own, task| own.0.spawn_handle(task).expect(RUNS).detach());
}

/// Spawns by the trait `LocalSpawn` of `futures`.
#[derive(Clone)]
pub struct ByLocalSpawn<E>(pub E);

impl<E: LocalSpawn + Clone + 'static> Spawner for ByLocalSpawn<E> {
    both!(|own, task| own.0.spawn_local(task).expect(RUNS));
}

/// Spawns by the trait `LocalSpawnHandle` of `async_executors`.
#[derive(Clone)]
pub struct ByLocalSpawnHandle<E>(pub E);

impl<E: LocalSpawnHandle<()> + Clone + 'static> Spawner for ByLocalSpawnHandle<E> {
    both!(|own, task| own.0.spawn_handle_local(task).expect(RUNS).detach());
}

/// Tokio's own interface to a runtime of several threads.
impl Spawner for tokio::runtime::Handle {
    both!(|own, task| drop(own.spawn(task)));
}

/// Tokio's own interface to tasks of one thread.
impl Spawner for Rc<tokio::task::LocalSet> {
    both!(|own, task| drop(own.spawn_local(task)));
}

/// The global executor of async-std, by its own interface.
#[derive(Clone)]
pub struct AsyncStdNative;

impl Spawner for AsyncStdNative {
    both!(|_own, task| drop(async_std::task::spawn(task)));
}

/// The own interface of async-executor.
impl Spawner for Arc<async_executor::Executor<'static>> {
    both!(|own, task| own.spawn(task).detach());
}
