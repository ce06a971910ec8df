//! Ends the wait for a server that does nothing any more.
//!
//! A timer wakes the load once a second, together with answers, so no request takes longer for it.

use std::os::fd::OwnedFd;

use anyhow::{Context as _, ensure};
use harness::Bench;
use harness::counters::Counters;
use harness::process_stat::{ProcessStat, family_of};
use harness::system_files::SystemFiles;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// After so many seconds without a byte in which the server did nothing, the run fails.
const PATIENCE: u32 = 10;

/// The CPU time in a second, in nanoseconds, of runtimes that only look after themselves.
const IDLE_NS: u64 = 20_000_000;

/// What is known of the server since the load heard from it.
pub struct Silence {
    bench: Bench,
    /// Readable once a second.
    pub timer: OwnedFd,
    server: u32,
    /// How much the load had sent and received a second ago.
    passed: u64,
    /// The server's CPU time a second ago, if the load did not hear from it then, either.
    used_ns: Option<u64>,
    /// Seconds in which the server did nothing.
    idle: u32,
    /// The run was interrupted, and the server has answered nothing for a second.
    pub has_given_up: bool,
}

impl Silence {
    /// The silence of a server from which the load has not heard yet.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(server: u32, bench: &Bench) -> anyhow::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags).context("timerfd_create")?;
        let second = Timespec { tv_sec: 1, tv_nsec: 0 };
        let every = Itimerspec { it_interval: second, it_value: second };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &every).context("timerfd_settime")?;
        Ok(Self {
            bench: bench.clone(),
            timer,
            server,
            passed: 0,
            used_ns: None,
            idle: 0,
            has_given_up: false,
        })
    }

    /// Whether the run has been interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.bench.is_interrupted()
    }

    /// To be called about once a second, with a number that changes when anything is sent or
    /// received, and a connection that waits for the server.
    ///
    /// # Errors
    /// If the server has done nothing for too long.
    pub fn look(&mut self, passed: u64, waiting: Option<usize>) -> anyhow::Result<()> {
        // So an expired timer may expire again.
        let _ = rustix::io::read(&self.timer, &mut [0; size_of::<u64>()]);
        let is_silent = passed == self.passed;
        self.passed = passed;
        let Some(waiting) = waiting.filter(|_| is_silent) else {
            self.used_ns = None;
            self.idle = 0;
            return Ok(());
        };
        self.has_given_up = self.is_interrupted();
        let family = family_of(self.server);
        let used_ns = family
            .iter()
            .filter_map(|pid| Counters::of_process(*pid))
            .map(|used| used.cpu_ns())
            .sum();
        let before = self.used_ns.replace(used_ns);
        let is_idle = before.is_some_and(|before| used_ns.saturating_sub(before) < IDLE_NS)
            && family.iter().all(|pid| is_asleep(*pid));
        self.idle += u32::from(is_idle);
        ensure!(
            self.idle < PATIENCE,
            "connection {waiting}: for {PATIENCE} s no byte came from the server over any \
             connection, and it was neither stopped nor short of CPU time"
        );
        Ok(())
    }
}

/// Whether no thread of a process runs, waits for a CPU, or is stopped.
fn is_asleep(pid: u32) -> bool {
    let files = SystemFiles::live();
    let folder = format!("proc/{pid}/task");
    let threads = files.names(&folder).into_iter();
    let mut stats = threads.filter_map(|tid| ProcessStat::read(&files, &format!("{folder}/{tid}")));
    stats.all(|stat| matches!(stat.state, 'S' | 'I' | 'Z' | 'X'))
}
