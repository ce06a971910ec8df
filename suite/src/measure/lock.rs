//! The lock of this machine: a brigade that measures holds it, since two
//! that measure at once measure each other.
//!
//! It is a `flock` on a file in a folder that every user can write, so the
//! kernel takes it back from a holder that died, however that happened: there
//! is no stale lock. The file tells who holds it, by number and start time,
//! since numbers are used again. It is never removed, as then two could hold
//! two files of one name.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use harness::process_stat::ProcessStat;
use harness::system_files::SystemFiles;
use nix::libc::O_NOFOLLOW;

/// The environment variable that names another file.
pub const VARIABLE: &str = "BRIGADE_LOCK";

/// Where the file is, in the first of these that every user may write.
const FOLDERS: [&str; 2] = ["/run/lock", "/tmp"];

/// The file's name.
const FILE_NAME: &str = "brigade.lock";

/// The most that is read of the file, in bytes: anybody may write it.
const LONGEST_HOLDER: u64 = 64;

/// Held while programs are built or run, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of this machine, or that of the file that
    /// `BRIGADE_LOCK` names.
    ///
    /// # Errors
    /// When another process holds it, naming that, or the file cannot be used.
    pub fn take() -> anyhow::Result<Self> {
        Self::take_at(&path(std::env::var_os(VARIABLE)))
    }

    fn take_at(path: &Path) -> anyhow::Result<Self> {
        let trouble = || {
            format!("taking the lock {}: name another file with {VARIABLE}=PATH", path.display())
        };
        let mut file = open(path).with_context(trouble)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(
                "{} is measuring on this machine: wait for it to end ({} is locked)",
                holder(&mut file),
                path.display()
            ),
            Err(TryLockError::Error(error)) => return Err(error).with_context(trouble),
        }
        sign(&mut file).with_context(trouble)?;
        Ok(Self { _file: file })
    }
}

fn path(named: Option<OsString>) -> PathBuf {
    if let Some(path) = named.filter(|path| !path.is_empty()) {
        return path.into();
    }
    let folder = FOLDERS.into_iter().find(|folder| is_for_everyone(folder));
    folder.map_or_else(std::env::temp_dir, PathBuf::from).join(FILE_NAME)
}

/// Whether every user may make files in `folder`. Asked of the mode and not by
/// trying, so that root and others come to the same answer.
fn is_for_everyone(folder: &str) -> bool {
    fs::metadata(folder)
        .is_ok_and(|folder| folder.is_dir() && folder.permissions().mode() & 0o002 != 0)
}

/// Opens the file, or makes it. An existing one is not opened with `O_CREAT`,
/// which the kernel refuses in a shared folder where another user made it
/// (`fs.protected_regular`).
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(O_NOFOLLOW);
    match options.open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let file = options.create(true).truncate(false).open(path)?;
            // For the next user, whatever this one's umask.
            file.set_permissions(Permissions::from_mode(0o666))?;
            Ok(file)
        }
        opened => opened,
    }
}

/// Writes who holds the lock: this process and when it started.
fn sign(file: &mut File) -> io::Result<()> {
    let pid = std::process::id();
    let started = start_of(pid).map_or_else(|| "-".to_owned(), |ticks| ticks.to_string());
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(format!("{pid} {started}\n").as_bytes())
}

/// Who holds the lock, as the beginning of a sentence. A holder that has not
/// signed yet is not named, nor is its predecessor.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(LONGEST_HOLDER).read_to_string(&mut text);
    let signature = read.ok().and_then(|_| text.trim().split_once(' '));
    let pid = signature.and_then(|(pid, started)| {
        let pid = pid.parse().ok()?;
        (start_of(pid)?.to_string() == started).then_some(pid)
    });
    match pid {
        Some(pid) => format!("another brigade, process {pid},"),
        None => "another brigade".to_owned(),
    }
}

/// When a process started, in clock ticks since boot; `None` if there is none.
fn start_of(pid: u32) -> Option<u64> {
    let stat = ProcessStat::read(&SystemFiles::live(), &format!("proc/{pid}"))?;
    Some(stat.started_ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock_file() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        (folder, path)
    }

    fn refusal(path: &Path) -> String {
        Lock::take_at(path).unwrap_err().to_string()
    }

    #[test]
    fn a_second_holder_is_refused_and_told_of_the_first() {
        let (_folder, path) = lock_file();
        let held = Lock::take_at(&path).unwrap();
        let told = format!("another brigade, process {}, is measuring", std::process::id());
        assert!(refusal(&path).starts_with(&told), "{}", refusal(&path));
        drop(held);
        Lock::take_at(&path).unwrap();
    }

    #[test]
    fn a_file_that_a_dead_holder_left_is_taken_over() {
        let (_folder, path) = lock_file();
        fs::write(&path, "4194305 17\nand more than the next holder writes").unwrap();
        let _held = Lock::take_at(&path).unwrap();
        let signature = fs::read_to_string(&path).unwrap();
        let pid = std::process::id();
        let ticks = start_of(pid).unwrap();
        assert_eq!(signature, format!("{pid} {ticks}\n"));
    }

    #[test]
    fn a_process_that_took_over_the_holders_number_is_not_blamed() {
        let (_folder, path) = lock_file();
        let _held = Lock::take_at(&path).unwrap();
        for signature in ["1 18446744073709551615\n", "", "nobody", "\u{ff}\n \n"] {
            fs::write(&path, signature).unwrap();
            assert!(refusal(&path).starts_with("another brigade is measuring"), "{signature:?}");
        }
    }

    #[test]
    fn every_user_can_take_the_next_turn() {
        let (_folder, path) = lock_file();
        drop(Lock::take_at(&path).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);
    }

    #[test]
    fn a_link_is_not_followed() {
        let (folder, path) = lock_file();
        let precious = folder.path().join("precious");
        fs::write(&precious, "kept").unwrap();
        std::os::unix::fs::symlink(&precious, &path).unwrap();
        assert!(refusal(&path).contains("name another file with BRIGADE_LOCK=PATH"));
        assert_eq!(fs::read_to_string(&precious).unwrap(), "kept");
    }

    #[test]
    fn the_variable_names_the_file_and_an_empty_one_names_none() {
        assert_eq!(path(Some("/x/y".into())), Path::new("/x/y"));
        assert_eq!(path(Some("".into())), path(None));
        assert_eq!(path(None).file_name().unwrap(), FILE_NAME);
    }
}
