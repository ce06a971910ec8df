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
    stack_bytes: usize,
    touch_bytes: usize,
    /// Threads that started completely.
    complete: AtomicU64,
    /// Threads without an alternate signal stack.
    incomplete: AtomicU64,
    /// Why the last of them is incomplete.
    refused: Mutex<Option<io::Error>>,
    /// Nonzero when all threads must end.
    over: AtomicU32,
}

impl Shared {
    /// A new thread's body, with this signal stack.
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

/// Idle threads, with the functions that create and join one.
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
    /// Threads with the same needs as the standard library's, to count how many fit. If the
    /// alternate signal stack of a thread is refused, the standard library aborts the whole
    /// process; these report it.
    ///
    /// They use `pthread_create`, because the standard library fails inside a new thread, before
    /// any of our code. They use slightly less memory than the library's, so memory is measured
    /// with [`Threads::of_std`].
    pub fn refusable(task: Task) -> Self {
        Self::new(task, create, |_, thread| {
            // SAFETY: the thread was created here and is joined once.
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

    /// Unmaps their stacks before anything else needs a map.
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
    // SAFETY: the attributes are initialized before they are used and destroyed
    // afterwards; `live` takes over the reference in `argument`.
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

/// A thread's main function. It allocates once, as in the standard library, so
/// that the allocator creates an arena; memory may be short, so nothing depends
/// on it.
extern "C" fn live(argument: *mut c_void) -> *mut c_void {
    // SAFETY: `create` passes this thread's own reference.
    let shared = unsafe { Arc::from_raw(argument.cast_const().cast::<Shared>()) };
    // SAFETY: the block, or null, is only freed.
    unsafe { libc::free(black_box(libc::malloc(1))) };
    shared.live(install_signal_stack());
    ptr::null_mut()
}

/// The smallest size in the standard library (`SIGSTKSZ`), in bytes.
const LEAST_SIGNAL_STACK: usize = 8 << 10;
/// A guard page, in bytes.
const GUARD_BYTES: usize = 4 << 10;

/// Installs the alternate signal stack that the standard library would install, above a guard page.
/// It is two maps, and beyond `vm.max_map_count` either call fails.
fn install_signal_stack() -> io::Result<()> {
    // SAFETY: no argument can be wrong.
    let wanted = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    let bytes = wanted.max(LEAST_SIGNAL_STACK).next_multiple_of(GUARD_BYTES) + GUARD_BYTES;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new map at an address that the kernel chooses, whose first page nobody else knows.
    // The stack above it stays mapped.
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
