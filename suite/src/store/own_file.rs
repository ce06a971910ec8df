//! Files that are written to and lie where somebody else may have put something:
//! opened without waiting, and only where they are nothing but themselves.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use libc::{ELOOP, O_NOFOLLOW, O_NONBLOCK};

/// Opens the file at `path` as `options` say, if it is a regular file of one name
/// and of at most `bound` bytes: what is written to it reaches no other file.
///
/// # Errors
/// When it cannot be opened, or is anything else.
pub fn open(path: &Path, options: &mut OpenOptions, bound: u64) -> anyhow::Result<File> {
    let file = match options.custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path) {
        Err(error) if error.raw_os_error() == Some(ELOOP) => bail!("it is a link"),
        opened => opened?,
    };
    let metadata = file.metadata().context("reading what it is")?;
    ensure!(metadata.is_file(), "it is not a regular file");
    ensure!(metadata.nlink() == 1, "it has {} names", metadata.nlink());
    ensure!(metadata.len() <= bound, "it has {} bytes, more than {bound}", metadata.len());
    Ok(file)
}
