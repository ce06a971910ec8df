//! Channels watched by `epoll`, level-triggered or edge-triggered.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use harness::failure::to_create;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::{Errno, ioctl_fionbio};

use crate::{Channels, Pair};

/// The most events that one `epoll_wait` reports.
const MOST_EVENTS: usize = 64;

/// Channels watched by `epoll`.
pub struct Epoll<F> {
    instance: OwnedFd,
    pairs: Vec<Pair<F>>,
    /// Reported, but not handled yet.
    events: Vec<Event>,
    system_calls: u64,
}

impl<F: AsFd> Epoll<F>
where
    for<'a> &'a F: Read + Write,
{
    /// Watches the reading ends of `pairs`: with [`EventFlags::ET`], `epoll` reports a channel when
    /// something has arrived; without, as long as it is readable, so once more after it has been
    /// read.
    ///
    /// # Errors
    /// The kernel's, such as too many watches.
    pub fn new(pairs: Vec<Pair<F>>, flags: EventFlags) -> anyhow::Result<Self> {
        let failed = |error: Errno| to_create("the epoll")(error.into());
        let instance = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
        for (channel, (reader, writer)) in pairs.iter().enumerate() {
            ioctl_fionbio(reader, true).map_err(failed)?;
            ioctl_fionbio(writer, true).map_err(failed)?;
            let data = EventData::new_u64(channel as u64);
            epoll::add(&instance, reader, data, flags).map_err(failed)?;
        }
        Ok(Self { instance, pairs, events: Vec::with_capacity(MOST_EVENTS), system_calls: 0 })
    }

    /// Reads a reported channel; `None` if it was empty after all.
    #[inline]
    fn read(&mut self, channel: usize) -> Option<io::Result<Option<u8>>> {
        // Larger than what is in flight: a short read means that it is drained, so the edge is
        // handled.
        let mut tokens = [0; 2];
        self.system_calls += 1;
        let mut reader = &self.pairs[channel].0;
        Some(match reader.read(&mut tokens) {
            Ok(0) => Ok(None),
            Ok(1) => Ok(Some(tokens[0])),
            Ok(_) => Err(io::Error::new(ErrorKind::InvalidData, "two tokens where one was sent")),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
            Err(error) => Err(error),
        })
    }
}

impl<F: AsFd> Channels for Epoll<F>
where
    for<'a> &'a F: Read + Write,
{
    #[inline]
    fn send(&mut self, channel: usize, token: u8) -> io::Result<()> {
        self.system_calls += 1;
        let mut writer = &self.pairs[channel].1;
        writer.write_all(&[token])
    }

    #[inline]
    fn next(&mut self) -> io::Result<(usize, io::Result<Option<u8>>)> {
        loop {
            while let Some(event) = self.events.pop() {
                let channel = event.data.u64() as usize;
                if let Some(token) = self.read(channel) {
                    return Ok((channel, token));
                }
            }
            self.system_calls += 1;
            match epoll::wait(&self.instance, spare_capacity(&mut self.events), None) {
                // A signal: the lap is still finished.
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn system_calls(&self) -> u64 {
        self.system_calls
    }
}
