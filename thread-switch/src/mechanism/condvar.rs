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
            done(code)?;
        }
        let locked = Locked(self);
        locked.taken(code)?;
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
    /// What it means that the mutex was taken with this code: also that the other side
    /// died while it held it.
    fn taken(&self, code: libc::c_int) -> io::Result<()> {
        if code != libc::EOWNERDEAD {
            return done(code);
        }
        // SAFETY: the mutex is held, by one who was told of the death.
        done(unsafe { libc::pthread_mutex_consistent(self.0.mutex.get()) })?;
        self.set(Turn::Over);
        Ok(())
    }

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
        let code = unsafe { libc::pthread_cond_wait(conditions[side as usize].get(), mutex.get()) };
        self.taken(code)
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::{mem, thread};

    use super::*;

    /// Takes the mutex, does this and ends, which to the mutex is as being killed.
    fn die_locked(monitor: &'static Monitor, last: fn(&Locked)) {
        let dying = thread::spawn(move || {
            let locked = monitor.locked().unwrap();
            last(&locked);
            mem::forget(locked);
        });
        dying.join().unwrap();
    }

    /// That the turns are over, and that nobody is blocked.
    fn check_over(monitor: &Monitor) {
        let told = monitor.wait_for(Turn::Driver).unwrap_err();
        assert_eq!(told.to_string(), hung_up().to_string());
        monitor.give_to(Turn::Driver).unwrap();
        monitor.end();
    }

    #[test]
    fn the_turns_are_over_when_one_dies_with_the_mutex() {
        let monitor = Monitor::new(Kind::Process).unwrap();
        die_locked(monitor, |_| ());
        check_over(monitor);
    }

    #[test]
    fn who_waits_for_the_turn_is_told_too() {
        let monitor = Monitor::new(Kind::Process).unwrap();
        let (sender, about_to_wait) = mpsc::channel();
        let waiting = thread::spawn(move || {
            let locked = monitor.locked().unwrap();
            sender.send(()).unwrap();
            while locked.turn() != Turn::Over {
                locked.wait_as(Turn::Partner).unwrap();
            }
        });
        about_to_wait.recv().unwrap();
        // Which gets the mutex only once the other waits.
        die_locked(monitor, |locked| locked.signal(Turn::Partner).unwrap());
        waiting.join().unwrap();
        check_over(monitor);
    }
}
