//! Brigades with failures, over channels that misbehave.

use std::cell::Cell;
use std::io::{self, ErrorKind};

use harness::hand_over::{Reach, Sink, Source, futex};
use harness::{Bench, LoadFlags, StackFlag, WorkFlag, failure};

use crate::brigade;
use crate::flags::{Flags, ThreadChannel};

/// The flag for the channel is ignored: every brigade here opens its own.
const FLAGS: Flags = Flags {
    kind: Reach::Thread,
    channel: ThreadChannel::Futex,
    stack: StackFlag { stack_size: 1 << 20 },
    load: LoadFlags { work: WorkFlag { work: 0 }, working_set: 0, stride: None },
};

/// What a source does instead of receiving.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Fail,
    Panic,
    End,
}

/// A source that misbehaves after this many tokens.
struct Faulty<R> {
    source: R,
    fault: Option<Fault>,
    left: u32,
}

impl<R: Source> Source for Faulty<R> {
    fn receive(&mut self) -> io::Result<Option<u8>> {
        self.left = self.left.saturating_sub(1);
        match self.fault.filter(|_| self.left == 0) {
            Some(Fault::Fail) => Err(ErrorKind::OutOfMemory.into()),
            Some(Fault::Panic) => panic!("on purpose"),
            Some(Fault::End) => Ok(None),
            None => self.source.receive(),
        }
    }
}

/// The error of a brigade of 20 tasks over channels that `open` opens by their numbers, which must
/// have measured this many laps.
fn error_of<R: Source, S: Sink>(
    open: impl Fn(usize) -> io::Result<(R, S)>,
    laps: u64,
) -> anyhow::Error {
    let bench = Bench::standalone(20, 1000, 0, None).expect("affinity");
    let numbers = Cell::new(0);
    let error = brigade(&FLAGS, &bench, || open(numbers.replace(numbers.get() + 1)));
    assert_eq!(bench.findings().iterations, laps, "laps before, and no other");
    error.expect_err("a fault")
}

/// If a task ends early, the driver waits for the token, or its neighbour cannot send the next one.
/// The last channel is the driver's.
#[test]
fn a_task_that_misbehaves_is_named_and_ends_the_run() {
    for number in [0, 7, 19, 20] {
        let error_of = |fault| {
            let open = |opened| {
                let (source, sink) = futex()?;
                let fault = (opened == number).then_some(fault);
                Ok((Faulty { source, fault, left: 31 }, sink))
            };
            format!("{:#}", error_of(open, 30))
        };
        if number < 20 {
            assert_eq!(error_of(Fault::Fail), format!("task {number} failed: out of memory"));
            assert_eq!(error_of(Fault::Panic), format!("task {number} panicked: on purpose"));
        }
        let ended = error_of(Fault::End);
        let possible = [
            "waiting for the token to come round: unexpected end of file".to_owned(),
            "sending the token to task 0: broken pipe".to_owned(),
            format!("task {} failed: broken pipe", number.wrapping_sub(1)),
        ];
        assert!(possible.contains(&ended), "{number}: {ended}");
    }
}

#[test]
fn if_a_channel_cannot_be_opened_the_tasks_so_far_end() {
    let open = |opened| match opened {
        13 => Err(io::Error::from_raw_os_error(libc::EMFILE)),
        _ => futex(),
    };
    let error = error_of(open, 0);
    assert!(error.is::<failure::Shortage>(), "{error:?}");
    assert!(
        error.to_string().starts_with("cannot create channel 13: Too many open files"),
        "{error}"
    );
}
