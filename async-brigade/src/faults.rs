//! Brigades in which task 7 misbehaves after 30 tokens, and the size of a task. Tasks of
//! async-executor end as those of compio do.

use std::io::{self, Cursor, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use harness::runtime::AsyncRuntime;
use harness::{Bench, RuntimeFlags, RuntimeKind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::runtime::Builder;

use crate::tokio_tasks;

/// Whether the task ends now, or how it fails.
type Fault = fn() -> io::Result<bool>;

fn misbehave(fault: Fault, task: usize, passed: u32) -> io::Result<bool> {
    if (task, passed) == (7, 30) { fault() } else { Ok(false) }
}

/// Checks the errors of `run`, a brigade of 20 tasks that counts those it creates.
fn check(run: impl Fn(&Bench, Fault, AtomicUsize) -> anyhow::Result<()>) {
    // The neighbour of a task that ends cannot send it the next token, or the driver waits in vain.
    let faults: [(Fault, _); 3] = [
        (|| Err(ErrorKind::OutOfMemory.into()), ["task 7 "; 2]),
        (|| panic!("on purpose"), ["task 7 panicked"; 2]),
        (|| Ok(true), ["task 6 ", "waiting for the token"]),
    ];
    for (fault, expected) in faults {
        let bench = Bench::standalone(20, 1000, 0, None).expect("affinity");
        let error = run(&bench, fault, AtomicUsize::new(0)).expect_err("a fault");
        let error = format!("{error:#}");
        assert!(expected.iter().any(|text| error.starts_with(text)), "{error}");
        assert_eq!(bench.iterations(), 30, "the laps before");
    }
}

#[test]
fn on_tokio_a_task_that_misbehaves_is_named_and_ends_the_run() {
    for &kind in RuntimeKind::OF_TOKIO {
        check(|bench, fault, tasks| {
            let relay = move |_, mut upstream: Receiver, mut downstream: Sender| {
                let task = tasks.fetch_add(1, Relaxed);
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
            let flags = RuntimeFlags::from(kind);
            let runtime = AsyncRuntime::start_with(Builder::enable_io, flags, bench)?;
            let open = tokio_tasks::open_pipe;
            runtime.drive(tokio_tasks::brigade(kind, bench.clone(), open, relay))
        });
    }
}

#[test]
fn a_task_contains_its_channels_once() {
    let bench = Bench::standalone(1, 1, 0, None).expect("affinity");
    let channel = Cursor::new([0_u8; 1024]);
    let alone = size_of_val(&channel);
    let task = tokio_tasks::relay(bench.station(0), channel, tokio::io::sink());
    let size = size_of_val(&task);
    assert!(size < alone + 512, "{size} bytes with a channel of {alone}");
}
