//! What the process used and what disturbed it, between two moments: CPU time
//! and context switches from `getrusage`, migrations and run delays from the
//! scheduler's per-thread files, idle CPUs, and the load of the machine.
//!
//! Where some of the tasks live in a second process, its peer, what the peer
//! used is added. It is read from `/proc`, from outside and while it
//! waits, so that counting costs it nothing.

use std::fs;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;

use crate::process_stat::ProcessStat;
use crate::record::Interference;
use crate::system_files::{SystemFiles, field};
use crate::system_load::SystemLoad;
use crate::system_load::{CpuCounts, RunDelay, Waited};

/// Above this many threads migrations are not read: a file for each of them
/// costs more time than it tells.
const MOST_THREADS_READ: usize = 10_000;

/// Migrations of all live threads of a process since each was created.
fn migrations_of(pid: u32) -> Option<u64> {
    let tasks: Vec<_> = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten().collect();
    if tasks.len() > MOST_THREADS_READ {
        return None;
    }
    tasks
        .iter()
        .map(|task| migrations_in(&fs::read_to_string(task.path().join("sched")).ok()?))
        .sum()
}

/// The start of a span. It reads this process's counters last, so that reading
/// the files is not part of the span.
#[derive(Debug)]
pub struct Start {
    /// The process whose migrations count.
    pid: u32,
    /// A process whose counters are added to those of this one, or, where it is
    /// `pid`, stand for them.
    other: Option<u32>,
    cpus: Vec<usize>,
    /// Processes of this one's that are not measured.
    companions: Vec<u32>,
    migrations: Option<u64>,
    run_delay: Option<RunDelay>,
    load: SystemLoad,
    cpu_counts: CpuCounts,
    counters: Option<Counters>,
}

impl Start {
    /// Starts a span now, over this process and its peer, if it has one. What others do
    /// is watched on `cpus`; what `companions` do there is not others'.
    pub fn now(peer: Option<u32>, cpus: &[usize], companions: Vec<u32>) -> Self {
        Self::of(std::process::id(), peer, cpus, companions)
    }

    /// Starts a span now, over another process alone, which waits. What its children do
    /// is not others'.
    pub fn of_process(pid: u32, cpus: &[usize]) -> Self {
        Self::of(pid, Some(pid), cpus, children_of(pid))
    }

    fn of(pid: u32, other: Option<u32>, cpus: &[usize], companions: Vec<u32>) -> Self {
        let migrations = migrations_of(pid);
        let run_delay = run_delay(pid, other);
        let load = SystemLoad::read(cpus, &companions);
        let cpu_counts = CpuCounts::read(&SystemFiles::live(), cpus);
        let before = Counters::default().with_peer(other);
        let counters = before.map(|other| other.and(own(pid)));
        let cpus = cpus.to_vec();
        Self { pid, other, cpus, companions, migrations, run_delay, load, cpu_counts, counters }
    }

    /// Ends the span now; `None` when the peer or the other process has
    /// gone.
    pub fn end(self) -> Option<Span> {
        let after = own(self.pid).with_peer(self.other);
        let cpu_counts = CpuCounts::read(&SystemFiles::live(), &self.cpus);
        let load = SystemLoad::read(&self.cpus, &self.companions);
        let run_delay = run_delay(self.pid, self.other);
        let run_delay = run_delay.zip(self.run_delay).and_then(|(now, then)| now.since(&then));
        let used = after?.since(self.counters?);
        let between = |before: Option<u64>, after: Option<u64>| after?.checked_sub(before?);
        Some(Span {
            user_ns: used.user_ns,
            system_ns: used.system_ns,
            voluntary: used.voluntary,
            involuntary: used.involuntary,
            migrations: between(self.migrations, migrations_of(self.pid)),
            interference: load.since(&self.load, used.user_ns + used.system_ns),
            waited: cpu_counts.since(&self.cpu_counts, run_delay),
        })
    }
}

/// The processes that a process has started and not waited for.
fn children_of(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let started =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let numbers = |text: String| -> Vec<u32> {
        text.split_whitespace().filter_map(|number| number.parse().ok()).collect()
    };
    started.flat_map(numbers).collect()
}

/// This process's own counters, which count if the span is over it.
fn own(pid: u32) -> Counters {
    if pid == std::process::id() { Counters::own() } else { Counters::default() }
}

/// How long the threads of a process, and of another one, have waited for a CPU.
fn run_delay(pid: u32, other: Option<u32>) -> Option<RunDelay> {
    let mut processes = vec![pid];
    processes.extend(other.filter(|other| *other != pid));
    RunDelay::read(&SystemFiles::live(), &processes)
}

/// What all processes have used that this one has waited for, and those that they have
/// waited for.
pub fn children() -> Span {
    let Counters { user_ns, system_ns, voluntary, involuntary } = Counters::of_children();
    Span { user_ns, system_ns, voluntary, involuntary, ..Span::default() }
}

/// What was used in a span of time.
#[derive(Clone, Debug, Default)]
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
    /// What kept tasks waiting.
    pub waited: Waited,
}

impl Span {
    /// What was used of this since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
            ..Self::default()
        }
    }
}

fn migrations_in(sched: &str) -> Option<u64> {
    let line = sched.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.split_once(':')?.1.trim().parse().ok()
}

/// Counters at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub user_ns: u64,
    pub system_ns: u64,
    pub voluntary: u64,
    pub involuntary: u64,
}

impl Counters {
    /// Those of this process, from `getrusage`.
    pub(crate) fn own() -> Self {
        Self::of(UsageWho::RUSAGE_SELF)
    }

    /// Those of the children of this process that have been waited for, and theirs.
    pub(crate) fn of_children() -> Self {
        Self::of(UsageWho::RUSAGE_CHILDREN)
    }

    fn of(whose: UsageWho) -> Self {
        let usage = getrusage(whose).expect("a process may read its own usage");
        Self {
            user_ns: nanoseconds(usage.user_time()),
            system_ns: nanoseconds(usage.system_time()),
            voluntary: usage.voluntary_context_switches() as u64,
            involuntary: usage.involuntary_context_switches() as u64,
        }
    }

    /// Those of another process, from `/proc`; `None` when it has gone. They
    /// are exact while it is blocked; while it runs, its CPU time is as of the
    /// last clock tick. Switches of threads that have ended are not among them:
    /// the kernel keeps those of a process where only the process itself can
    /// read them.
    pub(crate) fn of_process(pid: u32) -> Option<Self> {
        let files = SystemFiles::live();
        let folder = format!("proc/{pid}");
        let stat = ProcessStat::read(&files, &folder)?;
        let run_ns = run_ns(pid)?;
        let user_ns = user_share(run_ns, stat.user_ticks, stat.system_ticks);
        let mut counters = Self { user_ns, system_ns: run_ns - user_ns, ..Self::default() };
        for task in files.names(&format!("{folder}/task")) {
            // One that ends meanwhile is one that has ended.
            let status = files.text(&format!("{folder}/task/{task}/status")).unwrap_or_default();
            let switches = |name| field(&status, name).and_then(|value| value.parse::<u64>().ok());
            counters.voluntary += switches("voluntary_ctxt_switches").unwrap_or(0);
            counters.involuntary += switches("nonvoluntary_ctxt_switches").unwrap_or(0);
        }
        Some(counters)
    }

    /// These and those of the process `peer`, if there is one; `None` when it
    /// has gone and its counters with it.
    pub(crate) fn with_peer(self, peer: Option<u32>) -> Option<Self> {
        match peer {
            None => Some(self),
            Some(pid) => Some(self.and(Self::of_process(pid)?)),
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            user_ns: self.user_ns + other.user_ns,
            system_ns: self.system_ns + other.system_ns,
            voluntary: self.voluntary + other.voluntary,
            involuntary: self.involuntary + other.involuntary,
        }
    }

    pub(crate) fn since(self, before: Self) -> Self {
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

/// The time that all threads of a process have run, ended ones too, in
/// nanoseconds.
pub(crate) fn run_ns(pid: u32) -> Option<u64> {
    let clock = clock_getcpuclockid(Pid::from_raw(pid.try_into().ok()?)).ok()?;
    u64::try_from(Duration::from(clock.now().ok()?).as_nanos()).ok()
}

/// How much of `run_ns` was in user space. The scheduler's sum is exact, and
/// the two times in clock ticks say how it divides, which is also how the
/// kernel arrives at what `getrusage` tells.
fn user_share(run_ns: u64, user_ticks: u64, system_ticks: u64) -> u64 {
    match user_ticks + system_ticks {
        0 => 0,
        ticks => (u128::from(run_ns) * u128::from(user_ticks) / u128::from(ticks)) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_has_started_is_not_others() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let start = Start::of_process(std::process::id(), &[]);
        assert!(start.companions.contains(&child.id()), "{start:?}");
        child.kill().and_then(|()| child.wait()).expect("it ends");
        let start = Start::of_process(std::process::id(), &[]);
        assert!(!start.companions.contains(&child.id()), "{start:?}");
    }

    #[test]
    fn blocking_shows_as_voluntary_switches() {
        const TIMES: u64 = 20;
        let start = Start::now(None, &[], Vec::new());
        for _ in 0..TIMES {
            std::thread::sleep(Duration::from_millis(2));
        }
        let span = start.end().expect("there is no peer to go");
        // One that is kept from its CPU for so long has nothing to wait for.
        assert!(span.voluntary > TIMES / 2, "{span:?}");
    }

    #[test]
    fn run_time_divides_as_the_ticks_do() {
        assert_eq!(user_share(1000, 1, 3), 250);
        assert_eq!(user_share(1000, 0, 0), 0);
        assert_eq!(user_share(u64::MAX, u64::MAX / 2, 0), u64::MAX);
    }

    #[test]
    fn every_thread_of_a_process_is_counted() {
        const TIMES: u64 = 20;
        let before = Counters::of_process(std::process::id()).expect("it lives");
        let counted = std::sync::Barrier::new(2);
        let after = std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..TIMES {
                    std::thread::sleep(Duration::from_millis(1));
                }
                counted.wait();
                counted.wait();
            });
            counted.wait();
            let after = Counters::of_process(std::process::id()).expect("it lives");
            counted.wait();
            after
        });
        // One that is kept from its CPU for so long has nothing to wait for.
        assert!(after.voluntary > before.voluntary + TIMES / 2, "{before:?} {after:?}");
        assert!(after.user_ns + after.system_ns > before.user_ns + before.system_ns);
    }
}
