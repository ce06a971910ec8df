//! Where the tasks wait, and what they report to the waker.

use std::future::poll_fn;
use std::io;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::task::Poll;
use std::thread;

use anyhow::{anyhow, bail};
use futures::task::AtomicWaker;
use harness::counters::Counters;
use harness::watch::PATIENCE;
use harness::{Apart, Bench, clock};

use crate::Flags;
use crate::signals::Signal;

/// Memory for each task, in bytes.
pub const BYTES: u64 = size_of::<Apart<Place>>() as u64;

/// When a task ran last, and how often it was woken.
#[derive(Debug, Default)]
struct Place {
    at_ns: AtomicU64,
    woken: AtomicU64,
}

/// What the tasks, the waker and the thread that watches them share.
///
/// The waker writes before an event, and a task reads after it: the signal orders that, whatever it is.
/// A task writes to its place before it arrives, and the waker reads when all have arrived: `missing`
/// orders that, with `AcqRel` and `Acquire`, and otherwise a task would count as not woken. A task that stays
/// awake is ordered by `events` instead ([`Hall::begin`]). All else is `Relaxed`. The thread that watches is not
/// ordered with the tasks; it speaks up after seconds without any change, when every write has long arrived.
pub struct Hall {
    pub flags: Flags,
    pub bench: Bench,
    /// What wakes the tasks.
    pub signal: Apart<Signal>,
    places: Vec<Apart<Place>>,
    /// Tasks that do not wait yet for the next event; threads may be on their way into the wait.
    missing: Apart<AtomicUsize>,
    waker: AtomicWaker,
    events: AtomicU64,
    /// How often the thread that watches has waited.
    looks: AtomicU64,
}

impl Hall {
    /// With a signal, and a place for each task.
    ///
    /// # Errors
    /// Those of the signal.
    pub fn new(flags: &Flags, bench: &Bench) -> anyhow::Result<Self> {
        let tasks = bench.tasks();
        Ok(Self {
            flags: flags.clone(),
            bench: bench.clone(),
            signal: Apart(Signal::open(flags.by, tasks)?),
            places: (0..tasks).map(|_| Apart::default()).collect(),
            missing: Apart(AtomicUsize::new(tasks)),
            waker: AtomicWaker::new(),
            events: AtomicU64::new(0),
            looks: AtomicU64::new(0),
        })
    }

    /// The number of events so far.
    pub fn events(&self) -> u64 {
        self.events.load(Acquire)
    }

    /// Waits for the event after so many, without sleep.
    pub async fn stay_awake(&self, events: u64) -> io::Result<()> {
        while self.events() == events {
            thread::yield_now();
        }
        Ok(())
    }

    /// Reports that a task waits again.
    pub fn arrive(&self) {
        if self.missing.0.fetch_sub(1, AcqRel) == 1 {
            self.waker.wake();
        }
    }

    /// Notes that this task runs.
    #[inline]
    pub fn note(&self, task: usize) {
        let Apart(place) = &self.places[task];
        place.at_ns.store(clock::now(), Relaxed);
        place.woken.store(place.woken.load(Relaxed) + 1, Relaxed);
    }

    /// Counts an event that begins. A task that stays awake sees only the count, so that comes last and
    /// with `Release`; otherwise such a task could arrive before `missing` is reset, and the waker would
    /// wait for ever.
    pub fn begin(&self) {
        self.missing.0.store(self.places.len(), Relaxed);
        self.events.fetch_add(1, AcqRel);
    }

    /// Waits until all tasks have reported that they wait.
    pub async fn all_arrived(&self) {
        poll_fn(|context| {
            self.waker.register(context.waker());
            if self.missing.0.load(Acquire) == 0 { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Voluntary switches of the tasks, if they are threads: those of the process without those of
    /// the calling thread and of the one that watches.
    pub fn switches(&self) -> u64 {
        let others = Counters::of_this_thread().voluntary + self.looks.load(Relaxed);
        Counters::own().voluntary.saturating_sub(others)
    }

    /// A task that was not woken once by each event, and how often it was: one that was woken too often before one
    /// that was not yet woken.
    fn misfit(&self) -> Option<(usize, u64)> {
        let events = self.events();
        let all = || self.places.iter().map(|Apart(place)| place.woken.load(Relaxed)).enumerate();
        all().find(|(_, woken)| *woken > events).or(all().find(|(_, woken)| *woken < events))
    }

    /// When the first and the last task ran after the last event.
    ///
    /// # Errors
    /// If a task was woken twice, or never.
    pub fn ran(&self) -> anyhow::Result<[u64; 2]> {
        let events = self.events();
        let mut first_ns = u64::MAX;
        let mut last_ns = 0;
        for Apart(place) in &self.places {
            if place.woken.load(Relaxed) != events
                && let Some((task, woken)) = self.misfit()
            {
                bail!("task {task} was woken {woken} times in all when event {events} had ended");
            }
            let at_ns = place.at_ns.load(Relaxed);
            first_ns = first_ns.min(at_ns);
            last_ns = last_ns.max(at_ns);
        }
        Ok([first_ns, last_ns])
    }

    /// The number of the latest event, and of the tasks that do not wait again since; `None` if all do,
    /// and before the first event, while tasks are still being created. The thread that watches calls it
    /// after each of its waits.
    pub fn look(&self) -> Option<(u64, usize)> {
        self.looks.fetch_add(1, Relaxed);
        let missing = self.missing.0.load(Relaxed);
        let events = self.events();
        (events > 0 && missing > 0).then_some((events, missing))
    }

    /// The error of a run in which nobody does anything any more.
    pub fn left_out(&self) -> anyhow::Error {
        let missing = self.missing.0.load(Relaxed);
        let events = self.events();
        let all = self.places.len();
        match self.misfit() {
            // It may have reported twice, so that the number of those missing is wrong.
            Some((task, woken)) if woken > events => {
                anyhow!("task {task} was woken {woken} times in all by {events} events")
            }
            Some((task, _)) => anyhow!(
                "task {task} was not woken by event {events}: {missing} of {all} tasks did nothing for \
                 {PATIENCE} s"
            ),
            None => anyhow!(
                "{missing} of {all} tasks do not wait again after event {events}, and did nothing for \
                 {PATIENCE} s"
            ),
        }
    }
}
