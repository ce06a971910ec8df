//! The state of a bench: the flags, what the laps share with the driver, and
//! what has been measured so far.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::flags::Flags;
use crate::placement::Placement;
use crate::record::{Ending, LedgerPoint, Memory, ScheduleKept, WorkRecord};
use crate::samples::Samples;
use crate::spinners::Spinners;
use crate::station::LOAD;
use crate::tracer::Tracer;
use crate::usage::{Span, Start};
use crate::work::{Calibration, Work};
use crate::working_set::Shape;

/// The most parts that a lap can be split into.
pub(crate) const MOST_PHASES: usize = 4;

/// When each phase of a lap ended; 0 for one that has not.
pub(crate) type Marks = [AtomicU64; MOST_PHASES];

/// The state of a bench. The driver's laps write to it; nothing in it is
/// touched between the two timestamps of a lap but `marks`.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Shared because a program may find out late how many they are.
    pub tasks: AtomicU32,
    /// How many rings they form, of a program that has several at once.
    pub rings: OnceLock<u32>,
    pub flags: Flags,
    pub placement: Placement,
    /// What keeps the CPUs awake, if they are kept so.
    pub spinners: Option<Spinners>,
    /// What takes CPU time beside the tasks, if the program asked for it.
    pub hogs: OnceLock<Spinners>,
    pub interrupted: Arc<AtomicBool>,
    /// Those of the lap in hand.
    pub marks: Marks,
    pub tracer: OnceLock<Arc<Tracer>>,
    /// The work at every hop.
    pub work: OnceLock<Work>,
    /// The memory that each task touches at every hop.
    pub working_set: OnceLock<Shape>,
    /// The process whose usage counts as well.
    pub peer: OnceLock<u32>,
    /// What the program sampled in the side lap in hand, in nanoseconds.
    pub side: Mutex<Vec<u64>>,
    pub findings: Mutex<Findings>,
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
    /// Per operation, by the program's own count.
    pub system_calls: Option<f64>,
    pub work: Option<WorkRecord>,
    pub calibration: Calibration,
    /// CPU time of a thread's end that no account holds, in nanoseconds.
    pub thread_end_ns: Option<f64>,
    /// How a schedule was kept, of a program that has one.
    pub schedule: Option<ScheduleKept>,
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

    /// Usage, counted from now on: with the peer's, and without that of processes of this
    /// one's that spin beside the tasks.
    pub(crate) fn usage_from_now(&self) -> Start {
        let spinners = self.spinners.iter().chain(self.hogs.get());
        let spinners = spinners.flat_map(Spinners::processes).collect();
        Start::now(self.peer.get().copied(), self.placement.cpus(), spinners)
    }

    /// The work at every hop; none unless the program has asked for it.
    pub(crate) fn work(&self) -> Work {
        self.work.get().copied().unwrap_or_default()
    }

    /// The memory that each task touches at every hop; none unless the program has
    /// asked for it.
    pub(crate) fn working_set(&self) -> Shape {
        self.working_set.get().copied().unwrap_or_default()
    }

    /// The mark of every token if there is something to do at every hop besides passing
    /// it on.
    pub(crate) fn load_mark(&self) -> u8 {
        let has_load = self.work().is_some() || self.working_set().bytes > 0;
        if has_load { LOAD } else { 0 }
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
