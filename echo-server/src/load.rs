//! The load: one thread that sends requests over all connections, and verifies every answer.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use harness::counters::Counters;
use harness::failure::to_create;
use harness::rounds::Round;
use harness::samples::Samples;
use harness::{Lateness, clock};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_linger, set_socket_timeout};
use rustix::net::{SocketAddrAny, connect};

use crate::peers::{Announcer, bound};
use crate::silence::Silence;
use crate::{Channel, REQUESTS};

/// The most events that one `epoll_wait` reports.
const MOST_EVENTS: usize = 256;

const _: () = assert!(MOST_EVENTS as u64 <= REQUESTS, "an iteration ends at most once a wait");

/// Marks the timer among the events; no connection has this number.
const TIMER: u64 = u64::MAX;

/// How often to look whether a connection that does not open should be given up.
const LOOK: Duration = Duration::from_secs(1);

/// How long the set-up may take: less than a case of the runner.
const LONGEST_SET_UP: Duration = Duration::from_secs(50);

/// Where the server listens, and how it learns which connections are the load's.
pub struct Route {
    pub channel: Channel,
    pub address: SocketAddrAny,
    pub announcer: Announcer,
}

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
    route: Route,
    /// When its set-up began.
    begun_ns: u64,
    connections: Vec<Connection>,
    epoll: OwnedFd,
    silence: Silence,
    /// Never sleep: waking this process would be charged to the server.
    pub polls: bool,
    /// The connections in use without a request under way, the one that waits longest first. `one`
    /// answers in this order, so they come back in it.
    pub idle: VecDeque<usize>,
    message: Vec<u8>,
    answer: Vec<u8>,
    /// How many messages it has sent.
    sent: u64,
    /// How often it looked for answers in a round.
    pub looks: u64,
    /// How often there were none.
    pub empty_looks: u64,
    /// What it used in a round.
    pub used: Counters,
    pub wall_ns: u64,
}

impl Load {
    /// A load without connections.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(route: Route, bytes: usize, polls: bool, silence: Silence) -> anyhow::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(io::Error::from);
        let epoll = epoll.map_err(to_create("the epoll"))?;
        epoll::add(&epoll, &silence.timer, EventData::new_u64(TIMER), EventFlags::IN)
            .context("watching the timer")?;
        Ok(Self {
            route,
            begun_ns: clock::now(),
            connections: Vec::new(),
            epoll,
            silence,
            polls,
            idle: VecDeque::new(),
            message: vec![0; bytes],
            // One byte more, to notice what was not asked for.
            answer: vec![0; bytes + 1],
            sent: 0,
            looks: 0,
            empty_looks: 0,
            used: Counters::default(),
            wall_ns: 0,
        })
    }

    /// Opens the connection with the next number, and sets it up.
    ///
    /// # Errors
    /// The kernel's, or if the server does not answer.
    pub fn connect(&mut self, number: usize) -> anyhow::Result<()> {
        let opened =
            bound(self.route.channel).map_err(io::Error::from).and_then(|(socket, own)| {
                // Closing resets it: otherwise the kernel would keep its port for a minute.
                set_socket_linger(&socket, Some(Duration::ZERO))?;
                set_socket_timeout(&socket, Timeout::Send, Some(LOOK))?;
                self.route.announcer.announce(&own)?;
                Ok(socket)
            });
        let socket = opened.map_err(to_create(format_args!("connection {number}")))?;
        loop {
            match connect(&socket, &self.route.address) {
                Ok(()) | Err(Errno::ISCONN) => break,
                // A signal, or the server accepts nothing.
                Err(Errno::INTR | Errno::AGAIN | Errno::INPROGRESS | Errno::ALREADY) => {
                    self.silence.look(self.passed(), Some(number))?;
                    if self.silence.is_interrupted() {
                        return Ok(());
                    }
                }
                Err(error) => {
                    return Err(to_create(format_args!("connection {number}"))(error.into()));
                }
            }
        }
        set_socket_timeout(&socket, Timeout::Send, None).context("resetting a time-out")?;
        let data = EventData::new_u64(number as u64);
        epoll::add(&self.epoll, &socket, data, EventFlags::IN | EventFlags::ET)
            .map_err(|error| to_create(format_args!("connection {number}"))(error.into()))?;
        self.connections.push(Connection {
            socket: socket.into(),
            request: 0,
            received: 0,
            due_ns: 0,
            sent_ns: 0,
        });
        self.set_up(number)
    }

    /// Sends a message that is no request, and waits for its echo, unless the run is interrupted.
    ///
    /// # Errors
    /// If the server does not answer.
    pub fn set_up(&mut self, number: usize) -> anyhow::Result<()> {
        if self.silence.is_interrupted() {
            return Ok(());
        }
        let passed = Duration::from_nanos(clock::now().saturating_sub(self.begun_ns));
        in_time(self.connections.len(), passed)?;
        self.send(number)?;
        while self.receive(None)? == 0 && !self.silence.is_interrupted() {}
        Ok(())
    }

    /// Keeps `busy` requests under way until the round ends, and times each iteration in `iterations`.
    pub fn closed(
        &mut self,
        round: &Round,
        busy: usize,
        iterations: &mut Samples,
    ) -> anyhow::Result<()> {
        let mut sent = 0;
        let mut done = 0;
        let mut begun_ns = clock::now();
        loop {
            while sent - done < busy as u64
                && !(sent.is_multiple_of(REQUESTS) && round.is_enough(sent / REQUESTS))
                && let Some(number) = self.idle.pop_front()
            {
                self.request(number)?;
                sent += 1;
            }
            if done == sent {
                return Ok(());
            }
            let before = done;
            done += self.receive(None)? as u64;
            if done == before && self.silence.has_given_up {
                return Ok(());
            }
            if done / REQUESTS > before / REQUESTS {
                let now_ns = clock::now();
                iterations.add(now_ns - begun_ns);
                begun_ns = now_ns;
            }
        }
    }

    /// Sends each request when it is due, or as soon as a connection is idle, and times each in `late`.
    pub fn open(&mut self, round: &Round, late: &mut Lateness) -> anyhow::Result<()> {
        let mut sent = 0;
        let all = self.idle.len();
        loop {
            let mut now_ns = clock::now();
            let mut is_first = true;
            while sent < round.most()
                && !round.is_over()
                && round.due_ns(sent) <= now_ns
                && let Some(number) = self.idle.pop_front()
            {
                let connection = &mut self.connections[number];
                connection.due_ns = round.due_ns(sent);
                connection.sent_ns = now_ns;
                self.request(number)?;
                late.kept.missed += u64::from(!is_first);
                sent += 1;
                is_first = false;
                now_ns = clock::now();
            }
            if self.idle.len() == all && (sent == round.most() || round.is_over()) {
                return Ok(());
            }
            let has_next = sent < round.most() && !self.idle.is_empty();
            let answered = self.receive(has_next.then(|| round.due_ns(sent)))?;
            if answered == 0 && self.silence.has_given_up {
                return Ok(());
            }
            let now_ns = clock::now();
            for &number in self.idle.range(self.idle.len() - answered..) {
                let connection = &self.connections[number];
                late.from_due.add(now_ns.saturating_sub(connection.due_ns));
                late.from_call.add(now_ns.saturating_sub(connection.sent_ns));
            }
        }
    }

    /// Sends the next request over this connection.
    #[inline]
    fn request(&mut self, number: usize) -> anyhow::Result<()> {
        self.connections[number].request += 1;
        self.send(number)
    }

    #[inline]
    fn send(&mut self, number: usize) -> anyhow::Result<()> {
        let Connection { socket, request, received, .. } = &mut self.connections[number];
        fill(&mut self.message, number, *request);
        *received = 0;
        self.sent += 1;
        socket.write_all(&self.message).with_context(|| format!("connection {number} failed"))
    }

    /// Waits for answers, until `until_ns` if that is given, and verifies them. Returns how many are
    /// complete: their connections are the last of the idle ones. It fails for anything that was
    /// not asked for.
    #[inline]
    pub fn receive(&mut self, until_ns: Option<u64>) -> anyhow::Result<usize> {
        self.looks += 1;
        if let Some(until_ns) = until_ns
            && !self.polls
        {
            // In nanoseconds, unlike that of `epoll_wait`.
            let left = Duration::from_nanos(until_ns.saturating_sub(clock::now()));
            let time = Timespec::try_from(left)?;
            let _ = poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&time));
        }
        let at_once = (self.polls || until_ns.is_some()).then(Timespec::default);
        let mut events = [const { MaybeUninit::<Event>::uninit() }; MOST_EVENTS];
        let arrived = match epoll::wait(&self.epoll, &mut events, at_once.as_ref()) {
            Err(Errno::INTR) => return Ok(0),
            waited => waited.context("waiting for answers")?.0,
        };
        self.empty_looks += u64::from(arrived.is_empty());
        let before = self.idle.len();
        for event in &*arrived {
            self.read_answer(event.data.u64() as usize)?;
        }
        Ok(self.idle.len() - before)
    }

    /// Reads and verifies what has arrived over this connection; of the timer, looks whether the
    /// server does anything.
    #[inline]
    fn read_answer(&mut self, number: usize) -> anyhow::Result<()> {
        let Some(connection) = self.connections.get_mut(number) else { return self.look() };
        let Connection { socket, request, received, .. } = connection;
        let bytes = match socket.read(&mut self.answer) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            read => read,
        };
        let bytes = bytes.with_context(|| format!("connection {number} failed"))?;
        fill(&mut self.message, number, *request);
        ensure!(
            self.message.get(*received..*received + bytes) == Some(&self.answer[..bytes]),
            "connection {number}: the server answered with other bytes than it got"
        );
        *received += bytes;
        if *received == self.message.len() {
            self.idle.push_back(number);
        }
        Ok(())
    }

    /// Looks whether the server still does something.
    #[cold]
    fn look(&mut self) -> anyhow::Result<()> {
        let length = self.message.len();
        let waiting = self.connections.iter().position(|one| one.received < length);
        self.silence.look(self.passed(), waiting)
    }

    /// A number that rises with every byte received, and with every message sent, which resets what
    /// was received of the answer before.
    fn passed(&self) -> u64 {
        let received = self.connections.iter().map(|one| one.received as u64);
        self.sent * (self.message.len() as u64 + 1) + received.sum::<u64>()
    }
}

/// Checks that the set-up of connections, of which so many are open, does not take too long.
fn in_time(open: usize, passed: Duration) -> anyhow::Result<()> {
    ensure!(
        passed <= LONGEST_SET_UP,
        "the set-up took longer than {} s, with {open} connections open: use fewer --tasks, or end \
         the other programs that run here",
        LONGEST_SET_UP.as_secs()
    );
    Ok(())
}

/// Writes the message of a connection's request: no two are equal, up to the length. The messages
/// that set up connections, of number 0, begin with 0, and no others.
#[inline]
fn fill(message: &mut [u8], connection: usize, request: u32) {
    let words = (connection as u64) << 32 | u64::from(request);
    for (part, place) in message.chunks_mut(8).zip(0..) {
        let word = (words ^ place << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        part.copy_from_slice(&word[..part.len()]);
    }
    message[0] = if request == 0 { 0 } else { message[0] | 1 };
}

#[cfg(test)]
mod tests {
    use std::thread;

    use harness::Bench;

    use super::*;
    use crate::peers::announcements;

    /// Even a message that sets up a connection once more, after which as much has been received as
    /// before: a server that answers few of them a second is not silent.
    #[test]
    fn whatever_is_sent_or_received_is_no_silence() {
        let (listener, address) = bound(Channel::Unix).expect("a socket");
        rustix::net::listen(&listener, 2).expect("it listens");
        let (announcer, announced) = announcements().expect("a pipe");
        let echo = |socket: OwnedFd| {
            let mut socket = TcpStream::from(socket);
            Ok(thread::spawn(move || {
                let mut message = [0; 8];
                while socket.read_exact(&mut message).is_ok() {
                    socket.write_all(&message).expect("the load reads");
                }
            }))
        };
        let server = thread::spawn(move || announced.accept_all(&listener, 2, echo));
        let bench = Bench::standalone(2, 1, 0, None).expect("affinity");
        let silence = Silence::new(std::process::id(), &bench).expect("a timer");
        let route = Route { channel: Channel::Unix, address, announcer };
        let mut load = Load::new(route, 8, false, silence).expect("an epoll");
        let mut before = load.passed();
        let mut rises = |load: &Load| {
            let now = load.passed();
            assert!(now > before, "{now} after {before}");
            before = now;
        };
        for number in [0, 1] {
            load.connect(number).expect("the server answers");
            rises(&load);
        }
        for number in [0, 1] {
            load.send(number).expect("it is open");
            rises(&load);
            while load.receive(None).expect("the server answers") == 0 {}
            rises(&load);
        }
        drop(load);
        for connection in server.join().expect("no panic").expect("two connections") {
            connection.join().expect("no panic");
        }
    }

    #[test]
    fn a_set_up_has_a_bound_which_the_error_names() {
        assert!(in_time(8000, LONGEST_SET_UP).is_ok());
        let late = LONGEST_SET_UP + Duration::from_nanos(1);
        let error = in_time(5012, late).expect_err("too late").to_string();
        assert!(["50 s", "5012", "--tasks"].iter().all(|word| error.contains(word)), "{error}");
    }
}
