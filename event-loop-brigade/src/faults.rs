//! Brigades with failures, over channels that misbehave.

use std::fs::File;
use std::io::{self, ErrorKind};

use harness::Bench;
use harness::hand_over::pipe;
use rustix::event::epoll::EventFlags;

use crate::epoll::Epoll;
use crate::ring::Ring;
use crate::{Channels, Loop, Pair, brigade};

/// What a channel yields instead of a token.
type Fault = fn() -> io::Result<Option<u8>>;

/// Channels of which one misbehaves after some tokens.
struct Faulty<C> {
    channels: C,
    channel: usize,
    fault: Fault,
    /// Remaining tokens.
    left: u32,
}

impl<C: Channels> Channels for Faulty<C> {
    fn send(&mut self, channel: usize, token: u8) -> io::Result<()> {
        self.channels.send(channel, token)
    }

    fn next(&mut self) -> io::Result<(usize, io::Result<Option<u8>>)> {
        let (channel, token) = self.channels.next()?;
        self.left -= u32::from(channel == self.channel);
        Ok((channel, if self.left > 0 { token } else { (self.fault)() }))
    }

    fn system_calls(&self) -> u64 {
        self.channels.system_calls()
    }
}

/// The error of a brigade of 20 tasks in which this channel misbehaves after 30 tokens.
fn error_of<C: Channels>(
    watch: impl Fn(Vec<Pair<File>>) -> anyhow::Result<C>,
    fault: Fault,
    channel: usize,
) -> Option<String> {
    let bench = Bench::standalone(20, 1000, 0, None).expect("affinity");
    let open = |_| pipe().expect("a pipe");
    let channels = watch((0..=20).map(open).collect()).ok()?;
    let stations: Vec<_> = (0..20).map(|task| bench.station(task)).collect();
    let channels = Faulty { channels, channel, fault, left: 31 };
    let error = brigade(&bench, channels, &stations).expect_err("a fault");
    assert_eq!(bench.iterations(), 30, "{channel}: the laps before");
    Some(format!("{error:#}"))
}

#[test]
fn a_channel_that_fails_or_ends_names_its_task_and_ends_the_run() {
    let level = |pairs| Epoll::new(pairs, EventFlags::IN);
    let ring = |pairs| Ring::new(pairs, Loop::IoUring);
    let faults: [Fault; 2] = [|| Err(ErrorKind::OutOfMemory.into()), || Ok(None)];
    for fault in faults {
        for task in [0, 7, 19] {
            // Without io_uring there is no ring; its refusal is tested from outside.
            let errors =
                error_of(level, fault, task).into_iter().chain(error_of(ring, fault, task));
            for error in errors {
                assert!(error.starts_with(&format!("task {task} failed")), "{error}");
            }
        }
        let ended = error_of(level, fault, 20).expect("epoll");
        assert!(ended.starts_with("waiting for the token"), "{ended}");
    }
}
