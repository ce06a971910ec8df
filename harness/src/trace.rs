//! Traces: which thread had which CPU while a token went round, and where the token was.
//!
//! With `--trace` the marked laps are recorded after the measured ones. The kernel reports
//! every switch to a ring buffer per CPU (`PERF_RECORD_SWITCH` of a dummy software event,
//! which needs no hardware counter and no rights beyond those over the own process), and the
//! tasks note the time when the token passes. Both use `CLOCK_MONOTONIC`. A process that
//! traces measures nothing: its switches cost more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64, fence};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{cell::Cell, io, thread};

use anyhow::{Context as _, ensure};
use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use perf_event_open_sys::{bindings, ioctls, perf_event_open};
use serde::{Deserialize, Serialize};

use crate::counters::Counters;
use crate::failure::Unavailable;
use crate::system_load::throttled;
use crate::{clock, cpus};

/// The version of what `--trace` writes.
pub const SCHEMA_VERSION: &str = "1.0";

/// Hops between two readings of the ring buffers, about: their records must fit.
const HOPS_PER_BATCH: u64 = 1000;
/// How many batches are recorded.
const BATCHES: u64 = 8;
/// Between batches tasks get so long to block after the token has passed.
const SETTLING: Duration = Duration::from_millis(1);
/// Pages of a ring buffer for the own threads: with one more it is what an ordinary user may
/// lock per CPU (`kernel.perf_event_mlock_kb`, 516 KiB).
const PAGES: usize = 128;
/// Pages for all that happens on a CPU.
const PAGES_OF_CPU: usize = 1024;
const FEWEST_PAGES: usize = 8;
/// The longest record, and so how much of a ring buffer is empty unless records were lost.
const LONGEST_RECORD: u64 = 64;

/// The namespace in which every thread has a number (`PROC_PID_INIT_INO` of the kernel).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// What one process traced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Trace {
    /// [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// The process.
    pub pid: u32,
    /// Whether switches of other processes and of idle CPUs are among the records, which
    /// takes `CAP_PERFMON`.
    pub whole_machine: bool,
    /// Laps, in order.
    pub laps: Vec<TracedLap>,
    /// Spans of time within which every switch was recorded.
    pub spans: Vec<RecordedSpan>,
    /// The records of all spans, by time.
    pub switches: Vec<Switch>,
    /// Names of other processes' threads.
    pub names: BTreeMap<u32, String>,
    /// Moments at which the runner saw that a signal had stopped this process.
    #[serde(default)]
    pub stops: Vec<u64>,
}

/// One lap: where the token was, from the driver back to the driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct TracedLap {
    /// What each task noted just before it sent the token on; the last is the driver's, when
    /// it had the token back.
    pub stops: Vec<Stop>,
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

/// A span of time, and how many switches of this process the kernel counted in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct RecordedSpan {
    /// Its start.
    pub begun_ns: u64,
    /// Its end.
    pub ended_ns: u64,
    /// `nvcsw` + `nivcsw` of this process.
    pub counted: u64,
    /// How often the quotas of control groups stopped this process (`nr_throttled`), and for
    /// how long in nanoseconds, if they say.
    pub throttled: Option<[u64; 2]>,
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
    pub way: Way,
}

/// What a thread did at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// It took the CPU.
    In,
    /// It left, because it waits.
    Out,
    /// It left, but could have gone on.
    Preempted,
}

/// The number of the calling thread.
pub fn tid() -> u32 {
    thread_local!(static TID: Cell<u32> = const { Cell::new(0) });
    TID.with(|tid| {
        if tid.get() == 0 {
            tid.set(nix::unistd::gettid().as_raw().unsigned_abs());
        }
        tid.get()
    })
}

/// Those of a process that traces.
static STAMPS: OnceLock<Arc<Stamps>> = OnceLock::new();

/// Whether this process traces.
pub(crate) fn is_on() -> bool {
    STAMPS.get().is_some()
}

/// Notes that a thread without a station has the token: the only one besides the driver's.
pub(crate) fn pass() {
    if let Some(stamps) = STAMPS.get()
        && tid() != std::process::id()
        && let Some(last) = stamps.0.len().checked_sub(3)
    {
        stamps.note(last);
    }
}

/// What the tasks of a brigade, then the driver at both ends of the lap, note of themselves.
#[derive(Debug)]
pub(crate) struct Stamps(Box<[(AtomicU32, AtomicU32, AtomicU64)]>);

impl Stamps {
    fn new(tasks: usize) -> Self {
        Self((0..tasks + 2).map(|_| Default::default()).collect())
    }

    /// Those of this process, which traces.
    pub(crate) fn of_process(tasks: usize) -> Arc<Self> {
        Arc::clone(STAMPS.get_or_init(|| Arc::new(Self::new(tasks))))
    }

    /// Notes the calling thread for the task at `position`.
    pub(crate) fn note(&self, position: usize) {
        let (tid_of, cpu, at_ns) = &self.0[position];
        tid_of.store(tid(), Relaxed);
        cpu.store(cpus::current(), Relaxed);
        at_ns.store(clock::now(), Relaxed);
    }

    /// Notes the driver's thread, which `ends` the lap or begins it.
    pub(crate) fn note_driver(&self, ends: bool) {
        self.note(self.0.len() - 2 + usize::from(ends));
    }

    /// The stops of the lap between these times, and forgets them.
    fn take(&self, begun: u64, ended: u64) -> Vec<Stop> {
        let last = self.0.len() - 1;
        let order = std::iter::once(last - 1).chain(0..last - 1).chain([last]);
        let stop = |position: usize| {
            let (tid, cpu, at_ns) = &self.0[position];
            let (tid, cpu, noted) = (tid.swap(0, Relaxed), cpu.load(Relaxed), at_ns.load(Relaxed));
            let (task, at_ns) = match last - position {
                0 => (None, ended),
                1 => (None, begun),
                _ => (Some(position as u32), noted),
            };
            (tid != 0).then_some(Stop { task, tid, cpu, at_ns })
        };
        order.filter_map(stop).collect()
    }
}

/// Records the laps of a process.
#[derive(Debug)]
pub struct Recorder {
    rings: Vec<Ring>,
    trace: Trace,
    /// Laps in a batch; 0 before the first.
    per_batch: u64,
    /// Laps of the batch in hand, and its start.
    laps: u64,
    begun: Option<(u64, u64, Option<[u64; 2]>)>,
    failure: Option<io::Error>,
}

impl Recorder {
    /// Prepares to record the switches on `cpus`: all of them, where the rights suffice, or
    /// those of this thread and of the threads that it will create.
    ///
    /// # Errors
    /// [`Unavailable`] where the kernel refuses both.
    pub(crate) fn open(cpus: &[usize]) -> anyhow::Result<Self> {
        let open = |of| cpus.iter().map(|cpu| Ring::open(*cpu, of)).collect::<io::Result<_>>();
        // Inside a container threads that are outside have the number of an idle CPU.
        let sees_all = fs::read_link("/proc/self/ns/pid")
            .is_ok_and(|ns| ns.as_os_str() == FIRST_PID_NAMESPACE);
        let (whole_machine, rings) = match open(Of::WholeCpu) {
            Ok(rings) if sees_all => (true, Ok(rings)),
            _ => (false, open(Of::OwnThreads)),
        };
        let rings = rings.map_err(|error| {
            Unavailable(format!(
                "--trace: the kernel records no switches for this user: {error}: set \
                 kernel.perf_event_paranoid to 2 or less, and let the container's seccomp profile \
                 allow perf_event_open"
            ))
        })?;
        let schema_version = SCHEMA_VERSION.to_owned();
        let pid = std::process::id();
        let trace = Trace { schema_version, pid, whole_machine, ..Trace::default() };
        Ok(Self { rings, trace, per_batch: 0, laps: 0, begun: None, failure: None })
    }

    /// Records from now on for a program without the harness, which this thread starts next.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn watch(cpus: &[usize]) -> anyhow::Result<Self> {
        let mut recorder = Self::open(cpus)?;
        recorder.begun = Some((0, 0, throttled()));
        recorder.each(|ring| ring.set(true));
        Ok(recorder)
    }

    /// Adds the switches to what that program has written.
    ///
    /// # Errors
    /// Records were lost.
    pub fn complete(mut self, trace: &mut Trace) -> anyhow::Result<()> {
        let is_traced =
            |at: u64| trace.spans.iter().any(|of| of.begun_ns <= at && at <= of.ended_ns);
        let mut switches = Vec::new();
        self.each(|ring| {
            ring.set(false)?;
            ring.drain(trace.pid, &mut |switch| {
                if is_traced(switch.at_ns) {
                    switches.push(switch);
                }
            })
        });
        if let Some(error) = self.failure.take() {
            return Err(error).context("recording switches");
        }
        (trace.switches, trace.whole_machine) = (switches, self.trace.whole_machine);
        let throttled = self.begun.and_then(|(.., before)| used_up(before));
        trace.spans.iter_mut().for_each(|span| span.throttled = throttled);
        name_others(trace);
        Ok(())
    }

    /// Plans laps of so many hops, and returns how many.
    pub(crate) fn plan(&mut self, hops: u64) -> u64 {
        self.per_batch = (HOPS_PER_BATCH / hops.max(1)).max(1);
        self.per_batch * BATCHES
    }

    /// To be called before a lap.
    pub(crate) fn before_lap(&mut self) {
        if self.begun.is_none() && self.failure.is_none() {
            thread::sleep(SETTLING);
            self.each(|ring| ring.set(true));
            let throttled = throttled();
            let (begun_ns, counted) = counted();
            self.begun = Some((begun_ns, counted, throttled));
        }
    }

    /// To be called after a lap between these times.
    pub(crate) fn after_lap(&mut self, stamps: &Stamps, begun: u64, ended: u64) {
        self.trace.laps.push(TracedLap { stops: stamps.take(begun, ended) });
        self.laps += 1;
        if self.laps == self.per_batch {
            self.end_batch();
        }
    }

    fn end_batch(&mut self) {
        let Some((begun_ns, counted_before, throttled_before)) = self.begun.take() else { return };
        self.laps = 0;
        thread::sleep(SETTLING);
        let (ended_ns, counted) = counted();
        let counted = counted - counted_before;
        let throttled = used_up(throttled_before);
        self.each(|ring| ring.set(false));
        self.trace.spans.push(RecordedSpan { begun_ns, ended_ns, counted, throttled });
        let mut switches = std::mem::take(&mut self.trace.switches);
        let whole = begun_ns..=ended_ns;
        self.each(|ring| {
            ring.drain(std::process::id(), &mut |switch| {
                if whole.contains(&switch.at_ns) {
                    switches.push(switch);
                }
            })
        });
        self.trace.switches = switches;
    }

    fn each(&mut self, mut act: impl FnMut(&mut Ring) -> io::Result<()>) {
        if let Err(error) = self.rings.iter_mut().try_for_each(&mut act) {
            self.failure.get_or_insert(error);
        }
    }

    /// Writes what was traced to `path`.
    ///
    /// # Errors
    /// Records were lost, the program has no hops, or the file cannot be written.
    pub(crate) fn write(&mut self, path: &Path) -> anyhow::Result<()> {
        self.end_batch();
        if let Some(error) = self.failure.take() {
            return Err(error).context("--trace: recording switches");
        }
        let trace = &mut self.trace;
        let has_hops = trace.laps.iter().any(|lap| lap.stops.len() > 2);
        ensure!(has_hops, Unavailable("--trace: no task of this program notes its hops".into()));
        name_others(trace);
        let text = serde_json::to_string(trace).context("--trace: writing the trace")?;
        fs::write(path, text).with_context(|| format!("--trace {}", path.display()))
    }
}

/// Puts the records in order, and adds the names of others' threads.
fn name_others(trace: &mut Trace) {
    trace.switches.sort_by_key(|switch| switch.at_ns);
    let others = trace.switches.iter().filter(|switch| !switch.own && switch.tid != 0);
    let others: BTreeSet<u32> = others.map(|switch| switch.tid).collect();
    let name = |tid: u32| Some((tid, fs::read_to_string(format!("/proc/{tid}/comm")).ok()?));
    trace.names = others.into_iter().filter_map(name).collect();
    trace.names.values_mut().for_each(|name| name.truncate(name.trim_end().len()));
}

/// What quotas have taken since `before`.
fn used_up(before: Option<[u64; 2]>) -> Option<[u64; 2]> {
    let (after, before) = throttled().zip(before)?;
    Some([0, 1].map(|index| after[index].saturating_sub(before[index])))
}

/// This moment, and how often the process had switched before, however often it is preempted
/// while it reads both.
fn counted() -> (u64, u64) {
    let count = || {
        let of = Counters::own();
        of.voluntary + of.involuntary
    };
    let mut before = count();
    loop {
        let at = clock::now();
        match count() {
            after if after == before => return (at, after),
            after => before = after,
        }
    }
}

/// Whose switches a ring buffer gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    WholeCpu,
    OwnThreads,
}

/// A ring buffer into which the kernel writes the switches on one CPU.
#[derive(Debug)]
struct Ring {
    file: File,
    memory: NonNull<bindings::perf_event_mmap_page>,
    bytes: NonZeroUsize,
}

// SAFETY: the mapping belongs to this value alone, whichever thread has it.
unsafe impl Send for Ring {}

impl Ring {
    fn open(cpu: usize, of: Of) -> io::Result<Self> {
        let own = of == Of::OwnThreads;
        let mut attr = bindings::perf_event_attr {
            type_: bindings::PERF_TYPE_SOFTWARE,
            size: size_of::<bindings::perf_event_attr>() as u32,
            config: bindings::PERF_COUNT_SW_DUMMY.into(),
            sample_type: u64::from(
                bindings::PERF_SAMPLE_TID | bindings::PERF_SAMPLE_TIME | bindings::PERF_SAMPLE_CPU,
            ),
            clockid: libc::CLOCK_MONOTONIC,
            ..Default::default()
        };
        attr.set_disabled(1);
        attr.set_context_switch(1);
        attr.set_sample_id_all(1);
        attr.set_use_clockid(1);
        attr.set_inherit(own.into());
        // Without it the kernel takes it for an observation of itself.
        attr.set_exclude_kernel(1);
        let (pid, cpu) = (if own { 0 } else { -1 }, cpu as libc::c_int);
        let flags = bindings::PERF_FLAG_FD_CLOEXEC;
        // SAFETY: the kernel reads the attributes, whose size they tell.
        let file = unsafe { perf_event_open(&raw mut attr, pid, cpu, -1, flags.into()) };
        let file = Errno::result(file)?;
        // SAFETY: the descriptor is new, and nobody else's.
        let file = unsafe { File::from_raw_fd(file) };
        let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE)?.unwrap_or(4096);
        let mut pages = if own { PAGES } else { PAGES_OF_CPU };
        loop {
            let bytes = NonZeroUsize::new((pages + 1) * page as usize).expect("some pages");
            let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
            // SAFETY: a new mapping, at an address of the kernel's choice, overlaps nothing.
            match unsafe { mmap(None, bytes, protection, MapFlags::MAP_SHARED, &file, 0) } {
                Ok(memory) => return Ok(Self { file, memory: memory.cast(), bytes }),
                Err(Errno::EPERM) if pages > FEWEST_PAGES => pages /= 2,
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn set(&self, on: bool) -> io::Result<()> {
        let file = self.file.as_raw_fd();
        // SAFETY: both take no argument, and the descriptor is that of an event.
        let result = unsafe { if on { ioctls::ENABLE(file, 0) } else { ioctls::DISABLE(file, 0) } };
        Errno::result(result).map(drop).map_err(Into::into)
    }

    /// Takes out all records.
    ///
    /// # Errors
    /// Some were lost.
    fn drain(&mut self, own: u32, found: &mut dyn FnMut(Switch)) -> io::Result<()> {
        let page = self.memory.as_ptr();
        // SAFETY: the first page of the mapping is the kernel's description of the rest, which
        // lies behind it. The kernel writes no byte between tail and head, and expects the tail
        // to be written once all is read; the remainder is within the buffer.
        let (records, head, tail, size) = unsafe {
            let head = (&raw const (*page).data_head).read_volatile();
            fence(Acquire);
            let data = page.cast::<u8>().add((*page).data_offset as usize);
            let (tail, size) = ((*page).data_tail, (*page).data_size);
            let records = (tail..head).map(|at| *data.add((at % size) as usize));
            let records: Vec<u8> = records.collect();
            fence(Release);
            (&raw mut (*page).data_tail).write_volatile(head);
            (records, head, tail, size)
        };
        let is_full = head - tail + LONGEST_RECORD > size;
        let is_whole = parse(&records, own, found);
        if is_full || !is_whole {
            return Err(io::Error::other("records were lost; use fewer --tasks"));
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: nothing else refers to the mapping.
        let _ = unsafe { munmap(self.memory.cast(), self.bytes.get()) };
    }
}

/// Reads records as the kernel lays them out (perf_event_open(2)), and returns whether none
/// was lost. What has a form that is not known is left out.
fn parse(mut records: &[u8], own: u32, found: &mut dyn FnMut(Switch)) -> bool {
    let word = |bytes: &[u8]| Some(u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?));
    while let [_, _, _, _, _, _, low, high, ..] = *records {
        let Some((record, rest)) =
            records.split_at_checked(u16::from_ne_bytes([low, high]).max(8).into())
        else {
            return false;
        };
        records = rest;
        let (other, body) = match word(record).unwrap_or_default() {
            bindings::PERF_RECORD_SWITCH => (None, record.get(8..)),
            bindings::PERF_RECORD_SWITCH_CPU_WIDE => {
                (record.get(12..).and_then(word), record.get(16..))
            }
            bindings::PERF_RECORD_LOST => return false,
            _ => continue,
        };
        let flags = u32::from(u16::from_ne_bytes([record[4], record[5]]));
        let way = match flags {
            flags if flags & bindings::PERF_RECORD_MISC_SWITCH_OUT == 0 => Way::In,
            flags if flags & bindings::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT == 0 => Way::Out,
            _ => Way::Preempted,
        };
        let read = |body: &[u8]| {
            let at_ns = u64::from_ne_bytes(body.get(8..16)?.try_into().ok()?);
            let (pid, tid, cpu) = (word(body)?, word(&body[4..])?, word(&body[16..])?);
            Some(Switch { at_ns, cpu, tid, own: pid == own, way })
        };
        let Some(switch) = body.and_then(read) else { continue };
        // That a CPU becomes idle is recorded on the first CPU only. The thread before it and
        // the one after it name it on each.
        let idle = |way| Switch { tid: 0, own: false, way, ..switch };
        match (switch.tid, other, switch.way) {
            (0, ..) => {}
            (_, Some(0), Way::In) => [idle(Way::Out), switch].into_iter().for_each(&mut *found),
            (_, Some(0), _) => [switch, idle(Way::In)].into_iter().for_each(&mut *found),
            _ => found(switch),
        }
    }
    records.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/trace.schema.json");

    #[test]
    fn the_committed_schema_is_that_of_the_types() {
        let schema = schemars::schema_for!(Trace);
        let schema = serde_json::to_string_pretty(&schema).expect("a schema is plain JSON") + "\n";
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            fs::write(SCHEMA_FILE, &schema).expect("writing the schema");
        }
        let committed = fs::read_to_string(SCHEMA_FILE).expect("the committed schema");
        assert!(committed == schema, "run UPDATE_SCHEMA=1 cargo test -p brigade-harness");
    }

    /// A record of this type and these flags, with these words after its header.
    fn record(kind: u32, misc: u32, words: &[u32]) -> Vec<u8> {
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend((misc as u16).to_ne_bytes());
        bytes.extend((8 + 4 * words.len() as u16).to_ne_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    fn parsed(records: &[u8]) -> (bool, Vec<Switch>) {
        let mut switches = Vec::new();
        let is_whole = parse(records, 7, &mut |switch| switches.push(switch));
        (is_whole, switches)
    }

    #[test]
    fn records_are_read_as_the_kernel_lays_them_out() {
        let out = bindings::PERF_RECORD_MISC_SWITCH_OUT;
        let preempted = out | bindings::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
        let (own, wide) = (bindings::PERF_RECORD_SWITCH, bindings::PERF_RECORD_SWITCH_CPU_WIDE);
        let [low, high] = [0, 4].map(|at| {
            u32::from_ne_bytes(0x1_0000_0002_u64.to_ne_bytes()[at..at + 4].try_into().expect("4"))
        });
        let bytes = [
            record(own, 0, &[7, 8, low, high, 3, 0]),
            record(wide, 0, &[0, 0, 7, 8, low, high, 3, 0]),
            record(wide, out, &[0, 0, 7, 8, low, high, 3, 0]),
            record(wide, out, &[7, 8, 0, 0, low, high, 3, 0]),
            record(1234, 0, &[7, 8, low, high, 3, 0]),
            record(own, out, &[7, 8, low, high, 3, 0]),
            record(wide, preempted, &[1, 2, 6, 5, low, high, 0, 0]),
        ]
        .concat();
        let switch = |cpu, tid, own, way| Switch { at_ns: 0x1_0000_0002, cpu, tid, own, way };
        let expected = [
            switch(3, 8, true, Way::In),
            switch(3, 0, false, Way::Out),
            switch(3, 8, true, Way::In),
            switch(3, 8, true, Way::Out),
            switch(3, 0, false, Way::In),
            switch(3, 8, true, Way::Out),
            switch(0, 5, false, Way::Preempted),
        ];
        assert_eq!(parsed(&bytes), (true, expected.to_vec()));
        assert!(!parsed(&bytes[..bytes.len() - 1]).0, "a record that is cut off");
        assert!(!parsed(&record(bindings::PERF_RECORD_LOST, 0, &[0; 4])).0, "lost records");
    }

    #[test]
    fn a_lap_stops_where_tasks_have_noted_themselves() {
        let stamps = Stamps::new(3);
        stamps.note_driver(false);
        stamps.note(2);
        stamps.note(0);
        stamps.note_driver(true);
        let stops = stamps.take(1, 2);
        let tasks: Vec<Option<u32>> = stops.iter().map(|stop| stop.task).collect();
        assert_eq!(tasks, [None, Some(0), Some(2), None], "task 1 is somewhere else");
        assert_eq!((stops[0].at_ns, stops[3].at_ns, stops[0].tid), (1, 2, tid()));
        assert!(stamps.take(1, 2).is_empty());
    }
}
