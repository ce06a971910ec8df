//! The bench, which a program asks for laps.
//!
//! [`crate::program::run`] creates it. Measurements stay on the bench, so they
//! are reported even if the program fails half way. Clones share one state: a
//! driver that is an async task takes a clone.

use std::io::{self, Write as _};
use std::process::{self, Stdio};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use nix::unistd::Pid;

use crate::flags::Flags;
use crate::machine::limits::Kind;
use crate::machine::placement::Placement;
use crate::machine::process_stat::{has_ended, kill_family};
use crate::measure::clock;
use crate::measure::counters::Counters;
use crate::measure::laps::{LapPurpose, Laps};
use crate::measure::progress::Progress;
use crate::measure::samples::{Measured, Samples};
use crate::measure::state::{Fact, Findings, Shared};
use crate::measure::trace::Tracer;
use crate::record::LedgerPoint;
use crate::spec::Spec;
use crate::tasks::station::{Equipment, Shape, Station, WorkingSet};
use crate::tasks::task_kind::TaskKind;

/// How long `--command` may go on after an interruption, which it may have got, too.
const GRACE: Duration = Duration::from_secs(1);

/// Measures laps for a program. Clones share one state.
#[derive(Clone, Debug)]
pub struct Bench {
    pub(crate) shared: Arc<Shared>,
}

impl Bench {
    /// A bench without a command line, for tests and for the harness's
    /// benchmarks: free placement, no progress, no signals.
    ///
    /// # Errors
    /// If the CPUs that this process may use cannot be read.
    pub fn standalone(
        tasks: u32,
        iters: u64,
        warmups: u64,
        max_time: Option<Duration>,
    ) -> anyhow::Result<Self> {
        let warmups = Some(warmups);
        let flags = Flags { iters, warmups, max_time, quiet: true, ..Flags::default() };
        let placement = Placement::apply(flags.placement, None)?;
        let spec = Spec { tasks, ..Spec::new(TaskKind::Thread, Kind::Thread) };
        Ok(Self { shared: Shared::new(spec, flags, placement).into() })
    }

    /// The number of tasks that was declared.
    pub fn tasks(&self) -> usize {
        self.shared.spec.tasks as usize
    }

    /// The flags common to all programs.
    pub fn flags(&self) -> &Flags {
        &self.shared.flags
    }

    /// Where the tasks run.
    pub fn placement(&self) -> &Placement {
        &self.shared.placement
    }

    /// The measurements so far. Do not keep the guard: laps and [`Self::observe`] wait for it.
    pub(crate) fn findings(&self) -> MutexGuard<'_, Findings> {
        self.shared.findings()
    }

    /// Reports a fact; a later one of its kind replaces it.
    pub fn report(&self, fact: Fact) {
        self.findings().add(fact);
    }

    /// Counts CPU time and switches of these processes, too, in later laps. Each has one thread and
    /// outlives the laps.
    pub fn count_peers(&self, processes: Vec<u32>) {
        self.findings().peers = processes;
    }

    /// Counts these processes, which this one started, neither as tasks nor as others, in later laps.
    pub fn leave_out(&self, processes: Vec<u32>) {
        self.findings().companions = processes;
    }

    /// Adds a reading of memory.
    pub fn add_reading(&self, reading: LedgerPoint) {
        self.findings().ledger.push(reading);
    }

    /// The readings of memory so far.
    pub fn readings(&self) -> Vec<LedgerPoint> {
        self.findings().ledger.clone()
    }

    /// The number of measured iterations.
    pub fn iterations(&self) -> u64 {
        self.findings().iterations
    }

    /// The measurements so far, the principal one first.
    pub fn samples(&self) -> Vec<Samples> {
        self.findings().samples.clone()
    }

    /// What was used from the first measured operation to the last.
    pub fn used(&self) -> Option<Counters> {
        Some(self.findings().span.as_ref()?.used)
    }

    /// Measures a unit of work once more, if there is any: in the driver's
    /// thread, and so on a CPU of the placement.
    pub(crate) fn calibrate_work(&self) {
        let mut findings = self.findings();
        let Findings { work, calibration, .. } = &mut *findings;
        if let Some(work) = work.as_mut().filter(|work| work.units > 0) {
            calibration.look();
            work.ns_per_unit = Some(calibration.ns_per_unit());
        }
    }

    /// The numbers of the tasks, in the order of creation. Shows progress on a
    /// terminal; an interruption ends them.
    pub fn tasks_to_create(&self) -> impl Iterator<Item = usize> {
        let tasks = self.tasks();
        let mut progress = Progress::new(self.shared.shows_progress());
        progress.begin(tasks as u64, "tasks created");
        (0..tasks).take_while(move |task| {
            progress.show(clock::now(), (tasks - task) as u64);
            !self.is_interrupted()
        })
    }

    /// The brigade's tracer. It adds marked laps after the measured ones.
    pub(crate) fn tracer(&self) -> Arc<Tracer> {
        self.shared.tracer.get_or_init(|| Arc::new(Tracer::new(self.tasks()))).clone()
    }

    /// The station of a task. Stations add traced laps after the measured ones.
    pub fn station(&self, task: usize) -> Station {
        self.station_with(Some((self.tracer(), task as u32)))
    }

    /// The driver's station. The laps record its CPU themselves.
    pub fn driver_station(&self) -> Station {
        self.station_with(None)
    }

    fn station_with(&self, tracer: Option<(Arc<Tracer>, u32)>) -> Station {
        let shape = self.shared.spec.load.map_or_else(Shape::default, |load| load.shape());
        let working_set = WorkingSet::new(shape);
        Station::new(Equipment { work: self.shared.work, working_set, tracer })
    }

    /// The principal laps: the warm-up, the measured iterations, and the marked
    /// ones for the tracer. `phases` names the parts of a lap; CPU time and
    /// switches are reported per operation of the first.
    pub fn laps(&self, phases: &[Measured]) -> Laps<'_> {
        self.calibrate_work();
        Laps::new(&self.shared, LapPurpose::Principal, phases)
    }

    /// One lap without a warm-up: the cost of the first time.
    pub fn cold_lap(&self, measured: Measured) -> Laps<'_> {
        Laps::new(&self.shared, LapPurpose::Cold, &[measured])
    }

    /// As many laps as the principal ones, in which the program takes samples with
    /// [`crate::measure::laps::Lap::sample`]; they do not count towards CPU time and switches.
    pub fn side_laps(&self, measured: Measured) -> Laps<'_> {
        Laps::new(&self.shared, LapPurpose::Side, &[measured])
    }

    /// Side laps that do what the principal ones did, and time each task: the warm-up is one lap, and
    /// they take a quarter of the time.
    pub fn repeated_laps(&self, measured: Measured) -> Laps<'_> {
        Laps::new(&self.shared, LapPurpose::Repeated, &[measured])
    }

    /// Runs `--command` with `sh -c` while the tasks are alive, but not after an interruption; with
    /// `{pid}` replaced by this process's id. An interruption ends it, too.
    ///
    /// # Errors
    /// If the command cannot run or fails.
    pub fn observe(&self) -> anyhow::Result<()> {
        if self.is_interrupted() {
            return Ok(());
        }
        self.calibrate_work();
        let Some(line) = &self.flags().command else { return Ok(()) };
        io::stdout().flush().context("flushing standard output")?;
        let line = line.replace("{pid}", &process::id().to_string());
        // Standard output contains only the record.
        let output = if self.flags().json { io::stderr().into() } else { Stdio::inherit() };
        let mut command = process::Command::new("sh");
        command.args(["-c", &line]).stdin(Stdio::null()).stdout(output);
        let started = command.spawn();
        let mut child = started.with_context(|| format!("--command: starting sh for '{line}'"))?;
        let pid = Pid::from_raw(child.id().cast_signed());
        let mut since = None;
        let is_enough =
            || self.is_interrupted() && since.get_or_insert_with(Instant::now).elapsed() >= GRACE;
        if !has_ended(pid, is_enough).context("--command: waiting for its end")? {
            kill_family(pid);
        }
        let status = child.wait().context("--command: waiting for its end")?;
        ensure!(status.success(), "--command '{line}' failed: {status}");
        Ok(())
    }

    /// Whether SIGINT or SIGTERM has arrived.
    #[inline]
    pub fn is_interrupted(&self) -> bool {
        self.shared.is_interrupted()
    }
}
