//! Which cases can run on this machine.

use anyhow::Context;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::manifest::Case;

/// A case that cannot run here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The case's name.
    pub case: String,
    /// Why, in one line.
    pub reason: String,
}

/// How many CPUs this process, and so its children, may use.
///
/// # Errors
/// When the kernel does not tell.
pub fn cpus() -> anyhow::Result<usize> {
    let mask = sched_getaffinity(Pid::this()).context("reading which CPUs may be used")?;
    Ok((0..CpuSet::count()).filter(|&cpu| mask.is_set(cpu).unwrap_or(false)).count())
}

/// Why a case cannot run where `cpus` CPUs may be used, if it cannot.
#[must_use]
pub fn obstacle(case: &Case, cpus: usize) -> Option<String> {
    (cpus < case.needs_cpus)
        .then(|| format!("it needs {} CPUs, and this process may use {cpus}", case.needs_cpus))
}

/// Divides cases into those that can run on `cpus` CPUs and those that cannot.
#[must_use]
pub fn divide(cases: Vec<&Case>, cpus: usize) -> (Vec<&Case>, Vec<Skipped>) {
    let (possible, impossible): (Vec<_>, Vec<_>) =
        cases.into_iter().partition(|case| obstacle(case, cpus).is_none());
    let skipped = impossible.into_iter().filter_map(|case| {
        Some(Skipped { case: case.name.clone(), reason: obstacle(case, cpus)? })
    });
    (possible, skipped.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Placement;

    fn needing(needs_cpus: usize) -> Case {
        Case {
            name: format!("needs-{needs_cpus}"),
            program: "fake".to_owned(),
            placement: Placement::Free,
            flags: Vec::new(),
            profiles: ["default".to_owned()].into(),
            timeout_seconds: 1,
            needs_cpus,
            may_block_more: false,
        }
    }

    #[test]
    fn a_case_that_needs_more_cpus_is_skipped_with_the_reason() {
        let (one, two) = (needing(1), needing(2));
        let (possible, skipped) = divide(vec![&one, &two], 1);
        assert_eq!(possible.iter().map(|case| &case.name).collect::<Vec<_>>(), ["needs-1"]);
        let reason = "it needs 2 CPUs, and this process may use 1".to_owned();
        assert_eq!(skipped, [Skipped { case: "needs-2".to_owned(), reason }]);
        assert_eq!(divide(vec![&one, &two], 2).1, []);
    }

    #[test]
    fn this_process_may_use_a_cpu() {
        assert!(cpus().unwrap() >= 1);
    }
}
