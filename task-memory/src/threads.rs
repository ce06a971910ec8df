//! Idle threads.

use std::hint::black_box;
use std::io;
use std::ptr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Builder, JoinHandle};

use corosensei::stack::DefaultStack;
use harness::failure::to_create;
use harness::threads::join;

use crate::Population;
use crate::flags::Flags;

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
    /// Set when all threads must end.
    over: OnceLock<()>,
}

/// Idle threads, each with a channel that `open` opens.
pub struct Threads<O> {
    open: O,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    stack_bytes: usize,
    until_refused: bool,
}

impl<O> Threads<O> {
    /// No threads yet; with `--until-refused` they may grow until the kernel refuses one.
    pub fn new(flags: &Flags, open: O) -> Self {
        let shared = Shared { touch_bytes: flags.touch, ..Shared::default() };
        let stack_bytes = flags.stack_bytes();
        let until_refused = flags.until_refused;
        Self { open, shared: shared.into(), threads: Vec::new(), stack_bytes, until_refused }
    }
}

impl<C: Send + 'static, O: FnMut() -> io::Result<C>> Population for Threads<O> {
    fn create(&mut self, task: u64) -> anyhow::Result<()> {
        let channel = (self.open)();
        let channel = channel.map_err(to_create(format_args!("the channel of task {task}")))?;
        let shared = Arc::clone(&self.shared);
        let live = move || {
            let _channel = channel;
            touch_stack(shared.touch_bytes);
            shared.alive.fetch_add(1, Release);
            shared.over.wait();
        };
        let room = if self.until_refused { check_maps(self.stack_bytes) } else { Ok(()) };
        let builder = Builder::new().stack_size(self.stack_bytes);
        let created = room.and_then(|()| builder.spawn(live));
        self.threads.push(created.map_err(to_create(format_args!("task {task}")))?);
        Ok(())
    }

    fn wait(&mut self, tasks: u64) -> anyhow::Result<()> {
        while self.shared.alive.load(Acquire) < tasks {
            thread::yield_now();
        }
        Ok(())
    }

    /// Unmaps their stacks before anything else needs a map.
    fn end(self: Box<Self>) -> anyhow::Result<()> {
        let _ = self.shared.over.set(());
        let mut threads = self.threads.into_iter().enumerate();
        threads.try_for_each(|(task, thread)| join(task, thread))
    }
}

/// The alternate signal stack of a thread of the standard library, in bytes: 8 KiB (16 on AArch64),
/// or a page more on processors with large registers.
const SIGNAL_STACK_BYTES: usize = libc::SIGSTKSZ + (4 << 10);

/// Maps what a thread maps, a stack and an alternate signal stack above a guard page each, and
/// unmaps it: if the latter is refused inside a new thread, the standard library aborts the
/// process.
fn check_maps(stack_bytes: usize) -> io::Result<()> {
    let _stacks = [DefaultStack::new(stack_bytes)?, DefaultStack::new(SIGNAL_STACK_BYTES)?];
    Ok(())
}
