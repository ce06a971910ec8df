//! Forked processes that wait to read from a pipe.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsRawFd as _;
use std::{mem, process};

use anyhow::{Context as _, ensure};
use harness::failure;
use harness::process_stat::FAILED;
use harness::threads::{outcome_of_process, root_cause};
use nix::unistd::{ForkResult, Pid, fork};

use crate::Population;
use crate::threads::touch_stack;

pub struct Processes {
    touch_bytes: usize,
    children: Vec<Pid>,
    /// Into which the next children write.
    reports: (PipeReader, PipeWriter),
    /// Children that waited at the last look.
    waiting: u64,
    /// The children wait for its end of file: until we close our end.
    gate: (PipeReader, PipeWriter),
}

impl Processes {
    pub fn new(touch_bytes: usize) -> anyhow::Result<Self> {
        let reports = open()?;
        let gate = open()?;
        Ok(Self { touch_bytes, children: Vec::new(), reports, waiting: 0, gate })
    }

    /// A child's main function. It writes a byte when it has touched its
    /// memory, and closes `reports`: when all have, or have died before, the
    /// parent reads end of file.
    fn live(&self) -> ! {
        touch_stack(self.touch_bytes);
        let mut byte = [0_u8];
        let ready = self.reports.1.as_raw_fd();
        // SAFETY: plain system calls on descriptors that this process has, and a buffer of one
        // byte; `_exit` runs no destructor of the parent's. Wrappers elsewhere in the binary would
        // cost each process another page of page tables.
        unsafe {
            libc::close(self.gate.1.as_raw_fd());
            let written = libc::write(ready, byte.as_ptr().cast(), 1);
            libc::close(ready);
            let ended = libc::read(self.gate.0.as_raw_fd(), byte.as_mut_ptr().cast(), 1);
            libc::_exit(if (written, ended) == (1, 0) { 0 } else { FAILED })
        }
    }
}

fn open() -> anyhow::Result<(PipeReader, PipeWriter)> {
    io::pipe().context("opening a pipe of the children")
}

impl Population for Processes {
    fn create(&mut self, task: u64) -> anyhow::Result<()> {
        // SAFETY: the child calls only `live`, which allocates nothing and takes no lock, so locks
        // of other threads do not matter.
        let forked = unsafe { fork() }.map_err(io::Error::from);
        match forked.map_err(failure::to_create(format_args!("task {task}")))? {
            ForkResult::Child => self.live(),
            ForkResult::Parent { child } => self.children.push(child),
        }
        Ok(())
    }

    fn wait(&mut self, tasks: u64) -> anyhow::Result<()> {
        let (mut reports, ready) = mem::replace(&mut self.reports, open()?);
        drop(ready);
        self.waiting +=
            io::copy(&mut reports, &mut io::sink()).context("waiting for the children")?;
        let died = tasks - self.waiting;
        ensure!(died == 0, "{died} of {tasks} tasks died before they waited");
        Ok(())
    }

    fn processes(&self) -> Vec<u32> {
        let children = self.children.iter().map(|child| child.as_raw().unsigned_abs());
        children.chain([process::id()]).collect()
    }

    fn end(self: Box<Self>) -> anyhow::Result<()> {
        drop(self.gate);
        root_cause(self.children.into_iter().map(outcome_of_process))
    }
}
