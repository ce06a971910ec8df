//! Threads as the standard library makes them, but for one thing: a thread
//! whose alternate signal stack is refused says so and ends, where the
//! standard library aborts the whole process.
//!
//! They are made by `pthread_create`, because that point lies inside a new
//! thread of `std`, before any code of ours.

use std::mem::MaybeUninit;
use std::os::raw::c_void;
use std::ptr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::alternate_stack::AlternateStack;
use super::{Population, Refused, STACK_BYTES};

/// What all threads look at.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// A new thread has told how it began.
    told: Condvar,
    /// All threads are to end.
    over: Condvar,
}

#[derive(Default)]
struct State {
    began: Option<Result<(), Refused>>,
    is_over: bool,
}

/// Threads that wait.
pub struct Threads {
    shared: Arc<Shared>,
    threads: Vec<libc::pthread_t>,
}

impl Threads {
    pub fn new() -> Self {
        Self { shared: Arc::default(), threads: Vec::new() }
    }
}

impl Population for Threads {
    fn add(&mut self) -> Result<(), Refused> {
        let thread = create(&self.shared)?;
        let mut state = lock(&self.shared);
        let began = loop {
            match state.began.take() {
                Some(began) => break began,
                None => state = wait(&self.shared.told, state),
            }
        };
        drop(state);
        match began {
            Ok(()) => self.threads.push(thread),
            Err(_) => join(thread),
        }
        began
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        lock(&self.shared).is_over = true;
        self.shared.over.notify_all();
        self.threads.drain(..).for_each(join);
    }
}

type Guard<'a> = std::sync::MutexGuard<'a, State>;

fn lock(shared: &Shared) -> Guard<'_> {
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait<'a>(condition: &Condvar, guard: Guard<'a>) -> Guard<'a> {
    condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

fn create(shared: &Arc<Shared>) -> Result<libc::pthread_t, Refused> {
    let mut thread = MaybeUninit::uninit();
    let mut attributes = MaybeUninit::uninit();
    let argument = Arc::into_raw(Arc::clone(shared)).cast_mut().cast();
    // SAFETY: the attributes are initialised before they are used and destroyed
    // after; `live` takes the reference that `argument` is.
    let error = unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK_BYTES);
        let error = libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), live, argument);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        error
    };
    if error != 0 {
        // SAFETY: there is no thread, so the reference is still ours.
        drop(unsafe { Arc::from_raw(argument.cast_const().cast::<Shared>()) });
        return Err(Refused::by("creating a thread")(std::io::Error::from_raw_os_error(error)));
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
    let stack = AlternateStack::install();
    let mut state = lock(&shared);
    let (began, stack) = match stack {
        Ok(stack) => (Ok(()), Some(stack)),
        Err(refused) => (Err(refused), None),
    };
    state.began = Some(began);
    shared.told.notify_one();
    while stack.is_some() && !state.is_over {
        state = wait(&shared.over, state);
    }
    drop(state);
    drop(stack);
    ptr::null_mut()
}

fn join(thread: libc::pthread_t) {
    // SAFETY: a thread that was created here and is joined once.
    unsafe { libc::pthread_join(thread, ptr::null_mut()) };
}
