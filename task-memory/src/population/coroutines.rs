//! Suspended stackful coroutines.

use std::io;

use corosensei::Coroutine;
use corosensei::stack::DefaultStack;

use super::Task;
use crate::stack;

/// A coroutine that has touched what it is to touch. Dropping it unwinds it.
pub fn suspended(task: Task) -> io::Result<Coroutine<(), (), ()>> {
    let mapped = DefaultStack::new(task.stack_bytes)?;
    let mut coroutine = Coroutine::with_stack(mapped, move |yielder, ()| {
        stack::touch(task.touch_bytes);
        yielder.suspend(());
    });
    coroutine.resume(());
    Ok(coroutine)
}
