//! The state of a bench, shared by its laps and the driver, and its measurements.

use std::io::{self, IsTerminal as _};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::flags::Flags;
use crate::machine::placement::Placement;
use crate::measure::samples::Samples;
use crate::measure::spinners::Spinners;
use crate::measure::trace::{Recorder, Tracer};
use crate::measure::usage::{Span, Start};
use crate::measure::work::{Calibration, Work};
use crate::record::{ChannelLoad, Ending, LedgerPoint, ScheduleKept, Serving, WorkRecord};
use crate::spec::Spec;
use crate::tasks::station::{LOAD, LoadFlags};

/// The most phases of a lap.
pub(crate) const MOST_PHASES: usize = 4;

/// When each phase of a lap ended; 0 if it has not. `Relaxed` is enough, since only the driver writes and
/// reads them; a runtime that moves it to another thread orders what it did before.
pub(crate) type Marks = [AtomicU64; MOST_PHASES];

/// The state of a bench, written by the driver's laps. Between the two
/// timestamps of a lap, only `marks` is accessed.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The declaration for this run; its tasks are those of all brigades.
    pub spec: Spec,
    pub flags: Flags,
    pub placement: Placement,
    /// Processes that spin next to the tasks.
    pub spinners: Spinners,
    pub interrupted: Arc<AtomicBool>,
    /// Whether a crew works on a round.
    pub in_round: AtomicBool,
    /// The marks of the current lap.
    pub marks: Marks,
    pub tracer: OnceLock<Arc<Tracer>>,
    /// Records the marked laps, with `--trace`.
    pub recorder: Option<Mutex<Recorder>>,
    pub work: Work,
    /// The program's samples in the current side lap, in nanoseconds.
    pub side: Mutex<Vec<u64>>,
    pub findings: Mutex<Findings>,
}

/// A fact that a program reports in addition to its measurements.
#[derive(Clone, Copy, Debug)]
pub enum Fact {
    /// Switches per operation that the program claims, other than declared.
    ExpectedSwitches(f64),
    /// All operations of the measured round, by which CPU time, switches and waiting are divided: some of them
    /// belong to no iteration.
    Operations(u64),
    /// System calls per operation, as the program counted them.
    SystemCalls(f64),
    /// CPU time of a thread's end that is charged to no process, in nanoseconds.
    ThreadEndNs(f64),
    /// How busy a server and its load were.
    Serving(Serving),
    /// The channel under load.
    Channel(ChannelLoad),
    /// Whether readers of a lock were inside together in the warm-up.
    ReadersTogether(bool),
    /// How often a heap of timers was rebuilt, per operation.
    Rebuilds(f64),
    /// Threads that did not sleep when an event woke all of them.
    Awake(u64),
    /// CPU time is unknown: tasks waited by yielding, or others worked next to them.
    UnknownCpu,
}

/// The measurements so far, and what the program reported.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// The measurements, the principal one first.
    pub samples: Vec<Samples>,
    /// The number of measured iterations.
    pub iterations: u64,
    /// The number of warm-up iterations.
    pub warmups: u64,
    /// Why measuring stopped.
    pub ended_by: Option<Ending>,
    pub span: Option<Span>,
    pub work: Option<WorkRecord>,
    pub calibration: Calibration,
    /// Processes whose CPU time and switches count, too, in later laps. Each has one thread and
    /// outlives the laps.
    pub peers: Vec<u32>,
    /// Processes of this one that are neither its tasks nor others, in later laps.
    pub companions: Vec<u32>,
    /// Claimed switches per operation: as declared, unless the program reports others.
    pub expected_switches: Option<f64>,
    /// All operations of the measured round, if some of them belong to no iteration.
    pub operations: Option<u64>,
    /// System calls per operation, as the program counted them.
    pub system_calls: Option<f64>,
    /// CPU time of a thread's end that is charged to no process, in nanoseconds.
    pub thread_end_ns: Option<f64>,
    /// How well a schedule was kept.
    pub schedule: Option<ScheduleKept>,
    /// How busy a server and its load were.
    pub serving: Option<Serving>,
    /// The channel under load.
    pub channel: Option<ChannelLoad>,
    /// Whether readers of a lock were inside together in the warm-up.
    pub readers_together: Option<bool>,
    /// How often a heap of timers was rebuilt, per operation.
    pub rebuilds: Option<f64>,
    /// Threads that did not sleep when an event woke all of them.
    pub awake: Option<u64>,
    /// Whether CPU time is unknown: tasks waited by yielding, or others worked next to them.
    pub cpu_is_unknown: bool,
    /// Memory at successive moments.
    pub ledger: Vec<LedgerPoint>,
}

impl Findings {
    /// Adds what a program reported.
    pub fn add(&mut self, fact: Fact) {
        match fact {
            Fact::ExpectedSwitches(count) => self.expected_switches = Some(count),
            Fact::Operations(count) => self.operations = Some(count),
            Fact::SystemCalls(count) => self.system_calls = Some(count),
            Fact::ThreadEndNs(ns) => self.thread_end_ns = Some(ns),
            Fact::Serving(serving) => self.serving = Some(serving),
            Fact::Channel(load) => self.channel = Some(load),
            Fact::ReadersTogether(together) => self.readers_together = Some(together),
            Fact::Rebuilds(count) => self.rebuilds = Some(count),
            Fact::Awake(threads) => self.awake = Some(threads),
            Fact::UnknownCpu => self.cpu_is_unknown = true,
        }
    }
}

impl Shared {
    /// The state of a bench without spinners, signals and `--trace`.
    pub(crate) fn new(spec: Spec, flags: Flags, placement: Placement) -> Self {
        let units = spec.load.map(|load| load.work.work);
        let findings = Findings {
            expected_switches: spec.switches,
            work: units.map(|units| WorkRecord { units, ..WorkRecord::default() }),
            ..Findings::default()
        };
        Self {
            work: units.map_or_else(Work::default, Work::new),
            spec,
            flags,
            placement,
            spinners: Spinners::default(),
            interrupted: Arc::default(),
            in_round: AtomicBool::default(),
            marks: Marks::default(),
            tracer: OnceLock::new(),
            recorder: None,
            side: Mutex::default(),
            findings: Mutex::new(findings),
        }
    }

    /// The measurements so far, even after a panic of the driver.
    pub(crate) fn findings(&self) -> MutexGuard<'_, Findings> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `Relaxed`, as everywhere with this flag: it comes alone. Seen a lap later, the run ends a lap later.
    #[inline]
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Relaxed)
    }

    /// Starts to count usage: including the peers', excluding the companions' and spinners'.
    pub(crate) fn usage_from_now(&self) -> Start {
        let findings = self.findings();
        let processes = [&findings.peers[..], &[process::id()]].concat();
        let companions = [&findings.companions[..], &self.spinners.processes()].concat();
        drop(findings);
        Start::now(processes, &self.placement.cpus, companions)
    }

    /// The mark of every token if there is a load at every hop.
    pub(crate) fn load_mark(&self) -> u8 {
        let has_load = |load: LoadFlags| load.work.work > 0 || load.working_set > 0;
        if self.spec.load.is_some_and(has_load) { LOAD } else { 0 }
    }

    /// Records the marked laps, with `--trace`.
    pub(crate) fn recorder(&self) -> Option<MutexGuard<'_, Recorder>> {
        Some(self.recorder.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The program's samples in the current side lap, in nanoseconds.
    pub(crate) fn side_samples(&self) -> MutexGuard<'_, Vec<u64>> {
        self.side.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether progress is visible.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.flags.quiet && io::stderr().is_terminal()
    }
}
