//! Pipes and socket pairs: bytes through the kernel, by `write` and `read`.
//! Their ends close with their files.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};

use super::{Sink, Source};

impl Source for File {
    fn receive(&mut self) -> io::Result<Option<u8>> {
        let mut token = [0];
        loop {
            return match self.read(&mut token) {
                Ok(bytes) => Ok((bytes > 0).then_some(token[0])),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
        }
    }
}

impl Sink for File {
    fn send(&mut self, token: u8) -> io::Result<()> {
        self.write_all(&[token])
    }
}
