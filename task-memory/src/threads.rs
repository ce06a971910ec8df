//! Idle threads.

use std::hint::black_box;
use std::io;
use std::mem::MaybeUninit;
use std::os::raw::c_void;
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use harness::failure::creating;
use harness::threads::join;
use rustix::thread::futex;

use crate::population::{Population, Task};

/// What a call of [`touch_stack`] writes to, in bytes: less than a page, so that
/// no page is left out.
const FRAME_BYTES: usize = 2048;

/// Writes to the `bytes` of this thread's stack below the caller's frame.
pub fn touch_stack(bytes: usize) {
    if bytes > 0 {
        let here = 0_u8;
        descend(ptr::from_ref(&here).addr(), bytes);
    }
}

/// Calls itself until the stack has grown by `bytes` since `top`.
#[inline(never)]
fn descend(top: usize, bytes: usize) {
    let mut frame = [1_u8; FRAME_BYTES];
    let bottom = black_box(&mut frame).as_ptr().addr();
    if top.saturating_sub(bottom) < bytes {
        descend(top, bytes);
    }
    // What follows the call keeps it from becoming a loop in one frame.
    black_box(&mut frame);
}

/// What all threads of a population share.
#[derive(Default)]
struct Shared {
    stack_bytes: usize,
    touch_bytes: usize,
    /// Threads that have all that they need.
    complete: AtomicU64,
    /// Threads without an alternate signal stack.
    incomplete: AtomicU64,
    /// Why the last of the incomplete threads is incomplete.
    refused: Mutex<Option<io::Error>>,
    /// Not 0 when all threads must end.
    over: AtomicU32,
}

impl Shared {
    /// What a thread does when it has been made: with this signal stack.
    fn live(&self, signal_stack: io::Result<()>) {
        touch_stack(self.touch_bytes);
        match signal_stack {
            Ok(()) => self.complete.fetch_add(1, Release),
            Err(error) => {
                *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                self.incomplete.fetch_add(1, Release)
            }
        };
        while self.over.load(Acquire) == 0 {
            let _ = futex::wait(&self.over, futex::Flags::PRIVATE, 0, None);
        }
    }
}

/// Idle threads, with what makes one and what joins it.
pub struct Threads<T> {
    shared: Arc<Shared>,
    threads: Vec<T>,
    create: fn(&Arc<Shared>) -> io::Result<T>,
    join: fn(usize, T) -> anyhow::Result<()>,
}

impl<T> Threads<T> {
    fn new(
        Task { stack_bytes, touch_bytes, .. }: Task,
        create: fn(&Arc<Shared>) -> io::Result<T>,
        join: fn(usize, T) -> anyhow::Result<()>,
    ) -> Self {
        let shared = Shared { stack_bytes, touch_bytes, ..Shared::default() };
        Self { shared: shared.into(), threads: Vec::new(), create, join }
    }
}

impl Threads<JoinHandle<()>> {
    /// Threads of the standard library.
    pub fn of_std(task: Task) -> Self {
        let spawn = |shared: &Arc<Shared>| {
            let builder = thread::Builder::new().stack_size(shared.stack_bytes);
            let shared = Arc::clone(shared);
            builder.spawn(move || shared.live(Ok(())))
        };
        Self::new(task, spawn, join)
    }
}

impl Threads<libc::pthread_t> {
    /// Threads that need what those of the standard library need, for counting how many fit. If
    /// the alternate signal stack of a thread is refused, the standard library aborts the whole
    /// process; these report it.
    ///
    /// They are made by `pthread_create`, because that point lies inside a new thread of `std`,
    /// before any code of ours. They hold a little less memory than one of `std`, so that
    /// memory is measured with [`Threads::of_std`].
    pub fn refusable(task: Task) -> Self {
        Self::new(task, create, |_, thread| {
            // SAFETY: a thread that was created here and is joined once.
            unsafe { libc::pthread_join(thread, ptr::null_mut()) };
            Ok(())
        })
    }
}

impl<T> Population for Threads<T> {
    fn add(&mut self, count: u64) -> anyhow::Result<()> {
        let Shared { complete, incomplete, refused, .. } = &*self.shared;
        let created = (0..count).try_for_each(|_| {
            self.threads.push((self.create)(&self.shared)?);
            Ok(())
        });
        while complete.load(Acquire) + incomplete.load(Acquire) < self.threads.len() as u64 {
            thread::yield_now();
        }
        let task = self.threads.len();
        created.map_err(|error| creating(format_args!("task {task}"), error))?;
        match refused.lock().unwrap_or_else(PoisonError::into_inner).take() {
            None => Ok(()),
            Some(error) => Err(creating(format_args!("the signal stack of a task"), error)),
        }
    }

    fn count(&self) -> u64 {
        self.shared.complete.load(Acquire)
    }

    /// Their maps must go before anything else needs one.
    fn end(self: Box<Self>) -> anyhow::Result<()> {
        self.shared.over.store(1, Release);
        let _ = futex::wake(&self.shared.over, futex::Flags::PRIVATE, i32::MAX as u32);
        let mut threads = self.threads.into_iter().enumerate();
        threads.try_for_each(|(task, thread)| (self.join)(task, thread))
    }
}

fn create(shared: &Arc<Shared>) -> io::Result<libc::pthread_t> {
    let mut thread = MaybeUninit::uninit();
    let mut attributes = MaybeUninit::uninit();
    let argument = Arc::into_raw(Arc::clone(shared)).cast_mut().cast();
    // SAFETY: the attributes are initialised before they are used and destroyed
    // after; `live` takes the reference that `argument` is.
    let error = unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), shared.stack_bytes);
        let error = libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), live, argument);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        error
    };
    if error != 0 {
        // SAFETY: there is no thread, so the reference is still ours.
        drop(unsafe { Arc::from_raw(argument.cast_const().cast::<Shared>()) });
        return Err(io::Error::from_raw_os_error(error));
    }
    // SAFETY: the call succeeded, and then it has written the thread.
    Ok(unsafe { thread.assume_init() })
}

/// The whole life of a thread. It allocates once, as one of the standard
/// library does, for the allocator to make it an arena; memory may be what is
/// short, so nothing depends on it.
extern "C" fn live(argument: *mut c_void) -> *mut c_void {
    // SAFETY: `create` passes a reference of this thread's own.
    let shared = unsafe { Arc::from_raw(argument.cast_const().cast::<Shared>()) };
    // SAFETY: what is allocated, or null, is not used but freed.
    unsafe { libc::free(black_box(libc::malloc(1))) };
    shared.live(install_signal_stack());
    ptr::null_mut()
}

/// The least that the standard library takes (`SIGSTKSZ`), in bytes.
const LEAST_SIGNAL_STACK: usize = 8 << 10;
/// A guard page, in bytes.
const GUARD_BYTES: usize = 4 << 10;

/// Gives this thread the alternate signal stack that the standard library would give it, above
/// a guard page. It is two maps, and past `vm.max_map_count` either call fails.
fn install_signal_stack() -> io::Result<()> {
    // SAFETY: a call without arguments that could be wrong.
    let wanted = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    let bytes = wanted.max(LEAST_SIGNAL_STACK).next_multiple_of(GUARD_BYTES) + GUARD_BYTES;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new map at an address that the kernel chooses, whose first page nobody else
    // knows. The stack above it stays mapped.
    let installed = unsafe {
        let start = libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0);
        start != libc::MAP_FAILED && libc::mprotect(start, GUARD_BYTES, libc::PROT_NONE) == 0 && {
            let ss_sp = start.byte_add(GUARD_BYTES);
            let stack = libc::stack_t { ss_sp, ss_flags: 0, ss_size: bytes - GUARD_BYTES };
            libc::sigaltstack(&raw const stack, ptr::null_mut()) == 0
        }
    };
    if installed { Ok(()) } else { Err(io::Error::last_os_error()) }
}
