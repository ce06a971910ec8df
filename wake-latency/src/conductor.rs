//! Sleepers and the waker of one run, and the thread that conducts it.

use std::io;
use std::sync::Arc;
use std::thread::{self, Builder};
use std::time::Duration;

use anyhow::Context as _;
use futures::executor::block_on;
use harness::crew::{Crew, Member};
use harness::record::ScheduleKept;
use harness::rounds::{Purpose, Round};
use harness::threads::joined;
use harness::work::spend;
use harness::{Bench, Fact, Lateness, clock, failure};

use crate::calls::{Bell, Calls, Wait};
use crate::{Flags, STACK_BYTES};

/// Units of work between two readings of the clock: far less than a microsecond.
const UNITS: u64 = 100;

/// What a sleeper or the waker counts in a round; none in a warm-up.
pub type Tally = Option<Lateness>;

/// A sleeper's main function. Its memory is allocated before its first wake-up.
///
/// # Errors
/// The kernel's.
pub async fn sleeper(task: usize, mut member: Member<Tally>, wait: impl Wait) -> io::Result<()> {
    let mut memory = Some(Lateness::new("wake-up"));
    while let (Some(round), Some(mut late)) = (member.next().await, memory.take()) {
        for number in round.of_task(task) {
            let due_ns = round.due_ns(number);
            let Some(ran) = wait.wait(&round, due_ns).await? else { break };
            late.from_due.add(ran.at_ns.saturating_sub(due_ns));
            if let Some(called_ns) = ran.called_ns {
                late.from_call.add(ran.at_ns.saturating_sub(called_ns));
            }
            late.kept.missed += u64::from(!ran.waited);
        }
        memory = finish(&mut member, &round, late);
    }
    Ok(())
}

/// Ends a task's round. A warm-up counts for nothing, and returns the memory.
fn finish(member: &mut Member<Tally>, round: &Round, mut late: Lateness) -> Option<Lateness> {
    if round.purpose != Purpose::Warmup {
        member.finish(Some(late));
        return None;
    }
    late.clear();
    member.finish(None);
    Some(late)
}

/// A greedy task: until the run is over, it computes for `--greedy-for` and then yields.
///
/// # Errors
/// None; the sleepers' have the same type.
pub async fn greedy(
    flags: Flags,
    is_over: impl Fn() -> bool,
    yield_now: impl AsyncFn(),
) -> io::Result<()> {
    let time_ns = Duration::from_micros(flags.greedy_for.into()).as_nanos() as u64;
    while !is_over() {
        let until_ns = clock::now() + time_ns;
        while clock::now() < until_ns {
            spend(UNITS);
        }
        yield_now().await;
    }
    Ok(())
}

/// Conducts a run.
pub struct Conductor<B> {
    /// The program's flags.
    pub flags: Flags,
    /// The harness.
    pub bench: Bench,
    /// The calls to each sleeper; empty if sleepers wake themselves.
    pub calls: Vec<Arc<Calls<B>>>,
}

impl<B: Bell> Conductor<B> {
    /// The conductor of a run with this many sleepers to call.
    pub fn new(flags: &Flags, bench: &Bench, called: usize) -> Self {
        let calls = (0..called).map(|_| Arc::default()).collect();
        Self { flags: flags.clone(), bench: bench.clone(), calls }
    }

    /// Runs all rounds, with a waker if there are calls to make, and ends the run.
    ///
    /// # Errors
    /// If the waker cannot be created, a task or the waker fails, or wake-ups are missing; those of
    /// `--command`.
    pub fn conduct(&self, mut crew: Crew<Tally>) -> anyhow::Result<()> {
        thread::scope(|scope| {
            // Any failure here drops the crew, which ends all tasks.
            let waker = if self.calls.is_empty() {
                None
            } else {
                let member = crew.member();
                let builder = Builder::new().stack_size(STACK_BYTES);
                let waker = builder.spawn_scoped(scope, || block_on(self.wake(member)));
                Some(waker.map_err(failure::to_create("the waker"))?)
            };
            let driven = block_on(self.drive(&mut crew));
            let observed = driven.and_then(|()| self.bench.observe());
            drop(crew);
            if let Some(waker) = waker {
                joined(waker).context("the waker")?;
            }
            observed
        })
    }

    async fn drive(&self, crew: &mut Crew<Tally>) -> anyhow::Result<()> {
        let rounds = self.bench.rounds(Some(self.flags.rate));
        for round in rounds.announced_to(self.bench.tasks() + 1) {
            let tasks = crew.run(&round).await?;
            if round.purpose == Purpose::Warmup {
                round.finish(Vec::new(), None)?;
            } else {
                self.report(&round, tasks)?;
            }
        }
        Ok(())
    }

    /// Stores the sleepers' measurements. Threads claim a switch for each time that a sleeper or
    /// the waker waited.
    fn report(&self, round: &Round, tallies: Vec<Tally>) -> anyhow::Result<()> {
        let sum = Lateness::sum("wake-up", tallies.into_iter().flatten());
        let wake_ups = sum.from_due.count();
        let ScheduleKept { missed, called_late } = sum.kept;
        if self.flags.runtime.are_threads() && wake_ups > 0 {
            let waits = wake_ups.saturating_sub(missed)
                + called_late.map_or(0, |late| wake_ups.saturating_sub(late));
            self.bench.report(Fact::ExpectedSwitches(waits as f64 / wake_ups as f64));
        }
        round.finish(vec![sum.from_due, sum.from_call], Some(sum.kept))
    }

    /// The waker's main function.
    async fn wake(&self, mut member: Member<Tally>) -> anyhow::Result<()> {
        let mut end = Some(EndOfCalls(&self.calls));
        self.bench.placement().pin(0)?;
        clock::be_punctual();
        let mut memory = Some(Lateness::new("wake-up"));
        while let (Some(round), Some(mut late)) = (member.next().await, memory.take()) {
            let called_late = late.kept.called_late.insert(0);
            for (wake_up, calls) in (0..round.most()).zip(self.calls.iter().cycle()) {
                let Some(ran) = round.sleep_until(round.due_ns(wake_up)).await? else { break };
                *called_late += u64::from(!ran.waited);
                calls.make(&round);
            }
            if round.is_over() {
                drop(end.take());
            }
            memory = finish(&mut member, &round, late);
        }
        Ok(())
    }
}

/// Ends the calls when it is dropped: the sleepers do not wait for a waker that has ended.
struct EndOfCalls<'a, B: Bell>(&'a [Arc<Calls<B>>]);

impl<B: Bell> Drop for EndOfCalls<'_, B> {
    fn drop(&mut self) {
        self.0.iter().for_each(|calls| calls.close());
    }
}
