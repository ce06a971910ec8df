//! Brigades in which a task misbehaves, on async-executor. On tokio, tasks end as those of
//! async-brigade do.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use async_executor::LocalExecutor;
use futures::executor::block_on;
use harness::Bench;
use harness::async_tasks::caught;
use harness::hand_over::swapped;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::brigade;

type Fault = fn() -> io::Result<()>;

/// Task 7 misbehaves instead of passing on its 31st token.
async fn faulty(
    task: usize,
    fault: Fault,
    mut upstream: Receiver<usize>,
    downstream: Sender<usize>,
) -> io::Result<()> {
    let mut passed = 0;
    while let Some(token) = upstream.recv().await {
        if (task, passed) == (7, 30) {
            return fault();
        }
        passed += 1;
        downstream.send(token + 1).await.map_err(|_| ErrorKind::BrokenPipe)?;
    }
    Ok(())
}

/// The error of a brigade of 20 tasks.
fn error_of(fault: Fault) -> String {
    let bench = Bench::standalone(20, 1000, 0, None).expect("affinity");
    let numbers = AtomicUsize::new(0);
    let relay = move |_, upstream, downstream| {
        faulty(numbers.fetch_add(1, Relaxed), fault, upstream, downstream)
    };
    let executor = LocalExecutor::new();
    let spawn = |task| executor.spawn(caught(task));
    let ended =
        block_on(executor.run(brigade(bench.clone(), || swapped(channel(1)), spawn, relay)));
    assert_eq!(bench.iterations(), 30, "the laps before, and no other");
    format!("{:#}", ended.expect_err("a fault"))
}

#[test]
fn a_task_that_does_not_pass_the_token_on_ends_the_run_and_is_named() {
    let faults: [Fault; 2] = [|| Err(ErrorKind::OutOfMemory.into()), || panic!("on purpose")];
    assert!(faults.iter().all(|fault| error_of(*fault).starts_with("task 7 ")));
    // The driver waits in vain, or the task's neighbour cannot send the next one.
    let ended = error_of(|| Ok(()));
    assert!(ended.starts_with("waiting for the token") || ended.starts_with("task 6 "), "{ended}");
}
