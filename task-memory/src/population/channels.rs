//! What carries a token between tasks, opened and used once.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use harness::Channel;
use rustix::event::{EventfdFlags, eventfd};

use super::Each;

/// Pipes.
pub(super) fn pipes() -> Each<(File, File)> {
    Each::of("channel", || used(Channel::Pipe.open()?))
}

/// Socket pairs.
pub(super) fn socket_pairs() -> Each<(File, File)> {
    Each::of("channel", || used(Channel::SocketPair.open()?))
}

/// Eventfds.
pub(super) fn eventfds() -> Each<File> {
    Each::of("channel", || {
        let mut counter = File::from(eventfd(0, EventfdFlags::CLOEXEC)?);
        let mut token = 1_u64.to_ne_bytes();
        counter.write_all(&token)?;
        counter.read_exact(&mut token)?;
        Ok(counter)
    })
}

/// Channels of the standard library, in memory.
pub(super) fn in_memory() -> Each<(SyncSender<u8>, Receiver<u8>)> {
    Each::of("channel", || {
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
