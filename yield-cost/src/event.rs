//! An auto-reset event, as Win32 and .NET have it: set, it lets one waiting
//! thread through and is unset again.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

/// An event that lets threads through one at a time, in the order in which
/// they came.
#[derive(Debug, Default)]
pub struct AutoResetEvent {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Set while nobody waited.
    set: bool,
    waiting: VecDeque<Thread>,
}

impl State {
    /// Unsets the event, or else stands in line.
    fn pass_or_queue(&mut self) -> bool {
        let passes = std::mem::take(&mut self.set);
        if !passes {
            self.waiting.push_back(thread::current());
        }
        passes
    }

    /// Takes the first thread out of the line, or else leaves the event set.
    fn release(&mut self) -> Option<Thread> {
        let first = self.waiting.pop_front();
        self.set = first.is_none();
        first
    }
}

impl AutoResetEvent {
    /// How many threads wait.
    pub fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// Waits until the event is set, and unsets it.
    pub fn wait(&self) {
        let passes = self.state().pass_or_queue();
        if !passes {
            self.until_released();
        }
    }

    /// Lets one thread through.
    pub fn set(&self) {
        let released = self.state().release();
        released.inspect(Thread::unpark);
    }

    /// Lets another thread through and waits. The caller stands in line before
    /// the other one runs: in two steps, a thread that is preempted between
    /// them leaves the event to be taken again by whoever set it.
    pub fn set_and_wait(&self) {
        let mut state = self.state();
        let released = state.release();
        let passes = state.pass_or_queue();
        drop(state);
        released.inspect(Thread::unpark);
        if !passes {
            self.until_released();
        }
    }

    /// Blocks until the calling thread is no longer in line; a thread may be
    /// unparked for no reason.
    fn until_released(&self) {
        let own = thread::current().id();
        loop {
            thread::park();
            if self.state().waiting.iter().all(|thread| thread.id() != own) {
                return;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_is_set_lets_one_thread_through() {
        let event = AutoResetEvent::default();
        event.set();
        event.wait();
        assert!(!event.state().set, "it resets itself");
        event.set_and_wait();
        assert!(!event.state().set, "nobody else waited");
    }

    #[test]
    fn threads_pass_in_the_order_in_which_they_came() {
        let event = AutoResetEvent::default();
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for number in 0..4 {
                let (event, order) = (&event, &order);
                scope.spawn(move || {
                    event.wait();
                    order.lock().expect("no panic").push(number);
                    event.set();
                });
                while event.waiting() <= number {
                    thread::yield_now();
                }
            }
            event.set();
        });
        assert_eq!(order.into_inner().expect("no panic"), [0, 1, 2, 3]);
    }
}
