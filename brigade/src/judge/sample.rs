//! What a report needs of one process: half a KiB of a record of several, so that a run of any length
//! stays small. Figures of records become rows in [`super::row`].

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use harness::record::{Measurement, Record};

use super::amounts::{
    MEMORY, Memory, WHOLE, cpu_ns, elapsed_ns, figure_of, idle_entries, interrupts,
    measured_operations, memory_of_task, memory_parts, operations, switches, waking_ns, work_ns,
};
use super::lost_time::Span;
use crate::store::results::{Invocation, Outcome};

/// A process of a case.
#[derive(Debug)]
pub struct Sample {
    pub round: u32,
    pub started_at: Arc<String>,
    pub outcome: Outcome,
    /// Whether the runner, which was interrupted, ended it.
    pub interrupted: bool,
    pub exit_code: Option<i32>,
    /// What its record contains, if it measured.
    pub figures: Option<Box<Figures>>,
}

/// The figures of a record; per operation of the principal measurement, as far as nothing else is
/// said.
#[derive(Debug)]
pub struct Figures {
    pub shape: Arc<Shape>,
    /// The figures of each measurement, in the order of the shape.
    pub measurements: Box<[Measured]>,
    /// Bytes per task by part, if it swept the number of tasks.
    pub memory: Option<Box<Memory>>,
    /// How many operations it measured.
    pub operations: Option<f64>,
    pub elapsed_ns: Option<f64>,
    pub cpu_ns: Option<f64>,
    /// CPU time in user space.
    pub user_ns: Option<f64>,
    /// The time of the work that `--work` adds.
    pub work_ns: Option<f64>,
    pub switches: Option<f64>,
    pub sleeps: Option<f64>,
    /// System calls that the program counted.
    pub system_calls: Option<f64>,
    /// Whether readers of a lock were inside together, if that could be seen.
    pub readers_together: Option<bool>,
    /// What a server counted itself; few programs are servers.
    pub server: Option<Box<ServerFigures>>,
    pub idle_ns: Option<f64>,
    pub waking_ns: Option<f64>,
    pub queued_ns: Option<f64>,
    pub stolen_ns: Option<f64>,
    pub idle_entries: Option<f64>,
    pub interrupts: Option<f64>,
    pub crossing_share: Option<f64>,
    /// Whether its threads could run simultaneously.
    pub can_overlap: bool,
    /// Whether a signal stopped it or a CPU quota throttled it.
    pub is_disturbed: bool,
    /// The place of what it inherited.
    pub inherits: u16,
    /// What identifies the CPUs that it could use.
    pub cpus: u64,
    /// The time of the machine while it measured; `None` if its record lacks the length.
    pub span: Option<Span>,
}

/// The figures of a server without its load, per request.
#[derive(Clone, Copy, Debug)]
pub struct ServerFigures {
    /// How often its one thread waited for connections.
    pub waits: Option<f64>,
    /// Its context switches.
    pub switches: Option<f64>,
}

/// What a record measures: nearly always the same for all processes of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The name of the case's figure.
    pub figure: String,
    /// The measurements, each with its operation.
    pub measurements: Vec<[String; 2]>,
}

/// The figures of a measurement, in nanoseconds per operation.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub mean: f64,
    /// The number of samples.
    pub count: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p999: f64,
}

impl Sample {
    /// What this invocation contributes. `shape` is that of the process before, and `inherits` the
    /// place of what it inherited.
    pub fn new(invocation: &Invocation, shape: Option<&Arc<Shape>>, inherits: u16) -> Self {
        let record = measured(invocation);
        let figures = record.map(|record| Figures::new(invocation, record, shape, inherits));
        Self {
            round: invocation.round,
            started_at: Arc::new(invocation.started_at.clone()),
            outcome: invocation.outcome,
            interrupted: invocation.interrupted,
            exit_code: invocation.exit_code,
            figures: figures.map(Box::new),
        }
    }

    /// The figure with this name; `None` if the process did not measure it.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.figures.as_ref()?.value(name)
    }
}

/// The record of an invocation that measured.
pub fn measured(invocation: &Invocation) -> Option<&Record> {
    if invocation.outcome != Outcome::Measured || invocation.interrupted {
        return None;
    }
    invocation.record.as_ref()
}

impl Figures {
    fn new(
        invocation: &Invocation,
        record: &Record,
        shape: Option<&Arc<Shape>>,
        inherits: u16,
    ) -> Self {
        let own = Shape::new(record);
        let shape = shape.filter(|shape| ***shape == own).cloned();
        let waiting = record.waiting.as_ref();
        let sweep = record.ledger.as_deref();
        let figures = Self {
            shape: shape.unwrap_or_else(|| Arc::new(own)),
            measurements: record.measurements.iter().map(Measured::new).collect(),
            memory: sweep.map(|points| Box::new(memory_parts(points))),
            operations: measured_operations(record),
            elapsed_ns: elapsed_ns(record),
            cpu_ns: cpu_ns(record),
            user_ns: record.cpu.map(|cpu| cpu.user_ns_per_operation),
            work_ns: work_ns(record),
            switches: switches(record),
            sleeps: record.switches.map(|counts| counts.voluntary_per_operation),
            system_calls: record.system_calls_per_operation,
            readers_together: record.readers_together,
            server: record.serving.map(|serving| {
                Box::new(ServerFigures {
                    waits: serving.server_waits_per_request,
                    switches: serving.server_switches_per_request,
                })
            }),
            idle_ns: waiting.and_then(|waiting| waiting.idle_ns_per_operation),
            waking_ns: waking_ns(record),
            queued_ns: waiting.and_then(|waiting| waiting.runnable_ns_per_operation),
            stolen_ns: operations(record)
                .map(|operations| record.interference.steal_ns.unwrap_or(0) as f64 / operations),
            idle_entries: waiting.and_then(idle_entries),
            interrupts: waiting.and_then(interrupts),
            crossing_share: record.switches.and_then(|counts| counts.cross_cpu_share),
            can_overlap: record.affinity.len() != 1,
            is_disturbed: is_disturbed(invocation, record),
            inherits,
            cpus: identity(&record.affinity),
            span: Span::new(invocation, record),
        };
        if record.is_sweep() { figures.without_span() } else { figures }
    }

    /// The figures without those per operation that come from the span of all laps.
    fn without_span(self) -> Self {
        Self {
            elapsed_ns: None,
            cpu_ns: None,
            user_ns: None,
            switches: None,
            sleeps: None,
            idle_ns: None,
            waking_ns: None,
            queued_ns: None,
            stolen_ns: None,
            idle_entries: None,
            interrupts: None,
            crossing_share: None,
            ..self
        }
    }

    /// The figure with this name; `None` if it was not measured.
    pub fn value(&self, name: &str) -> Option<f64> {
        match name {
            MEMORY => memory_of_task(self.memory.as_ref()?),
            WHOLE => Some(self.measurements.first()?.mean + self.measurement("join")?.mean),
            _ => self.measurement(name).map(|measured| measured.mean),
        }
    }

    /// The figures of the measurement with this name.
    pub fn measurement(&self, name: &str) -> Option<&Measured> {
        self.measurements.get(self.shape.place(name)?)
    }
}

impl Shape {
    fn new(record: &Record) -> Self {
        let named = |one: &Measurement| [one.name.clone(), one.operation.clone()];
        let measurements = record.measurements.iter().map(named).collect();
        Self { figure: figure_of(record).to_owned(), measurements }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.measurements.iter().position(|[known, _]| known == name)
    }

    /// What one operation of a measurement is, or else of the principal one.
    pub fn operation(&self, name: &str) -> &str {
        let measurement = self.measurements.get(self.place(name).unwrap_or(0));
        measurement.map_or("", |[_, operation]| operation)
    }
}

impl Measured {
    fn new(measurement: &Measurement) -> Self {
        let per_operation = |ns: u64| ns as f64 / measurement.operations as f64;
        Self {
            mean: measurement.ns_per_operation,
            count: measurement.count as f64,
            p50: per_operation(measurement.p50_ns),
            p90: per_operation(measurement.p90_ns),
            p99: per_operation(measurement.p99_ns),
            p999: per_operation(measurement.p999_ns),
        }
    }
}

/// A number that differs between two lists of CPUs.
fn identity(cpus: &[usize]) -> u64 {
    let mut hasher = DefaultHasher::new();
    cpus.hash(&mut hasher);
    hasher.finish()
}

/// Whether a signal stopped the process or a CPU quota throttled it while it measured.
fn is_disturbed(invocation: &Invocation, record: &Record) -> bool {
    let throttled = record.interference.throttled_periods.unwrap_or([0; 2])[0] > 0;
    invocation.stopped_ns.unwrap_or(0) > 0 || throttled
}
