//! Bounds of what is read: manifests, and folders of runs that may come from strangers. They are
//! checked before anything is kept.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::ensure;
use libc::{O_NONBLOCK, c_int};

/// The most cases of a manifest, or of a run. The suite has 600.
pub const MOST_CASES: usize = 2000;

/// The longest name of a case, in characters: a command line.
pub const LONGEST_CASE: usize = 1000;

/// Opens a regular file of at most `most` bytes; a named pipe is not waited for.
///
/// # Errors
/// If it is something else, is longer, or cannot be opened.
pub fn open(
    path: &Path,
    options: &mut OpenOptions,
    flags: c_int,
    most: u64,
) -> anyhow::Result<File> {
    let file = options.read(true).custom_flags(flags | O_NONBLOCK).open(path)?;
    let metadata = file.metadata()?;
    ensure!(metadata.is_file(), "it is not a regular file");
    let length = metadata.len();
    ensure!(length <= most, "it has {length} bytes, more than {most}");
    Ok(file)
}

/// The bytes of a regular file, at most `most`.
///
/// # Errors
/// If [`open`] fails, or the file cannot be read.
pub fn read(path: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, &mut OpenOptions::new(), 0, most)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
