//! The limits that bound how many tasks fit. The smallest one binds; here
//! they are written down, not judged.

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};

use crate::store::environment::{Bound, CgroupLimits, Limits, SoftHard, Unlimited};
use harness::system_files::SystemFiles;

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
