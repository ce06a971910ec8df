//! What the tasks of a case are, as reports colour and name them.

use serde::{Deserialize, Serialize};

/// A kind of task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// A thread of the kernel.
    Thread,
    /// A task of an async runtime.
    AsyncTask,
    /// A coroutine with a stack of its own.
    Coroutine,
    /// A goroutine.
    Goroutine,
    /// A process.
    Process,
    /// None: the I/O or the work alone, to be subtracted.
    Alone,
}

impl TaskKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Thread,
        Self::AsyncTask,
        Self::Coroutine,
        Self::Goroutine,
        Self::Process,
        Self::Alone,
    ];

    /// Its name in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::AsyncTask => "async task",
            Self::Coroutine => "coroutine",
            Self::Goroutine => "goroutine",
            Self::Process => "process",
            Self::Alone => "no switch",
        }
    }
}
