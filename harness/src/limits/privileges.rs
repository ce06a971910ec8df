//! What this process may do that limits make an exception for.

use crate::system_files::{SystemFiles, field};

/// Makes an exception for control of the machine (`CAP_SYS_ADMIN`).
pub(super) const ADMIN: Capability = Capability(21);
/// May exceed resource limits (`CAP_SYS_RESOURCE`).
pub(super) const RESOURCE: Capability = Capability(24);
/// May lock memory (`CAP_IPC_LOCK`).
pub(super) const LOCK: Capability = Capability(14);

/// A capability, by its number in `linux/capability.h`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capability(u32);

/// Who this process is to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Privileges {
    /// The real user, as this namespace numbers them.
    pub user: u64,
    /// The same user in the namespace around this one.
    user_outside: u64,
    effective: u64,
    in_first_namespace: bool,
}

impl Privileges {
    /// Reads them for this process; none where the kernel does not tell.
    pub(super) fn read(files: &SystemFiles) -> Self {
        let status = files.text("proc/self/status").unwrap_or_default();
        let map = files.text("proc/self/uid_map").unwrap_or_default();
        let user = real_user(&status).unwrap_or(u64::MAX);
        let effective = field(&status, "CapEff").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        Self {
            user,
            user_outside: outside(&map, user),
            effective: effective.unwrap_or(0),
            in_first_namespace: is_first(&map),
        }
    }

    /// Whether it has a capability over the whole machine: one inside a user
    /// namespace is none for the machine's limits.
    pub(super) fn has(self, Capability(number): Capability) -> bool {
        self.in_first_namespace && self.effective & (1 << number) != 0
    }

    /// Whether its real user is the machine's root.
    pub(super) fn is_root(self) -> bool {
        self.user_outside == 0
    }
}

/// Whether this process may raise its hard resource limits, as `prlimit` under
/// `sudo` usually may. In many containers not even root may.
pub fn may_raise_hard_limits(files: &SystemFiles) -> bool {
    Privileges::read(files).has(RESOURCE)
}

/// The real user of a process, from its `status`.
pub(super) fn real_user(status: &str) -> Option<u64> {
    field(status, "Uid")?.split_whitespace().next()?.parse().ok()
}

/// The lines of `uid_map`: first number inside, first outside, how many.
fn ranges(map: &str) -> impl Iterator<Item = (u64, u64, u64)> {
    map.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u64>);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?))
    })
}

/// The first namespace maps every number to itself.
fn is_first(map: &str) -> bool {
    ranges(map).eq([(0, 0, u64::from(u32::MAX))])
}

fn outside(map: &str, user: u64) -> u64 {
    let mapped = ranges(map).find_map(|(inside, outside, count)| {
        user.checked_sub(inside).filter(|offset| *offset < count).map(|offset| outside + offset)
    });
    mapped.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn privileges(status: &str, map: &str) -> Privileges {
        let files =
            SystemFiles::made_up(&[("proc/self/status", status), ("proc/self/uid_map", map)]);
        Privileges::read(&files)
    }

    const FIRST: &str = "         0          0 4294967295\n";

    #[test]
    fn root_of_the_machine_is_told_from_root_of_a_namespace() {
        let status = "Uid:\t0\t0\t0\t0\nCapEff:\t000001fffeffffff\n";
        let root = privileges(status, FIRST);
        assert!(root.is_root() && root.has(ADMIN) && root.has(LOCK) && !root.has(RESOURCE));
        let boxed = privileges(status, "0 100000 65536\n");
        assert!(!boxed.is_root() && !boxed.has(ADMIN));
        let user = privileges("Uid:\t7\t7\t7\t7\nCapEff:\t0000000000000000\n", FIRST);
        assert!(!user.is_root() && !user.has(LOCK) && user.user == 7);
    }

    #[test]
    fn who_cannot_be_told_has_no_privilege() {
        let nobody = privileges("", "");
        assert!(!nobody.is_root() && !nobody.has(ADMIN));
    }
}
