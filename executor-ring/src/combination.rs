//! Which executors there are, and by which interfaces each can be spawned on.

use clap::ValueEnum;
use harness::failure::UsageError;
use harness::flags::name;

/// What `--executor` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Executor {
    /// The LocalPool of `futures`, on one thread
    LocalPool,
    /// The ThreadPool of `futures`
    ThreadPool,
    /// Tokio on one thread, with a LocalSet
    TokioCt,
    /// Tokio on several threads
    TokioTp,
    /// The global executor of async-std
    AsyncStd,
    /// The executor of smol, with as many threads as CPUs
    #[value(name = "async-executor")]
    #[serde(rename = "async-executor")]
    Smol,
}

/// What `--spawn` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interface {
    /// The executor's own function
    Native,
    /// The trait Spawn of `futures`
    Spawn,
    /// The trait SpawnHandle of `async_executors`
    SpawnHandle,
    /// The trait LocalSpawn of `futures`
    LocalSpawn,
    /// The trait LocalSpawnHandle of `async_executors`
    LocalSpawnHandle,
}

impl Executor {
    /// The interfaces that tasks can be spawned by on this executor; the first
    /// is its own.
    pub fn interfaces(self) -> &'static [Interface] {
        use Interface::{LocalSpawn, LocalSpawnHandle, Native, Spawn, SpawnHandle};
        match self {
            Self::LocalPool => &[LocalSpawn, LocalSpawnHandle],
            Self::ThreadPool => &[Spawn, SpawnHandle],
            Self::TokioCt => &[Native, LocalSpawn, LocalSpawnHandle],
            Self::TokioTp | Self::AsyncStd => &[Native, Spawn, SpawnHandle],
            Self::Smol => &[Native],
        }
    }
}

/// The interface that is asked for, or the executor's own.
///
/// # Errors
/// [`UsageError`] when the executor does not have it, with those that it has.
pub fn interface(executor: Executor, asked: Option<Interface>) -> Result<Interface, UsageError> {
    let offered = executor.interfaces();
    let interface = asked.unwrap_or(offered[0]);
    if offered.contains(&interface) {
        return Ok(interface);
    }
    let offered: Vec<_> = offered.iter().map(name).collect();
    Err(UsageError(format!(
        "--spawn {}: {} has no such interface; choose from {}",
        name(&interface),
        name(&executor),
        offered.join(", ")
    )))
}
