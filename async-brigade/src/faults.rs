//! Brigades in which something goes wrong, over channels that misbehave.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};

use harness::runtime::{AsyncRuntime, RuntimeKind};
use harness::{Bench, failure};
use tokio::io::{AsyncRead, ReadBuf};

use crate::{brigade, open_pipe};

/// What a reader does instead of reading.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Fail,
    Panic,
    End,
}

/// A reader that misbehaves when its time has come.
struct Faulty<R> {
    reader: R,
    fault: Option<Fault>,
    /// Bytes that it lets through before.
    left: u32,
}

impl<R: AsyncRead + Unpin> AsyncRead for Faulty<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.fault {
            Some(fault) if self.left == 0 => match fault {
                Fault::Fail => Poll::Ready(Err(ErrorKind::OutOfMemory.into())),
                Fault::Panic => panic!("on purpose"),
                Fault::End => Poll::Ready(Ok(())),
            },
            _ => {
                let read = Pin::new(&mut self.reader).poll_read(context, buffer);
                self.left -= u32::from(read.is_ready());
                read
            }
        }
    }
}

/// The error of a brigade of 20 tasks, one of whose readers misbehaves after
/// 30 tokens: that of the task of this number, or the driver's, which is 20.
fn error_of(kind: RuntimeKind, fault: Fault, number: usize) -> String {
    let bench = Bench::standalone(20, 1000, 0, None).expect("affinity");
    let mut opened = 0;
    let open = move || {
        let (reader, writer) = open_pipe()?;
        let fault = (opened == number).then_some(fault);
        opened += 1;
        // Those that do not misbehave are not counted down.
        let left = if fault.is_some() { 30 } else { u32::MAX };
        Ok((Faulty { reader, fault, left }, writer))
    };
    let runtime = AsyncRuntime::start(kind, None, &bench).expect("a runtime");
    let error = runtime.drive(brigade(bench.clone(), open)).expect_err("a fault");
    assert_eq!(bench.measured_iterations(), 30, "{fault:?} of {number}: the laps before");
    format!("{error:#}")
}

#[test]
fn a_task_that_fails_or_panics_is_named_and_ends_the_run() {
    for kind in [RuntimeKind::Tokio, RuntimeKind::TokioCurrentThread] {
        for task in [0, 7, 19] {
            let failed = error_of(kind, Fault::Fail, task);
            assert_eq!(failed, format!("task {task} failed: out of memory"));
            let panicked = error_of(kind, Fault::Panic, task);
            assert_eq!(panicked, format!("task {task} panicked: on purpose"));
        }
    }
}

/// A task that leaves early, as if its upstream neighbour had: the driver waits
/// for the token, or its neighbour cannot send the next one.
#[test]
fn an_early_end_is_no_lap() {
    for kind in [RuntimeKind::Tokio, RuntimeKind::TokioCurrentThread] {
        for number in [0, 7, 19, 20] {
            let error = error_of(kind, Fault::End, number);
            let told = error.contains("the token to ") || error.contains("failed: Broken pipe");
            assert!(told, "{number}: {error}");
        }
    }
}

#[test]
fn when_a_channel_cannot_be_opened_the_tasks_until_then_end() {
    let bench = Bench::standalone(20, 1000, 0, None).expect("affinity");
    let mut opened = 0;
    let open = move || {
        opened += 1;
        // EMFILE: too many open files.
        if opened == 14 { Err(io::Error::from_raw_os_error(24)) } else { open_pipe() }
    };
    let runtime = AsyncRuntime::start(RuntimeKind::Tokio, None, &bench).expect("a runtime");
    let error = runtime.drive(brigade(bench.clone(), open)).expect_err("a fault");
    assert!(error.is::<failure::Shortage>(), "{error:?}");
    assert!(error.to_string().starts_with("creating channel 13: Too many open files"), "{error}");
}
