//! Brigades in which something goes wrong, over channels that misbehave.

use std::io::{self, ErrorKind};

use harness::{Bench, Channel};

use crate::brigade;
use crate::channels::{Channels, Pair};
use crate::epoll::{Epoll, Trigger};
use crate::ring::{Ring, RingKind};

/// What comes out of a channel instead of a token.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Fail,
    End,
}

/// Channels of which one misbehaves when its time has come.
struct Faulty<C> {
    channels: C,
    channel: usize,
    fault: Fault,
    /// Tokens that it lets through before.
    left: u32,
}

impl<C: Channels> Channels for Faulty<C> {
    fn send(&mut self, channel: usize, token: u8) -> io::Result<()> {
        self.channels.send(channel, token)
    }

    fn next(&mut self) -> io::Result<(usize, io::Result<Option<u8>>)> {
        let (channel, token) = self.channels.next()?;
        if channel != self.channel {
            return Ok((channel, token));
        }
        if self.left > 0 {
            self.left -= 1;
            return Ok((channel, token));
        }
        Ok((
            channel,
            match self.fault {
                Fault::Fail => Err(ErrorKind::OutOfMemory.into()),
                Fault::End => Ok(None),
            },
        ))
    }

    fn close(&mut self, channel: usize) {
        self.channels.close(channel);
    }

    fn system_calls(&self) -> u64 {
        self.channels.system_calls()
    }
}

/// The error of a brigade of 20 tasks in which this channel misbehaves after 30 tokens.
fn error_of<C: Channels>(
    over: impl Fn(Vec<Pair>) -> anyhow::Result<C>,
    fault: Fault,
    channel: usize,
) -> Option<String> {
    let bench = Bench::standalone(20, 1000, 0, None).expect("affinity");
    let open = |_| Pair::from(Channel::Pipe.open().expect("a pipe"));
    let channels = over((0..=20).map(open).collect()).ok()?;
    let stations: Vec<_> = (0..20).map(|task| bench.station(task)).collect();
    let channels = Faulty { channels, channel, fault, left: 30 };
    let error = brigade(&bench, channels, &stations).expect_err("a fault");
    assert_eq!(bench.findings().iterations, 30, "{fault:?} of {channel}: the laps before");
    Some(format!("{error:#}"))
}

#[test]
fn a_channel_that_fails_or_ends_names_its_task_and_ends_the_run() {
    let level = |pairs| Epoll::over(pairs, Trigger::Level);
    let ring = |pairs| Ring::over(pairs, RingKind::Plain);
    for task in [0, 7, 19] {
        for fault in [Fault::Fail, Fault::End] {
            let told = match fault {
                Fault::Fail => "out of memory",
                Fault::End => "unexpected end of file",
            };
            let expected = format!("task {task} failed: {told}");
            assert_eq!(error_of(level, fault, task).expect("epoll"), expected);
            // Where there is none, its own refusal is tested from outside.
            if let Some(error) = error_of(ring, fault, task) {
                assert_eq!(error, expected);
            }
        }
    }
    let ended = error_of(level, Fault::End, 20).expect("epoll");
    assert_eq!(ended, "waiting for the token to come round: unexpected end of file");
}
