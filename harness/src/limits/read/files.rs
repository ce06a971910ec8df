//! Limits of open files.

use nix::sys::resource::{Resource as Rlimit, getrlimit, setrlimit};

use super::super::privileges::{ADMIN, Privileges};
use super::super::{Limit, Resource};
use super::{of_setting, resource_limit};
use crate::system_files::SystemFiles;

pub(super) fn limits(files: &SystemFiles, privileges: Privileges) -> Vec<Limit> {
    let mut limits = Vec::new();
    limits.extend(ceiling(files));
    limits.extend(hard(files));
    limits.extend(soft(files));
    limits.extend(of_machine(files, privileges));
    limits
}

/// How many descriptors are open. The limits are ones of numbers: an inherited
/// descriptor beyond `limit` takes no place.
fn open_below(files: &SystemFiles, limit: u64) -> u64 {
    let numbers = files.names("proc/self/fd").into_iter();
    let open = numbers.filter(|name| name.parse::<u64>().is_ok_and(|number| number < limit));
    // Reading the folder holds one more descriptor.
    (open.count() as u64).saturating_sub(1)
}

/// What no process may exceed, whatever its own limit.
fn ceiling(files: &SystemFiles) -> Option<Limit> {
    let limit = of_setting(files, Resource::Files, "fs.nr_open", "fs.nr_open")?;
    let in_use = open_below(files, limit.value?);
    Some(limit.in_use(in_use))
}

fn hard(files: &SystemFiles) -> Option<Limit> {
    let hard = resource_limit(files, "Max open files")?.hard;
    let name = "the hard file limit (RLIMIT_NOFILE)";
    let limit = Limit::new(Resource::Files, name, "RLIMIT_NOFILE (hard)", hard);
    let limit = limit.in_use(open_below(files, hard.unwrap_or(u64::MAX)));
    Some(limit.raised_by("sudo prlimit --pid $$ --nofile={}:{}"))
}

fn soft(files: &SystemFiles) -> Option<Limit> {
    let soft = resource_limit(files, "Max open files")?.soft;
    let name = "the soft file limit (RLIMIT_NOFILE)";
    let limit = Limit::new(Resource::Files, name, "RLIMIT_NOFILE (soft)", soft);
    let limit = limit.in_use(open_below(files, soft.unwrap_or(u64::MAX)));
    Some(limit.exempt(Some("programs raise it to the hard one themselves")))
}

fn of_machine(files: &SystemFiles, privileges: Privileges) -> Option<Limit> {
    let name = "the machine's file limit (fs.file-max)";
    let limit = of_setting(files, Resource::Files, name, "fs.file-max")?;
    let exempt = privileges.has(ADMIN).then_some("who has CAP_SYS_ADMIN is exempt");
    Some(limit.in_use(files.number("proc/sys/fs/file-nr")?).exempt(exempt))
}

/// Raises the soft file limit to the hard one. Failing is not an error here:
/// opening a file will say so.
pub fn raise_soft_file_limit() {
    if let Ok((_, hard)) = getrlimit(Rlimit::RLIMIT_NOFILE) {
        let _ = setrlimit(Rlimit::RLIMIT_NOFILE, hard, hard);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{machine, values};
    use super::*;

    #[test]
    fn files_are_limited_by_number_by_process_and_by_machine() {
        let files = machine().with("proc/self/fd/0", "").with("proc/self/fd/1", "");
        // A descriptor that was inherited from a time with a higher limit.
        let files = files.with("proc/self/fd/2", "").with("proc/self/fd/30000", "");
        assert_eq!(
            values(&files, Resource::Files),
            [
                (Some(1_048_576), 3, false),
                (Some(20_000), 2, false),
                (Some(1024), 2, true),
                (Some(90_000), 700, false),
            ]
        );
    }

    #[test]
    fn the_machines_file_limit_does_not_bind_its_administrator() {
        let files =
            machine().with("proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t0000000000200000\n");
        assert_eq!(values(&files, Resource::Files)[3], (Some(90_000), 700, true));
    }

    #[test]
    fn raising_the_soft_file_limit_reaches_the_hard_one() {
        raise_soft_file_limit();
        let (soft, hard) = getrlimit(Rlimit::RLIMIT_NOFILE).expect("a limit");
        assert_eq!(soft, hard);
    }
}
