//! The limits of control groups: every ancestor's, in both trees.

use std::path::{Path, PathBuf};

/// One control group's `FILE.max`-like limit and its current count.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GroupLimit {
    pub file: PathBuf,
    pub value: u64,
    pub in_use: u64,
}

/// The groups that the process is in, from its own up to the root of each
/// tree, as folders of the mounted file systems. `controller` names the tree
/// in version 1; `cgroup` is `/proc/self/cgroup`, `mounts` is
/// `/proc/self/mountinfo`.
pub(super) fn ancestors(controller: &str, cgroup: &str, mounts: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in cgroup.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let unified = controllers.is_empty();
        if !unified && !controllers.split(',').any(|name| name == controller) {
            continue;
        }
        let Some((root, mount)) = mount_of(unified, controller, mounts) else { continue };
        let Ok(inside) = Path::new(path).strip_prefix(root) else { continue };
        folders.extend(inside.ancestors().map(|group| Path::new(mount).join(group)));
    }
    folders
}

/// The root and the mount point of version 2's tree, or of the version 1 tree
/// of `controller`.
fn mount_of<'a>(unified: bool, controller: &str, mounts: &'a str) -> Option<(&'a str, &'a str)> {
    mounts.lines().find_map(|line| {
        let (mount, source) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let places = (mount.next()?, mount.next()?);
        let mut source = source.split(' ');
        let (kind, options) = (source.next()?, source.nth(1)?);
        let fits = match kind {
            "cgroup2" => unified,
            "cgroup" => !unified && options.split(',').any(|name| name == controller),
            _ => false,
        };
        fits.then_some(places)
    })
}

/// Reads the limit and the count of each of `groups` that has one. The files'
/// names differ between the two versions, so several pairs are tried.
pub(super) fn limits(groups: &[PathBuf], files: &[(&str, &str)]) -> Vec<GroupLimit> {
    let number =
        |path: &Path| -> Option<u64> { std::fs::read_to_string(path).ok()?.trim().parse().ok() };
    groups
        .iter()
        .flat_map(|group| files.iter().map(move |(max, current)| (group, max, current)))
        .filter_map(|(group, max, current)| {
            // "max" is no number, which is what no limit should be.
            let file = group.join(max);
            let value = number(&file)?;
            Some(GroupLimit { value, in_use: number(&group.join(current)).unwrap_or(0), file })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
31 22 0:26 / /sys/fs/cgroup rw shared:9 - tmpfs tmpfs rw,mode=755
32 31 0:27 / /sys/fs/cgroup/pids rw,relatime shared:10 - cgroup cgroup rw,pids
33 31 0:28 /box /sys/fs/cgroup/memory rw shared:11 - cgroup cgroup rw,memory
34 31 0:29 / /sys/fs/cgroup/unified rw shared:12 - cgroup2 cgroup2 rw
";

    fn paths(controller: &str, cgroup: &str) -> Vec<String> {
        let folders = ancestors(controller, cgroup, MOUNTS);
        folders.iter().map(|path| path.to_str().expect("text").to_owned()).collect()
    }

    #[test]
    fn every_ancestor_of_both_trees_is_found() {
        assert_eq!(
            paths("pids", "8:pids:/a/b\n4:memory:/x\n0::/u\n"),
            [
                "/sys/fs/cgroup/pids/a/b",
                "/sys/fs/cgroup/pids/a",
                "/sys/fs/cgroup/pids/",
                "/sys/fs/cgroup/unified/u",
                "/sys/fs/cgroup/unified/",
            ]
        );
    }

    #[test]
    fn a_mount_of_part_of_the_tree_is_followed() {
        assert_eq!(
            paths("memory", "4:memory:/box/job\n"),
            ["/sys/fs/cgroup/memory/job", "/sys/fs/cgroup/memory/"]
        );
        assert!(paths("memory", "4:memory:/elsewhere\n").is_empty());
    }

    #[test]
    fn nonsense_is_no_group() {
        assert!(paths("pids", "what\n::\n8:pids\n").is_empty());
    }

    #[test]
    fn max_is_no_limit_and_a_number_is_one() {
        let tree = tempfile::tempdir().expect("a folder");
        let child = tree.path().join("child");
        std::fs::create_dir(&child).expect("a folder");
        std::fs::write(tree.path().join("pids.max"), "max\n").expect("a file");
        std::fs::write(child.join("pids.max"), "200\n").expect("a file");
        std::fs::write(child.join("pids.current"), "7\n").expect("a file");
        let found =
            limits(&[child.clone(), tree.path().to_owned()], &[("pids.max", "pids.current")]);
        assert_eq!(found, [GroupLimit { file: child.join("pids.max"), value: 200, in_use: 7 }]);
    }
}
