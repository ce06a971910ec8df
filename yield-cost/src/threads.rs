//! Cycles of threads that take turns: on one CPU with `sched_yield`, or by passing an auto-reset
//! event around. Turns are counted and verified.

use std::collections::VecDeque;
use std::iter;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

use anyhow::{Context as _, ensure};
use harness::Bench;
use harness::threads::{end, outcome, spawn};
use harness::work::spend;

use crate::SPEC;
use crate::tasks::{CYCLES, block};

/// Measures cycles of threads that yield to one another.
pub fn sched_yield(bench: &Bench, units: u64) -> anyhow::Result<()> {
    measure(bench, units, &Turns::default(), None, |_| thread::yield_now())
}

/// Measures cycles of threads of which one at a time owns the event.
pub fn thread_event(bench: &Bench, units: u64) -> anyhow::Result<()> {
    let turns = &Turns::default();
    let event = &AutoResetEvent::default();
    measure(bench, units, turns, Some(event), |own| event.set_and_wait(own, turns))
}

/// Measures cycles of all threads, each of which ends with `switch`. This one is task 0.
fn measure(
    bench: &Bench,
    units: u64,
    turns: &Turns,
    event: Option<&AutoResetEvent>,
    switch: impl Fn(&Arc<Waiter>) + Sync,
) -> anyhow::Result<()> {
    let switch = &switch;
    let least_switches = if event.is_some() { LEAST_WITH_EVENT } else { LEAST_WITH_YIELD };
    thread::scope(|scope| {
        let mut others = Vec::with_capacity(bench.tasks());
        let over = EndOfTurns { turns, event };
        for own in 1..bench.tasks() {
            let passing = move || {
                let _over = EndOfTurns { turns, event };
                let waiter = Waiter::of_this_thread();
                if let Some(event) = event {
                    event.wait(&waiter, turns);
                }
                while !turns.over.load(Relaxed) {
                    turns.do_cycle(own as u64, units);
                    switch(&waiter);
                }
                Ok(())
            };
            others.push(spawn(scope, own, SPEC.stack_bytes as usize, passing)?);
        }
        while event.is_some_and(|event| event.waiting().len() < others.len()) {
            thread::yield_now();
        }
        let waiter = Waiter::of_this_thread();
        let driven = drive(bench, turns, units, least_switches, || switch(&waiter));
        end(bench, driven, over, iter::once(Ok(())).chain(others.into_iter().map(outcome)))
    })
}

/// The least share of cycles that must pass the turn to another thread: a
/// scheduler may let one continue.
const LEAST_TURNS: f64 = 0.9;

/// The least share of cycles for which the kernel must count a switch on one CPU, where each turn of
/// another thread is one.
const LEAST_WITH_YIELD: f64 = LEAST_TURNS;

/// The least share with an event. With two idle CPUs, a thread that is woken before it sleeps needs
/// no switch; the record contains the count.
const LEAST_WITH_EVENT: f64 = 0.5;

/// The cycles of a lap, shared by several threads. Nothing but numbers is shared, and each addition and
/// swap counts exactly, so `Relaxed` is enough. The driver may miss the latest few turns, which is far
/// less than it tolerates.
#[derive(Debug, Default)]
struct Turns {
    /// Cycles of this lap that have not begun.
    left: AtomicI64,
    /// Set after the last lap.
    over: AtomicBool,
    /// The thread with the latest turn.
    last: AtomicU64,
    /// Turns that changed the thread.
    switched: AtomicU64,
}

impl Turns {
    /// Does the work of one cycle, if one is left, as thread `own`.
    fn do_cycle(&self, own: u64, units: u64) {
        if self.left.fetch_sub(1, Relaxed) > 0 {
            if self.last.swap(own, Relaxed) != own {
                self.switched.fetch_add(1, Relaxed);
            }
            spend(units);
        }
    }
}

/// Ends the turns when dropped, and wakes the threads that wait for the event.
struct EndOfTurns<'a> {
    turns: &'a Turns,
    event: Option<&'a AutoResetEvent>,
}

impl Drop for EndOfTurns<'_> {
    fn drop(&mut self) {
        self.turns.over.store(true, Relaxed);
        // A thread that joins the queue from now on sees that the turns are over.
        if let Some(event) = self.event {
            event.waiting().iter().for_each(|waiter| waiter.thread.unpark());
        }
    }
}

/// The laps, in the first of the threads. A lap ends when its cycles are done
/// and it is this thread's turn again.
fn drive(
    bench: &Bench,
    turns: &Turns,
    units: u64,
    least_switches: f64,
    switch: impl Fn(),
) -> anyhow::Result<()> {
    let mut cycles = 0;
    for lap in bench.laps(&[block()]) {
        turns.left.store(CYCLES as i64, Relaxed);
        while turns.left.load(Relaxed) > 0 {
            turns.do_cycle(0, units);
            switch();
        }
        lap.finish();
        cycles += CYCLES;
    }
    if !bench.is_interrupted() {
        let switches = bench.used().context("reading the counters of this process")?.switches();
        let measured = bench.iterations() * CYCLES;
        verify("turns changed threads", turns.switched.load(Relaxed), cycles, LEAST_TURNS)?;
        verify("switches were counted", switches, measured, least_switches)?;
    }
    Ok(())
}

/// Fails if too small a share of the cycles switched threads.
fn verify(what: &str, switched: u64, cycles: u64, least: f64) -> anyhow::Result<()> {
    let enough = switched as f64 >= least * cycles as f64;
    ensure!(enough, "only {switched} {what} in {cycles} cycles: this did not measure switches");
    Ok(())
}

/// A thread that waits for the event again and again.
#[derive(Debug)]
struct Waiter {
    thread: Thread,
    /// Whether it was let through since it last waited.
    released: AtomicBool,
}

impl Waiter {
    fn of_this_thread() -> Arc<Self> {
        Arc::new(Self { thread: thread::current(), released: AtomicBool::new(false) })
    }

    /// Lets the thread through.
    fn release(&self) {
        self.released.store(true, Release);
        self.thread.unpark();
    }

    /// Blocks this thread until it is released, or the turns are over; threads may be unparked
    /// spuriously.
    fn until_released(&self, turns: &Turns) {
        while !turns.over.load(Relaxed) {
            thread::park();
            if self.released.swap(false, Acquire) {
                return;
            }
        }
    }
}

/// An auto-reset event, as in Win32 and .NET: each time that it is set, it lets one waiting thread
/// through. Threads pass in the order of arrival.
#[derive(Debug, Default)]
struct AutoResetEvent(Mutex<VecDeque<Arc<Waiter>>>);

impl AutoResetEvent {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Arc<Waiter>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until another thread sets the event, or the turns are over.
    fn wait(&self, own: &Arc<Waiter>, turns: &Turns) {
        self.waiting().push_back(Arc::clone(own));
        own.until_released(turns);
    }

    /// Lets another thread through and waits. The caller joins the queue before
    /// the other one runs: in two steps, a thread preempted between them would
    /// let the setter take the event again.
    fn set_and_wait(&self, own: &Arc<Waiter>, turns: &Turns) {
        let mut waiting = self.waiting();
        let released = waiting.pop_front();
        waiting.push_back(Arc::clone(own));
        drop(waiting);
        if let Some(released) = released {
            released.release();
        }
        own.until_released(turns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_without_thread_switches_fail_the_run() {
        assert!(verify("turns changed threads", 950, 1000, LEAST_TURNS).is_ok());
        assert!(verify("turns changed threads", 890, 1000, LEAST_TURNS).is_err());
        assert!(verify("switches were counted", 820, 1000, LEAST_WITH_EVENT).is_ok());
        assert!(verify("switches were counted", 820, 1000, LEAST_WITH_YIELD).is_err());
    }
}
