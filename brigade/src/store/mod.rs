//! A run's folder, written during the run and read back, and the figures of recorded machines that
//! this binary contains: `results/machines.json`, whose `about` explains it.

use std::collections::{BTreeMap, BTreeSet};
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
    /// How far they differ in each case.
    pub repeat: BTreeMap<String, Spread>,
}

impl Machines {
    /// For each machine with several runs of one build, how many have a case in common with another.
    pub fn repeated(&self) -> Vec<usize> {
        self.machines.iter().map(Machine::repeated).filter(|runs| *runs > 1).collect()
    }
}

/// How far figures of two runs of one build on one machine differ: absolute logarithms of their
/// ratio.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Spread {
    pub median: f64,
    pub p90: f64,
    pub largest: f64,
}

impl Spread {
    /// The quantile at `probability`, on straight lines from 0 through the three known ones.
    pub fn quantile(self, probability: f64) -> f64 {
        let interpolated = |from: f64, to: f64, share: f64| from + (to - from) * share;
        match probability {
            ..=0.5 => interpolated(0.0, self.median, probability / 0.5),
            ..=0.9 => interpolated(self.median, self.p90, (probability - 0.5) / 0.4),
            _ => interpolated(self.p90, self.largest, (probability - 0.9) / 0.1),
        }
    }
}

/// A recorded machine.
#[derive(Debug, Deserialize)]
pub struct Machine {
    /// Its kind.
    pub label: String,
    /// Its figures by case.
    pub cases: BTreeMap<String, Figure>,
}

impl Machine {
    /// How many of its runs have a case in common with another one.
    fn repeated(&self) -> usize {
        let mut repeated = BTreeSet::new();
        for Figure { runs, .. } in self.cases.values() {
            let having: Vec<usize> = (0..runs.len()).filter(|run| runs[*run].is_some()).collect();
            if having.len() > 1 {
                repeated.extend(having);
            }
        }
        repeated.len()
    }
}

/// A case on a machine, in nanoseconds or bytes.
#[derive(Debug, Deserialize)]
pub struct Figure {
    /// The median over the runs.
    pub figure: f64,
    /// The figure of each run of the machine, `None` of one without the case.
    pub runs: Vec<Option<f64>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_without_a_common_case_are_not_repeated() {
        let machine = |runs: &[&[Option<f64>]]| {
            let figure = |runs: &&[Option<f64>]| Figure { figure: 1.0, runs: runs.to_vec() };
            let cases = runs.iter().map(figure).enumerate();
            let cases = cases.map(|(number, figure)| (number.to_string(), figure)).collect();
            Machine { label: String::new(), cases }
        };
        let (some, none) = (Some(1.0), None);
        let machines = vec![
            machine(&[&[some, some, none, none], &[none, none, some, none]]),
            machine(&[&[some, none], &[none, some]]),
            machine(&[&[some, some, none], &[none, some, some]]),
        ];
        let machines = Machines { machines, scaled: Vec::new(), repeat: BTreeMap::new() };
        assert_eq!(machines.repeated(), [2, 3]);
    }
}
