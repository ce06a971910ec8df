//! Messages over a pair of pipes or of Unix stream sockets.
//!
//! A message may be longer than what the kernel buffers and then travels in
//! pieces: the other side takes them while this one writes.

use std::fs::File;
use std::io::{self, Read as _, Write as _};

use harness::Channel;

use crate::side::Side;

/// One end of a pair of streams. Dropping it is the end of file for the other.
pub struct Stream {
    incoming: File,
    outgoing: File,
    message: Vec<u8>,
}

impl Stream {
    fn new(incoming: File, outgoing: File, bytes: usize) -> Self {
        Self { incoming, outgoing, message: vec![b'.'; bytes] }
    }
}

impl Side for Stream {
    fn hand_over(&mut self) -> io::Result<()> {
        self.outgoing.write_all(&self.message)
    }

    fn wait(&mut self) -> io::Result<()> {
        self.incoming.read_exact(&mut self.message)
    }
}

/// Two pipes, one for each direction.
pub fn pipes(bytes: usize) -> io::Result<(Stream, Stream)> {
    let (there, back) = (Channel::Pipe.open()?, Channel::Pipe.open()?);
    Ok((Stream::new(back.0, there.1, bytes), Stream::new(there.0, back.1, bytes)))
}

/// One pair of connected sockets, used in both directions.
pub fn sockets(bytes: usize) -> io::Result<(Stream, Stream)> {
    let (driver, partner) = Channel::SocketPair.open()?;
    let driver = Stream::new(driver.try_clone()?, driver, bytes);
    Ok((driver, Stream::new(partner.try_clone()?, partner, bytes)))
}
