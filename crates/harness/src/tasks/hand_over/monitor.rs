//! Channels through a slot under a mutex, with a condition variable.
//!
//! `std`'s monitor notifies after unlocking, so that the receiver does not wake up only to wait for
//! the mutex. The C library's, which also connects processes, signals with the mutex locked, as in
//! textbooks: a thread that is woken at once finds the mutex locked and blocks again.
//!
//! What runs at each token is `#[inline]`, as in [`super::memory`]: a call into this crate would
//! return through a stack frame that the switch has evicted from the cache.

use std::cell::{Cell, UnsafeCell};
use std::io;
use std::mem::MaybeUninit;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::memory::place;
use super::{Closer, Sink, Source, ThreadOrProcess};

/// The data under the mutex.
#[derive(Default)]
struct Slot {
    token: Cell<Option<u8>>,
    closed: Cell<bool>,
}

impl Slot {
    fn is_open_and_empty(&self) -> bool {
        self.token.get().is_none() && !self.closed.get()
    }
}

#[derive(Default)]
struct Monitor {
    slot: Mutex<Slot>,
    changed: Condvar,
}

impl Monitor {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct MonitorSource(Arc<Monitor>);

struct MonitorSink(Arc<Monitor>);

impl Source for MonitorSource {
    #[inline]
    fn receive(&mut self) -> io::Result<Option<u8>> {
        let waited = self.0.changed.wait_while(self.0.slot(), |slot| slot.is_open_and_empty());
        Ok(waited.unwrap_or_else(PoisonError::into_inner).token.take())
    }
}

impl Sink for MonitorSink {
    #[inline]
    fn send(&mut self, token: u8) -> io::Result<()> {
        self.0.slot().token.set(Some(token));
        self.0.changed.notify_one();
        Ok(())
    }
}

impl Drop for MonitorSink {
    fn drop(&mut self) {
        self.0.slot().closed.set(true);
        self.0.changed.notify_one();
    }
}

/// A channel over a monitor of the standard library.
pub fn monitor() -> (impl Source, impl Sink) {
    let monitor = Arc::<Monitor>::default();
    (MonitorSource(Arc::clone(&monitor)), MonitorSink(monitor))
}

/// A monitor of the C library.
struct Shared {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    changed: UnsafeCell<libc::pthread_cond_t>,
    slot: Slot,
}

// SAFETY: the mutex and the condition variable may be shared, and the slot is
// accessed only with the mutex locked.
unsafe impl Sync for Shared {}

impl Shared {
    /// Makes a new monitor usable across processes.
    fn open_to_processes(&self) -> io::Result<()> {
        let mut mutex = MaybeUninit::uninit();
        let mut condition = MaybeUninit::uninit();
        let shared = libc::PTHREAD_PROCESS_SHARED;
        // SAFETY: the attributes are initialized before use, and nobody uses the mutex and the
        // condition variable yet. They stay in place, since the mapping is never unmapped.
        let errors = unsafe {
            [
                libc::pthread_mutexattr_init(mutex.as_mut_ptr()),
                libc::pthread_mutexattr_setpshared(mutex.as_mut_ptr(), shared),
                libc::pthread_mutex_init(self.mutex.get(), mutex.as_ptr()),
                libc::pthread_condattr_init(condition.as_mut_ptr()),
                libc::pthread_condattr_setpshared(condition.as_mut_ptr(), shared),
                libc::pthread_cond_init(self.changed.get(), condition.as_ptr()),
            ]
        };
        let error = errors.into_iter().find(|error| *error != 0);
        error.map_or(Ok(()), |error| Err(io::Error::from_raw_os_error(error)))
    }

    /// Calls `inside` with the mutex locked. Blocks for ever if a process died with it locked.
    #[inline]
    fn locked<R>(&self, inside: impl FnOnce(&Slot) -> R) -> R {
        // SAFETY: the mutex is initialized, and this thread has not locked it.
        unsafe { libc::pthread_mutex_lock(self.mutex.get()) };
        let result = inside(&self.slot);
        // SAFETY: the mutex is locked by this thread.
        unsafe { libc::pthread_mutex_unlock(self.mutex.get()) };
        result
    }

    /// Changes the slot, and wakes the source.
    #[inline]
    fn change(&self, change: impl FnOnce(&Slot)) {
        self.locked(|slot| {
            change(slot);
            // SAFETY: the condition variable is initialized.
            unsafe { libc::pthread_cond_signal(self.changed.get()) };
        });
    }

    fn close(&self) {
        self.change(|slot| slot.closed.set(true));
    }
}

struct SharedSource(&'static Shared);

struct SharedSink(&'static Shared);

impl Source for SharedSource {
    #[inline]
    fn receive(&mut self) -> io::Result<Option<u8>> {
        let Shared { mutex, changed, .. } = self.0;
        Ok(self.0.locked(|slot| {
            while slot.is_open_and_empty() {
                // SAFETY: both are initialized, and the mutex is locked.
                unsafe { libc::pthread_cond_wait(changed.get(), mutex.get()) };
            }
            slot.token.take()
        }))
    }

    fn closer(&self) -> Option<Closer> {
        let shared = self.0;
        Some(Box::new(|| shared.close()))
    }
}

impl Sink for SharedSink {
    #[inline]
    fn send(&mut self, token: u8) -> io::Result<()> {
        self.0.change(|slot| slot.token.set(Some(token)));
        Ok(())
    }
}

impl Drop for SharedSink {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// A channel over a monitor of the C library.
///
/// # Errors
/// The library's, or the kernel's if memory runs out.
pub fn shared_monitor(kind: ThreadOrProcess) -> io::Result<(impl Source, impl Sink)> {
    let shared = place(
        Shared {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            changed: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
            slot: Slot::default(),
        },
        kind,
    )?;
    if kind == ThreadOrProcess::Process {
        shared.open_to_processes()?;
    }
    Ok((SharedSource(shared), SharedSink(shared)))
}
