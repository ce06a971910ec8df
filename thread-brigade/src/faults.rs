//! Brigades in which something goes wrong, over channels that misbehave.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use harness::hand_over::{self, Futex, Sink, Source, WordChannel};
use harness::{Bench, LoadFlags, StackFlag, WorkFlag, failure};

use crate::brigade;
use crate::flags::{Flags, ThreadChannel};

/// The channel is not looked at: every brigade here opens its own.
const FLAGS: Flags = Flags {
    channel: ThreadChannel::Futex,
    stack: StackFlag { stack_size: 1 << 20 },
    load: LoadFlags { work: WorkFlag { work: 0 }, working_set: 0, stride: None },
};

fn futex() -> WordChannel<Futex> {
    hand_over::futex().expect("memory")
}

/// What a source does instead of receiving.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Fail,
    Panic,
    End,
}

/// A source that misbehaves when its time has come.
struct Faulty<R> {
    source: R,
    fault: Option<Fault>,
    /// Tokens that it lets through before.
    left: u32,
}

impl<R: Source> Source for Faulty<R> {
    fn receive(&mut self) -> io::Result<Option<u8>> {
        match self.fault {
            Some(fault) if self.left == 0 => match fault {
                Fault::Fail => Err(ErrorKind::OutOfMemory.into()),
                Fault::Panic => panic!("on purpose"),
                Fault::End => Ok(None),
            },
            _ => {
                self.left = self.left.saturating_sub(1);
                self.source.receive()
            }
        }
    }
}

/// The error of a brigade of 20 tasks, one of whose sources misbehaves after
/// 30 tokens: that of the task of this number, or the driver's, which is 20.
fn error_of(fault: Fault, number: usize) -> String {
    let bench = Bench::standalone(20, 1000, 0, None).expect("affinity");
    let opened = AtomicUsize::new(0);
    let brigade = brigade(&FLAGS, &bench, || {
        let (source, sink) = futex();
        let fault = (opened.fetch_add(1, Relaxed) == number).then_some(fault);
        Ok((Faulty { source, fault, left: 30 }, sink))
    });
    assert_eq!(bench.findings().iterations, 30, "{fault:?} of {number}: laps before, and no other");
    format!("{:#}", brigade.expect_err("a fault"))
}

#[test]
fn a_task_that_fails_or_panics_is_named_and_ends_the_run() {
    for task in [0, 7, 19] {
        let [failed, panicked] = [Fault::Fail, Fault::Panic].map(|fault| error_of(fault, task));
        assert_eq!(failed, format!("task {task} failed: out of memory"));
        assert_eq!(panicked, format!("task {task} panicked: on purpose"));
    }
}

/// A task that leaves early, as if its upstream neighbour had: the driver waits
/// for the token, or its neighbour cannot send the next one.
#[test]
fn an_early_end_is_no_lap() {
    for number in [0, 7, 19, 20] {
        let error = error_of(Fault::End, number);
        let told = [
            "waiting for the token to come round: unexpected end of file".to_owned(),
            "sending the token to task 0: broken pipe".to_owned(),
            format!("task {} failed: broken pipe", number.wrapping_sub(1)),
        ];
        assert!(told.contains(&error), "{number}: {error}");
    }
}

/// A sink that fails: the other end has not closed.
struct Refusing<S>(Option<S>);

impl<S: Sink> Sink for Refusing<S> {
    fn send(&mut self, token: u8) -> io::Result<()> {
        self.0.as_mut().ok_or(ErrorKind::StorageFull)?.send(token)
    }
}

#[test]
fn a_task_that_cannot_pass_the_token_on_is_named() {
    let bench = Bench::standalone(20, 1000, 0, None).expect("affinity");
    let opened = AtomicUsize::new(0);
    let error = brigade(&FLAGS, &bench, || {
        let (source, sink) = futex();
        // That of task 11 is closed from the start, and so its neighbour ends.
        Ok((source, Refusing((opened.fetch_add(1, Relaxed) != 12).then_some(sink))))
    });
    let error = format!("{:#}", error.expect_err("a fault"));
    assert_eq!(error, "task 11 failed: no storage space");
    assert_eq!(bench.findings().iterations, 0);
}

#[test]
fn when_a_channel_cannot_be_opened_the_tasks_until_then_end() {
    let bench = Bench::standalone(20, 1000, 0, None).expect("affinity");
    let opened = AtomicUsize::new(0);
    let brigade = brigade(&FLAGS, &bench, || match opened.fetch_add(1, Relaxed) {
        13 => Err(io::Error::from_raw_os_error(libc::EMFILE)),
        _ => Ok(futex()),
    });
    let error = brigade.expect_err("a fault");
    assert!(error.is::<failure::Shortage>(), "{error:?}");
    assert!(error.to_string().starts_with("creating channel 13: Too many open files"), "{error}");
}
