//! Suspended stackful coroutines.

use anyhow::Context as _;
use corosensei::Coroutine;
use corosensei::stack::DefaultStack;

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
            let mapped = DefaultStack::new(self.task.stack_bytes)
                .with_context(|| format!("creating task {}", self.coroutines.len()))?;
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

    fn end(self: Box<Self>) -> anyhow::Result<()> {
        for mut coroutine in self.coroutines {
            coroutine.resume(());
        }
        Ok(())
    }
}
