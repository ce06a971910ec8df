//! The channels, and how tasks use the two ends of each.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read as _, Write as _};
use std::slice;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};

use futures::channel::mpsc as futures_mpsc;
use futures::{SinkExt as _, StreamExt as _};
use rustix::io::ioctl_fionbio;
use tokio::sync::mpsc as tokio_mpsc;

/// The bits of a message's first word that are the number of its producer.
const PRODUCER_BITS: u32 = 16;

/// A message of so many words, passed by value. The first one has the producer and the number of the
/// message.
#[derive(Clone, Copy, Debug)]
pub struct Message<const W: usize>([u64; W]);

impl<const W: usize> Message<W> {
    /// The message with this number of a producer, from 1; without one an end mark, which ends a round
    /// for the consumer that receives it.
    #[inline]
    pub fn new(producer: Option<usize>, number: u64) -> Self {
        let mut words = [0; W];
        words[0] = producer.map_or(0, |producer| number << PRODUCER_BITS | producer as u64);
        Self(words)
    }

    /// The message's producer and number; `None` of an end mark.
    #[inline]
    pub fn content(self) -> Option<(usize, u64)> {
        let first = self.0[0];
        (first > 0)
            .then_some(((first & ((1 << PRODUCER_BITS) - 1)) as usize, first >> PRODUCER_BITS))
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: words have no padding, and any byte is valid.
        unsafe { slice::from_raw_parts(self.0.as_ptr().cast(), size_of_val(&self.0)) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and any bytes are a word.
        unsafe { slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), size_of_val(&self.0)) }
    }
}

/// The sending end of a channel.
pub trait Outlet<const W: usize>: Clone + Send + 'static {
    /// Sends a message if there is room for it, and returns whether there was.
    fn try_send(&mut self, message: Message<W>) -> bool;

    /// Sends the messages after this number that `next` returns for their numbers, until it returns
    /// none, and returns the number of the last one.
    ///
    /// # Errors
    /// If there is no receiver any more.
    fn send_while(
        &mut self,
        number: u64,
        next: impl FnMut(u64) -> Option<Message<W>> + Send,
    ) -> impl Future<Output = io::Result<u64>> + Send;
}

/// The receiving end of a channel.
pub trait Inlet<const W: usize>: Sized + Send + 'static {
    /// Another receiver of the same channel; `None` if it can have only one.
    fn another(&self) -> Option<Self>;

    /// Receives messages and passes each to `take`, with its number here, from 1, until that returns
    /// `false`. Returns the number of those before.
    ///
    /// # Errors
    /// If there is no sender any more.
    fn receive_while(
        &mut self,
        take: impl FnMut(u64, Message<W>) -> bool + Send,
    ) -> impl Future<Output = io::Result<u64>> + Send;
}

/// An end whose calls block the thread.
#[derive(Clone, Debug)]
pub struct Blocking<T>(pub T);

/// An end whose calls are awaited.
#[derive(Clone, Debug)]
pub struct Awaited<T>(pub T);

/// The ends of a channel for threads.
pub fn blocking<S, R>((sender, receiver): (S, R)) -> (Blocking<S>, Blocking<R>) {
    (Blocking(sender), Blocking(receiver))
}

/// The ends of a channel for tasks of a runtime.
pub fn awaited<S, R>((sender, receiver): (S, R)) -> (Awaited<S>, Awaited<R>) {
    (Awaited(sender), Awaited(receiver))
}

/// The error of a task whose channel has no other end any more.
pub fn closed() -> io::Error {
    io::Error::new(ErrorKind::BrokenPipe, "the other end of its channel is closed")
}

/// The result of sending without waiting.
trait Tried {
    fn was_sent(self) -> bool;
}

impl<E> Tried for Result<(), E> {
    fn was_sent(self) -> bool {
        self.is_ok()
    }
}

impl<E> Tried for Result<bool, E> {
    fn was_sent(self) -> bool {
        self.unwrap_or(false)
    }
}

/// A sending end by its two methods. In a loop without a future, the number stays in a register.
macro_rules! outlet {
    ($way:ident<$sender:ty>, $try_send:ident, $send:ident $($wait:tt)*) => {
        impl<const W: usize> Outlet<W> for $way<$sender> {
            fn try_send(&mut self, message: Message<W>) -> bool {
                self.0.$try_send(message).was_sent()
            }

            async fn send_while(
                &mut self,
                mut number: u64,
                mut next: impl FnMut(u64) -> Option<Message<W>> + Send,
            ) -> io::Result<u64> {
                while let Some(message) = next(number + 1) {
                    self.0.$send(message)$($wait)*.map_err(|_| closed())?;
                    number += 1;
                }
                Ok(number)
            }
        }
    };
}

/// A receiving end: how another is made, and the call that returns a message or nothing.
macro_rules! inlet {
    ($way:ident<$receiver:ty>, $another:expr, $($receive:tt)*) => {
        impl<const W: usize> Inlet<W> for $way<$receiver> {
            fn another(&self) -> Option<Self> {
                let another: fn(&$receiver) -> Option<$receiver> = $another;
                another(&self.0).map(Self)
            }

            async fn receive_while(
                &mut self,
                mut take: impl FnMut(u64, Message<W>) -> bool + Send,
            ) -> io::Result<u64> {
                let mut number = 0;
                while take(number + 1, self.0$($receive)*.ok_or_else(closed)?) {
                    number += 1;
                }
                Ok(number)
            }
        }
    };
}

fn shared<R: Clone>(receiver: &R) -> Option<R> {
    Some(receiver.clone())
}

fn single<R>(_: &R) -> Option<R> {
    None
}

outlet!(Blocking<mpsc::SyncSender<Message<W>>>, try_send, send);
outlet!(Blocking<mpsc::Sender<Message<W>>>, send, send);
inlet!(Blocking<mpsc::Receiver<Message<W>>>, single, .recv().ok());

outlet!(Blocking<crossbeam_channel::Sender<Message<W>>>, try_send, send);
inlet!(Blocking<crossbeam_channel::Receiver<Message<W>>>, shared, .recv().ok());

outlet!(Blocking<flume::Sender<Message<W>>>, try_send, send);
inlet!(Blocking<flume::Receiver<Message<W>>>, shared, .recv().ok());
outlet!(Awaited<flume::Sender<Message<W>>>, try_send, send_async.await);
inlet!(Awaited<flume::Receiver<Message<W>>>, shared, .recv_async().await.ok());

outlet!(Blocking<kanal::Sender<Message<W>>>, try_send, send);
inlet!(Blocking<kanal::Receiver<Message<W>>>, shared, .recv().ok());
outlet!(Awaited<kanal::AsyncSender<Message<W>>>, try_send, send.await);
inlet!(Awaited<kanal::AsyncReceiver<Message<W>>>, shared, .recv().await.ok());

outlet!(Blocking<async_channel::Sender<Message<W>>>, try_send, send_blocking);
inlet!(Blocking<async_channel::Receiver<Message<W>>>, shared, .recv_blocking().ok());
outlet!(Awaited<async_channel::Sender<Message<W>>>, try_send, send.await);
inlet!(Awaited<async_channel::Receiver<Message<W>>>, shared, .recv().await.ok());

outlet!(Blocking<tokio_mpsc::Sender<Message<W>>>, try_send, blocking_send);
inlet!(Blocking<tokio_mpsc::Receiver<Message<W>>>, single, .blocking_recv());
outlet!(Awaited<tokio_mpsc::Sender<Message<W>>>, try_send, send.await);
inlet!(Awaited<tokio_mpsc::Receiver<Message<W>>>, single, .recv().await);
outlet!(Blocking<tokio_mpsc::UnboundedSender<Message<W>>>, send, send);
inlet!(Blocking<tokio_mpsc::UnboundedReceiver<Message<W>>>, single, .blocking_recv());
outlet!(Awaited<tokio_mpsc::UnboundedSender<Message<W>>>, send, send);
inlet!(Awaited<tokio_mpsc::UnboundedReceiver<Message<W>>>, single, .recv().await);

outlet!(Awaited<futures_mpsc::Sender<Message<W>>>, try_send, send.await);
inlet!(Awaited<futures_mpsc::Receiver<Message<W>>>, single, .next().await);
outlet!(Awaited<futures_mpsc::UnboundedSender<Message<W>>>, unbounded_send, unbounded_send);
inlet!(Awaited<futures_mpsc::UnboundedReceiver<Message<W>>>, single, .next().await);

outlet!(Blocking<QueueEnd<Message<W>>>, try_send, send);
inlet!(Blocking<QueueEnd<Message<W>>>, shared, .receive());

outlet!(Blocking<Arc<PipeSender>>, try_send, send);
inlet!(Blocking<Arc<PipeReceiver>>, shared, .receive());

/// A mutex, two condition variables and a `VecDeque`: what people write by hand.
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
    fn send(&self, message: M) -> Result<(), M> {
        let queue = &*self.queue;
        let must_wait = |state: &mut QueueState<M>| queue.is_full(state) && !state.is_closed;
        let waited = queue.taken.wait_while(queue.lock(), must_wait);
        self.push(waited.unwrap_or_else(PoisonError::into_inner), message)
    }

    fn try_send(&self, message: M) -> Result<(), M> {
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

    fn receive(&self) -> Option<M> {
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

/// The end of a pipe that is written. The kernel keeps a message of at most a page together.
#[derive(Debug)]
pub struct PipeSender(PipeWriter);

/// The end of a pipe that is read.
#[derive(Debug)]
pub struct PipeReceiver(PipeReader);

/// The two ends of a pipe.
///
/// # Errors
/// The kernel's.
pub fn pipe() -> io::Result<(Arc<PipeSender>, Arc<PipeReceiver>)> {
    let (reader, writer) = io::pipe()?;
    Ok((Arc::new(PipeSender(writer)), Arc::new(PipeReceiver(reader))))
}

impl PipeSender {
    fn send<const W: usize>(&self, message: Message<W>) -> io::Result<()> {
        (&self.0).write_all(message.bytes())
    }

    fn try_send<const W: usize>(&self, message: Message<W>) -> io::Result<()> {
        ioctl_fionbio(&self.0, true)?;
        let sent = self.send(message);
        ioctl_fionbio(&self.0, false)?;
        sent
    }
}

impl PipeReceiver {
    fn receive<const W: usize>(&self) -> Option<Message<W>> {
        let mut message = Message([0; W]);
        (&self.0).read_exact(message.bytes_mut()).ok()?;
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;

    /// A full channel refuses a message. Without a sender, all that fit are received, and then the
    /// channel is closed; without a receiver, sending fails.
    fn check<O: Outlet<1>, I: Inlet<1>>(name: &str, fits: Option<u64>, open: impl Fn() -> (O, I)) {
        let (mut outlet, mut inlet) = open();
        let fitted =
            (1..).take_while(|number| outlet.try_send(Message::new(Some(7), *number))).count();
        let fitted = fitted as u64;
        assert_eq!(fitted, fits.unwrap_or(fitted), "{name}");
        drop(outlet);
        let mut received = Vec::new();
        let end = block_on(inlet.receive_while(|_, message| {
            received.push(message.content());
            true
        }));
        assert_eq!(end.expect_err("no sender").kind(), ErrorKind::BrokenPipe, "{name}");
        assert!(received.into_iter().eq((1..=fitted).map(|number| Some((7, number)))), "{name}");

        let (mut outlet, inlet) = open();
        drop(inlet);
        let sent = block_on(outlet.send_while(0, |number| Some(Message::new(Some(7), number))));
        assert_eq!(sent.expect_err("no receiver").kind(), ErrorKind::BrokenPipe, "{name}");
    }

    #[test]
    fn a_full_channel_refuses_and_a_closed_one_loses_nothing() {
        check("std", Some(3), || blocking(mpsc::sync_channel(3)));
        check("std without room", Some(0), || blocking(mpsc::sync_channel(0)));
        check("crossbeam", Some(3), || blocking(crossbeam_channel::bounded(3)));
        check("flume", Some(3), || blocking(flume::bounded(3)));
        check("flume, awaited", Some(3), || awaited(flume::bounded(3)));
        check("kanal", Some(3), || blocking(kanal::bounded(3)));
        check("kanal, awaited", Some(3), || awaited(kanal::bounded_async(3)));
        check("async-channel", Some(3), || blocking(async_channel::bounded(3)));
        check("async-channel, awaited", Some(3), || awaited(async_channel::bounded(3)));
        check("tokio", Some(3), || blocking(tokio_mpsc::channel(3)));
        check("tokio, awaited", Some(3), || awaited(tokio_mpsc::channel(3)));
        // And one for each sender.
        check("futures", Some(4), || awaited(futures_mpsc::channel(3)));
        check("queue", Some(3), || blocking(queue(Some(3))));
        check("pipe", None, || blocking(pipe().expect("a pipe")));
    }
}
