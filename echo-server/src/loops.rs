//! Servers without tasks: one thread that asks the kernel which connection is next.

use std::cell::Cell;
use std::io;
use std::io::ErrorKind::{Interrupted, ResourceBusy, WouldBlock};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::{AsRawFd as _, OwnedFd};

use harness::limits::RING_ENTRIES;
use io_uring::squeue::Entry;
use io_uring::types::Fd;
use io_uring::{IoUring, opcode};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use crate::server::{Desk, Server, has_arrived};

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

/// Waits, and passes on each connection that is readable.
#[inline]
pub fn wait(
    epoll: &OwnedFd,
    desk: Desk,
    mut pass: impl FnMut(usize, EventFlags) -> io::Result<()>,
) -> io::Result<()> {
    let mut events = [const { MaybeUninit::<Event>::uninit() }; MOST_EVENTS];
    desk.waits();
    match epoll::wait(epoll, &mut events, None) {
        Ok((events, _)) => {
            events.iter().try_for_each(|event| pass(event.data.u64() as usize, event.flags))
        }
        Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A loop of epoll, level-triggered. The rest of a message that has begun to arrive is waited for.
pub fn epoll(server: &Server) -> io::Result<()> {
    let (connections, mut message) = (server.start(Ok)?, vec![0; server.desk.bytes]);
    let (watch, mut left) = (watch(&connections, EventFlags::IN)?, connections.len());
    while left > 0 {
        wait(&watch, server.desk, |number, _| {
            if !server.desk.echo(&connections[number], &mut message)? {
                epoll::delete(&watch, &connections[number])?;
                left -= 1;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Marks the request that sends; the connection's number is in the lower bits.
const SENT: u64 = 1 << 63;

/// A loop of io_uring: each message is a request to receive and one to send. The kernel waits for
/// the whole of it.
pub fn io_uring(server: &Server) -> io::Result<()> {
    let mut ring = IoUring::new(RING_ENTRIES)?;
    // Never freed: the kernel may write to it after the ring has been closed.
    let buffer = || -> &[Cell<u8>] { vec![Cell::new(0); server.desk.bytes].leak() };
    let connections = server.start(|socket| Ok((socket, buffer())))?;
    for (connection, number) in connections.iter().zip(0..) {
        push(&mut ring, &receive(connection, number))?;
    }
    let mut left = server.connections;
    while left > 0 {
        server.desk.waits();
        match ring.submit_and_wait(1) {
            // Try again, after handling completions.
            Err(error) if matches!(error.kind(), Interrupted | WouldBlock | ResourceBusy) => {}
            submitted => drop(submitted?),
        }
        loop {
            let Some(done) = ring.completion().next() else { break };
            let number = (done.user_data() & !SENT) as usize;
            let connection = &connections[number];
            match done.result() {
                0 => left -= 1,
                ..0 => {
                    has_arrived::<()>(Err(io::Error::from_raw_os_error(-done.result())))?;
                    left -= 1;
                }
                _ if done.user_data() & SENT != 0 => push(&mut ring, &receive(connection, number))?,
                bytes if bytes as usize == connection.1.len() => {
                    server.desk.serve(&[connection.1[0].get()]);
                    push(&mut ring, &send(connection, number))?;
                }
                _ => return Err(io::Error::other("the kernel received part of a message")),
            }
        }
    }
    Ok(())
}

/// A connection of the ring and its message.
type Connection = (TcpStream, &'static [Cell<u8>]);

fn receive((socket, message): &Connection, number: usize) -> Entry {
    let (bytes, length) = (message.as_ptr().cast_mut().cast(), message.len() as u32);
    let receive = opcode::Recv::new(Fd(socket.as_raw_fd()), bytes, length);
    receive.flags(libc::MSG_WAITALL).build().user_data(number as u64)
}

fn send((socket, message): &Connection, number: usize) -> Entry {
    let (bytes, length) = (message.as_ptr().cast(), message.len() as u32);
    let send = opcode::Send::new(Fd(socket.as_raw_fd()), bytes, length);
    send.flags(libc::MSG_WAITALL).build().user_data(SENT | number as u64)
}

/// Adds a request; the next wait submits it.
fn push(ring: &mut IoUring, request: &Entry) -> io::Result<()> {
    // SAFETY: a buffer is never freed, is accessed only through `Cell`, and belongs to one request
    // at a time; sockets are closed after the last request.
    while unsafe { ring.submission().push(request) }.is_err() {
        ring.submit()?;
    }
    Ok(())
}
