//! A run's folder, written during the run and read back, and the figures of recorded machines that
//! this binary contains: `results/machines.json`, whose `about` explains it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

pub mod consistency;
mod lines;
pub mod neighbours;
mod older;
pub mod results;
pub mod warnings;

/// The recorded machines.
pub static RECORDED: LazyLock<Machines> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../machines.json")).expect("a test reads it")
});

/// What is used of `results/machines.json`.
#[derive(Debug, Deserialize)]
pub struct Machines {
    /// The machines, one for each build.
    pub machines: Vec<Machine>,
    /// Percentiles 0 to 100 of how far the figures of two runs of one build differ: the logarithm of
    /// their ratio, divided by its standard error in the first.
    pub scaled: Vec<f64>,
}

/// A recorded machine.
#[derive(Debug, Deserialize)]
pub struct Machine {
    /// Its kind.
    pub label: String,
    /// Its figures by case.
    pub cases: BTreeMap<String, Figure>,
}

/// The median of a case over the runs of a machine.
#[derive(Debug, Deserialize)]
pub struct Figure {
    /// In nanoseconds or bytes.
    pub figure: f64,
}
