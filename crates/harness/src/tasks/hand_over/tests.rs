//! Requirements on every channel.

use std::fs;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::thread::JoinHandleExt as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::{Pid, gettid};

use super::*;

type Ends = (Box<dyn Source>, Box<dyn Sink>);

fn boxed<R: Source + 'static, S: Sink + 'static>((source, sink): (R, S)) -> Ends {
    (Box::new(source), Box::new(sink))
}

/// A new channel of every kind.
fn channels() -> impl Iterator<Item = (&'static str, Ends)> {
    let mut channels = vec![
        ("pipe", boxed(pipe().expect("a pipe"))),
        ("socketpair", boxed(UnixStream::pair().expect("sockets"))),
        ("eventfd", boxed(eventfd().expect("a counter"))),
        ("mpsc", boxed(swapped(mpsc::channel()))),
        ("rendezvous", boxed(swapped(mpsc::sync_channel(0)))),
        ("condvar", boxed(monitor())),
    ];
    for kind in [ThreadOrProcess::Thread, ThreadOrProcess::Process] {
        channels.push(("shared condvar", boxed(shared_monitor(kind).expect("memory"))));
        let futexes = halves(|| Futex::new(kind), kind).expect("memory");
        channels.extend(futexes.map(|channel| ("futex", boxed(channel))));
        let yields = halves(|| Yield, kind).expect("memory");
        channels.extend(yields.map(|channel| ("yield", boxed(channel))));
    }
    let parks = halves(Park::default, ThreadOrProcess::Thread).expect("memory");
    channels.extend(parks.map(|channel| ("park", boxed(channel))));
    channels.into_iter()
}

/// Tokens differ, so that a lost one is noticed.
#[test]
fn tokens_arrive_in_order_and_closing_reaches_the_waiter() {
    for ((name, there), (_, back)) in channels().zip(channels()) {
        let mut source = back.0;
        let mut sink = there.1;
        let partner = thread::spawn(move || {
            let mut source = there.0;
            let mut sink = back.1;
            while let Some(token) = source.receive().expect("it receives") {
                sink.send(token).expect("it sends");
            }
        });
        for token in (0..250).cycle().take(2000) {
            sink.send(token).expect("it sends");
            assert_eq!(source.receive().expect("it receives"), Some(token), "{name}");
        }
        drop(sink);
        partner.join().expect("its end");
        let ends = [(); 2].map(|()| source.receive().expect("it receives"));
        assert_eq!(ends, [None, None], "{name}");
    }
}

/// `recv` and `send` refuse a pipe, `read` and `write` would not.
#[test]
fn sockets_are_used_as_the_standard_library_uses_them() {
    let (reader, writer) = pipe().expect("a pipe");
    let [mut reader, mut writer] =
        [reader, writer].map(|file| UnixStream::from(OwnedFd::from(file)));
    let expected = Some(libc::ENOTSOCK);
    let of_std = (&writer).write(&[7]).expect_err("std sends");
    assert_eq!(of_std.raw_os_error(), expected);
    let sent = Sink::send(&mut writer, 7).expect_err("it sends");
    assert_eq!(sent.raw_os_error(), expected);
    let received = reader.receive().expect_err("it receives");
    assert_eq!(received.raw_os_error(), expected);
}

#[test]
fn the_last_token_arrives_before_the_end() {
    // A rendezvous leaves nothing behind; the source of `park` must register before it can be woken.
    let kept = channels().filter(|(name, _)| !["rendezvous", "park"].contains(name));
    for (name, (mut source, mut sink)) in kept {
        sink.send(7).expect("there is room");
        drop(sink);
        let received = [(); 3].map(|()| source.receive().expect("it receives"));
        assert_eq!(received, [Some(7), None, None], "{name}");
    }
}

#[test]
fn the_closer_ends_the_wait_for_a_killed_process() {
    for (name, (mut source, sink)) in channels() {
        let Some(close) = source.closer() else { continue };
        std::mem::forget(sink);
        let waiting = thread::spawn(move || source.receive().expect("it receives"));
        close();
        assert_eq!(waiting.join().expect("its end"), None, "{name}");
    }
}

/// The number of signals caught.
static CAUGHT: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: libc::c_int) {
    CAUGHT.fetch_add(1, Relaxed);
}

/// Sends signals to a sleeping thread, each of which interrupts its system call: the handler does
/// not restart it.
fn disturb<T>(thread: &JoinHandle<T>, number: Pid) {
    for _ in 0..20 {
        let stat = format!("/proc/self/task/{number}/stat");
        while !fs::read_to_string(&stat).expect("it lives").contains(") S ") {
            thread::yield_now();
        }
        let caught = CAUGHT.load(Relaxed);
        // SAFETY: the thread has not been joined.
        unsafe { libc::pthread_kill(thread.as_pthread_t(), libc::SIGUSR1) };
        while CAUGHT.load(Relaxed) == caught {
            thread::yield_now();
        }
    }
}

#[test]
fn caught_signals_do_not_disturb_a_wait() {
    let action = SigAction::new(SigHandler::Handler(count), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler only adds to an atomic number.
    unsafe { sigaction(Signal::SIGUSR1, &action) }.expect("a handler");
    // A yielding source does not sleep.
    for (name, (mut source, mut sink)) in channels().filter(|(name, _)| *name != "yield") {
        let (sender, number) = mpsc::channel();
        let receiver = thread::spawn(move || {
            sender.send(gettid()).expect("somebody asks");
            source.receive()
        });
        disturb(&receiver, number.recv().expect("it began"));
        sink.send(7).expect("it sends");
        let received = receiver.join().expect("no panic").expect("it receives");
        assert_eq!(received, Some(7), "{name}");
    }
}
