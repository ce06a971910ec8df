//! Async tasks of any runtime, and how they end.

use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use crate::measure::bench::Bench;
use crate::tasks::threads::{TaskError, panic_text, root_cause};

/// The outcome of a task, for a runtime that does not catch panics. The future contains the task once;
/// `pin!` would move it, too.
///
/// # Errors
/// If it failed or panicked.
#[expect(clippy::manual_async_fn, reason = "an async fn would contain the task twice")]
pub fn caught<T>(
    mut task: impl Future<Output = io::Result<T>>,
) -> impl Future<Output = Result<T, TaskError>> {
    async move {
        // SAFETY: a captured variable is part of the future, which is pinned while this runs, and
        // nothing moves it from there.
        let mut task = unsafe { Pin::new_unchecked(&mut task) };
        poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(context))) {
            Ok(polled) => polled.map(|result| result.map_err(TaskError::Failed)),
            Err(panic) => Poll::Ready(Err(TaskError::Panicked(panic_text(&*panic)))),
        })
        .await
    }
}

/// Ends a brigade after its driver has returned `result`, as
/// [`crate::tasks::threads::end`] does; each of `tasks` reports its outcome.
///
/// # Errors
/// The root cause, as for threads.
pub async fn end<S>(
    bench: &Bench,
    result: anyhow::Result<()>,
    first: S,
    tasks: impl IntoIterator<Item = impl Future<Output = Result<(), TaskError>>>,
) -> anyhow::Result<()> {
    let observed = result.and_then(|()| bench.observe());
    drop(first);
    let mut outcomes = Vec::new();
    for task in tasks {
        outcomes.push(task.await);
    }
    root_cause(outcomes).and(observed)
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[test]
    fn a_task_whose_panics_are_caught_takes_its_own_memory_once() {
        let kept = [1_u8; 1024];
        let task = async move {
            pending::<()>().await;
            Ok(kept)
        };
        let alone = size_of_val(&task);
        let caught = size_of_val(&caught(task));
        assert!(caught < alone + 256, "{caught} bytes for a task of {alone}");
    }
}
