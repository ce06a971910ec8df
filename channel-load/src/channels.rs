//! The channels: how each is opened, and the calls that send and receive.

use std::hint::black_box;
use std::iter::{once, repeat_n};
use std::sync::mpsc;

use futures::channel::mpsc as futures_mpsc;
use futures::{SinkExt as _, StreamExt as _};
use harness::failure::to_create;
use tokio::sync::mpsc as tokio_mpsc;

use crate::faults::Broken;
use crate::message::{Message, closed};
use crate::pipe::pipe;
use crate::queue::queue;
use crate::tasks::{Batch, Receipt, Receives, Sends, Transfer};
use crate::{Flags, Kind};

/// The end of a channel for each producer, and for each consumer, without its type and the size of its
/// messages.
pub struct Ends {
    /// Where each producer sends.
    pub outlets: Vec<Box<dyn Sends>>,
    /// Where each consumer receives.
    pub inlets: Vec<Box<dyn Receives>>,
}

/// A sending end with its calls, in cache lines of its own: that of `futures` is written with each
/// message.
#[repr(align(128))]
struct Sender<S, const W: usize> {
    end: S,
    /// Sends a message if there is room for it, and returns whether there was.
    try_send: fn(&mut S, Message<W>) -> bool,
    send: for<'a> fn(&'a mut S, Batch<'a>) -> Transfer<'a>,
}

impl<S: Send, const W: usize> Sends for Sender<S, W> {
    fn fill(&mut self) -> u64 {
        let mut fits = 0;
        while (self.try_send)(&mut self.end, Message::new(Some(0), fits + 1)) {
            fits += 1;
        }
        fits
    }

    fn send<'a>(&'a mut self, batch: Batch<'a>) -> Transfer<'a> {
        (self.send)(&mut self.end, batch)
    }
}

/// A receiving end with its call, in cache lines of its own.
#[repr(align(128))]
struct Receiver<R> {
    end: R,
    receive: for<'a> fn(&'a mut R, &'a mut Receipt<'_>) -> Transfer<'a>,
}

impl<R: Send> Receives for Receiver<R> {
    fn receive<'a>(&'a mut self, receipt: &'a mut Receipt<'_>) -> Transfer<'a> {
        (self.receive)(&mut self.end, receipt)
    }
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

/// The receiver of a channel that can have only one.
fn single<R>(receiver: R, _: usize) -> impl Iterator<Item = R> {
    once(receiver)
}

/// So many receivers of a channel.
fn shared<R: Clone>(receiver: R, consumers: usize) -> impl Iterator<Item = R> {
    repeat_n(receiver, consumers)
}

/// Opens a channel.
///
/// # Errors
/// If the kernel creates no pipe.
pub fn open(flags: &Flags) -> anyhow::Result<Ends> {
    match flags.message {
        8 => open_for::<1>(flags),
        64 => open_for::<8>(flags),
        _ => open_for::<128>(flags),
    }
}

/// Opens a channel for messages of so many words.
fn open_for<const W: usize>(flags: &Flags) -> anyhow::Result<Ends> {
    /// The ends of a channel, by the calls that send a message if there is room, send one, and receive
    /// one. Their loops are compiled for each channel: in a loop without a future, the number stays in
    /// a register.
    macro_rules! ends {
        ($channel:expr, $receivers:ident, $try_send:ident, $send:ident $(.$await:tt)?, $($receive:tt)*) => {{
            let (sender, receiver) = $channel;
            let mut ends = Ends { outlets: Vec::new(), inlets: Vec::new() };
            for end in repeat_n(sender, flags.producers as usize) {
                ends.outlets.push(Box::new(Sender::<_, W> {
                    end,
                    try_send: |end, message| end.$try_send(message).was_sent(),
                    send: |end, batch| Box::pin(async move {
                        let mut sent = batch.sent;
                        while let Some(message) = batch.message::<W>(sent + 1) {
                            end.$send(message)$(.$await)?.map_err(|_| closed())?;
                            sent += 1;
                        }
                        Ok(sent)
                    }),
                }));
            }
            for end in $receivers(receiver, flags.consumers as usize) {
                ends.inlets.push(Box::new(Receiver {
                    end,
                    receive: |end, receipt| Box::pin(async move {
                        let mut received = receipt.before;
                        // All of a message is used, the padding included.
                        while receipt.take::<W>(received + 1, black_box(end.$($receive)*.ok_or_else(closed)?)) {
                            received += 1;
                        }
                        Ok(received)
                    }),
                }));
            }
            ends
        }};
    }

    use Kind::{AsyncChannel, Crossbeam, Flume, Futures, Kanal, Pipe, Queue, Std, Tokio};
    Ok(match (flags.channel, flags.room(), flags.runtime.are_threads()) {
        (Std, Some(room), _) => {
            ends!(mpsc::sync_channel(room), single, try_send, send, recv().ok())
        }
        (Std, None, _) => ends!(mpsc::channel(), single, send, send, recv().ok()),
        (Crossbeam, room, _) => {
            let bounded = crossbeam_channel::bounded;
            let channel = room.map_or_else(crossbeam_channel::unbounded, bounded);
            ends!(channel, shared, try_send, send, recv().ok())
        }
        (Flume, room, true) => {
            let channel = room.map_or_else(flume::unbounded, flume::bounded);
            ends!(channel, shared, try_send, send, recv().ok())
        }
        (Flume, room, false) => {
            let channel = room.map_or_else(flume::unbounded, flume::bounded);
            ends!(channel, shared, try_send, send_async.await, recv_async().await.ok())
        }
        (Kanal, room, true) => {
            let channel = room.map_or_else(kanal::unbounded, kanal::bounded);
            ends!(channel, shared, try_send, send, recv().ok())
        }
        (Kanal, room, false) => {
            let channel = room.map_or_else(kanal::unbounded_async, kanal::bounded_async);
            ends!(channel, shared, try_send, send.await, recv().await.ok())
        }
        (AsyncChannel, room, true) => {
            let channel = room.map_or_else(async_channel::unbounded, async_channel::bounded);
            ends!(channel, shared, try_send, send_blocking, recv_blocking().ok())
        }
        (AsyncChannel, room, false) => {
            let channel = room.map_or_else(async_channel::unbounded, async_channel::bounded);
            ends!(channel, shared, try_send, send.await, recv().await.ok())
        }
        (Tokio, Some(room), true) => {
            let channel = tokio_mpsc::channel(room);
            ends!(channel, single, try_send, blocking_send, blocking_recv())
        }
        (Tokio, Some(room), false) => {
            ends!(tokio_mpsc::channel(room), single, try_send, send.await, recv().await)
        }
        (Tokio, None, true) => {
            ends!(tokio_mpsc::unbounded_channel(), single, send, send, blocking_recv())
        }
        (Tokio, None, false) => {
            ends!(tokio_mpsc::unbounded_channel(), single, send, send, recv().await)
        }
        (Futures, Some(room), _) => {
            ends!(futures_mpsc::channel(room), single, try_send, send.await, next().await)
        }
        (Futures, None, _) => {
            let channel = futures_mpsc::unbounded();
            ends!(channel, single, unbounded_send, unbounded_send, next().await)
        }
        (Queue, room, _) => ends!(queue(room), shared, try_send, send, receive()),
        (Pipe, ..) => {
            let pipe = pipe().map_err(to_create("the pipe"))?;
            ends!(pipe, shared, try_send, send, receive())
        }
        (Kind::Broken, room, _) => {
            let (sound, receiver) = queue(room);
            let broken = Broken::new(sound, flags.fault, flags.at);
            ends!((broken, receiver), shared, try_send, send, receive())
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use clap::Parser as _;
    use futures::executor::block_on;
    use harness::Bench;

    use super::*;
    use crate::tasks::{Shared, Tally, verify};

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        flags: Flags,
    }

    /// A full channel refuses a message. Without a sender, all that fit are received, and then the
    /// channel is closed; without a receiver, sending fails.
    fn check(channel: &str, runtime: &str, capacity: Option<u64>, fits: Option<u64>) {
        let case = format!("{channel} of {capacity:?}, {runtime}");
        let capacity = capacity.map(|capacity| format!("--capacity={capacity}"));
        let line = ["", "--channel", channel, "--runtime", runtime, "--message=8"];
        let line = Line::parse_from(line.into_iter().chain(capacity.as_deref()));
        let open = || open(&line.flags).expect("a channel");

        let Ends { mut outlets, mut inlets } = open();
        let fitted = outlets[0].fill();
        assert_eq!(fitted, fits.unwrap_or(fitted), "{case}");
        drop(outlets);
        let bench = Bench::standalone(2, 1, 0, None).expect("affinity");
        let round = bench.rounds(None).next().expect("the measured one");
        let shared = Shared::new(&line.flags);
        let mut receipt = Receipt::new(&shared, &round, 0, None);
        let end = block_on(inlets[0].receive(&mut receipt));
        assert_eq!(end.expect_err("no sender").kind(), ErrorKind::BrokenPipe, "{case}");
        let mut tally = Tally::default();
        tally.producer = Some(0);
        tally.messages = fitted;
        verify(&[tally], &[receipt.tally]).expect(&case);

        let Ends { mut outlets, inlets } = open();
        drop(inlets);
        let batch = Batch { producer: Some(0), sent: 0, until: 1, round: None };
        let sent = block_on(outlets[0].send(batch));
        assert_eq!(sent.expect_err("no receiver").kind(), ErrorKind::BrokenPipe, "{case}");
    }

    #[test]
    fn a_full_channel_refuses_and_a_closed_one_loses_nothing() {
        for channel in ["std", "crossbeam", "flume", "kanal", "async-channel", "tokio", "queue"] {
            check(channel, "threads", Some(3), Some(3));
        }
        for channel in ["flume", "kanal", "async-channel", "tokio"] {
            check(channel, "tokio", Some(3), Some(3));
        }
        check("std", "threads", Some(0), Some(0));
        // And one for each sender.
        check("futures", "tokio", Some(3), Some(4));
        check("pipe", "threads", None, None);
    }
}
