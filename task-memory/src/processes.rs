//! Forked processes that wait to read from a pipe.

use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::os::fd::AsRawFd as _;
use std::process;

use anyhow::{Context as _, ensure};
use harness::failure;
use harness::process_stat::FAILED;
use harness::threads::{outcome_of_process, root_cause};
use nix::unistd::Pid;

use crate::kinds::{Population, Task};
use crate::threads::touch_stack;

pub struct Processes {
    task: Task,
    children: Vec<Pid>,
    /// The children wait for its end of file: until we close our end.
    gate: (PipeReader, PipeWriter),
}

impl Processes {
    pub fn new(task: Task) -> anyhow::Result<Self> {
        let gate = io::pipe().context("opening the children's gate")?;
        Ok(Self { task, children: Vec::new(), gate })
    }

    fn fork(&self, ready: &PipeWriter) -> io::Result<Pid> {
        // SAFETY: the child calls only `live`, which allocates nothing and
        // takes no lock, so locks of other threads do not matter.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => self.live(ready),
            pid => Ok(Pid::from_raw(pid)),
        }
    }

    /// A child's main function. It writes a byte when it has touched its
    /// memory, and closes `ready`: when all have, or have died before, the
    /// parent reads end of file.
    fn live(&self, ready: &PipeWriter) -> ! {
        touch_stack(self.task.touch_bytes);
        let mut byte = [0_u8];
        // SAFETY: plain system calls on descriptors that this process has, and
        // a buffer of one byte; `_exit` runs no destructor of the parent's.
        unsafe {
            libc::close(self.gate.1.as_raw_fd());
            let written = libc::write(ready.as_raw_fd(), byte.as_ptr().cast(), 1);
            libc::close(ready.as_raw_fd());
            let ended = libc::read(self.gate.0.as_raw_fd(), byte.as_mut_ptr().cast(), 1);
            libc::_exit(if (written, ended) == (1, 0) { 0 } else { FAILED })
        }
    }
}

impl Population for Processes {
    fn add(&mut self, count: u64) -> anyhow::Result<()> {
        io::stdout().flush().context("flushing standard output")?;
        let (mut reports, ready) = io::pipe().context("opening the children's reports")?;
        let alive = self.children.len();
        let forked = (0..count).try_for_each(|_| {
            self.children.push(self.fork(&ready)?);
            io::Result::Ok(())
        });
        drop(ready);
        let waiting =
            io::copy(&mut reports, &mut io::sink()).context("waiting for the children")?;
        let new = (self.children.len() - alive) as u64;
        ensure!(waiting == new, "{} of {new} new tasks died before they waited", new - waiting);
        let task = self.children.len();
        forked.map_err(failure::to_create(format_args!("task {task}")))
    }

    fn count(&self) -> u64 {
        self.children.len() as u64
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
