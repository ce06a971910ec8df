//! The bounded channel of the standard library, which lets threads wait by
//! parking them.

use std::io::{self, ErrorKind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::{Sink, Source};

impl Source for Receiver<u8> {
    fn receive(&mut self) -> io::Result<Option<u8>> {
        Ok(self.recv().ok())
    }
}

impl Sink for SyncSender<u8> {
    fn send(&mut self, token: u8) -> io::Result<()> {
        Self::send(self, token).map_err(|_| ErrorKind::BrokenPipe.into())
    }
}

/// A channel with room for one token.
pub fn channel() -> (Receiver<u8>, SyncSender<u8>) {
    let (sender, receiver) = sync_channel(1);
    (receiver, sender)
}
