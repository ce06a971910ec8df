//! Times of an operation between pairs of CPUs, as tables.

use super::page::{Block, Table};
use super::quantity::{Unit, estimated_duration, letter};
use crate::judge::report::model::{Distance, DistanceTime, PairMap, PairTime, Report};

/// Steps of equal ratio from the shortest time to the longest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    low: f64,
    high: f64,
    count: usize,
}

impl Steps {
    /// The most steps.
    pub const MOST: usize = 8;

    /// The steps for these pairs; `None` without a time.
    pub fn of(pairs: &[PairTime]) -> Option<Self> {
        let times = || pairs.iter().map(|pair| pair.time_ns.value).filter(|ns| *ns > 0.0);
        let (low, high) = (times().reduce(f64::min)?, times().reduce(f64::max)?);
        Some(Self { low, high, count: if high > low { Self::MOST } else { 1 } })
    }

    /// The number of steps.
    pub fn count(self) -> usize {
        self.count
    }

    /// The step of a time.
    pub fn step(self, ns: f64) -> usize {
        let share = (ns / self.low).ln() / (self.high / self.low).ln();
        ((share * self.count as f64).max(0.0) as usize).min(self.count - 1)
    }

    /// The longest time of a step, in nanoseconds.
    pub fn end(self, step: usize) -> f64 {
        self.low * (self.high / self.low).powf((step + 1) as f64 / self.count as f64)
    }
}

/// A distance in words.
pub fn words(distance: Option<Distance>) -> &'static str {
    match distance {
        Some(Distance::SmtSibling) => "one core",
        Some(Distance::SharedCache) => "a shared cache",
        Some(Distance::SameNode) => "one NUMA node",
        Some(Distance::OtherNode) => "two NUMA nodes",
        None => "not known",
    }
}

/// The maps of a group.
pub fn of_group<'a>(report: &'a Report, group: &'a str) -> impl Iterator<Item = &'a PairMap> {
    report.pairs.iter().filter(move |map| map.group == group)
}

/// The title of a map; with several runs, it includes the run.
pub fn name(report: &Report, map: &PairMap) -> String {
    match report.runs.len() {
        1 => map.name.clone(),
        _ => format!("{}: {}", letter(map.run), map.name),
    }
}

/// A group's pairs by distance; the page also has a map.
pub fn blocks(report: &Report, group: &str) -> Vec<Block> {
    let table = distances(report, group);
    if table.is_empty() { Vec::new() } else { vec![Block::Table(table)] }
}

/// A group's pairs by distance.
fn distances(report: &Report, group: &str) -> Table {
    let mut table = Table::of("CPUs that share||time [95 %]|>pairs|>fastest|>slowest");
    for map in of_group(report, group) {
        for (index, of) in map.distances.iter().enumerate() {
            let DistanceTime { distance, pairs, time_ns, range_ns } = of;
            let unit = Unit::of(time_ns.value);
            table.push(vec![
                if index == 0 { name(report, map) } else { String::new() },
                words(*distance).to_owned(),
                estimated_duration(time_ns),
                pairs.to_string(),
                unit.show(range_ns[0]),
                unit.show(range_ns[1]),
            ]);
        }
    }
    table
}

/// The positions of a pair's CPUs in a map, the later one first.
pub fn places(map: &PairMap, pair: &PairTime) -> Option<[usize; 2]> {
    let place = |cpu: usize| map.cpus.iter().position(|of| of.cpu == cpu);
    let [first, second] = pair.cpus.map(place);
    let (first, second) = (first?, second?);
    Some([first.max(second), first.min(second)])
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::sixty_four;
    use super::*;

    #[test]
    fn many_cpus_have_a_table_by_distance_only() {
        let report = sixty_four();
        let [Block::Table(table)] = &blocks(&report, "cores")[..] else { panic!("one table") };
        let column =
            |at: usize| -> Vec<&str> { table.rows().iter().map(|row| &*row[at]).collect() };
        assert_eq!(column(1), ["one core", "a shared cache", "one NUMA node", "two NUMA nodes"]);
        assert_eq!(column(3), ["32", "152", "52", "88"]);
        assert_eq!((column(4)[3], column(5)[3]), ("149", "196"));
    }

    #[test]
    fn steps_have_equal_ratios_and_include_both_ends() {
        let pair = |ns: f64| PairTime {
            case: String::new(),
            cpus: [0, 1],
            distance: None,
            time_ns: crate::judge::statistics::Estimate::of(&[ns]).unwrap(),
        };
        let steps = Steps::of(&[pair(1.0), pair(256.0)]).unwrap();
        assert_eq!(steps.count(), 8);
        for (ns, step) in [(1.0, 0), (1.9, 0), (2.1, 1), (130.0, 7), (256.0, 7)] {
            assert_eq!(steps.step(ns), step, "{ns}");
        }
        assert!((steps.end(0) - 2.0).abs() < 1e-9 && (steps.end(7) - 256.0).abs() < 1e-9);
        let one = Steps::of(&[pair(5.0)]).unwrap();
        assert_eq!((one.count(), one.step(5.0)), (1, 0));
        assert_eq!(Steps::of(&[]), None);
    }
}
