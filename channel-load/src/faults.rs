//! Channels with a fault, which the program must detect.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::channels::{Message, Outlet, closed};

/// The faults that a broken channel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Fault {
    /// A message is not sent
    Lose,
    /// A message is sent twice
    Double,
    /// A message is sent after the next one
    Swap,
    /// The channel is closed before a message
    Close,
    /// The end of a round is not sent
    Stall,
}

/// A channel with a fault at one message of a round, counted from 1; 0 is the last one.
#[derive(Clone)]
pub struct Broken<O, const W: usize> {
    sound: O,
    fault: Fault,
    at: u64,
    held: Arc<Mutex<Held<W>>>,
}

/// The latest messages of a round: only its end mark shows which ones are the last two.
#[derive(Default)]
struct Held<const W: usize> {
    messages: VecDeque<Message<W>>,
    /// The messages before them.
    passed: u64,
}

impl<O, const W: usize> Broken<O, W> {
    /// A sound channel with a fault.
    pub fn new(sound: O, fault: Fault, at: u64) -> Self {
        Self { sound, fault, at, held: Arc::default() }
    }

    /// The messages to send when this one is sent.
    fn pass(&self, message: Message<W>) -> io::Result<Vec<Message<W>>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Held { messages, passed } = &mut *held;
        let is_end = message.content().is_none();
        if !is_end {
            messages.push_back(message);
        }
        let kept = if is_end { 0 } else { 2 };
        let mut sent = Vec::new();
        while messages.len() > kept {
            *passed += 1;
            let last = if self.fault == Fault::Swap { 2 } else { 1 };
            let is_last = is_end && messages.len() == last;
            let is_chosen = if self.at == 0 { is_last } else { *passed == self.at };
            let next = messages.pop_front();
            match self.fault {
                Fault::Lose if is_chosen => continue,
                Fault::Double if is_chosen => sent.extend(next),
                Fault::Swap if is_chosen => sent.extend(messages.pop_front()),
                Fault::Close if is_chosen => return Err(closed()),
                _ => {}
            }
            sent.extend(next);
        }
        if is_end {
            *passed = 0;
            if self.fault != Fault::Stall {
                sent.push(message);
            }
        }
        Ok(sent)
    }
}

impl<O: Outlet<W>, const W: usize> Outlet<W> for Broken<O, W> {
    fn try_send(&mut self, message: Message<W>) -> bool {
        self.sound.try_send(message)
    }

    async fn send_while(
        &mut self,
        mut number: u64,
        mut next: impl FnMut(u64) -> Option<Message<W>> + Send,
    ) -> io::Result<u64> {
        while let Some(message) = next(number + 1) {
            number += 1;
            let mut passed = self.pass(message)?.into_iter();
            self.sound.send_while(0, |_| passed.next()).await?;
        }
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;
    use crate::channels::{Inlet as _, blocking, queue};

    /// Five messages and the end of a round.
    fn round(number: u64) -> Option<Message<1>> {
        match number {
            ..=5 => Some(Message::new(Some(0), number)),
            6 => Some(Message::new(None, 0)),
            _ => None,
        }
    }

    #[test]
    fn a_broken_channel_has_its_fault_at_one_message() {
        for (fault, at, expected) in [
            (Fault::Lose, 2, &[1, 3, 4, 5][..]),
            (Fault::Lose, 0, &[1, 2, 3, 4]),
            (Fault::Double, 1, &[1, 1, 2, 3, 4, 5]),
            (Fault::Double, 0, &[1, 2, 3, 4, 5, 5]),
            (Fault::Swap, 3, &[1, 2, 4, 3, 5]),
            (Fault::Swap, 0, &[1, 2, 3, 5, 4]),
            (Fault::Lose, 9, &[1, 2, 3, 4, 5]),
        ] {
            let (outlet, mut inlet) = blocking(queue(None));
            let sent = block_on(Broken::new(outlet, fault, at).send_while(0, round));
            assert_eq!(sent.expect("a receiver"), 6);
            let mut received = Vec::new();
            let end = block_on(inlet.receive_while(|_, message: Message<1>| {
                received.extend(message.content().map(|(_, number)| number));
                message.content().is_some()
            }));
            assert_eq!(end.expect("an end mark"), received.len() as u64);
            assert_eq!(received, expected, "{fault:?} at {at}");
        }
        let (outlet, _inlet) = blocking(queue(None));
        block_on(Broken::new(outlet, Fault::Close, 2).send_while(0, round)).expect_err("closed");
    }
}
