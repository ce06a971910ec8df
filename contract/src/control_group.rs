//! A control group for one test: a limit on one group, and a group inside it
//! in which a program is started.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use harness::control_groups::{self, Group, Version};
use harness::system_files::SystemFiles;

/// Where the trees of groups are mounted, by custom.
const MOUNT: &str = "/sys/fs/cgroup";

/// A group and one inside it. Both are removed with this.
#[derive(Debug)]
pub struct ControlGroup {
    outer: PathBuf,
    version: Version,
}

impl ControlGroup {
    /// A group inside this process's own that holds no more than `most`
    /// threads.
    ///
    /// # Errors
    /// Why this process may not make one.
    pub fn with_most_threads(most: u64) -> Result<Self, String> {
        let group = Self::of("pids")?;
        let file = group.limit_file();
        fs::write(&file, most.to_string())
            .map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(group)
    }

    /// A group inside this process's own that is charged with the memory of its
    /// processes alone.
    ///
    /// # Errors
    /// Why this process may not make one.
    pub fn of_memory() -> Result<Self, String> {
        let group = Self::of("memory")?;
        group.memory_bytes().ok_or("its memory is not counted")?;
        Ok(group)
    }

    fn of(controller: &str) -> Result<Self, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let own = control_groups::of_process(&SystemFiles::live(), controller);
        let own = own.into_iter().next().ok_or("this process is in no control group")?;
        let name = format!("contract-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let outer = Path::new("/").join(own.folder).join(name);
        let group = Self { outer, version: own.version };
        let inner = group.inner();
        fs::create_dir_all(&inner).map_err(|error| format!("{}: {error}", inner.display()))?;
        Ok(group)
    }

    /// What the group's processes are charged with, user and kernel memory
    /// together, in bytes.
    pub fn memory_bytes(&self) -> Option<u64> {
        let folder = self.inner().to_str()?.trim_start_matches('/').to_owned();
        Group { folder, version: self.version }.memory_bytes(&SystemFiles::live())
    }

    fn inner(&self) -> PathBuf {
        self.outer.join("inner")
    }

    /// The file with the limit.
    pub fn limit_file(&self) -> PathBuf {
        self.outer.join("pids.max")
    }

    /// The script of a shell that enters the inner group and becomes `"$@"`.
    pub fn entering(&self) -> String {
        format!(r#"echo $$ > {}/cgroup.procs && exec "$@""#, self.inner().display())
    }

    /// As [`Self::entering`], but the trees of groups are not mounted where
    /// `"$@"` looks for them: it cannot read the limit that it meets.
    pub fn entering_unseen(&self) -> String {
        let hide = format!("umount --recursive --lazy {MOUNT}");
        let enter = format!("exec 3> {}/cgroup.procs", self.inner().display());
        let script = format!(r#"{enter} && {{ {hide}; }} && echo $$ >&3 && exec "$@" 3>&-"#);
        format!(r#"exec unshare --mount sh -c '{script}' sh "$@""#)
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // Both fail when the group was never made.
        let _ = fs::remove_dir(self.inner());
        let _ = fs::remove_dir(&self.outer);
    }
}
