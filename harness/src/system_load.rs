//! The load of the machine beside this process: CPU time that others had,
//! steal, pressure and frequency, from the kernel's files.

use std::fs;

use crate::counters::{Counters, run_ns};
use crate::record::Interference;
use crate::system_files::ticks_per_second;
use crate::{clock, cpus};

/// The machine at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemLoad {
    at_ns: u64,
    /// CPU time of children that have been waited for, and of companions.
    children_ns: u64,
    cpu_time: Option<CpuTime>,
    steal_ns: Option<u64>,
    psi_cpu_some_ns: Option<u64>,
    frequency_khz: Option<u64>,
}

impl SystemLoad {
    /// Reads it now. `cpus` are those that the tasks may run on; `companions` are
    /// processes of this one's.
    pub(crate) fn read(cpus: &[usize], companions: &[u32]) -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let of_companions: u64 = companions.iter().filter_map(|pid| run_ns(*pid)).sum();
        Self {
            at_ns: clock::now(),
            children_ns: children_ns() + of_companions,
            cpu_time: CpuTime::of(cpus, &stat),
            steal_ns: steal_in(&stat).and_then(|ticks| nanoseconds_in([ticks])),
            psi_cpu_some_ns: pressure(),
            frequency_khz: frequency(),
        }
    }

    /// What went on from `before` until now, in which this process, without
    /// its children, had `own_ns` of CPU time.
    pub(crate) fn since(&self, before: &Self, own_ns: u64) -> Interference {
        let wall_ns = self.at_ns.saturating_sub(before.at_ns);
        let own_ns = own_ns + self.children_ns.saturating_sub(before.children_ns);
        let between = |before: Option<u64>, after: Option<u64>| after?.checked_sub(before?);
        let taken = || self.cpu_time?.taken_since(before.cpu_time?, wall_ns);
        Interference {
            steal_ns: between(before.steal_ns, self.steal_ns),
            psi_cpu_some_ns: between(before.psi_cpu_some_ns, self.psi_cpu_some_ns),
            wall_ns: Some(wall_ns),
            others_cpu_ns: taken().map(|taken| taken.saturating_sub(own_ns)),
            frequency_before_khz: before.frequency_khz,
            frequency_after_khz: self.frequency_khz,
        }
    }
}

/// The two accounts that the kernel keeps of CPUs, since boot, summed over
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTime {
    cpus: u64,
    /// Measured, where the tick stops on idle CPUs.
    idle_ns: u64,
    /// Sampled at ticks: user, nice, system, irq, softirq and steal.
    busy_ns: u64,
}

impl CpuTime {
    /// That of `cpus` in the text of `/proc/stat`; `None` when one of them is
    /// not there.
    fn of(cpus: &[usize], stat: &str) -> Option<Self> {
        let none = Self { cpus: 0, idle_ns: 0, busy_ns: 0 };
        cpus.iter().try_fold(none, |sum, cpu| {
            let ticks = ticks_of(*cpu, stat)?;
            let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
            let busy = [user, nice, system, irq, softirq, steal];
            Some(Self {
                cpus: sum.cpus + 1,
                idle_ns: sum.idle_ns.checked_add(nanoseconds_in([idle, iowait])?)?,
                busy_ns: sum.busy_ns.checked_add(nanoseconds_in(busy)?)?,
            })
        })
    }

    /// The time that the CPUs were not idle, in nanoseconds, by the account
    /// that shows less of it. What is not measured as idle includes the way
    /// into idleness and out of it, at every wait of a task. What is sampled
    /// misses tasks that run between two ticks, as they do where each wakes
    /// the next on another CPU. Where the CPUs have work all the time, the two
    /// agree.
    fn taken_since(self, before: Self, wall_ns: u64) -> Option<u64> {
        let idle_ns = self.idle_ns.checked_sub(before.idle_ns)?;
        let sampled_ns = self.busy_ns.checked_sub(before.busy_ns)?;
        let not_idle_ns = (self.cpus * wall_ns).saturating_sub(idle_ns);
        Some(not_idle_ns.min(sampled_ns))
    }
}

/// The first eight numbers of the line of one CPU, in clock ticks.
fn ticks_of(cpu: usize, stat: &str) -> Option<[u64; 8]> {
    let name = format!("cpu{cpu}");
    let mut words = stat
        .lines()
        .map(str::split_whitespace)
        .find(|words| words.clone().next() == Some(&name))?;
    words.next();
    let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).take(8).collect();
    ticks.try_into().ok()
}

/// Steal time of all CPUs together since boot, in clock ticks: the eighth
/// number of the line `cpu`.
fn steal_in(stat: &str) -> Option<u64> {
    stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().nth(7)?.parse().ok()
}

/// The sum of numbers of clock ticks, in nanoseconds; `None` where it is more
/// than any machine can have counted.
fn nanoseconds_in<const N: usize>(ticks: [u64; N]) -> Option<u64> {
    let ticks = ticks.into_iter().try_fold(0, u64::checked_add)?;
    ticks.checked_mul(1_000_000_000 / ticks_per_second()?)
}

fn children_ns() -> u64 {
    let Counters { user_ns, system_ns, .. } = Counters::of_children();
    user_ns + system_ns
}

/// Time in which some thread waited for a CPU since boot, in nanoseconds.
fn pressure() -> Option<u64> {
    pressure_in(&fs::read_to_string("/proc/pressure/cpu").ok()?)
}

fn pressure_in(psi: &str) -> Option<u64> {
    let line = psi.lines().find(|line| line.starts_with("some "))?;
    let microseconds: u64 = line.rsplit_once("total=")?.1.parse().ok()?;
    microseconds.checked_mul(1_000)
}

/// The frequency of the CPU that this thread runs on, in kilohertz.
fn frequency() -> Option<u64> {
    let cpu = cpus::current();
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STAT: &str = "cpu  3 3 5 7 9 11 13 100 17 19\ncpu0 1 1 2 3 4 5 6 60 8 9\n\
                        cpu1 2 2 3 4 5 6 7 40 9 10\ncpu10 9 9 9 9 9 9 9 9 9 9\nintr 12\n";
    const TICK: u64 = 10_000_000;

    proptest! {
        #[test]
        fn nothing_that_a_file_says_ends_the_program(text in "(cpu0?|some|total=|[ \n=]|[0-9]{1,20}){0,40}") {
            let _ = (CpuTime::of(&[0], &text), steal_in(&text), pressure_in(&text));
        }
    }

    #[test]
    fn counts_beyond_any_machine_are_none() {
        let most = u64::MAX;
        let stat = format!("cpu  0\ncpu0 {most} 1 0 0 0 0 0 0\ncpu1 0 0 0 {most} 0 0 0 0\n");
        assert!(CpuTime::of(&[0], &stat).is_none() && CpuTime::of(&[1], &stat).is_none());
        assert_eq!(pressure_in(&format!("some total={most}")), None);
    }

    #[test]
    fn the_kernels_files_are_read_where_they_say_what_we_want() {
        assert_eq!(steal_in(STAT), Some(100));
        let psi = "some avg10=0.00 avg60=0.00 avg300=0.24 total=3217872\nfull total=0\n";
        assert_eq!(pressure_in(psi), Some(3_217_872_000));
    }

    #[test]
    fn the_cpus_asked_for_are_summed_and_guests_counted_once() {
        let expected = CpuTime { cpus: 1, idle_ns: 9 * TICK, busy_ns: 60 * TICK };
        assert_eq!(CpuTime::of(&[1], STAT), Some(expected));
        let expected = CpuTime { cpus: 2, idle_ns: 16 * TICK, busy_ns: 135 * TICK };
        assert_eq!(CpuTime::of(&[0, 1], STAT), Some(expected));
    }

    #[test]
    fn files_of_another_shape_give_nothing_rather_than_zero() {
        assert_eq!(steal_in("cpu  1 2 3\n"), None);
        assert_eq!(pressure_in("some avg10=0.00\n"), None);
        assert_eq!(CpuTime::of(&[0], "cpu0 1 2 3\n"), None);
        assert_eq!(CpuTime::of(&[0, 2], STAT), None);
    }

    /// Two CPUs, of which an account says so much more than before.
    fn taken(idle_ns: u64, busy_ns: u64, wall_ns: u64) -> Option<u64> {
        let before = CpuTime { cpus: 2, idle_ns: 50, busy_ns: 70 };
        let after = CpuTime { cpus: 2, idle_ns: 50 + idle_ns, busy_ns: 70 + busy_ns };
        after.taken_since(before, wall_ns)
    }

    #[test]
    fn of_two_accounts_the_one_that_shows_less_counts() {
        assert_eq!(taken(1500, 400, 1000), Some(400));
        assert_eq!(taken(1500, 600, 1000), Some(500));
        assert_eq!(taken(2100, 600, 1000), Some(0));
    }

    #[test]
    fn what_this_process_and_its_children_had_is_not_others() {
        let at = |at_ns, children_ns, idle_ns, busy_ns| SystemLoad {
            at_ns,
            children_ns,
            cpu_time: Some(CpuTime { cpus: 1, idle_ns, busy_ns }),
            steal_ns: None,
            psi_cpu_some_ns: Some(3),
            frequency_khz: Some(at_ns),
        };
        let (before, after) = (at(100, 5, 1000, 2000), at(1100, 25, 1200, 2790));
        let Interference { wall_ns, others_cpu_ns, steal_ns, psi_cpu_some_ns, .. } =
            after.since(&before, 300);
        assert_eq!((wall_ns, others_cpu_ns), (Some(1000), Some(790 - 300 - 20)));
        assert_eq!((steal_ns, psi_cpu_some_ns), (None, Some(0)));
        assert_eq!(after.since(&before, 900).others_cpu_ns, Some(0));
        assert_eq!(after.since(&before, 0).frequency_before_khz, Some(100));
        assert_eq!(after.since(&before, 0).frequency_after_khz, Some(1100));
    }
}
