//! Channels through a slot under a mutex, with a condition variable.
//!
//! `std`'s monitor notifies after unlocking, so that the receiver does not wake up only to wait for
//! the mutex. The C library's, which also connects processes, signals with the mutex locked, as in
//! textbooks: a thread that is woken at once finds the mutex locked and blocks again.

use std::cell::UnsafeCell;
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::memory::place;
use super::{Closer, Reach, Sink, Source};

/// The data under the mutex.
#[derive(Debug, Default)]
struct Slot {
    token: Option<u8>,
    closed: bool,
}

impl Slot {
    fn is_open_and_empty(&mut self) -> bool {
        self.token.is_none() && !self.closed
    }
}

#[derive(Debug, Default)]
struct Monitor {
    slot: Mutex<Slot>,
    changed: Condvar,
}

impl Monitor {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The source of a `std` monitor.
#[derive(Debug)]
pub struct MonitorSource(Arc<Monitor>);

/// The sink of a `std` monitor.
#[derive(Debug)]
pub struct MonitorSink(Arc<Monitor>);

impl Source for MonitorSource {
    fn receive(&mut self) -> io::Result<Option<u8>> {
        let waited = self.0.changed.wait_while(self.0.slot(), Slot::is_open_and_empty);
        Ok(waited.unwrap_or_else(PoisonError::into_inner).token.take())
    }
}

impl Sink for MonitorSink {
    fn send(&mut self, token: u8) -> io::Result<()> {
        self.0.slot().token = Some(token);
        self.0.changed.notify_one();
        Ok(())
    }
}

impl Drop for MonitorSink {
    fn drop(&mut self) {
        self.0.slot().closed = true;
        self.0.changed.notify_one();
    }
}

/// A channel over a monitor of the standard library.
pub fn monitor() -> (MonitorSource, MonitorSink) {
    let monitor = Arc::<Monitor>::default();
    (MonitorSource(Arc::clone(&monitor)), MonitorSink(monitor))
}

/// A monitor of the C library.
struct Shared {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    changed: UnsafeCell<libc::pthread_cond_t>,
    slot: UnsafeCell<Slot>,
}

// SAFETY: the mutex and the condition variable may be shared, and the slot is
// accessed only with the mutex locked.
unsafe impl Sync for Shared {}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Shared")
    }
}

impl Shared {
    /// Makes a new monitor usable across processes. Its mutex becomes robust: a process that dies
    /// with it locked does not leave it locked.
    fn open_to_processes(&self) -> io::Result<()> {
        let mut mutex = MaybeUninit::uninit();
        let mut condition = MaybeUninit::uninit();
        // SAFETY: the attributes are initialized before use, and nobody uses
        // the mutex and the condition variable yet. They stay in place, since
        // the mapping is never unmapped.
        unsafe {
            let shared = libc::PTHREAD_PROCESS_SHARED;
            done(libc::pthread_mutexattr_init(mutex.as_mut_ptr()))?;
            done(libc::pthread_mutexattr_setpshared(mutex.as_mut_ptr(), shared))?;
            let robust = libc::PTHREAD_MUTEX_ROBUST;
            done(libc::pthread_mutexattr_setrobust(mutex.as_mut_ptr(), robust))?;
            done(libc::pthread_mutex_init(self.mutex.get(), mutex.as_ptr()))?;
            done(libc::pthread_condattr_init(condition.as_mut_ptr()))?;
            done(libc::pthread_condattr_setpshared(condition.as_mut_ptr(), shared))?;
            done(libc::pthread_cond_init(self.changed.get(), condition.as_ptr()))
        }
    }

    fn locked(&self) -> io::Result<Locked<'_>> {
        // SAFETY: the mutex is initialised, and this thread has not locked it.
        let code = unsafe { libc::pthread_mutex_lock(self.mutex.get()) };
        if code != libc::EOWNERDEAD {
            done(code)?;
        }
        let mut locked = Locked(self);
        locked.taken(code)?;
        Ok(locked)
    }

    /// Changes the slot, and wakes the source.
    fn change(&self, change: impl FnOnce(&mut Slot)) -> io::Result<()> {
        let mut locked = self.locked()?;
        change(locked.slot());
        // SAFETY: the condition variable is initialised.
        done(unsafe { libc::pthread_cond_signal(self.changed.get()) })
    }

    fn close(&self) {
        let _ = self.change(|slot| slot.closed = true);
    }
}

/// A monitor whose mutex is locked.
struct Locked<'a>(&'a Shared);

impl Locked<'_> {
    fn slot(&mut self) -> &mut Slot {
        // SAFETY: the mutex is locked by this thread.
        unsafe { &mut *self.0.slot.get() }
    }

    /// Checks how the mutex was locked. If a process died with it locked, closes the channel.
    fn taken(&mut self, code: libc::c_int) -> io::Result<()> {
        if code != libc::EOWNERDEAD {
            return done(code);
        }
        // SAFETY: this thread locked the mutex, and was notified of the death.
        done(unsafe { libc::pthread_mutex_consistent(self.0.mutex.get()) })?;
        self.slot().closed = true;
        Ok(())
    }

    fn wait(&mut self) -> io::Result<()> {
        let Shared { mutex, changed, .. } = self.0;
        // SAFETY: both are initialised, and the mutex is locked.
        let code = unsafe { libc::pthread_cond_wait(changed.get(), mutex.get()) };
        self.taken(code)
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // SAFETY: the mutex is locked by this thread.
        unsafe { libc::pthread_mutex_unlock(self.0.mutex.get()) };
    }
}

/// Checks a return value of the threads library: 0 or an error number.
fn done(code: libc::c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// The source of a monitor of the C library.
#[derive(Debug)]
pub struct SharedSource(&'static Shared);

/// The sink of a monitor of the C library.
#[derive(Debug)]
pub struct SharedSink(&'static Shared);

impl Source for SharedSource {
    fn receive(&mut self) -> io::Result<Option<u8>> {
        let mut locked = self.0.locked()?;
        while locked.slot().is_open_and_empty() {
            locked.wait()?;
        }
        Ok(locked.slot().token.take())
    }

    fn closer(&self) -> Option<Closer> {
        let shared = self.0;
        Some(Box::new(|| shared.close()))
    }
}

impl Sink for SharedSink {
    fn send(&mut self, token: u8) -> io::Result<()> {
        self.0.change(|slot| slot.token = Some(token))
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
pub fn shared_monitor(reach: Reach) -> io::Result<(SharedSource, SharedSink)> {
    let shared = place(
        Shared {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            changed: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
            slot: UnsafeCell::default(),
        },
        reach,
    )?;
    if reach == Reach::Process {
        shared.open_to_processes()?;
    }
    Ok((SharedSource(shared), SharedSink(shared)))
}

#[cfg(test)]
mod tests {
    use std::{mem, thread};

    use super::*;

    /// To the mutex, a thread that ends with it locked is the same as a killed process.
    #[test]
    fn a_channel_closes_if_a_process_dies_with_its_mutex() {
        let (mut source, sink) = shared_monitor(Reach::Process).unwrap();
        let shared = sink.0;
        let dying = thread::spawn(|| mem::forget(shared.locked().unwrap()));
        dying.join().unwrap();
        assert_eq!(source.receive().unwrap(), None);
        // Nobody blocks on it either.
        shared.close();
    }
}
