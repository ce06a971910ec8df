//! Async tasks of any runtime, and how they end.

use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use crate::measure::bench::Bench;
use crate::tasks::threads::{TaskError, panic_text, root_cause};

/// The outcome of a task, for a runtime that does not catch panics.
///
/// # Errors
/// If it failed or panicked.
pub async fn caught<T>(task: impl Future<Output = io::Result<T>>) -> Result<T, TaskError> {
    let mut task = pin!(task);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(context))) {
        Ok(polled) => polled.map(|result| result.map_err(TaskError::Failed)),
        Err(panic) => Poll::Ready(Err(TaskError::Panicked(panic_text(&*panic)))),
    })
    .await
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
