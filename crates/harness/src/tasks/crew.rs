//! Tasks that take part in rounds together.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use anyhow::Context as _;
use futures::executor::block_on;
use tokio::sync::{mpsc, watch};

use crate::measure::bench::Bench;
use crate::measure::clock;
use crate::measure::rounds::Round;
use crate::tasks::runtime::{self, AsyncRuntime};
use crate::tasks::runtime_kind::RuntimeFlags;
use crate::tasks::{async_tasks, threads};

/// Tasks that take part in every round. Dropping it ends them.
#[derive(Debug)]
pub struct Crew<T> {
    announcer: watch::Sender<Option<Arc<Round>>>,
    sender: mpsc::UnboundedSender<Option<T>>,
    results: mpsc::UnboundedReceiver<Option<T>>,
}

impl<T> Default for Crew<T> {
    fn default() -> Self {
        let (sender, results) = mpsc::unbounded_channel();
        Self { announcer: watch::channel(None).0, sender, results }
    }
}

impl<T> Crew<T> {
    /// A new member.
    pub fn member(&self) -> Member<T> {
        let announced = self.announcer.subscribe();
        Member { announced, sender: self.sender.clone(), round: None }
    }

    /// Runs the crew's members, whose main functions these are in the order of their numbers, as threads
    /// with stacks of so many bytes or as tasks of a runtime, while `drive` drives the rounds and returns
    /// the crew.
    ///
    /// # Errors
    /// If a thread cannot be created, or the runtime started, `drive` fails, or a task does.
    pub fn run_all<B, D>(
        self,
        bench: &Bench,
        flags: RuntimeFlags,
        stack_bytes: usize,
        bodies: Vec<B>,
        drive: impl FnOnce(Self) -> D + Send + 'static,
    ) -> anyhow::Result<()>
    where
        T: Send + 'static,
        B: Future<Output = io::Result<()>> + Send + 'static,
        D: Future<Output = (Self, anyhow::Result<()>)> + Send,
    {
        if flags.are_threads() {
            return thread::scope(|scope| {
                // Any failure here drops the crew, which ends all tasks.
                let mut tasks = Vec::with_capacity(bodies.len());
                for (number, body) in bench.tasks_to_create().zip(bodies) {
                    let placed = move || {
                        bench.placement().pin(number + 1)?;
                        clock::be_punctual();
                        block_on(body)
                    };
                    tasks.push(threads::spawn(scope, number, stack_bytes, placed)?);
                }
                let (crew, driven) = block_on(drive(self));
                threads::end(bench, driven, crew, tasks.into_iter().map(threads::outcome))
            });
        }
        let own = bench.clone();
        AsyncRuntime::start(flags, bench)?.drive(async move {
            let start = |(_, body)| runtime::spawn(flags.runtime, body);
            let tasks: Vec<_> = own.tasks_to_create().zip(bodies).map(start).collect();
            let (crew, driven) = drive(self).await;
            async_tasks::end(&own, driven, crew, tasks.into_iter().map(runtime::outcome)).await
        })
    }

    /// A function that returns whether the run is over, for tasks that take part in no round.
    pub fn watch(&self) -> impl Fn() -> bool + Send + use<T>
    where
        T: Send,
    {
        let sender = self.sender.clone();
        move || sender.is_closed()
    }

    /// Runs one round with all members, and returns what each measured.
    ///
    /// # Errors
    /// If a member failed or panicked; it reports the reason itself.
    pub async fn run(&mut self, round: &Arc<Round>) -> anyhow::Result<Vec<T>> {
        let members = self.announcer.receiver_count();
        let Round { bench, .. } = &**round;
        bench.shared.in_round.store(true, Relaxed);
        self.announcer.send_replace(Some(Arc::clone(round)));
        let mut results = Vec::with_capacity(members);
        while results.len() < members
            && let Some(result) = self.results.recv().await
        {
            if result.is_none() {
                round.fail();
            }
            results.push(result);
        }
        bench.shared.in_round.store(false, Relaxed);
        round.end();
        results.into_iter().collect::<Option<_>>().context("a task failed")
    }
}

/// A member of a crew. Dropping it within a round is a failure, which ends the round.
#[derive(Debug)]
pub struct Member<T> {
    announced: watch::Receiver<Option<Arc<Round>>>,
    sender: mpsc::UnboundedSender<Option<T>>,
    /// The round that it has not finished.
    round: Option<Arc<Round>>,
}

impl<T> Member<T> {
    /// Waits for the next round; `None` if the run is over. The member must finish its part.
    pub async fn next(&mut self) -> Option<Arc<Round>> {
        self.announced.changed().await.ok()?;
        self.round = self.announced.borrow_and_update().clone();
        self.round.clone()
    }

    /// Hands over what the member measured.
    pub fn finish(&mut self, result: T) {
        self.round = None;
        let _ = self.sender.send(Some(result));
    }
}

impl<T> Drop for Member<T> {
    fn drop(&mut self) {
        if let Some(round) = &self.round {
            round.fail();
        }
        // Nobody waits for it.
        let _ = self.sender.send(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_fails_ends_the_round_for_all() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let bench = Bench::standalone(1, 1000, 0, None).expect("affinity");
        let mut crew = Crew::<u64>::default();
        let [mut good, mut bad] = [crew.member(), crew.member()];
        let good = runtime.spawn(async move {
            let round = good.next().await.expect("a round");
            bad.next().await.expect("a round");
            drop(bad);
            assert!(round.is_over());
            good.finish(7);
            good.next().await.is_none()
        });
        let round = bench.rounds(None).next().expect("the measured one");
        assert!(runtime.block_on(crew.run(&round)).is_err());
        drop(crew);
        assert!(runtime.block_on(good).expect("no panic"));
    }
}
