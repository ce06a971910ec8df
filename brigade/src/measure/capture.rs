//! What a process prints, read without blocking and kept within a bound.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// The most bytes taken in one read: the size of a Linux pipe.
const READ_BYTES: usize = 64 * 1024;

/// Reads that empty the largest pipe an unprivileged process may have, 1 MiB.
const READS_TO_EMPTY: usize = 16;

/// Which end of the output to keep when it is longer than the bound.
#[derive(Clone, Copy, Debug)]
pub enum Keep {
    /// The beginning.
    First,
    /// The end.
    Last,
}

/// One output stream of a process.
#[derive(Debug)]
pub struct Capture {
    source: Option<File>,
    keep: Keep,
    bound: usize,
    bytes: Vec<u8>,
    dropped: bool,
}

impl Capture {
    /// Captures what comes through `pipe`, at most `bound` bytes of it; with
    /// no pipe the capture stays empty.
    ///
    /// # Errors
    /// When the pipe cannot be made non-blocking.
    pub fn new(pipe: Option<impl Into<OwnedFd>>, keep: Keep, bound: usize) -> io::Result<Self> {
        let source = pipe.map(|pipe| File::from(pipe.into()));
        if let Some(source) = &source {
            fcntl(source, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok(Self { source, keep, bound, bytes: Vec::new(), dropped: false })
    }

    /// What to poll; `None` once the stream has ended.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.source.as_ref().map(AsFd::as_fd)
    }

    /// Whether the process printed more than the bound.
    pub fn overflowed(&self) -> bool {
        self.dropped
    }

    /// What is kept until now.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes what one read yields, if anything is there. One read only: a
    /// process that prints without end must not keep the caller here.
    ///
    /// # Errors
    /// When reading fails for a reason other than there being nothing yet.
    pub fn read_some(&mut self) -> io::Result<()> {
        let Some(source) = &mut self.source else { return Ok(()) };
        let mut buffer = [0; READ_BYTES];
        match source.read(&mut buffer) {
            Ok(0) => self.source = None,
            Ok(length) => self.take(&buffer[..length]),
            Err(error) if is_passing(error.kind()) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Takes what is still in the pipe after the process has ended, and gives
    /// up the pipe even if a stranger still holds its other end.
    ///
    /// # Errors
    /// As [`Self::read_some`].
    pub fn finish(mut self) -> io::Result<Vec<u8>> {
        for _ in 0..READS_TO_EMPTY {
            self.read_some()?;
        }
        Ok(self.bytes)
    }

    fn take(&mut self, bytes: &[u8]) {
        match self.keep {
            Keep::First => {
                let room = self.bound - self.bytes.len();
                self.dropped |= bytes.len() > room;
                self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Keep::Last => {
                self.bytes.extend_from_slice(bytes);
                let excess = self.bytes.len().saturating_sub(self.bound);
                self.dropped |= excess > 0;
                self.bytes.drain(..excess);
            }
        }
    }
}

fn is_passing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::io::{PipeWriter, Write, pipe};

    use super::*;

    fn captured(keep: Keep, bound: usize) -> (Capture, PipeWriter) {
        let (reader, writer) = pipe().unwrap();
        (Capture::new(Some(reader), keep, bound).unwrap(), writer)
    }

    #[test]
    fn the_beginning_is_kept_up_to_the_bound() {
        let (mut capture, mut writer) = captured(Keep::First, 5);
        for part in ["abc", "de", "f"] {
            assert!(!capture.overflowed());
            writer.write_all(part.as_bytes()).unwrap();
            capture.read_some().unwrap();
        }
        assert!(capture.overflowed());
        assert_eq!(capture.finish().unwrap(), b"abcde");
    }

    #[test]
    fn the_end_is_kept_up_to_the_bound() {
        let (mut capture, mut writer) = captured(Keep::Last, 4);
        for part in ["abc", "de", "f"] {
            writer.write_all(part.as_bytes()).unwrap();
            capture.read_some().unwrap();
        }
        assert_eq!(capture.finish().unwrap(), b"cdef");
    }

    #[test]
    fn nothing_waits_for_a_writer_that_stays_open() {
        let (mut capture, mut writer) = captured(Keep::First, 5);
        capture.read_some().unwrap();
        writer.write_all(b"late").unwrap();
        assert_eq!(capture.finish().unwrap(), b"late");
    }

    #[test]
    fn an_ended_stream_is_polled_no_more() {
        let (mut capture, writer) = captured(Keep::First, 5);
        drop(writer);
        assert!(capture.fd().is_some());
        capture.read_some().unwrap();
        assert!(capture.fd().is_none());
    }
}
