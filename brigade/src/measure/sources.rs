//! The sources of the guests: installed with this binary, or contained in it and unpacked into the
//! user's cache. They are executed, so those are not used that another user of the machine could
//! have changed.

use std::env;
use std::fs::{self, DirBuilder, Metadata};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use nix::unistd::geteuid;

use crate::measure::ownership::{check_contents, check_path, discard_unless_private, purge};

/// The sources in this binary: paths and contents.
const GUESTS: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/guests.rs"));

/// The folder of installed guests, seen from the folder of the binary, which is `bin`.
const INSTALLED: &str = "../share/brigade/guests";

/// The folder of the guests' sources: the one installed with this binary, or else in the user's
/// cache. Passes a line to `warn` if one next to this binary is not used.
///
/// # Errors
/// If the cache cannot be written, or others can write it.
pub fn folder(warn: impl FnOnce(&str)) -> anyhow::Result<PathBuf> {
    match installed() {
        Some(Ok(folder)) => return Ok(folder),
        Some(Err(reason)) => warn(&format!("{reason:#}; using the guests in this binary")),
        None => {}
    }
    unpacked()
}

/// The guests next to this binary; `None` if there are none.
///
/// # Errors
/// If another user than root and the binary's owner could have put them there.
fn installed() -> Option<anyhow::Result<PathBuf>> {
    let bin = env::current_exe().ok()?.parent()?.to_owned();
    let guests = bin.join(INSTALLED).canonicalize().ok().filter(|guests| guests.is_dir())?;
    let check = || -> anyhow::Result<()> {
        ensure!(bin.ends_with("bin"), "this brigade is not installed in a folder bin");
        let owner = fs::metadata("/proc/self/exe").context("reading this binary")?.uid();
        // `guests`, `brigade`, `share` and `bin` lie in folders without entries of others.
        check_path(&bin, 2, owner)?;
        check_path(&guests, 4, owner)?;
        check_contents(&guests, owner)
    };
    let checked = check().with_context(|| format!("{} is not used", guests.display()));
    Some(checked.map(|()| guests))
}

/// Unpacks the guests' sources into the user's cache and returns their folder. What is there already
/// is compared, and repaired. Other versions of brigade have other folders.
fn unpacked() -> anyhow::Result<PathBuf> {
    let all: Vec<&[u8]> =
        GUESTS.iter().flat_map(|(path, source)| [path.as_bytes(), source]).collect();
    let folder = private_folder(&format!("sources-{:08x}", crc32fast::hash(&all.concat())))?;
    let is_source = |path: &Path, found: &Metadata| {
        let inside = path.strip_prefix(&folder).unwrap_or(path);
        GUESTS.iter().any(|(source, contents)| {
            if found.is_dir() {
                Path::new(source).ancestors().skip(1).any(|above| above == inside)
            } else {
                Path::new(source) == inside && fs::read(path).is_ok_and(|read| read == *contents)
            }
        })
    };
    purge(&folder, geteuid().as_raw(), &is_source)?;
    for (path, contents) in GUESTS {
        let file = folder.join(path);
        if !file.exists() {
            write(&folder, &file, contents)
                .with_context(|| format!("writing {}", file.display()))?;
        }
    }
    Ok(folder.join("guests"))
}

/// Writes a file below `folder` as a whole, since another brigade may be reading it.
fn write(folder: &Path, file: &Path, contents: &[u8]) -> anyhow::Result<()> {
    create_private(file.parent().unwrap_or(folder))?;
    // Next to the folder: inside, another brigade would remove it.
    let mut new = tempfile::NamedTempFile::new_in(folder.parent().unwrap_or(folder))?;
    new.write_all(contents)?;
    new.persist(file)?;
    Ok(())
}

/// The folder with this name in brigade's part of the user's cache, where nobody else can write or
/// could have written. It is created if missing.
///
/// # Errors
/// If there is no such cache, or another user can change it.
pub fn private_folder(name: &str) -> anyhow::Result<PathBuf> {
    let folder = || -> anyhow::Result<PathBuf> {
        let user = geteuid().as_raw();
        let cache = user_cache().context("there is no HOME")?;
        // Before anything is created where others could create it, too.
        let existing = cache.ancestors().find_map(|folder| folder.canonicalize().ok());
        check_path(&existing.context("there is no such folder")?, 0, user)?;
        create_private(&cache)?;
        let mut folder = cache.canonicalize()?;
        for part in ["brigade", name] {
            folder.push(part);
            discard_unless_private(&folder, user)?;
            create_private(&folder)?;
        }
        check_path(&folder, 2, user)?;
        Ok(folder)
    };
    folder().context("set XDG_CACHE_HOME to a folder that only you can write")
}

/// Creates a folder, and those above it, for this user only.
fn create_private(folder: &Path) -> anyhow::Result<()> {
    let created = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    created.with_context(|| format!("creating {}", folder.display()))
}

/// The user's cache.
fn user_cache() -> Option<PathBuf> {
    let folder = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))
}
