//! The locks.

use std::cell::UnsafeCell;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};

use rustix::thread::futex;

/// A lock that tasks share.
pub trait Lock: Default + Send + Sync + 'static {
    /// Calls `inside` with the lock held.
    fn locked<R: Send>(&self, inside: impl FnOnce() -> R + Send) -> impl Future<Output = R> + Send;

    /// Calls `inside` as a reader. Readers of a mutex exclude one another.
    fn read_locked<R: Send>(
        &self,
        inside: impl FnOnce() -> R + Send,
    ) -> impl Future<Output = R> + Send {
        self.locked(inside)
    }

    /// Calls `inside` with the lock held and `outside` after its release, until `outside` returns
    /// `false`. If readers and writers are `MIXED`, `reads` decides what this one is, and `inside`
    /// gets the answer. All get the state, which is returned.
    fn repeat<const MIXED: bool, S: Send>(
        &self,
        mut state: S,
        reads: impl Fn(&mut S) -> bool + Send,
        inside: impl Fn(&mut S, bool) + Send + Sync,
        outside: impl Fn(&mut S) -> bool + Send,
    ) -> impl Future<Output = S> + Send {
        async move {
            loop {
                if MIXED && reads(&mut state) {
                    self.read_locked(|| inside(&mut state, true)).await;
                } else {
                    self.locked(|| inside(&mut state, false)).await;
                }
                if !outside(&mut state) {
                    return state;
                }
            }
        }
    }
}

/// A lock that a task awaits: the methods that lock it for a writer and for a reader.
macro_rules! awaited {
    ($lock:ty, $write:ident, $read:ident) => {
        impl Lock for $lock {
            async fn locked<R: Send>(&self, inside: impl FnOnce() -> R + Send) -> R {
                let _held = self.$write().await;
                inside()
            }

            async fn read_locked<R: Send>(&self, inside: impl FnOnce() -> R + Send) -> R {
                let _held = self.$read().await;
                inside()
            }
        }
    };
}

awaited!(tokio::sync::Mutex<()>, lock, lock);
awaited!(async_lock::Mutex<()>, lock, lock);
awaited!(tokio::sync::RwLock<()>, write, read);
awaited!(async_lock::RwLock<()>, write, read);

/// A lock that blocks the thread.
pub trait Blocking: Default + Send + Sync + 'static {
    /// Calls `inside` with the lock held.
    fn run_locked<R>(&self, inside: impl FnOnce() -> R) -> R;

    /// Calls `inside` as a reader. Readers of a mutex exclude one another.
    fn run_read_locked<R>(&self, inside: impl FnOnce() -> R) -> R {
        self.run_locked(inside)
    }
}

impl<L: Blocking> Lock for L {
    async fn locked<R: Send>(&self, inside: impl FnOnce() -> R + Send) -> R {
        self.run_locked(inside)
    }

    async fn read_locked<R: Send>(&self, inside: impl FnOnce() -> R + Send) -> R {
        self.run_read_locked(inside)
    }

    async fn repeat<const MIXED: bool, S: Send>(
        &self,
        state: S,
        reads: impl Fn(&mut S) -> bool + Send,
        inside: impl Fn(&mut S, bool) + Send + Sync,
        outside: impl Fn(&mut S) -> bool + Send,
    ) -> S {
        repeat::<MIXED, S>(self, state, reads, inside, outside)
    }
}

/// [`Lock::repeat`] without a future, which would write its state to memory in every turn: an
/// atomic operation waits for all writes before it.
#[inline(never)]
fn repeat<const MIXED: bool, S>(
    lock: &impl Blocking,
    mut state: S,
    reads: impl Fn(&mut S) -> bool,
    inside: impl Fn(&mut S, bool),
    outside: impl Fn(&mut S) -> bool,
) -> S {
    loop {
        if MIXED && reads(&mut state) {
            lock.run_read_locked(|| inside(&mut state, true));
        } else {
            lock.run_locked(|| inside(&mut state, false));
        }
        if !outside(&mut state) {
            return state;
        }
    }
}

/// A lock of a library that blocks the thread: how a writer takes it, and how a reader does.
macro_rules! blocking {
    ($type:ty, |$lock:ident| $write:expr, $read:expr) => {
        impl Blocking for $type {
            fn run_locked<R>(&self, inside: impl FnOnce() -> R) -> R {
                let $lock = self;
                let _held = $write;
                inside()
            }

            // Otherwise the compiler calls it, since `repeat` has both: a tenth longer.
            #[inline]
            fn run_read_locked<R>(&self, inside: impl FnOnce() -> R) -> R {
                let $lock = self;
                let _held = $read;
                inside()
            }
        }
    };
}

blocking!(
    std::sync::Mutex<()>,
    |lock| lock.lock().unwrap_or_else(PoisonError::into_inner),
    lock.lock().unwrap_or_else(PoisonError::into_inner)
);
blocking!(
    std::sync::RwLock<()>,
    |lock| lock.write().unwrap_or_else(PoisonError::into_inner),
    lock.read().unwrap_or_else(PoisonError::into_inner)
);
blocking!(parking_lot::Mutex<()>, |lock| lock.lock(), lock.lock());
blocking!(parking_lot::RwLock<()>, |lock| lock.write(), lock.read());

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
    fn run_locked<R>(&self, inside: impl FnOnce() -> R) -> R {
        // SAFETY: the mutex is initialized and outlives the call.
        let locked = unsafe { libc::pthread_mutex_lock(self.0.get()) };
        assert!(locked == 0, "pthread_mutex_lock: {locked}");
        let result = inside();
        // SAFETY: as above, and this thread holds it.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
        result
    }
}

/// A read-write lock of POSIX threads, of this kind, in place as [`Pthread`] is.
pub struct PthreadRw<const KIND: i32>(UnsafeCell<libc::pthread_rwlock_t>);

/// `PTHREAD_RWLOCK_PREFER_READER_NP` and `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP` of
/// <pthread.h>.
const PREFER_READER: i32 = 0;
const PREFER_WRITER: i32 = 2;

/// A read-write lock with default attributes: a reader enters while others are inside, even if a writer waits.
pub type NormalRw = PthreadRw<PREFER_READER>;
/// A read-write lock that lets no reader in while a writer waits.
pub type WriterRw = PthreadRw<PREFER_WRITER>;

// SAFETY: several threads may use such a lock; nothing else reads its bytes.
unsafe impl<const KIND: i32> Send for PthreadRw<KIND> {}
// SAFETY: as above.
unsafe impl<const KIND: i32> Sync for PthreadRw<KIND> {}

impl<const KIND: i32> Default for PthreadRw<KIND> {
    fn default() -> Self {
        let lock = UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER);
        // SAFETY: the attributes are initialized before use, zeros are valid memory for them, and
        // no thread uses the lock yet.
        let errors = unsafe {
            let mut attributes = std::mem::zeroed();
            [
                libc::pthread_rwlockattr_init(&raw mut attributes),
                libc::pthread_rwlockattr_setkind_np(&raw mut attributes, KIND),
                libc::pthread_rwlock_init(lock.get(), &raw const attributes),
                libc::pthread_rwlockattr_destroy(&raw mut attributes),
            ]
        };
        assert_eq!(errors, [0; 4], "glibc knows these attributes");
        Self(lock)
    }
}

impl<const KIND: i32> Blocking for PthreadRw<KIND> {
    fn run_locked<R>(&self, inside: impl FnOnce() -> R) -> R {
        // SAFETY: the lock is initialized and outlives the call.
        let locked = unsafe { libc::pthread_rwlock_wrlock(self.0.get()) };
        assert!(locked == 0, "pthread_rwlock_wrlock: {locked}");
        let result = inside();
        // SAFETY: as above, and this thread holds it.
        unsafe { libc::pthread_rwlock_unlock(self.0.get()) };
        result
    }

    fn run_read_locked<R>(&self, inside: impl FnOnce() -> R) -> R {
        // SAFETY: the lock is initialized and outlives the call.
        let locked = unsafe { libc::pthread_rwlock_rdlock(self.0.get()) };
        assert!(locked == 0, "pthread_rwlock_rdlock: {locked}");
        let result = inside();
        // SAFETY: as above, and this thread is one of those that hold it.
        unsafe { libc::pthread_rwlock_unlock(self.0.get()) };
        result
    }
}

/// A test-and-test-and-set lock.
///
/// `Acquire` of the swap that takes it and `Release` of the store: without either, what a holder did
/// could be seen only after the next one has begun, and counts would be lost. The load in between only
/// waits, so it is `Relaxed`; the swap that follows orders.
#[derive(Debug, Default)]
pub struct Spin(AtomicBool);

impl Blocking for Spin {
    fn run_locked<R>(&self, inside: impl FnOnce() -> R) -> R {
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
///
/// What takes it is `Acquire`, what releases it `Release`, as in [`Spin`]. A failed exchange is
/// `Relaxed`, since it takes nothing. No waiter sleeps through a release: the kernel compares the word
/// under its own lock, which the wake-up takes, too.
#[derive(Debug, Default)]
pub struct Futex(AtomicU32);

impl Blocking for Futex {
    fn run_locked<R>(&self, inside: impl FnOnce() -> R) -> R {
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
    fn run_locked<R>(&self, inside: impl FnOnce() -> R) -> R {
        inside()
    }
}

/// A lock whose writers exclude one another, and whose readers do nothing.
#[derive(Debug, Default)]
pub struct BrokenRead(std::sync::Mutex<()>);

impl Blocking for BrokenRead {
    fn run_locked<R>(&self, inside: impl FnOnce() -> R) -> R {
        self.0.run_locked(inside)
    }

    fn run_read_locked<R>(&self, inside: impl FnOnce() -> R) -> R {
        inside()
    }
}
