//! What carries a byte from one task to the next.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use crate::limits::Amounts;

/// What `--channel` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// A pipe
    Pipe,
    /// A pair of connected Unix stream sockets, used in one direction
    #[value(name = "socketpair")]
    #[serde(rename = "socketpair")]
    SocketPair,
}

impl Channel {
    /// What one takes.
    pub fn amounts(self) -> Amounts {
        match self {
            Self::Pipe => Amounts::pipe(),
            Self::SocketPair => Amounts::socket_pair(),
        }
    }

    /// Opens one: the end to read from and the end to write to, both blocking
    /// and closed on `exec`.
    ///
    /// # Errors
    /// The kernel's, such as too many open files.
    pub fn open(self) -> io::Result<(File, File)> {
        match self {
            Self::Pipe => {
                let (reader, writer) = io::pipe()?;
                Ok((OwnedFd::from(reader).into(), OwnedFd::from(writer).into()))
            }
            Self::SocketPair => {
                let (reader, writer) = UnixStream::pair()?;
                Ok((OwnedFd::from(reader).into(), OwnedFd::from(writer).into()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::Channel;

    #[test]
    fn a_byte_comes_out_and_a_closed_end_is_the_end_of_file() {
        for channel in [Channel::Pipe, Channel::SocketPair] {
            let (mut reader, mut writer) = channel.open().expect("a channel");
            writer.write_all(b"x").expect("write");
            drop(writer);
            let mut read = Vec::new();
            reader.read_to_end(&mut read).expect("read");
            assert_eq!(read, b"x", "{channel:?}");
        }
    }
}
