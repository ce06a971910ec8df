//! Processes that spin beside the tasks.
//!
//! Of those that keep CPUs from idling, one on each spins in the class `SCHED_IDLE`, to
//! which everything else comes first. What a hop costs less beside them is the way into
//! idleness and out of it. Hogs spin in the normal class, and take their share.

use std::hint::spin_loop;
use std::io;

use anyhow::Context as _;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{ForkResult, Pid, getpid, getppid};

use crate::cpus;
use crate::process_stat::{fork_alone, reap};

/// Processes that spin until this is dropped, or its process ends, however it does.
#[derive(Debug)]
pub(crate) struct Spinners(Vec<Pid>);

impl Spinners {
    /// One on each of `cpus`, which are those of this process.
    ///
    /// # Errors
    /// When one cannot be created, or not in its class.
    pub(crate) fn on(cpus: &[usize]) -> anyhow::Result<Self> {
        let mut spinners = Self(Vec::with_capacity(cpus.len()));
        let created = cpus.iter().try_for_each(|cpu| {
            cpus::confine(&[*cpu]).with_context(|| format!("going to CPU {cpu}"))?;
            spinners.add(libc::SCHED_IDLE)
        });
        cpus::confine(cpus).context("returning to the CPUs of the placement")?;
        created?;
        Ok(spinners)
    }

    /// So many in the normal class, on the CPUs of this process, whatever class that is in.
    ///
    /// # Errors
    /// When one cannot be created, or not in its class.
    pub(crate) fn hogs(count: u32) -> anyhow::Result<Self> {
        let mut spinners = Self(Vec::new());
        (0..count).try_for_each(|_| spinners.add(libc::SCHED_OTHER))?;
        Ok(spinners)
    }

    /// Adds one of this class, which inherits its CPUs from this process.
    fn add(&mut self, class: i32) -> anyhow::Result<()> {
        let parent = getpid();
        match fork_alone().context("starting a spinner")? {
            ForkResult::Child => spin(parent),
            ForkResult::Parent { child } => {
                self.0.push(child);
                set_class(child, class).context("setting the class of a spinner")
            }
        }
    }

    /// Their process numbers.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.0.iter().map(|spinner| spinner.as_raw().unsigned_abs()).collect()
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        for spinner in &self.0 {
            // One that has ended is only reaped.
            let _ = kill(*spinner, Signal::SIGKILL);
            let _ = reap(*spinner);
        }
    }
}

/// The life of a child: it ends with its parent.
fn spin(parent: Pid) -> ! {
    if set_pdeathsig(Signal::SIGKILL).is_err() || getppid() != parent {
        // SAFETY: it ends the process and nothing else.
        unsafe { libc::_exit(1) };
    }
    loop {
        spin_loop();
    }
}

/// Puts a process into a class of the scheduler that knows no priorities.
fn set_class(process: Pid, class: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads the parameters, which outlive the call.
    match unsafe { libc::sched_setscheduler(process.as_raw(), class, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
