//! The machine and the software behind a run's figures: `environment.json`, a flat object of facts,
//! such as `"kernel.preemption": "dynamic"`.
//!
//! People share results folders, so nothing here names a host, a user, an address or a path.
//! Unknown facts are absent.

use std::collections::{BTreeMap, HashMap};

use harness::cpus::CpuList;
use harness::record::Distance;
use serde::{Deserialize, Serialize};

/// Version of [`Environment`]'s schema, `major.minor`.
pub const SCHEMA_VERSION: &str = "1.0";

/// The contents of `environment.json`: read once, before the first case of a
/// run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Environment {
    /// Schema version of this object, `major.minor`.
    pub schema_version: String,
    /// Facts by name; the parts of a name are joined by dots. Units are in the names.
    #[serde(flatten)]
    pub facts: BTreeMap<String, String>,
}

impl Default for Environment {
    fn default() -> Self {
        Self { schema_version: SCHEMA_VERSION.to_owned(), facts: BTreeMap::new() }
    }
}

impl Environment {
    /// A fact.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.facts.get(name).map(String::as_str)
    }

    /// A fact that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// The facts whose names begin with `prefix`, by the rest of the name.
    pub fn below(&self, prefix: &str) -> impl Iterator<Item = (&str, &str)> {
        let from = self.facts.range(prefix.to_owned()..);
        from.map_while(move |(name, value)| Some((name.strip_prefix(prefix)?, value.as_str())))
    }

    /// Adds a fact, if it is known.
    pub fn set(&mut self, name: impl Into<String>, value: Option<impl ToString>) {
        self.facts.extend(value.map(|value| (name.into(), value.to_string())));
    }
}

/// The most CPUs of a machine: as many as a [`CpuList`] can contain.
const MOST: usize = 8192;

/// The position of a CPU. Cores, caches and nodes are numbered in the order of their first CPUs;
/// `null` if the kernel does not report one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuPlace {
    /// The kernel's number of the CPU.
    pub cpu: usize,
    /// Its NUMA node.
    pub node: Option<usize>,
    /// Its last-level cache.
    pub cache: Option<usize>,
    /// Its core.
    pub core: Option<usize>,
}

impl CpuPlace {
    /// The distance between two CPUs; `None` if the kernel does not report it, or they are the
    /// same.
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
        let is_one_node = is_one(self.node, other.node)?;
        Some(if is_one_node { Distance::SameNode } else { Distance::OtherNode })
    }
}

impl Environment {
    /// The CPUs that the process may use, ordered so that near ones are neighbours.
    pub fn places(&self) -> Vec<CpuPlace> {
        let list = |text: &str| text.trim().parse::<CpuList>().ok();
        let allowed = self.get("topology.allowed").and_then(list);
        let [nodes, caches, cores] = ["nodes", "caches", "cores"]
            .map(|of| indices(self.get(&format!("topology.{of}")).unwrap_or_default()));
        let place = |cpu: usize| CpuPlace {
            cpu,
            node: nodes.get(&cpu).copied(),
            cache: caches.get(&cpu).copied(),
            core: cores.get(&cpu).copied(),
        };
        let allowed = allowed.iter().flat_map(|list| list.numbers());
        let mut places: Vec<CpuPlace> = allowed.map(|cpu| place(*cpu)).collect();
        places.sort_by_key(|of| (of.node, of.cache, of.core, of.cpu));
        places
    }
}

/// The index of each CPU's list, with lists in the order of their first CPUs. A CPU is in one list
/// only, which bounds the work on a stranger's folder.
fn indices(lists: &str) -> HashMap<usize, usize> {
    let lists = lists.split(';').filter_map(|list| list.trim().parse::<CpuList>().ok());
    let mut count = 0;
    let mut sets: Vec<CpuList> = lists
        .take_while(|list| {
            count += list.numbers().len();
            count <= MOST
        })
        .collect();
    sets.sort_by_key(|set| set.numbers().iter().copied().min());
    let numbered = sets.iter().enumerate();
    numbered.flat_map(|(index, set)| set.numbers().iter().map(move |cpu| (*cpu, index))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixtures::{sixty_four_cpus, topology};

    #[test]
    fn cpus_are_ordered_by_neighbourhood() {
        // Two nodes; a cache for two cores; siblings whose numbers are four apart.
        let eight = topology("0-7", "1,5;0,4;2,6;3,7", "0-1,4-5;2-3,6-7", "0-1,4-5;2-3,6-7");
        let places = eight.places();
        let cpus: Vec<usize> = places.iter().map(|place| place.cpu).collect();
        assert_eq!(cpus, [0, 4, 1, 5, 2, 6, 3, 7]);
        let last = CpuPlace { cpu: 7, node: Some(1), cache: Some(1), core: Some(3) };
        assert_eq!(places[7], last);
        let distance = |of: &Environment| {
            let places = of.places();
            places[0].distance(places.last().unwrap())
        };
        assert_eq!(distance(&eight), Some(Distance::OtherNode));
        for unknown in ["topology.nodes", "topology.caches", "topology.cores"] {
            let mut less = eight.clone();
            less.facts.remove(unknown);
            assert_eq!(distance(&less), None, "{unknown}");
        }
        assert!(topology("nonsense", "0", "0", "0").places().is_empty());
    }

    #[test]
    fn distances_are_those_of_the_nearest_shared_part() {
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
    fn endless_lists_are_read_in_bounded_time() {
        assert_eq!(indices(&"0-8191;".repeat(100_000)).len(), 8192);
    }
}
