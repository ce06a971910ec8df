//! A control group for one test: a limit on one group, and a group inside it
//! in which a program is started.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Where the trees are mounted, as every distribution mounts them.
const MOUNT: &str = "/sys/fs/cgroup";

/// A group with a limit and an unlimited one inside it. Both are removed with
/// this.
#[derive(Debug)]
pub struct ControlGroup {
    outer: PathBuf,
}

impl ControlGroup {
    /// A group inside this process's own that holds no more than `most`
    /// threads.
    ///
    /// # Errors
    /// Why this process may not make one.
    pub fn with_most_threads(most: u64) -> Result<Self, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let parent = own_group()?;
        let name = format!("contract-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let group = Self { outer: parent.join(name) };
        let inner = group.inner();
        fs::create_dir_all(&inner).map_err(|error| format!("{}: {error}", inner.display()))?;
        let file = group.limit_file();
        fs::write(&file, most.to_string())
            .map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(group)
    }

    fn inner(&self) -> PathBuf {
        self.outer.join("inner")
    }

    /// The file with the limit.
    #[must_use]
    pub fn limit_file(&self) -> PathBuf {
        self.outer.join("pids.max")
    }

    /// The script of a shell that enters the inner group and becomes `"$@"`.
    #[must_use]
    pub fn entering(&self) -> String {
        format!(r#"echo $$ > {}/cgroup.procs && exec "$@""#, self.inner().display())
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // Both fail when the group was never made.
        let _ = fs::remove_dir(self.inner());
        let _ = fs::remove_dir(&self.outer);
    }
}

/// This process's group in the tree that counts threads: version 1's `pids`,
/// or the one tree of version 2.
fn own_group() -> Result<PathBuf, String> {
    let groups = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
    let path_in = |tree: &str| {
        groups
            .lines()
            .find_map(|line| line.split_once(':')?.1.strip_prefix(tree)?.strip_prefix('/'))
    };
    let version_1 = path_in("pids:").map(|path| Path::new(MOUNT).join("pids").join(path));
    let version_2 = path_in(":").map(|path| Path::new(MOUNT).join(path));
    version_1.or(version_2).ok_or_else(|| "this process is in no control group".into())
}
