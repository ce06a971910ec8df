//! Traces: which thread had which CPU while a token went round, and where the token was.
//!
//! With `--trace` the marked laps are recorded after the measured ones. The kernel reports
//! every switch to a ring buffer per CPU (`PERF_RECORD_SWITCH` of a dummy software event,
//! which needs no hardware counter and no rights beyond those over the own process), and the
//! tasks note the time when the token passes. Both use `CLOCK_MONOTONIC`. A process that
//! traces measures nothing: its switches cost more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{fmt, io, thread};

use anyhow::Context as _;
use perf_event_open::config::{Clock, Cpu, Inherit, Opts, Proc, RecordIdFormat};
use perf_event_open::count::Counter;
use perf_event_open::event::sw::Software;
use perf_event_open::sample::Sampler;
use perf_event_open::sample::record::Record;
use perf_event_open::sample::record::ctx::{CtxSwitch, Switch as Kind};
use serde::{Deserialize, Serialize};

use crate::failure::Refusal;
use crate::machine::control_groups::is_first_namespace;
use crate::machine::cpus;
use crate::machine::system_files::{SystemFiles, page_size};
use crate::measure::clock;
use crate::measure::counters::Counters;

/// The version of what `--trace` writes.
pub const SCHEMA_VERSION: &str = "2.1";

/// Hops between two readings of the ring buffers, about: their records must fit.
const HOPS_PER_BATCH: u64 = 1000;
/// How many batches are recorded.
const BATCHES: u64 = 8;
/// Time between batches for tasks to block after the token has passed.
const SETTLING: Duration = Duration::from_millis(1);
/// Sizes of a ring buffer, in bytes: 4 MiB, or what an ordinary user may lock per CPU with a page
/// more (`kernel.perf_event_mlock_kb`, 516 KiB) or less.
const RING_BYTES: [u64; 4] = [4 << 20, 512 << 10, 128 << 10, 32 << 10];

/// What one process traced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Trace {
    /// [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// Whether switches of other processes and of idle CPUs are among the records, which
    /// takes `CAP_PERFMON`.
    pub whole_machine: bool,
    /// How many records the kernel lost, because a ring buffer was full.
    pub lost_records: u64,
    /// Batches of laps, in order.
    pub batches: Vec<Batch>,
    /// Names of other processes' threads.
    pub names: BTreeMap<u32, String>,
}

/// Laps one after another, within a span of time in which every switch was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Batch {
    /// The start of that span.
    pub begun_ns: u64,
    /// Its end.
    pub ended_ns: u64,
    /// The kernel's count of switches in it: `nvcsw` + `nivcsw` of this process.
    pub counted: u64,
    /// Where the token was in each lap, from the driver back to the driver: what each task noted just
    /// before it sent the token on. A stop in between without a task only divides a hop.
    pub laps: Vec<Vec<Stop>>,
    /// The records, by time.
    pub switches: Vec<Switch>,
}

/// A moment at which a task had the token.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Stop {
    /// The task, from 0; `null` is the driver.
    pub task: Option<u32>,
    /// Its thread.
    pub tid: u32,
    /// Its CPU.
    pub cpu: u32,
    /// When.
    pub at_ns: u64,
}

/// The kernel's record of a thread that took a CPU or left it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Switch {
    /// When.
    pub at_ns: u64,
    /// The CPU.
    pub cpu: u32,
    /// The thread; 0 is an idle CPU.
    pub tid: u32,
    /// Whether it is one of this process.
    pub own: bool,
    /// What it did.
    pub way: Direction,
}

/// What a thread did at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The thread took the CPU.
    In,
    /// The thread left, because it waits.
    Out,
    /// The thread left, but could have gone on.
    Preempted,
}

/// The number of the calling thread.
pub fn tid() -> u32 {
    thread_local!(static TID: u32 = nix::unistd::gettid().as_raw().unsigned_abs());
    TID.with(|tid| *tid)
}

/// The tracer of a process that records.
static TRACER: OnceLock<Arc<Tracer>> = OnceLock::new();

impl Stop {
    /// The stop of a task here and now, on the calling thread.
    pub fn here(task: u32) -> Self {
        Self { task: Some(task), tid: tid(), cpu: cpus::current(), at_ns: clock::now() }
    }
}

/// Whether this process records.
pub(crate) fn is_on() -> bool {
    TRACER.get().is_some()
}

/// Notes that a thread without a station has the token: the only one besides the driver's, which is
/// task 1.
pub(crate) fn pass() {
    if let Some(tracer) = TRACER.get().filter(|_| tid() != std::process::id()) {
        tracer.note(1);
    }
}

/// Which thread had the token, on which CPU, and when.
///
/// `Relaxed` is enough: the token orders the notes. A task notes before it sends, the driver reads after
/// it has received, and every channel orders what was done before a send. Otherwise the driver could
/// read a note of an earlier lap.
#[derive(Debug, Default)]
struct Note {
    /// The thread's number; 0 if it has not noted itself.
    tid: AtomicU32,
    cpu: AtomicU32,
    at_ns: AtomicU64,
}

/// Where the token of a marked lap was: the notes of the driver when it began, of each task of a
/// brigade, and of the driver when it ended.
#[derive(Debug)]
pub struct Tracer {
    notes: Box<[Note]>,
    // Only the driver counts, and it is read when the driver has ended: atomic because it is shared.
    hops: AtomicU64,
    crossings: AtomicU64,
}

impl Tracer {
    /// A tracer for `tasks` tasks in a line.
    pub(crate) fn new(tasks: usize) -> Self {
        let notes = (0..tasks + 2).map(|_| Note::default()).collect();
        Self { notes, hops: AtomicU64::new(0), crossings: AtomicU64::new(0) }
    }

    /// The tracer of this process, which records.
    pub(crate) fn of_process(tasks: usize) -> Arc<Self> {
        Arc::clone(TRACER.get_or_init(|| Arc::new(Self::new(tasks))))
    }

    /// Notes the calling thread for this task.
    ///
    /// # Panics
    /// If there is no such task.
    pub(crate) fn note(&self, task: usize) {
        self.note_at(task + 1);
    }

    /// Notes the driver's thread, which `ends` the lap or begins it.
    pub(crate) fn note_driver(&self, ends: bool) {
        self.note_at(if ends { self.notes.len() - 1 } else { 0 });
    }

    fn note_at(&self, position: usize) {
        let note = &self.notes[position];
        note.tid.store(tid(), Relaxed);
        note.cpu.store(cpus::current(), Relaxed);
        note.at_ns.store(clock::now(), Relaxed);
    }

    /// The stops of the lap between these times. Forgets them, and counts the hops between tasks
    /// that follow each other, and those whose ends are on different CPUs.
    pub(crate) fn drain_stops(&self, begun: u64, ended: u64) -> Vec<Stop> {
        let last = self.notes.len() - 1;
        self.notes[0].at_ns.store(begun, Relaxed);
        self.notes[last].at_ns.store(ended, Relaxed);
        let mut stops = Vec::new();
        let mut here: Option<Stop> = None;
        for (position, note) in self.notes.iter().enumerate() {
            let task = (1..last).contains(&position).then(|| position as u32 - 1);
            let tid = note.tid.swap(0, Relaxed);
            let cpu = note.cpu.load(Relaxed);
            let at_ns = note.at_ns.load(Relaxed);
            let next = if tid == 0 { None } else { Some(Stop { task, tid, cpu, at_ns }) };
            if let (Some(here), Some(next)) = (here, next)
                && here.cpu != cpus::UNKNOWN
                && next.cpu != cpus::UNKNOWN
            {
                self.hops.fetch_add(1, Relaxed);
                self.crossings.fetch_add(u64::from(here.cpu != next.cpu), Relaxed);
            }
            if let Some(stop) = next {
                stops.push(stop);
            }
            here = next;
        }
        stops
    }

    /// The share of hops that crossed, 0 to 1; `None` before any lap.
    pub(crate) fn cross_cpu_share(&self) -> Option<f64> {
        let hops = self.hops.load(Relaxed);
        (hops > 0).then(|| self.crossings.load(Relaxed) as f64 / hops as f64)
    }
}

/// A ring buffer into which the kernel writes the switches on one CPU.
type Ring = (Counter, Sampler);

/// Records the laps of a process.
pub struct Recorder {
    rings: Vec<Ring>,
    trace: Trace,
    /// Laps in a batch; 0 before the first.
    per_batch: u64,
    /// The batch in hand, and the counters at its start.
    batch: Option<(Batch, Counters)>,
    failure: Option<io::Error>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.debug_struct("Recorder").field("trace", &self.trace).finish_non_exhaustive()
    }
}

impl Recorder {
    /// Prepares to record the switches on `cpus`: all of them if permitted, otherwise those of this
    /// thread and of the threads that it will create.
    ///
    /// # Errors
    /// [`Refusal`] where the kernel refuses both.
    pub(crate) fn open(cpus: &[usize]) -> anyhow::Result<Self> {
        let open = |all| cpus.iter().map(|cpu| open_ring(*cpu, all)).collect::<io::Result<_>>();
        // Inside a container threads that are outside have the number of an idle CPU.
        let sees_all = is_first_namespace(&SystemFiles::live(), "pid") == Some(true);
        let of_all = if sees_all { open(true).ok() } else { None };
        let whole_machine = of_all.is_some();
        let rings = of_all.map_or_else(|| open(false), Ok).map_err(|error| {
            Refusal(format!(
                "--trace: the kernel refuses to record switches: {error}. Set \
                 kernel.perf_event_paranoid to 2 or less, and let the container's seccomp profile \
                 allow perf_event_open"
            ))
        })?;
        let schema_version = SCHEMA_VERSION.to_owned();
        let trace = Trace { schema_version, whole_machine, ..Trace::default() };
        Ok(Self { rings, trace, per_batch: 0, batch: None, failure: None })
    }

    /// Plans laps of so many hops, and returns how many.
    pub(crate) fn plan(&mut self, hops: u64) -> u64 {
        self.per_batch = (HOPS_PER_BATCH / hops.max(1)).max(1);
        self.per_batch * BATCHES
    }

    /// Must be called before each lap.
    pub fn before_lap(&mut self) {
        if self.batch.is_none() && self.failure.is_none() {
            thread::sleep(SETTLING);
            self.failure = self.rings.iter().try_for_each(|(counter, _)| counter.enable()).err();
            let (begun_ns, before) = counted();
            self.batch = Some((Batch { begun_ns, ..Batch::default() }, before));
        }
    }

    /// Must be called after each lap, with its stops.
    pub fn after_lap(&mut self, stops: Vec<Stop>) {
        let Some((batch, _)) = &mut self.batch else { return };
        batch.laps.push(stops);
        if batch.laps.len() as u64 == self.per_batch {
            self.end_batch();
        }
    }

    /// Must be called after the last lap, before threads end: the kernel records their last switch,
    /// but does not count it.
    pub fn end_batch(&mut self) {
        let Some((mut batch, before)) = self.batch.take() else { return };
        thread::sleep(SETTLING);
        let (ended_ns, after) = counted();
        batch.ended_ns = ended_ns;
        batch.counted = after.used_since(before).switches();
        for (counter, sampler) in &self.rings {
            self.failure = self.failure.take().or(counter.disable().err());
            for (_, record) in sampler.iter().into_iter().flatten() {
                match record {
                    Record::CtxSwitch(record) => batch.switches.extend(switches(&record)),
                    Record::LostRecords(lost) => self.trace.lost_records += lost.lost_records,
                    _ => {}
                }
            }
        }
        batch.switches.retain(|switch| (batch.begun_ns..=ended_ns).contains(&switch.at_ns));
        batch.switches.sort_by_key(|switch| switch.at_ns);
        self.trace.batches.push(batch);
    }

    /// Writes what was traced to `path`.
    ///
    /// # Errors
    /// The kernel refused to begin or to end the recording, or the file cannot be written.
    pub(crate) fn write(&mut self, path: &Path) -> anyhow::Result<()> {
        if let Some(error) = self.failure.take() {
            return Err(error).context("--trace: recording switches");
        }
        let trace = &mut self.trace;
        let switches = trace.batches.iter().flat_map(|batch| &batch.switches);
        let others = switches.filter(|switch| !switch.own && switch.tid != 0);
        let others: BTreeSet<u32> = others.map(|switch| switch.tid).collect();
        let name = |tid: u32| fs::read_to_string(format!("/proc/{tid}/comm")).ok();
        let name = |tid: u32| Some((tid, name(tid)?.trim_end().to_owned()));
        trace.names = others.into_iter().filter_map(name).collect();
        let text = serde_json::to_string(trace).context("--trace: writing the trace")?;
        fs::write(path, text).with_context(|| format!("--trace {}", path.display()))
    }
}

/// The time, and the counters of this process until then, unaffected by preemption between the
/// two readings.
fn counted() -> (u64, Counters) {
    loop {
        let before = Counters::own();
        let at = clock::now();
        let after = Counters::own();
        if before.switches() == after.switches() {
            return (at, after);
        }
    }
}

/// Opens a ring buffer for the switches on `cpu`, of all threads or of those of this process.
fn open_ring(cpu: usize, of_all: bool) -> io::Result<Ring> {
    let mut options =
        Opts { timer: Some(Clock::Monotonic), record_id_all: true, ..Opts::default() };
    options.record_id_format =
        RecordIdFormat { cpu: true, task: true, time: true, ..Default::default() };
    options.extra_record.ctx_switch = true;
    options.inherit = (!of_all).then_some(Inherit::NewChild);
    // Otherwise the kernel counts this as kernel profiling, which paranoid 2 forbids.
    options.exclude.kernel = true;
    let cpu = Cpu(cpu as u32);
    let counter = if of_all {
        Counter::new(Software::Dummy, (Proc::ALL, cpu), options)?
    } else {
        Counter::new(Software::Dummy, (Proc::CURRENT, cpu), options)?
    };
    let samplers = RING_BYTES.map(|bytes| counter.sampler(exponent_of_pages(bytes, page_size())));
    let sampler = samplers.into_iter().reduce(|found, next| found.or(next)).expect("sizes")?;
    Ok((counter, sampler))
}

/// The pages of a ring buffer, as a power of two; at least one page.
fn exponent_of_pages(bytes: u64, page_bytes: u64) -> u8 {
    (bytes / page_bytes).max(1).ilog2() as u8
}

/// How far the clock of this time namespace is ahead of the kernel's, which is in the records.
fn offset_ns() -> i64 {
    static OFFSET: OnceLock<i64> = OnceLock::new();
    let read = || {
        let offsets = SystemFiles::live().text("proc/self/timens_offsets")?;
        let line = offsets.lines().find_map(|line| line.strip_prefix("monotonic"))?;
        let mut numbers = line.split_whitespace().map(str::parse::<i64>);
        let seconds = numbers.next()?.ok()?;
        let ns = numbers.next()?.ok()?;
        Some(seconds * 1_000_000_000 + ns)
    };
    *OFFSET.get_or_init(|| read().unwrap_or(0))
}

/// The switches in a record; those of this process are marked.
fn switches(record: &CtxSwitch) -> Vec<Switch> {
    let (way, other) = match &record.info {
        Kind::InFrom(other) => (Direction::In, other),
        Kind::OutTo { task, preempt: true } => (Direction::Preempted, task),
        Kind::OutTo { task, .. } => (Direction::Out, task),
    };
    let own_ns = |ns: u64| ns.wrapping_add_signed(offset_ns());
    let id = record
        .record_id
        .as_ref()
        .and_then(|id| Some((own_ns(id.time?), id.cpu?, id.task.as_ref()?)));
    let Some((at_ns, cpu, task)) = id else { return Vec::new() };
    let switch = Switch { at_ns, cpu, tid: task.tid, own: task.pid == std::process::id(), way };
    // The idle task's own records appear for the first CPU only. The records of the threads before
    // and after it name it on every CPU.
    let idle = |way| Switch { tid: 0, own: false, way, ..switch };
    match (task.tid, other.as_ref().map(|other| other.tid), way) {
        (0, ..) => Vec::new(),
        (_, Some(0), Direction::In) => vec![idle(Direction::Out), switch],
        (_, Some(0), _) => vec![switch, idle(Direction::In)],
        _ => vec![switch],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lap past these tasks of three.
    fn lap(tracer: &Tracer, tasks: &[usize]) -> Vec<Stop> {
        tracer.note_driver(false);
        tasks.iter().for_each(|task| tracer.note(*task));
        tracer.note_driver(true);
        tracer.drain_stops(1, 2)
    }

    #[test]
    fn a_lap_stops_where_tasks_have_noted_themselves() {
        let tracer = Tracer::new(3);
        let stops = lap(&tracer, &[2, 0]);
        let tasks: Vec<Option<u32>> = stops.iter().map(|stop| stop.task).collect();
        assert_eq!(tasks, [None, Some(0), Some(2), None], "task 1 is somewhere else");
        assert_eq!((stops[0].at_ns, stops[3].at_ns, stops[0].tid), (1, 2, tid()));
        assert!(tracer.drain_stops(1, 2).is_empty());
    }

    #[test]
    fn a_ring_has_the_same_bytes_with_pages_of_any_size() {
        let exponents =
            |page_kib: u64| RING_BYTES.map(|bytes| exponent_of_pages(bytes, page_kib << 10));
        assert_eq!(exponents(4), [10, 7, 5, 3]);
        assert_eq!(exponents(16), [8, 5, 3, 1]);
        assert_eq!(exponents(64), [6, 3, 1, 0]);
    }

    #[test]
    fn crossings_are_counted_over_all_hops_including_the_drivers_two() {
        let share = |sent: u32, stops: &[u32], taken: u32| {
            let tracer = Tracer::new(stops.len());
            for (note, cpu) in tracer.notes.iter().zip([&[sent], stops, &[taken]].concat()) {
                note.tid.store(u32::from(cpu < u32::MAX), Relaxed);
                note.cpu.store(cpu, Relaxed);
            }
            let _ = tracer.drain_stops(1, 2);
            tracer.cross_cpu_share()
        };
        assert_eq!(share(0, &[0, 0, 0], 0), Some(0.0));
        assert_eq!(share(0, &[1, 0, 1], 0), Some(1.0));
        assert_eq!(share(0, &[0, 1, 1], 1), Some(0.25));
        assert_eq!(share(0, &[u32::MAX], 1), None, "a task without a recorded CPU is not guessed");
    }
}
