//! A task that waits for events, and what wakes it.

use std::future::pending;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use harness::Bench;
use harness::async_tasks::caught;

use crate::Fault;
use crate::hall::Hall;

/// The main function of a task.
pub type Body = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What wakes all tasks.
pub trait Signal: Send + Sync + 'static {
    /// Wakes all tasks. If that fails for one, the task stays asleep, which the program detects.
    fn wake(&self);

    /// Lets a task wait for each event, as long as the process runs. The wait of a thread blocks it.
    ///
    /// # Errors
    /// The kernel's or the channel's.
    fn live(&self, task: &mut Task) -> impl Future<Output = io::Result<()>> + Send;
}

/// A signal without its type: only this is compiled for each.
pub trait AnySignal: Send + Sync {
    /// Wakes all tasks.
    fn wake(&self);

    /// The main function of a task that waits for it.
    fn body(self: Arc<Self>, task: Task) -> Body;
}

impl<S: Signal> AnySignal for S {
    fn wake(&self) {
        Signal::wake(self);
    }

    fn body(self: Arc<Self>, task: Task) -> Body {
        Box::pin(task.run(self))
    }
}

/// A task.
pub struct Task {
    /// Its number.
    pub number: usize,
    /// Places it.
    pub bench: Bench,
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
    /// Its main function, which returns only if the task fails.
    pub async fn run<S: Signal>(mut self, signal: Arc<S>) {
        let live = async {
            if self.hall.has_threads {
                self.bench.placement().pin(self.number + 1)?;
            }
            signal.live(&mut self).await
        };
        if let Err(error) = caught(live).await {
            let _ = self.reports.send(Err(error.of_task(self.number)));
        }
    }

    /// Waits for the next event, and notes it. A wait that is pinned elsewhere is not copied from one
    /// future to the next.
    ///
    /// # Errors
    /// Those of the wait.
    pub async fn wake_up(
        &mut self,
        wait: Pin<&mut impl Future<Output = io::Result<()>>>,
    ) -> io::Result<()> {
        let hall = &*self.hall;
        match self.fault {
            Some(Fault::Lose) => hall.within(pin!(pending())).await,
            Some(Fault::Awake) => hall.within(pin!(hall.stay_awake(self.woken))).await,
            _ => hall.within(wait).await?,
        }
        self.woken += 1;
        hall.note(self.number);
        if self.fault == Some(Fault::Double) {
            hall.note(self.number);
            hall.arrive();
        }
        Ok(())
    }
}
