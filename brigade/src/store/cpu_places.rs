//! Where the CPUs of a run lie in the machine, and how far two of them are apart.

use std::collections::HashMap;

use harness::cpus::CpuList;
use harness::record::Distance;
use serde::{Deserialize, Serialize};

use crate::store::environment::Sharing;

/// The most CPUs of a machine: as many as a [`CpuList`] may name.
const MOST: usize = 8192;

/// Where a CPU lies. Cores, caches and nodes are numbered in the order of their first
/// CPUs; `null` is one that the kernel does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuPlace {
    /// The kernel's number of the CPU.
    pub cpu: usize,
    /// Its NUMA node.
    pub node: Option<usize>,
    /// Its cache of the last level.
    pub cache: Option<usize>,
    /// Its core.
    pub core: Option<usize>,
}

impl CpuPlace {
    /// How far the CPUs are apart; `None` where the kernel does not tell, or they are
    /// one.
    pub fn distance(&self, other: &Self) -> Option<Distance> {
        let is_one = |here: Option<usize>, there: Option<usize>| Some(here? == there?);
        if self.cpu == other.cpu {
            return None;
        }
        if is_one(self.core, other.core)? {
            return Some(Distance::SmtSibling);
        }
        if is_one(self.cache, other.cache)? {
            return Some(Distance::SharedCache);
        }
        Some(match is_one(self.node, other.node)? {
            true => Distance::SameNode,
            false => Distance::OtherNode,
        })
    }
}

impl Sharing {
    /// Where the CPUs lie that the process may run on, those that are near one another
    /// side by side.
    pub fn places(&self) -> Vec<CpuPlace> {
        let allowed = self.allowed.trim().parse::<CpuList>();
        let allowed = allowed.map_or(Vec::new(), |list| list.numbers().to_vec());
        let [nodes, caches, cores] = [&self.nodes, &self.caches, &self.cores].map(|of| indices(of));
        let place = |cpu: usize| CpuPlace {
            cpu,
            node: nodes.get(&cpu).copied(),
            cache: caches.get(&cpu).copied(),
            core: cores.get(&cpu).copied(),
        };
        let mut places: Vec<CpuPlace> = allowed.into_iter().map(place).collect();
        places.sort_by_key(|of| (of.node, of.cache, of.core, of.cpu));
        places
    }
}

/// The index of the list that has each CPU, when the lists stand in the order of their
/// first CPUs. A CPU is in one of them, so that no folder makes this long.
fn indices(lists: &[String]) -> HashMap<usize, usize> {
    let lists = lists.iter().filter_map(|list| list.trim().parse::<CpuList>().ok());
    let mut sets: Vec<Vec<usize>> = Vec::new();
    let mut count = 0;
    for list in lists {
        count += list.numbers().len();
        if count > MOST {
            break;
        }
        sets.push(list.numbers().to_vec());
    }
    sets.sort_by_key(|set| set.iter().copied().min());
    let numbered = sets.into_iter().enumerate();
    numbered.flat_map(|(index, set)| set.into_iter().map(move |cpu| (cpu, index))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sample::sixty_four_cpus;

    fn lists(lists: &[&str]) -> Vec<String> {
        lists.iter().map(|list| (*list).to_owned()).collect()
    }

    /// Two nodes; a cache for two cores; siblings whose numbers are four apart.
    fn eight() -> Sharing {
        Sharing {
            allowed: "0-7".to_owned(),
            cores: lists(&["1,5", "0,4", "2,6", "3,7"]),
            caches: lists(&["0-1,4-5", "2-3,6-7"]),
            nodes: lists(&["0-1,4-5", "2-3,6-7"]),
        }
    }

    #[test]
    fn neighbours_stand_side_by_side() {
        let places = eight().places();
        let cpus: Vec<usize> = places.iter().map(|place| place.cpu).collect();
        assert_eq!(cpus, [0, 4, 1, 5, 2, 6, 3, 7]);
        let last = CpuPlace { cpu: 7, node: Some(1), cache: Some(1), core: Some(3) };
        assert_eq!(places[7], last);
    }

    #[test]
    fn distances_are_those_of_the_nearest_thing_that_is_shared() {
        let places = sixty_four_cpus().places();
        let place = |cpu| places.iter().find(|place| place.cpu == cpu).unwrap();
        for (cpu, expected) in [
            (0, None),
            (32, Some(Distance::SmtSibling)),
            (7, Some(Distance::SharedCache)),
            (39, Some(Distance::SharedCache)),
            (8, Some(Distance::SameNode)),
            (16, Some(Distance::OtherNode)),
            (63, Some(Distance::OtherNode)),
        ] {
            assert_eq!(place(0).distance(place(cpu)), expected, "CPU {cpu}");
            assert_eq!(place(cpu).distance(place(0)), expected, "CPU {cpu}");
        }
    }

    #[test]
    fn what_is_not_told_is_not_guessed() {
        let without = |change: fn(&mut Sharing)| {
            let mut sharing = eight();
            change(&mut sharing);
            let places = sharing.places();
            places[0].distance(places.last().unwrap())
        };
        assert_eq!(without(|_| ()), Some(Distance::OtherNode));
        assert_eq!(without(|of| of.nodes.clear()), None);
        assert_eq!(without(|of| of.caches.clear()), None);
        assert_eq!(without(|of| of.cores.clear()), None);
        assert!(Sharing { allowed: "nonsense".to_owned(), ..eight() }.places().is_empty());
    }

    #[test]
    fn lists_without_end_are_read_to_an_end() {
        let endless = vec!["0-8191".to_owned(); 100_000];
        assert_eq!(indices(&endless).len(), 8192);
    }
}
