//! Brigades with failures, over channels that misbehave.

use std::cell::Cell;
use std::io::{self, ErrorKind};

use harness::hand_over::{Source, ThreadOrProcess, futex};
use harness::{Bench, LoadFlags, StackFlag, WorkFlag, failure};

use crate::{Flags, ThreadChannel, brigade};

/// The channel is ignored: every brigade here opens its own.
const FLAGS: Flags = Flags {
    kind: ThreadOrProcess::Thread,
    channel: ThreadChannel::Futex,
    stack: StackFlag { stack_size: 1 << 20 },
    load: LoadFlags { work: WorkFlag { work: 0 }, working_set: 0, stride: None },
};

type Fault = fn() -> io::Result<Option<u8>>;

/// A source that misbehaves instead of receiving a 31st token.
struct Faulty<R> {
    source: R,
    fault: Option<Fault>,
    left: u32,
}

impl<R: Source> Source for Faulty<R> {
    fn receive(&mut self) -> io::Result<Option<u8>> {
        self.left = self.left.saturating_sub(1);
        match self.fault {
            Some(fault) if self.left == 0 => fault(),
            _ => self.source.receive(),
        }
    }
}

/// The error of a brigade of 20 tasks whose channel with this number misbehaves. The last channel
/// is the driver's.
fn error_of(number: usize, fault: Fault) -> String {
    let bench = Bench::standalone(20, 1000, 0, None).expect("affinity");
    let opened = Cell::new(0);
    let open = || {
        let (source, sink) = futex()?;
        let fault = (opened.replace(opened.get() + 1) == number).then_some(fault);
        Ok((Faulty { source, fault, left: 31 }, sink))
    };
    let error = brigade(&FLAGS, &bench, open).expect_err("a fault");
    assert_eq!(bench.iterations(), 30, "laps before, and no other");
    format!("{error:#}")
}

#[test]
fn a_task_that_misbehaves_is_named_and_ends_the_run() {
    for task in [0, 7, 19] {
        let failed = error_of(task, || Err(ErrorKind::OutOfMemory.into()));
        assert!(failed.starts_with(&format!("task {task} ")), "{failed}");
        let panicked = error_of(task, || panic!("on purpose"));
        assert!(panicked.starts_with(&format!("task {task} panicked")), "{panicked}");
        // The driver waits for the token, or its neighbour cannot send the next one.
        let ended = error_of(task, || Ok(None));
        let neighbour = format!("task {} ", task.wrapping_sub(1));
        assert!(ended.contains("the token") || ended.starts_with(&neighbour), "{task}: {ended}");
    }
    assert!(error_of(20, || Ok(None)).contains("the token"));
}

#[test]
fn if_a_channel_cannot_be_opened_the_tasks_so_far_end() {
    let bench = Bench::standalone(20, 1000, 0, None).expect("affinity");
    let opened = Cell::new(0);
    let open = || match opened.replace(opened.get() + 1) {
        13 => Err(io::Error::from_raw_os_error(libc::EMFILE)),
        _ => futex(),
    };
    let error = brigade(&FLAGS, &bench, open).expect_err("a limit");
    assert!(error.is::<failure::Shortage>() && error.to_string().contains("channel 13"), "{error}");
}
