//! What carries a token between tasks, opened and used once.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd};

use harness::Channel;

use super::{Population, Refused};

/// Open channels of one kind.
pub struct Channels {
    open: fn() -> io::Result<(Option<File>, File)>,
    channels: Vec<(Option<File>, File)>,
}

impl Channels {
    pub fn pipes() -> Self {
        Self::of(|| Channel::Pipe.open().map(|(reader, writer)| (Some(reader), writer)))
    }

    pub fn socket_pairs() -> Self {
        Self::of(|| Channel::SocketPair.open().map(|(reader, writer)| (Some(reader), writer)))
    }

    pub fn eventfds() -> Self {
        Self::of(|| {
            // SAFETY: a system call on numbers.
            let number = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: a descriptor that was just opened and nobody else has.
            Ok((None, unsafe { OwnedFd::from_raw_fd(number) }.into()))
        })
    }

    fn of(open: fn() -> io::Result<(Option<File>, File)>) -> Self {
        Self { open, channels: Vec::new() }
    }
}

impl Population for Channels {
    fn add(&mut self) -> Result<(), Refused> {
        let (mut reader, mut writer) = (self.open)().map_err(Refused::by("opening a channel"))?;
        let mut token = 1_u64.to_ne_bytes();
        // A pipe that has carried a byte keeps a page.
        let used = writer.write_all(&token);
        let used =
            used.and_then(|()| reader.as_mut().unwrap_or(&mut writer).read_exact(&mut token));
        used.map_err(Refused::by("using a channel"))?;
        self.channels.push((reader, writer));
        Ok(())
    }
}
