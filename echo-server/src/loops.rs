//! Servers without tasks: one thread that asks the kernel which connection is next.

use std::cell::Cell;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::{io, ptr};

use harness::limits::RING_ENTRIES;
use io_uring::squeue::Entry;
use io_uring::types::Fd;
use io_uring::{IoUring, opcode};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use crate::server::{Desk, Server, is_end};

/// The most events that one `epoll_wait` reports.
const MOST_EVENTS: usize = 64;

/// The number that stands for the listening socket.
const LISTENER: u64 = u64::MAX;

/// An epoll that watches connections and, if there is one, a listening socket.
pub struct Watch {
    pub epoll: OwnedFd,
}

impl Watch {
    pub fn new(listener: &OwnedFd) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        Ok(Self { epoll })
    }

    pub fn add(&self, number: usize, connection: impl AsFd, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, connection, EventData::new_u64(number as u64), flags)?)
    }

    /// Waits, and passes on each number that is readable; `None` is the listening socket.
    #[inline]
    pub fn wait(
        &self,
        desk: Desk,
        mut pass: impl FnMut(Option<usize>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut events = [const { MaybeUninit::<Event>::uninit() }; MOST_EVENTS];
        desk.count(1);
        match epoll::wait(&self.epoll, &mut events, None) {
            Ok((events, _)) => events.iter().try_for_each(|event| {
                let number = event.data.u64();
                pass((number != LISTENER).then_some(number as usize))
            }),
            Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// A loop of epoll, level-triggered. The rest of a message that has begun to arrive is waited for.
pub fn epoll(server: &Server) -> io::Result<()> {
    let (watch, mut connections) = (Watch::new(&server.listener)?, Vec::new());
    let (mut message, mut left) = (server.desk.buffer(), server.connections);
    while left > 0 {
        watch.wait(server.desk, |event| {
            let Some(number) = event else {
                let connection = server.accept()?;
                watch.add(connections.len(), &connection, EventFlags::IN)?;
                connections.push(Some(connection));
                return Ok(());
            };
            let connection = connections[number].as_ref().expect("an open connection");
            server.desk.count(2);
            if !server.desk.echo(connection, &mut message)? {
                connections[number] = None;
                left -= 1;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Marks the request that sends; the connection's number is in the lower bits.
const SENT: u64 = 1 << 63;

/// A loop of io_uring: each message is a request to receive and one to send.
pub fn io_uring(server: &Server) -> io::Result<()> {
    let (mut ring, mut connections) = (IoUring::new(RING_ENTRIES)?, Vec::new());
    let listener = Fd(server.listener.as_raw_fd());
    let accept = opcode::Accept::new(listener, ptr::null_mut(), ptr::null_mut());
    let accept = accept.build().user_data(LISTENER);
    push(&mut ring, &accept)?;
    let mut left = server.connections;
    while left > 0 {
        server.desk.count(1);
        match ring.submit_and_wait(1) {
            Err(error) if !is_passing(&error) => return Err(error),
            _ => {}
        }
        loop {
            let Some(done) = ring.completion().next() else { break };
            let next = match (done.user_data(), checked(done.result())) {
                (LISTENER, socket) => {
                    let number = connections.len();
                    connections.push(Connection::new(server, socket?)?);
                    if number + 1 < server.connections {
                        push(&mut ring, &accept)?;
                    }
                    Some(connections[number].receive(number))
                }
                (_, Ok(0)) => None,
                (data, Ok(bytes)) => {
                    let number = (data & !SENT) as usize;
                    Some(connections[number].proceed(server, data, bytes as usize))
                }
                (_, Err(error)) if is_end(&error) => None,
                (_, Err(error)) => return Err(error),
            };
            match next {
                Some(next) => push(&mut ring, &next)?,
                None => left -= 1,
            }
        }
    }
    Ok(())
}

/// A connection of the ring.
struct Connection {
    socket: File,
    /// Never freed: the kernel may write to it after the ring has been closed.
    message: &'static [Cell<u8>],
    /// How much of the message has been received or sent.
    done: Cell<usize>,
}

impl Connection {
    fn new(server: &Server, socket: i32) -> io::Result<Self> {
        let message = vec![Cell::new(0); server.desk.bytes].leak();
        Ok(Self { socket: server.accepted(socket)?, message, done: Cell::new(0) })
    }

    fn rest(&self) -> (Fd, &[Cell<u8>]) {
        (Fd(self.socket.as_raw_fd()), &self.message[self.done.get()..])
    }

    fn receive(&self, number: usize) -> Entry {
        let (socket, rest) = self.rest();
        let receive = opcode::Recv::new(socket, rest.as_ptr().cast_mut().cast(), rest.len() as u32);
        receive.build().user_data(number as u64)
    }

    fn send(&self, number: usize) -> Entry {
        let (socket, rest) = self.rest();
        let send = opcode::Send::new(socket, rest.as_ptr().cast(), rest.len() as u32);
        send.build().user_data(SENT | number as u64)
    }

    /// The request after one that moved so many bytes.
    fn proceed(&self, server: &Server, data: u64, bytes: usize) -> Entry {
        let (number, sent) = ((data & !SENT) as usize, data & SENT != 0);
        self.done.set(self.done.get() + bytes);
        let is_whole = self.done.get() == self.message.len();
        if is_whole {
            self.done.set(0);
            if !sent {
                server.desk.serve(&[self.message[0].get()]);
            }
        }
        if sent == is_whole { self.receive(number) } else { self.send(number) }
    }
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

fn checked(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(result) }
}

/// Whether to retry a call after this error.
fn is_passing(error: &io::Error) -> bool {
    let passing = [Errno::INTR, Errno::AGAIN, Errno::BUSY].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|number| passing.contains(&number))
}
