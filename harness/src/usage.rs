//! What the process used and what disturbed it, between two moments: CPU time
//! and context switches from `getrusage`, migrations from the scheduler's
//! per-thread files, steal and pressure of the whole machine.
//!
//! Where some of the tasks live in a second process, its companion, what that
//! one used is added. It is read from `/proc`, from outside and while it
//! waits, so that counting costs it nothing.

use std::fs;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use crate::companion;
use crate::record::Interference;

/// Above this many threads migrations are not read: a file for each of them
/// costs more time than it tells.
const MOST_THREADS_READ: usize = 10_000;

/// Counters at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub user_ns: u64,
    pub system_ns: u64,
    pub voluntary: u64,
    pub involuntary: u64,
}

impl Counters {
    /// Those of this process.
    fn own() -> Self {
        let usage = getrusage(UsageWho::RUSAGE_SELF).expect("a process may read its own usage");
        Self {
            user_ns: nanoseconds(usage.user_time()),
            system_ns: nanoseconds(usage.system_time()),
            voluntary: usage.voluntary_context_switches() as u64,
            involuntary: usage.involuntary_context_switches() as u64,
        }
    }

    /// These and those of the companion, if there is one; `None` when it has
    /// gone and its counters with it.
    fn with_companion(self, companion: Option<u32>) -> Option<Self> {
        match companion {
            None => Some(self),
            Some(pid) => Some(self.and(companion::counters(pid)?)),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            user_ns: self.user_ns + other.user_ns,
            system_ns: self.system_ns + other.system_ns,
            voluntary: self.voluntary + other.voluntary,
            involuntary: self.involuntary + other.involuntary,
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
        }
    }
}

fn nanoseconds(time: TimeVal) -> u64 {
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_usec() as u64 * 1_000
}

/// Figures from files, which are slow to read.
#[derive(Clone, Copy, Debug)]
struct Surroundings {
    migrations: Option<u64>,
    steal_ns: Option<u64>,
    psi_cpu_some_ns: Option<u64>,
}

impl Surroundings {
    fn read() -> Self {
        Self { migrations: migrations(), steal_ns: steal(), psi_cpu_some_ns: pressure() }
    }
}

/// The start of a span. It reads this process's counters last, so that reading
/// the files is not part of the span.
#[derive(Debug)]
pub struct Start {
    companion: Option<u32>,
    surroundings: Surroundings,
    counters: Option<Counters>,
}

impl Start {
    /// Starts a span now, over this process and its companion, if it has one.
    #[must_use]
    pub fn now(companion: Option<u32>) -> Self {
        let surroundings = Surroundings::read();
        let theirs = Counters::default().with_companion(companion);
        let counters = theirs.map(|theirs| theirs.and(Counters::own()));
        Self { companion, surroundings, counters }
    }

    /// Ends the span now; `None` when the companion has gone.
    #[must_use]
    pub fn end(self) -> Option<Span> {
        let after = Counters::own().with_companion(self.companion);
        let surroundings = Surroundings::read();
        let used = after?.since(self.counters?);
        let between = |before: Option<u64>, after: Option<u64>| after?.checked_sub(before?);
        let before = self.surroundings;
        Some(Span {
            user_ns: used.user_ns,
            system_ns: used.system_ns,
            voluntary: used.voluntary,
            involuntary: used.involuntary,
            migrations: between(before.migrations, surroundings.migrations),
            interference: Interference {
                steal_ns: between(before.steal_ns, surroundings.steal_ns),
                psi_cpu_some_ns: between(before.psi_cpu_some_ns, surroundings.psi_cpu_some_ns),
            },
        })
    }
}

/// What was used in a span of time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// CPU time in user space, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// Switches because a thread blocked.
    pub voluntary: u64,
    /// Switches because a thread was preempted.
    pub involuntary: u64,
    /// Moves of a thread to another CPU, where the kernel tells and threads
    /// did not end meanwhile.
    pub migrations: Option<u64>,
    /// What the rest of the machine did.
    pub interference: Interference,
}

/// Migrations of all live threads of this process since each was created.
fn migrations() -> Option<u64> {
    let tasks: Vec<_> = fs::read_dir("/proc/self/task").ok()?.flatten().collect();
    if tasks.len() > MOST_THREADS_READ {
        return None;
    }
    tasks
        .iter()
        .map(|task| migrations_in(&fs::read_to_string(task.path().join("sched")).ok()?))
        .sum()
}

fn migrations_in(sched: &str) -> Option<u64> {
    let line = sched.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.split_once(':')?.1.trim().parse().ok()
}

/// Steal time of all CPUs together since boot, in nanoseconds.
fn steal() -> Option<u64> {
    let ticks = steal_in(&fs::read_to_string("/proc/stat").ok()?)?;
    Some(ticks * (1_000_000_000 / procfs::ticks_per_second()))
}

/// The eighth number of the line `cpu`, in clock ticks.
fn steal_in(stat: &str) -> Option<u64> {
    stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().nth(7)?.parse().ok()
}

/// Time in which some thread waited for a CPU since boot, in nanoseconds.
fn pressure() -> Option<u64> {
    pressure_in(&fs::read_to_string("/proc/pressure/cpu").ok()?)
}

fn pressure_in(psi: &str) -> Option<u64> {
    let line = psi.lines().find(|line| line.starts_with("some "))?;
    let microseconds: u64 = line.rsplit_once("total=")?.1.parse().ok()?;
    Some(microseconds * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_are_read_where_they_say_what_we_want() {
        assert_eq!(migrations_in("x\nse.nr_migrations   :      12\n"), Some(12));
        assert_eq!(steal_in("cpu  1 2 3 4 5 6 7 88 9 10\ncpu0 1\n"), Some(88));
        let psi = "some avg10=0.00 avg60=0.00 avg300=0.24 total=3217872\nfull total=0\n";
        assert_eq!(pressure_in(psi), Some(3_217_872_000));
    }

    #[test]
    fn files_of_another_shape_give_nothing_rather_than_zero() {
        assert_eq!(migrations_in(""), None);
        assert_eq!(steal_in("cpu  1 2 3\n"), None);
        assert_eq!(pressure_in("some avg10=0.00\n"), None);
    }

    #[test]
    fn blocking_shows_as_voluntary_switches() {
        const TIMES: u64 = 20;
        let start = Start::now(None);
        for _ in 0..TIMES {
            std::thread::sleep(std::time::Duration::from_micros(50));
        }
        let span = start.end().expect("there is no companion to go");
        assert!(span.voluntary >= TIMES, "{span:?}");
    }
}
