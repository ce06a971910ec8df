//! Async tasks of any runtime as tasks, and how they end.

use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use crate::bench::Bench;
use crate::threads::{TaskError, panic_text, root_cause};

/// The outcome of a task, for a runtime that does not catch a panic itself.
///
/// # Errors
/// That it failed or panicked.
pub async fn caught(task: impl Future<Output = io::Result<()>>) -> Result<(), TaskError> {
    let mut task = pin!(task);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(context))) {
        Ok(polled) => polled.map(|result| result.map_err(TaskError::Failed)),
        Err(panic) => Poll::Ready(Err(TaskError::Panicked(panic_text(&*panic)))),
    })
    .await
}

/// Ends a brigade whose driver has `passed` its tokens or failed, as
/// [`crate::threads::end`] does; each of `tasks` reports its outcome.
///
/// # Errors
/// The failure that the others follow from, as for threads.
pub async fn end<S>(
    bench: &Bench,
    passed: anyhow::Result<()>,
    first: S,
    tasks: impl IntoIterator<Item = impl Future<Output = Result<(), TaskError>>>,
) -> anyhow::Result<()> {
    let observed = passed.and_then(|()| bench.observe());
    drop(first);
    let mut outcomes = Vec::new();
    for task in tasks {
        outcomes.push(task.await);
    }
    root_cause(outcomes).and(observed)
}
