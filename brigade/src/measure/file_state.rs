//! The state of a file, by which one that is replaced is noticed: a run must not mix
//! two builds.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Which file a path leads to, and in which state: quickly read, before every
/// invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileState {
    device: u64,
    inode: u64,
    length: u64,
    /// When it was last written to: seconds and nanoseconds since 1970.
    written: (i64, i64),
}

impl FileState {
    /// That of the file at `path`.
    ///
    /// # Errors
    /// When there is none.
    pub fn of(path: &Path) -> io::Result<Self> {
        let file = path.metadata()?;
        Ok(Self {
            device: file.dev(),
            inode: file.ino(),
            length: file.len(),
            written: (file.mtime(), file.mtime_nsec()),
        })
    }
}
