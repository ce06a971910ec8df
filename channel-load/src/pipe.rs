//! A pipe of the kernel as a channel.

use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::Arc;

use rustix::io::ioctl_fionbio;

use crate::message::Message;

// Sending and receiving are inlined: a return soon after a system call is slow (`perf annotate`), so that
// two fewer functions between the loops and the kernel save 3 % of a message.

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
    /// Sends a message, and waits for room.
    ///
    /// # Errors
    /// The kernel's, such as that nobody can read any more.
    #[inline]
    pub fn send<const W: usize>(&self, message: Message<W>) -> io::Result<()> {
        (&self.0).write_all(message.bytes())
    }

    /// Sends a message if there is room for it.
    ///
    /// # Errors
    /// If there is none; those of [`Self::send`].
    pub fn try_send<const W: usize>(&self, message: Message<W>) -> io::Result<()> {
        ioctl_fionbio(&self.0, true)?;
        let sent = self.send(message);
        ioctl_fionbio(&self.0, false)?;
        sent
    }
}

impl PipeReceiver {
    /// Waits for a message; `None` if nobody can write any more.
    #[inline]
    pub fn receive<const W: usize>(&self) -> Option<Message<W>> {
        let mut message = Message::new(None, 0);
        (&self.0).read_exact(message.bytes_mut()).ok()?;
        Some(message)
    }
}
