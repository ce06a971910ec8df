//! A task, and what all tasks share.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::hint::black_box;
use std::io;
use std::mem;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU64};

use harness::crew::Member;
use harness::rounds::{Purpose, Round};
use harness::samples::Samples;
use harness::system_files::page_size;
use harness::trace::Stop;
use harness::work::spend;
use harness::{Apart, Blocks, Lateness, RuntimeKind, clock};
use parking_lot::Mutex;

use crate::Flags;
use crate::locks::Lock;
use crate::tally::{Tally, Timed, Waits};

/// Acquisitions in one iteration of a closed loop.
const BLOCK: u64 = 1024;

/// Acquisitions after which a task that reads or writes adds to the common count: otherwise readers would wait
/// for its cache line.
pub const LOT: u64 = 32;

/// The place of the word that counts acquisitions after their work; of readers and writers mixed,
/// those of writers.
pub const ENDED: usize = 0;
/// The place of the word that counts those of mixed writers before their work.
pub const BEGUN: usize = 1;

/// What the tasks share. The lock and what it protects are neighbours, as in a `Mutex<u64>`; fields
/// that only the measurement needs lie elsewhere.
///
/// All accesses are `Relaxed`, so that they add no order to the measured lock's, but for the words of readers and
/// writers ([`Task::mix`]). What it protects, and
/// when an iteration ends, is ordered by the lock: one that does not order loses counts, and that fails
/// the run. Between rounds the announcement of a round and the results of its tasks order everything.
#[repr(C)]
pub struct Shared<L> {
    protected: Apart<(L, [AtomicU64; 2])>,
    /// The iterations of a closed loop. Without readers the lock protects their ends.
    pub blocks: Blocks,
    /// Who took the lock, until its last release before another did, with `--trace`.
    holds: Mutex<Vec<[Stop; 2]>>,
    /// Readers that are inside, in a warm-up.
    pub readers: Apart<AtomicU64>,
}

impl<L: Lock> Shared<L> {
    /// What the tasks of a run share.
    pub fn new() -> Self {
        Self {
            protected: Apart::default(),
            blocks: Blocks::new(BLOCK, "acquisition"),
            holds: Mutex::default(),
            readers: Apart::default(),
        }
    }

    /// The lock.
    #[inline]
    pub fn lock(&self) -> &L {
        &self.protected.0.0
    }

    /// What the lock protects: [`ENDED`] and [`BEGUN`].
    #[inline]
    pub fn words(&self) -> &[AtomicU64; 2] {
        &self.protected.0.1
    }

    /// Does the work of an acquisition, with the lock held, and counts it. `work` gets the number
    /// of acquisitions before this one.
    #[inline]
    fn enter<R>(&self, work: impl FnOnce(u64) -> R) -> R {
        let acquired = &self.words()[ENDED];
        // Load and store are two steps: a lock that does not exclude loses counts.
        let before = acquired.load(Relaxed);
        let result = work(before);
        acquired.store(before + 1, Relaxed);
        result
    }

    /// Notes that a task, which holds the lock, has taken it or will now release it.
    fn note_holder(&self, round: &Round, task: usize) {
        let now = Stop::here(task as u32);
        let mut holds = self.holds.lock();
        match holds.last_mut() {
            Some(hold) if hold[0].task == now.task => hold[1] = Stop { task: None, ..now },
            _ => holds.push([now, Stop { task: None, ..now }]),
        }
        round.is_enough(holds.len() as u64);
    }
}

/// [`Shared`] with any lock, as the rounds of a run need it.
pub trait AnyShared: Send + Sync {
    /// Prepares it for a round.
    fn begin(&self);

    /// Acquisitions in this round, or those of writers, as the counter shows that the lock protects.
    fn counted(&self) -> u64;

    /// The iterations of a closed loop, and each task's mean time from one acquisition to the next.
    fn samples(&self, tallies: &[Tally]) -> Vec<Samples>;

    /// The stops of a traced round. The last hold may be under way: only its beginning counts.
    fn stops(&self) -> Vec<Stop>;
}

impl<L: Lock> AnyShared for Shared<L> {
    fn begin(&self) {
        for word in self.words() {
            word.store(0, Relaxed);
        }
        self.blocks.clear();
    }

    fn counted(&self) -> u64 {
        self.words()[ENDED].load(Relaxed)
    }

    fn samples(&self, tallies: &[Tally]) -> Vec<Samples> {
        let acquired = tallies.iter().map(|tally| tally.acquired);
        vec![self.blocks.samples(), self.blocks.turns("turn", acquired)]
    }

    fn stops(&self) -> Vec<Stop> {
        let mut stops = mem::take(&mut *self.holds.lock()).concat();
        stops.pop();
        stops
    }
}

/// One task. Each piece of its work uses the result of the one before it; otherwise the processor
/// does a third of 100 units before it has the lock. Two tasks share no cache line, wherever they are.
#[repr(align(128))]
pub struct Task<L> {
    /// The task's number.
    pub number: usize,
    /// What runs it.
    pub runtime: RuntimeKind,
    /// The share of its acquisitions that read, in percent.
    pub read: u64,
    /// Whether they are due at a rate.
    has_rate: bool,
    /// Units of work with the lock held.
    inside: u64,
    /// Units after its release.
    outside: u64,
    /// Memory that takes a page fault with the lock held.
    page: Option<Page>,
    /// How much of its first lot a reader or writer has when a round begins.
    pub head_start: u64,
    /// 0, hidden from the compiler.
    none: u64,
    /// What it shares with the others.
    pub shared: Arc<Shared<L>>,
}

impl<L: Lock> Task<L> {
    /// The task with this number of so many.
    pub fn new(number: usize, tasks: usize, flags: &Flags, shared: &Arc<Shared<L>>) -> Self {
        let Flags { inside, outside, hold_fault, .. } = *flags;
        Self {
            number,
            runtime: flags.runtime.runtime,
            read: flags.read.into(),
            has_rate: flags.rate.is_some(),
            inside,
            outside,
            page: hold_fault.then(Page::new),
            head_start: Blocks::head_start(number, tasks, LOT),
            none: black_box(0),
            shared: Arc::clone(shared),
        }
    }

    /// The task's main function, until the run is over.
    ///
    /// # Errors
    /// The kernel's.
    pub async fn live(self, mut member: Member<Tally>) -> io::Result<()> {
        let mut memory = Timed {
            late: self.has_rate.then(|| Lateness::new("acquisition")),
            waits: (self.read > 0).then(|| Box::new(Waits::new())),
        };
        while let Some(round) = member.next().await {
            let mut tally = match (round.purpose, memory.late.take(), memory.waits.take()) {
                (Purpose::Traced, ..) => self.compete::<true>(&round).await?,
                (_, Some(late), _) => self.keep_pace(&round, late).await?,
                (_, _, Some(waits)) => self.mix(&round, waits).await?,
                _ => self.compete::<false>(&round).await?,
            };
            if round.purpose == Purpose::Warmup {
                memory = mem::take(&mut tally.timed);
                memory.clear();
            }
            member.finish(tally);
        }
        Ok(())
    }

    /// A closed loop, in which each hold is noted for a trace or iterations are timed.
    async fn compete<const TRACED: bool>(&self, round: &Round) -> io::Result<Tally> {
        let shared = &*self.shared;
        shared.blocks.begin(round, self.runtime).await?;
        let inside = |turns: &mut Turns, _| {
            shared.enter(|before| {
                turns.number = before + 1;
                if TRACED {
                    shared.note_holder(round, self.number);
                }
                turns.computed = self.work_inside(turns.computed ^ before);
                if TRACED {
                    shared.note_holder(round, self.number);
                }
            });
            if !TRACED && turns.number.is_multiple_of(BLOCK) {
                turns.block_ns = shared.blocks.end();
            }
        };
        let outside = |turns: &mut Turns| {
            turns.made += 1;
            if !TRACED && turns.number.is_multiple_of(BLOCK) {
                shared.blocks.record(round, || turns.block_ns);
            }
            turns.computed = self.work_outside(turns.computed);
            !round.is_over()
        };
        let writes = |_: &mut Turns| false;
        let lock = shared.lock();
        let turns = lock.repeat::<false, _>(Turns::default(), writes, inside, outside).await;
        Ok(Tally { acquired: turns.made, ..Tally::default() })
    }

    /// An open loop.
    async fn keep_pace(&self, round: &Round, mut late: Lateness) -> io::Result<Tally> {
        let mut acquired = 0;
        let mut computed = 0;
        for number in round.of_task(self.number) {
            let due_ns = round.due_ns(number);
            let Some(ran) = round.wait_in(self.runtime, due_ns).await? else { break };
            let inside = |before| {
                let held_ns = clock::now();
                computed = self.work_inside(computed ^ before);
                held_ns
            };
            let held_ns = self.shared.lock().locked(|| self.shared.enter(inside)).await;
            acquired += 1;
            late.kept.missed += u64::from(!ran.waited);
            late.from_due.add(held_ns - due_ns);
            late.from_call.add(held_ns - ran.at_ns);
            computed = self.work_outside(computed);
        }
        let timed = Timed { late: Some(late), ..Timed::default() };
        Ok(Tally { acquired, timed, ..Tally::default() })
    }

    /// Works with the lock held.
    #[inline]
    pub fn work_inside(&self, computed: u64) -> u64 {
        if let Some(page) = &self.page {
            page.touch();
        }
        self.spend(self.inside, computed)
    }

    /// Works after its release.
    #[inline]
    pub fn work_outside(&self, computed: u64) -> u64 {
        if let Some(page) = &self.page {
            page.discard();
        }
        self.spend(self.outside, computed)
    }

    /// 0, which is known only once this has been computed.
    #[inline]
    pub fn none_after(&self, computed: u64) -> u64 {
        computed & self.none
    }

    #[inline]
    fn spend(&self, units: u64, computed: u64) -> u64 {
        if units == 0 { computed } else { spend(units | self.none_after(computed)) }
    }
}

/// A task's counts in a closed loop.
#[derive(Default)]
struct Turns {
    made: u64,
    /// The number of its latest acquisition among those of all tasks.
    number: u64,
    /// The duration of the iteration that this acquisition ended.
    block_ns: u64,
    computed: u64,
}

/// A page of memory, of the size that this kernel has, whose next use is a page fault.
struct Page {
    bytes: NonNull<AtomicU8>,
    layout: Layout,
}

// SAFETY: the memory belongs to no thread, and its bytes are atomic.
unsafe impl Send for Page {}
// SAFETY: as above.
unsafe impl Sync for Page {}

impl Page {
    fn new() -> Self {
        let length = page_size() as usize;
        let layout = Layout::from_size_align(length, length).expect("a page is a power of two");
        // SAFETY: a page has bytes.
        let bytes = unsafe { alloc_zeroed(layout) };
        let bytes = NonNull::new(bytes.cast()).unwrap_or_else(|| handle_alloc_error(layout));
        Self { bytes, layout }
    }

    fn first(&self) -> &AtomicU8 {
        // SAFETY: the memory lives as long as `self`, and zeros are an atomic number.
        unsafe { self.bytes.as_ref() }
    }

    /// Writes to it: a page fault after [`Self::discard`]. `Relaxed`, since no other task has this page.
    fn touch(&self) {
        self.first().store(1, Relaxed);
    }

    /// Returns its memory to the kernel.
    fn discard(&self) {
        let page = self.bytes.as_ptr().cast();
        // SAFETY: the page is ours alone, and its bytes are atomic: they become 0.
        let result = unsafe { libc::madvise(page, self.layout.size(), libc::MADV_DONTNEED) };
        debug_assert_eq!(result, 0, "it is a whole page");
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and nothing uses it any more.
        unsafe { dealloc(self.bytes.as_ptr().cast(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_discarded_page_is_empty_and_can_be_used_again() {
        let page = Page::new();
        for _ in 0..2 {
            assert_eq!(page.first().load(Relaxed), 0);
            page.touch();
            assert_eq!(page.first().load(Relaxed), 1);
            page.discard();
        }
    }
}
