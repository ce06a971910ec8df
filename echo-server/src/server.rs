//! The server: a process of its own, which echoes every message of N connections.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, Builder};

use harness::process_stat::{fork_alone, live};
use harness::threads::outcome_of_process;
use harness::{Work, threads};
use nix::unistd::{ForkResult, getpid};
use rustix::event::epoll::{self, EventData, EventFlags};

use crate::loops::Watch;
use crate::{Kind, loops, tasks};

/// What a server has: its listening socket, the number of connections, and a request's needs.
pub struct Server {
    pub listener: OwnedFd,
    pub is_tcp: bool,
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
    /// System calls of the server's loop, in memory shared with the generator.
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
    pub fn echo(self, mut connection: &File, message: &mut [u8]) -> io::Result<bool> {
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
            Kind::Compio => tasks::compio(self),
        }
    }

    /// The next connection.
    pub fn accept(&self) -> io::Result<File> {
        accept(&self.listener, self.is_tcp)
    }

    /// A connection that the kernel has just accepted under this number.
    pub fn accepted(&self, number: i32) -> io::Result<File> {
        accepted(number, self.is_tcp)
    }

    /// A thread per connection.
    fn threads(&self) -> io::Result<()> {
        let mut started = Vec::with_capacity(self.connections);
        for _ in 0..self.connections {
            let (connection, desk) = (self.accept()?, self.desk);
            let builder = Builder::new().stack_size(self.stack_size);
            started.push(builder.spawn(move || serve_all(&connection, desk))?);
        }
        started.into_iter().try_for_each(joined)
    }

    /// A process per connection.
    fn processes(&self) -> io::Result<()> {
        let (own, mut children) = (getpid(), Vec::with_capacity(self.connections));
        for _ in 0..self.connections {
            let connection = self.accept()?;
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
        let (mut message, mut connections) = (self.desk.buffer(), Vec::new());
        for _ in 0..self.connections {
            let connection = self.accept()?;
            if !self.desk.echo(&connection, &mut message)? {
                return Ok(());
            }
            connections.push(connection);
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
        let watch = Arc::new(Watch::new(&self.listener)?);
        let ready = Arc::new((Mutex::new(VecDeque::new()), Condvar::new()));
        let left = Arc::new(AtomicU64::new(self.connections as u64));
        let mut workers = Vec::with_capacity(self.workers);
        for _ in 0..self.workers {
            let (watch, ready, left) = (Arc::clone(&watch), Arc::clone(&ready), Arc::clone(&left));
            let desk = self.desk;
            workers.push(thread::spawn(move || {
                let mut message = desk.buffer();
                let (queue, changed) = &*ready;
                loop {
                    let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
                    let queue = changed.wait_while(queue, |queue: &mut VecDeque<_>| {
                        queue.is_empty() && left.load(Relaxed) > 0
                    });
                    let next = queue.unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some((number, connection)): Option<(usize, Arc<File>)> = next else {
                        return Ok(());
                    };
                    if desk.echo(&connection, &mut message)? {
                        let data = EventData::new_u64(number as u64);
                        epoll::modify(&watch.epoll, &*connection, data, ONCE)?;
                    } else if left.fetch_sub(1, Relaxed) == 1 {
                        changed.notify_all();
                    }
                }
            }));
        }
        let (is_tcp, desk, number) = (self.is_tcp, self.desk, self.connections);
        let listener = self.listener.try_clone()?;
        // It waits for ever; the end of the process ends it.
        thread::spawn(move || -> io::Result<()> {
            let mut connections = Vec::with_capacity(number);
            loop {
                watch.wait(desk, |event| {
                    let Some(connection) = event else {
                        let connection = Arc::new(accept(&listener, is_tcp)?);
                        watch.add(connections.len(), &*connection, ONCE)?;
                        connections.push(connection);
                        return Ok(());
                    };
                    let next = (connection, Arc::clone(&connections[connection]));
                    ready.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(next);
                    ready.1.notify_one();
                    Ok(())
                })?;
            }
        });
        workers.into_iter().try_for_each(joined)
    }
}

/// Reports a readable connection once.
const ONCE: EventFlags = EventFlags::IN.union(EventFlags::ONESHOT);

/// Accepts a connection.
pub fn accept(listener: &OwnedFd, is_tcp: bool) -> io::Result<File> {
    loop {
        // SAFETY: the kernel stores no address.
        let number = unsafe {
            libc::accept4(
                listener.as_raw_fd(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                libc::SOCK_CLOEXEC,
            )
        };
        if number >= 0 {
            return accepted(number, is_tcp);
        }
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// A connection that the kernel has just accepted.
fn accepted(number: i32, is_tcp: bool) -> io::Result<File> {
    // SAFETY: it is open, and nobody else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(number) };
    if !is_tcp {
        return Ok(socket.into());
    }
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    Ok(OwnedFd::from(stream).into())
}

/// Serves a connection until its end.
fn serve_all(connection: &File, desk: Desk) -> io::Result<()> {
    let mut message = desk.buffer();
    while desk.echo(connection, &mut message)? {}
    Ok(())
}

/// The result of a thread.
fn joined(thread: thread::JoinHandle<io::Result<()>>) -> io::Result<()> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
}
