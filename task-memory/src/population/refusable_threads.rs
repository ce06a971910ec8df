//! Threads that need what those of the standard library need, for counting how
//! many fit. Where the alternate signal stack of a thread is refused, the
//! standard library aborts the whole process; these report it.
//!
//! They are made by `pthread_create`, because that point lies inside a new
//! thread of `std`, before any code of ours. They hold a little less memory than
//! one of `std`, so that memory is measured with `super::threads`.

use std::io;
use std::mem::MaybeUninit;
use std::os::raw::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use harness::failure;

use super::alternate_stack::AlternateStack;
use super::{Population, Task};
use crate::stack;

/// What all threads share.
#[derive(Default)]
struct Shared {
    touch_bytes: usize,
    /// Threads that have all that they are to have.
    complete: AtomicU64,
    /// Threads without an alternate signal stack.
    incomplete: AtomicU64,
    state: Mutex<State>,
    /// All threads are to end.
    over: Condvar,
}

#[derive(Default)]
struct State {
    /// Why the last of the incomplete threads is incomplete.
    refused: Option<io::Error>,
    is_over: bool,
}

pub struct RefusableThreads {
    stack_bytes: usize,
    shared: Arc<Shared>,
    threads: Vec<libc::pthread_t>,
}

impl RefusableThreads {
    pub fn new(task: Task) -> Self {
        let shared = Shared { touch_bytes: task.touch_bytes, ..Shared::default() };
        Self { stack_bytes: task.stack_bytes, shared: shared.into(), threads: Vec::new() }
    }
}

impl Population for RefusableThreads {
    fn add(&mut self, count: u64) -> anyhow::Result<()> {
        let created = (0..count).try_for_each(|_| {
            self.threads.push(create(self.stack_bytes, &self.shared)?);
            Ok(())
        });
        let Shared { complete, incomplete, .. } = &*self.shared;
        let begun = || complete.load(Ordering::Acquire) + incomplete.load(Ordering::Acquire);
        while begun() < self.threads.len() as u64 {
            thread::yield_now();
        }
        let task = self.threads.len();
        created.map_err(|error| failure::creating(format_args!("task {task}"), error))?;
        match lock(&self.shared).refused.take() {
            None => Ok(()),
            Some(error) => {
                Err(failure::creating(format_args!("the signal stack of a task"), error))
            }
        }
    }

    fn count(&self) -> u64 {
        self.shared.complete.load(Ordering::Acquire)
    }
}

impl Drop for RefusableThreads {
    fn drop(&mut self) {
        lock(&self.shared).is_over = true;
        self.shared.over.notify_all();
        for thread in self.threads.drain(..) {
            // SAFETY: a thread that was created here and is joined once.
            unsafe { libc::pthread_join(thread, ptr::null_mut()) };
        }
    }
}

fn lock(shared: &Shared) -> std::sync::MutexGuard<'_, State> {
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn create(stack_bytes: usize, shared: &Arc<Shared>) -> io::Result<libc::pthread_t> {
    let mut thread = MaybeUninit::uninit();
    let mut attributes = MaybeUninit::uninit();
    let argument = Arc::into_raw(Arc::clone(shared)).cast_mut().cast();
    // SAFETY: the attributes are initialised before they are used and destroyed
    // after; `live` takes the reference that `argument` is.
    let error = unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), stack_bytes);
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
    unsafe { libc::free(std::hint::black_box(libc::malloc(1))) };
    let signal_stack = AlternateStack::install();
    stack::touch(shared.touch_bytes);
    let signal_stack = match signal_stack {
        Ok(signal_stack) => {
            shared.complete.fetch_add(1, Ordering::Release);
            Some(signal_stack)
        }
        Err(error) => {
            lock(&shared).refused = Some(error);
            shared.incomplete.fetch_add(1, Ordering::Release);
            None
        }
    };
    let mut state = lock(&shared);
    while !state.is_over {
        state = shared.over.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    drop(state);
    drop(signal_stack);
    ptr::null_mut()
}
