//! Reads the limits of this machine. One that cannot be read is left out: it
//! may still bind, and then the kernel's own error is what the user sees.

use std::fs;
use std::str::FromStr;

use nix::sys::resource::{Resource as Rlimit, getrlimit, setrlimit};
use nix::unistd::geteuid;

use super::{Limit, Resource};
use crate::control_groups::{self, Allowance};
use crate::system_files::SystemFiles;

/// In version 1, no limit is written as a number near 2^63.
const NO_LIMIT: u64 = 1 << 62;

/// Every limit that a program here can meet, with what is in use already.
#[must_use]
pub fn in_force() -> Vec<Limit> {
    let mut limits = Vec::new();
    limits.extend(open_files());
    limits.extend(all_files());
    limits.extend(all_threads());
    limits.extend(user_threads());
    limits.extend(maps());
    limits.extend(available_memory());
    limits.extend(address_space());
    limits.extend(groups(&SystemFiles::live()));
    limits
}

fn number<T: FromStr>(path: &str) -> Option<T> {
    fs::read_to_string(path).ok()?.split_whitespace().next()?.parse().ok()
}

fn open_files() -> Option<Limit> {
    let (_, hard) = getrlimit(Rlimit::RLIMIT_NOFILE).ok()?;
    // The limit is one of numbers: an inherited descriptor beyond it takes no
    // place. Reading the folder holds one more descriptor.
    let numbers = fs::read_dir("/proc/self/fd").ok()?.flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
    let in_use = numbers.filter(|&number| number < hard).count() as u64 - 1;
    Some(Limit {
        resource: Resource::Files,
        name: "the hard file limit (RLIMIT_NOFILE)".into(),
        value: hard,
        in_use,
        raise: Some("sudo prlimit --pid $$ --nofile={}:{}".into()),
    })
}

/// Raises the soft file limit to the hard one. Failing is not an error here:
/// opening a file will say so.
pub(super) fn raise_soft_file_limit() {
    if let Ok((_, hard)) = getrlimit(Rlimit::RLIMIT_NOFILE) {
        let _ = setrlimit(Rlimit::RLIMIT_NOFILE, hard, hard);
    }
}

fn all_files() -> Option<Limit> {
    Some(Limit {
        resource: Resource::Files,
        name: "the machine's file limit (fs.file-max)".into(),
        value: number("/proc/sys/fs/file-max")?,
        in_use: number("/proc/sys/fs/file-nr")?,
        raise: Some("sudo sysctl fs.file-max={}".into()),
    })
}

/// `kernel.threads-max` and `kernel.pid_max` count the same threads: those of
/// the whole machine.
fn all_threads() -> Vec<Limit> {
    let in_use = fs::read_to_string("/proc/loadavg").ok().and_then(|text| threads_of_all(&text));
    ["threads-max", "pid_max"]
        .into_iter()
        .filter_map(|name| {
            Some(Limit {
                resource: Resource::Threads,
                name: format!("kernel.{name}"),
                value: number(&format!("/proc/sys/kernel/{name}"))?,
                in_use: in_use?,
                raise: Some(format!("sudo sysctl kernel.{name}={{}}")),
            })
        })
        .collect()
}

/// The second number of `0.00 0.01 0.05 2/345 6789`.
fn threads_of_all(loadavg: &str) -> Option<u64> {
    let (_, all) = loadavg.split_whitespace().nth(3)?.split_once('/')?;
    all.parse().ok()
}

/// `RLIMIT_NPROC` counts the user's threads, and does not bind root.
fn user_threads() -> Option<Limit> {
    let (_, hard) = getrlimit(Rlimit::RLIMIT_NPROC).ok()?;
    if geteuid().is_root() || hard >= NO_LIMIT {
        return None;
    }
    let user = geteuid().as_raw();
    let in_use = procfs::process::all_processes()
        .ok()?
        .flatten()
        .filter_map(|process| process.status().ok())
        .filter(|status| status.ruid == user)
        .map(|status| status.threads)
        .sum();
    Some(Limit {
        resource: Resource::Threads,
        name: "the user's thread limit (RLIMIT_NPROC)".into(),
        value: hard,
        in_use,
        raise: Some("sudo prlimit --pid $$ --nproc={}:{}".into()),
    })
}

fn maps() -> Option<Limit> {
    let in_use = fs::read_to_string("/proc/self/maps").ok()?.lines().count() as u64;
    Some(Limit {
        resource: Resource::Maps,
        name: "vm.max_map_count".into(),
        value: number("/proc/sys/vm/max_map_count")?,
        in_use,
        raise: Some("sudo sysctl vm.max_map_count={}".into()),
    })
}

fn available_memory() -> Option<Limit> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(Limit {
        resource: Resource::Memory,
        name: "available memory (MemAvailable)".into(),
        value: kib << 10,
        in_use: 0,
        raise: None,
    })
}

fn address_space() -> Option<Limit> {
    let (soft, _) = getrlimit(Rlimit::RLIMIT_AS).ok()?;
    let pages: u64 = number("/proc/self/statm")?;
    (soft < NO_LIMIT).then(|| Limit {
        resource: Resource::AddressSpace,
        name: "the address space limit (RLIMIT_AS)".into(),
        value: soft,
        in_use: pages * procfs::page_size(),
        raise: Some("ulimit -v unlimited".into()),
    })
}

fn groups(files: &SystemFiles) -> Vec<Limit> {
    let mut limits = Vec::new();
    for group in control_groups::of_process(files, "pids") {
        if let Some(Allowance::AtMost(most)) = group.most_threads(files) {
            let in_use = group.threads(files).unwrap_or(0);
            limits.push(of_group(Resource::Threads, &group.path("pids.max"), most, in_use));
        }
    }
    for group in control_groups::of_process(files, "memory") {
        if let Some(Allowance::AtMost(most)) = group.most_memory_bytes(files) {
            let held = group.memory_bytes(files).unwrap_or(0);
            let in_use = held.saturating_sub(group.droppable_bytes(files));
            let file = group.path(group.memory_limit_file());
            limits.push(of_group(Resource::Memory, &file, most, in_use));
        }
    }
    limits
}

fn of_group(resource: Resource, file: &str, value: u64, in_use: u64) -> Limit {
    Limit {
        resource,
        raise: Some(format!("echo {{}} | sudo tee /{file}")),
        name: format!("the control group's /{file}"),
        value,
        in_use,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_average_tells_how_many_threads_there_are() {
        assert_eq!(threads_of_all("0.00 0.01 0.05 2/345 6789\n"), Some(345));
        assert_eq!(threads_of_all("0.00 0.01"), None);
    }

    #[test]
    fn raising_the_soft_file_limit_reaches_the_hard_one() {
        raise_soft_file_limit();
        let (soft, hard) = getrlimit(Rlimit::RLIMIT_NOFILE).expect("a limit");
        assert_eq!(soft, hard);
    }
}
