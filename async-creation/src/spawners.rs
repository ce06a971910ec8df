//! Spawning and joining tasks on each of the runtimes.

use std::future::Future;
use std::hint::black_box;

use anyhow::anyhow;
use async_executor::{LocalExecutor, Task as ExecutorTask};
use compio::runtime::{JoinHandle as CompioHandle, Runtime};
use futures::executor::LocalSpawner;
use futures::future::RemoteHandle;
use futures::task::LocalSpawnExt as _;
use harness::RuntimeKind;
use harness::runtime::{join, spawn};
use tokio::task::JoinHandle;

/// A task that any of the runtimes can spawn.
pub trait Task: Future<Output: Send + 'static> + Send + 'static {}

impl<F: Future<Output: Send + 'static> + Send + 'static> Task for F {}

/// Spawns tasks on one runtime.
pub trait Spawner {
    /// The handle of a task.
    type Handle<T: Send + 'static>;

    fn spawn<F: Task>(&self, task: F) -> Self::Handle<F::Output>;

    /// The result of the task with this number.
    fn join<T: Send + 'static>(
        number: usize,
        handle: Self::Handle<T>,
    ) -> impl Future<Output = anyhow::Result<T>>;
}

/// A tokio runtime, for tasks whose futures contain `BYTES` additional bytes.
pub struct OfTokio<const BYTES: usize>(pub RuntimeKind);

/// A future that contains this many additional bytes, moved into it, until it ends.
#[expect(clippy::manual_async_fn, reason = "an async fn would contain its arguments twice")]
fn holding<F: Future, const BYTES: usize>(
    held: [u8; BYTES],
    task: F,
) -> impl Future<Output = F::Output> {
    async move {
        let output = task.await;
        black_box(&held);
        output
    }
}

impl<const BYTES: usize> Spawner for OfTokio<BYTES> {
    type Handle<T: Send + 'static> = JoinHandle<T>;

    fn spawn<F: Task>(&self, task: F) -> JoinHandle<F::Output> {
        match BYTES {
            0 => spawn(self.0, task),
            _ => spawn(self.0, holding([0; BYTES], task)),
        }
    }

    fn join<T: Send + 'static>(
        number: usize,
        handle: JoinHandle<T>,
    ) -> impl Future<Output = anyhow::Result<T>> {
        join(number, handle)
    }
}

impl Spawner for &LocalExecutor<'_> {
    type Handle<T: Send + 'static> = ExecutorTask<T>;

    fn spawn<F: Task>(&self, task: F) -> Self::Handle<F::Output> {
        LocalExecutor::spawn(self, task)
    }

    async fn join<T: Send + 'static>(_number: usize, handle: ExecutorTask<T>) -> anyhow::Result<T> {
        Ok(handle.await)
    }
}

/// A pool of `futures`.
impl Spawner for LocalSpawner {
    type Handle<T: Send + 'static> = RemoteHandle<T>;

    fn spawn<F: Task>(&self, task: F) -> RemoteHandle<F::Output> {
        let spawned = self.spawn_local_with_handle(task);
        spawned.expect("the pool lives as long as its driver")
    }

    async fn join<T: Send + 'static>(_number: usize, handle: RemoteHandle<T>) -> anyhow::Result<T> {
        Ok(handle.await)
    }
}

impl Spawner for Runtime {
    type Handle<T: Send + 'static> = CompioHandle<T>;

    fn spawn<F: Task>(&self, task: F) -> CompioHandle<F::Output> {
        Runtime::spawn(self, task)
    }

    async fn join<T: Send + 'static>(number: usize, handle: CompioHandle<T>) -> anyhow::Result<T> {
        handle.await.map_err(|_| anyhow!("task {number} was cancelled"))
    }
}

#[cfg(test)]
mod tests {
    use super::holding;

    #[test]
    fn a_future_contains_its_additional_bytes_once() {
        let empty = size_of_val(&holding([0; 0], async {}));
        assert_eq!(size_of_val(&holding([0; 1024], async {})), empty + 1024);
        assert_eq!(size_of_val(&holding([0; 16_384], async {})), empty + 16_384);
    }
}
