//! A turn guarded by a mutex of the C library, in shared memory, and a condition
//! variable for each side, signalled with the mutex held: the textbook's form.
//! With one for both, a side that dies while it waits would block the other's
//! signals for ever.
//!
//! A thread that is woken by the signal needs the mutex before it can go on.
//! Where it runs at once, it finds the mutex held and blocks again.

use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;

use crate::flags::Kind;
use crate::shared::shared;
use crate::side::{Alarm, Side, hung_up};

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Driver,
    Partner,
    Over,
}

/// A monitor: everything that the two sides share.
struct Monitor {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    /// On which the driver waits, then the partner.
    conditions: [UnsafeCell<libc::pthread_cond_t>; 2],
    turn: UnsafeCell<Turn>,
}

// SAFETY: the mutex and the condition variable are made to be shared, and the
// turn is touched only by whoever holds the mutex.
unsafe impl Sync for Monitor {}

impl Monitor {
    /// Puts a monitor into shared memory.
    fn new(kind: Kind) -> io::Result<&'static Self> {
        let monitor = shared(Self {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            conditions: [const { UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER) }; 2],
            turn: UnsafeCell::new(Turn::Driver),
        })?;
        if kind == Kind::Process {
            monitor.open_to_processes()?;
        }
        Ok(monitor)
    }

    /// Makes a new monitor one for processes. Its mutex becomes robust: one
    /// that dies while holding it does not hold it for ever.
    fn open_to_processes(&self) -> io::Result<()> {
        let mut mutex = MaybeUninit::uninit();
        let mut condition = MaybeUninit::uninit();
        // SAFETY: the attributes are initialised before they are used, and
        // nobody uses the mutex and the condition variable yet. They stay
        // where they are, as the mapping is never given back.
        unsafe {
            let shared = libc::PTHREAD_PROCESS_SHARED;
            done(libc::pthread_mutexattr_init(mutex.as_mut_ptr()))?;
            done(libc::pthread_mutexattr_setpshared(mutex.as_mut_ptr(), shared))?;
            let robust = libc::PTHREAD_MUTEX_ROBUST;
            done(libc::pthread_mutexattr_setrobust(mutex.as_mut_ptr(), robust))?;
            done(libc::pthread_mutex_init(self.mutex.get(), mutex.as_ptr()))?;
            done(libc::pthread_condattr_init(condition.as_mut_ptr()))?;
            done(libc::pthread_condattr_setpshared(condition.as_mut_ptr(), shared))?;
            for own in &self.conditions {
                done(libc::pthread_cond_init(own.get(), condition.as_ptr()))?;
            }
            Ok(())
        }
    }

    fn locked(&self) -> io::Result<Locked<'_>> {
        // SAFETY: the mutex is initialised, and this thread does not hold it.
        let code = unsafe { libc::pthread_mutex_lock(self.mutex.get()) };
        if code != libc::EOWNERDEAD {
            return done(code).map(|()| Locked(self));
        }
        // The other side died while it held the mutex, which is held here now.
        // SAFETY: that is what makes the call allowed.
        done(unsafe { libc::pthread_mutex_consistent(self.mutex.get()) })?;
        let locked = Locked(self);
        locked.set(Turn::Over);
        Ok(locked)
    }

    fn give_to(&self, side: Turn) -> io::Result<()> {
        let locked = self.locked()?;
        locked.set(side);
        locked.signal(side)
    }

    fn wait_for(&self, side: Turn) -> io::Result<()> {
        let locked = self.locked()?;
        loop {
            match locked.turn() {
                Turn::Over => return Err(hung_up()),
                turn if turn == side => return Ok(()),
                _ => locked.wait_as(side)?,
            }
        }
    }

    fn end(&self) {
        // Without the mutex, the other side cannot be waiting for the turn.
        let Ok(locked) = self.locked() else { return };
        locked.set(Turn::Over);
        let _ = locked.signal(Turn::Driver).and(locked.signal(Turn::Partner));
    }
}

/// The monitor while its mutex is held.
struct Locked<'a>(&'a Monitor);

impl Locked<'_> {
    fn turn(&self) -> Turn {
        // SAFETY: the mutex is held.
        unsafe { *self.0.turn.get() }
    }

    /// Nobody gets the turn once it is over.
    fn set(&self, turn: Turn) {
        if self.turn() != Turn::Over {
            // SAFETY: the mutex is held.
            unsafe { *self.0.turn.get() = turn }
        }
    }

    fn signal(&self, side: Turn) -> io::Result<()> {
        // SAFETY: the condition variable is initialised.
        done(unsafe { libc::pthread_cond_signal(self.0.conditions[side as usize].get()) })
    }

    fn wait_as(&self, side: Turn) -> io::Result<()> {
        let Monitor { mutex, conditions, .. } = self.0;
        // SAFETY: both are initialised, and the mutex is held.
        done(unsafe { libc::pthread_cond_wait(conditions[side as usize].get(), mutex.get()) })
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // SAFETY: the mutex is held by this thread.
        unsafe { libc::pthread_mutex_unlock(self.0.mutex.get()) };
    }
}

/// What the threads library returns: 0 or the number of an error.
fn done(code: libc::c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// One side of a monitor.
pub struct Condvar {
    monitor: &'static Monitor,
    mine: Turn,
    other: Turn,
}

impl Side for Condvar {
    fn hand_over(&mut self) -> io::Result<()> {
        self.monitor.give_to(self.other)
    }

    fn wait(&mut self) -> io::Result<()> {
        self.monitor.wait_for(self.mine)
    }

    fn hang_up(&self) {
        self.monitor.end();
    }

    /// The kernel reports the death of one who shares memory to nobody.
    fn alarm(&self) -> io::Result<Option<Alarm>> {
        let monitor = self.monitor;
        Ok(Some(Box::new(|| monitor.end())))
    }
}

/// Two sides of a monitor in shared memory.
pub fn condvars(kind: Kind) -> io::Result<(Condvar, Condvar)> {
    let monitor = Monitor::new(kind)?;
    let side = |mine, other| Condvar { monitor, mine, other };
    Ok((side(Turn::Driver, Turn::Partner), side(Turn::Partner, Turn::Driver)))
}
