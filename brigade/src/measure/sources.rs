//! The sources of the guests: installed with this binary, or contained in it and unpacked into the
//! user's cache. Installed ones that another user of the machine could have put there are not used.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};

use crate::measure::ownership::{check_contents, check_path};

/// The sources in this binary: paths and contents.
const GUESTS: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/guests.rs"));

/// The folder of installed guests, seen from the folder of the binary, which is `bin`.
const INSTALLED: &str = "../share/brigade/guests";

/// The folder of the guests' sources: the one installed with this binary, or else in the user's
/// cache. Passes a line to `warn` if one next to this binary is not used.
///
/// # Errors
/// If the cache cannot be written.
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

/// Unpacks the guests' sources into the user's cache and returns their folder. Other versions of
/// brigade have other folders.
fn unpacked() -> anyhow::Result<PathBuf> {
    let all: Vec<&[u8]> =
        GUESTS.iter().flat_map(|(path, source)| [path.as_bytes(), source]).collect();
    let cache = user_cache().context("set XDG_CACHE_HOME to a writable folder")?;
    let folder = cache.join(format!("sources-{:08x}", crc32fast::hash(&all.concat())));
    if !folder.is_dir() {
        fs::create_dir_all(&cache)?;
        let new = tempfile::tempdir_in(&cache)?;
        for (path, source) in GUESTS {
            let file = new.path().join(path);
            fs::create_dir_all(file.parent().unwrap_or(new.path()))?;
            fs::write(file, source)?;
        }
        // It fails if another brigade has just done the same.
        let _ = fs::rename(new.path(), &folder);
    }
    Ok(folder.join("guests"))
}

/// Brigade's folder in the user's cache.
pub fn user_cache() -> Option<PathBuf> {
    let folder = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(home.join("brigade"))
}
