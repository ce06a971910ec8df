//! A task: it waits for rounds, takes the lock, and sends its tally to the driver.

use std::io;
use std::num::NonZeroU64;
use std::ptr;
use std::sync::Arc;
use std::thread;

use harness::samples::Samples;
use harness::work::spend;
use harness::{Amounts, Bench, Measured, RuntimeKind, clock};
use rustix::thread::{ClockId, Timespec, clock_nanosleep_absolute, set_current_timer_slack};
use tokio::sync::mpsc;

use crate::flags::Flags;
use crate::locks::Lock;
use crate::round::{Announced, BLOCK, Board, Pace, Round, TRACED_FOR};

/// Memory of a task's samples: two histograms of 264 KiB; the allocator maps each separately.
pub fn samples() -> Amounts {
    Amounts { maps: 2, ..Amounts::heap(544 << 10) }
}

/// The longest sleep, after which a task checks for an interruption.
const LONGEST_NS: u64 = 1_000_000_000;

/// A task's counts in a round.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Acquisitions.
    pub acquired: u64,
    /// Those that were already due when the task reached them.
    pub missed: u64,
    /// In an open loop: times from when they were due, and from the call.
    pub from: Option<[Samples; 2]>,
    /// Whether the task panicked.
    pub panicked: bool,
}

impl Tally {
    /// An empty tally, with samples or without.
    pub fn new(has_samples: bool) -> Self {
        let samples = |name| Samples::new(Measured::single(name, "acquisition"));
        let from = has_samples.then(|| [samples("acquisition"), samples("from_call")]);
        Self { acquired: 0, missed: 0, from, panicked: false }
    }
}

/// One task.
pub struct Task<L> {
    number: usize,
    flags: Flags,
    bench: Bench,
    board: Arc<Board<L>>,
    announced: Announced,
    done: mpsc::UnboundedSender<Tally>,
    page: Option<Page>,
}

impl<L: Lock> Task<L> {
    /// Creates the task of this number.
    pub fn new(
        number: usize,
        flags: Flags,
        bench: Bench,
        board: Arc<Board<L>>,
        announced: Announced,
        done: mpsc::UnboundedSender<Tally>,
    ) -> Self {
        Self { number, flags, bench, board, announced, done, page: None }
    }

    /// The task's main function, until the channel of rounds closes. `placed` is the result of its
    /// placement; a task that could not be placed still ends each round.
    ///
    /// # Errors
    /// The kernel's.
    pub async fn live(mut self, placed: io::Result<()>) -> io::Result<()> {
        let mut result = placed;
        if self.flags.hold_fault && result.is_ok() {
            result = Page::new().map(|page| self.page = Some(page));
        }
        while self.announced.changed().await.is_ok() {
            let Some(round) = *self.announced.borrow_and_update() else { break };
            let has_samples = matches!(round.pace, Pace::Open { .. });
            let mut part = Part { tally: Tally::new(has_samples), done: self.done.clone() };
            if result.is_ok() {
                result = self.take_part(round, &mut part.tally).await;
            }
        }
        result
    }

    async fn take_part(&self, round: Round, tally: &mut Tally) -> io::Result<()> {
        let (work, board) = (Work::of(self), &*self.board);
        match round.pace {
            Pace::Closed => {
                self.wait_until(round.begin_ns).await?;
                let inside = |turns: &mut Turns| {
                    board.enter(|before| {
                        turns.number = before + 1;
                        turns.computed = work.inside(turns.computed ^ before);
                    });
                    if turns.number.is_multiple_of(BLOCK) {
                        turns.block_ns = board.end_block();
                    }
                };
                let outside = |turns: &mut Turns| {
                    turns.made += 1;
                    if turns.number.is_multiple_of(BLOCK) {
                        board.record_block(turns.block_ns);
                    }
                    turns.computed = work.outside(turns.computed);
                    !board.is_over()
                };
                tally.acquired = board.lock().repeat(inside, outside).await.made;
            }
            Pace::Traced => {
                self.wait_until(round.begin_ns).await?;
                let until_ns = round.begin_ns + TRACED_FOR.as_nanos() as u64;
                let inside = |turns: &mut Turns| {
                    board.enter(|before| {
                        board.note_holder(self.number as u32, until_ns);
                        turns.computed = work.inside(turns.computed ^ before);
                        board.note_holder(self.number as u32, until_ns);
                    });
                };
                let outside = |turns: &mut Turns| {
                    turns.made += 1;
                    turns.computed = work.outside(turns.computed);
                    !board.is_over()
                };
                tally.acquired = board.lock().repeat(inside, outside).await.made;
            }
            Pace::Open { rate, count } => {
                let (mut number, mut computed) = (self.number as u64, 0);
                while number < count {
                    let after = u128::from(number) * 1_000_000_000 / u128::from(rate);
                    let due_ns = round.begin_ns.saturating_add(after as u64);
                    let waited = self.wait_until(due_ns).await?;
                    let called_ns = clock::now();
                    // Interrupted before it was due.
                    if called_ns < due_ns {
                        break;
                    }
                    let inside = |before| {
                        let held_ns = clock::now();
                        computed = work.inside(computed ^ before);
                        held_ns
                    };
                    let held_ns = board.lock().hold(|| board.enter(inside)).await;
                    tally.acquired += 1;
                    tally.missed += u64::from(!waited);
                    let [from_due, from_call] =
                        tally.from.as_mut().expect("an open loop has samples");
                    from_due.add(held_ns - due_ns);
                    from_call.add(held_ns - called_ns);
                    computed = work.outside(computed);
                    number += self.bench.tasks() as u64;
                }
            }
        }
        Ok(())
    }

    /// Waits until a time or an interruption, and returns whether it had to wait.
    async fn wait_until(&self, time_ns: u64) -> io::Result<bool> {
        let mut waited = false;
        loop {
            let now = clock::now();
            if now >= time_ns || self.bench.is_interrupted() {
                return Ok(waited);
            }
            waited = true;
            if self.flags.runtime.runtime == RuntimeKind::Threads {
                let until = time_ns.min(now + LONGEST_NS);
                let (tv_sec, tv_nsec) = (until / 1_000_000_000, until % 1_000_000_000);
                let until = Timespec { tv_sec: tv_sec as i64, tv_nsec: tv_nsec as i64 };
                match clock_nanosleep_absolute(ClockId::Monotonic, &until) {
                    Ok(()) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            } else {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// Lets the kernel wake the calling thread without delay.
///
/// # Errors
/// The kernel's.
pub fn be_punctual() -> rustix::io::Result<()> {
    set_current_timer_slack(NonZeroU64::new(1))
}

/// The work of a task. Each piece uses the result of the one before it; otherwise the processor
/// does a third of 100 units before it has the lock.
struct Work<'a> {
    inside: u64,
    outside: u64,
    page: Option<&'a Page>,
    /// 0, hidden from the compiler.
    none: u64,
}

impl<'a> Work<'a> {
    fn of<L>(task: &'a Task<L>) -> Self {
        let Flags { inside, outside, .. } = task.flags;
        Self { inside, outside, page: task.page.as_ref(), none: std::hint::black_box(0) }
    }

    /// With the lock held.
    #[inline]
    fn inside(&self, computed: u64) -> u64 {
        if let Some(page) = self.page {
            page.touch();
        }
        if self.inside == 0 { computed } else { spend(self.inside | computed & self.none) }
    }

    /// After its release.
    #[inline]
    fn outside(&self, computed: u64) -> u64 {
        if let Some(page) = self.page {
            page.discard();
        }
        if self.outside == 0 { computed } else { spend(self.outside | computed & self.none) }
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

/// Participation in a round; dropping it sends the tally.
struct Part {
    tally: Tally,
    done: mpsc::UnboundedSender<Tally>,
}

impl Drop for Part {
    fn drop(&mut self) {
        let panicked = thread::panicking();
        let tally = std::mem::replace(&mut self.tally, Tally::new(false));
        let _ = self.done.send(Tally { panicked, ..tally });
    }
}

/// A page of memory whose next use is a page fault.
pub struct Page(*mut libc::c_void);

// SAFETY: the page belongs to one task, which may move to another thread.
unsafe impl Send for Page {}
// SAFETY: only its task uses references to it.
unsafe impl Sync for Page {}

/// The length of a page, in bytes.
const PAGE_BYTES: usize = 4096;

impl Page {
    /// Memory of one.
    pub const AMOUNTS: Amounts = Amounts { maps: 1, ..Amounts::NONE };

    fn new() -> io::Result<Self> {
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let page = unsafe { libc::mmap(ptr::null_mut(), PAGE_BYTES, access, kind, -1, 0) };
        if page == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self(page)) }
    }

    /// Writes to it: a page fault after [`Self::discard`].
    fn touch(&self) {
        // SAFETY: the mapping is ours and may be written.
        unsafe { self.0.cast::<u8>().write_volatile(1) };
    }

    /// Returns its memory to the kernel.
    fn discard(&self) {
        // SAFETY: the mapping is ours, and its contents are not needed.
        unsafe { libc::madvise(self.0, PAGE_BYTES, libc::MADV_DONTNEED) };
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and no longer used.
        unsafe { libc::munmap(self.0, PAGE_BYTES) };
    }
}
