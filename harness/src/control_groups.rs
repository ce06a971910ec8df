//! The control groups of this process and their parents, in the hierarchies of
//! versions 1 and 2, as far as they are mounted here. This is the only code
//! that reads `/proc/self/cgroup` and the mounts, for limits and for
//! descriptions of the machine.

use std::path::{Component, Path};

use crate::system_files::{SystemFiles, field};

/// From here on a limit means none: for memory, version 1 of the kernel's files shows the largest
/// signed number, rounded down to a page.
pub const NO_LIMIT: u64 = 1 << 62;

/// The first namespaces of their kinds (`PROC_*_INIT_INO` of the kernel).
const FIRST_NAMESPACES: [&str; 4] =
    ["pid:[4026531836]", "user:[4026531837]", "cgroup:[4026531835]", "time:[4026531834]"];

/// Whether this process is in the first namespace of this kind, in which all others are.
pub(crate) fn is_first_namespace(files: &SystemFiles, kind: &str) -> bool {
    let own = files.link(&format!("proc/self/ns/{kind}"));
    own.is_none_or(|own| FIRST_NAMESPACES.contains(&&*own))
}

/// Parses a group's limit: a number, or the words of versions 2 and 1 for none, which is
/// [`u64::MAX`].
pub fn limit(text: &str) -> Option<u64> {
    match text.trim() {
        "max" | "-1" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

/// A control group of either version of the interface, which differ in the names of some files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its folder below the root: `sys/fs/cgroup/pids/a`.
    pub folder: String,
}

/// The groups of `controller` that this process is in: its own first, then its
/// parents up to the root of the mount. A controller is attached to a hierarchy
/// of version 1 or 2; groups of the other version lack its files.
pub fn of_process(files: &SystemFiles, controller: &str) -> Vec<Group> {
    all_of_process(files, controller).unwrap_or_default()
}

/// As [`of_process`].
///
/// # Errors
/// What cannot be read, if groups may be missing.
pub(crate) fn all_of_process(files: &SystemFiles, controller: &str) -> Result<Vec<Group>, String> {
    let text = |path: &str| files.text(path).ok_or_else(|| format!("/{path}"));
    let (membership, mounts) = (text("proc/self/cgroup")?, text("proc/self/mountinfo")?);
    let (mut groups, mut hidden) = (Vec::new(), None);
    // Each line is a number, controllers, of which version 2 names none, and the group.
    let lines = membership.lines().filter_map(|line| line.split_once(':'));
    for (controllers, path) in lines.filter_map(|(_, rest)| rest.split_once(':')) {
        let wanted = if controllers.is_empty() { None } else { Some(controller) };
        if wanted.is_some_and(|wanted| !names(controllers, wanted)) {
            continue;
        }
        let Some((root, mount)) = mount_of(wanted, &mounts) else {
            hidden = Some(path);
            continue;
        };
        let mount = mount.trim_start_matches('/');
        let folder = |inside: &Path| Path::new(mount).join(inside).to_string_lossy().into_owned();
        let inside = inside_mount(Path::new(path), Path::new(root));
        let ancestors = inside.into_iter().flat_map(Path::ancestors);
        groups.extend(ancestors.map(|group| Group { folder: folder(group) }));
    }
    match hidden {
        // The root has no limits.
        Some(path) if groups.is_empty() && path != "/" => {
            Err("/sys/fs/cgroup, where control groups are usually mounted".to_owned())
        }
        _ => Ok(groups),
    }
}

fn names(list: &str, name: &str) -> bool {
    list.split(',').any(|listed| listed == name)
}

/// The root and the mount point of the hierarchy of a controller, or else that of version 2, from
/// `/proc/self/mountinfo`.
fn mount_of<'a>(controller: Option<&str>, mounts: &'a str) -> Option<(&'a str, &'a str)> {
    mounts.lines().find_map(|line| {
        let (mount, source) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let places = (mount.next()?, mount.next()?);
        let mut source = source.split(' ');
        let (kind, options) = (source.next()?, source.nth(1)?);
        let fits = match controller {
            None => kind == "cgroup2",
            Some(controller) => kind == "cgroup" && names(options, controller),
        };
        fits.then_some(places)
    })
}

/// The position of a group below the root of a mount. A group outside this
/// namespace (`/../other`) is not visible, but the mount's limits are; a
/// sibling of the root is not subject to them.
fn inside_mount<'a>(group: &'a Path, root: &Path) -> Option<&'a Path> {
    let leaves = |path: &Path| path.components().any(|part| part == Component::ParentDir);
    if leaves(group) || leaves(root) {
        return Some(Path::new(""));
    }
    group.strip_prefix(root).ok()
}

impl Group {
    /// The content of one of its files.
    pub fn text(&self, files: &SystemFiles, file: &str) -> Option<String> {
        files.text(&self.path(file))
    }

    /// The path of one of its files, below the root.
    pub fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.folder.trim_end_matches('/'))
    }

    /// The memory charged to it, user and kernel, in bytes.
    pub fn memory_bytes(&self, files: &SystemFiles) -> Option<u64> {
        let number = |file| files.number(&self.path(file));
        number("memory.current").or_else(|| number("memory.usage_in_bytes"))
    }

    /// The part of [`Self::memory_bytes`] that is not in file pages, which the kernel drops before it
    /// refuses memory, in bytes.
    pub(crate) fn kept_bytes(&self, files: &SystemFiles) -> Option<u64> {
        let stat = self.text(files, "memory.stat").unwrap_or_default().replace(' ', ":");
        // In version 1 the other names exclude the groups inside.
        let total = |name| field(&stat, &format!("total_{name}")).or_else(|| field(&stat, name));
        let bytes = |name| total(name)?.parse::<u64>().ok();
        let droppable = ["inactive_file", "active_file"].into_iter().filter_map(bytes).sum();
        Some(self.memory_bytes(files)?.saturating_sub(droppable))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_files_of_the_groups_version() {
        let files = SystemFiles::simulated(&[
            ("one/memory.usage_in_bytes", "5000\n"),
            ("one/memory.stat", "active_file 1\ntotal_active_file 700\n"),
            ("two/memory.current", "4000\n"),
            ("two/memory.stat", "active_file 1\n"),
        ]);
        let memory = |folder: &str| {
            let group = Group { folder: folder.to_owned() };
            [group.memory_bytes(&files), group.kept_bytes(&files)]
        };
        assert_eq!(memory("one"), [Some(5000), Some(4300)]);
        assert_eq!(memory("two"), [Some(4000), Some(3999)]);
    }
}
