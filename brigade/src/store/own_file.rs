//! Files that are written to and lie where somebody else may have put something:
//! opened without waiting, and only where they are nothing but themselves, or made
//! anew and put in place whole.

use std::fs::{File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use libc::{ELOOP, O_NOFOLLOW, O_NONBLOCK};
use tempfile::{NamedTempFile, PersistError};

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

/// Writes a text to a file in place of what has its name, whatever that is: a link is
/// not followed.
///
/// # Errors
/// When it cannot be written.
pub fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    persist(path, text, |file, path| file.persist(path))
}

/// Writes a text to a file that is there in whole or not at all; `keep` gives it its
/// name.
///
/// # Errors
/// When it cannot be written.
pub fn persist(
    path: &Path,
    text: &str,
    keep: impl Fn(NamedTempFile, &Path) -> Result<File, PersistError>,
) -> anyhow::Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let write = || {
        // Made to be shared: readable as far as the umask allows.
        let permissions = Permissions::from_mode(0o666);
        let mut file = tempfile::Builder::new().permissions(permissions).tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        keep(file, path)?;
        File::open(folder)?.sync_all()
    };
    write().with_context(|| format!("writing {}", path.display()))
}
