//! Two event counters of the kernel, one for each direction, without
//! `EFD_SEMAPHORE`: handing over adds one, waiting takes all there is.

use std::fs::File;
use std::io::{self, Read as _, Write as _};

use rustix::event::{EventfdFlags, eventfd};

use crate::side::{Alarm, Side, hung_up};

/// What handing over adds.
const TURN: u64 = 1;
/// What hanging up adds: more than all turns together.
const OVER: u64 = 1 << 32;

/// One side's view of the two counters.
pub struct EventFd {
    incoming: File,
    outgoing: File,
}

impl Side for EventFd {
    fn hand_over(&mut self) -> io::Result<()> {
        add(&self.outgoing, TURN)
    }

    fn wait(&mut self) -> io::Result<()> {
        let mut count = [0; size_of::<u64>()];
        self.incoming.read_exact(&mut count)?;
        if u64::from_ne_bytes(count) < OVER { Ok(()) } else { Err(hung_up()) }
    }

    fn hang_up(&self) {
        // Below the counter's limit by far, so it can neither fail nor block.
        let _ = add(&self.outgoing, OVER);
    }

    /// The end of file is nothing that a counter has.
    fn alarm(&self) -> io::Result<Option<Alarm>> {
        let incoming = self.incoming.try_clone()?;
        Ok(Some(Box::new(move || {
            let _ = add(&incoming, OVER);
        })))
    }
}

fn add(mut counter: &File, number: u64) -> io::Result<()> {
    counter.write_all(&number.to_ne_bytes())
}

/// Two counters that stand at 0.
pub fn counters() -> io::Result<(EventFd, EventFd)> {
    let (there, back) = (counter()?, counter()?);
    let driver = EventFd { incoming: back.try_clone()?, outgoing: there.try_clone()? };
    Ok((driver, EventFd { incoming: there, outgoing: back }))
}

/// One counter that stands at 0.
pub fn counter() -> io::Result<File> {
    Ok(eventfd(0, EventfdFlags::CLOEXEC)?.into())
}
