//! CPU time and context switches, counted by the kernel, of this process or another.

use std::sync::LazyLock;
use std::time::Duration;
use std::{process, thread};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;
use perf_event_open::config::{Cpu, Inherit, Opts, Proc};
use perf_event_open::count::Counter;
use perf_event_open::event::sw::Software;

use crate::machine::process_stat::ProcessStat;
use crate::machine::system_files::{SystemFiles, field};

/// Counters at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// CPU time in user space, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// Switches because a thread blocked.
    pub voluntary: u64,
    /// Switches because a thread was preempted.
    pub involuntary: u64,
}

impl Counters {
    /// CPU time in user space and in the kernel, in nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// The counters of this process, from `getrusage`.
    pub fn own() -> Self {
        Self::from_getrusage(UsageWho::RUSAGE_SELF)
    }

    /// The counters of the calling thread.
    pub fn of_this_thread() -> Self {
        Self::from_getrusage(UsageWho::RUSAGE_THREAD)
    }

    /// The counters of this process's reaped children and their descendants.
    pub fn of_children() -> Self {
        Self::from_getrusage(UsageWho::RUSAGE_CHILDREN)
    }

    fn from_getrusage(whose: UsageWho) -> Self {
        let usage = getrusage(whose).expect("a process may read its own usage");
        Self {
            user_ns: usage.user_time().num_nanoseconds() as u64,
            system_ns: usage.system_time().num_nanoseconds() as u64,
            voluntary: usage.voluntary_context_switches() as u64,
            involuntary: usage.involuntary_context_switches() as u64,
        }
    }

    /// The counters of another process, from `/proc`; `None` if it has ended, or if those of a thread
    /// cannot be read. They are exact while it is blocked; while it runs, its CPU time is as of the
    /// last clock tick. Switches of its ended threads are missing: only the process itself can read
    /// those.
    pub fn of_process(pid: u32) -> Option<Self> {
        let files = SystemFiles::live();
        let folder = format!("proc/{pid}");
        let stat = ProcessStat::read(&files, &folder)?;
        let run_ns = run_ns(pid)?;
        let user_ns = user_share(run_ns, stat.user_ticks, stat.system_ticks);
        let counters = Self { user_ns, system_ns: run_ns - user_ns, ..Self::default() };
        counters.with_switches(&files, &format!("{folder}/task"))
    }

    /// The counters with the switches of the threads in this folder; `None` if one cannot be read.
    fn with_switches(mut self, files: &SystemFiles, folder: &str) -> Option<Self> {
        let threads = files.names(folder);
        if threads.is_empty() {
            return None;
        }
        for thread in threads {
            let Some(status) = files.text(&format!("{folder}/{thread}/status")) else {
                // A thread that ends meanwhile counts as ended.
                if files.contains(&format!("{folder}/{thread}")) {
                    return None;
                }
                continue;
            };
            // Some sandboxes count no switches: see `counts_switches`.
            let switches = |name| field(&status, name).and_then(|value| value.parse::<u64>().ok());
            self.voluntary += switches("voluntary_ctxt_switches").unwrap_or(0);
            self.involuntary += switches("nonvoluntary_ctxt_switches").unwrap_or(0);
        }
        Some(self)
    }

    /// The sum of the counters of these processes, read in this order; `None` if one has ended or
    /// cannot be read.
    pub(crate) fn of_all<'a>(mut pids: impl Iterator<Item = &'a u32>) -> Option<Self> {
        pids.try_fold(Self::default(), |sum, pid| {
            let is_own = *pid == process::id();
            let of_pid = if is_own { Self::own() } else { Self::of_process(*pid)? };
            Some(sum.each(of_pid, |sum, of_pid| sum + of_pid))
        })
    }

    /// Switches of both kinds.
    pub fn switches(self) -> u64 {
        self.voluntary + self.involuntary
    }

    /// The difference from `before`.
    pub fn used_since(self, before: Self) -> Self {
        self.each(before, u64::saturating_sub)
    }

    /// The counters without so much CPU time in user space. If the kernel's split between user space
    /// and kernel, which is sampled, leaves less there, the rest is missing from the kernel's part.
    pub(crate) fn without_user_ns(self, ns: u64) -> Self {
        let of_user = ns.min(self.user_ns);
        let user_ns = self.user_ns - of_user;
        let system_ns = self.system_ns.saturating_sub(ns - of_user);
        Self { user_ns, system_ns, ..self }
    }

    fn each(self, other: Self, combine: fn(u64, u64) -> u64) -> Self {
        Self {
            user_ns: combine(self.user_ns, other.user_ns),
            system_ns: combine(self.system_ns, other.system_ns),
            voluntary: combine(self.voluntary, other.voluntary),
            involuntary: combine(self.involuntary, other.involuntary),
        }
    }
}

/// Whether this kernel counts the switches of a thread that sleeps: gVisor counts only yields. The
/// first call blocks for a moment.
pub fn counts_switches() -> bool {
    static COUNTS: LazyLock<bool> = LazyLock::new(|| {
        let before = Counters::own().voluntary;
        thread::sleep(Duration::from_millis(1));
        Counters::own().voluntary > before
    });
    *COUNTS
}

/// How often to look for threads that started while others were attached to.
const ATTEMPTS: usize = 50;

/// Counts the switches of another process's threads, including those that start and end meanwhile:
/// a counter of the kernel on each thread, which later ones inherit. It makes each of their
/// switches a little slower.
pub struct SwitchCounter(Vec<Counter>);

impl SwitchCounter {
    /// Starts to count; `None` if the kernel does not permit that, or threads start all the time.
    pub fn of_process(pid: u32) -> Option<Self> {
        let files = SystemFiles::live();
        let threads = || files.names(&format!("proc/{pid}/task"));
        let open = |thread: &String| {
            let inherit = Some(Inherit::NewThread);
            let options = Opts { inherit, enable: true, ..Opts::default() };
            let thread = Proc(thread.parse().ok()?);
            Counter::new(Software::CtxSwitch, (thread, Cpu::ALL), options).ok()
        };
        // A thread that starts meanwhile may count twice or never.
        (0..ATTEMPTS).find_map(|_| {
            let before = threads();
            let counters = before.iter().map(open).collect::<Option<Vec<_>>>()?;
            (threads() == before && !counters.is_empty()).then_some(Self(counters))
        })
    }

    /// The switches until now.
    pub fn count(&self) -> Option<u64> {
        self.0.iter().map(|counter| Some(counter.stat().ok()?.count)).sum()
    }
}

/// The CPU time of a process's ended threads, in nanoseconds.
pub fn ended_ns(pid: u32) -> Option<u64> {
    let files = SystemFiles::live();
    let all = run_ns(pid)?;
    let run = |thread: String| files.number(&format!("proc/{pid}/task/{thread}/schedstat"));
    let live: u64 = files.names(&format!("proc/{pid}/task")).into_iter().filter_map(run).sum();
    Some(all.saturating_sub(live))
}

/// The run time of all threads of a process, including ended ones, in
/// nanoseconds.
pub(crate) fn run_ns(pid: u32) -> Option<u64> {
    let clock = clock_getcpuclockid(Pid::from_raw(pid.try_into().ok()?)).ok()?;
    u64::try_from(Duration::from(clock.now().ok()?).as_nanos()).ok()
}

/// The part of `run_ns` in user space. The scheduler's sum is exact; the two
/// times in clock ticks give the proportion. The kernel computes the times of
/// `getrusage` in the same way.
fn user_share(run_ns: u64, user_ticks: u64, system_ticks: u64) -> u64 {
    let ticks = user_ticks + system_ticks;
    if ticks == 0 {
        return 0;
    }
    (u128::from(run_ns) * u128::from(user_ticks) / u128::from(ticks)) as u64
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::symlink;
    use std::{env, fs, process};

    use super::{Counters, user_share};
    use crate::machine::system_files::SystemFiles;

    #[test]
    fn switches_are_unknown_if_those_of_a_live_thread_cannot_be_read() {
        let root = env::temp_dir().join(format!("switches-{}", process::id()));
        let count = || {
            let files = SystemFiles::Below(root.clone());
            Counters::default().with_switches(&files, "task").map(Counters::switches)
        };
        assert_eq!(count(), None, "no thread can be read");
        fs::create_dir_all(root.join("task/7")).expect("a folder");
        let status = "voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t2\n";
        fs::write(root.join("task/7/status"), status).expect("a file");
        assert_eq!(count(), Some(7));
        // A thread that is listed, and then has gone.
        symlink("gone", root.join("task/8")).expect("a link");
        assert_eq!(count(), Some(7));
        fs::create_dir(root.join("task/9")).expect("a folder");
        assert_eq!(count(), None);
        fs::remove_dir_all(root).expect("it is removed");
    }

    #[test]
    fn time_that_user_space_lacks_is_taken_from_the_kernels() {
        let counters = Counters { user_ns: 10, system_ns: 5, voluntary: 1, involuntary: 2 };
        let left = |ns| {
            let left = counters.without_user_ns(ns);
            (left.user_ns, left.system_ns, left.switches())
        };
        assert_eq!([left(7), left(12), left(99)], [(3, 5, 3), (0, 3, 3), (0, 0, 3)]);
    }

    #[test]
    fn threads_that_start_and_end_meanwhile_are_counted() {
        let Some(counter) = super::SwitchCounter::of_process(process::id()) else {
            // The test runner swallows `eprintln!`.
            let _ = writeln!(std::io::stderr(), "SKIPPED: the kernel counts no switches here");
            return;
        };
        let sleep =
            || (0..40).for_each(|_| std::thread::sleep(std::time::Duration::from_micros(50)));
        // A child of this thread inherits its counter.
        std::thread::spawn(sleep).join().expect("it sleeps");
        assert!(counter.count().expect("it counts") >= 40);
    }

    #[test]
    fn run_time_is_split_in_proportion_to_the_ticks() {
        assert_eq!(user_share(1000, 1, 3), 250);
        assert_eq!(user_share(1000, 0, 0), 0);
        assert_eq!(user_share(u64::MAX, u64::MAX / 2, 0), u64::MAX);
    }
}
