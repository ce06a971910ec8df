//! Suspended stackful coroutines.

use corosensei::Coroutine;
use corosensei::stack::DefaultStack;
use harness::failure;

use super::{Population, Task};
use crate::stack;

pub struct Coroutines {
    task: Task,
    coroutines: Vec<Coroutine<(), (), ()>>,
}

impl Coroutines {
    pub fn new(task: Task) -> Self {
        Self { task, coroutines: Vec::new() }
    }
}

impl Population for Coroutines {
    fn add(&mut self, count: u64) -> anyhow::Result<()> {
        for _ in 0..count {
            let mapped = DefaultStack::new(self.task.stack_bytes).map_err(|error| {
                failure::creating(format_args!("task {}", self.coroutines.len()), error)
            })?;
            let touch_bytes = self.task.touch_bytes;
            let mut coroutine = Coroutine::with_stack(mapped, move |yielder, ()| {
                stack::touch(touch_bytes);
                yielder.suspend(());
            });
            coroutine.resume(());
            self.coroutines.push(coroutine);
        }
        Ok(())
    }

    fn count(&self) -> u64 {
        self.coroutines.len() as u64
    }

    fn end(self: Box<Self>) -> anyhow::Result<()> {
        for mut coroutine in self.coroutines {
            coroutine.resume(());
        }
        Ok(())
    }
}
