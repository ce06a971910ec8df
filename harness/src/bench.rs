//! The bench: what a program measures on.
//!
//! [`crate::program::run`] makes one and hands it to the program, which asks
//! it for laps. What the laps measured stays on the bench, so it is reported
//! also when the program fails half way. Clones share one state: a driver that
//! is itself an async task takes a clone along.

use std::io::IsTerminal as _;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use crate::command;
use crate::creation::Creation;
use crate::failure::{FAILED, INTERRUPTED, UsageError};
use crate::flags::{Flags, TasksFlag, WorkFlag};
use crate::laps::{Laps, MOST_PHASES, Purpose};
use crate::limits::{self, Amounts, Need};
use crate::memory;
use crate::placement::{Placement, Policy};
use crate::program::Session;
use crate::record::{Ending, LedgerPoint, Memory, WorkRecord};
use crate::samples::{Measured, Samples};
use crate::tracer::Tracer;
use crate::usage::Span;
use crate::work::{Calibration, Work};

/// What a program measures on. Clones share one state.
#[derive(Clone, Debug)]
pub struct Bench {
    pub(crate) shared: Arc<Shared>,
}

/// The state of a bench. The driver's laps write to it; nothing in it is
/// touched between the two timestamps of a lap but `marks`.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Shared because a program may find out late how many they are.
    pub tasks: AtomicU32,
    pub flags: Flags,
    pub placement: Placement,
    pub interrupted: Arc<AtomicBool>,
    /// When each phase of the lap in hand ended; 0 for one that has not.
    pub marks: [AtomicU64; MOST_PHASES],
    pub tracer: OnceLock<Arc<Tracer>>,
    /// The work at every hop.
    pub work: OnceLock<Work>,
    /// The process whose usage counts as well.
    pub companion: OnceLock<u32>,
    /// What the program sampled in the side lap in hand, in nanoseconds.
    pub side: Mutex<Vec<u64>>,
    pub findings: Mutex<Findings>,
    /// Whether the principal laps publish what they have measured.
    pub publishes: AtomicBool,
    /// What reports the findings.
    pub session: OnceLock<Weak<Session>>,
}

/// What has been measured so far.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Of the principal laps first, whenever they were run.
    pub samples: Vec<Samples>,
    pub iterations: u64,
    pub warmups: u64,
    pub ended_by: Option<Ending>,
    pub span: Option<Span>,
    pub memory: Option<Memory>,
    pub ledger: Option<Vec<LedgerPoint>>,
    pub expected_switches: Option<f64>,
    pub work: Option<WorkRecord>,
    pub calibration: Calibration,
    /// What had been measured a moment ago, by laps that are published.
    pub published: Option<Published>,
}

/// What laps have measured that have not ended yet.
#[derive(Debug)]
pub(crate) struct Published {
    pub samples: Vec<Samples>,
    pub iterations: u64,
    pub warmups: u64,
}

impl Bench {
    pub(crate) fn new(
        tasks: u32,
        flags: Flags,
        placement: Placement,
        interrupted: Arc<AtomicBool>,
    ) -> Self {
        let shared = Shared {
            tasks: AtomicU32::new(tasks),
            flags,
            placement,
            interrupted,
            marks: Default::default(),
            tracer: OnceLock::new(),
            work: OnceLock::new(),
            companion: OnceLock::new(),
            side: Mutex::default(),
            findings: Mutex::default(),
            publishes: AtomicBool::new(false),
            session: OnceLock::new(),
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
            warmups,
            warmup_time: None,
            max_time,
            placement: Policy::Free,
            cpus: None,
            command: None,
            quiet: true,
            json: false,
            histogram: None,
        };
        let placement = Placement::apply(flags.placement, None)?;
        Ok(Self::new(tasks, flags, placement, Arc::default()))
    }

    /// The number of tasks; of a program that sweeps it, the most that were
    /// asked for, or 0 where the program decides.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.shared.tasks.load(Relaxed) as usize
    }

    /// Says how many tasks there are, for a program that offers no `--tasks`
    /// because its own flags decide it. To be said before anything else.
    pub fn set_tasks(&self, tasks: u32) {
        self.shared.tasks.store(tasks, Relaxed);
    }

    /// The value of `--max-time`, if it is given.
    #[must_use]
    pub fn max_time(&self) -> Option<Duration> {
        self.shared.flags.max_time
    }

    /// How many iterations to measure, and how many to run before them.
    #[must_use]
    pub fn iterations_and_warmups(&self) -> (u64, u64) {
        (self.shared.flags.iters, self.shared.flags.warmups)
    }

    /// How many iterations have been measured.
    #[must_use]
    pub fn measured_iterations(&self) -> u64 {
        self.findings().iterations
    }

    /// Where the tasks run.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.shared.placement
    }

    /// Checks that this many tasks fit into every limit of the machine, before
    /// any of them exists. A task needs `per_task`, and the program needs
    /// `besides` whatever the number; what it takes to observe them is added.
    ///
    /// # Errors
    /// [`limits::Refusal`], which names the limit that binds.
    pub fn require(&self, per_task: Amounts, besides: Amounts) -> anyhow::Result<()> {
        let tasks = self.tasks() as u64;
        let besides = besides.and(per_task.allocator(tasks)).and(Amounts::observation());
        Ok(limits::require(&Need { tasks, per_task, besides })?)
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

    /// The work that `flag` puts into every hop. The record tells how long a
    /// unit takes, which is measured before the laps and after.
    pub fn work(&self, flag: WorkFlag) -> Work {
        self.findings().work = Some(WorkRecord { units: flag.work, ..WorkRecord::default() });
        *self.shared.work.get_or_init(|| Work::of(flag.work))
    }

    /// Measures a unit of work, if there is any, once more: in the driver's
    /// thread, and so on a CPU of the placement in force.
    fn calibrate_work(&self) {
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
        self.shared.companion.get_or_init(|| pid);
    }

    /// The numbers of the tasks, in the order in which the program creates
    /// them. On a terminal they show as progress; an interruption ends them.
    #[must_use]
    pub fn creation(&self) -> Creation<'_> {
        Creation::new(&self.shared, self.tasks())
    }

    /// The tracer of a brigade of `tasks` tasks. With it, marked laps follow
    /// the measured ones.
    pub(crate) fn tracer(&self) -> Arc<Tracer> {
        let tracer = self.shared.tracer.get_or_init(|| Arc::new(Tracer::new(self.tasks())));
        Arc::clone(tracer)
    }

    /// The principal laps: the warm-up, the measured iterations, and the
    /// marked ones for the tracer. `phases` says what the parts of a lap are;
    /// CPU time and switches are reported per operation of the first.
    #[must_use]
    pub fn laps(&self, phases: &[Measured]) -> Laps<'_> {
        self.calibrate_work();
        Laps::new(&self.shared, Purpose::Principal, phases)
    }

    /// One lap without a warm-up: what the first time costs.
    #[must_use]
    pub fn cold_lap(&self, measured: Measured) -> Laps<'_> {
        Laps::new(&self.shared, Purpose::Cold, &[measured])
    }

    /// Laps beside the principal ones, as many of them, in which the program
    /// takes samples itself with [`crate::laps::Lap::sample`]; they do not
    /// count towards CPU time and switches.
    #[must_use]
    pub fn side_laps(&self, measured: Measured) -> Laps<'_> {
        Laps::new(&self.shared, Purpose::Side, &[measured])
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

    /// Has the principal laps publish what they have measured, every now and
    /// then, for [`Self::abandon`]. To be said before they begin.
    pub fn publish_laps(&self) {
        self.shared.publishes.store(true, Relaxed);
    }

    /// Reports what the principal laps have published and ends the process: for
    /// a driver that is stuck where nothing can wake it.
    pub fn abandon(&self, error: anyhow::Error) -> ! {
        self.findings().settle_for_published();
        if let Some(session) = self.shared.session.get().and_then(Weak::upgrade) {
            // It fails when nobody can be told.
            let _ = session.conclude(Err(error));
        }
        process::exit(if self.is_interrupted() { INTERRUPTED } else { FAILED }.into())
    }

    /// Takes down what was held at one more moment.
    pub fn enter(&self, point: LedgerPoint) {
        self.findings().ledger.get_or_insert_default().push(point);
    }

    /// What was held at all moments so far.
    #[must_use]
    pub fn ledger(&self) -> Vec<LedgerPoint> {
        self.findings().ledger.clone().unwrap_or_default()
    }

    /// Whether a text for people is asked for: neither `--json` nor `--quiet`.
    #[must_use]
    pub fn prints_summary(&self) -> bool {
        !self.shared.flags.json && !self.shared.flags.quiet
    }

    /// Whether SIGINT or SIGTERM has come.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.shared.is_interrupted()
    }

    pub(crate) fn findings(&self) -> MutexGuard<'_, Findings> {
        self.shared.findings()
    }
}

impl Findings {
    /// Takes what was published for what was measured, unless the laps have
    /// ended by themselves.
    fn settle_for_published(&mut self) {
        if let (true, Some(published)) = (self.samples.is_empty(), self.published.take()) {
            self.samples = published.samples;
            self.iterations = published.iterations;
            self.warmups = published.warmups;
        }
    }
}

impl Shared {
    /// The findings. A panic in the driver leaves them as they were.
    pub(crate) fn findings(&self) -> MutexGuard<'_, Findings> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether SIGINT or SIGTERM has come.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Relaxed)
    }

    /// The work at every hop; none unless the program has asked for it.
    pub(crate) fn work(&self) -> Work {
        self.work.get().copied().unwrap_or_default()
    }

    /// What the program sampled in the side lap in hand, in nanoseconds.
    pub(crate) fn side_samples(&self) -> MutexGuard<'_, Vec<u64>> {
        self.side.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether someone sees progress that is drawn.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.flags.quiet && std::io::stderr().is_terminal()
    }
}

#[cfg(test)]
impl Bench {
    /// What SIGINT does.
    pub(crate) fn interrupt(&self) {
        self.shared.interrupted.store(true, Relaxed);
    }
}
