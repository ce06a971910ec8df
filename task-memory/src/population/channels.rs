//! What carries a token between tasks, opened and used once.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use harness::{Channel, failure};
use rustix::event::{EventfdFlags, eventfd};

use super::Population;

/// Open channels of one kind.
pub struct Channels<C> {
    open: fn() -> io::Result<C>,
    channels: Vec<C>,
}

impl<C> Channels<C> {
    fn of(open: fn() -> io::Result<C>) -> Self {
        Self { open, channels: Vec::new() }
    }
}

/// Pipes.
pub fn pipes() -> Channels<(File, File)> {
    Channels::of(|| used(Channel::Pipe.open()?))
}

/// Socket pairs.
pub fn socket_pairs() -> Channels<(File, File)> {
    Channels::of(|| used(Channel::SocketPair.open()?))
}

/// Eventfds.
pub fn eventfds() -> Channels<File> {
    Channels::of(|| {
        let mut counter = File::from(eventfd(0, EventfdFlags::CLOEXEC)?);
        let mut token = 1_u64.to_ne_bytes();
        counter.write_all(&token)?;
        counter.read_exact(&mut token)?;
        Ok(counter)
    })
}

/// Channels of the standard library, in memory.
pub fn in_memory() -> Channels<(SyncSender<u8>, Receiver<u8>)> {
    Channels::of(|| {
        let (sender, receiver) = sync_channel(1);
        let passed = sender.send(0).is_ok() && receiver.recv().is_ok();
        passed.then_some((sender, receiver)).ok_or(io::ErrorKind::BrokenPipe.into())
    })
}

/// A pipe that has carried a byte keeps a page.
fn used((mut reader, mut writer): (File, File)) -> io::Result<(File, File)> {
    let mut byte = [b'.'];
    writer.write_all(&byte)?;
    reader.read_exact(&mut byte)?;
    Ok((reader, writer))
}

impl<C> Population for Channels<C> {
    fn add(&mut self, count: u64) -> anyhow::Result<()> {
        for _ in 0..count {
            let task = self.channels.len();
            let channel = (self.open)().map_err(|error| {
                failure::creating(format_args!("the channel of task {task}"), error)
            })?;
            self.channels.push(channel);
        }
        Ok(())
    }

    fn count(&self) -> u64 {
        self.channels.len() as u64
    }

    fn end(self: Box<Self>) -> anyhow::Result<()> {
        Ok(())
    }
}
