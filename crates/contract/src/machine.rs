//! This machine: whether it can run a test, and exclusively.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::{Command, Stdio};

use harness::emulation::emulated_on;
use harness::flags::description;
use harness::limits::{self, Kind, Need};
use harness::process_stat::ProcessStat;
use harness::system_files::SystemFiles;
use nix::unistd::getpgrp;

/// Reserves the machine, as long as the file is open, among all tests of this workspace that call
/// this: those that create very many tasks, or measure what others would disturb.
pub fn alone() -> File {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let file = File::open(path).and_then(|file| file.lock().map(|()| file));
    file.unwrap_or_else(|error| panic!("locking {path}: {error}"))
}

/// Reports that something cannot be tested here: in `target/skipped-tests`, which lists those of
/// the last `cargo test`, and on standard error (the test runner swallows `eprintln!`).
pub fn skip(what: &str, why: &str) {
    let line = format!("SKIPPED: {what}: {why}\n");
    let _ = io::stderr().write_all(line.as_bytes());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/skipped-tests");
    let _ = list(path, &line);
}

/// Whether a command succeeds here; without it the test of `what` is skipped, visibly.
pub fn can(what: &str, command: &mut Command) -> bool {
    let why = match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim_end().to_owned(),
        Err(error) => error.to_string(),
    };
    skip(what, &format!("{command:?}: {}", why.lines().last().unwrap_or("it fails")));
    false
}

/// Adds a line to a list that begins anew with each command of a shell. What one command starts, such
/// as the steps of a script, is one process group.
fn list(path: &str, line: &str) -> io::Result<()> {
    let mut file = File::options().read(true).append(true).create(true).open(path)?;
    file.lock()?;
    let mut known = String::new();
    file.read_to_string(&mut known)?;
    let run = format!("cargo test, process group {}\n", getpgrp());
    if !known.starts_with(&run) {
        file.set_len(0)?;
        file.write_all(run.as_bytes())?;
    }
    file.write_all(line.as_bytes())
}

/// A process; `None` if it has been reaped.
pub fn stat(pid: i32) -> Option<ProcessStat> {
    ProcessStat::read(&SystemFiles::live(), &format!("proc/{pid}"))
}

/// The children of a process, oldest first.
pub fn children(pid: i32) -> Vec<i32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    children.unwrap_or_default().split_whitespace().map(|pid| pid.parse().expect("a pid")).collect()
}

/// Whether the programs run without an emulator, whose memory the kernel counts, too; the test of
/// `what` is skipped otherwise.
pub fn runs_natively(what: &str) -> bool {
    let real = emulated_on(&SystemFiles::live());
    if let Some(real) = &real {
        skip(what, &format!("an emulator runs the programs, on {real}"));
    }
    real.is_none()
}

/// The number of threads of a process.
pub fn threads(pid: i32) -> usize {
    fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

pub fn has_two_cpus() -> bool {
    std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() >= 2)
}

/// Whether this many tasks fit here; reports a skipped test if not.
pub fn fits_here(kind: Kind, tasks: u64) -> bool {
    let fit = limits::fitting(&Need::new(kind, tasks));
    if fit < tasks {
        skip(&format!("{tasks} {}", description(&kind)), &format!("only {fit} fit here"));
    }
    fit == tasks
}

/// A new connection to the socket, of TCP on 127.0.0.1 or abstract, on which a child of a process
/// listens, as any process of the machine may open it; `None` if none listens.
pub fn visit(pid: i32) -> Option<File> {
    let sockets: Vec<String> = children(pid).into_iter().flat_map(sockets_of).collect();
    let is_ours =
        |inode: Option<&&str>| inode.is_some_and(|inode| sockets.contains(&inode.to_string()));
    let lines = |path| fs::read_to_string(path).unwrap_or_default();
    for line in lines("/proc/net/tcp").lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // In state 10, sockets listen.
        if is_ours(fields.get(9)) && fields[3] == "0A" {
            let port = u16::from_str_radix(fields[1].split_once(':')?.1, 16).ok()?;
            return Some(
                OwnedFd::from(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?).into(),
            );
        }
    }
    for line in lines("/proc/net/unix").lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // Of flags, a listening socket has the one of those that accept connections.
        if is_ours(fields.get(6)) && fields[3] == "00010000" {
            let address = SocketAddr::from_abstract_name(fields.get(7)?.strip_prefix('@')?).ok()?;
            return Some(OwnedFd::from(UnixStream::connect_addr(&address).ok()?).into());
        }
    }
    None
}

/// The inodes of a process's sockets.
fn sockets_of(pid: i32) -> Vec<String> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = files.filter_map(|file| fs::read_link(file.path()).ok());
    let inode = |link: std::path::PathBuf| {
        Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
    };
    links.filter_map(inode).collect()
}
