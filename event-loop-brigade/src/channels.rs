//! The channels of a brigade, as one thread sees all of them.

use std::fs::File;
use std::io;

/// Channels 0 to N: task `i` reads from channel `i` and writes into channel `i + 1`; the
/// driver writes into the first and reads from the last.
pub trait Channels {
    /// Sends a token into a channel, now or when [`Self::next`] waits.
    ///
    /// # Errors
    /// Those of the write.
    fn send(&mut self, channel: usize, token: u8) -> io::Result<()>;

    /// Waits until a channel has something, and takes it out: its number, and the token
    /// that came, `None` where the channel was closed, or what went wrong with reading it.
    ///
    /// # Errors
    /// When the kernel does not let the thread wait.
    fn next(&mut self) -> io::Result<(usize, io::Result<Option<u8>>)>;

    /// Closes the end of a channel that is written to.
    fn close(&mut self, channel: usize);

    /// How many system calls have been made until now.
    fn system_calls(&self) -> u64;
}

/// The two ends of a channel. One that has been closed is gone.
pub struct Pair {
    pub reader: Option<File>,
    pub writer: Option<File>,
}

impl Pair {
    /// What the loop itself holds for a channel, in bytes.
    pub const BYTES: u64 = size_of::<Self>() as u64;
}

impl From<(File, File)> for Pair {
    fn from((reader, writer): (File, File)) -> Self {
        Self { reader: Some(reader), writer: Some(writer) }
    }
}

/// The error of an end that is used after it has been closed.
pub fn closed() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}
