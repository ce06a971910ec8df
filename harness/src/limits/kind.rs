//! The kinds of tasks that the programs have.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Amounts;
use super::amounts::RING_ENTRIES;

/// The stack of a thread or coroutine, in bytes, unless `--stack-size` says
/// otherwise.
pub const STACK_BYTES: u64 = 1 << 20;
/// Files that an async runtime opens: two handles of its `epoll` and the
/// `eventfd` that wakes it.
pub(crate) const FILES_PER_RUNTIME: u64 = 3;

/// A kind of task, with the channels between the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Threads that share nothing
    Thread,
    /// Threads with a futex, condition variable or channel in memory each
    ThreadFutex,
    /// Threads over eventfds
    ThreadEventfd,
    /// Threads over pipes
    ThreadPipe,
    /// Threads over socket pairs
    ThreadSocketpair,
    /// Tokio tasks that wait for nothing
    Tokio,
    /// Tokio tasks over channels in memory
    TokioChannel,
    /// Tokio tasks over pipes
    TokioPipe,
    /// Tasks of async-executor that wait for nothing
    AsyncExecutor,
    /// Goroutines over channels
    Goroutine,
    /// Stackful coroutines
    Coroutine,
    /// Forked processes
    Process,
    /// Rings of io_uring
    IoUring,
}

impl Kind {
    /// What the tasks are, in the plural.
    pub fn tasks(self) -> String {
        match self {
            Self::Thread => "threads".into(),
            Self::ThreadFutex => "threads over futexes or channels in memory".into(),
            Self::ThreadEventfd => "threads over eventfds".into(),
            Self::ThreadPipe => "threads over pipes".into(),
            Self::ThreadSocketpair => "threads over socket pairs".into(),
            Self::Tokio => "tokio tasks".into(),
            Self::TokioChannel => "tokio tasks over channels".into(),
            Self::TokioPipe => "tokio tasks over pipes".into(),
            Self::AsyncExecutor => "async-executor tasks".into(),
            Self::Goroutine => "goroutines".into(),
            Self::Coroutine => "coroutines".into(),
            Self::Process => "processes".into(),
            Self::IoUring => format!("io_uring rings of {RING_ENTRIES} entries"),
        }
    }

    /// The flags by which a program that makes tasks of several kinds makes this one.
    pub fn flags(self) -> Vec<String> {
        let (kind, waiting) = match self {
            Self::TokioChannel => (Self::Tokio, Some("channel")),
            Self::TokioPipe => (Self::Tokio, Some("pipe")),
            other => (other, None),
        };
        let waiting = waiting.map(|waiting| format!("--waiting={waiting}"));
        [format!("--kind={kind}")].into_iter().chain(waiting).collect()
    }

    /// What one task needs, with the channel that it reads from.
    pub fn per_task(self) -> Amounts {
        self.per_task_with_stack(STACK_BYTES)
    }

    /// As [`Self::per_task`], with a stack of so many bytes where the task has
    /// one whose size is chosen.
    pub fn per_task_with_stack(self, stack_bytes: u64) -> Amounts {
        let task = match self {
            Self::Tokio | Self::TokioChannel | Self::TokioPipe | Self::AsyncExecutor => {
                Amounts::async_task()
            }
            Self::Goroutine => Amounts::goroutine(),
            Self::Coroutine => Amounts::coroutine(stack_bytes),
            Self::Process => Amounts::process(),
            Self::IoUring => Amounts::ring(),
            _ => Amounts::thread(stack_bytes),
        };
        task.and(self.channel())
    }

    /// What the channel takes that a task reads from, if it has one of its own.
    fn channel(self) -> Amounts {
        match self {
            Self::ThreadFutex => Amounts::channel_in_memory(),
            Self::ThreadEventfd => Amounts::eventfd(),
            Self::ThreadPipe => Amounts::pipe(),
            Self::ThreadSocketpair => Amounts::socket_pair(),
            Self::TokioPipe => Amounts::pipe().watched(),
            _ => Amounts::default(),
        }
    }

    /// Whether a task has a stack of a size that the program chooses.
    pub fn has_sized_stack(self) -> bool {
        self.per_task_with_stack(0) != self.per_task()
    }

    /// What a program with such tasks needs besides: the channel back to the
    /// driver, an async runtime on one thread, and files to look at itself.
    pub fn fixed(self) -> Amounts {
        let files = match self {
            Self::Tokio | Self::TokioChannel | Self::TokioPipe => FILES_PER_RUNTIME,
            _ => 0,
        };
        let own = self.channel().and(Amounts { files, ..Amounts::default() });
        own.and(Amounts::observation())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&crate::flags::name(self))
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn a_kind_has_one_name_everywhere() {
        for kind in Kind::value_variants() {
            let json = serde_json::to_string(kind).expect("serializes");
            assert_eq!(json, format!("\"{kind}\""));
        }
    }
}
