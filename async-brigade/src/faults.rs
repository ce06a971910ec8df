//! Brigades in which task 7 misbehaves after 30 tokens.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use ::compio::fs::pipe;
use ::compio::io::{AsyncRead as _, AsyncWriteExt as _};
use async_io::Async;
use harness::runtime::AsyncRuntime;
use harness::{Bench, Channel, RuntimeKind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::runtime::Builder;

use crate::{compio, executor, tokio_tasks};

#[derive(Clone, Copy, Debug)]
enum Fault {
    Fail,
    Panic,
    End,
}

/// Counts tokens and tasks, to misbehave at the right moment.
struct Faulty(Fault, AtomicUsize);

impl Faulty {
    /// The number of the next task.
    fn task(&self) -> usize {
        self.1.fetch_add(1, Relaxed)
    }
}

/// Whether the task ends now.
fn misbehave(fault: Fault, task: usize, passed: u32) -> io::Result<bool> {
    match fault {
        _ if (task, passed) != (7, 30) => Ok(false),
        Fault::Fail => Err(ErrorKind::OutOfMemory.into()),
        Fault::Panic => panic!("on purpose"),
        Fault::End => Ok(true),
    }
}

/// Checks the errors of `run`, a brigade of 20 tasks on a bench.
fn check(run: impl Fn(&Bench, Faulty) -> anyhow::Result<()>) {
    for (fault, expected) in [
        (Fault::Fail, "task 7 failed: out of memory"),
        (Fault::Panic, "task 7 panicked: on purpose"),
        (Fault::End, "task 6 failed: "),
    ] {
        let bench = Bench::standalone(20, 1000, 0, None).expect("affinity");
        let error = run(&bench, Faulty(fault, AtomicUsize::new(0))).expect_err("a fault");
        let error = format!("{error:#}");
        let ended = matches!(fault, Fault::End) && error.starts_with("waiting for the token");
        assert!(error.starts_with(expected) || ended, "{fault:?}: {error}");
        assert_eq!(bench.findings().iterations, 30, "{fault:?}: the laps before");
    }
}

#[test]
fn on_tokio_a_task_that_misbehaves_is_named_and_ends_the_run() {
    for &kind in RuntimeKind::OF_TOKIO {
        check(|bench, faulty| {
            let relay = move |_, mut upstream: Receiver, mut downstream: Sender| {
                let (fault, task) = (faulty.0, faulty.task());
                async move {
                    for passed in 0.. {
                        if upstream.read(&mut [0]).await? == 0 || misbehave(fault, task, passed)? {
                            break;
                        }
                        downstream.write_all(&[0]).await?;
                    }
                    Ok(())
                }
            };
            let runtime = AsyncRuntime::start_with(Builder::enable_io, kind, bench)?;
            let open = tokio_tasks::open_pipe;
            runtime.drive(tokio_tasks::brigade(kind, bench.clone(), open, relay))
        });
    }
}

#[test]
fn on_async_executor_a_task_that_misbehaves_is_named_too() {
    check(|bench, faulty| {
        let executor = async_executor::LocalExecutor::new();
        let relay = |_, upstream: Async<std::fs::File>, downstream: Async<std::fs::File>| {
            let (fault, task) = (faulty.0, faulty.task());
            async move {
                for passed in 0.. {
                    let read = upstream.read_with(|mut file| file.read(&mut [0])).await?;
                    if read == 0 || misbehave(fault, task, passed)? {
                        break;
                    }
                    downstream.write_with(|mut file| file.write_all(&[0])).await?;
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
    let Ok(runtime) = ::compio::runtime::Runtime::new() else {
        return println!("SKIPPED: compio: there is no io_uring");
    };
    check(|bench, faulty| {
        let relay = |_, mut upstream: pipe::Receiver, mut downstream: pipe::Sender| {
            let (fault, task) = (faulty.0, faulty.task());
            async move {
                for passed in 0.. {
                    let (read, token) = upstream.read([0]).await.into();
                    if read? == 0 || misbehave(fault, task, passed)? {
                        break;
                    }
                    downstream.write_all(token).await.0?;
                }
                Ok(())
            }
        };
        runtime.block_on(compio::brigade(bench, pipe::anonymous, relay))
    });
}
