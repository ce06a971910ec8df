//! Threads and processes as tasks, and how they end.

use std::any::Any;
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Sender;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

use anyhow::anyhow;
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;

use crate::failure;
use crate::machine::process_stat::{FAILED, PANICKED, reap};
use crate::measure::bench::Bench;

/// Creates the thread for the task with this number, with a stack of so many bytes.
///
/// # Errors
/// The kernel's, with the number.
pub fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    task: usize,
    stack_bytes: usize,
    body: impl FnOnce() -> io::Result<()> + Send + 'scope,
) -> anyhow::Result<ScopedJoinHandle<'scope, io::Result<()>>> {
    let thread = Builder::new().stack_size(stack_bytes).spawn_scoped(scope, body);
    thread.map_err(failure::to_create(format_args!("task {task}")))
}

/// Ends a brigade after its driver has returned `result`: observes the tasks,
/// closes the channel `first`, so that they end one after another, and waits
/// for their `outcomes`, in order.
///
/// # Errors
/// The root cause. When a task fails, its neighbours and the driver see closed
/// channels: such an error is a consequence, and is returned only if there is
/// no other.
pub fn end<S>(
    bench: &Bench,
    result: anyhow::Result<()>,
    first: S,
    outcomes: impl Iterator<Item = Result<(), TaskError>>,
) -> anyhow::Result<()> {
    let observed = result.and_then(|()| bench.observe());
    drop(first);
    root_cause(outcomes).and(observed)
}

/// Waits for a thread of a brigade, and returns its outcome.
///
/// # Errors
/// If it failed or panicked.
pub fn outcome(thread: ScopedJoinHandle<'_, io::Result<()>>) -> Result<(), TaskError> {
    let result = thread.join().map_err(|panic| TaskError::Panicked(panic_text(&*panic)))?;
    result.map_err(TaskError::Failed)
}

/// Waits for the end of a [spawned](crate::machine::process_stat::spawn) child.
///
/// # Errors
/// The child's.
pub fn outcome_of_process(child: Pid) -> Result<(), TaskError> {
    let failed = |error| Err(TaskError::Failed(error));
    match reap(child) {
        Ok(WaitStatus::Exited(_, 0)) => Ok(()),
        Ok(WaitStatus::Exited(_, PANICKED)) => {
            Err(TaskError::Panicked("its message is above".to_owned()))
        }
        Ok(WaitStatus::Exited(_, FAILED)) => failed(io::Error::other("it gave no reason")),
        Ok(WaitStatus::Exited(_, code)) => failed(io::Error::from_raw_os_error(code)),
        Ok(WaitStatus::Signaled(_, signal, _)) => {
            failed(io::Error::other(format!("it was killed by {signal}")))
        }
        Ok(status) => failed(io::Error::other(format!("{status:?}"))),
        Err(error) => failed(error.into()),
    }
}

/// Waits for a thread that is no task, and returns its result.
///
/// # Errors
/// The thread's, or that it panicked.
pub fn joined(thread: ScopedJoinHandle<'_, anyhow::Result<()>>) -> anyhow::Result<()> {
    thread.join().unwrap_or_else(|panic| Err(anyhow!("it panicked: {}", panic_text(&*panic))))
}

/// Runs `body` in a thread of its own, called `name` in errors, which reports its result, also if it
/// panics. The caller can end before it does.
///
/// # Errors
/// If the thread cannot be created.
pub fn aside(
    name: &'static str,
    reports: Sender<anyhow::Result<()>>,
    body: impl FnOnce() -> anyhow::Result<()> + Send + 'static,
) -> anyhow::Result<()> {
    let reported = move || {
        let result = catch_unwind(AssertUnwindSafe(body));
        let panicked =
            |panic: Box<dyn Any + Send>| Err(anyhow!("{name} panicked: {}", panic_text(&*panic)));
        let _ = reports.send(result.unwrap_or_else(panicked));
    };
    Builder::new().spawn(reported).map_err(failure::to_create(name))?;
    Ok(())
}

/// How a task failed.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The task's I/O failed.
    #[error("failed: {0}")]
    Failed(io::Error),
    /// The task panicked, with this message.
    #[error("panicked: {0}")]
    Panicked(String),
}

impl From<TaskError> for io::Error {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Failed(error) => error,
            TaskError::Panicked(text) => Self::other(format!("it panicked: {text}")),
        }
    }
}

impl TaskError {
    /// The run's error after task `number` failed like this.
    pub fn of_task(self, number: usize) -> anyhow::Error {
        anyhow!("task {number} {self}")
    }

    /// Whether a neighbour's end may be the cause. A socket whose other end was
    /// closed with a token in it is reset.
    fn is_consequence(&self) -> bool {
        use ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
        matches!(self, Self::Failed(error)
            if matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof))
    }
}

/// The root cause among the outcomes of tasks 0, 1, ….
///
/// # Errors
/// The failure, with the task's number.
pub fn root_cause(outcomes: impl IntoIterator<Item = Result<(), TaskError>>) -> anyhow::Result<()> {
    let failures = outcomes
        .into_iter()
        .enumerate()
        .filter_map(|(task, outcome)| outcome.err().map(|error| (task, error)));
    match failures.min_by_key(|(_, error)| error.is_consequence()) {
        None => Ok(()),
        Some((task, error)) => Err(error.of_task(task)),
    }
}

/// Waits for the thread of the task with this number, and returns its result.
///
/// # Errors
/// If it panicked, with its number.
pub fn join<T>(number: usize, thread: JoinHandle<T>) -> anyhow::Result<T> {
    thread.join().map_err(|panic| TaskError::Panicked(panic_text(&*panic)).of_task(number))
}

/// The message of a panic, if it has one.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() -> Result<(), TaskError> {
        Err(TaskError::Failed(ErrorKind::BrokenPipe.into()))
    }

    #[test]
    fn the_cause_is_reported_before_its_consequences() {
        let cause = Err(TaskError::Failed(ErrorKind::OutOfMemory.into()));
        let reset = Err(TaskError::Failed(ErrorKind::ConnectionReset.into()));
        let error = root_cause([Ok(()), broken(), reset, cause, broken()]).expect_err("a failure");
        assert_eq!(error.to_string(), "task 3 failed: out of memory");
        assert!(root_cause([Ok(()), broken()]).is_err(), "a consequence alone is a failure");
        assert!(root_cause([Ok(()), Ok(())]).is_ok());
    }
}
