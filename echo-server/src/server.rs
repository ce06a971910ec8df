//! The server: a process of its own, which echoes every message of N connections.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, Builder};

use harness::process_stat::{fork_alone, live};
use harness::threads::outcome_of_process;
use harness::{Work, threads};
use nix::unistd::{ForkResult, getpid};
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
    /// System calls of the server's loop, in memory shared with the load.
    pub calls: &'static AtomicU64,
}

impl Desk {
    /// A buffer for a message.
    pub fn buffer(self) -> Vec<u8> {
        vec![0; self.bytes]
    }

    /// The work of a request. The messages that set up connections, which begin with 0, have none.
    #[inline]
    pub fn serve(self, message: &[u8]) {
        if message[0] != 0 {
            self.work.perform();
        }
    }

    /// Counts system calls; the server is the only writer.
    #[inline]
    pub fn count(self, calls: u64) {
        self.calls.store(self.calls.load(Relaxed) + calls, Relaxed);
    }

    /// Serves one message with blocking calls; `false` if the connection has ended.
    #[inline]
    pub fn echo(self, mut connection: &TcpStream, message: &mut [u8]) -> io::Result<bool> {
        match connection.read_exact(message) {
            Err(error) if is_end(&error) => return Ok(false),
            read => read?,
        }
        self.serve(message);
        connection.write_all(message)?;
        Ok(true)
    }
}

/// Whether the other side has closed the connection.
pub fn is_end(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset)
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

    /// The connections, each as soon as it is open and its first message, which sets it up, has
    /// been answered; so every kind opens them alike. A Unix socket gets the type of one of TCP,
    /// which makes the same system calls.
    pub fn accept(&self) -> impl Iterator<Item = io::Result<TcpStream>> {
        let mut message = self.desk.buffer();
        (0..self.connections).map(move |_| {
            let socket = retry_on_intr(|| accept_with(&self.listener, SocketFlags::CLOEXEC))?;
            let connection = TcpStream::from(socket);
            self.desk.echo(&connection, &mut message)?;
            Ok(connection)
        })
    }

    /// A thread per connection.
    fn threads(&self) -> io::Result<()> {
        let mut started = Vec::with_capacity(self.connections);
        for connection in self.accept() {
            let (connection, desk) = (connection?, self.desk);
            let builder = Builder::new().stack_size(self.stack_size);
            started.push(builder.spawn(move || serve_all(&connection, desk))?);
        }
        started.into_iter().try_for_each(|thread| joined(thread.join()))
    }

    /// A process per connection.
    fn processes(&self) -> io::Result<()> {
        let (own, mut children) = (getpid(), Vec::with_capacity(self.connections));
        for connection in self.accept() {
            let connection = connection?;
            match fork_alone()? {
                ForkResult::Child => live(own, || serve_all(&connection, self.desk)),
                ForkResult::Parent { child } => children.push(child),
            }
        }
        let outcomes = children.into_iter().map(outcome_of_process);
        threads::root_cause(outcomes).map_err(io::Error::other)
    }

    /// One thread that knows the order of requests, and waits only for one that is not there yet.
    fn one(&self) -> io::Result<()> {
        let connections: Vec<_> = self.accept().collect::<io::Result<_>>()?;
        let (mut message, mut set_up) = (self.desk.buffer(), connections.iter());
        if !set_up.try_fold(true, |_, next| self.desk.echo(next, &mut message))? {
            return Ok(());
        }
        for &next in self.order.iter().cycle() {
            if !self.desk.echo(&connections[next], &mut message)? {
                break;
            }
        }
        Ok(())
    }

    /// One thread waits for readable connections; workers serve a message of each.
    fn pool(&self) -> io::Result<()> {
        let connections: Vec<_> = self.accept().collect::<io::Result<_>>()?;
        let watch = loops::watch(&connections, ONCE)?;
        let (queue, changed) = (Mutex::new(VecDeque::new()), Condvar::new());
        let push = |next: Option<usize>| {
            queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(next);
            changed.notify_one();
        };
        let work = || {
            let mut message = self.desk.buffer();
            loop {
                let guard = queue.lock().unwrap_or_else(PoisonError::into_inner);
                let guard = changed.wait_while(guard, |queue| queue.is_empty());
                let next = guard.unwrap_or_else(PoisonError::into_inner).pop_front();
                let Some(number) = next.flatten() else { return Ok(()) };
                // One that has ended is reported once more, as such.
                self.desk.echo(&connections[number], &mut message)?;
                let data = EventData::new_u64(number as u64);
                epoll::modify(&watch, &connections[number], data, ONCE)?;
            }
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..self.workers).map(|_| scope.spawn(work)).collect();
            let mut left = connections.len();
            while left > 0 {
                loops::wait(&watch, self.desk, |number, flags| {
                    if flags.contains(EventFlags::HUP) {
                        left -= 1;
                    } else {
                        push(Some(number));
                    }
                    Ok(())
                })?;
            }
            workers.iter().for_each(|_| push(None));
            workers.into_iter().try_for_each(|worker| joined(worker.join()))
        })
    }
}

/// Reports a readable connection once.
const ONCE: EventFlags = EventFlags::IN.union(EventFlags::ONESHOT);

/// Serves a connection until its end.
fn serve_all(connection: &TcpStream, desk: Desk) -> io::Result<()> {
    let mut message = desk.buffer();
    while desk.echo(connection, &mut message)? {}
    Ok(())
}

/// The result of a thread.
fn joined(outcome: thread::Result<io::Result<()>>) -> io::Result<()> {
    outcome.unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
}
