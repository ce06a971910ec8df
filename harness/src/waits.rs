//! Why nobody ran: the idle states of CPUs, the interrupts that end them, and the
//! time that threads waited for a CPU, from the kernel's files.

use std::collections::BTreeMap;

use crate::clock;
use crate::record::{IdleState, Waiting};
use crate::system_files::SystemFiles;

/// Above this many threads, their run delays are not read: a file for each of them
/// costs more time than it tells.
const MOST_THREADS: usize = 10_000;

/// What CPUs have counted since boot.
#[derive(Clone, Debug)]
pub(crate) struct CpuCounts {
    at_ns: u64,
    cpus: u64,
    /// Entries into each idle state and nanoseconds in it, by its name, over all
    /// CPUs; `None` where the kernel has no driver of idle states.
    states: Option<BTreeMap<String, (u64, u64)>>,
    reschedules: Option<u64>,
    calls: Option<u64>,
}

impl CpuCounts {
    /// Those of `cpus` now.
    pub(crate) fn read(files: &SystemFiles, cpus: &[usize]) -> Self {
        let interrupts = files.text("proc/interrupts").unwrap_or_default();
        Self {
            at_ns: clock::now(),
            cpus: cpus.len() as u64,
            states: states(files, cpus),
            reschedules: interrupts_of(&interrupts, "Rescheduling interrupts", cpus),
            calls: interrupts_of(&interrupts, "Function call interrupts", cpus),
        }
    }

    /// What they have counted from `before` until now, in which threads waited for a
    /// CPU for so long.
    pub(crate) fn since(&self, before: &Self, run_delay_ns: Option<u64>) -> Waited {
        let between = |before: Option<u64>, after: Option<u64>| after?.checked_sub(before?);
        let wall_ns = self.at_ns.saturating_sub(before.at_ns);
        let states = before.states.as_ref().zip(self.states.as_ref()).map(|(before, after)| {
            let state = |(name, &(entries, ns)): (&String, &(u64, u64))| {
                let (entries_before, ns_before) = before.get(name).copied().unwrap_or_default();
                let counted = Counted {
                    entries: entries.saturating_sub(entries_before),
                    ns: ns.saturating_sub(ns_before),
                };
                (name.clone(), counted)
            };
            after.iter().map(state).collect::<Vec<_>>()
        });
        let idle_ns = states.as_ref().map(|states| {
            let sum: u64 = states.iter().map(|(_, counted)| counted.ns).sum();
            sum.saturating_sub(self.cpus.saturating_sub(1) * wall_ns).min(wall_ns)
        });
        Waited {
            run_delay_ns,
            idle_ns: idle_ns.filter(|_| self.cpus > 0),
            states,
            reschedules: between(before.reschedules, self.reschedules),
            calls: between(before.calls, self.calls),
        }
    }
}

/// The idle states of `cpus`, summed over them; `None` if one has none.
fn states(files: &SystemFiles, cpus: &[usize]) -> Option<BTreeMap<String, (u64, u64)>> {
    let mut sum = BTreeMap::<String, (u64, u64)>::new();
    for cpu in cpus {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle");
        let names = files.names(&folder);
        let states = names.iter().filter(|name| name.starts_with("state"));
        let mut count = 0;
        for state in states {
            let file = |name| format!("{folder}/{state}/{name}");
            let (entries, microseconds) =
                (files.number(&file("usage"))?, files.number(&file("time"))?);
            let state = sum.entry(files.line(&file("name"))?).or_default();
            state.0 = state.0.checked_add(entries)?;
            state.1 = state.1.checked_add(microseconds.checked_mul(1000)?)?;
            count += 1;
        }
        if count == 0 {
            return None;
        }
    }
    Some(sum)
}

/// How many interrupts of this kind `cpus` have had, by the text of
/// `/proc/interrupts`: a heading with the CPUs that are online, and a line for each
/// kind. `None` where there is no such kind.
fn interrupts_of(text: &str, kind: &str, cpus: &[usize]) -> Option<u64> {
    let columns = text.lines().next()?.split_whitespace();
    let columns: Vec<Option<usize>> =
        columns.map(|heading| heading.strip_prefix("CPU")?.parse().ok()).collect();
    let line = text.lines().find(|line| line.trim_end().ends_with(kind))?;
    let counts = line.split_whitespace().skip(1).map_while(|word| word.parse::<u64>().ok());
    let of_cpus = columns
        .iter()
        .zip(counts)
        .filter(|(column, _)| column.is_some_and(|cpu| cpus.contains(&cpu)));
    of_cpus.map(|(_, count)| count).try_fold(0, u64::checked_add)
}

/// How long the threads of a process have waited for a CPU since each was created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunDelay {
    threads: Vec<String>,
    ns: u64,
}

impl RunDelay {
    /// That of these processes now; `None` where the kernel does not tell.
    pub(crate) fn read(files: &SystemFiles, processes: &[u32]) -> Option<Self> {
        let mut all = Self::default();
        for process in processes {
            let folder = format!("proc/{process}/task");
            let threads = files.names(&folder);
            if all.threads.len() + threads.len() > MOST_THREADS {
                return None;
            }
            for thread in threads {
                let text = files.text(&format!("{folder}/{thread}/schedstat"))?;
                let mut numbers = text.split_whitespace();
                let ran_ns: u64 = numbers.next()?.parse().ok()?;
                let delay_ns: u64 = numbers.next()?.parse().ok()?;
                // A thread that has run and is said to have had no time is one that
                // this kernel keeps no such account of.
                if ran_ns == 0 && numbers.next()?.parse() == Ok(0) && delay_ns == 0 {
                    return None;
                }
                all.ns = all.ns.checked_add(delay_ns)?;
                all.threads.push(thread);
            }
        }
        Some(all)
    }

    /// How long they waited from `before` until now, in nanoseconds; `None` if they
    /// are other threads.
    pub(crate) fn since(&self, before: &Self) -> Option<u64> {
        (self.threads == before.threads).then(|| self.ns.checked_sub(before.ns)).flatten()
    }
}

/// An idle state in a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    entries: u64,
    ns: u64,
}

/// What kept tasks waiting in a span of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// Time that threads of the process waited for a CPU, summed over them.
    run_delay_ns: Option<u64>,
    /// Time in which all CPUs were idle at once: their idle times less what they
    /// cannot have been idle together.
    idle_ns: Option<u64>,
    states: Option<Vec<(String, Counted)>>,
    reschedules: Option<u64>,
    calls: Option<u64>,
}

impl Waited {
    /// Time that threads of the process waited for a CPU, in nanoseconds.
    pub fn run_delay_ns(&self) -> Option<u64> {
        self.run_delay_ns
    }

    /// The same per operation, where the span had so many.
    pub fn per_operation(&self, operations: f64) -> Waiting {
        let each = |total: u64| total as f64 / operations;
        Waiting {
            runnable_ns_per_operation: self.run_delay_ns.map(each),
            idle_ns_per_operation: self.idle_ns.map(each),
            idle_states: self.states.as_ref().map(|states| {
                let state = |(name, counted): &(String, Counted)| IdleState {
                    name: name.clone(),
                    entries_per_operation: each(counted.entries),
                    ns_per_operation: each(counted.ns),
                };
                states.iter().map(state).collect()
            }),
            reschedules_per_operation: self.reschedules.map(each),
            calls_per_operation: self.calls.map(each),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const INTERRUPTS: &str = "           CPU0       CPU1       CPU3\n  \
        1:          9          8          7  IO-APIC   1-edge      i8042\n\
        RES:        100         20          3   Rescheduling interrupts\n\
        CAL:          5          6          7   Function call interrupts\n\
        ERR:          0\n";

    proptest! {
        #[test]
        fn nothing_that_a_file_says_ends_the_program(
            text in "(CPU0?|RES:|Rescheduling interrupts|[ \n]|[0-9]{1,20}){0,40}"
        ) {
            interrupts_of(&text, "Rescheduling interrupts", &[0]);
        }
    }

    #[test]
    fn interrupts_are_those_of_the_cpus_that_are_asked_for() {
        let of = |cpus: &[usize]| interrupts_of(INTERRUPTS, "Rescheduling interrupts", cpus);
        assert_eq!((of(&[0]), of(&[1, 3]), of(&[2])), (Some(100), Some(23), Some(0)));
        assert_eq!(interrupts_of(INTERRUPTS, "Function call interrupts", &[3]), Some(7));
        assert_eq!(interrupts_of(INTERRUPTS, "TLB shootdowns", &[3]), None);
        let arm = "           CPU0       CPU1\nIPI0:   12   34       Rescheduling interrupts\n";
        assert_eq!(interrupts_of(arm, "Rescheduling interrupts", &[0, 1]), Some(46));
    }

    /// Two CPUs with a state that polls and one that sleeps.
    fn machine(polled_us: u64, slept_us: u64, entries: u64) -> SystemFiles {
        let cpus = [0, 1].into_iter();
        let states = cpus.flat_map(|cpu| [(cpu, 0, "POLL", polled_us), (cpu, 1, "C1", slept_us)]);
        states.fold(SystemFiles::made_up(&[]), |files, (cpu, state, name, microseconds)| {
            let file = |of| format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/{of}");
            files
                .with(&file("name"), &format!("{name}\n"))
                .with(&file("usage"), &format!("{entries}\n"))
                .with(&file("time"), &format!("{microseconds}\n"))
        })
    }

    /// What two CPUs counted in a millisecond in which each slept so long.
    fn waited(cpus: &[usize], slept_us: u64) -> Waiting {
        let before = CpuCounts { at_ns: 0, ..CpuCounts::read(&machine(5, 7, 3), cpus) };
        let after = machine(5, 7 + slept_us, 13);
        let after = CpuCounts { at_ns: 1_000_000, ..CpuCounts::read(&after, cpus) };
        after.since(&before, None).per_operation(10.0)
    }

    #[test]
    fn cpus_are_idle_together_for_what_they_cannot_have_been_one_by_one() {
        let idle = |cpus: &[usize], slept_us| waited(cpus, slept_us).idle_ns_per_operation;
        assert_eq!(idle(&[0], 400), Some(40_000.0));
        assert_eq!(idle(&[0, 1], 400), Some(0.0), "they may have taken turns");
        assert_eq!(idle(&[0, 1], 800), Some(60_000.0), "0.8 + 0.8 − 1 ms");
        assert_eq!(idle(&[0, 1], 1001), Some(100_000.0), "no longer than there was");
        assert_eq!(idle(&[0, 1, 2], 800), None, "one that the kernel tells nothing of");
        assert_eq!(idle(&[], 800), None);
    }

    #[test]
    fn idle_states_are_summed_over_the_cpus() {
        let waiting = waited(&[0, 1], 800);
        let state = |name: &str, entries_per_operation, ns_per_operation| IdleState {
            name: name.to_owned(),
            entries_per_operation,
            ns_per_operation,
        };
        assert_eq!(
            waiting.idle_states,
            Some(vec![state("C1", 2.0, 160_000.0), state("POLL", 2.0, 0.0)])
        );
        assert_eq!(waiting.reschedules_per_operation, None);
    }

    #[test]
    fn threads_that_wait_for_a_cpu_are_summed_if_they_are_the_same() {
        let process = |delays: &[(u32, &str)]| {
            let file = |thread| format!("proc/7/task/{thread}/schedstat");
            let files = delays.iter().fold(SystemFiles::made_up(&[]), |files, (thread, text)| {
                files.with(&file(thread), text)
            });
            RunDelay::read(&files, &[7])
        };
        let before = process(&[(7, "100 20 3\n"), (8, "0 0 1\n")]).unwrap();
        let since = |delays: &[(u32, &str)]| process(delays).unwrap().since(&before);
        assert_eq!(since(&[(7, "900 50 4\n"), (8, "5 6 2\n")]), Some(36));
        assert_eq!(since(&[(7, "900 50 4\n"), (9, "5 6 2\n")]), None, "another thread");
        assert_eq!(process(&[(7, "0 0 0\n")]), None, "no account is kept");
        assert_eq!(process(&[(7, "\n")]), None);
    }
}
