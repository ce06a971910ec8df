//! Suspended stackful coroutines.

use corosensei::Coroutine;
use corosensei::stack::DefaultStack;

use super::{Population, Refused, STACK_BYTES};

#[derive(Default)]
pub struct Coroutines {
    coroutines: Vec<Coroutine<(), (), ()>>,
}

impl Population for Coroutines {
    fn add(&mut self) -> Result<(), Refused> {
        let stack = DefaultStack::new(STACK_BYTES).map_err(Refused::by("mapping a stack"))?;
        let mut coroutine = Coroutine::with_stack(stack, |yielder, ()| yielder.suspend(()));
        coroutine.resume(());
        self.coroutines.push(coroutine);
        Ok(())
    }
}

impl Drop for Coroutines {
    fn drop(&mut self) {
        // One that is dropped while suspended would be unwound.
        for coroutine in &mut self.coroutines {
            coroutine.resume(());
        }
    }
}
