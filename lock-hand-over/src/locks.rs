//! The locks.

use std::cell::UnsafeCell;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};

use rustix::thread::futex;

/// A lock that tasks share.
pub trait Lock: Default + Send + Sync + 'static {
    /// Calls `inside` with the lock held.
    fn hold<R: Send>(&self, inside: impl FnOnce() -> R + Send) -> impl Future<Output = R> + Send;

    /// Calls `inside` with the lock held and `outside` after its release, until `outside` returns
    /// `false`. Both get the state, which is returned.
    fn repeat<S: Default + Send>(
        &self,
        inside: impl Fn(&mut S) + Send + Sync,
        outside: impl Fn(&mut S) -> bool + Send,
    ) -> impl Future<Output = S> + Send {
        async move {
            let mut state = S::default();
            loop {
                self.hold(|| inside(&mut state)).await;
                if !outside(&mut state) {
                    return state;
                }
            }
        }
    }
}

impl Lock for tokio::sync::Mutex<()> {
    async fn hold<R: Send>(&self, inside: impl FnOnce() -> R + Send) -> R {
        let _held = self.lock().await;
        inside()
    }
}

impl Lock for async_lock::Mutex<()> {
    async fn hold<R: Send>(&self, inside: impl FnOnce() -> R + Send) -> R {
        let _held = self.lock().await;
        inside()
    }
}

/// A lock that blocks the thread.
pub trait Blocking: Default + Send + Sync + 'static {
    /// Calls `inside` with the lock held.
    fn with<R>(&self, inside: impl FnOnce() -> R) -> R;
}

impl<L: Blocking> Lock for L {
    async fn hold<R: Send>(&self, inside: impl FnOnce() -> R + Send) -> R {
        self.with(inside)
    }

    async fn repeat<S: Default + Send>(
        &self,
        inside: impl Fn(&mut S) + Send + Sync,
        outside: impl Fn(&mut S) -> bool + Send,
    ) -> S {
        repeat(self, inside, outside)
    }
}

/// [`Lock::repeat`] without a future, which would write its state to memory in every turn: an
/// atomic operation waits for all writes before it.
#[inline(never)]
fn repeat<S: Default>(
    lock: &impl Blocking,
    inside: impl Fn(&mut S),
    outside: impl Fn(&mut S) -> bool,
) -> S {
    let mut state = S::default();
    loop {
        lock.with(|| inside(&mut state));
        if !outside(&mut state) {
            return state;
        }
    }
}

impl Blocking for std::sync::Mutex<()> {
    fn with<R>(&self, inside: impl FnOnce() -> R) -> R {
        let _held = self.lock().unwrap_or_else(PoisonError::into_inner);
        inside()
    }
}

impl Blocking for parking_lot::Mutex<()> {
    fn with<R>(&self, inside: impl FnOnce() -> R) -> R {
        let _held = self.lock();
        inside()
    }
}

/// A mutex of POSIX threads, of this type and protocol.
pub struct Pthread<const TYPE: i32, const PROTOCOL: i32>(
    // In place, like the other locks: a pointer to it would cost a cache line. It does not move
    // after its first use, and glibc records no address before.
    UnsafeCell<libc::pthread_mutex_t>,
);

/// `PTHREAD_PRIO_NONE` and `PTHREAD_PRIO_INHERIT` of <pthread.h>.
const NO_PROTOCOL: i32 = 0;
const INHERIT: i32 = 1;

/// A mutex with default attributes.
pub type Normal = Pthread<{ libc::PTHREAD_MUTEX_NORMAL }, NO_PROTOCOL>;
/// A mutex that spins briefly before it waits.
pub type Adaptive = Pthread<{ libc::PTHREAD_MUTEX_ADAPTIVE_NP }, NO_PROTOCOL>;
/// A mutex with priority inheritance.
pub type Inherit = Pthread<{ libc::PTHREAD_MUTEX_NORMAL }, INHERIT>;

// SAFETY: several threads may use a mutex; nothing else reads its bytes.
unsafe impl<const TYPE: i32, const PROTOCOL: i32> Send for Pthread<TYPE, PROTOCOL> {}
// SAFETY: as above.
unsafe impl<const TYPE: i32, const PROTOCOL: i32> Sync for Pthread<TYPE, PROTOCOL> {}

impl<const TYPE: i32, const PROTOCOL: i32> Default for Pthread<TYPE, PROTOCOL> {
    fn default() -> Self {
        let mutex = UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER);
        // SAFETY: the attributes are initialized before use, zeros are valid memory for them, and
        // no thread uses the mutex yet.
        let errors = unsafe {
            let mut attributes = std::mem::zeroed();
            [
                libc::pthread_mutexattr_init(&raw mut attributes),
                libc::pthread_mutexattr_settype(&raw mut attributes, TYPE),
                libc::pthread_mutexattr_setprotocol(&raw mut attributes, PROTOCOL),
                libc::pthread_mutex_init(mutex.get(), &raw const attributes),
                libc::pthread_mutexattr_destroy(&raw mut attributes),
            ]
        };
        assert_eq!(errors, [0; 5], "glibc knows these attributes");
        Self(mutex)
    }
}

impl<const TYPE: i32, const PROTOCOL: i32> Blocking for Pthread<TYPE, PROTOCOL> {
    fn with<R>(&self, inside: impl FnOnce() -> R) -> R {
        // SAFETY: the mutex is initialized and outlives the call.
        let locked = unsafe { libc::pthread_mutex_lock(self.0.get()) };
        assert!(locked == 0, "pthread_mutex_lock: {locked}");
        let result = inside();
        // SAFETY: as above, and this thread holds it.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
        result
    }
}

/// A test-and-test-and-set lock.
#[derive(Debug, Default)]
pub struct Spin(AtomicBool);

impl Blocking for Spin {
    fn with<R>(&self, inside: impl FnOnce() -> R) -> R {
        while self.0.swap(true, Acquire) {
            while self.0.load(Relaxed) {
                std::hint::spin_loop();
            }
        }
        let result = inside();
        self.0.store(false, Release);
        result
    }
}

/// The second mutex of Drepper's "Futexes Are Tricky": 0 is free, 1 is taken, and 2 is taken
/// while others may wait.
#[derive(Debug, Default)]
pub struct Futex(AtomicU32);

impl Blocking for Futex {
    fn with<R>(&self, inside: impl FnOnce() -> R) -> R {
        if self.0.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            while self.0.swap(2, Acquire) != 0 {
                // Returns at once if the word has changed; the loop reads it again.
                let _ = futex::wait(&self.0, futex::Flags::PRIVATE, 2, None);
            }
        }
        let result = inside();
        if self.0.swap(0, Release) == 2 {
            let _ = futex::wake(&self.0, futex::Flags::PRIVATE, 1);
        }
        result
    }
}

/// Not a lock.
#[derive(Debug, Default)]
pub struct Broken;

impl Blocking for Broken {
    fn with<R>(&self, inside: impl FnOnce() -> R) -> R {
        inside()
    }
}
