//! A control group for one test: a limit on one group, and a group inside it
//! in which a program is started.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use harness::control_groups::{self, Group, Version};
use harness::system_files::SystemFiles;

/// Where the trees of groups are mounted, by custom.
const MOUNT: &str = "/sys/fs/cgroup";

/// How often a group is tried to be removed: the kernel counts a process to its
/// group until it has let go of it.
const TRIES: u32 = 200;

/// Removes a group and the one inside it, once their last processes are gone.
fn remove(outer: &Path) {
    for group in [outer.join("inner"), outer.to_owned()] {
        for _ in 0..TRIES {
            match fs::remove_dir(&group) {
                Err(error) if error.kind() == ErrorKind::ResourceBusy => {
                    thread::sleep(Duration::from_millis(5));
                }
                // One that was never made is gone, too.
                _ => break,
            }
        }
    }
}

/// A group and one inside it. Both are removed with this.
#[derive(Debug)]
pub struct ControlGroup {
    outer: PathBuf,
    version: Version,
}

impl ControlGroup {
    /// A group inside this process's own that contains no more than `most`
    /// threads.
    ///
    /// # Errors
    /// Why this process may not make one.
    pub fn with_most_threads(most: u64) -> Result<Self, String> {
        let group = Self::of("pids")?;
        fs::write(group.limit_file(), most.to_string()).map_err(|error| error.to_string())?;
        Ok(group)
    }

    /// A group inside this process's own that is charged with the memory of its
    /// processes alone.
    ///
    /// # Errors
    /// Why this process may not make one.
    pub fn of_memory() -> Result<Self, String> {
        let group = Self::of("memory")?;
        let folder = group.inner().display().to_string().trim_start_matches('/').to_owned();
        let counted = Group { folder, version: group.version }.memory_bytes(&SystemFiles::live());
        counted.map(|_| group).ok_or_else(|| "its memory is not counted".into())
    }

    fn of(controller: &str) -> Result<Self, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let own = control_groups::of_process(&SystemFiles::live(), controller);
        let own = own.into_iter().next().ok_or("this process is in no control group")?;
        let name = format!("contract-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let own_folder = Path::new("/").join(own.folder);
        let group = Self { outer: own_folder.join(name), version: own.version };
        let inner = group.inner();
        fs::create_dir_all(&inner).map_err(|error| format!("{}: {error}", inner.display()))?;
        Ok(group)
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
        remove(&self.outer);
    }
}
