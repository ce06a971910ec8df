//! The limits that bound how many tasks fit. The smallest one binds; here
//! they are written down, not judged.

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use serde::{Deserialize, Serialize};

use super::cgroup::CgroupLimits;
use harness::system_files::SystemFiles;

/// The limits on this process and on the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Limits {
    /// Open files of a process (`RLIMIT_NOFILE`), a count.
    pub open_files: Option<SoftHard>,
    /// Processes and threads of the user (`RLIMIT_NPROC`), a count.
    pub user_processes: Option<SoftHard>,
    /// Locked memory of a process (`RLIMIT_MEMLOCK`), in bytes.
    pub locked_memory_bytes: Option<SoftHard>,
    /// Threads of the machine (`kernel.threads-max`), a count.
    pub machine_threads: Option<u64>,
    /// Process numbers of the machine (`kernel.pid_max`), a count.
    pub machine_pids: Option<u64>,
    /// Memory maps of a process (`vm.max_map_count`), a count.
    pub memory_maps: Option<u64>,
    /// Limits of the control groups that this process is in.
    pub cgroup: CgroupLimits,
}

/// A resource limit in its two forms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SoftHard {
    /// In force; the process may raise it itself.
    pub soft: Bound,
    /// As far as the soft limit may be raised without privilege.
    pub hard: Bound,
}

/// How much of something there may be: a number in the unit that the field
/// gives, or the word `unlimited`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Bound {
    /// At most this much.
    AtMost(u64),
    /// No limit is set.
    No(Unlimited),
}

/// The word that stands where a number would.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Unlimited {
    /// No limit is set.
    Unlimited,
}

impl Bound {
    /// No limit is set.
    pub const UNLIMITED: Self = Self::No(Unlimited::Unlimited);

    fn of_resource(value: u64) -> Self {
        if value == RLIM_INFINITY { Self::UNLIMITED } else { Self::AtMost(value) }
    }
}

impl Limits {
    /// Reads the limits that hold for this process.
    pub(super) fn read(files: &SystemFiles) -> Self {
        Self {
            open_files: resource(Resource::RLIMIT_NOFILE),
            user_processes: resource(Resource::RLIMIT_NPROC),
            locked_memory_bytes: resource(Resource::RLIMIT_MEMLOCK),
            machine_threads: files.number("proc/sys/kernel/threads-max"),
            machine_pids: files.number("proc/sys/kernel/pid_max"),
            memory_maps: files.number("proc/sys/vm/max_map_count"),
            cgroup: CgroupLimits::read(files),
        }
    }
}

fn resource(resource: Resource) -> Option<SoftHard> {
    let (soft, hard) = getrlimit(resource).ok()?;
    Some(SoftHard { soft: Bound::of_resource(soft), hard: Bound::of_resource(hard) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_a_number_or_a_word() {
        let json = |bound: Bound| serde_json::to_string(&bound).expect("serializes");
        assert_eq!(json(Bound::of_resource(1024)), "1024");
        assert_eq!(json(Bound::of_resource(RLIM_INFINITY)), "\"unlimited\"");
        assert_eq!(serde_json::from_str::<Bound>("7").expect("parses"), Bound::AtMost(7));
        assert!(serde_json::from_str::<Bound>("\"some\"").is_err());
    }

    #[test]
    fn a_number_binds_before_no_limit() {
        assert!(Bound::AtMost(u64::MAX) < Bound::UNLIMITED);
        assert!(Bound::AtMost(1) < Bound::AtMost(2));
    }
}
