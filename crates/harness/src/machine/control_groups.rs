//! The control groups of this process and their parents, in the hierarchies of
//! versions 1 and 2, as far as they are mounted here. This is the only code
//! that reads `/proc/self/cgroup` and the mounts, for limits and for
//! descriptions of the machine.

use std::path::{Component, Path};

use crate::machine::system_files::{SystemFiles, field};

/// From here on a limit means none: for memory, version 1 of the kernel's files shows the largest
/// signed number, rounded down to a page.
pub const NO_LIMIT: u64 = 1 << 62;

/// The first namespaces of their kinds (`PROC_*_INIT_INO` of the kernel).
const FIRST_NAMESPACES: [&str; 4] =
    ["pid:[4026531836]", "user:[4026531837]", "cgroup:[4026531835]", "time:[4026531834]"];

/// Whether this process is in the first namespace of this kind, in which all others are; `None` if
/// that cannot be read.
pub(crate) fn is_first_namespace(files: &SystemFiles, kind: &str) -> Option<bool> {
    const FOLDER: &str = "proc/self/ns";
    if let Some(own) = files.link(&format!("{FOLDER}/{kind}")) {
        return Some(FIRST_NAMESPACES.contains(&&*own));
    }
    let kinds = files.names(FOLDER);
    // A kernel that lists others but not this kind has no such namespaces.
    (!kinds.is_empty() && !kinds.iter().any(|listed| listed == kind)).then_some(true)
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
pub struct ControlGroup {
    /// Its folder below the root: `sys/fs/cgroup/pids/a`.
    pub folder: String,
}

/// The groups of `controller` that this process is in: its own first, then its
/// parents up to the root of the mount; none if they are not visible. Limits
/// need [`Groups`], which also has what is hidden.
pub fn of_process(files: &SystemFiles, controller: &str) -> Vec<ControlGroup> {
    Groups::of_process(files, controller).visible
}

/// The groups of a controller that this process is in, as far as they can be read.
#[derive(Debug, Default)]
pub struct Groups {
    /// The process's own group first, then its parents.
    pub visible: Vec<ControlGroup>,
    /// What cannot be read, if there may be others.
    pub hidden: Option<String>,
}

impl Groups {
    /// Finds the groups of a controller. It is attached to one hierarchy: of version 1 if
    /// `/proc/self/cgroup` names it there, or else to that of version 2.
    pub fn of_process(files: &SystemFiles, controller: &str) -> Self {
        let Some(memberships) = files.text("proc/self/cgroup") else {
            return Self::unseen("/proc/self/cgroup");
        };
        let Some(mounts) = files.text("proc/self/mountinfo") else {
            return Self::unseen("/proc/self/mountinfo");
        };
        let in_version_1 = membership(&memberships, |names| lists(names, controller));
        let in_version_2 = membership(&memberships, str::is_empty);
        let version_1 = in_version_1.map(|_| controller);
        let Some(path) = in_version_1.or(in_version_2) else {
            // This kernel has no such controller.
            return Self::default();
        };
        let seen = mounts_of(version_1, &mounts).into_iter().find_map(|(root, mount)| {
            let inside = inside_mount(Path::new(path), Path::new(root))?;
            let mount = Path::new(mount.trim_start_matches('/'));
            let group = |inside: &Path| ControlGroup {
                folder: mount.join(inside).to_string_lossy().into_owned(),
            };
            let groups: Vec<ControlGroup> = inside.ancestors().map(group).collect();
            // Something else may be mounted over it.
            let is_visible = files.contains(&groups[0].path("cgroup.procs"));
            is_visible.then_some((root, groups))
        });
        let is_first = is_first_namespace(files, "cgroup") == Some(true);
        let Some((root, visible)) = seen else {
            // The root has no limits.
            if is_first && path == "/" {
                return Self::default();
            }
            return Self::unseen("/sys/fs/cgroup, where control groups are usually mounted");
        };
        let hidden = if !is_first {
            Some("limits outside of its namespace (cgroup)".to_owned())
        } else if root != "/" {
            Some(format!("limits of the control groups around {root}"))
        } else {
            None
        };
        Self { visible, hidden }
    }

    fn unseen(what: &str) -> Self {
        Self { visible: Vec::new(), hidden: Some(what.to_owned()) }
    }
}

/// The group of the hierarchy whose controllers are these, from `/proc/self/cgroup`. Each line is a
/// number, controllers, of which version 2 names none, and the group.
fn membership(text: &str, are_these: impl Fn(&str) -> bool) -> Option<&str> {
    let lines = text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    lines.into_iter().find(|(controllers, _)| are_these(controllers)).map(|(_, group)| group)
}

fn lists(list: &str, name: &str) -> bool {
    list.split(',').any(|listed| listed == name)
}

/// The root and the mount point of each mount of the hierarchy of a controller, or else of that of
/// version 2, from `/proc/self/mountinfo`.
fn mounts_of<'a>(controller: Option<&str>, mounts: &'a str) -> Vec<(&'a str, &'a str)> {
    let place = |line: &'a str| {
        let (mount, source) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let places = (mount.next()?, mount.next()?);
        let mut source = source.split(' ');
        let kind = source.next()?;
        let options = source.nth(1)?;
        let fits = match controller {
            None => kind == "cgroup2",
            Some(controller) => kind == "cgroup" && lists(options, controller),
        };
        fits.then_some(places)
    };
    mounts.lines().filter_map(place).collect()
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

impl ControlGroup {
    /// The content of one of the group's files.
    pub fn text(&self, files: &SystemFiles, file: &str) -> Option<String> {
        files.text(&self.path(file))
    }

    /// The path of one of the group's files, below the root.
    pub fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.folder.trim_end_matches('/'))
    }

    /// The memory charged to the group, user and kernel, in bytes.
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
            let group = ControlGroup { folder: folder.to_owned() };
            [group.memory_bytes(&files), group.kept_bytes(&files)]
        };
        assert_eq!(memory("one"), [Some(5000), Some(4300)]);
        assert_eq!(memory("two"), [Some(4000), Some(3999)]);
    }

    const ONE: &str = "32 31 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";
    const TWO: &str = "41 31 0:37 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

    /// The groups of `pids` that are visible, and whether there may be others: of a process in these
    /// groups, with these mounts and folders.
    #[track_caller]
    fn check(memberships: &str, mounts: &str, folders: &[&str], visible: &[&str], hidden: bool) {
        let mut files = vec![
            ("proc/self/ns/cgroup".to_owned(), "cgroup:[4026531835]"),
            ("proc/self/cgroup".to_owned(), memberships),
            ("proc/self/mountinfo".to_owned(), mounts),
        ];
        files.extend(folders.iter().map(|folder| (format!("{folder}/cgroup.procs"), "")));
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let groups = Groups::of_process(&SystemFiles::simulated(&files), "pids");
        let names: Vec<&str> = groups.visible.iter().map(|group| &*group.folder).collect();
        assert_eq!((&names[..], groups.hidden.is_some()), (visible, hidden), "{groups:?}");
    }

    #[test]
    fn groups_that_are_not_visible_may_have_limits() {
        let both = "8:pids:/a\n0::/b\n";
        let [one, two] = ["sys/fs/cgroup/pids/a", "sys/fs/cgroup/b"];
        let parents = [one, "sys/fs/cgroup/pids/"];
        check(both, &[TWO, ONE].concat(), &[one, two], &parents, false);
        // The hierarchy with the controller is covered, or not mounted, or another part of it is.
        check(both, &[TWO, ONE].concat(), &[two], &[], true);
        check(both, TWO, &[two], &[], true);
        let part = |root: &str| ONE.replace(" / ", &format!(" {root} "));
        check(both, &part("/other"), &["sys/fs/cgroup/pids"], &[], true);
        check(
            "8:pids:/a/b\n",
            &part("/a"),
            &["sys/fs/cgroup/pids/b"],
            &["sys/fs/cgroup/pids/b", "sys/fs/cgroup/pids/"],
            true,
        );
        // A second mount shows what the first one hides.
        let second = ONE.replace("/sys/fs/cgroup", "/mnt");
        check(both, &[ONE, &second].concat(), &["mnt/pids/a"], &["mnt/pids/a", "mnt/pids/"], false);
        // Without version 1, it is in version 2.
        check("0::/b\n", TWO, &[two], &[two, "sys/fs/cgroup/"], false);
        check("0::/b\n", ONE, &[one], &[], true);
        check("0::/b (deleted)\n", TWO, &["sys/fs/cgroup"], &[], true);
        // The root has no limits, unless it is that of a namespace; other hierarchies do not matter.
        check("0::/\n", "", &[], &[], false);
        check("9:name=systemd:/a\n", "", &[], &[], false);
        let inside = [
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", TWO),
            ("proc/self/ns/cgroup", "cgroup:[4026532000]"),
            ("sys/fs/cgroup/cgroup.procs", ""),
        ];
        for files in [&inside[..], &inside[..3]] {
            let groups = Groups::of_process(&SystemFiles::simulated(files), "pids");
            assert!(groups.hidden.is_some(), "{groups:?}");
        }
    }

    #[test]
    fn a_namespace_that_cannot_be_read_is_unknown() {
        let is_first =
            |files: &[(&str, &str)]| is_first_namespace(&SystemFiles::simulated(files), "cgroup");
        assert_eq!(is_first(&[("proc/self/ns/cgroup", "cgroup:[4026531835]")]), Some(true));
        assert_eq!(is_first(&[("proc/self/ns/cgroup", "cgroup:[4026532000]")]), Some(false));
        assert_eq!(is_first(&[]), None);
        // The kernel does not know this kind.
        assert_eq!(is_first(&[("proc/self/ns/pid", "pid:[4026531836]")]), Some(true));
        // The link is listed but cannot be read.
        let folder = std::env::temp_dir().join(format!("namespaces-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("proc/self/ns/cgroup")).expect("a folder");
        let found = is_first_namespace(&SystemFiles::Below(folder.clone()), "cgroup");
        std::fs::remove_dir_all(folder).expect("it is removed");
        assert_eq!(found, None);
        let files = [
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", TWO),
            ("sys/fs/cgroup/cgroup.procs", ""),
        ];
        let groups = Groups::of_process(&SystemFiles::simulated(&files), "pids");
        assert!(groups.hidden.is_some(), "{groups:?}");
    }
}
