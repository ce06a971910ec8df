//! The state of a bench: what its laps share with the driver, and what has been measured.

use std::io::{self, IsTerminal as _};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::flags::Flags;
use crate::placement::Placement;
use crate::record::{Ending, LedgerPoint, Memory, ScheduleKept, WorkRecord};
use crate::samples::Samples;
use crate::spec::Spec;
use crate::spinners::Spinners;
use crate::station::{LOAD, Shape, Tracer};
use crate::trace::Recorder;
use crate::usage::{Span, Start};
use crate::work::{Calibration, Work};

/// The most parts that a lap can be split into.
pub(crate) const MOST_PHASES: usize = 4;

/// When each phase of a lap ended; 0 for one that has not.
pub(crate) type Marks = [AtomicU64; MOST_PHASES];

/// The state of a bench. The driver's laps write to it; nothing in it is
/// touched between the two timestamps of a lap but `marks`.
#[derive(Debug)]
pub(crate) struct Shared {
    /// What the program declares of this run; its tasks are those of all brigades.
    pub spec: Spec,
    pub flags: Flags,
    pub placement: Placement,
    /// Processes that spin next to the tasks.
    pub spinners: Vec<Spinners>,
    pub interrupted: Arc<AtomicBool>,
    /// Those of the lap in progress.
    pub marks: Marks,
    pub tracer: OnceLock<Arc<Tracer>>,
    /// What records the marked laps, with `--trace`.
    pub recorder: Option<Mutex<Recorder>>,
    /// The work at every hop.
    pub work: Work,
    /// The memory that each task touches at every hop.
    pub working_set: Shape,
    /// What the program sampled in the side lap in progress, in nanoseconds.
    pub side: Mutex<Vec<u64>>,
    pub findings: Mutex<Findings>,
}

/// What has been measured so far. The public fields are for programs that measure more than
/// laps.
#[derive(Debug, Default)]
pub struct Findings {
    /// The measurements, the principal one first.
    pub samples: Vec<Samples>,
    /// How many iterations have been measured.
    pub iterations: u64,
    /// How many have been run before them.
    pub warmups: u64,
    /// Why the measuring stopped.
    pub ended_by: Option<Ending>,
    pub(crate) span: Option<Span>,
    pub(crate) memory: Option<Memory>,
    pub(crate) work: Option<WorkRecord>,
    pub(crate) calibration: Calibration,
    /// The processes whose CPU time and switches count as well, in the laps that follow. Each
    /// has one thread and outlives the laps.
    pub peers: Vec<u32>,
    /// Claimed switches per operation: what the program declared, unless the run decides.
    pub expected_switches: Option<f64>,
    /// System calls per operation, as the program counted them.
    pub system_calls: Option<f64>,
    /// CPU time of a thread's end that no process's account includes, in nanoseconds.
    pub thread_end_ns: Option<f64>,
    /// How a schedule was kept.
    pub schedule: Option<ScheduleKept>,
    /// What was in use at one moment after another.
    pub ledger: Vec<LedgerPoint>,
}

impl Shared {
    /// The findings. A panic in the driver leaves them as they were.
    pub(crate) fn findings(&self) -> MutexGuard<'_, Findings> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Relaxed)
    }

    /// Usage, counted from now on: with the peers', and without that of this process's own
    /// spinners.
    pub(crate) fn usage_from_now(&self) -> Start {
        let spinners = self.spinners.iter().flat_map(Spinners::processes).collect();
        Start::now(self.findings().peers.clone(), self.placement.cpus(), spinners)
    }

    /// The mark of every token if there is something to do at every hop besides passing
    /// it on.
    pub(crate) fn load_mark(&self) -> u8 {
        let has_load = self.work.is_some() || self.working_set.bytes > 0;
        if has_load { LOAD } else { 0 }
    }

    /// What records the marked laps, with `--trace`.
    pub(crate) fn recorder(&self) -> Option<MutexGuard<'_, Recorder>> {
        Some(self.recorder.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What the program sampled in the side lap in progress, in nanoseconds.
    pub(crate) fn side_samples(&self) -> MutexGuard<'_, Vec<u64>> {
        self.side.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether someone sees progress that is drawn.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.flags.quiet && io::stderr().is_terminal()
    }
}
