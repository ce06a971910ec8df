//! The server: a process of its own, which echoes every message of N connections.

use std::cell::Cell;
use std::io::ErrorKind::{ConnectionReset, Interrupted, ResourceBusy, UnexpectedEof, WouldBlock};
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::{self, Builder};

use harness::limits::RING_ENTRIES;
use harness::process_stat::spawn;
use harness::threads::outcome_of_process;
use harness::tokio_settings::TokioSettings;
use harness::{Work, threads};
use io_uring::types::Fd;
use io_uring::{IoUring, opcode};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::retry_on_intr;

use crate::peers::Announced;

/// What a server has: its listening socket, what the load announces, the number of connections, and a request's needs. All
/// its tasks share it.
pub struct Server {
    pub listener: OwnedFd,
    pub announced: Announced,
    pub connections: usize,
    pub workers: usize,
    pub tokio: TokioSettings,
    pub stack_size: usize,
    /// The order of requests, which only `one` knows in advance.
    pub order: Vec<usize>,
    /// The size of a message.
    pub bytes: usize,
    pub work: Work,
    /// How often the server waited for any of its connections, in memory shared with the load.
    pub waited: &'static AtomicU64,
}

/// Whether a message has been read, rather than the connection's end.
#[inline]
pub fn has_arrived<T>(read: io::Result<T>) -> io::Result<bool> {
    match read {
        Err(error) if matches!(error.kind(), UnexpectedEof | ConnectionReset) => Ok(false),
        read => read.map(|_| true),
    }
}

impl Server {
    /// The work of a request. The messages that set up connections, which begin with 0, have none.
    #[inline]
    pub fn serve(&self, message: &[u8]) {
        if message[0] != 0 {
            self.work.perform();
        }
    }

    /// Counts a wait. One thread waits; nobody else writes.
    #[inline]
    pub fn waits(&self) {
        self.waited.store(self.waited.load(Relaxed) + 1, Relaxed);
    }

    /// Serves one message with blocking calls; `false` if the connection has ended.
    #[inline]
    pub fn echo(&self, mut connection: &TcpStream, message: &mut [u8]) -> io::Result<bool> {
        if !has_arrived(connection.read_exact(message))? {
            return Ok(false);
        }
        self.serve(message);
        connection.write_all(message)?;
        Ok(true)
    }

    /// Serves a connection until its end.
    fn echo_all(&self, connection: &TcpStream) -> io::Result<()> {
        let mut message = vec![0; self.bytes];
        while self.echo(connection, &mut message)? {}
        Ok(())
    }

    /// Starts something for each connection as soon as it is open and its first message, which sets
    /// it up, has been answered; so every kind opens them alike. A Unix socket gets the type of one
    /// of TCP, which makes the same system calls.
    pub fn start<T>(&self, start: impl Fn(TcpStream) -> io::Result<T>) -> io::Result<Vec<T>> {
        let mut message = vec![0; self.bytes];
        self.announced.accept_all(&self.listener, self.connections, |socket| {
            let connection = TcpStream::from(socket);
            self.echo(&connection, &mut message)?;
            start(connection)
        })
    }

    /// A thread per connection.
    pub fn threads(&'static self) -> io::Result<()> {
        let threads = self.start(|connection| {
            let builder = Builder::new().stack_size(self.stack_size);
            builder.spawn(move || self.echo_all(&connection))
        })?;
        threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
    }

    /// A process per connection.
    pub fn processes(&self) -> io::Result<()> {
        let children = self.start(|connection| spawn(|| self.echo_all(&connection)))?;
        threads::root_cause(children.into_iter().map(outcome_of_process)).map_err(io::Error::other)
    }

    /// One thread that knows the order of requests, and waits only for one that is not there yet.
    pub fn one(&self) -> io::Result<()> {
        let connections = self.start(Ok)?;
        let mut message = vec![0; self.bytes];
        let set_up = 0..connections.len();
        for next in set_up.chain(self.order.iter().copied().cycle()) {
            if !self.echo(&connections[next], &mut message)? {
                break;
            }
        }
        Ok(())
    }

    /// One thread waits for readable connections; workers serve a message of each.
    pub fn pool(&self) -> io::Result<()> {
        let connections = self.start(Ok)?;
        let watch = watch(&connections, ONCE)?;
        let (sender, receiver) = mpsc::channel();
        let receiver = Mutex::new(receiver);
        let work = || {
            let mut message = vec![0; self.bytes];
            loop {
                let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(number) = next else { return Ok(()) };
                let connection: &TcpStream = &connections[number];
                // One that has ended is reported once more, as such.
                self.echo(connection, &mut message)?;
                epoll::modify(&watch, connection, EventData::new_u64(number as u64), ONCE)?;
            }
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..self.workers).map(|_| scope.spawn(work)).collect();
            run_loop(self, &watch, |number, flags| {
                let has_ended = flags.contains(EventFlags::HUP);
                if !has_ended {
                    sender.send(number).map_err(io::Error::other)?;
                }
                Ok(!has_ended)
            })?;
            drop(sender);
            workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
        })
    }
}

/// Reports a readable connection once.
const ONCE: EventFlags = EventFlags::IN.union(EventFlags::ONESHOT);

/// The most events that one `epoll_wait` reports.
const MOST_EVENTS: usize = 64;

/// An epoll that watches these connections.
fn watch(connections: &[TcpStream], flags: EventFlags) -> io::Result<OwnedFd> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    for (connection, number) in connections.iter().zip(0..) {
        epoll::add(&epoll, connection, EventData::new_u64(number), flags)?;
    }
    Ok(epoll)
}

/// Waits for connections until all have ended, and passes on each that is readable; `serve` returns
/// whether it goes on.
#[inline]
fn run_loop(
    server: &Server,
    watch: &OwnedFd,
    mut serve: impl FnMut(usize, EventFlags) -> io::Result<bool>,
) -> io::Result<()> {
    let mut events = Vec::with_capacity(MOST_EVENTS);
    let mut left = server.connections;
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
    let connections = server.start(Ok)?;
    let mut message = vec![0; server.bytes];
    let watch = watch(&connections, EventFlags::IN)?;
    run_loop(server, &watch, |number, _| {
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
    let socket = Fd(socket.as_raw_fd());
    let bytes = message.as_ptr().cast_mut().cast();
    let length = message.len() as u32;
    let request = if mark & SENDS == 0 {
        opcode::Recv::new(socket, bytes, length).flags(libc::MSG_WAITALL).build()
    } else {
        opcode::Send::new(socket, bytes, length).flags(libc::MSG_WAITALL).build()
    };
    let request = request.user_data(mark);
    // SAFETY: a buffer is never freed, is accessed only through `Cell`, and belongs to one request
    // at a time; sockets are closed after the last request.
    while unsafe { ring.submission().push(&request) }.is_err() {
        ring.submit()?;
    }
    Ok(())
}
