//! Sleepers as threads.

use std::io;
use std::sync::Arc;
use std::thread;

use futures::executor::block_on;
use harness::Bench;
use harness::crew::Crew;
use harness::rounds::{Ran, Round};
use harness::threads::{outcome, root_cause, spawn};

use crate::calls::{Bell, Futex, Wait};
use crate::conductor::{Conductor, greedy, sleeper};
use crate::{Flags, STACK_BYTES};

/// The wait of a sleeper that the kernel's timer wakes.
struct Timer;

impl Wait for Timer {
    async fn wait(&self, round: &Round, due_ns: u64) -> io::Result<Option<Ran>> {
        round.sleep_until(due_ns).await
    }
}

/// Measures threads that sleep until their times.
///
/// # Errors
/// If [`measure`] fails.
pub fn by_timer(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    measure(&Conductor::<Futex>::new(flags, bench, 0), |_| Timer)
}

/// Measures threads that wait for a futex.
///
/// # Errors
/// If [`measure`] fails.
pub fn by_futex(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let conductor = Conductor::<Futex>::new(flags, bench, bench.tasks());
    measure(&conductor, |task| Arc::clone(&conductor.calls[task]))
}

/// Measures threads, each of which waits with `wait`.
///
/// # Errors
/// If a thread cannot be created, fails or panics; those of the conductor.
fn measure<W: Wait>(
    conductor: &Conductor<impl Bell>,
    wait: impl Fn(usize) -> W,
) -> anyhow::Result<()> {
    let Conductor { flags, bench, .. } = conductor;
    thread::scope(|scope| {
        let crew = Crew::default();
        let mut threads = Vec::with_capacity(bench.tasks());
        for task in bench.tasks_to_create() {
            let member = crew.member();
            let wait = wait(task);
            let body = move || {
                bench.placement().pin(task + 1)?;
                block_on(sleeper(task, member, wait))
            };
            threads.push(spawn(scope, task, STACK_BYTES, body)?);
        }
        for number in 0..flags.greedy as usize {
            let is_over = crew.watch();
            let body = move || {
                bench.placement().pin(number)?;
                block_on(greedy(flags.clone(), is_over, async || thread::yield_now()))
            };
            threads.push(spawn(scope, bench.tasks() + number, STACK_BYTES, body)?);
        }
        let conducted = conductor.conduct(crew);
        root_cause(threads.into_iter().map(outcome)).and(conducted)
    })
}
