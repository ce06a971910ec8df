//! Limits of what the kernel counts for each user: buffers of pipes, watches
//! of epoll, and memory that rings of io_uring lock. How much of them other
//! processes of the user hold is told nowhere, so it is not subtracted.

use std::ptr;

use nix::errno::Errno;

use super::super::amounts::PAGES_PER_PIPE;
use super::super::privileges::{ADMIN, LOCK, Privileges, RESOURCE};
use super::super::{Limit, Resource};
use super::{of_setting, resource_limit, setting, setting_path};
use crate::system_files::SystemFiles;

/// Pages of a pipe of a user who is below the soft limit (`PIPE_DEF_BUFFERS`).
const PAGES_PER_FULL_PIPE: u64 = 16;

pub(super) fn limits(files: &SystemFiles, privileges: Privileges) -> Vec<Limit> {
    let mut limits = Vec::new();
    limits.extend(pipe_pages_soft(files, privileges));
    limits.extend(pipe_pages_hard(files, privileges));
    limits.extend(of_setting(
        files,
        Resource::EpollWatches,
        "the user's limit of epoll watches (fs.epoll.max_user_watches)",
        "fs.epoll.max_user_watches",
    ));
    limits.extend(locked_memory(files, privileges));
    limits.extend(rings(files, privileges));
    limits.extend(rings_denied(files.is_live().then(try_io_uring).and_then(Result::err)));
    limits
}

const PRIVILEGED: &str = "who has CAP_SYS_RESOURCE or CAP_SYS_ADMIN is exempt";

fn is_privileged(privileges: Privileges) -> bool {
    privileges.has(RESOURCE) || privileges.has(ADMIN)
}

/// Over the soft limit a user's new pipes are smaller: it refuses none.
fn pipe_pages_soft(files: &SystemFiles, privileges: Privileges) -> Option<Limit> {
    let name = "fs.pipe-user-pages-soft";
    let limit = of_setting(files, Resource::PipePages, name, name)?;
    let value = limit.value.filter(|pages| *pages > 0);
    let reason = if is_privileged(privileges) {
        PRIVILEGED
    } else {
        "beyond it a pipe gets 2 pages instead of 16, and is not refused"
    };
    Some(Limit { value, ..limit }.exempt(Some(reason)))
}

/// The hard limit refuses pipes; 0 is none. Pipes below the soft limit take 16
/// pages, and what these are more than two counts as in use: `alloc_pipe_info`
/// decides by the pages that the user has when a pipe is opened.
fn pipe_pages_hard(files: &SystemFiles, privileges: Privileges) -> Option<Limit> {
    let name = "fs.pipe-user-pages-hard";
    let hard = setting(files, name)?;
    let soft = setting(files, "fs.pipe-user-pages-soft")?;
    let in_full_pipes = if soft == 0 { hard } else { soft.min(hard) };
    let beyond_two = in_full_pipes / PAGES_PER_FULL_PIPE * (PAGES_PER_FULL_PIPE - PAGES_PER_PIPE);
    let source = format!("/{}", setting_path(name));
    let limit = Limit::new(Resource::PipePages, name, &source, Some(hard).filter(|h| *h > 0));
    let limit = limit.in_use(beyond_two).raised_by("sudo sysctl fs.pipe-user-pages-hard=0");
    Some(limit.exempt(is_privileged(privileges).then_some(PRIVILEGED)))
}

/// The memory of a ring was charged as locked before Linux 5.12, and is again
/// since 6.14 (`io_create_region`), for users without `CAP_IPC_LOCK`. It is
/// given back late: rings that have just been closed may still count.
fn locked_memory(files: &SystemFiles, privileges: Privileges) -> Option<Limit> {
    let soft = resource_limit(files, "Max locked memory")?.soft;
    let name = "the user's limit of locked memory (RLIMIT_MEMLOCK)";
    let limit = Limit::new(Resource::LockedMemory, name, "RLIMIT_MEMLOCK", soft);
    let exempt = if privileges.has(LOCK) {
        Some("who has CAP_IPC_LOCK is exempt")
    } else if version(files).is_some_and(|version| ((5, 12)..(6, 14)).contains(&version)) {
        Some("Linux 5.12 to 6.13 does not charge rings to it")
    } else {
        None
    };
    Some(limit.exempt(exempt).raised_by("sudo prlimit --pid $$ --memlock={}:{}"))
}

/// The kernel's version, major and minor.
fn version(files: &SystemFiles) -> Option<(u64, u64)> {
    let release = files.text("proc/sys/kernel/osrelease")?;
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// `kernel.io_uring_disabled` is 0 for nobody, 1 for those without privilege,
/// 2 for everybody: whom it does not forbid has no such limit. Kernels before
/// 6.6 do not have it.
fn rings(files: &SystemFiles, privileges: Privileges) -> Option<Limit> {
    let disabled = setting(files, "kernel.io_uring_disabled")?;
    let forbidden = disabled == 2 || (disabled == 1 && !privileges.has(ADMIN));
    let name = "what kernel.io_uring_disabled leaves";
    let source = "/proc/sys/kernel/io_uring_disabled";
    let limit = Limit::new(Resource::Rings, name, source, Some(0));
    forbidden.then(|| limit.raised_by("sudo sysctl kernel.io_uring_disabled=0"))
}

/// Whether the kernel lets this process make a ring: it is asked for one without
/// saying which, so that none is made.
fn try_io_uring() -> nix::Result<()> {
    // SAFETY: the kernel reads the parameters, which are missing, and writes
    // nothing.
    let result = unsafe { libc::syscall(libc::SYS_io_uring_setup, 0, ptr::null_mut::<u8>()) };
    match Errno::result(result) {
        Err(Errno::EFAULT | Errno::EINVAL) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

/// What no setting says: a kernel that is built without io_uring, or a filter
/// of system calls, as containers have it.
fn rings_denied(denied: Option<Errno>) -> Option<Limit> {
    let name = match denied? {
        Errno::ENOSYS => "what this kernel, or the container's filter of system calls, has",
        _ => "what the kernel or the container's filter of system calls permits",
    };
    Some(Limit::new(Resource::Rings, name, "io_uring_setup", Some(0)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{machine, values};
    use super::*;

    const ADMINISTRATOR: &str = "Uid:\t0\t0\t0\t0\nCapEff:\t0000000000204000\n";

    /// How many pipes the hard limit allows.
    fn pipes(soft: &str, hard: &str) -> u64 {
        let files = machine()
            .with("proc/sys/fs/pipe-user-pages-soft", soft)
            .with("proc/sys/fs/pipe-user-pages-hard", hard);
        let (value, in_use, exempt) = values(&files, Resource::PipePages)[1];
        assert!(!exempt);
        (value.expect("a limit") - in_use) / PAGES_PER_PIPE
    }

    #[test]
    fn pipes_beyond_the_soft_limit_take_two_pages() {
        assert_eq!(values(&machine(), Resource::PipePages)[1], (None, 0, false));
        assert_eq!(pipes("16384", "20480"), 1024 + (20_480 - 16_384) / 2);
        assert_eq!(pipes("16384", "8192"), 512);
        assert_eq!(pipes("0", "8192"), 512);
    }

    #[test]
    fn pages_of_pipes_do_not_bind_the_privileged() {
        let files = machine().with("proc/self/status", ADMINISTRATOR);
        assert!(values(&files, Resource::PipePages).iter().all(|(.., exempt)| *exempt));
    }

    #[test]
    fn rings_are_charged_as_locked_memory_by_some_kernels() {
        let exempt = |files: &SystemFiles| values(files, Resource::LockedMemory)[0].2;
        let of_release = |release| exempt(&machine().with("proc/sys/kernel/osrelease", release));
        assert!(!of_release("5.11.0"));
        assert!(of_release("5.12.0-rc1") && of_release("6.13.9-arch1"));
        assert!(!of_release("6.14.0") && !of_release("7.0"));
        assert!(exempt(&machine().with("proc/self/status", ADMINISTRATOR)));
    }

    #[test]
    fn io_uring_may_be_forbidden() {
        let rings = |disabled, status| {
            let files = machine().with("proc/sys/kernel/io_uring_disabled", disabled);
            values(&files.with("proc/self/status", status), Resource::Rings)
        };
        let user = "Uid:\t7\t7\t7\t7\nCapEff:\t0000000000000000\n";
        let none = [(Some(0), 0, false)];
        assert_eq!(rings("0", user), []);
        assert_eq!(rings("1", user), none);
        assert_eq!(rings("2", user), none);
        assert_eq!(rings("1", ADMINISTRATOR), []);
        assert_eq!(rings("2", ADMINISTRATOR), none);
    }

    #[test]
    fn io_uring_that_is_denied_holds_no_ring() {
        assert_eq!(rings_denied(None), None);
        for error in [Errno::ENOSYS, Errno::EPERM, Errno::EACCES] {
            let limit = rings_denied(Some(error)).expect("a limit");
            assert_eq!((limit.available(), limit.resource), (Some(0), Resource::Rings));
        }
    }
}
