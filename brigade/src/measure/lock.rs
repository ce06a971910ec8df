//! The machine-wide lock: two brigades that measure at the same time would disturb each other.
//!
//! It is a `flock` on a file in a folder that every user can write. The kernel releases it when its
//! holder dies, so it is never stale. Programs inherit it: it is free when the last process of a
//! run has ended. The file contains the id of its holder. It is never removed, since two processes
//! could then lock two files with the same name; if somebody removes it, an abstract socket with
//! the same name still refuses a second holder.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use harness::process_stat::ProcessStat;
use harness::system_files::SystemFiles;
use nix::unistd::User;

use crate::measure::guard::holders;
use crate::store::results;

/// The environment variable that names another file.
pub const VARIABLE: &str = "BRIGADE_LOCK";

/// Candidates for the file's folder; the first that every user may write is
/// used.
const FOLDERS: [&str; 2] = ["/run/lock", "/tmp"];

/// The file's name.
const FILE_NAME: &str = "brigade.lock";

/// The longest file that can be a lock, in bytes: anybody may write it, and a file named by mistake
/// is not overwritten.
const LONGEST_SIGNATURE: u64 = 64;

/// How long to wait for the guard of a killed run, which kills its leftovers, and how often to
/// look.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// How often `--wait` looks.
const PAUSE_OF_WAIT: Duration = Duration::from_millis(200);

/// Another process holds the lock.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Held(String);

/// Held while programs are built or run; dropping it releases the lock.
#[derive(Debug)]
pub struct Lock {
    file: File,
    _name: Option<UnixListener>,
}

impl Lock {
    /// Takes the lock of this machine, or of the file in `BRIGADE_LOCK`. With `wait` it waits for
    /// another holder.
    ///
    /// # Errors
    /// If another process holds it (the error names it), or the file cannot be used.
    pub fn take(wait: bool) -> anyhow::Result<Self> {
        let path = path(std::env::var_os(VARIABLE));
        loop {
            match Self::take_at(&path, PATIENCE) {
                Err(error) if wait && error.is::<Held>() => {
                    thread::sleep(PAUSE_OF_WAIT);
                }
                taken => return taken,
            }
        }
    }

    fn take_at(path: &Path, patience: Duration) -> anyhow::Result<Self> {
        let trouble = || {
            format!("taking the lock {}: name another file with {VARIABLE}=PATH", path.display())
        };
        let mut file = open(path).with_context(trouble)?;
        let deadline = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(error).with_context(trouble),
                Err(TryLockError::WouldBlock) => {
                    let signer = signer(&mut file);
                    let has_ended = signer.is_some_and(|(_, lives)| !lives);
                    if !has_ended || Instant::now() >= deadline {
                        return Err(Held(refusal(signer, &file, path)).into());
                    }
                    thread::sleep(PAUSE);
                }
            }
        }
        let name = match take_name(path) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                let path = path.display();
                let error = format!(
                    "another brigade is measuring on this machine, and somebody removed its lock \
                     {path}: wait for it to end, or add --wait"
                );
                return Err(Held(error).into());
            }
            // Containers may deny sockets; the file is the real lock.
            name => name.ok(),
        };
        sign(&mut file).with_context(trouble)?;
        Ok(Self { file, _name: name })
    }

    /// The locked file.
    pub fn file(&self) -> &File {
        &self.file
    }
}

/// Binds the lock's path as an abstract socket; the kernel releases it when the holder dies.
fn take_name(path: &Path) -> io::Result<UnixListener> {
    let key = crc32fast::hash(path.canonicalize()?.as_os_str().as_bytes());
    let name = SocketAddr::from_abstract_name(format!("{FILE_NAME}-{key:08x}"))?;
    UnixListener::bind_addr(&name)
}

fn path(named: Option<OsString>) -> PathBuf {
    if let Some(path) = named.filter(|path| !path.is_empty()) {
        return path.into();
    }
    let folder = FOLDERS.into_iter().find(|folder| is_for_everyone(folder));
    folder.map_or_else(std::env::temp_dir, PathBuf::from).join(FILE_NAME)
}

/// Whether every user may create files in `folder`. Decided by its mode instead
/// of an attempt, so that root and others get the same answer.
fn is_for_everyone(folder: &str) -> bool {
    fs::metadata(folder)
        .is_ok_and(|folder| folder.is_dir() && folder.permissions().mode() & 0o002 != 0)
}

/// Opens or creates the file. An existing one is opened without `O_CREAT`,
/// which the kernel refuses in a shared folder if another user created it
/// (`fs.protected_regular`).
fn open(path: &Path) -> anyhow::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    let mut opened = results::open_own(path, &mut options, LONGEST_SIGNATURE);
    if kind_of(&opened) == Some(ErrorKind::NotFound) {
        opened = results::open_own(path, options.create_new(true), LONGEST_SIGNATURE);
        if let Ok(file) = &opened {
            // For other users, regardless of this one's umask.
            file.set_permissions(Permissions::from_mode(0o666))?;
        }
    }
    if kind_of(&opened) == Some(ErrorKind::AlreadyExists) {
        // Another brigade has just created it.
        opened = results::open_own(path, options.create_new(false), LONGEST_SIGNATURE);
    }
    if kind_of(&opened) == Some(ErrorKind::PermissionDenied) {
        return opened.context("or ask its owner to let every user write it (chmod 666)");
    }
    opened
}

/// Why the kernel did not open a file.
fn kind_of(opened: &anyhow::Result<File>) -> Option<ErrorKind> {
    opened.as_ref().err()?.downcast_ref::<io::Error>().map(io::Error::kind)
}

/// Writes this process's id as the holder.
fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(format!("{}\n", std::process::id()).as_bytes())
}

/// The process that signed the file, and whether it is alive: if not, its programs or its guard
/// still hold the lock. `None` before it signs.
fn signer(file: &mut File) -> Option<(u32, bool)> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(LONGEST_SIGNATURE).read_to_string(&mut text).ok()?;
    let pid: u32 = text.trim().parse().ok()?;
    let stat = ProcessStat::read(&SystemFiles::live(), &format!("proc/{pid}"));
    Some((pid, stat.is_some_and(|stat| !"ZX".contains(stat.state))))
}

/// The process, of any user, that locked `file`, unless it is another brigade; from the kernel's
/// list of locks.
fn taker(file: &File) -> Option<String> {
    let inode = format!(":{}", file.metadata().ok()?.ino());
    let locks = SystemFiles::live().text("proc/locks")?;
    let fields = locks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut pids = fields.filter_map(|fields| match fields[..] {
        [_, "FLOCK", _, _, pid, place, ..] if place.ends_with(&inode) => Some(pid.to_owned()),
        _ => None,
    });
    let pid = pids.next()?;
    let name = SystemFiles::live().line(&format!("proc/{pid}/comm"))?;
    let user = fs::metadata(format!("/proc/{pid}")).ok()?.uid();
    let user = User::from_uid(user.into()).ok()?.map_or_else(|| user.to_string(), |of| of.name);
    (!name.starts_with("brigade")).then(|| format!("process {pid} ({name}) of user {user}"))
}

/// Why the lock cannot be taken, and what to do.
fn refusal(signer: Option<(u32, bool)>, file: &File, path: &Path) -> String {
    let path = path.display();
    let left = holders(file);
    let who = match (signer, left.first()) {
        (Some((pid, true)), _) => format!("another brigade, process {pid},"),
        (Some((_, false)), Some(pid)) => {
            let name = SystemFiles::live().line(&format!("proc/{pid}/comm")).unwrap_or_default();
            return format!(
                "process {pid} ({name}) is left over from a killed brigade and would be measured, \
                 too: end it with kill -KILL {pid} ({path} is locked)"
            );
        }
        _ => match taker(file) {
            Some(who) => {
                return format!(
                    "{who}, which is no brigade, holds the lock {path}: end it, or wait"
                );
            }
            None => "another brigade".to_owned(),
        },
    };
    format!(
        "{who} is measuring on this machine: wait for it to end, or add --wait ({path} is locked)"
    )
}

#[cfg(test)]
mod tests {
    use std::io::BufRead as _;
    use std::process::{Command, Stdio};

    use nix::unistd::geteuid;

    use super::*;

    fn lock_file() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        (folder, path)
    }

    fn refusal(path: &Path) -> String {
        format!("{:#}", Lock::take_at(path, Duration::ZERO).unwrap_err())
    }

    /// Takes a released lock. A process that another test forks meanwhile inherits the open file,
    /// and so the lock, until its exec.
    fn take_again(path: &Path) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while let Err(error) = Lock::take_at(path, Duration::ZERO) {
            assert!(Instant::now() < deadline, "{error:#}");
            thread::sleep(PAUSE);
        }
    }

    #[test]
    fn a_second_holder_is_refused_with_the_name_of_the_first() {
        let (_folder, path) = lock_file();
        let held = Lock::take_at(&path, Duration::ZERO).unwrap();
        let expected = format!("another brigade, process {}, is measuring", std::process::id());
        assert!(refusal(&path).starts_with(&expected), "{}", refusal(&path));
        drop(held);
        take_again(&path);
    }

    #[test]
    fn a_file_that_a_dead_holder_left_is_taken_over() {
        let (_folder, path) = lock_file();
        fs::write(&path, "4194305\nand more than the next holder writes").unwrap();
        let _held = Lock::take_at(&path, Duration::ZERO).unwrap();
        let signature = fs::read_to_string(&path).unwrap();
        assert_eq!(signature, format!("{}\n", std::process::id()));
        for signature in ["", "nobody", "\u{ff}\n \n"] {
            fs::write(&path, signature).unwrap();
            assert!(refusal(&path).starts_with("another brigade is measuring"), "{signature:?}");
        }
    }

    #[test]
    fn a_lock_whose_file_was_removed_is_still_held() {
        let (_folder, path) = lock_file();
        let held = Lock::take_at(&path, Duration::ZERO).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(refusal(&path).contains("somebody removed its lock"), "{}", refusal(&path));
        drop(held);
        take_again(&path);
    }

    #[test]
    fn a_holder_that_signs_nothing_is_named() {
        let (_folder, path) = lock_file();
        drop(Lock::take_at(&path, Duration::ZERO).unwrap());
        fs::write(&path, "").unwrap();
        let mut flock = Command::new("flock");
        let mut holder = flock.arg(&path).args(["sh", "-c", "echo; read -r line"]);
        holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = holder.spawn().unwrap();
        io::BufReader::new(holder.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
        let user = User::from_uid(geteuid()).unwrap().unwrap().name;
        let named = format!(
            "process {} (flock) of user {user}, which is no brigade, holds the lock",
            holder.id()
        );
        assert!(refusal(&path).starts_with(&named), "{}", refusal(&path));
        drop(holder.stdin.take());
        holder.wait().unwrap();
    }

    #[test]
    fn every_user_can_take_the_next_turn() {
        let (_folder, path) = lock_file();
        drop(Lock::take_at(&path, Duration::ZERO).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);
    }

    #[test]
    fn a_file_that_is_no_lock_is_not_overwritten() {
        let (folder, path) = lock_file();
        let precious = folder.path().join("precious");
        fs::write(&precious, "kept").unwrap();
        std::os::unix::fs::symlink(&precious, &path).unwrap();
        assert!(refusal(&path).contains("name another file with BRIGADE_LOCK=PATH"));
        fs::remove_file(&path).unwrap();
        fs::write(&path, "x".repeat(65)).unwrap();
        assert!(refusal(&path).contains("it has 65 bytes"), "{}", refusal(&path));
        fs::remove_file(&path).unwrap();
        fs::hard_link(&precious, &path).unwrap();
        assert!(refusal(&path).contains("it has 2 names"), "{}", refusal(&path));
        assert_eq!(fs::read_to_string(&precious).unwrap(), "kept");
    }

    #[test]
    fn the_variable_names_the_file_and_an_empty_one_names_none() {
        assert_eq!(path(Some("/x/y".into())), Path::new("/x/y"));
        assert_eq!(path(Some("".into())), path(None));
        assert_eq!(path(None).file_name().unwrap(), FILE_NAME);
    }
}
