//! The figures of recorded machines that this binary contains: `results/machines.json`, whose
//! `about` explains it.

use std::sync::LazyLock;

use serde::Deserialize;

/// The recorded machines.
pub static RECORDED: LazyLock<Machines> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../machines.json")).expect("a test reads it")
});

/// What is used of `results/machines.json`.
#[derive(Debug, Deserialize)]
pub struct Machines {
    /// Percentiles 0 to 100 of how far the figures of two runs of one build differ: the logarithm of
    /// their ratio, divided by its standard error in the first.
    pub scaled: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_machines_are_read() {
        assert!(RECORDED.scaled.len() == 101 && RECORDED.scaled.is_sorted());
    }
}
