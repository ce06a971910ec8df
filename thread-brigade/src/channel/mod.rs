//! The channels that link the threads: what a token travels by from one of
//! them to the next.
//!
//! Each has room for one token, at least, and two ends that close when they
//! are dropped: a brigade of any of them ends from its first thread to its
//! last, and one of which a thread has failed does so too.

pub mod condvar;
pub mod eventfd;
pub mod futex;
pub mod mpsc;
mod stream;

use std::io;

use harness::Amounts;

/// What `--channel` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// A pipe
    Pipe,
    /// A pair of connected Unix stream sockets, used in one direction
    #[value(name = "socketpair")]
    SocketPair,
    /// An event counter of the kernel
    #[value(name = "eventfd")]
    EventFd,
    /// A word in memory, and the system call futex
    Futex,
    /// std's bounded channel, of capacity 1
    Mpsc,
    /// A slot in memory, std's mutex and condition variable
    Condvar,
}

impl Channel {
    /// What one channel takes.
    pub fn amounts(self) -> Amounts {
        match self {
            Self::Pipe => Amounts::pipe(),
            Self::SocketPair => Amounts::socket_pair(),
            Self::EventFd => Amounts::eventfd(),
            Self::Futex | Self::Mpsc | Self::Condvar => Amounts::channel_in_memory(),
        }
    }
}

/// The end of a channel that tokens come out of.
pub trait Source: Send {
    /// Waits for a token and takes it; `None` when there is none left and the
    /// other end is closed. A signal that is caught does not end the wait.
    fn receive(&mut self) -> io::Result<Option<u8>>;
}

/// The end of a channel that tokens go into.
pub trait Sink: Send {
    /// Puts a token in, waiting while the channel is full. A signal that is
    /// caught does not end the wait.
    ///
    /// # Errors
    /// [`io::ErrorKind::BrokenPipe`] when the other end is closed, of sockets
    /// with a token in it [`io::ErrorKind::ConnectionReset`]; the kernel's.
    fn send(&mut self, token: u8) -> io::Result<()>;
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::ErrorKind;
    use std::os::unix::thread::JoinHandleExt as _;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::sync::mpsc as std_mpsc;
    use std::thread::{self, JoinHandle};

    use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
    use nix::unistd::{Pid, gettid};

    use super::*;

    /// A check of one kind of channel.
    trait Check {
        fn of<R: Source + 'static, S: Sink + 'static>(&self, kind: Channel, ends: (R, S));
    }

    /// Checks a new channel of every kind.
    fn each(check: &impl Check) {
        check.of(Channel::Pipe, harness::Channel::Pipe.open().expect("a pipe"));
        check.of(Channel::SocketPair, harness::Channel::SocketPair.open().expect("sockets"));
        check.of(Channel::EventFd, eventfd::channel().expect("a counter"));
        check.of(Channel::Futex, futex::channel());
        check.of(Channel::Mpsc, mpsc::channel());
        check.of(Channel::Condvar, condvar::channel());
    }

    /// More tokens than any channel has room for: a pipe holds 65536. They differ, so that a lost
    /// one shows.
    fn tokens() -> impl Iterator<Item = u8> {
        (0..70_000_u32).map(|number| (number % 251) as u8)
    }

    fn send_all(mut sink: impl Sink) -> io::Result<()> {
        tokens().try_for_each(|token| sink.send(token))
    }

    fn check_all(kind: Channel, mut source: impl Source) {
        for token in tokens() {
            assert_eq!(source.receive().expect("it receives"), Some(token), "{kind:?}");
        }
        assert_eq!(source.receive().expect("its end"), None, "{kind:?}");
    }

    /// A thread, and its number with the kernel.
    fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> (JoinHandle<T>, Pid) {
        let (teller, told) = std_mpsc::channel();
        let thread = thread::spawn(move || {
            teller.send(gettid()).expect("somebody asks");
            body()
        });
        (thread, told.recv().expect("it began"))
    }

    /// Waits until a thread sleeps in the kernel.
    fn wait_until_asleep(thread: Pid) {
        loop {
            let stat = fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
            if stat.expect("it lives").contains(") S ") {
                return;
            }
            thread::yield_now();
        }
    }

    #[test]
    fn a_channel_that_is_full_loses_nothing() {
        struct Order;
        impl Check for Order {
            fn of<R: Source + 'static, S: Sink + 'static>(&self, kind: Channel, ends: (R, S)) {
                let (source, sink) = ends;
                let sender = thread::spawn(move || send_all(sink));
                check_all(kind, source);
                sender.join().expect("no panic").expect("it sends");
            }
        }
        each(&Order);
    }

    #[test]
    fn the_last_token_comes_out_before_the_end_which_stays() {
        struct End;
        impl Check for End {
            fn of<R: Source + 'static, S: Sink + 'static>(&self, kind: Channel, ends: (R, S)) {
                let (mut source, mut sink) = ends;
                sink.send(7).expect("there is room");
                drop(sink);
                let received = [(); 3].map(|()| source.receive().expect("it receives"));
                assert_eq!(received, [Some(7), None, None], "{kind:?}");
            }
        }
        each(&End);
    }

    #[test]
    fn one_who_waits_for_a_token_is_woken_by_the_end() {
        struct End;
        impl Check for End {
            fn of<R: Source + 'static, S: Sink + 'static>(&self, kind: Channel, ends: (R, S)) {
                let (mut source, sink) = ends;
                let (receiver, number) = spawn(move || source.receive());
                wait_until_asleep(number);
                drop(sink);
                let received = receiver.join().expect("no panic").expect("its end");
                assert_eq!(received, None, "{kind:?}");
            }
        }
        each(&End);
    }

    #[test]
    fn a_sink_whose_other_end_is_closed_is_broken() {
        struct Broken;
        impl Check for Broken {
            fn of<R: Source + 'static, S: Sink + 'static>(&self, kind: Channel, ends: (R, S)) {
                let (source, mut sink) = ends;
                drop(source);
                let error = sink.send(7).expect_err("nobody is there");
                assert_eq!(error.kind(), ErrorKind::BrokenPipe, "{kind:?}");
            }
        }
        each(&Broken);
    }

    #[test]
    fn one_who_waits_for_room_is_told_when_the_other_end_closes() {
        struct Waiting;
        impl Check for Waiting {
            fn of<R: Source + 'static, S: Sink + 'static>(&self, kind: Channel, ends: (R, S)) {
                let (source, mut sink) = ends;
                let until_broken = move || loop {
                    if let Err(error) = sink.send(7) {
                        return error.kind();
                    }
                };
                let (sender, number) = spawn(until_broken);
                wait_until_asleep(number);
                drop(source);
                let told = sender.join().expect("no panic");
                let closed = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset];
                assert!(closed.contains(&told), "{kind:?}: {told}");
            }
        }
        each(&Waiting);
    }

    /// The signals that have been caught.
    static CAUGHT: AtomicU64 = AtomicU64::new(0);

    extern "C" fn count(_: libc::c_int) {
        CAUGHT.fetch_add(1, Relaxed);
    }

    /// Sends a sleeping thread signals, each of which ends the system call that
    /// it sleeps in: the handler is not one that restarts them.
    fn disturb<T>(thread: &JoinHandle<T>, number: Pid) {
        let action = SigAction::new(SigHandler::Handler(count), SaFlags::empty(), SigSet::empty());
        // SAFETY: the handler does nothing but add to an atomic number.
        unsafe { sigaction(Signal::SIGUSR1, &action) }.expect("a handler");
        for _ in 0..20 {
            wait_until_asleep(number);
            let caught = CAUGHT.load(Relaxed);
            // SAFETY: the thread has not been joined.
            unsafe { libc::pthread_kill(thread.as_pthread_t(), libc::SIGUSR1) };
            while CAUGHT.load(Relaxed) == caught {
                thread::yield_now();
            }
        }
    }

    #[test]
    fn signals_that_are_caught_disturb_neither_end() {
        struct Disturbed;
        impl Check for Disturbed {
            fn of<R: Source + 'static, S: Sink + 'static>(&self, kind: Channel, ends: (R, S)) {
                let (mut source, mut sink) = ends;
                let (receiver, number) = spawn(move || (source.receive(), source));
                disturb(&receiver, number);
                sink.send(7).expect("it sends");
                let (received, source) = receiver.join().expect("no panic");
                assert_eq!(received.expect("it receives"), Some(7), "{kind:?}");

                let (sender, number) = spawn(move || send_all(sink));
                disturb(&sender, number);
                check_all(kind, source);
                sender.join().expect("no panic").expect("it sends");
            }
        }
        each(&Disturbed);
    }
}
