//! What is sent through a channel.

use std::io::{self, ErrorKind};
use std::slice;

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

    /// The message as bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: words have no padding, and any byte is valid.
        unsafe { slice::from_raw_parts(self.0.as_ptr().cast(), size_of_val(&self.0)) }
    }

    /// The message as bytes, any of which make a message.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and any bytes are a word.
        unsafe { slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), size_of_val(&self.0)) }
    }
}

/// The error of a task whose channel has no other end any more.
pub fn closed() -> io::Error {
    io::Error::new(ErrorKind::BrokenPipe, "the other end of its channel is closed")
}
