//! Idle threads.

use std::hint::black_box;
use std::io;
use std::num::NonZeroUsize;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::thread::{self, Builder, JoinHandle};

use harness::failure::to_create;
use harness::threads::join;
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use rustix::thread::futex;

use crate::kinds::{Population, Task};

/// Bytes that a call of [`touch_stack`] writes: less than a page, so that no page is skipped.
const FRAME_BYTES: usize = 2048;

/// Writes to the `bytes` of this thread's stack below the caller's frame.
pub fn touch_stack(bytes: usize) {
    if bytes > 0 {
        let here = 0_u8;
        descend(ptr::from_ref(&here).addr(), bytes);
    }
}

/// Recurses until the stack has grown by `bytes` since `top`.
#[inline(never)]
fn descend(top: usize, bytes: usize) {
    let mut frame = [1_u8; FRAME_BYTES];
    let bottom = black_box(&mut frame).as_ptr().addr();
    if top.saturating_sub(bottom) < bytes {
        descend(top, bytes);
    }
    // Work after the call prevents tail-call optimization.
    black_box(&mut frame);
}

/// State shared by all threads of a population.
#[derive(Default)]
struct Shared {
    touch_bytes: usize,
    /// Threads that have touched their stacks.
    alive: AtomicU64,
    /// Nonzero when all threads must end.
    over: AtomicU32,
}

impl Shared {
    /// A new thread's body.
    fn live(&self) {
        touch_stack(self.touch_bytes);
        self.alive.fetch_add(1, Release);
        while self.over.load(Acquire) == 0 {
            let _ = futex::wait(&self.over, futex::Flags::PRIVATE, 0, None);
        }
    }
}

/// Idle threads.
pub struct Threads {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    stack_bytes: usize,
    until_refused: bool,
}

impl Threads {
    /// None yet; they may grow until the kernel refuses one.
    pub fn new(Task { stack_bytes, touch_bytes, .. }: Task, until_refused: bool) -> Self {
        let shared = Shared { touch_bytes, ..Shared::default() };
        Self { shared: shared.into(), threads: Vec::new(), stack_bytes, until_refused }
    }

    fn create(&mut self) -> io::Result<()> {
        if self.until_refused {
            check_maps(self.stack_bytes)?;
        }
        let shared = Arc::clone(&self.shared);
        let builder = Builder::new().stack_size(self.stack_bytes);
        self.threads.push(builder.spawn(move || shared.live())?);
        Ok(())
    }
}

impl Population for Threads {
    fn add(&mut self, count: u64) -> anyhow::Result<()> {
        let created = (0..count).try_for_each(|_| self.create());
        while self.count() < self.threads.len() as u64 {
            thread::yield_now();
        }
        created.map_err(to_create(format_args!("task {}", self.threads.len())))
    }

    fn count(&self) -> u64 {
        self.shared.alive.load(Acquire)
    }

    /// Unmaps their stacks before anything else needs a map.
    fn end(self: Box<Self>) -> anyhow::Result<()> {
        self.shared.over.store(1, Release);
        let _ = futex::wake(&self.shared.over, futex::Flags::PRIVATE, i32::MAX as u32);
        let mut threads = self.threads.into_iter().enumerate();
        threads.try_for_each(|(task, thread)| join(task, thread))
    }
}

/// The alternate signal stack of a thread of the standard library (`SIGSTKSZ`), in bytes; some
/// processors need more.
const SIGNAL_STACK_BYTES: usize = 8 << 10;
/// A guard page, in bytes.
const GUARD_BYTES: usize = 4 << 10;

/// Maps what a thread maps, a stack and an alternate signal stack above a guard page each, and
/// unmaps it: if the latter is refused inside a new thread, the standard library aborts the
/// process.
fn check_maps(stack_bytes: usize) -> io::Result<()> {
    // SAFETY: no argument can be wrong.
    let least = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    let signal_bytes = SIGNAL_STACK_BYTES.max(least).next_multiple_of(GUARD_BYTES);
    let map = |bytes: usize| {
        let length = NonZeroUsize::MIN.saturating_add(bytes + GUARD_BYTES - 1);
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new map at an address that the kernel chooses overlaps nothing.
        let start = unsafe { mmap_anonymous(None, length, access, MapFlags::MAP_PRIVATE) }?;
        // SAFETY: nobody else knows the page.
        let guarded = unsafe { mprotect(start, GUARD_BYTES, ProtFlags::PROT_NONE) };
        Ok((start, length.get(), guarded))
    };
    let maps: [nix::Result<_>; 2] = [stack_bytes, signal_bytes].map(map);
    let results = maps.map(|map| {
        let (start, length, guarded) = map?;
        // SAFETY: as above.
        unsafe { munmap(start, length) }.and(guarded)
    });
    Ok(results.into_iter().collect::<nix::Result<()>>()?)
}
