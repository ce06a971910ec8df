//! Tasks that share one lock: how often they acquire it together, and how long each one waits.
//!
//! Each task takes the lock, works `--inside` units, releases it and works `--outside` units.
//! Without `--rate` the loop is closed: no task pauses. One iteration is 1024 acquisitions by
//! any of the tasks; the task that makes the last one reads the clock before it releases the
//! lock. `turn` has one sample per task: its mean time from one acquisition to the next, over the
//! whole run. The shortest is the luckiest task's; the time of an acquisition divided by it is
//! that task's share.
//!
//! With `--rate` the loop is open: acquisition k is due at k / rate seconds and belongs to task
//! k modulo N. One iteration is one acquisition, and its time runs from there until the task
//! has the lock (no coordinated omission); `from_call` is the time from the call alone. A
//! thread waits in `clock_nanosleep` without timer slack, an async task yields to its runtime.
//!
//! What is counted: only the lock protects a counter, which must show as many acquisitions as the
//! tasks count themselves; otherwise the lock does not exclude, and the run fails. A single thread
//! in a closed loop never waits and claims no switch. How often several switch depends on the
//! lock, and no number is claimed.
//!
//! Known biases: each acquisition reads the counter before the work inside and writes it after, two
//! accesses to the lock's cache line. A processor overlaps real work with the acquisition; here
//! it cannot, since each piece of work depends on the one before it. An open loop reads the clock
//! inside. Async tasks do not suspend while they hold the lock, so on one worker no task ever
//! finds it taken. A thread's lock blocks the worker of an async task. All tasks start at the same
//! time, and the last iterations may run without some of them.

mod flags;
mod locks;
mod round;
mod task;

use std::sync::Arc;
use std::thread::{self, Builder};

use futures::executor::block_on;
use harness::runtime::{AsyncRuntime, outcome, spawn};
use harness::{Amounts, Bench, Launch, RuntimeKind, Spec, WorkFlag, async_tasks, threads};
use tokio::sync::{mpsc, watch};

use crate::flags::{Flags, Kind};
use crate::locks::{Adaptive, Broken, Futex, Inherit, Lock, Normal, Spin};
use crate::round::Driver;
use crate::task::{Page, Task};

/// The stack of a thread, in bytes.
const STACK_BYTES: usize = 256 << 10;

const SPEC: Spec = Spec {
    tasks: 8,
    iters: 1000,
    spread: true,
    runtimes: &[RuntimeKind::Threads, RuntimeKind::Tokio, RuntimeKind::TokioCurrentThread],
    ..Spec::NEW
};

harness::program!(SPEC, declare, run);

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    let is_thread = flags.runtime.runtime == RuntimeKind::Threads;
    // A lone tokio task yields now and then, in tokio's locks.
    let never_waits = is_thread && launch.tasks == 1 && flags.rate.is_none();
    let task = if is_thread { Amounts::thread(STACK_BYTES as u64) } else { Amounts::async_task() };
    let taken = if flags.rate.is_some() { task::samples() } else { Amounts::NONE };
    let page = if flags.hold_fault { Page::AMOUNTS } else { Amounts::NONE };
    Ok(Spec {
        switches: never_waits.then_some(0.0),
        load: Some(WorkFlag { work: flags.inside }.into()),
        per_task: task.and(taken).and(page),
        fixed: flags.runtime.amounts(launch.cpus())?,
        ..SPEC
    })
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    match flags.lock {
        Kind::Std => measure::<std::sync::Mutex<()>>(flags, bench),
        Kind::ParkingLot => measure::<parking_lot::Mutex<()>>(flags, bench),
        Kind::Pthread => measure::<Normal>(flags, bench),
        Kind::PthreadAdaptive => measure::<Adaptive>(flags, bench),
        Kind::PthreadPi => measure::<Inherit>(flags, bench),
        Kind::Spin => measure::<Spin>(flags, bench),
        Kind::Futex => measure::<Futex>(flags, bench),
        Kind::Tokio => measure::<tokio::sync::Mutex<()>>(flags, bench),
        Kind::AsyncLock => measure::<async_lock::Mutex<()>>(flags, bench),
        Kind::Broken => measure::<Broken>(flags, bench),
    }
}

/// Measures tasks that share a lock of this kind.
fn measure<L: Lock>(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let (rounds, announced) = watch::channel(None);
    let (sender, done) = mpsc::unbounded_channel();
    let driver = Driver::<L>::new(flags, bench, done);
    let task = {
        let (board, flags, bench) = (Arc::clone(&driver.board), flags.clone(), bench.clone());
        move |number| {
            let (board, flags, bench) = (Arc::clone(&board), flags.clone(), bench.clone());
            Task::new(number, flags, bench, board, announced.clone(), sender.clone())
        }
    };
    if flags.runtime.runtime == RuntimeKind::Threads {
        return among_threads(driver, rounds, task);
    }
    let runtime = AsyncRuntime::start(flags.runtime, bench)?;
    runtime.drive(among_async_tasks(driver, rounds, task))
}

fn among_threads<L: Lock>(
    mut driver: Driver<L>,
    rounds: round::Announcer,
    task: impl Fn(usize) -> Task<L>,
) -> anyhow::Result<()> {
    let bench = driver.bench.clone();
    thread::scope(|scope| {
        let mut tasks = Vec::with_capacity(bench.tasks());
        // Any failure here closes the channel of rounds, which ends all tasks.
        let rounds = rounds;
        for number in bench.creation() {
            let (bench, task) = (bench.clone(), task(number));
            let body = move || {
                let placed = bench.placement().pin(number + 1);
                let placed = placed.and_then(|()| Ok(task::be_punctual()?));
                block_on(task.live(placed))
            };
            let builder = Builder::new().stack_size(STACK_BYTES);
            tasks.push(threads::spawn(scope, number, builder, body)?);
        }
        let driven = block_on(driver.drive(&rounds));
        threads::end(&bench, driven, rounds, tasks)
    })
}

async fn among_async_tasks<L: Lock>(
    mut driver: Driver<L>,
    rounds: round::Announcer,
    task: impl Fn(usize) -> Task<L>,
) -> anyhow::Result<()> {
    let (bench, kind) = (driver.bench.clone(), driver.flags.runtime.runtime);
    let tasks = bench.creation().map(|number| spawn(kind, task(number).live(Ok(()))));
    let tasks: Vec<_> = tasks.collect();
    let driven = driver.drive(&rounds).await;
    async_tasks::end(&bench, driven, rounds, tasks.into_iter().map(outcome)).await
}
