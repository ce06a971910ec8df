//! The kernel's text files, below `/` or simulated. Code that reads limits,
//! control groups or a machine's description uses [`SystemFiles`], so tests can
//! simulate any machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage};
use nix::unistd::{SysconfVar, sysconf};

use crate::anonymous;

/// The longest kernel text to record, in characters.
const LONGEST_RECORDED: usize = 200;

/// The kernel's files. Paths are relative to the root: `proc/self/status`.
#[derive(Clone, Debug)]
pub enum SystemFiles {
    /// The files below this folder.
    Below(PathBuf),
    /// Only these contents, by path.
    Simulated(BTreeMap<String, String>),
}

impl SystemFiles {
    /// The files of the running system.
    pub fn live() -> Self {
        Self::Below("/".into())
    }

    /// A simulated system with only these files, each a path and its content.
    pub fn simulated<S: ToString>(files: &[(S, S)]) -> Self {
        let file = |(path, text): &(S, S)| (path.to_string(), text.to_string());
        Self::Simulated(files.iter().map(file).collect())
    }

    /// Whether these are the files of the running system.
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Below(root) if root == Path::new("/"))
    }

    /// The whole content of the file at `path`; `None` if it is missing or
    /// unreadable.
    pub fn text(&self, path: &str) -> Option<String> {
        match self {
            Self::Below(root) => fs::read_to_string(root.join(path)).ok(),
            Self::Simulated(files) => files.get(path).cloned(),
        }
    }

    /// Whether there is a file at `path`, readable or not.
    pub fn contains(&self, path: &str) -> bool {
        match self {
            Self::Below(root) => root.join(path).exists(),
            Self::Simulated(files) => files.contains_key(path),
        }
    }

    /// Where a symbolic link points; a simulated one is a file.
    pub fn link(&self, path: &str) -> Option<String> {
        match self {
            Self::Below(root) => fs::read_link(root.join(path)).ok()?.to_str().map(str::to_owned),
            Self::Simulated(files) => files.get(path).cloned(),
        }
    }

    /// The content of a short file, made fit for a record; `None` if it is
    /// empty.
    pub fn line(&self, path: &str) -> Option<String> {
        self.text(path).map(|text| recordable(&text)).filter(|line| !line.is_empty())
    }

    /// The number at the start of a file; `None` without one.
    pub fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.split_whitespace().next()?.parse().ok()
    }

    /// The names in a directory, sorted; empty if there is no such directory.
    pub fn names(&self, path: &str) -> Vec<String> {
        let inside = |file: &String| {
            let rest = file.strip_prefix(path)?.strip_prefix('/')?;
            rest.split('/').next().map(str::to_owned)
        };
        let names: BTreeSet<String> = match self {
            Self::Below(root) => {
                let entries = fs::read_dir(root.join(path)).into_iter().flatten().flatten();
                entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
            }
            Self::Simulated(files) => files.keys().filter_map(inside).collect(),
        };
        names.into_iter().collect()
    }
}

/// Checks that `/proc` is mounted, the source of limits, counters and memory, and that this process
/// may read its counters.
///
/// # Errors
/// What is missing.
pub fn require_counters() -> anyhow::Result<()> {
    let there = Path::new("/proc/self/stat").exists();
    ensure!(there, "/proc is not mounted here: mount -t proc proc /proc");
    getrusage(UsageWho::RUSAGE_SELF).context("getrusage is denied: allow it in the filter")?;
    Ok(())
}

/// The smallest stack that the main thread here fits in, in bytes.
const SMALLEST_STACK: u64 = 512 * 1024;

/// Checks that the main thread's stack is large enough: on overflow the kernel kills silently.
///
/// # Errors
/// If it is not.
pub fn require_stack() -> anyhow::Result<()> {
    let (stack, _) = getrlimit(Resource::RLIMIT_STACK).context("reading RLIMIT_STACK")?;
    let [stack, needed] = [stack, SMALLEST_STACK].map(|bytes| bytes / 1024);
    ensure!(
        stack >= needed,
        "the stack may have only {stack} KiB but needs {needed}: ulimit -s {needed}"
    );
    Ok(())
}

/// Bytes per page, the unit of some files.
pub fn page_size() -> u64 {
    system_constant(SysconfVar::PAGE_SIZE)
}

/// A constant that every kernel has, or the number of CPUs.
pub(crate) fn system_constant(which: SysconfVar) -> u64 {
    let value = sysconf(which).expect("it is known").expect("it is positive");
    value.unsigned_abs()
}

/// `text` without its line end, anonymous (see [`crate::anonymous`]), in printable ASCII only and bounded, so
/// that a machine's description cannot fill or garble a results folder.
pub fn recordable(text: &str) -> String {
    anonymous::text(text.trim())
        .chars()
        .filter(|c| matches!(c, ' '..='~'))
        .take(LONGEST_RECORDED)
        .collect()
}

/// The value, in bytes, of a line such as `MemTotal:  16000 kB`.
pub fn kib_field(text: &str, name: &str) -> Option<u64> {
    let kib: u64 = field(text, name)?.strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The value of the first line `name: value`.
pub fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let meminfo = "MemTotal:       12345 kB\nMemFree:  1 kB\nHugePages_Total:  7\n";
        assert_eq!(kib_field(meminfo, "MemTotal"), Some(12_345 * 1024));
        assert_eq!(kib_field(meminfo, "Mem"), None);
        assert_eq!(kib_field(meminfo, "HugePages_Total"), None, "no unit, not KiB");
        assert_eq!(kib_field("MemTotal: 99999999999999999999 kB", "MemTotal"), None);
        assert_eq!(field("model name\t: Some CPU\n", "model name"), Some("Some CPU"));
    }
}
