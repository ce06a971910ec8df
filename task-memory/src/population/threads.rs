//! Threads of the standard library, parked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use harness::{failure, threads};

use super::{Population, Task};
use crate::stack;

/// What all threads look at.
#[derive(Default)]
struct Signals {
    started: AtomicU64,
    over: AtomicBool,
}

pub struct Threads {
    task: Task,
    threads: Vec<JoinHandle<()>>,
    signals: Arc<Signals>,
}

impl Threads {
    pub fn new(task: Task) -> Self {
        Self { task, threads: Vec::new(), signals: Arc::default() }
    }
}

impl Population for Threads {
    fn add(&mut self, count: u64) -> anyhow::Result<()> {
        for _ in 0..count {
            let signals = Arc::clone(&self.signals);
            let touch_bytes = self.task.touch_bytes;
            let builder = thread::Builder::new().stack_size(self.task.stack_bytes);
            let created = builder.spawn(move || idle(&signals, touch_bytes));
            let task = self.threads.len();
            self.threads.push(
                created.map_err(|error| failure::creating(format_args!("task {task}"), error))?,
            );
        }
        while self.signals.started.load(Ordering::Acquire) < self.threads.len() as u64 {
            thread::yield_now();
        }
        Ok(())
    }

    fn count(&self) -> u64 {
        self.threads.len() as u64
    }

    fn end(self: Box<Self>) -> anyhow::Result<()> {
        self.signals.over.store(true, Ordering::Release);
        self.threads.iter().for_each(|thread| thread.thread().unpark());
        for (task, thread) in self.threads.into_iter().enumerate() {
            threads::join(task, thread)?;
        }
        Ok(())
    }
}

/// The whole life of a thread.
fn idle(signals: &Signals, touch_bytes: usize) {
    stack::touch(touch_bytes);
    signals.started.fetch_add(1, Ordering::Release);
    while !signals.over.load(Ordering::Acquire) {
        thread::park();
    }
}
