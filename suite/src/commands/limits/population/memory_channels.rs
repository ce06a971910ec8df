//! Channels of the standard library, used once.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::{Population, Refused};

#[derive(Default)]
pub struct MemoryChannels {
    channels: Vec<(SyncSender<u8>, Receiver<u8>)>,
}

impl Population for MemoryChannels {
    fn add(&mut self) -> Result<(), Refused> {
        let (sender, receiver) = sync_channel(1);
        let passed = sender.send(0).is_ok() && receiver.recv().is_ok();
        self.channels.push((sender, receiver));
        let lost = || Refused::by("using a channel")(io::ErrorKind::BrokenPipe.into());
        passed.then_some(()).ok_or_else(lost)
    }
}
