//! The load of the machine apart from this process: CPU time used by others,
//! and steal, from the kernel's files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use nix::unistd::SysconfVar;

use crate::machine::control_groups::Groups;
use crate::machine::inherited::Scheduling;
use crate::machine::process_stat::ProcessStat;
use crate::machine::system_files::{SystemFiles, system_constant};
use crate::machine::{cpus, emulation};
use crate::measure::clock;
use crate::measure::counters::{Counters, run_ns};
use crate::record::{CpuUse, IdleState, Interference, Waiting};

/// The difference of two counts, if both could be read.
pub(crate) fn difference(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after?.checked_sub(before?)
}

/// The machine's counters at one moment.
#[derive(Clone, Debug)]
pub(crate) struct SystemLoad {
    /// CPU time of reaped children, and of companions.
    children_ns: u64,
    cpu_time: Option<CpuTime>,
    quotas: Quotas,
}

impl SystemLoad {
    /// Reads the counters now. `cpus` are those that the tasks may run on; `companions` are helper
    /// processes of this one.
    pub(crate) fn read(cpus: &[usize], companions: &[u32]) -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let of_companions: u64 = companions.iter().filter_map(|pid| run_ns(*pid)).sum();
        let children = Counters::of_children();
        Self {
            children_ns: children.cpu_ns() + of_companions,
            cpu_time: CpuTime::parse(cpus, &stat),
            quotas: Quotas::of_process(&SystemFiles::live()),
        }
    }

    /// The activity from `before` until now, `wall_ns` later, in which this process, without its
    /// children, used `own_ns` of CPU time.
    pub(crate) fn interference_since(
        &self,
        before: &Self,
        wall_ns: u64,
        own_ns: u64,
    ) -> Interference {
        let own_ns = own_ns + self.children_ns.saturating_sub(before.children_ns);
        let busy_ns = || self.cpu_time?.busy_since(before.cpu_time?, wall_ns);
        let others_ns = |busy_ns: u64| busy_ns.cast_signed() - own_ns.cast_signed();
        let steal_ns = |load: &Self| load.cpu_time.map(|time| time.steal_ns);
        let throttled = self.quotas.throttled_since(&before.quotas);
        Interference {
            steal_ns: difference(steal_ns(before), steal_ns(self)),
            wall_ns: Some(wall_ns),
            others_cpu_ns: busy_ns().map(others_ns),
            throttled_ns: throttled.map(|quota| quota.throttled_ns),
            throttled_periods: throttled.map(|quota| [quota.throttled_periods, quota.periods]),
        }
    }
}

/// A CPU account that does not change for longer than this, in nanoseconds, is not maintained:
/// three ticks of 10 ms.
const LONGEST_STILL_NS: u64 = 30_000_000;

/// A control group's counts of its CPU quota since it was created. They are ordered by the time in
/// which it was throttled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Quota {
    /// Time in which the group was throttled, in nanoseconds.
    throttled_ns: u64,
    /// Periods in which it was throttled.
    throttled_periods: u64,
    /// All periods.
    periods: u64,
}

impl Quota {
    /// Parses `cpu.stat`, of either version.
    fn parse(stat: &str) -> Option<Self> {
        let number = |name: &str| -> Option<u64> {
            stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        };
        let throttled_ns =
            number("throttled_time ").or_else(|| number("throttled_usec ")?.checked_mul(1000))?;
        Some(Self {
            throttled_ns,
            throttled_periods: number("nr_throttled ")?,
            periods: number("nr_periods ")?,
        })
    }

    /// What was throttled from `before` until now.
    fn throttled_since(&self, before: &Self) -> Self {
        Self {
            throttled_ns: self.throttled_ns.saturating_sub(before.throttled_ns),
            throttled_periods: self.throttled_periods.saturating_sub(before.throttled_periods),
            periods: self.periods.saturating_sub(before.periods),
        }
    }
}

/// The quotas of this process's control groups.
#[derive(Clone, Debug)]
struct Quotas {
    /// Those that can be read, innermost first.
    visible: Vec<Quota>,
    /// Whether there may be others, such as those around a container.
    may_hide_others: bool,
}

impl Quotas {
    fn of_process(files: &SystemFiles) -> Self {
        let groups = Groups::of_process(files, "cpu");
        let mut may_hide_others = groups.hidden.is_some();
        let mut visible = Vec::new();
        for group in &groups.visible {
            let file = group.path("cpu.stat");
            match files.text(&file) {
                Some(text) => visible.extend(Quota::parse(&text)),
                None => may_hide_others |= files.contains(&file),
            }
        }
        Self { visible, may_hide_others }
    }

    /// What was throttled from `before` until now, of the group that was throttled longest. `None` if
    /// only groups that are hidden can have been throttled.
    fn throttled_since(&self, before: &Self) -> Option<Quota> {
        let pairs = self.visible.iter().zip(&before.visible);
        let longest = pairs.map(|(now, before)| now.throttled_since(before)).max();
        let longest = longest.unwrap_or_default();
        let is_known = longest.throttled_periods > 0 || !self.may_hide_others;
        is_known.then_some(longest)
    }
}

/// The kernel's two accounts of CPUs since boot, summed over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTime {
    cpus: u64,
    /// Measured, if the tick stops on idle CPUs.
    idle_ns: u64,
    /// Sampled at ticks: user, nice, system, irq, softirq and steal.
    busy_ns: u64,
    /// What the hypervisor took of that.
    steal_ns: u64,
}

impl CpuTime {
    /// The accounts of `cpus` in the text of `/proc/stat`; `None` if one of them is missing.
    fn parse(cpus: &[usize], stat: &str) -> Option<Self> {
        let none = Self { cpus: 0, idle_ns: 0, busy_ns: 0, steal_ns: 0 };
        cpus.iter().try_fold(none, |sum, cpu| {
            let [user, nice, system, idle, iowait, irq, softirq, steal] =
                times_of(&format!("cpu{cpu}"), stat)?;
            Some(Self {
                cpus: sum.cpus + 1,
                idle_ns: sum.idle_ns + idle + iowait,
                busy_ns: sum.busy_ns + user + nice + system + irq + softirq + steal,
                steal_ns: sum.steal_ns + steal,
            })
        })
    }

    /// The time that the CPUs were not idle, in nanoseconds: the smaller of two accounts, or `None`
    /// if neither changes, as in some sandboxes. The complement of idle time includes entering and
    /// leaving idle states at every wait. Sampled time misses tasks that run between two ticks. The
    /// two agree while the CPUs are always busy.
    fn busy_since(self, before: Self, wall_ns: u64) -> Option<u64> {
        let idle_ns = self.idle_ns.checked_sub(before.idle_ns)?;
        let sampled_ns = self.busy_ns.checked_sub(before.busy_ns)?;
        if idle_ns + sampled_ns == 0 && wall_ns >= LONGEST_STILL_NS {
            return None;
        }
        let not_idle_ns = (self.cpus * wall_ns).saturating_sub(idle_ns);
        Some(not_idle_ns.min(sampled_ns))
    }
}

/// The first eight numbers in the line of a CPU, such as `cpu0`, in nanoseconds.
fn times_of(name: &str, stat: &str) -> Option<[u64; 8]> {
    let mut lines = stat.lines().map(str::split_whitespace);
    let words = lines.find_map(|mut words| (words.next() == Some(name)).then_some(words))?;
    let tick_ns = 1_000_000_000 / system_constant(SysconfVar::CLK_TCK);
    let times = words.map_while(|word| word.parse::<u64>().ok()?.checked_mul(tick_ns));
    times.take(8).collect::<Vec<_>>().try_into().ok()
}

/// The most threads whose figures are read: two files per thread take too long.
const MOST_THREADS: usize = 10_000;

/// Counts of one idle state since boot, over several CPUs.
#[derive(Clone, Copy, Debug, Default)]
struct StateCounts {
    /// How often a CPU entered it.
    entries: u64,
    /// Time in it, in nanoseconds.
    ns: u64,
}

/// The CPUs' counters since boot.
#[derive(Clone, Debug, Default)]
pub struct CpuCounts {
    at_ns: u64,
    cpus: u64,
    /// The counts of each idle state, by its name; `None` if the kernel has no driver of idle
    /// states.
    states: Option<BTreeMap<String, StateCounts>>,
    reschedules: Option<u64>,
    calls: Option<u64>,
}

impl CpuCounts {
    /// Reads the counters of `cpus` now.
    pub fn read(files: &SystemFiles, cpus: &[usize]) -> Self {
        let interrupts = files.text("proc/interrupts").unwrap_or_default();
        Self {
            at_ns: clock::now(),
            cpus: cpus.len() as u64,
            states: states(files, cpus),
            reschedules: interrupts_of(&interrupts, "Rescheduling interrupts", cpus),
            calls: interrupts_of(&interrupts, "Function call interrupts", cpus),
        }
    }

    /// The differences from `before` until now, in which threads waited this long for a CPU, per
    /// operation.
    pub fn waiting_since(
        &self,
        before: &Self,
        run_delay_ns: Option<u64>,
        operations: f64,
    ) -> Waiting {
        let figure = |count: u64| count as f64 / operations;
        let wall_ns = figure(self.at_ns.saturating_sub(before.at_ns));
        let states = self.states.as_ref().zip(before.states.as_ref()).map(|(after, before)| {
            let state = |(name, now): (&String, &StateCounts)| {
                let before = before.get(name).copied().unwrap_or_default();
                IdleState {
                    name: name.clone(),
                    entries_per_operation: figure(now.entries.saturating_sub(before.entries)),
                    ns_per_operation: figure(now.ns.saturating_sub(before.ns)),
                }
            };
            after.iter().map(state).collect::<Vec<_>>()
        });
        // The sum of the idle times minus the part that cannot overlap.
        let idle_ns = |states: &Vec<IdleState>| {
            let slept_ns: f64 = states.iter().map(|state| state.ns_per_operation).sum();
            (slept_ns - (self.cpus - 1) as f64 * wall_ns).clamp(0.0, wall_ns)
        };
        Waiting {
            runnable_ns_per_operation: run_delay_ns.map(figure),
            idle_ns_per_operation: states.as_ref().filter(|_| self.cpus > 0).map(idle_ns),
            idle_states: states,
            reschedules_per_operation: difference(before.reschedules, self.reschedules).map(figure),
            calls_per_operation: difference(before.calls, self.calls).map(figure),
        }
    }
}

/// The idle states of `cpus`, summed over them; `None` if one has none.
fn states(files: &SystemFiles, cpus: &[usize]) -> Option<BTreeMap<String, StateCounts>> {
    let mut sum = BTreeMap::<String, StateCounts>::new();
    for cpu in cpus {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle");
        let mut states = files.names(&folder);
        states.retain(|name| name.starts_with("state"));
        if states.is_empty() {
            return None;
        }
        for state in states {
            let file = |name| format!("{folder}/{state}/{name}");
            let entries = files.number(&file("usage"))?;
            let microseconds = files.number(&file("time"))?;
            let state = sum.entry(files.line(&file("name"))?).or_default();
            state.entries += entries;
            state.ns += 1000 * microseconds;
        }
    }
    Some(sum)
}

/// The number of interrupts of this kind on `cpus`, from the text of `/proc/interrupts`: a heading
/// with the online CPUs, and one line per kind. `None` if there is no such kind.
fn interrupts_of(text: &str, kind: &str, cpus: &[usize]) -> Option<u64> {
    let columns = text.lines().next()?.split_whitespace();
    let line = text.lines().find(|line| line.trim_end().ends_with(kind))?;
    let counts = columns.zip(line.split_whitespace().skip(1)).filter_map(|(heading, count)| {
        let cpu = heading.strip_prefix("CPU")?.parse().ok()?;
        count.parse::<u64>().ok().filter(|_| cpus.contains(&cpu))
    });
    Some(counts.sum())
}

/// What the scheduler reports of the threads of processes since each was created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Threads {
    names: Vec<String>,
    /// How long they have waited for a CPU, in nanoseconds.
    delay_ns: Option<u64>,
    /// The CPUs that they may use, those that they are on, and their policies.
    pub allowed: BTreeSet<usize>,
    pub ran_on: BTreeSet<usize>,
    pub policies: BTreeSet<String>,
}

impl Threads {
    /// Reads what is reported of these processes now; without figures if there are many threads.
    pub(crate) fn read(files: &SystemFiles, processes: &[u32]) -> Self {
        let of_process = |process: &u32| {
            let folder = format!("proc/{process}/task");
            let threads = emulation::threads_of(files, *process).into_iter();
            threads.map(move |thread| format!("{folder}/{thread}"))
        };
        let names: Vec<String> = processes.iter().flat_map(of_process).collect();
        if names.len() > MOST_THREADS {
            return Self::default();
        }
        let delay_ns = names.iter().map(|name| delay_ns(files, name)).sum();
        let mut read = Self { delay_ns, ..Self::default() };
        for name in &names {
            if let Some(stat) = ProcessStat::read(files, name) {
                read.ran_on.insert(stat.cpu);
            }
            let tid: Option<u32> = name.rsplit_once('/').and_then(|(_, tid)| tid.parse().ok());
            let Some(tid) = tid else { continue };
            if let Ok(allowed) = cpus::of_thread(tid) {
                read.allowed.extend(allowed);
            }
            if let Some(scheduling) = Scheduling::of_thread(tid) {
                read.policies.insert(scheduling.text());
            }
        }
        Self { names, ..read }
    }

    /// The CPUs of the threads, `self`'s being read later; `None` if they were too many.
    pub(crate) fn cpus(self, before: Self) -> Option<CpuUse> {
        let is_known = !before.allowed.is_empty() && !self.allowed.is_empty();
        is_known.then(|| CpuUse {
            ran_on: Vec::from_iter(&before.ran_on | &self.ran_on),
            policies: Vec::from_iter(&before.policies | &self.policies),
            allowed_before: Vec::from_iter(before.allowed),
            allowed_after: Vec::from_iter(self.allowed),
        })
    }

    /// The run delay from `before` until now; `None` if the threads have changed.
    pub(crate) fn run_delay_since(&self, before: &Self) -> Option<u64> {
        difference(before.delay_ns, self.delay_ns).filter(|_| self.names == before.names)
    }
}

/// The run delay of a thread. If one that has run shows no time, this kernel keeps no account.
fn delay_ns(files: &SystemFiles, thread: &str) -> Option<u64> {
    let text = files.text(&format!("{thread}/schedstat"))?;
    let mut numbers = text.split_whitespace().map(|number| number.parse::<u64>().ok());
    let [ran, delay, runs] = [numbers.next()??, numbers.next()??, numbers.next()??];
    (ran > 0 || delay > 0 || runs > 0).then_some(delay)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  3 3 5 7 9 11 13 100 17 19\ncpu0 1 1 2 3 4 5 6 60 8 9\n\
                        cpu1 2 2 3 4 5 6 7 40 9 10\ncpu10 9 9 9 9 9 9 9 9 9 9\nintr 12\n";
    const TICK: u64 = 10_000_000;

    #[test]
    fn the_requested_cpus_are_summed_and_guests_counted_once() {
        let expected =
            CpuTime { cpus: 1, idle_ns: 9 * TICK, busy_ns: 60 * TICK, steal_ns: 40 * TICK };
        assert_eq!(CpuTime::parse(&[1], STAT), Some(expected));
        let expected =
            CpuTime { cpus: 2, idle_ns: 16 * TICK, busy_ns: 135 * TICK, steal_ns: 100 * TICK };
        assert_eq!(CpuTime::parse(&[0, 1], STAT), Some(expected));
    }

    #[test]
    fn the_smaller_of_two_accounts_counts_unless_both_stand_still() {
        for (idle_ns, busy_ns, wall_ns, taken) in [
            (1500, 400, 1000, Some(400)),
            (1500, 600, 1000, Some(500)),
            (2100, 600, 1000, Some(0)),
            (0, 0, LONGEST_STILL_NS, None),
            // Less than its ticks may show.
            (0, 0, LONGEST_STILL_NS - 1, Some(0)),
        ] {
            let before = CpuTime { cpus: 2, idle_ns: 50, busy_ns: 70, steal_ns: 0 };
            let [idle_ns, busy_ns] = [50 + idle_ns, 70 + busy_ns];
            let after = CpuTime { idle_ns, busy_ns, ..before };
            assert_eq!(after.busy_since(before, wall_ns), taken, "{after:?}");
        }
    }

    /// Recorded in a container with a quota, under version 1 and version 2.
    #[test]
    fn a_quota_is_read_from_both_versions() {
        let one = "nr_periods 120\nnr_throttled 30\nthrottled_time 2500000000\n";
        let two = "usage_usec 7\nuser_usec 5\nsystem_usec 2\ncore_sched.force_idle_usec 0\n\
                   nr_periods 120\nnr_throttled 30\nthrottled_usec 2500000\nnr_bursts 0\n";
        let quota = Quota { throttled_ns: 2_500_000_000, throttled_periods: 30, periods: 120 };
        assert_eq!([one, two].map(Quota::parse), [Some(quota); 2]);
        assert_eq!(Quota::parse("usage_usec 7\nuser_usec 5\nsystem_usec 2\n"), None, "no quota");
    }

    /// Around a container's group there may be others.
    #[test]
    fn throttling_is_unknown_if_only_hidden_groups_can_have_been_throttled() {
        let quotas = |namespace: &str, [periods, throttled]: [u64; 2]| {
            let stat = format!(
                "nr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {throttled}\n"
            );
            Quotas::of_process(&SystemFiles::simulated(&[
                ("proc/self/ns/cgroup", namespace),
                ("proc/self/cgroup", "0::/\n"),
                ("proc/self/mountinfo", "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
                ("sys/fs/cgroup/cgroup.procs", ""),
                ("sys/fs/cgroup/cpu.stat", &stat),
            ]))
        };
        for (namespace, throttled, expected) in [
            ("cgroup:[4026531835]", 5, Some(0)),
            ("cgroup:[4026531835]", 8, Some(3)),
            ("cgroup:[4026532000]", 5, None),
            ("cgroup:[4026532000]", 8, Some(3)),
        ] {
            let before = quotas(namespace, [10, 5]);
            let found = quotas(namespace, [20, throttled]).throttled_since(&before);
            assert_eq!(found.map(|quota| quota.throttled_periods), expected, "{namespace}");
        }
        // Nothing is hidden from a process in no group.
        let root = [("proc/self/ns/cgroup", "cgroup:[4026531835]"), ("proc/self/cgroup", "0::/\n")];
        let root = Quotas::of_process(&SystemFiles::simulated(
            &[&root[..], &[("proc/self/mountinfo", "")]].concat(),
        ));
        assert_eq!(root.throttled_since(&root), Some(Quota::default()));
    }

    #[test]
    fn others_exclude_this_process_and_the_group_that_throttled_most_counts() {
        let quota = |periods, throttled_periods, throttled_ns| Quota {
            throttled_ns,
            throttled_periods,
            periods,
        };
        let at =
            |children_ns, [idle_ns, busy_ns, steal_ns]: [u64; 3], quotas: [Quota; 2]| SystemLoad {
                children_ns,
                cpu_time: Some(CpuTime { cpus: 1, idle_ns, busy_ns, steal_ns }),
                quotas: Quotas { visible: quotas.to_vec(), may_hide_others: false },
            };
        let before = at(5, [1000, 2000, 100], [quota(9, 5, 900), quota(7, 0, 0)]);
        let after = at(25, [1200, 2790, 160], [quota(12, 5, 900), quota(11, 3, 70)]);
        let expected = Interference {
            steal_ns: Some(60),
            wall_ns: Some(1000),
            others_cpu_ns: Some(790 - 300 - 20),
            throttled_ns: Some(70),
            throttled_periods: Some([3, 4]),
        };
        assert_eq!(after.interference_since(&before, 1000, 300), expected);
        assert_eq!(
            after.interference_since(&before, 1000, 900).others_cpu_ns,
            Some(790 - 900 - 20)
        );
    }

    #[test]
    fn interrupts_are_counted_on_the_requested_cpus() {
        const TEXT: &str = "           CPU0       CPU1       CPU3\n  \
            1:          9          8          7  IO-APIC   1-edge      i8042\n\
            RES:        100         20          3   Rescheduling interrupts\n\
            ERR:          0\n";
        let count = |cpus: &[usize]| interrupts_of(TEXT, "Rescheduling interrupts", cpus);
        assert_eq!((count(&[0]), count(&[1, 3]), count(&[2])), (Some(100), Some(23), Some(0)));
        assert_eq!(interrupts_of(TEXT, "TLB shootdowns", &[3]), None);
    }

    /// Two CPUs with a polling state and a sleeping state.
    fn machine(polled_us: u64, slept_us: u64, entries: u64) -> SystemFiles {
        let cpus = [0, 1].into_iter();
        let states = cpus.flat_map(|cpu| [(cpu, 0, "POLL", polled_us), (cpu, 1, "C1", slept_us)]);
        let files = states.flat_map(|(cpu, state, name, microseconds)| {
            let texts = [name.to_owned(), entries.to_string(), microseconds.to_string()];
            let file = |end| format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/{end}");
            ["name", "usage", "time"].map(file).into_iter().zip(texts)
        });
        SystemFiles::simulated(&files.collect::<Vec<_>>())
    }

    /// In a millisecond in which each CPU slept this long.
    #[test]
    fn cpus_are_idle_together_for_the_time_that_cannot_be_disjoint() {
        for (cpus, slept_us, idle_ns) in [
            (&[0][..], 400, Some(40_000.0)),
            // They may have taken turns.
            (&[0, 1], 400, Some(0.0)),
            // 0.8 + 0.8 − 1 ms.
            (&[0, 1], 800, Some(60_000.0)),
            // No longer than the span.
            (&[0, 1], 1001, Some(100_000.0)),
            // The kernel does not report CPU 2.
            (&[0, 1, 2], 800, None),
            (&[], 800, None),
        ] {
            let counts = |files, at_ns| CpuCounts { at_ns, ..CpuCounts::read(&files, cpus) };
            let before = counts(machine(5, 7, 3), 0);
            let after = counts(machine(5, 7 + slept_us, 13), 1_000_000);
            let waiting = after.waiting_since(&before, None, 10.0);
            assert_eq!(waiting.idle_ns_per_operation, idle_ns, "{cpus:?} {slept_us}");
        }
    }

    #[test]
    fn run_delays_are_summed_if_the_threads_are_the_same() {
        let process = |threads: &[(u32, &str)]| {
            let file = |(thread, text): &(u32, &str)| {
                (format!("proc/7/task/{thread}/schedstat"), (*text).to_owned())
            };
            let files: Vec<_> = threads.iter().map(file).collect();
            Threads::read(&SystemFiles::simulated(&files), &[7])
        };
        let before = process(&[(7, "100 20 3\n"), (8, "0 0 1\n")]);
        let since = |delays: &[(u32, &str)]| process(delays).run_delay_since(&before);
        assert_eq!(since(&[(7, "900 50 4\n"), (8, "5 6 2\n")]), Some(36));
        assert_eq!(since(&[(7, "900 50 4\n"), (9, "5 6 2\n")]), None, "another thread");
        assert_eq!(process(&[(7, "0 0 0\n")]).delay_ns, None, "no account is kept");
    }
}
