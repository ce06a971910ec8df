//! What wakes all waiting tasks at once.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Release;
use std::sync::{Barrier, Condvar, Mutex, PoisonError};

use event_listener::Event;
use harness::failure::to_create;
use rustix::event::{EventfdFlags, eventfd};
use rustix::thread::futex;
use tokio::sync::{Notify, broadcast, watch};

use crate::By;

/// What wakes all waiting tasks.
pub enum Signal {
    /// The number of events under a mutex, and a condition variable
    Condvar(Mutex<u64>, Condvar),
    /// The number of events, as the word of a futex
    Futex(AtomicU32),
    /// A barrier of all tasks and the waker, which comes last
    Barrier(Barrier),
    /// An event counter of the kernel for each task, written one after the other
    Eventfd(Vec<OwnedFd>),
    /// `Notify` of tokio
    TokioNotify(Notify),
    /// `broadcast` of tokio
    TokioBroadcast(broadcast::Sender<()>),
    /// `watch` of tokio
    TokioWatch(watch::Sender<()>),
    /// `Event` of event-listener
    EventListener(Event),
}

impl Signal {
    /// The signal of this kind for so many tasks.
    ///
    /// # Errors
    /// The kernel's, such as too many open files.
    pub fn open(by: By, tasks: usize) -> anyhow::Result<Self> {
        Ok(match by {
            By::Condvar => Self::Condvar(Mutex::new(0), Condvar::new()),
            By::Futex => Self::Futex(AtomicU32::new(0)),
            By::Barrier => Self::Barrier(Barrier::new(tasks + 1)),
            By::Eventfd => {
                let open = |_| Ok(eventfd(0, EventfdFlags::CLOEXEC)?);
                let counters: io::Result<_> = (0..tasks).map(open).collect();
                Self::Eventfd(counters.map_err(to_create("the tasks' event counters"))?)
            }
            By::TokioNotify => Self::TokioNotify(Notify::new()),
            By::TokioBroadcast => Self::TokioBroadcast(broadcast::Sender::new(1)),
            By::TokioWatch => Self::TokioWatch(watch::Sender::new(())),
            By::EventListener => Self::EventListener(Event::new()),
        })
    }

    /// Wakes all tasks. If that fails for one, the task stays asleep, which the program detects.
    pub fn wake(&self) {
        match self {
            Self::Condvar(events, changed) => {
                *events.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                changed.notify_all();
            }
            Self::Futex(events) => {
                events.fetch_add(1, Release);
                // The kernel reads the number of threads as a signed one.
                let _ = futex::wake(events, futex::Flags::PRIVATE, i32::MAX as u32);
            }
            Self::Barrier(barrier) => {
                barrier.wait();
            }
            Self::Eventfd(counters) => {
                for counter in counters {
                    let _ = rustix::io::write(counter, &1_u64.to_ne_bytes());
                }
            }
            Self::TokioNotify(notify) => notify.notify_waiters(),
            Self::TokioBroadcast(sender) => {
                let _ = sender.send(());
            }
            Self::TokioWatch(sender) => {
                sender.send_replace(());
            }
            Self::EventListener(event) => {
                event.notify(usize::MAX);
            }
        }
    }
}
