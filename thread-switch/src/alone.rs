//! The control: one thread writes, then reads what it has written. The same
//! system calls as a hand-over makes, and no switch.

use std::fs::File;
use std::io::{self, Read as _, Write as _};

use anyhow::Context as _;
use harness::{Bench, Channel, Measured};
use nix::fcntl::{FcntlArg, OFlag, fcntl};

use crate::flags::{Flags, Via};
use crate::mechanism::eventfd;

/// Measures writing and reading by one thread.
///
/// # Errors
/// That the mechanism cannot be opened, or its failure.
pub fn measure(flags: &Flags, bench: &Bench) -> anyhow::Result<()> {
    let (mut reader, mut writer) = open(flags.via).context("opening the mechanism")?;
    let message = match flags.via {
        Via::EventFd => 1_u64.to_ne_bytes().to_vec(),
        _ => vec![b'.'; flags.message as usize],
    };
    let mut received = message.clone();
    let work = flags.work.work();
    let operations = flags.batch();
    let passes = Measured { operations, ..Measured::single("self", "write and read") };
    for lap in bench.laps(&[passes]) {
        for _ in 0..operations {
            work.perform();
            pass(&mut writer, &message, &mut reader, &mut received)
                .context("writing and reading by one thread")?;
        }
        lap.finish();
    }
    bench.observe()
}

/// The ends to read from and to write to. Writing does not block, for nobody
/// else would read.
fn open(via: Via) -> io::Result<(File, File)> {
    let (reader, writer) = match via {
        Via::EventFd => {
            let counter = eventfd::counter()?;
            (counter.try_clone()?, counter)
        }
        Via::SocketPair => Channel::SocketPair.open()?,
        _ => Channel::Pipe.open()?,
    };
    fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok((reader, writer))
}

/// Writes and reads a message, in as many pieces as the kernel's buffer makes
/// of it.
fn pass(
    writer: &mut File,
    mut message: &[u8],
    reader: &mut File,
    mut received: &mut [u8],
) -> io::Result<()> {
    while !message.is_empty() {
        let written = match writer.write(message) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            written => written?,
        };
        message = &message[written..];
        let (piece, rest) = received.split_at_mut(written);
        reader.read_exact(piece)?;
        received = rest;
    }
    Ok(())
}
