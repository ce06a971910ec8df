//! The figures of a run among those of recorded machines of any kind.

use std::collections::BTreeMap;

use super::report::Report;
use super::row::Row;
use super::statistics::median;
use crate::manifest::{CostKind, Manifest};
use crate::store::Machines;

/// Figures that differ by less than this factor are alike: as much as those of two runs.
const ALIKE: f64 = 1.1;

/// The fewest recorded machines that rank a figure.
const FEWEST: usize = 3;

/// A figure among recorded ones.
#[derive(Debug)]
pub struct Rank<'a> {
    /// The figure.
    pub row: &'a Row,
    /// What it has in common with others on the first screen; empty if nothing.
    pub block: &'a str,
    /// The cost that this figure shows, if settings affect it.
    pub cost: Option<CostKind>,
    /// The figure divided by the median of recorded machines.
    pub ratio: f64,
    /// How many recorded machines have a clearly smaller figure: the lower end of this one's interval is
    /// beyond [`ALIKE`] times it.
    pub better: usize,
    /// How many recorded machines have one.
    pub known: usize,
}

impl Rank<'_> {
    /// Whether most recorded machines have a clearly smaller figure.
    pub fn is_slow(&self) -> bool {
        2 * self.better > self.known
    }
}

/// Figures by kind of machine: its builds count once.
type ByMachine<'a> = BTreeMap<&'a str, Vec<f64>>;

/// The rank of each figure of the first screen that recorded machines have.
pub fn ranks<'a>(manifest: &Manifest, recorded: &Machines, report: &'a Report) -> Vec<Rank<'a>> {
    let known = known(manifest, recorded);
    let mut ranks = Vec::new();
    for part in &report.screen {
        for block in &part.blocks {
            // The name of an only block says how the rows are measured.
            let name = if part.blocks.len() > 1 { &*block.name } else { "" };
            let row = |row: &'a Row| {
                let shows = |(_, cases): &(_, &Vec<String>)| cases.contains(&row.case);
                let cost = manifest.advice.iter().find(shows).map(|(cost, _)| *cost);
                rank(name, cost, row, known.get(&*row.case)?)
            };
            ranks.extend(block.rows.iter().filter_map(row));
        }
    }
    ranks
}

fn rank<'a>(
    block: &'a str,
    cost: Option<CostKind>,
    row: &'a Row,
    machines: &ByMachine,
) -> Option<Rank<'a>> {
    if machines.len() < FEWEST {
        return None;
    }
    let figure = row.figure?;
    let figures: Vec<f64> = machines.values().filter_map(|figures| median(figures)).collect();
    let low = figure.interval.map_or(figure.value, |ends| ends.low);
    let better = figures.iter().filter(|other| low > ALIKE * **other).count();
    let ratio = figure.value / median(&figures)?;
    Some(Rank { row, block, cost, ratio, better, known: machines.len() })
}

/// The recorded figures of each case of the manifest.
fn known<'a>(manifest: &'a Manifest, recorded: &'a Machines) -> BTreeMap<&'a str, ByMachine<'a>> {
    let mut known = BTreeMap::<&str, ByMachine>::new();
    for machine in &recorded.machines {
        for (name, measured) in &machine.cases {
            if let Ok(case) = manifest.case(name) {
                let machines = known.entry(&case.name).or_default();
                machines.entry(&machine.label).or_default().push(measured.figure);
            }
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::statistics::{Estimate, Interval};
    use crate::store::RECORDED;

    #[test]
    fn a_figure_above_those_of_most_recorded_machines_is_slow() {
        let manifest = Manifest::parse(include_str!("../../suite.toml")).unwrap();
        let known = known(&manifest, &RECORDED);
        let machines = &known["thread-brigade --placement same-cpu"];
        let medians: Vec<f64> = machines.values().filter_map(|figures| median(figures)).collect();
        assert!(medians.len() >= 3, "{machines:?}");
        let usual = median(&medians).unwrap();
        for (figure, is_slow) in [(1e9, true), (1.0, false), (usual, false)] {
            let row = Row { figure: Estimate::of(&[figure]), ..Row::default() };
            let found = rank("", None, &row, machines).unwrap();
            assert_eq!(found.is_slow(), is_slow, "{found:?}");
        }
        // Twice as slow as most, unless it is so uncertain that it may be as fast.
        for (low, is_slow) in [(1.9, true), (0.5, false)] {
            let interval = Some(Interval { low: low * usual, high: 4.0 * usual });
            let figure = Estimate { value: 2.0 * usual, interval, count: 9 };
            let row = Row { figure: Some(figure), ..Row::default() };
            let found = rank("", None, &row, machines).unwrap();
            assert_eq!(found.is_slow(), is_slow, "{found:?}");
            assert_eq!(found.better == 0, !is_slow, "{found:?}");
        }
    }
}
