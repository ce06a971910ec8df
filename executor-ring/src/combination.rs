//! Which executors there are, and by which interfaces each can be spawned on.

use clap::ValueEnum;
use harness::failure::UsageError;

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

/// An executor and an interface that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combination {
    /// What runs the tasks.
    pub executor: Executor,
    /// How they are spawned.
    pub interface: Interface,
}

impl Combination {
    /// The same executor with its own interface.
    pub fn own(self) -> Self {
        Self { interface: self.executor.interfaces()[0], ..self }
    }

    /// Says that there is no such combination, and which there are.
    pub fn absence(self) -> String {
        let offered: Vec<_> = self.executor.interfaces().iter().map(name).collect();
        format!(
            "--spawn {}: {} has no such interface; choose from {}",
            name(&self.interface),
            name(&self.executor),
            offered.join(", ")
        )
    }
}

/// The combinations that exist of what is asked for.
///
/// # Errors
/// [`UsageError`] when none does.
pub fn chosen(
    executor: Option<Executor>,
    interface: Option<Interface>,
) -> Result<Vec<Combination>, UsageError> {
    let executors = Executor::value_variants().iter().copied();
    let combinations: Vec<_> = executors
        .filter(|found| executor.is_none_or(|executor| executor == *found))
        .flat_map(|executor| {
            executor.interfaces().iter().map(move |&interface| Combination { executor, interface })
        })
        .filter(|found| interface.is_none_or(|interface| interface == found.interface))
        .collect();
    match (executor, interface) {
        (Some(executor), Some(interface)) if combinations.is_empty() => {
            Err(UsageError(Combination { executor, interface }.absence()))
        }
        _ => Ok(combinations),
    }
}

/// The name on the command line.
pub fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().expect("no value is hidden").get_name().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_choice_every_combination_is_chosen() {
        let all = chosen(None, None).expect("some");
        assert_eq!(all.len(), 14);
        assert_eq!(all.iter().filter(|found| **found == found.own()).count(), 6);
    }

    #[test]
    fn what_does_not_exist_is_refused_with_what_does() {
        let error = chosen(Some(Executor::Smol), Some(Interface::Spawn)).expect_err("none");
        let expected = "--spawn spawn: async-executor has no such interface; choose from native";
        assert_eq!(error.to_string(), expected);
    }
}
