//! The load: one thread that sends requests over all connections, and verifies every answer.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use harness::rounds::{Lateness, Round};
use harness::samples::Samples;
use harness::{Measured, clock, failure};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::SocketAddrAny;
use rustix::net::sockopt::set_socket_linger;

use crate::{REQUESTS, connect};

/// The most events that one `epoll_wait` reports.
const MOST_EVENTS: usize = 256;

const _: () = assert!(MOST_EVENTS as u64 <= REQUESTS, "an iteration ends at most once a wait");

/// Connections that are opened before their first answers are awaited: the kernel's queue of
/// connections to accept is never full.
const AT_ONCE: usize = 64;

/// One side of a connection.
struct Connection {
    socket: TcpStream,
    /// The number of its current request.
    request: u32,
    /// Bytes of its answer so far: all, if no request is under way.
    received: usize,
    /// When the request was due and when it was sent, at a rate.
    due_ns: u64,
    sent_ns: u64,
}

/// All connections, and how they are used.
pub struct Load {
    connections: Vec<Connection>,
    epoll: OwnedFd,
    /// Never sleep: waking this process would be charged to the server.
    polls: bool,
    /// Those without a request under way, the one that waits longest first.
    idle: VecDeque<usize>,
    /// With a server that is told the order of requests: this order, the position of the next that
    /// becomes idle, and which are answered out of turn.
    fixed: Option<(Vec<usize>, usize, Vec<bool>)>,
    message: Vec<u8>,
    answer: Vec<u8>,
    /// Connections whose answers have arrived.
    answered: Vec<usize>,
    pub counts: Counts,
}

/// How often it looked for answers, and how often there were none.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    pub polls: u64,
    pub empty: u64,
}

impl Load {
    /// A load over no connections.
    pub fn new(bytes: usize, polls: bool) -> anyhow::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(io::Error::from);
        let epoll = epoll.map_err(|error| failure::creating(format_args!("the epoll"), error))?;
        Ok(Self {
            connections: Vec::new(),
            epoll,
            polls,
            idle: VecDeque::new(),
            fixed: None,
            message: vec![0; bytes],
            // One byte more, to notice what was not asked for.
            answer: vec![0; bytes + 1],
            answered: Vec::with_capacity(MOST_EVENTS),
            counts: Counts::default(),
        })
    }

    /// Opens the connections. Calls `observe` when the first of many are open.
    pub fn connect(
        &mut self,
        address: &SocketAddrAny,
        numbers: impl Iterator<Item = usize>,
        observe: &mut impl FnMut(usize),
    ) -> anyhow::Result<()> {
        for number in numbers {
            if number == AT_ONCE {
                observe(number);
            }
            let open = || -> io::Result<TcpStream> {
                let socket = connect(address)?;
                let data = EventData::new_u64(number as u64);
                epoll::add(&self.epoll, &socket, data, EventFlags::IN | EventFlags::ET)?;
                Ok(socket.into())
            };
            let socket = open()
                .map_err(|error| failure::creating(format_args!("connection {number}"), error))?;
            let (due_ns, sent_ns) = (0, 0);
            self.connections.push(Connection { socket, request: 0, received: 0, due_ns, sent_ns });
            if number % AT_ONCE == AT_ONCE - 1 {
                self.set_up(number + 1 - AT_ONCE)?;
            }
        }
        self.set_up(self.connections.len() / AT_ONCE * AT_ONCE)
    }

    /// Proves that each connection is served: what opened it has answered its first message, and
    /// its task answers this one.
    pub fn set_up_all(&mut self) -> anyhow::Result<()> {
        (0..self.connections.len()).step_by(AT_ONCE).try_for_each(|first| self.set_up(first))
    }

    /// Has a message that is no request answered over connections from the `first` on.
    fn set_up(&mut self, first: usize) -> anyhow::Result<()> {
        let numbers = first..(first + AT_ONCE).min(self.connections.len());
        let mut left = numbers.len();
        for number in numbers {
            self.send(number, 0)?;
        }
        while left > 0 {
            left -= self.receive(None)?;
        }
        Ok(())
    }

    /// Uses these connections, in this order. If it is `fixed`, a connection becomes idle only
    /// after the one before it.
    pub fn begin(&mut self, order: &[usize], fixed: bool) {
        self.idle = order.iter().copied().collect();
        self.fixed = fixed.then(|| (order.to_vec(), 0, vec![false; self.connections.len()]));
    }

    /// Makes the connections idle that have been answered; returns how many.
    fn give_back(&mut self) -> u64 {
        let number = self.answered.len() as u64;
        match &mut self.fixed {
            None => self.idle.extend(self.answered.drain(..)),
            Some((order, next, answered)) => {
                self.answered.drain(..).for_each(|number| answered[number] = true);
                while std::mem::take(&mut answered[order[*next]]) {
                    self.idle.push_back(order[*next]);
                    *next = (*next + 1) % order.len();
                }
            }
        }
        number
    }

    /// Keeps `busy` requests under way until the round ends, and times each iteration.
    pub fn closed(&mut self, round: &Round, busy: usize) -> anyhow::Result<Samples> {
        let mut iterations = Samples::new(Measured {
            operations: REQUESTS,
            ..Measured::single("iteration", "request")
        });
        let (mut sent, mut done, mut is_over) = (0, 0, false);
        let mut may_send = |sent: u64| {
            is_over = is_over || sent.is_multiple_of(REQUESTS) && round.is_enough(sent / REQUESTS);
            !is_over
        };
        let mut begun_ns = clock::now();
        loop {
            while sent - done < busy as u64 && !self.idle.is_empty() && may_send(sent) {
                self.send_next(0)?;
                sent += 1;
            }
            if done == sent {
                break;
            }
            self.receive(None)?;
            let before = done;
            done += self.give_back();
            if done / REQUESTS > before / REQUESTS {
                let now_ns = clock::now();
                iterations.add(now_ns - begun_ns);
                begun_ns = now_ns;
            }
        }
        Ok(iterations)
    }

    /// Sends each request when it is due, or as soon as a connection is idle.
    pub fn open(&mut self, round: &Round) -> anyhow::Result<Lateness> {
        let mut late = Lateness::new("request");
        let (mut sent, mut done) = (0, 0);
        loop {
            let mut now_ns = clock::now();
            let mut is_first = true;
            while sent < round.most() && !round.is_over() && round.due_ns(sent) <= now_ns {
                let due_ns = round.due_ns(sent);
                let Some(&number) = self.idle.front() else { break };
                self.connections[number].sent_ns = now_ns;
                self.send_next(due_ns)?;
                late.missed += u64::from(!is_first);
                (sent, is_first, now_ns) = (sent + 1, false, clock::now());
            }
            if done == sent && (sent == round.most() || round.is_over()) {
                return Ok(late);
            }
            let next_ns = Some(round.due_ns(sent)).filter(|_| sent < round.most());
            self.receive(next_ns.filter(|_| !self.idle.is_empty()))?;
            let now_ns = clock::now();
            for &number in &self.answered {
                let of = &self.connections[number];
                late.from_due.add(now_ns.saturating_sub(of.due_ns));
                late.from_call.add(now_ns.saturating_sub(of.sent_ns));
            }
            done += self.give_back();
        }
    }

    /// Nothing arrives that was not asked for.
    pub fn check_silence(&mut self) -> anyhow::Result<()> {
        let arrived = self.wait(Some(0))?;
        ensure!(arrived == 0, "the server answered more requests than it got");
        Ok(())
    }

    /// Sends the next request over the connection that has been idle for longest.
    #[inline]
    fn send_next(&mut self, due_ns: u64) -> anyhow::Result<()> {
        let number = self.idle.pop_front().context("every connection is busy")?;
        self.connections[number].due_ns = due_ns;
        self.connections[number].request += 1;
        self.send(number, self.connections[number].request)
    }

    #[inline]
    fn send(&mut self, number: usize, request: u32) -> anyhow::Result<()> {
        fill(&mut self.message, number, request);
        self.connections[number].received = 0;
        let sent = (&self.connections[number].socket).write_all(&self.message);
        sent.map_err(|error| lost(number, &error))
    }

    /// Waits for answers, until `until_ns` if that is given, and verifies them. Those that are
    /// complete are in `answered`; returns how many.
    #[inline]
    fn receive(&mut self, until_ns: Option<u64>) -> anyhow::Result<usize> {
        self.answered.clear();
        self.wait(until_ns)?;
        Ok(self.answered.len())
    }

    fn wait(&mut self, until_ns: Option<u64>) -> anyhow::Result<usize> {
        let mut events = [const { MaybeUninit::<Event>::uninit() }; MOST_EVENTS];
        self.counts.polls += 1;
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        if let Some(until_ns) = until_ns.filter(|_| !self.polls) {
            // In nanoseconds, unlike that of `epoll_wait`.
            let ns = until_ns.saturating_sub(clock::now()) as i64;
            let time = Timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 };
            let _ = poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&time));
        }
        let time = (self.polls || until_ns.is_some()).then_some(&zero);
        let arrived = match epoll::wait(&self.epoll, &mut events, time) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => return Ok(0),
            Err(error) => return Err(io::Error::from(error)).context("waiting for answers"),
        };
        self.counts.empty += u64::from(arrived.is_empty());
        for event in &*arrived {
            let number = event.data.u64() as usize;
            if self.take(number)? {
                self.answered.push(number);
            }
        }
        Ok(arrived.len())
    }

    /// Reads and verifies what has arrived; returns whether the answer is complete.
    #[inline]
    fn take(&mut self, number: usize) -> anyhow::Result<bool> {
        let of = &mut self.connections[number];
        let bytes = match (&of.socket).read(&mut self.answer) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            read => read,
        };
        let bytes = bytes.map_err(|error| lost(number, &error))?;
        fill(&mut self.message, number, of.request);
        let expected = self.message.get(of.received..of.received + bytes);
        ensure!(
            expected == Some(&self.answer[..bytes]),
            "connection {number}: the server answered with other bytes than it got"
        );
        of.received += bytes;
        Ok(of.received == self.message.len())
    }
}

impl Drop for Load {
    /// Resets the connections: otherwise the kernel would keep a port for each for a minute.
    fn drop(&mut self) {
        for of in &self.connections {
            // A failure only keeps the port.
            let _ = set_socket_linger(&of.socket, Some(Duration::ZERO));
        }
    }
}

/// The error of a connection that failed or ended.
fn lost(number: usize, error: &io::Error) -> anyhow::Error {
    anyhow!("connection {number} failed: {error}")
}

/// Writes the message of a connection's request: no two are equal, up to the length. Those with
/// which connections are set up, of number 0, begin with 0, and only those.
#[inline]
fn fill(message: &mut [u8], connection: usize, request: u32) {
    let words = (connection as u64) << 32 | u64::from(request);
    for (part, place) in message.chunks_mut(8).zip(0..) {
        let word = (words ^ place << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        part.copy_from_slice(&word[..part.len()]);
    }
    message[0] = if request == 0 { 0 } else { message[0] | 1 };
}
