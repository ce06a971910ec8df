//! The process's usage and its disturbances between two moments: CPU time and context switches from
//! `getrusage`, run delays from the scheduler's per-thread files, idle CPUs, and the
//! load of the machine.
//!
//! If tasks live in other processes (peers), their usage is added. It is read from `/proc` while
//! they wait, so that counting costs them nothing.

use crate::machine::system_files::SystemFiles;
use crate::machine::system_load::{CpuCounts, SystemLoad, Threads};
use crate::measure::clock;
use crate::measure::counters::{Counters, counts_switches};
use crate::record::{CpuTime, CpuUse, Interference, Switches, Waiting};

/// The start of a span. It reads this process's counters last, so that the span
/// excludes reading files.
#[derive(Debug)]
pub struct Start {
    /// The counted processes; if this one is among them, it is the last.
    processes: Vec<u32>,
    cpus: Vec<usize>,
    /// Unmeasured helper processes of this one.
    companions: Vec<u32>,
    threads: Threads,
    load: SystemLoad,
    begun_ns: u64,
    cpu_counts: CpuCounts,
    counters: Option<Counters>,
}

impl Start {
    /// Starts a span now, over processes that wait; this one may be the last. Others are watched on
    /// `cpus`; `companions` do not count as others.
    pub fn now(processes: Vec<u32>, cpus: &[usize], companions: Vec<u32>) -> Self {
        let threads = Threads::read(&SystemFiles::live(), &processes);
        let load = SystemLoad::read(cpus, &companions);
        let cpu_counts = CpuCounts::read(&SystemFiles::live(), cpus);
        let counters = Counters::of_all(processes.iter());
        let begun_ns = clock::now();
        let cpus = cpus.to_vec();
        Self { processes, cpus, companions, threads, load, begun_ns, cpu_counts, counters }
    }

    /// Ends the span now; `None` if one of the other processes has ended or cannot be read.
    pub fn end(self) -> Option<Span> {
        let wall_ns = clock::now().saturating_sub(self.begun_ns);
        let after = Counters::of_all(self.processes.iter().rev());
        let cpu_counts = CpuCounts::read(&SystemFiles::live(), &self.cpus);
        let load = SystemLoad::read(&self.cpus, &self.companions);
        let threads = Threads::read(&SystemFiles::live(), &self.processes);
        let used = after?.used_since(self.counters?);
        Some(Span {
            used,
            interference: load.interference_since(&self.load, wall_ns, used.cpu_ns()),
            run_delay_ns: threads.run_delay_since(&self.threads),
            cpu_counts: [self.cpu_counts, cpu_counts],
            cpus: threads.cpus(self.threads),
        })
    }
}

/// Usage in a span of time.
#[derive(Clone, Debug, Default)]
pub struct Span {
    /// CPU time and switches.
    pub used: Counters,
    /// Activity of the rest of the machine.
    pub interference: Interference,
    /// How long its threads waited for a CPU, in nanoseconds.
    pub run_delay_ns: Option<u64>,
    /// The CPUs' counters before and after it.
    pub cpu_counts: [CpuCounts; 2],
    /// The CPUs of its threads.
    pub cpus: Option<CpuUse>,
}

impl Span {
    /// Whether nothing ran.
    pub fn is_idle(&self) -> bool {
        self.used.switches() == 0 && self.used.cpu_ns() == 0
    }

    /// What kept tasks waiting, per operation.
    pub fn waiting(&self, operations: f64) -> Waiting {
        let [before, after] = &self.cpu_counts;
        after.waiting_since(before, self.run_delay_ns, operations)
    }

    /// CPU time per operation, and what of it was charged to no process.
    pub fn cpu(&self, operations: f64, uncounted_ns: Option<f64>) -> CpuTime {
        CpuTime {
            user_ns_per_operation: self.used.user_ns as f64 / operations,
            system_ns_per_operation: self.used.system_ns as f64 / operations,
            uncounted_ns_per_operation: uncounted_ns,
        }
    }

    /// Switches per operation, with the claimed number and the share of hops between CPUs; `None` if
    /// this kernel counts none.
    pub fn switches(
        &self,
        operations: f64,
        expected_per_operation: Option<f64>,
        cross_cpu_share: Option<f64>,
    ) -> Option<Switches> {
        counts_switches().then(|| Switches {
            voluntary_per_operation: self.used.voluntary as f64 / operations,
            involuntary_per_operation: self.used.involuntary as f64 / operations,
            expected_per_operation,
            cross_cpu_share,
        })
    }
}
