//! Servers without tasks: one thread that asks the kernel which connection is next.

use std::cell::Cell;
use std::io;
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::{AsRawFd as _, OwnedFd};

use harness::limits::RING_ENTRIES;
use io_uring::squeue::Entry;
use io_uring::types::Fd;
use io_uring::{IoUring, opcode};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use crate::server::{Desk, Server, is_end};

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
    desk.count(1);
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
    let connections: Vec<_> = server.accept().collect::<io::Result<_>>()?;
    let watch = watch(&connections, EventFlags::IN)?;
    let (mut message, mut left) = (server.desk.buffer(), server.connections);
    while left > 0 {
        wait(&watch, server.desk, |number, _| {
            server.desk.count(2);
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
    let mut connections = Vec::with_capacity(server.connections);
    for (socket, number) in server.accept().zip(0..) {
        // Never freed: the kernel may write to it after the ring has been closed.
        let message: &[Cell<u8>] = vec![Cell::new(0); server.desk.bytes].leak();
        connections.push((socket?, message));
        push(&mut ring, &receive(&connections[number], number))?;
    }
    let mut left = server.connections;
    while left > 0 {
        server.desk.count(1);
        match ring.submit_and_wait(1) {
            Err(error) if !is_passing(&error) => return Err(error),
            _ => {}
        }
        loop {
            let Some(done) = ring.completion().next() else { break };
            let number = (done.user_data() & !SENT) as usize;
            let of = &connections[number];
            let error = || io::Error::from_raw_os_error(-done.result());
            match done.result() {
                ..0 if !is_end(&error()) => return Err(error()),
                ..=0 => left -= 1,
                _ if done.user_data() & SENT != 0 => push(&mut ring, &receive(of, number))?,
                bytes if bytes as usize == of.1.len() => {
                    server.desk.serve(&[of.1[0].get()]);
                    push(&mut ring, &send(of, number))?;
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
    let bytes = message.as_ptr().cast_mut().cast();
    let receive = opcode::Recv::new(Fd(socket.as_raw_fd()), bytes, message.len() as u32);
    receive.flags(libc::MSG_WAITALL).build().user_data(number as u64)
}

fn send((socket, message): &Connection, number: usize) -> Entry {
    let bytes = message.as_ptr().cast();
    let send = opcode::Send::new(Fd(socket.as_raw_fd()), bytes, message.len() as u32);
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

/// Whether to retry a call after this error.
fn is_passing(error: &io::Error) -> bool {
    let passing = [Errno::INTR, Errno::AGAIN, Errno::BUSY].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|number| passing.contains(&number))
}
