//! The bench: what a program measures on.
//!
//! [`crate::program::run`] makes one and hands it to the program, which asks
//! it for laps. What the laps measured stays on the bench, so it is reported
//! also when the program fails half way. Clones share one state: a driver that
//! is itself an async task takes a clone along.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use anyhow::Context as _;

use crate::clock;
use crate::command;
use crate::failure::UsageError;
use crate::flags::{Flags, LoadFlags, RingsFlag, TasksFlag, WorkFlag};
use crate::laps::{Laps, Purpose};
use crate::limits::{self, Amounts, Need};
use crate::memory;
use crate::placement::{Placement, Policy};
use crate::progress::Progress;
use crate::record::{LedgerPoint, WorkRecord};
use crate::samples::Measured;
use crate::spinners::Spinners;
use crate::state::{Findings, Shared};
use crate::station::{Equipment, Station};
use crate::thread_ends;
use crate::tracer::Tracer;
use crate::work::Work;
use crate::working_set::{Shape, WorkingSet};

/// What a program measures on. Clones share one state.
#[derive(Clone, Debug)]
pub struct Bench {
    pub(crate) shared: Arc<Shared>,
}

impl Bench {
    pub(crate) fn new(
        tasks: u32,
        flags: Flags,
        placement: Placement,
        spinners: Option<Spinners>,
        interrupted: Arc<AtomicBool>,
    ) -> Self {
        let shared = Shared {
            tasks: AtomicU32::new(tasks),
            rings: OnceLock::new(),
            flags,
            placement,
            spinners,
            hogs: OnceLock::new(),
            interrupted,
            marks: Default::default(),
            tracer: OnceLock::new(),
            work: OnceLock::new(),
            working_set: OnceLock::new(),
            peer: OnceLock::new(),
            side: Mutex::default(),
            findings: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// A bench without a command line, for tests and for benchmarks of the
    /// harness itself: free placement, no progress, no signals.
    ///
    /// # Errors
    /// When the CPUs that this process may use cannot be read.
    pub fn standalone(
        tasks: u32,
        iters: u64,
        warmups: u64,
        max_time: Option<Duration>,
    ) -> anyhow::Result<Self> {
        let flags = Flags {
            tasks: Some(TasksFlag { tasks }),
            iters,
            warmups: Some(warmups),
            max_time,
            placement: Policy::Free,
            cpus: None,
            keep_awake: false,
            command: None,
            quiet: true,
            json: false,
            histogram: None,
        };
        let placement = Placement::apply(flags.placement, None)?;
        Ok(Self::new(tasks, flags, placement, None, Arc::default()))
    }

    /// The number of tasks; of a program that sweeps it, the most that were
    /// asked for, or 0 where the program decides.
    pub fn tasks(&self) -> usize {
        self.shared.tasks.load(Relaxed) as usize
    }

    /// Says how many tasks there are, for a program that offers no `--tasks`
    /// because its own flags decide it. To be said before anything else.
    pub fn set_tasks(&self, tasks: u32) {
        self.shared.tasks.store(tasks, Relaxed);
    }

    /// How many rings the tasks form: of a program that has several at once, as many as
    /// `flag` says, of `--tasks` tasks each. To be said before anything else.
    pub fn set_rings(&self, RingsFlag { rings }: RingsFlag) {
        let Some(rings) = rings else { return };
        self.set_tasks((self.tasks() as u32).saturating_mul(rings));
        self.shared.rings.get_or_init(|| rings);
    }

    /// How many rings run at once, if the flag for them is given: then there are
    /// [rounds](Self::rounds) and no [laps](Self::laps).
    pub fn rings(&self) -> Option<u32> {
        self.shared.rings.get().copied()
    }

    /// The number of tasks of a ring.
    pub fn tasks_of_ring(&self) -> usize {
        self.tasks() / self.rings().unwrap_or(1) as usize
    }

    /// The value of `--max-time`, if it is given.
    pub fn max_time(&self) -> Option<Duration> {
        self.shared.flags.max_time
    }

    /// How many iterations to measure, and how many to run before them: 0 for
    /// a program that warms up by time.
    pub fn iterations_and_warmups(&self) -> (u64, u64) {
        (self.shared.flags.iters, self.shared.flags.warmups.unwrap_or(0))
    }

    /// How many iterations have been measured.
    pub fn measured_iterations(&self) -> u64 {
        self.findings().iterations
    }

    /// Where the tasks run.
    pub fn placement(&self) -> &Placement {
        &self.shared.placement
    }

    /// Checks that this many tasks fit into every limit of the machine, before
    /// any of them exists. A task needs `per_task`, and the program needs
    /// `fixed` whatever the number; what it takes to observe them is added.
    ///
    /// # Errors
    /// [`limits::Refusal`], which names the limit that binds.
    pub fn require(&self, per_task: Amounts, fixed: Amounts) -> anyhow::Result<()> {
        let tasks = self.tasks() as u64;
        // The driver has a working set too.
        let working_set = Amounts::heap(self.shared.working_set().bytes);
        let per_task = per_task.and(working_set);
        let fixed = fixed.and(working_set).and(Amounts::observation());
        Ok(limits::require(&Need { tasks, per_task, fixed })?)
    }

    /// Refuses `--placement spread` for a program, or a choice of flags, that
    /// runs on one thread.
    ///
    /// # Errors
    /// [`UsageError`], with `reason`.
    pub fn refuse_spread(&self, reason: &str) -> Result<(), UsageError> {
        match self.placement().policy() {
            Policy::Spread => Err(UsageError(format!(
                "--placement spread: {reason}, so there are no neighbours to put on different CPUs"
            ))),
            Policy::Free | Policy::SameCpu => Ok(()),
        }
    }

    /// Claims how many context switches the kernel will count for each
    /// operation; reports show the claim beside the count.
    pub fn expect_switches(&self, per_operation: f64) {
        self.findings().expected_switches = Some(per_operation);
    }

    /// Tells how many system calls so many operations took, of a program that counts
    /// its own.
    pub fn made_system_calls(&self, calls: u64, operations: u64) {
        self.findings().system_calls = (operations > 0).then(|| calls as f64 / operations as f64);
    }

    /// The work that `flag` puts into every hop. The record tells how long a
    /// unit takes, which is measured before the laps and after.
    pub fn work(&self, flag: WorkFlag) -> Work {
        self.findings().work = Some(WorkRecord { units: flag.work, ..WorkRecord::default() });
        *self.shared.work.get_or_init(|| Work::of(flag.work))
    }

    /// What `flags` put into every hop of a brigade: work, and memory that each station
    /// touches. To be said before anything is required.
    pub fn load(&self, flags: LoadFlags) {
        self.work(flags.work);
        let LoadFlags { working_set: bytes, .. } = flags;
        self.shared.working_set.get_or_init(|| Shape { bytes, stride: flags.stride() });
    }

    /// Measures a unit of work, if there is any, once more: in the driver's
    /// thread, and so on a CPU of the placement in force.
    pub(crate) fn calibrate_work(&self) {
        let mut findings = self.findings();
        let Findings { work: Some(work @ WorkRecord { units: 1.., .. }), calibration, .. } =
            &mut *findings
        else {
            return;
        };
        calibration.look();
        work.ns_per_unit = Some(calibration.ns_per_unit());
    }

    /// Counts the CPU time and the switches of the process `pid` as well, in
    /// the laps that follow. It has one thread and outlives the laps; there is
    /// one such process at most.
    pub fn also_count(&self, pid: u32) {
        self.shared.peer.get_or_init(|| pid);
    }

    /// Starts so many processes that take CPU time beside the tasks, on the CPUs of the
    /// placement, until this process ends. To be said before the first thread is created,
    /// once.
    ///
    /// # Errors
    /// When one cannot be created.
    pub fn hogs(&self, count: u32) -> anyhow::Result<()> {
        let hogs = Spinners::hogs(count).with_context(|| format!("--hogs {count}"))?;
        self.shared.hogs.get_or_init(|| hogs);
        Ok(())
    }

    /// The numbers of the tasks, in the order in which the program creates
    /// them. On a terminal they show as progress; an interruption ends them.
    pub fn creation(&self) -> impl Iterator<Item = usize> {
        let tasks = self.tasks();
        let mut progress = Progress::new(self.shared.shows_progress());
        progress.begin(tasks as u64, "tasks created");
        (0..tasks).take_while(move |task| {
            progress.show(clock::now(), (tasks - task) as u64);
            !self.is_interrupted()
        })
    }

    /// The tracer of a brigade of `tasks` tasks. With it, marked laps follow
    /// the measured ones.
    pub(crate) fn tracer(&self) -> Arc<Tracer> {
        let tracer = self.shared.tracer.get_or_init(|| Arc::new(Tracer::new(self.tasks())));
        Arc::clone(tracer)
    }

    /// The station of this task of a brigade of threads, which the calling
    /// thread is: under `--placement spread` it is pinned. With stations of one ring,
    /// laps that are traced follow the measured ones.
    ///
    /// # Errors
    /// The kernel's, when the CPU has gone away.
    pub fn station(&self, task: usize) -> io::Result<Station> {
        self.placement().pin(task % self.tasks_of_ring() + 1)?;
        Ok(self.unpinned_station(task))
    }

    /// As [`Self::station`], of a task that is no thread and is not pinned.
    pub fn unpinned_station(&self, task: usize) -> Station {
        let is_traced = self.rings().is_none();
        self.station_with(is_traced.then(|| (self.tracer(), task as u32)))
    }

    /// The driver's station: its thread is pinned under `--placement spread`.
    /// The laps themselves note its CPU.
    ///
    /// # Errors
    /// The kernel's, when the CPU has gone away.
    pub fn driver_station(&self) -> io::Result<Station> {
        self.placement().pin(0)?;
        Ok(self.unpinned_driver_station())
    }

    /// As [`Self::driver_station`], of a driver that is not pinned.
    pub fn unpinned_driver_station(&self) -> Station {
        self.station_with(None)
    }

    fn station_with(&self, tracer: Option<(Arc<Tracer>, u32)>) -> Station {
        let working_set = WorkingSet::new(self.shared.working_set());
        Station::new(Equipment { work: self.shared.work(), working_set, tracer })
    }

    /// The principal laps: the warm-up, the measured iterations, and the
    /// marked ones for the tracer. `phases` says what the parts of a lap are;
    /// CPU time and switches are reported per operation of the first.
    pub fn laps(&self, phases: &[Measured]) -> Laps<'_> {
        self.calibrate_work();
        Laps::new(&self.shared, Purpose::Principal, phases)
    }

    /// One lap without a warm-up: what the first time costs.
    pub fn cold_lap(&self, measured: Measured) -> Laps<'_> {
        Laps::new(&self.shared, Purpose::Cold, &[measured])
    }

    /// Laps beside the principal ones, as many of them, in which the program
    /// takes samples itself with [`crate::laps::Lap::sample`]; they do not
    /// count towards CPU time and switches.
    pub fn side_laps(&self, measured: Measured) -> Laps<'_> {
        Laps::new(&self.shared, Purpose::Side, &[measured])
    }

    /// Measures what the end of a thread takes beside the CPU time that counts
    /// as this process's, for a program whose threads end in its laps, one for
    /// each operation. `create_and_join` does that with as many threads as it is
    /// given.
    ///
    /// # Errors
    /// Those of `create_and_join`; the kernel's, when the thread cannot be
    /// confined to its CPU for as long.
    pub fn measure_thread_ends(
        &self,
        mut create_and_join: impl FnMut(usize) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let threads = self.tasks().min(thread_ends::MOST_THREADS);
        let ns = thread_ends::uncounted_ns(threads, || create_and_join(threads))?;
        self.findings().thread_end_ns = Some(ns);
        Ok(())
    }

    /// Looks at the process while its tasks are alive: reads its memory, then
    /// runs `--command`. Does nothing after an interruption.
    ///
    /// # Errors
    /// When the command cannot be run or fails.
    pub fn observe(&self) -> anyhow::Result<()> {
        if self.is_interrupted() {
            return Ok(());
        }
        self.calibrate_work();
        self.findings().memory = memory::now();
        match &self.shared.flags.command {
            Some(line) => command::run(line, self.shared.flags.json),
            None => Ok(()),
        }
    }

    /// Adds a point to the ledger: what was held at one more moment.
    pub fn record_point(&self, point: LedgerPoint) {
        self.findings().ledger.get_or_insert_default().push(point);
    }

    /// What was held at all moments so far.
    pub fn ledger(&self) -> Vec<LedgerPoint> {
        self.findings().ledger.clone().unwrap_or_default()
    }

    /// Whether a text for people is asked for: neither `--json` nor `--quiet`.
    pub fn prints_summary(&self) -> bool {
        !self.shared.flags.json && !self.shared.flags.quiet
    }

    /// Whether SIGINT or SIGTERM has come.
    pub fn is_interrupted(&self) -> bool {
        self.shared.is_interrupted()
    }

    pub(crate) fn findings(&self) -> MutexGuard<'_, Findings> {
        self.shared.findings()
    }
}

#[cfg(test)]
impl Bench {
    /// What SIGINT does.
    pub(crate) fn interrupt(&self) {
        self.shared.interrupted.store(true, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::Bench;

    #[test]
    fn an_interruption_ends_the_creation() {
        let bench = Bench::standalone(5, 1, 0, None).expect("affinity");
        let mut creation = bench.creation();
        assert_eq!(creation.by_ref().take(3).collect::<Vec<_>>(), [0, 1, 2]);
        bench.interrupt();
        assert_eq!(creation.next(), None);
    }
}
