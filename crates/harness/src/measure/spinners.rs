//! Processes that spin while the tasks run.
//!
//! To keep CPUs from idling, one spins on each in the class `SCHED_IDLE`, which yields to
//! everything else: the time that hops save is that of entering and leaving idle states. Hogs spin
//! in the normal class, and take their share.

use std::hint::spin_loop;

use anyhow::Context as _;
use nix::errno::Errno;
use nix::sys::prctl::set_name;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::machine::cpus;
use crate::machine::process_stat::{reap, spawn};

/// Processes that spin until this is dropped or this process ends, even if it is killed.
#[derive(Debug, Default)]
pub struct Spinners(Vec<Pid>);

impl Spinners {
    /// A spinner in the idle class on each of `cpus`, which this process may use.
    ///
    /// # Errors
    /// If one cannot be created, or not in its class.
    pub fn keep_awake(cpus: &[usize]) -> anyhow::Result<Self> {
        let mut spinners = Self::default();
        let created = cpus.iter().try_for_each(|cpu| {
            cpus::confine(&[*cpu]).with_context(|| format!("moving to CPU {cpu}"))?;
            spinners.add(libc::SCHED_IDLE)
        });
        cpus::confine(cpus).context("returning to the CPUs of the placement")?;
        created.map(|()| spinners)
    }

    /// This many spinners in the normal class, on this process's CPUs, even if its class is another.
    ///
    /// # Errors
    /// If one cannot be created, or not in its class.
    pub fn hogs(count: u32) -> anyhow::Result<Self> {
        let mut spinners = Self::default();
        for _ in 0..count {
            spinners.add(libc::SCHED_OTHER)?;
        }
        Ok(spinners)
    }

    /// Adds a spinner with this class, which has no priorities; it inherits its CPUs from this
    /// process.
    fn add(&mut self, class: i32) -> anyhow::Result<()> {
        let spin = || {
            // For traces; without it, it has the program's name.
            let _ = set_name(c"hog");
            loop {
                spin_loop();
            }
        };
        let child = spawn(spin).context("starting a spinner")?;
        self.0.push(child);
        let parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: the kernel reads the parameters, which outlive the call.
        let set = unsafe { libc::sched_setscheduler(child.as_raw(), class, &raw const parameters) };
        Errno::result(set).map(drop).context("setting the class of a spinner")
    }

    /// The process ids of all spinners.
    pub fn processes(&self) -> Vec<u32> {
        self.0.iter().map(|spinner| spinner.as_raw().unsigned_abs()).collect()
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        for spinner in &self.0 {
            // If it has ended, it is only reaped.
            let _ = kill(*spinner, Signal::SIGKILL);
            let _ = reap(*spinner);
        }
    }
}
