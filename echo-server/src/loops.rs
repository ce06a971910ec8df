//! Servers without tasks: one thread that asks the kernel which connection is next.

use std::cell::Cell;
use std::io;
use std::io::ErrorKind::{Interrupted, ResourceBusy, WouldBlock};
use std::net::TcpStream;
use std::os::fd::{AsRawFd as _, OwnedFd};

use harness::limits::RING_ENTRIES;
use io_uring::types::Fd;
use io_uring::{IoUring, opcode};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::retry_on_intr;

use crate::server::{Server, has_arrived};

/// The most events that one `epoll_wait` reports.
const MOST_EVENTS: usize = 64;

/// An epoll that watches these connections.
pub fn watch(connections: &[TcpStream], flags: EventFlags) -> io::Result<OwnedFd> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    for (connection, number) in connections.iter().zip(0..) {
        epoll::add(&epoll, connection, EventData::new_u64(number), flags)?;
    }
    Ok(epoll)
}

/// Waits for connections until all have ended, and passes on each that is readable; `serve` returns
/// whether it goes on.
#[inline]
pub fn run(
    server: &Server,
    watch: &OwnedFd,
    mut serve: impl FnMut(usize, EventFlags) -> io::Result<bool>,
) -> io::Result<()> {
    let (mut events, mut left) = (Vec::with_capacity(MOST_EVENTS), server.connections);
    while left > 0 {
        server.waits();
        retry_on_intr(|| epoll::wait(watch, spare_capacity(&mut events), None))?;
        for event in events.drain(..) {
            left -= usize::from(!serve(event.data.u64() as usize, event.flags)?);
        }
    }
    Ok(())
}

/// A loop of epoll, level-triggered. The rest of a message that has begun to arrive is waited for.
pub fn epoll(server: &Server) -> io::Result<()> {
    let (connections, mut message) = (server.start(Ok)?, vec![0; server.bytes]);
    let watch = watch(&connections, EventFlags::IN)?;
    run(server, &watch, |number, _| {
        let goes_on = server.echo(&connections[number], &mut message)?;
        if !goes_on {
            epoll::delete(&watch, &connections[number])?;
        }
        Ok(goes_on)
    })
}

/// Marks a request to send, rather than to receive; the connection's number is in the lower bits.
const SENDS: u64 = 1 << 63;

/// A connection of the ring and its message.
type Connection = (TcpStream, &'static [Cell<u8>]);

/// A loop of io_uring: each message is a request to receive and one to send. The kernel waits for
/// the whole of it.
pub fn io_uring(server: &Server) -> io::Result<()> {
    let mut ring = IoUring::new(RING_ENTRIES)?;
    // Never freed: the kernel may write to it after the ring has been closed.
    let buffer = || -> &[Cell<u8>] { vec![Cell::new(0); server.bytes].leak() };
    let connections = server.start(|socket| Ok((socket, buffer())))?;
    for (connection, number) in connections.iter().zip(0..) {
        push(&mut ring, connection, number)?;
    }
    let mut left = server.connections;
    while left > 0 {
        server.waits();
        match ring.submit_and_wait(1) {
            // Try again, after handling completions.
            Err(error) if matches!(error.kind(), Interrupted | WouldBlock | ResourceBusy) => {}
            submitted => drop(submitted?),
        }
        loop {
            let Some(done) = ring.completion().next() else { break };
            let number = done.user_data() & !SENDS;
            let connection = &connections[number as usize];
            match done.result() {
                0 => left -= 1,
                error @ ..0 => {
                    has_arrived::<()>(Err(io::Error::from_raw_os_error(-error)))?;
                    left -= 1;
                }
                _ if done.user_data() & SENDS != 0 => push(&mut ring, connection, number)?,
                bytes if bytes as usize == server.bytes => {
                    server.serve(&[connection.1[0].get()]);
                    push(&mut ring, connection, SENDS | number)?;
                }
                _ => return Err(io::Error::other("the kernel received part of a message")),
            }
        }
    }
    Ok(())
}

/// Adds a request to receive a whole message, or to send it; the next wait submits it.
fn push(ring: &mut IoUring, (socket, message): &Connection, mark: u64) -> io::Result<()> {
    let (socket, length, whole) = (Fd(socket.as_raw_fd()), message.len() as u32, libc::MSG_WAITALL);
    let bytes = message.as_ptr().cast_mut().cast();
    let request = if mark & SENDS == 0 {
        opcode::Recv::new(socket, bytes, length).flags(whole).build()
    } else {
        opcode::Send::new(socket, bytes, length).flags(whole).build()
    };
    let request = request.user_data(mark);
    // SAFETY: a buffer is never freed, is accessed only through `Cell`, and belongs to one request
    // at a time; sockets are closed after the last request.
    while unsafe { ring.submission().push(&request) }.is_err() {
        ring.submit()?;
    }
    Ok(())
}
