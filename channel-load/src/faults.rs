//! Channels with a fault, which the program must detect.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::message::{Message, closed};
use crate::queue::QueueEnd;

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

/// The sending end of a queue with a fault at one message of a round, counted from 1; 0 is the last one.
#[derive(Clone)]
pub struct Broken<const W: usize> {
    sound: QueueEnd<Message<W>>,
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

impl<const W: usize> Broken<W> {
    /// A sound queue with a fault.
    pub fn new(sound: QueueEnd<Message<W>>, fault: Fault, at: u64) -> Self {
        Self { sound, fault, at, held: Arc::default() }
    }

    /// Sends a message if there is room for it.
    ///
    /// # Errors
    /// If there is none.
    pub fn try_send(&self, message: Message<W>) -> Result<(), Message<W>> {
        self.sound.try_send(message)
    }

    /// Sends a message, or what the fault makes of it.
    ///
    /// # Errors
    /// If the channel is closed.
    pub fn send(&self, message: Message<W>) -> io::Result<()> {
        for message in self.pass(message)? {
            self.sound.send(message).map_err(|_| closed())?;
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::queue;

    /// Five messages and the end of a round.
    fn send_round(broken: &Broken<1>) -> io::Result<()> {
        for number in 1..=5 {
            broken.send(Message::new(Some(0), number))?;
        }
        broken.send(Message::new(None, 0))
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
            let (sender, receiver) = queue(None);
            send_round(&Broken::new(sender, fault, at)).expect("a receiver");
            let received = std::iter::from_fn(|| receiver.receive()?.content());
            let numbers: Vec<u64> = received.map(|(_, number)| number).collect();
            assert_eq!(numbers, expected, "{fault:?} at {at}");
            // The sender is closed, and nothing is behind the end mark.
            assert!(receiver.receive().is_none());
        }
        let (sender, _receiver) = queue(None);
        send_round(&Broken::new(sender, Fault::Close, 2)).expect_err("closed");
    }
}
