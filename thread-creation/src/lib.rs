//! The cost of creating a thread: until it runs, and until it is joined.
//!
//! One iteration: create N threads whose body ends at once, then join them. `create` is the time
//! until the last call returns, for N threads; `join` the time from there until all are joined.
//! `start` is measured in separate iterations, which take a quarter of the time, for each thread:
//! from the call that creates it to the first line of its body. `create_cold` is `create` in the very
//! first iteration, when no stack can be reused yet.
//!
//! The C library keeps the stacks of joined threads for reuse, but at most 40 MiB of them. So the
//! number of threads determines `create`: with few threads each gets the stack of a joined thread,
//! and with 1000 threads of 1 MiB, 24 of 25 get a newly mapped one.
//!
//! What is counted: one operation is one thread. CPU time and switches cover creation and joining
//! together. How many switches a thread takes depends on how far the new threads run in parallel
//! with their creator, so none is claimed. The kernel's work after a thread has been joined is
//! charged to no process; it is measured in separate laps, on one CPU, and recorded next to the CPU
//! time.
//!
//! Known biases: a thread of the standard library makes twice as many system calls as one of
//! `pthread_create` in C, which docs/BIAS.md explains. Threads that end while others are being created
//! leave fewer than N alive at once.

mod ends;

use std::sync::RwLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

use harness::limits::Kind;
use harness::threads::{self, join};
use harness::{Bench, Fact, Launch, Measured, Spec, StackFlag, TaskKind, clock, failure};

/// Time creating, starting and joining N threads.
///
/// One iteration: create N threads whose body ends at once, then join them. One
/// operation is one thread. `start` is the time from the call to the first line
/// of the body; `create_cold` is the creation in the first iteration, before
/// any stack can be reused. Later ones reuse the stacks that the C library
/// keeps, at most 40 MiB.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  brigade thread-creation --tasks 20
  brigade thread-creation --stack-size 131072 --placement same-cpu")]
struct Flags {
    #[command(flatten)]
    stack: StackFlag,
}

const SPEC: Spec = Spec { tasks: 1000, iters: 100, ..Spec::new(TaskKind::Thread, Kind::Thread) };

harness::program!(SPEC, declare, creation);

fn declare(flags: &Flags, _: &Launch<'_>) -> anyhow::Result<Spec> {
    Ok(Spec { stack_bytes: flags.stack.stack_size as u64, ..SPEC })
}

fn creation(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let tasks = bench.tasks();
    let per_thread = |name, operation| Measured::per_task(name, operation, tasks);
    let mut threads = Vec::with_capacity(tasks);

    for lap in bench.cold_lap(per_thread("create_cold", "thread creation")) {
        create(flags, tasks, &mut threads)?;
        lap.finish();
        join_all(&mut threads)?;
    }
    let phases = [per_thread("create", "thread creation"), per_thread("join", "join")];
    for mut lap in bench.laps(&phases) {
        create(flags, tasks, &mut threads)?;
        lap.split();
        join_all(&mut threads)?;
        lap.finish();
    }
    let mut timed = Vec::with_capacity(tasks);
    for lap in bench.repeated_laps(Measured::single("start", "start")) {
        for task in 0..tasks {
            timed.push((clock::now(), spawn(flags, task, clock::now)?));
        }
        for (task, (called, thread)) in timed.drain(..).enumerate() {
            lap.sample(join(task, thread)?.saturating_sub(called));
        }
        lap.finish();
    }
    let at_once = tasks.min(ends::MOST_THREADS);
    let end_ns = ends::uncounted_ns(at_once, || {
        create(flags, at_once, &mut threads)?;
        join_all(&mut threads)
    })?;
    bench.report(Fact::ThreadEndNs(end_ns));
    observe_alive(flags, bench)
}

/// Creates threads whose body is empty.
fn create(flags: &Flags, tasks: usize, threads: &mut Vec<JoinHandle<()>>) -> anyhow::Result<()> {
    for task in 0..tasks {
        threads.push(spawn(flags, task, || ())?);
    }
    Ok(())
}

fn join_all(threads: &mut Vec<JoinHandle<()>>) -> anyhow::Result<()> {
    threads.drain(..).enumerate().try_for_each(|(task, thread)| join(task, thread))
}

fn spawn<T: Send + 'static>(
    flags: &Flags,
    task: usize,
    body: impl FnOnce() -> T + Send + 'static,
) -> anyhow::Result<JoinHandle<T>> {
    thread::Builder::new()
        .stack_size(flags.stack.stack_size)
        .spawn(body)
        .map_err(failure::to_create(format_args!("task {task}")))
}

/// Observes the process while N threads are alive and blocked.
fn observe_alive(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let started = AtomicUsize::new(0);
    let gate = RwLock::new(());
    thread::scope(|scope| {
        let closed = gate.write();
        for task in bench.tasks_to_create() {
            threads::spawn(scope, task, flags.stack.stack_size, || {
                started.fetch_add(1, Relaxed);
                drop(gate.read());
                Ok(())
            })?;
        }
        while started.load(Relaxed) < bench.tasks() && !bench.is_interrupted() {
            thread::yield_now();
        }
        let observed = bench.observe();
        drop(closed);
        observed
    })
}
