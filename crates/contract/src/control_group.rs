//! A control group for one test, and one inside it for a program.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use harness::control_groups;
use harness::system_files::SystemFiles;

/// A group inside this process's group, and one inside it. Both are removed on drop.
#[derive(Debug)]
pub struct ControlGroup {
    outer: PathBuf,
}

impl ControlGroup {
    /// A group limited to `most` threads.
    ///
    /// # Errors
    /// The reason why this process may not create one.
    pub fn with_most_threads(most: u64) -> Result<Self, String> {
        let group = Self::create("pids")?;
        fs::write(group.limit_file(), most.to_string()).map_err(|error| error.to_string())?;
        Ok(group)
    }

    /// A group limited to so many bytes of memory, without swap.
    ///
    /// # Errors
    /// The reason why this process may not create one.
    pub fn with_most_memory(bytes: u64) -> Result<Self, String> {
        let group = Self::create("memory")?;
        let set = |file: &str, bytes: u64| fs::write(group.outer.join(file), bytes.to_string());
        if set("memory.max", bytes).is_ok() {
            let _ = set("memory.swap.max", 0);
        } else {
            // In version 1 swap counts together with memory.
            set("memory.limit_in_bytes", bytes).map_err(|error| error.to_string())?;
            let _ = set("memory.memsw.limit_in_bytes", bytes);
        }
        Ok(group)
    }

    /// A group that is charged only with the memory of its processes.
    ///
    /// # Errors
    /// The reason why this process may not create one.
    pub fn of_memory() -> Result<Self, String> {
        let group = Self::create("memory")?;
        let folder = group.inner().display().to_string().trim_start_matches('/').to_owned();
        let counted = control_groups::ControlGroup { folder }.memory_bytes(&SystemFiles::live());
        counted.map(|_| group).ok_or_else(|| "its memory is not counted".into())
    }

    fn create(controller: &str) -> Result<Self, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let own = control_groups::of_process(&SystemFiles::live(), controller);
        let own = own.into_iter().next().ok_or("this process is in no control group")?;
        let name = format!("contract-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let outer = Path::new("/").join(own.folder).join(name);
        let group = Self { outer };
        fs::create_dir_all(group.inner()).map_err(|error| error.to_string())?;
        Ok(group)
    }

    fn inner(&self) -> PathBuf {
        self.outer.join("inner")
    }

    pub fn limit_file(&self) -> PathBuf {
        self.outer.join("pids.max")
    }

    /// A shell script that enters the inner group and executes `"$@"`.
    pub fn entering(&self) -> String {
        format!(r#"echo $$ > {}/cgroup.procs && exec "$@""#, self.inner().display())
    }

    /// A script like [`Self::entering`], in which `"$@"` cannot read the limit: the command `hide`
    /// hides groups from it.
    pub fn entering_unseen(&self, hide: &str) -> String {
        let enter = format!("exec 3> {}/cgroup.procs", self.inner().display());
        let script = format!(r#"{enter} && {{ {hide}; }} && echo $$ >&3 && exec "$@" 3>&-"#);
        format!(r#"exec unshare --mount sh -c '{script}' sh "$@""#)
    }
}

/// The command that hides all groups at their usual place.
pub const UNMOUNT: &str = "umount --recursive --lazy /sys/fs/cgroup";

impl Drop for ControlGroup {
    /// A process counts in its group until the kernel has released it.
    fn drop(&mut self) {
        for group in [self.inner(), self.outer.clone()] {
            let mut tries = 0..200;
            while group.exists() && fs::remove_dir(&group).is_err() && tries.next().is_some() {
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
}
