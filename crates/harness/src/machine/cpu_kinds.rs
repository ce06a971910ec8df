//! Kinds of CPUs in one machine, such as fast and economical cores.

use std::collections::BTreeMap;

use crate::machine::cpus::{CpuList, listed};
use crate::machine::system_files::SystemFiles;

/// The kernel's folder of CPUs.
const CPUS: &str = "sys/devices/system/cpu";

/// Some CPUs of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name: that of x86's counters, such as `core` and `atom`, or `capacity` and its number.
    pub name: String,
    /// Its CPUs.
    pub cpus: Vec<usize>,
}

/// The kinds of the online CPUs, as far as the kernel reports them; none if they are all alike.
pub fn kinds(files: &SystemFiles) -> Vec<Kind> {
    let mut found = by_counters(files);
    if found.len() < 2 {
        found = by_capacity(files);
    }
    if found.len() < 2 { Vec::new() } else { found }
}

/// On x86, each kind of CPU has its own counters.
fn by_counters(files: &SystemFiles) -> Vec<Kind> {
    let names = files.names("sys/devices").into_iter();
    let kinds = names.filter_map(|folder| {
        let name = folder.strip_prefix("cpu_")?.to_owned();
        let cpus = listed(&files.text(&format!("sys/devices/{folder}/cpus"))?);
        Some(Kind { name, cpus })
    });
    kinds.filter(|kind| !kind.cpus.is_empty()).collect()
}

/// Elsewhere, the kernel knows how much a CPU can do compared with the fastest one, which has 1024.
/// The fastest kind comes first.
fn by_capacity(files: &SystemFiles) -> Vec<Kind> {
    let mut kinds = BTreeMap::<u64, Vec<usize>>::new();
    for cpu in listed(&files.text(&format!("{CPUS}/online")).unwrap_or_default()) {
        let Some(capacity) = files.number(&format!("{CPUS}/cpu{cpu}/cpu_capacity")) else {
            // If one is unknown, none can be compared.
            return Vec::new();
        };
        kinds.entry(capacity).or_default().push(cpu);
    }
    let kind = |(capacity, cpus)| Kind { name: format!("capacity {capacity}"), cpus };
    kinds.into_iter().rev().map(kind).collect()
}

/// The kinds in words: `core 0,1; atom 2,3`. `None` if all CPUs are alike.
pub fn text(kinds: &[Kind]) -> Option<String> {
    let one = |Kind { name, cpus }: &Kind| format!("{name} {}", CpuList(cpus.clone()));
    let text = kinds.iter().map(one).collect::<Vec<_>>().join("; ");
    Some(text).filter(|text| !text.is_empty())
}

/// The CPUs of one kind among these: the first CPU's kind, or else the first kind of which there are
/// two. All CPUs if no kind has two.
pub(crate) fn of_one_kind(cpus: &[usize], kinds: &[Kind]) -> Vec<usize> {
    let is_of_first = |kind: &&Kind| cpus.first().is_some_and(|first| kind.cpus.contains(first));
    let first = kinds.iter().find(is_of_first);
    let others = first.into_iter().chain(kinds).map(|kind| {
        let of_kind = cpus.iter().filter(|cpu| kind.cpus.contains(cpu));
        of_kind.copied().collect::<Vec<_>>()
    });
    others.into_iter().find(|cpus| cpus.len() >= 2).unwrap_or_else(|| cpus.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: [&str; 4] = [
        "sys/devices/system/cpu/cpu0/cpu_capacity",
        "sys/devices/system/cpu/cpu1/cpu_capacity",
        "sys/devices/system/cpu/cpu2/cpu_capacity",
        "sys/devices/system/cpu/cpu3/cpu_capacity",
    ];

    fn found(files: &[(&str, &str)]) -> Vec<Kind> {
        kinds(&SystemFiles::simulated(files))
    }

    fn of_capacity(values: [&str; 4]) -> Vec<Kind> {
        let capacities = CAPACITY.into_iter().zip(values);
        found(&capacities.chain([("sys/devices/system/cpu/online", "0-3\n")]).collect::<Vec<_>>())
    }

    #[test]
    fn kinds_are_found_by_counters_or_capacity() {
        let hybrid = [
            ("sys/devices/cpu_core/cpus", "0-1\n"),
            ("sys/devices/cpu_atom/cpus", "2-3\n"),
            ("sys/devices/cpu/type", "4\n"),
        ];
        assert_eq!(text(&found(&hybrid)).as_deref(), Some("atom 2,3; core 0,1"));
        assert_eq!(found(&hybrid[..1]), [], "all alike");
        let arm = of_capacity(["446", "446", "1024", "1024"]);
        assert_eq!(text(&arm).as_deref(), Some("capacity 1024 2,3; capacity 446 0,1"));
        assert_eq!(of_capacity(["1024"; 4]), []);
        assert_eq!(of_capacity(["446", "", "1024", "1024"]), [], "one is unknown");
        assert_eq!(text(&[]), None);
    }

    #[test]
    fn one_kind_is_that_of_the_first_cpu_if_it_has_two() {
        let kinds = of_capacity(["446", "446", "1024", "1024"]);
        for (cpus, expected) in [
            (&[0, 1, 2, 3][..], &[0, 1][..]),
            (&[2, 0, 1, 3], &[2, 3]),
            (&[0, 2, 3], &[2, 3]),
            (&[0, 2], &[0, 2]),
            (&[1], &[1]),
        ] {
            assert_eq!(of_one_kind(cpus, &kinds), expected);
        }
        assert_eq!(of_one_kind(&[0, 1, 2, 3], &[]), [0, 1, 2, 3]);
    }
}
