//! The machine-wide lock: two brigades that measure at the same time would disturb each other. It
//! is a `flock`, which the kernel releases when its holder dies. Its file is never removed: two
//! processes could then lock two files with the same name.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context;
use harness::system_files::SystemFiles;
use libc::O_NONBLOCK;

/// The environment variable that names another file.
const VARIABLE: &str = "BRIGADE_LOCK";

/// The file is in the first of these that every user may write.
const FOLDERS: [&str; 2] = ["/run/lock", "/tmp"];

const FILE_NAME: &str = "brigade.lock";

/// Takes the lock of this machine, or of the file in `BRIGADE_LOCK`; closing the file releases it.
/// If another process holds it, passes a line about that to `waiting`, and waits.
///
/// # Errors
/// If the file cannot be used.
pub fn take(waiting: impl FnOnce(&str)) -> anyhow::Result<File> {
    let path = path();
    let taking =
        || format!("taking the lock {}: name another file with {VARIABLE}=PATH", path.display());
    let file = open(&path).with_context(taking)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let holder = holder(&file).unwrap_or_else(|| "another process".to_owned());
            waiting(&format!("waiting for {holder}, which is measuring on this machine"));
            file.lock().with_context(taking)?;
        }
        taken => taken.with_context(taking)?,
    }
    Ok(file)
}

fn path() -> PathBuf {
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return path.into();
    }
    // By the mode instead of an attempt, so that root and others use the same file.
    let is_for_everyone = |folder: &&str| {
        fs::metadata(folder).is_ok_and(|found| found.is_dir() && found.mode() & 0o002 != 0)
    };
    let folder = FOLDERS.into_iter().find(is_for_everyone);
    folder.map_or_else(std::env::temp_dir, PathBuf::from).join(FILE_NAME)
}

/// Creates or opens the file. An existing one is opened without `O_CREAT`, which the kernel refuses
/// in a shared folder if another user created it (`fs.protected_regular`).
fn open(path: &Path) -> io::Result<File> {
    match File::create_new(path) {
        // For other users, regardless of this one's umask.
        Ok(file) => file.set_permissions(Permissions::from_mode(0o666)).map(|()| file),
        Err(_) if path.exists() => {
            OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path)
        }
        Err(error) => Err(error),
    }
}

/// The process that locked `file`, from the kernel's list of locks; `None` if it is not visible in
/// this container.
fn holder(file: &File) -> Option<String> {
    let inode = format!(":{}", file.metadata().ok()?.ino());
    let locks = SystemFiles::live().text("proc/locks")?;
    let pid =
        locks.lines().find_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
            [_, "FLOCK", _, _, pid, place, ..] if place.ends_with(&inode) => Some(pid),
            _ => None,
        })?;
    let name = SystemFiles::live().line(&format!("proc/{pid}/comm"))?;
    Some(format!("process {pid} ({name})"))
}
