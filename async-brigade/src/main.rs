//! A brigade of async tasks: what a switch between tasks costs when each of
//! them waits for I/O.
//!
//! One iteration: the driver writes a byte into the first channel, each of N
//! async tasks in turn reads it from its upstream channel and writes it into
//! its downstream one, and the driver reads it from the last: N + 1 hops.
//!
//! Each kind of runtime has its relay in a file of its own, because each reads in its own way.
//! One process has one runtime.
//!
//! What is counted: a hop is one `write`, one `read` that succeeds, mostly one
//! more `read` that finds nothing, and a task's wake-up through `epoll`. On
//! the current thread no hop needs the kernel to switch. On several workers
//! the driver runs as a task on one of them, and what the kernel switches is
//! workers that find nothing to do; no number is claimed for that.
//!
//! By io_uring (`compio`) a hop is a write and a read as requests, which the
//! thread submits when it has nothing else to run.
//!
//! Known biases: a hop includes the I/O, whose cost alone `one-thread-brigade`
//! tells. One `epoll_wait` that reports several events at once would be shared
//! by them; with one token in flight it reports one.

mod compio;
mod executor;
mod flags;
mod tokio_tasks;

use std::process::ExitCode;

use harness::{Amounts, Bench, Launch, Spec};

use flags::Flags;
use harness::runtime::AnyRuntime;

const SPEC: Spec = Spec { tasks: 500, iters: 10_000, spread: true, ..Spec::NEW };

fn main() -> ExitCode {
    harness::run(harness::program!(), &SPEC, declare, run)
}

fn declare(flags: &Flags, launch: &Launch<'_>) -> anyhow::Result<Spec> {
    let channel = flags.carrier.channel.amounts();
    let Some(kind) = flags.runtime.of_tokio() else {
        flags.threads.refuse("this runtime runs every task on one thread")?;
        let (each, fixed) = match flags.runtime {
            AnyRuntime::Compio => (channel.and(compio::request()), Amounts::compio()),
            _ => (channel.watched(), executor::amounts()),
        };
        let per_task = Amounts::async_task().and(each);
        let fixed = fixed.and(each);
        let load = Some(flags.load);
        return Ok(Spec { switches: Some(0.0), spread: false, load, per_task, fixed, ..SPEC });
    };
    let each = channel.watched();
    let per_task = Amounts::async_task().and(each);
    Ok(Spec {
        switches: kind.is_one_thread().then_some(0.0),
        spread: !kind.is_one_thread(),
        load: Some(flags.load),
        per_task,
        fixed: kind.amounts(flags.threads.workers, launch.cpus()).and(each),
        ..SPEC
    })
}

fn run(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let (channel, workers) = (flags.carrier.channel, flags.threads.workers);
    match (flags.runtime, flags.runtime.of_tokio()) {
        (_, Some(kind)) => tokio_tasks::measure(kind, workers, channel, bench),
        (AnyRuntime::Compio, None) => compio::measure(channel, bench),
        (_, None) => executor::measure(channel, bench),
    }
}

#[cfg(test)]
mod faults;
