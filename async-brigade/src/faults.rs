//! Brigades in which something goes wrong, over channels that misbehave.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll};

use async_io::Async;
use harness::runtime::AsyncRuntime;
use harness::{Bench, Channel, RuntimeKind, failure};
use tokio::io::{AsyncRead, ReadBuf};

use crate::tokio_tasks::{brigade, open_pipe};
use crate::{compio, executor};

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
    let runtime = AsyncRuntime::start(kind, &bench).expect("a runtime");
    let error = runtime.drive(brigade(kind, bench.clone(), open)).expect_err("a fault");
    assert_eq!(bench.findings().iterations, 30, "{fault:?} of {number}: the laps before");
    format!("{error:#}")
}

/// A task that leaves early does so as if its upstream neighbour had: the driver waits
/// for the token, or its neighbour cannot send the next one.
#[test]
fn a_task_that_misbehaves_is_named_and_ends_the_run() {
    for &kind in RuntimeKind::OF_TOKIO {
        for task in [0, 7, 19] {
            let [failed, panicked] = [Fault::Fail, Fault::Panic].map(|of| error_of(kind, of, task));
            assert_eq!(failed, format!("task {task} failed: out of memory"));
            assert_eq!(panicked, format!("task {task} panicked: on purpose"));
        }
        for number in [0, 7, 19, 20] {
            let ended = error_of(kind, Fault::End, number);
            let told = ended.contains("the token to ") || ended.contains("failed: Broken pipe");
            assert!(told, "{number}: {ended}");
        }
    }
}

/// What task 7 of a runtime with a relay of its own does after 30 tokens, if it is its turn.
fn misbehave(task: usize, passed: u32, fault: Fault) -> Option<io::Result<()>> {
    match fault {
        _ if (task, passed) != (7, 30) => None,
        Fault::Fail => Some(Err(ErrorKind::OutOfMemory.into())),
        Fault::Panic => panic!("on purpose"),
        Fault::End => Some(Ok(())),
    }
}

/// Checks what `run` says, a brigade of 20 tasks on a bench of which task 7 misbehaves.
fn check_that_it_is_named(run: impl Fn(&Bench, Fault) -> anyhow::Result<()>) {
    for (fault, told) in [
        (Fault::Fail, "task 7 failed: out of memory"),
        (Fault::Panic, "task 7 panicked: on purpose"),
        (Fault::End, "task 6 failed: "),
    ] {
        let bench = Bench::standalone(20, 1000, 0, None).expect("affinity");
        let error = format!("{:#}", run(&bench, fault).expect_err("a fault"));
        let ended = matches!(fault, Fault::End) && error.starts_with("waiting for the token");
        assert!(error.starts_with(told) || ended, "{fault:?}: {error}");
        assert_eq!(bench.findings().iterations, 30, "{fault:?}: the laps before");
    }
}

#[test]
fn on_async_executor_a_task_that_misbehaves_is_named_too() {
    check_that_it_is_named(|bench, fault| {
        let executor = async_executor::LocalExecutor::new();
        let numbers = Cell::new(0);
        let relay = |_, upstream: Async<std::fs::File>, downstream: Async<std::fs::File>| {
            let (task, mut token) = (numbers.replace(numbers.get() + 1), [0]);
            async move {
                for passed in 0.. {
                    if upstream.read_with(|mut file| file.read(&mut token)).await? == 0 {
                        break;
                    }
                    if let Some(ended) = misbehave(task, passed, fault) {
                        return ended;
                    }
                    downstream.write_with(|mut file| file.write_all(&token)).await?;
                }
                Ok(())
            }
        };
        let brigade = executor::brigade(&executor, bench, Channel::Pipe, relay);
        async_io::block_on(executor.run(brigade))
    });
}

#[test]
fn on_compio_a_task_that_misbehaves_is_named_too() {
    use ::compio::fs::pipe;
    use ::compio::io::{AsyncRead as _, AsyncWriteExt as _};

    let Ok(runtime) = ::compio::runtime::Runtime::new() else {
        return println!("SKIPPED: compio: there is no io_uring");
    };
    check_that_it_is_named(|bench, fault| {
        let numbers = Cell::new(0);
        let relay = |_, mut upstream: pipe::Receiver, mut downstream: pipe::Sender| {
            let task = numbers.replace(numbers.get() + 1);
            async move {
                for passed in 0.. {
                    let (read, token) = upstream.read([0]).await.into();
                    if read? == 0 {
                        break;
                    }
                    if let Some(ended) = misbehave(task, passed, fault) {
                        return ended;
                    }
                    downstream.write_all(token).await.0?;
                }
                Ok(())
            }
        };
        runtime.block_on(compio::brigade(bench, pipe::anonymous, relay))
    });
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
    let kind = RuntimeKind::Tokio;
    let runtime = AsyncRuntime::start(kind, &bench).expect("a runtime");
    let error = runtime.drive(brigade(kind, bench.clone(), open)).expect_err("a fault");
    assert!(error.is::<failure::Shortage>(), "{error:?}");
    assert!(error.to_string().starts_with("creating channel 13: Too many open files"), "{error}");
}
