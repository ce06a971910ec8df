//! Channels through file descriptors: pipes, socket pairs, event counters.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use libc::MSG_NOSIGNAL;
use nix::errno::Errno;
use nix::unistd;
use rustix::event::EventfdFlags;

use super::{Closer, Sink, Source};

/// Values of `--channel`, for programs that wait for file descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "lower")]
pub enum Channel {
    /// A pipe
    Pipe,
    /// A pair of connected Unix stream sockets, used in one direction
    SocketPair,
}

/// Opens a pipe: the reading end and the writing end, both blocking and closed on `exec`.
///
/// # Errors
/// The kernel's, such as too many open files.
pub fn pipe() -> io::Result<(File, File)> {
    let (reader, writer) = io::pipe()?;
    Ok((OwnedFd::from(reader).into(), OwnedFd::from(writer).into()))
}

/// Fills `bytes` with what `read` reads; returns whether it did, rather than reaching the end of
/// file.
///
/// Inlined down to the system call, unlike the standard library's: after a switch the CPU
/// mispredicts every return to an outer frame, which took 1.6 % of a round trip.
#[inline]
fn fill(mut bytes: &mut [u8], read: impl Fn(&mut [u8]) -> nix::Result<usize>) -> io::Result<bool> {
    while !bytes.is_empty() {
        match read(bytes) {
            Ok(0) => return Ok(false),
            Ok(count) => bytes = &mut bytes[count..],
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

/// Writes all of `bytes` with `write`; inlined like [`fill`].
#[inline]
fn drain(mut bytes: &[u8], write: impl Fn(&[u8]) -> nix::Result<usize>) -> io::Result<()> {
    while !bytes.is_empty() {
        match write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

impl Source for File {
    #[inline]
    fn receive(&mut self) -> io::Result<Option<u8>> {
        let mut token = [0];
        let is_filled = fill(&mut token, |bytes| unistd::read(&*self, bytes))?;
        Ok(is_filled.then_some(token[0]))
    }
}

impl Sink for File {
    #[inline]
    fn send(&mut self, token: u8) -> io::Result<()> {
        drain(&[token], |bytes| unistd::write(&*self, bytes))
    }
}

/// Receives as `UnixStream::read` does: with `recv`, which takes less time than `read`.
#[inline]
fn recv(socket: &UnixStream, bytes: &mut [u8]) -> nix::Result<usize> {
    let file = socket.as_raw_fd();
    // SAFETY: the kernel writes at most as many bytes as the slice has.
    let count = unsafe { libc::recv(file, bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    Errno::result(count).map(isize::unsigned_abs)
}

/// Sends as `UnixStream::write` does: with `send`, which takes less time than `write`.
#[inline]
fn send(socket: &UnixStream, bytes: &[u8]) -> nix::Result<usize> {
    let file = socket.as_raw_fd();
    // SAFETY: the kernel reads at most as many bytes as the slice has.
    let count = unsafe { libc::send(file, bytes.as_ptr().cast(), bytes.len(), MSG_NOSIGNAL) };
    Errno::result(count).map(isize::unsigned_abs)
}

impl Source for UnixStream {
    #[inline]
    fn receive(&mut self) -> io::Result<Option<u8>> {
        let mut token = [0];
        let is_filled = fill(&mut token, |bytes| recv(self, bytes))?;
        Ok(is_filled.then_some(token[0]))
    }
}

impl Sink for UnixStream {
    #[inline]
    fn send(&mut self, token: u8) -> io::Result<()> {
        drain(&[token], |bytes| send(self, bytes))
    }
}

/// What a token adds to an event counter, next to its value in the lowest byte.
const TOKEN: u64 = 1 << 8;
/// What a sink that closes adds to an event counter.
const END: u64 = 1 << 32;

#[inline]
fn add(counter: &File, number: u64) -> io::Result<()> {
    drain(&number.to_ne_bytes(), |bytes| unistd::write(counter, bytes))
}

struct EventFdSource {
    counter: Arc<File>,
    ended: bool,
}

struct EventFdSink(Arc<File>);

impl Source for EventFdSource {
    #[inline]
    fn receive(&mut self) -> io::Result<Option<u8>> {
        if self.ended {
            return Ok(None);
        }
        let mut count = [0; size_of::<u64>()];
        fill(&mut count, |bytes| unistd::read(&*self.counter, bytes))?;
        let count = u64::from_ne_bytes(count);
        self.ended = count & END != 0;
        Ok((count & TOKEN != 0).then_some(count as u8))
    }

    fn closer(&self) -> Option<Closer> {
        let counter = Arc::clone(&self.counter);
        Some(Box::new(move || drop(add(&counter, END))))
    }
}

impl Sink for EventFdSink {
    #[inline]
    fn send(&mut self, token: u8) -> io::Result<()> {
        add(&self.0, TOKEN | u64::from(token))
    }
}

impl Drop for EventFdSink {
    fn drop(&mut self) {
        let _ = add(&self.0, END);
    }
}

/// A channel over a kernel event counter (`eventfd`), which is one file.
///
/// # Errors
/// The kernel's, such as too many open files.
pub fn eventfd() -> io::Result<(impl Source, impl Sink)> {
    let counter = Arc::new(File::from(rustix::event::eventfd(0, EventfdFlags::CLOEXEC)?));
    Ok((EventFdSource { counter: Arc::clone(&counter), ended: false }, EventFdSink(counter)))
}
