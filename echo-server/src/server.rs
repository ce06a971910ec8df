//! The server: a process of its own, which echoes every message of N connections.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread::{self, Builder};

use harness::process_stat::spawn;
use harness::threads::outcome_of_process;
use harness::{Work, threads};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::retry_on_intr;
use rustix::net::{SocketFlags, accept_with};

use crate::{Kind, loops, tasks};

/// What a server has: its listening socket, the number of connections, and a request's needs.
pub struct Server {
    pub listener: OwnedFd,
    pub connections: usize,
    pub workers: usize,
    pub stack_size: usize,
    /// The order of requests, which only `one` knows in advance.
    pub order: Vec<usize>,
    pub desk: Desk,
}

/// How a request is served.
#[derive(Clone, Copy)]
pub struct Desk {
    pub bytes: usize,
    pub work: Work,
    /// How often the server waited for any of its connections, in memory shared with the load.
    pub waited: &'static AtomicU64,
}

impl Desk {
    /// The work of a request. The messages that set up connections, which begin with 0, have none.
    #[inline]
    pub fn serve(self, message: &[u8]) {
        if message[0] != 0 {
            self.work.perform();
        }
    }

    /// Counts a wait. One thread waits; nobody else writes.
    #[inline]
    pub fn waits(self) {
        self.waited.store(self.waited.load(Relaxed) + 1, Relaxed);
    }

    /// Serves one message with blocking calls; `false` if the connection has ended.
    #[inline]
    pub fn echo(self, mut connection: &TcpStream, message: &mut [u8]) -> io::Result<bool> {
        if !has_arrived(connection.read_exact(message))? {
            return Ok(false);
        }
        self.serve(message);
        connection.write_all(message)?;
        Ok(true)
    }
}

/// Whether a message has been read, rather than the connection's end.
#[inline]
pub fn has_arrived<T>(read: io::Result<T>) -> io::Result<bool> {
    use ErrorKind::{ConnectionReset, UnexpectedEof};
    match read {
        Err(error) if matches!(error.kind(), UnexpectedEof | ConnectionReset) => Ok(false),
        read => read.map(|_| true),
    }
}

impl Server {
    /// Serves with tasks of this kind until all connections have ended.
    pub fn run(self, kind: Kind) -> io::Result<()> {
        match kind {
            Kind::Thread => self.threads(),
            Kind::ThreadPool => self.pool(),
            Kind::Process => self.processes(),
            Kind::One => self.one(),
            Kind::Epoll => loops::epoll(&self),
            Kind::IoUring => loops::io_uring(&self),
            Kind::Tokio | Kind::TokioCurrentThread => tasks::tokio(self, kind),
            Kind::AsyncExecutor => tasks::async_executor(&self),
            Kind::Compio => tasks::compio(&self),
        }
    }

    /// Starts something for each connection as soon as it is open and its first message, which sets
    /// it up, has been answered; so every kind opens them alike. A Unix socket gets the type of one
    /// of TCP, which makes the same system calls.
    pub fn start<T>(&self, start: impl Fn(TcpStream) -> io::Result<T>) -> io::Result<Vec<T>> {
        let mut message = vec![0; self.desk.bytes];
        let mut started = Vec::with_capacity(self.connections);
        for _ in 0..self.connections {
            let socket = retry_on_intr(|| accept_with(&self.listener, SocketFlags::CLOEXEC))?;
            let connection = TcpStream::from(socket);
            self.desk.echo(&connection, &mut message)?;
            started.push(start(connection)?);
        }
        Ok(started)
    }

    /// A thread per connection.
    fn threads(&self) -> io::Result<()> {
        let desk = self.desk;
        let started = self.start(|connection| {
            let builder = Builder::new().stack_size(self.stack_size);
            builder.spawn(move || serve_all(&connection, desk))
        })?;
        started.into_iter().try_for_each(|thread| joined(thread.join()))
    }

    /// A process per connection.
    fn processes(&self) -> io::Result<()> {
        let serve = |connection| spawn(|| serve_all(&connection, self.desk));
        let children = self.start(serve)?;
        let outcomes = children.into_iter().map(outcome_of_process);
        threads::root_cause(outcomes).map_err(io::Error::other)
    }

    /// One thread that knows the order of requests, and waits only for one that is not there yet.
    fn one(&self) -> io::Result<()> {
        let (connections, mut message) = (self.start(Ok)?, vec![0; self.desk.bytes]);
        let set_up = 0..connections.len();
        for next in set_up.chain(self.order.iter().copied().cycle()) {
            if !self.desk.echo(&connections[next], &mut message)? {
                break;
            }
        }
        Ok(())
    }

    /// One thread waits for readable connections; workers serve a message of each.
    fn pool(&self) -> io::Result<()> {
        let connections = self.start(Ok)?;
        let watch = loops::watch(&connections, ONCE)?;
        let (sender, receiver) = mpsc::channel();
        let receiver = Mutex::new(receiver);
        let work = || {
            let mut message = vec![0; self.desk.bytes];
            loop {
                let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(number) = next else { return Ok(()) };
                let connection: &TcpStream = &connections[number];
                // One that has ended is reported once more, as such.
                self.desk.echo(connection, &mut message)?;
                epoll::modify(&watch, connection, EventData::new_u64(number as u64), ONCE)?;
            }
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..self.workers).map(|_| scope.spawn(work)).collect();
            let mut left = connections.len();
            while left > 0 {
                loops::wait(&watch, self.desk, |number, flags| {
                    match flags.contains(EventFlags::HUP) {
                        true => left -= 1,
                        false => sender.send(number).map_err(io::Error::other)?,
                    }
                    Ok(())
                })?;
            }
            drop(sender);
            workers.into_iter().try_for_each(|worker| joined(worker.join()))
        })
    }
}

/// Reports a readable connection once.
const ONCE: EventFlags = EventFlags::IN.union(EventFlags::ONESHOT);

/// Serves a connection until its end.
fn serve_all(connection: &TcpStream, desk: Desk) -> io::Result<()> {
    let mut message = vec![0; desk.bytes];
    while desk.echo(connection, &mut message)? {}
    Ok(())
}

/// The result of a thread.
fn joined(outcome: thread::Result<io::Result<()>>) -> io::Result<()> {
    outcome.unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
}
