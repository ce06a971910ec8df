//! Who can change a file. What another user of the machine can change is not executed.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

/// Write permission for the group or for everybody; a group may have other members.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// In a folder with this bit, only the owner of an entry, or of the folder, can replace it.
const STICKY: u32 = 0o1000;

const ROOT: u32 = 0;

/// Whether only root and the user `owner` can change this file or folder.
fn is_private(found: &Metadata, owner: u32) -> bool {
    [ROOT, owner].contains(&found.uid()) && found.mode() & WRITABLE_BY_OTHERS == 0
}

/// Whether it is a file or a folder of `owner` that nobody else but root can change.
fn is_own(found: &Metadata, owner: u32) -> bool {
    found.uid() == owner && is_private(found, owner) && (found.is_file() || found.is_dir())
}

/// Checks that only root and the user `owner` can change what this path leads to: it, which is
/// absolute and without links, and the folders above it. The first `contained` of them, itself
/// included, may not be sticky either: anybody can create a file in such a folder.
///
/// # Errors
/// The first folder that somebody else can change.
pub fn check_path(path: &Path, contained: usize, owner: u32) -> anyhow::Result<()> {
    for (above, folder) in path.ancestors().enumerate() {
        let name = folder.display();
        let found = fs::symlink_metadata(folder).with_context(|| format!("reading {name}"))?;
        let user = found.uid();
        let mode = found.mode();
        ensure!([ROOT, owner].contains(&user), "{name} belongs to another user ({user})");
        let is_passed = above >= contained && mode & STICKY != 0;
        ensure!(
            is_passed || mode & WRITABLE_BY_OTHERS == 0,
            "others can write to {name} (chmod go-w)"
        );
    }
    Ok(())
}

/// Checks that a folder contains only files and folders that nobody but root and the user `owner`
/// can change.
///
/// # Errors
/// The first entry that somebody else can change, or that is neither.
pub fn check_contents(folder: &Path, owner: u32) -> anyhow::Result<()> {
    for (path, found) in entries(folder)? {
        ensure!(is_private(&found, owner), "others can change {}", path.display());
        if found.is_dir() {
            check_contents(&path, owner)?;
        } else {
            ensure!(found.is_file(), "{} is neither a file nor a folder", path.display());
        }
    }
    Ok(())
}

/// Removes from a folder of this user, `owner`, what somebody else can change, and what
/// `is_expected` refuses; it gets files and folders.
///
/// # Errors
/// If something cannot be read or removed.
pub fn purge(
    folder: &Path,
    owner: u32,
    is_expected: &dyn Fn(&Path, &Metadata) -> bool,
) -> anyhow::Result<()> {
    for (path, found) in entries(folder)? {
        if !is_own(&found, owner) || !is_expected(&path, &found) {
            remove(&path, &found)?;
        } else if found.is_dir() {
            purge(&path, owner, is_expected)?;
        }
    }
    Ok(())
}

/// Removes a folder of this user, `owner`, that others can write to: they may have put something
/// there. Does nothing if there is none.
///
/// # Errors
/// If it cannot be removed, or belongs to another user.
pub fn discard_unless_private(folder: &Path, owner: u32) -> anyhow::Result<()> {
    let Ok(found) = fs::symlink_metadata(folder) else { return Ok(()) };
    let name = folder.display();
    let user = found.uid();
    ensure!(user == owner, "{name} belongs to another user ({user})");
    if found.is_dir() && is_own(&found, owner) { Ok(()) } else { remove(folder, &found) }
}

fn remove(path: &Path, found: &Metadata) -> anyhow::Result<()> {
    let removed = if found.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.with_context(|| format!("removing {}", path.display()))
}

/// The entries of a folder; links are not followed.
fn entries(folder: &Path) -> anyhow::Result<Vec<(PathBuf, Metadata)>> {
    let reading = || format!("reading {}", folder.display());
    let entries = fs::read_dir(folder).with_context(reading)?.map(|entry| {
        let entry = entry?;
        let found = entry.metadata()?;
        Ok((entry.path(), found))
    });
    entries.collect::<io::Result<_>>().with_context(reading)
}
