//! The kinds of tasks.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

// What a task needs is another question, which `limits::Kind` answers.
/// What the tasks of a program are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// A kernel thread.
    Thread,
    /// A process.
    Process,
    /// A task of an async runtime.
    AsyncTask,
    /// A coroutine that continues where it suspended, resumed by a scheduler in user space.
    Coroutine,
    /// A goroutine.
    Goroutine,
    /// A state of a hand-written event loop, which one thread runs.
    EventLoop,
    /// No task: only the I/O or the work, to be subtracted.
    None,
}
