//! Placement: which CPUs the tasks run on.

use std::io;

use anyhow::Context as _;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::cpus::{self, CpuList};
use crate::failure::UsageError;
use crate::record::Distance;
use crate::system_files::SystemFiles;

/// Values of `--placement`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Leave it to the kernel, within the inherited mask
    #[default]
    Free,
    /// Every task on one CPU, the first of the list
    SameCpu,
    /// Neighbours on different CPUs, so that every hop crosses; with several
    /// workers, one worker per CPU
    Spread,
}

/// A policy and its CPUs.
#[derive(Clone, Debug)]
pub struct Placement {
    policy: Policy,
    cpus: Vec<usize>,
}

impl Placement {
    /// Checks the flags against the CPUs that this process may use, and
    /// confines the calling thread and its future children to the chosen ones.
    ///
    /// # Errors
    /// [`UsageError`] if `--cpus` names an unavailable CPU, or `spread` has
    /// fewer than two; otherwise the kernel's.
    pub fn apply(policy: Policy, list: Option<&CpuList>) -> anyhow::Result<Self> {
        let allowed = cpus::allowed().context("reading the CPUs that this process may use")?;
        let placement = Self::resolve(policy, list, allowed)?;
        if policy != Policy::Free || list.is_some() {
            cpus::confine(&placement.cpus).context("confining the process to its CPUs")?;
        }
        Ok(placement)
    }

    fn resolve(
        policy: Policy,
        list: Option<&CpuList>,
        allowed: Vec<usize>,
    ) -> Result<Self, UsageError> {
        let mut chosen = list.map_or_else(|| allowed.clone(), |list| list.numbers().to_vec());
        if let Some(cpu) = chosen.iter().find(|cpu| !allowed.contains(cpu)) {
            return Err(UsageError(format!(
                "--cpus: CPU {cpu} is not available to this process, which may use CPUs {}",
                CpuList::of(allowed)
            )));
        }
        if policy == Policy::SameCpu {
            chosen.truncate(1);
        }
        if policy == Policy::Spread && chosen.len() < 2 {
            return Err(UsageError(format!(
                "--placement spread needs two CPUs or more, but this process may use only CPU {}: \
                 widen --cpus or the mask given by taskset",
                CpuList::of(chosen)
            )));
        }
        Ok(Self { policy, cpus: chosen })
    }

    /// The policy.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// The CPUs that tasks may run on.
    pub fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// Under `spread`, the distance from each seat's CPU to the next one's, once round the CPUs;
    /// `None` if the kernel does not report it.
    pub fn neighbours(&self) -> Option<Vec<Distance>> {
        let spread = self.policy == Policy::Spread;
        spread.then(|| round(&SystemFiles::live(), &self.cpus)).flatten()
    }

    /// Under `spread`, pins the calling thread to the CPU of `seat`; otherwise
    /// does nothing. Seats are numbered round the brigade: the driver has 0,
    /// task i has i + 1, and neighbours get different CPUs.
    ///
    /// # Errors
    /// The kernel's, if the CPU is no longer available.
    pub fn pin(&self, seat: usize) -> io::Result<()> {
        if self.policy == Policy::Spread {
            cpus::confine(&[self.cpus[seat % self.cpus.len()]])?;
        }
        Ok(())
    }
}

const CPUS: &str = "sys/devices/system/cpu";
const NODES: &str = "sys/devices/system/node";

/// The distance from each of `cpus` to the next one, and from the last one to
/// the first; `None` if the kernel does not report one of them.
pub(crate) fn round(files: &SystemFiles, cpus: &[usize]) -> Option<Vec<Distance>> {
    let next = cpus.iter().cycle().skip(1);
    cpus.iter().zip(next).map(|(here, there)| between(files, *here, *there)).collect()
}

fn between(files: &SystemFiles, here: usize, there: usize) -> Option<Distance> {
    let cpu = format!("{CPUS}/cpu{here}");
    let list = |path: String| files.text(&path)?.trim().parse::<CpuList>().ok();
    let core = |name| list(format!("{cpu}/topology/{name}"));
    let cache = |index: &String| list(format!("{cpu}/cache/{index}/shared_cpu_list"));
    let node = |node: &String| list(format!("{NODES}/{node}/cpulist"));
    // The second name is for kernels before 5.3.
    let cores = core("core_cpus_list").or_else(|| core("thread_siblings_list"));
    let caches = files.names(&format!("{cpu}/cache"));
    let nodes = files.names(NODES);
    let nodes = nodes.iter().filter_map(node).filter(|node| node.numbers().contains(&here));
    for (sets, distance) in [
        (cores.into_iter().collect::<Vec<_>>(), Distance::SmtSibling),
        (caches.iter().filter_map(cache).collect(), Distance::SharedCache),
        (nodes.collect(), Distance::SameNode),
    ] {
        if sets.is_empty() {
            return None;
        }
        if sets.iter().any(|set| set.numbers().contains(&there)) {
            return Some(distance);
        }
    }
    Some(Distance::OtherNode)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes of two caches of two cores each. The siblings' numbers are
    /// eight apart, as usual on x86.
    fn machine() -> SystemFiles {
        let mut files = SystemFiles::simulated(&[]);
        for cpu in 0..16 {
            let (core, cache, node) = (cpu % 8, cpu % 8 / 2 * 2, cpu % 8 / 4);
            let folder = format!("sys/devices/system/cpu/cpu{cpu}");
            let siblings = format!("{core},{}\n", core + 8);
            let sharers = format!("{cache}-{},{}-{}\n", cache + 1, cache + 8, cache + 9);
            let cpus =
                format!("{}-{},{}-{}\n", node * 4, node * 4 + 3, node * 4 + 8, node * 4 + 11);
            files = files
                .with(&format!("{folder}/topology/core_cpus_list"), &siblings)
                .with(&format!("{folder}/cache/index0/shared_cpu_list"), &siblings)
                .with(&format!("{folder}/cache/index3/shared_cpu_list"), &sharers)
                .with(&format!("{folder}/cache/uevent"), "")
                .with(&format!("sys/devices/system/node/node{node}/cpulist"), &cpus);
        }
        files.with("sys/devices/system/node/online", "0-1\n")
    }

    #[test]
    fn distances_follow_the_topology_and_not_the_numbers() {
        let cpus = [0, 8, 1, 2, 4];
        let expected = [
            Distance::SmtSibling,
            Distance::SharedCache,
            Distance::SameNode,
            Distance::OtherNode,
            Distance::OtherNode,
        ];
        assert_eq!(round(&machine(), &cpus), Some(expected.to_vec()));
    }

    #[test]
    fn unreported_distances_are_not_guessed() {
        assert_eq!(round(&SystemFiles::simulated(&[]), &[0, 1]), None);
    }
}
