//! Which connections a server serves: only the load's.
//!
//! Any process of the machine may connect to the listening socket. So the load announces the address
//! of each of its connections before it opens it, in a pipe that only the server reads; the server
//! closes every other connection. An address belongs to one socket at a time, so nobody can take
//! the load's.

use std::ffi::OsStr;
use std::io::{
    self, BufRead as _, BufReader, ErrorKind, Lines, PipeReader, PipeWriter, Write as _,
};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use nix::errno::Errno as Error;
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{
    self, AddressFamily, Shutdown, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType,
    acceptfrom_with, sockopt,
};

use crate::Channel;

/// The descriptor at which a command finds the announcements.
const ANNOUNCEMENTS: i32 = 3;

/// A new socket and its address, which no other one has: a port, or a name that the kernel chooses.
///
/// # Errors
/// The kernel's.
pub fn bound(channel: Channel) -> rustix::io::Result<(OwnedFd, SocketAddrAny)> {
    let address: SocketAddrAny = match channel {
        Channel::Tcp => SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0).into(),
        Channel::Unix => SocketAddrUnix::new_unnamed().into(),
    };
    let family = address.address_family();
    let socket = net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    if family == AddressFamily::INET {
        // What a listening socket accepts inherits its options.
        sockopt::set_tcp_nodelay(&socket, true)?;
    }
    net::bind(&socket, &address)?;
    let address = net::getsockname(&socket)?;
    Ok((socket, address))
}

/// An address as it is announced: `127.0.0.1:40000`, or `@0001f` in the abstract namespace of Unix
/// sockets.
fn text_of(address: &SocketAddrAny) -> Option<String> {
    if let Ok(address) = SocketAddrV4::try_from(address.clone()) {
        return Some(address.to_string());
    }
    let address = SocketAddrUnix::try_from(address.clone()).ok()?;
    let name = OsStr::from_bytes(address.abstract_name()?).to_str()?;
    Some(format!("@{name}"))
}

/// The load's end of the pipe.
pub struct Announcer(PipeWriter);

/// The server's end of the pipe.
pub struct Announced(PipeReader);

/// A new pipe.
///
/// # Errors
/// The kernel's.
pub fn announcements() -> io::Result<(Announcer, Announced)> {
    let (reader, writer) = io::pipe()?;
    // Of a server that reads none, the pipe gets full.
    ioctl_fionbio(&writer, true)?;
    Ok((Announcer(writer), Announced(reader)))
}

impl Announcer {
    /// Announces a connection from this address.
    ///
    /// # Errors
    /// The kernel's. A command that serves everybody is no failure.
    pub fn announce(&self, address: &SocketAddrAny) -> io::Result<()> {
        let text = text_of(address).ok_or(ErrorKind::Unsupported)?;
        match (&self.0).write_all(format!("{text}\n").as_bytes()) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::BrokenPipe) => {
                Ok(())
            }
            written => written,
        }
    }
}

impl Announced {
    /// Gives the pipe to what this process executes next, and to nothing else: between fork and
    /// exec, without allocations or locks.
    ///
    /// # Errors
    /// The kernel's.
    pub fn pass_on(&self) -> io::Result<()> {
        let own = self.0.as_raw_fd();
        // SAFETY: the descriptors belong to a process that is about to be replaced.
        let passed = unsafe {
            match own {
                ANNOUNCEMENTS => libc::fcntl(own, libc::F_SETFD, 0),
                _ => libc::dup2(own, ANNOUNCEMENTS),
            }
        };
        Ok(Error::result(passed).map(drop)?)
    }

    /// Accepts this many connections of the load, one after the other, and calls `open` with each.
    /// Then nobody can connect any more.
    ///
    /// # Errors
    /// If `open` or the kernel fails; of kind `UnexpectedEof` if the load opens fewer.
    pub fn accept_all<T>(
        &self,
        listener: &OwnedFd,
        connections: usize,
        mut open: impl FnMut(OwnedFd) -> io::Result<T>,
    ) -> io::Result<Vec<T>> {
        let mut announced = BufReader::new(&self.0).lines();
        let opened = (0..connections).map(|_| open(accept(listener, &mut announced)?)).collect();
        net::shutdown(listener, Shutdown::Both)?;
        opened
    }
}

/// Accepts the next connection of the load, and closes others.
fn accept(
    listener: &OwnedFd,
    announced: &mut Lines<BufReader<&PipeReader>>,
) -> io::Result<OwnedFd> {
    let expected = announced.next().ok_or(ErrorKind::UnexpectedEof)??;
    loop {
        match acceptfrom_with(listener, SocketFlags::CLOEXEC) {
            Ok((socket, Some(peer))) if text_of(&peer).as_ref() == Some(&expected) => {
                return Ok(socket);
            }
            // A stranger, perhaps one that has gone again.
            Ok(_) | Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
