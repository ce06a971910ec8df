//! A task that waits for events.

use std::future::{pending, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::Ordering::Acquire;
use std::sync::mpsc::Sender;
use std::sync::{Arc, PoisonError};
use std::thread;

use futures::executor::block_on;
use futures::{FutureExt as _, TryFutureExt as _};
use harness::async_tasks::caught;
use harness::failure::to_create;
use harness::runtime::spawn;
use rustix::io::retry_on_intr;
use rustix::thread::futex;

use crate::hall::Hall;
use crate::signals::Signal;
use crate::{Fault, STACK_BYTES};

/// A task.
pub struct Task {
    /// Its number.
    pub number: usize,
    /// Where it waits.
    pub hall: Arc<Hall>,
    /// What it does wrong.
    pub fault: Option<Fault>,
    /// Where it reports that it failed.
    pub reports: Sender<anyhow::Result<()>>,
    /// How often it was woken.
    pub woken: u64,
}

impl Task {
    /// Starts it, in a thread of its own or on the runtime that runs the caller.
    ///
    /// # Errors
    /// The kernel's, if it creates no thread.
    pub fn start(self) -> anyhow::Result<()> {
        let number = self.number;
        let flags = &self.hall.flags;
        if flags.runtime.are_threads() {
            let thread =
                thread::Builder::new().stack_size(STACK_BYTES).spawn(|| block_on(self.run()));
            thread.map_err(to_create(format_args!("task {number}")))?;
        } else {
            // Boxed: with its state in the allocation of the runtime, waking it takes a tenth longer.
            spawn(flags.runtime.runtime, Box::pin(self.run()));
        }
        Ok(())
    }

    /// Its main function, which returns only if the task fails.
    async fn run(mut self) {
        let hall = Arc::clone(&self.hall);
        let live = async {
            if hall.flags.runtime.are_threads() {
                hall.bench.placement().pin(self.number + 1)?;
            }
            match self.fault {
                Some(Fault::Lose) => self.wake_up(pin!(pending())).await,
                Some(Fault::Awake) => loop {
                    let wait = hall.stay_awake(self.woken);
                    self.wake_up(pin!(wait)).await?;
                },
                _ => self.live(&hall.signal.0).await,
            }
        };
        if let Err(error) = caught(live).await {
            let _ = self.reports.send(Err(error.of_task(self.number)));
        }
    }

    /// Waits for each event, as long as the process runs. The wait of a thread blocks it.
    ///
    /// # Errors
    /// The kernel's or the channel's.
    async fn live(&mut self, signal: &Signal) -> io::Result<()> {
        match signal {
            Signal::Condvar(events, changed) => loop {
                let seen = self.woken;
                let wait = async {
                    let events = events.lock().unwrap_or_else(PoisonError::into_inner);
                    // Returns with the mutex locked.
                    drop(changed.wait_while(events, |events| *events == seen));
                    Ok(())
                };
                self.wake_up(pin!(wait)).await?;
            },
            Signal::Futex(events) => loop {
                let seen = self.woken as u32;
                let wait = async {
                    while events.load(Acquire) == seen {
                        // Returns at once if the word has changed, and early if a signal is caught.
                        let _ = futex::wait(events, futex::Flags::PRIVATE, seen, None);
                    }
                    Ok(())
                };
                self.wake_up(pin!(wait)).await?;
            },
            Signal::Barrier(barrier) => loop {
                let wait = async {
                    barrier.wait();
                    Ok(())
                };
                self.wake_up(pin!(wait)).await?;
            },
            Signal::Eventfd(counters) => loop {
                let counter = &counters[self.number];
                let wait = async {
                    let mut count = [0; size_of::<u64>()];
                    retry_on_intr(|| rustix::io::read(counter, &mut count))?;
                    Ok(())
                };
                self.wake_up(pin!(wait)).await?;
            },
            Signal::TokioNotify(notify) => loop {
                self.wake_up(pin!(notify.notified().map(Ok))).await?;
            },
            Signal::TokioBroadcast(sender) => {
                let mut receiver = sender.subscribe();
                loop {
                    self.wake_up(pin!(receiver.recv().map_err(io::Error::other))).await?;
                }
            }
            Signal::TokioWatch(sender) => {
                let mut receiver = sender.subscribe();
                loop {
                    self.wake_up(pin!(receiver.changed().map_err(io::Error::other))).await?;
                }
            }
            Signal::EventListener(event) => loop {
                self.wake_up(pin!(event.listen().map(Ok))).await?;
            },
        }
    }

    /// Waits for the next event, and notes it. The task reports that it waits: a thread before that, a task
    /// of a runtime once it has been polled. A wait that is pinned elsewhere is not copied from one future to
    /// the next.
    ///
    /// # Errors
    /// Those of the wait.
    async fn wake_up(
        &mut self,
        mut wait: Pin<&mut impl Future<Output = io::Result<()>>>,
    ) -> io::Result<()> {
        let hall = &*self.hall;
        let mut has_arrived = hall.flags.runtime.are_threads();
        if has_arrived {
            hall.arrive();
        }
        poll_fn(|context| {
            let polled = wait.as_mut().poll(context);
            if polled.is_pending() && !has_arrived {
                has_arrived = true;
                hall.arrive();
            }
            polled
        })
        .await?;
        self.woken += 1;
        hall.note(self.number);
        if self.fault == Some(Fault::Double) {
            hall.note(self.number);
            hall.arrive();
        }
        Ok(())
    }
}
