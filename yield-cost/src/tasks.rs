//! Cycles of one task: work alone, awaits with and without a yield (distinguished by counting
//! polls), and a coroutine.

use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

use anyhow::{Context as _, ensure};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use futures::executor::LocalPool;
use futures::task::LocalSpawnExt as _;
use harness::runtime::AsyncRuntime;
use harness::work::spend;
use harness::{Bench, Measured, RuntimeKind};

/// Cycles per iteration.
pub const CYCLES: u64 = 5_000;

/// The measurement of one iteration.
pub fn block() -> Measured {
    Measured { name: "iteration", operation: "cycle", operations: CYCLES, covers_tasks: true }
}

/// Measures cycles of work without a switch.
pub fn no_switch(bench: &Bench, units: u64) -> anyhow::Result<()> {
    for lap in bench.laps(&[block()]) {
        for _ in 0..CYCLES {
            spend(units);
        }
        lap.finish();
    }
    bench.observe()
}

/// Measures [`cycles`] of a task on the LocalPool of `futures`.
pub fn local_pool<F: Future<Output = ()> + 'static>(
    bench: &Bench,
    units: u64,
    switch: impl Fn() -> F + 'static,
    expected: u64,
) -> anyhow::Result<()> {
    let mut pool = LocalPool::new();
    let cycles = cycles(bench.clone(), units, switch, expected);
    let task = pool.spawner().spawn_local_with_handle(cycles).context("spawning the task")?;
    pool.run_until(task)
}

/// Measures cycles that end with a yield to the runtime. They run as a spawned
/// task: a future that a runtime blocks on bypasses its queue.
pub fn tokio(kind: RuntimeKind, bench: &Bench, units: u64) -> anyhow::Result<()> {
    let cycles = cycles(bench.clone(), units, Yield::new, CYCLES);
    AsyncRuntime::start(kind.into(), bench)?
        .drive(async { ::tokio::spawn(cycles).await.context("running the task")? })
}

/// Measures cycles of a coroutine, which counts them.
pub fn coroutine(bench: &Bench, units: u64) -> anyhow::Result<()> {
    let mut task = Coroutine::new(move |caller: &Yielder<(), u64>, ()| {
        for cycle in 1.. {
            spend(units);
            caller.suspend(cycle);
        }
    });
    let mut expected = 0;
    for lap in bench.laps(&[block()]) {
        let mut last = CoroutineResult::Return(());
        for _ in 0..CYCLES {
            last = task.resume(());
        }
        lap.finish();
        expected += CYCLES;
        let done = last.as_yield();
        ensure!(done == Some(expected), "the coroutine was suspended {done:?} of {expected} times");
    }
    bench.observe()
}

/// The laps of a task that awaits what `switch` returns at the end of every cycle. The task must be
/// polled `expected` times per lap.
async fn cycles<F: Future<Output = ()>>(
    bench: Bench,
    units: u64,
    switch: impl Fn() -> F,
    expected: u64,
) -> anyhow::Result<()> {
    let polls = &AtomicU64::new(0);
    let laps = async move {
        for lap in bench.laps(&[block()]) {
            let before = polls.load(Relaxed);
            for _ in 0..CYCLES {
                spend(units);
                switch().await;
            }
            lap.finish();
            let polled = polls.load(Relaxed) - before;
            ensure!(polled == expected, "{CYCLES} awaits polled their task {polled} times");
        }
        bench.observe()
    };
    counted(polls, laps).await
}

/// Runs `future` and counts its polls. Nobody else counts, so that the count
/// needs no locked instruction.
async fn counted<T>(polls: &AtomicU64, future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    poll_fn(|context| {
        polls.store(polls.load(Relaxed) + 1, Relaxed);
        future.as_mut().poll(context)
    })
    .await
}

/// A future that wakes its task and yields, once.
pub struct Yield {
    yielded: bool,
}

impl Yield {
    pub fn new() -> Self {
        Self { yielded: false }
    }

    /// A future that has already yielded. The compiler must not know that: it
    /// would remove the await.
    pub fn ready() -> Self {
        Self { yielded: black_box(true) }
    }
}

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polls_of(future: impl Future<Output = ()>) -> u64 {
        let polls = AtomicU64::new(0);
        futures::executor::block_on(counted(&polls, future));
        polls.into_inner()
    }

    #[test]
    fn a_yield_is_one_more_poll_and_a_ready_await_is_none() {
        assert_eq!(polls_of(async {}), 1);
        assert_eq!(polls_of(async { Yield::ready().await }), 1);
        let twice = async { (Yield::new().await, Yield::new().await).0 };
        assert_eq!(polls_of(twice), 3);
    }

    #[test]
    fn a_wrong_number_of_polls_fails_the_run() {
        let bench = Bench::standalone(1, 1, 0, None).expect("affinity");
        let task = cycles(bench, 0, Yield::ready, CYCLES);
        assert!(futures::executor::block_on(task).is_err(), "nothing yielded");
    }
}
