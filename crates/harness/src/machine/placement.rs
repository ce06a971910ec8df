//! Placement: which CPUs the tasks run on.

use std::collections::BTreeSet;
use std::io;

use anyhow::{Context as _, bail, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::failure::UsageError;
use crate::machine::cpu_kinds::{kinds, of_one_kind};
use crate::machine::cpus::{self, CpuList};
use crate::machine::system_files::SystemFiles;
use crate::record::CpuUse;

/// Values of `--placement`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Leave it to the kernel, within the inherited mask
    #[default]
    Free,
    /// Every task on one CPU, the first of the list
    SameCpu,
    /// Neighbours on different CPUs, of one kind without --cpus, so that hops cross; the last hop of
    /// a lap does not if the number of CPUs divides that of tasks. With several workers, one worker
    /// per CPU
    Spread,
}

/// A policy and its CPUs.
#[derive(Clone, Debug)]
pub struct Placement {
    /// The policy.
    pub policy: Policy,
    /// The CPUs that tasks may run on.
    pub cpus: Vec<usize>,
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
        let mut chosen = list.map_or(&allowed, |list| &list.0).clone();
        if let Some(cpu) = chosen.iter().find(|cpu| !allowed.contains(cpu)) {
            bail!(UsageError(format!(
                "--cpus: CPU {cpu} is not available to this process, which may use CPUs {}",
                CpuList(allowed)
            )));
        }
        if policy == Policy::SameCpu {
            chosen.truncate(1);
        }
        if policy == Policy::Spread && list.is_none() {
            chosen = of_one_kind(&chosen, &kinds(&SystemFiles::live()));
        }
        if policy == Policy::Spread && chosen.len() < 2 {
            bail!(UsageError(format!(
                "--placement spread needs two CPUs or more, but this process may use only CPU {}: \
                 widen --cpus or the mask given by taskset",
                CpuList(chosen)
            )));
        }
        if policy != Policy::Free || list.is_some() {
            cpus::confine(&chosen).context("confining the process to its CPUs")?;
        }
        Ok(Self { policy, cpus: chosen })
    }

    /// Checks that threads might run on the chosen CPUs, and on no others, before the measured laps
    /// and after them, and that they did. Under `spread` each has one of them.
    ///
    /// # Errors
    /// What changed.
    pub fn verify(&self, found: &CpuUse) -> anyhow::Result<()> {
        let CpuUse { allowed_before, allowed_after, ran_on, .. } = found;
        let chosen = BTreeSet::from_iter(&self.cpus);
        let is_spread = self.policy == Policy::Spread;
        let is_within = |cpus: &[usize]| cpus.iter().all(|cpu| chosen.contains(cpu));
        let is_all = |cpus: &[usize]| is_spread || BTreeSet::from_iter(cpus) == chosen;
        let is_lost = allowed_before.iter().any(|cpu| !allowed_after.contains(cpu));
        ensure!(
            is_all(allowed_before) && is_all(allowed_after) && !is_lost && is_within(allowed_after),
            "the CPUs that it may use changed: {:?} were chosen, {allowed_before:?} were allowed \
             before the laps and {allowed_after:?} after them",
            self.cpus
        );
        ensure!(is_within(ran_on), "its threads ran on CPUs {ran_on:?}, but may use {chosen:?}");
        Ok(())
    }

    /// Under `spread`, pins the calling thread to the CPU of `seat`; otherwise
    /// does nothing. Seats are numbered round the brigade: the driver has 0,
    /// task i has i + 1, and neighbours get different CPUs, except that the last
    /// task shares the driver's if the number of CPUs divides that of tasks.
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
