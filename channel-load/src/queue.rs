//! A channel as written by hand: a mutex, two condition variables and a `VecDeque`.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A queue of messages.
struct Queue<M> {
    state: Mutex<QueueState<M>>,
    /// `None` if it is unbounded.
    capacity: Option<usize>,
    /// Notified when a message was sent.
    sent: Condvar,
    /// Notified when a message was taken, if senders may wait for room.
    taken: Condvar,
}

struct QueueState<M> {
    messages: VecDeque<M>,
    is_closed: bool,
}

impl<M> Queue<M> {
    fn lock(&self) -> MutexGuard<'_, QueueState<M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_full(&self, state: &QueueState<M>) -> bool {
        self.capacity.is_some_and(|capacity| state.messages.len() >= capacity)
    }
}

/// Closes the queue when the last end of one side is dropped.
struct Closer<M>(Arc<Queue<M>>);

impl<M> Drop for Closer<M> {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.sent.notify_all();
        self.0.taken.notify_all();
    }
}

/// An end of a [`queue`].
#[derive(Clone)]
pub struct QueueEnd<M> {
    queue: Arc<Queue<M>>,
    _closer: Arc<Closer<M>>,
}

/// The two ends of a queue for so many messages, or without a bound.
pub fn queue<M>(capacity: Option<usize>) -> (QueueEnd<M>, QueueEnd<M>) {
    let messages = capacity.map_or_else(VecDeque::new, VecDeque::with_capacity);
    let queue = Arc::new(Queue {
        state: Mutex::new(QueueState { messages, is_closed: false }),
        capacity,
        sent: Condvar::new(),
        taken: Condvar::new(),
    });
    let end = || {
        let closer = Closer(Arc::clone(&queue));
        QueueEnd { queue: Arc::clone(&queue), _closer: Arc::new(closer) }
    };
    (end(), end())
}

impl<M> QueueEnd<M> {
    /// Sends a message, and waits for room.
    ///
    /// # Errors
    /// The message, if the queue is closed.
    pub fn send(&self, message: M) -> Result<(), M> {
        let queue = &*self.queue;
        let must_wait = |state: &mut QueueState<M>| queue.is_full(state) && !state.is_closed;
        let waited = queue.taken.wait_while(queue.lock(), must_wait);
        self.push(waited.unwrap_or_else(PoisonError::into_inner), message)
    }

    /// Sends a message if there is room for it.
    ///
    /// # Errors
    /// The message, if there is none or the queue is closed.
    pub fn try_send(&self, message: M) -> Result<(), M> {
        let state = self.queue.lock();
        if self.queue.is_full(&state) { Err(message) } else { self.push(state, message) }
    }

    fn push(&self, mut state: MutexGuard<'_, QueueState<M>>, message: M) -> Result<(), M> {
        if state.is_closed {
            return Err(message);
        }
        state.messages.push_back(message);
        drop(state);
        self.queue.sent.notify_one();
        Ok(())
    }

    /// Waits for a message; `None` if the queue is closed and empty.
    pub fn receive(&self) -> Option<M> {
        let queue = &*self.queue;
        let must_wait = |state: &mut QueueState<M>| state.messages.is_empty() && !state.is_closed;
        let waited = queue.sent.wait_while(queue.lock(), must_wait);
        let message = waited.unwrap_or_else(PoisonError::into_inner).messages.pop_front();
        if queue.capacity.is_some() {
            queue.taken.notify_one();
        }
        message
    }
}
