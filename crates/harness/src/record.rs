//! The record: the measurements of one invocation of a program, as one JSON object.
//!
//! Units are in the names. A figure that is not available is `null`, never 0. The committed schema,
//! `harness/record.schema.json`, is generated from these types, and a test compares the two;
//! docs/PROTOCOL.md describes the same contract in prose. Changes raise [`SCHEMA_VERSION`].

use std::collections::BTreeMap;

use anyhow::anyhow;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::anonymous;
use crate::document::parsed;
use crate::tasks::task_kind::TaskKind;

/// Version of the record's schema, `major.minor`. The minor number rises when
/// a field is added, the major one when an old reader would misunderstand.
pub const SCHEMA_VERSION: &str = "1.7";

/// The measurements of one invocation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Record {
    /// Schema version of this record, `major.minor`.
    pub schema_version: String,
    /// The program's name: that of its folder.
    pub program: String,
    /// The program's version.
    pub version: String,
    /// Every flag's value, by its long name with underscores; a hidden flag only if it was given.
    pub parameters: BTreeMap<String, Value>,
    /// What the tasks are; `null` in records before version 1.2, or if the program does not know.
    #[serde(default)]
    pub kind: Option<TaskKind>,
    /// Number of tasks.
    pub tasks: u64,
    /// Number of tokens in flight at once.
    pub tokens: u64,
    /// Iterations measured: fewer than requested if `ended_by` says why.
    pub iterations: u64,
    /// Iterations run and discarded before the first measured one.
    pub warmups: u64,
    /// Whether the run ended as planned: neither interrupted nor failed.
    pub complete: bool,
    /// Why measuring stopped.
    pub ended_by: Ending,
    /// The error, if there was one.
    pub error: Option<String>,
    /// The CPUs that the tasks may run on under the placement.
    pub affinity: Vec<usize>,
    /// What the process inherited that can change its figures, such as `scheduling.nice`; units are
    /// in the names, and what the kernel does not report is absent. Empty in older records.
    #[serde(default)]
    pub inherited: BTreeMap<String, String>,
    /// The CPUs that its threads might use and used; `null` if it had too many threads.
    pub cpus: Option<CpuUse>,
    /// The measured distributions, the principal one first.
    pub measurements: Vec<Measurement>,
    /// CPU time of the whole process over the measured iterations.
    pub cpu: Option<CpuTime>,
    /// Kernel context switches of the whole process over the measured
    /// iterations.
    pub switches: Option<Switches>,
    /// System calls per operation of the principal measurement, as the program counted them, over
    /// all its iterations; `null` if it does not count them.
    pub system_calls_per_operation: Option<f64>,
    /// The reasons why tasks waited during the measured iterations.
    pub waiting: Option<Waiting>,
    /// Other activity of the machine during the measured iterations.
    pub interference: Interference,
    /// Memory of the process and the machine at increasing numbers of tasks,
    /// for programs that sweep the number.
    pub ledger: Option<Vec<LedgerPoint>>,
    /// The work at every hop, for programs with `--work`.
    pub work: Option<WorkRecord>,
    /// How well the schedule was kept, for programs whose operations are due at given times.
    pub schedule: Option<ScheduleKept>,
    /// How busy both sides were, for servers.
    pub serving: Option<Serving>,
    /// The channel, for programs that load one; `null` in records before version 1.3.
    #[serde(default)]
    pub channel: Option<ChannelLoad>,
    /// Whether readers of a lock were inside together in the warm-up; `null` if there are no readers,
    /// if they would not be seen, and in records before version 1.4.
    #[serde(default)]
    pub readers_together: Option<bool>,
    /// How often the dead entries of a heap of timers were removed, per operation of the principal
    /// measurement; `null` for other programs and in records before version 1.5.
    #[serde(default)]
    pub rebuilds_per_operation: Option<f64>,
    /// Threads that did not sleep when an event woke all of them, summed over the measured events, for
    /// programs with such events; `null` where a thread may make several switches for an event, in records
    /// before version 1.6, and if this kernel counts no switches.
    #[serde(default)]
    pub awake: Option<u64>,
    /// The shortest time that the clock of the measurements shows, in nanoseconds: a tick of its
    /// counter, or what a reading takes; `null` for guests and in records before version 1.7.
    #[serde(default)]
    pub clock_step_ns: Option<u64>,
}

/// A channel that producers and consumers share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ChannelLoad {
    /// How many messages fit before a producer waits, found by filling it; `null` if the channel is
    /// unbounded.
    pub capacity: Option<u64>,
    /// All messages of the measured round, by which CPU time, switches and waiting are divided: those
    /// of the iterations, up to 256 fewer for each consumer, and those that were under way when it ended.
    pub messages: u64,
    /// Messages that a producer had begun to send and no consumer had received, on average over the
    /// round; `null` in a closed loop.
    pub mean_length: Option<f64>,
}

/// How busy a server and its load were, and what they counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Serving {
    /// CPU time of the server, over the wall time; more than 1 on several CPUs.
    pub server_busy: f64,
    /// CPU time of the load, over the wall time.
    pub load_busy: f64,
    /// How often the load looked for answers.
    pub polls_per_request: f64,
    /// The share of those that found none, 0 to 1; `null` unless the load looks without sleeping.
    pub empty_polls: Option<f64>,
    /// Requests per second, if the load waited for the server; otherwise `null`.
    pub capacity_per_second: Option<f64>,
    /// Context switches of the server alone; `null` if this kernel counts none.
    pub server_switches_per_request: Option<f64>,
    /// The program's claim; `null` without one.
    pub expected_server_switches_per_request: Option<f64>,
    /// How often the server's one thread waited for any of its connections; `null` if not counted.
    #[serde(default)]
    pub server_waits_per_request: Option<f64>,
}

/// How well a schedule was kept. Every operation of it is among the samples, however late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ScheduleKept {
    /// Operations that were due, or requested, before their task began to wait for them.
    pub missed: u64,
    /// Operations that were requested late, because the caller reached them after their time;
    /// `null` if nobody requests them.
    pub called_late: Option<u64>,
}

/// The work added to every hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct WorkRecord {
    /// Units per hop: the value of `--work`.
    pub units: u64,
    /// Duration of a unit in this process, on the driver's CPU, measured before and after the laps,
    /// in nanoseconds; `null` without work.
    pub ns_per_unit: Option<f64>,
    /// Mean duration of a unit between the measured laps, on the driver's CPU, in nanoseconds;
    /// `null` without work. Programs without laps measure it right before and after their
    /// operations. CPU time per operation includes these units.
    pub mean_ns_per_unit: Option<f64>,
}

/// Why measuring stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// All requested iterations were measured.
    #[default]
    Iterations,
    /// `--max-time` was reached.
    MaxTime,
    /// SIGINT or SIGTERM.
    Signal,
    /// An error, in the field `error`.
    Error,
}

/// One measured distribution: `count` samples of `operations` operations each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Measurement {
    /// What a sample is, such as `iteration` or `create`.
    pub name: String,
    /// What one operation is, such as `hop` or `thread creation`.
    pub operation: String,
    /// Operations in one sample.
    pub operations: u64,
    /// Number of samples.
    pub count: u64,
    /// Exact mean of the samples, in nanoseconds.
    pub mean_ns: f64,
    /// Exact sample standard deviation (n − 1), in nanoseconds; `null` for
    /// fewer than two samples.
    pub stddev_ns: Option<f64>,
    /// Smallest sample, in nanoseconds.
    pub min_ns: u64,
    /// Median, from the histogram (three significant digits), in nanoseconds.
    pub p50_ns: u64,
    /// 90th percentile, in nanoseconds.
    pub p90_ns: u64,
    /// 99th percentile, in nanoseconds.
    pub p99_ns: u64,
    /// 99.9th percentile, in nanoseconds.
    pub p999_ns: u64,
    /// Largest sample, in nanoseconds.
    pub max_ns: u64,
    /// `mean_ns` / `operations`.
    pub ns_per_operation: f64,
    /// `mean_ns` / tasks; `null` if a sample does not cover all tasks.
    pub ns_per_task: Option<f64>,
    /// The distribution: HdrHistogram V2, deflated, in base64, values in
    /// nanoseconds.
    pub histogram: String,
}

/// CPU time of the process (`getrusage`), over the measured iterations, per
/// operation of the principal measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CpuTime {
    /// In user space, in nanoseconds.
    pub user_ns_per_operation: f64,
    /// In the kernel, in nanoseconds.
    pub system_ns_per_operation: f64,
    /// In the kernel after a thread has been joined, while it is freed, in nanoseconds. No process
    /// is charged for it; it is measured in separate laps, on one CPU. `null` if threads do not end
    /// in the laps.
    pub uncounted_ns_per_operation: Option<f64>,
}

/// The CPUs of a process's threads, read before the measured iterations and after them. What
/// changes in between and is put back is not seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CpuUse {
    /// The CPUs that some thread might use before.
    pub allowed_before: Vec<usize>,
    /// The CPUs that some thread might use after.
    pub allowed_after: Vec<usize>,
    /// The CPUs on which a thread was when one of the two readings was made.
    pub ran_on: Vec<usize>,
    /// Policies of the threads, with their nice values or priorities, such as `other nice 0`.
    pub policies: Vec<String>,
}

/// Context switches counted by the kernel, per operation of the principal
/// measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Switches {
    /// A thread blocked (`nvcsw`).
    pub voluntary_per_operation: f64,
    /// A thread was preempted (`nivcsw`).
    pub involuntary_per_operation: f64,
    /// The program's claim; `null` without one.
    pub expected_per_operation: Option<f64>,
    /// Share of traced hops whose ends ran on different CPUs, 0 to 1; `null` if
    /// the program does not trace.
    pub cross_cpu_share: Option<f64>,
}

/// The reasons why tasks waited, per operation of the principal measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Waiting {
    /// Time in which a thread was ready and waited for a CPU, summed over the threads, in
    /// nanoseconds: the run delay of `/proc/PID/task/TID/schedstat`. A thread woken for an idle CPU
    /// waits until that has left its idle state. `null` if the kernel does not report it, or
    /// threads started or ended.
    pub runnable_ns_per_operation: Option<f64>,
    /// Time in which all CPUs in `affinity` were idle at once, in nanoseconds: the sum of their
    /// times in idle states minus the wall time for all but one of them. It is exact if no two CPUs
    /// are awake at once, otherwise too small. `null` without a driver of idle states (`cpuidle`).
    pub idle_ns_per_operation: Option<f64>,
    /// The idle states of the CPUs in `affinity`; `null` without such a driver.
    pub idle_states: Option<Vec<IdleState>>,
    /// Interrupts by which one CPU asked another to reschedule.
    pub reschedules_per_operation: Option<f64>,
    /// Interrupts by which one CPU asked another to run a function, such as waking a task.
    pub calls_per_operation: Option<f64>,
}

/// An idle state, over all CPUs in `affinity`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct IdleState {
    /// The kernel's name for it, such as `C1` or `POLL`.
    pub name: String,
    /// How often a CPU entered it.
    pub entries_per_operation: f64,
    /// Time that CPUs spent in it, in nanoseconds.
    pub ns_per_operation: f64,
}

/// Other activity of the machine during the measured iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Interference {
    /// Time that the hypervisor took from the CPUs in `affinity`, in nanoseconds.
    pub steal_ns: Option<u64>,
    /// Length of the span that these figures cover, in nanoseconds.
    pub wall_ns: Option<u64>,
    /// CPU time that others used on the CPUs in `affinity`: other processes, kernel threads,
    /// interrupts, other guests. In nanoseconds, to one or two clock ticks per CPU, so it can be
    /// negative: sums over many processes are exact. Excludes the program's
    /// `uncounted_ns_per_operation`.
    pub others_cpu_ns: Option<i64>,
    /// Time in which a CPU quota stopped the program, in nanoseconds, summed over its CPUs: that of
    /// its control group, or of the parent that throttled most, 0 without one. `null` if no visible
    /// group was throttled and others are hidden, such as those around a container.
    pub throttled_ns: Option<u64>,
    /// Periods in which that quota was used up, and all periods; `null` with `throttled_ns`.
    pub throttled_periods: Option<[u64; 2]>,
}

/// Memory at one moment. Figures of the process include its children if those
/// are the tasks; the others are of the whole machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct LedgerPoint {
    /// Tasks alive.
    pub tasks: u64,
    /// Resident memory of the process (`Rss` of `smaps_rollup`).
    pub resident_bytes: Option<u64>,
    /// Resident memory, with shared pages divided among their users (`Pss` of
    /// `smaps_rollup`).
    pub proportional_bytes: Option<u64>,
    /// Address space of the process (`VmSize`).
    pub virtual_bytes: Option<u64>,
    /// Page tables of the process (`VmPTE`).
    pub page_table_bytes: Option<u64>,
    /// Kernel stacks of all threads of the machine (`KernelStack`).
    pub kernel_stack_bytes: Option<u64>,
    /// Unreclaimable kernel objects (`SUnreclaim`).
    pub unreclaimable_slab_bytes: Option<u64>,
    /// Available memory (`MemAvailable`).
    pub available_bytes: Option<u64>,
    /// Free pages on per-CPU lists, which `MemFree` and `MemAvailable` exclude (`count` of
    /// `/proc/zoneinfo`).
    pub listed_free_bytes: Option<u64>,
    /// Memory charged to the memory control group of the process.
    pub group_bytes: Option<u64>,
    /// Memory that the language's runtime obtained from the system, as it
    /// reports.
    pub runtime_bytes: Option<u64>,
    /// Memory that the language's runtime uses for stacks, as it reports.
    pub runtime_stack_bytes: Option<u64>,
    /// What the kernel refused when the program created one more task, for
    /// programs that create tasks until then.
    pub refused: Option<String>,
}

impl Record {
    /// Parses a record as [`parsed`] does.
    ///
    /// # Errors
    /// For another major version, or anything that is not a record.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        const HINT: &str = "is this the output of a Brigade program with --json?";
        parsed(text.as_bytes()).map_err(|error| anyhow!("reading a record: {error}; {HINT}"))
    }

    /// The record without what names a host, a user or a folder: what the program printed, and what it
    /// was given, may contain such. Words that identify a case stay.
    pub fn anonymous(mut self) -> Self {
        self.version = anonymous::text(&self.version);
        self.error = self.error.map(|error| anonymous::text(&error));
        self.parameters.values_mut().for_each(make_anonymous);
        for value in self.inherited.values_mut() {
            *value = anonymous::text(value);
        }
        for Measurement { name, operation, .. } in &mut self.measurements {
            *name = anonymous::name(name);
            *operation = anonymous::name(operation);
        }
        for point in self.ledger.iter_mut().flatten() {
            point.refused = point.refused.take().map(|refused| anonymous::text(&refused));
        }
        self
    }

    /// The program's principal measurement; `None` if it failed before.
    pub fn principal(&self) -> Option<&Measurement> {
        self.measurements.first()
    }

    /// Whether it swept the number of tasks to see their memory. Reading memory between two laps takes
    /// CPU time and switches, and garbage is collected for it, so those of the span are not those of
    /// its operations.
    pub fn is_sweep(&self) -> bool {
        self.serving.is_none() && self.ledger.is_some()
    }

    /// The measurement with this name.
    pub fn measurement(&self, name: &str) -> Option<&Measurement> {
        self.measurements.iter().find(|measurement| measurement.name == name)
    }
}

fn make_anonymous(parameter: &mut Value) {
    match parameter {
        // Of text that is no command line, all words are filtered.
        Value::String(text) => *text = anonymous::name(&anonymous::command(text)),
        Value::Array(values) => values.iter_mut().for_each(make_anonymous),
        Value::Object(fields) => fields.values_mut().for_each(make_anonymous),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::Record;
    use crate::measure::trace::Trace;

    /// A record of two tasks without measurements.
    const EXAMPLE: &str = r#"{"schema_version":"1.0","program":"thread-brigade","version":"0.1.0",
        "parameters":{"tasks":2},"tasks":2,"tokens":1,"iterations":1,"warmups":0,"complete":true,
        "ended_by":"iterations","error":null,"affinity":[0],"measurements":[],"cpu":null,
        "switches":null,"interference":{"steal_ns":null,"psi_cpu_some_ns":null},"memory":null}"#;

    #[test]
    fn the_committed_schemas_match_the_types() {
        let schemas =
            [("record", schemars::schema_for!(Record)), ("trace", schemars::schema_for!(Trace))];
        for (name, schema) in schemas {
            let path = format!("{}/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
            let schema = serde_json::to_string_pretty(&schema).expect("it is plain JSON") + "\n";
            if std::env::var_os("UPDATE_SCHEMA").is_some() {
                std::fs::write(&path, &schema).expect("writing the schema");
            }
            assert!(
                std::fs::read_to_string(&path).expect("the committed schema") == schema,
                "the types of a {name} have changed: raise SCHEMA_VERSION if readers must know, \
                 then run UPDATE_SCHEMA=1 cargo test -p harness"
            );
        }
    }

    #[test]
    fn anything_but_a_record_of_this_major_version_is_refused() {
        assert_eq!(Record::parse(EXAMPLE).expect("a record").tasks, 2);
        let newer = EXAMPLE.replacen("1.0", "2.0", 1);
        for text in ["", "{}", "[]", r#"{"schema_version":1}"#, &EXAMPLE[..100], &newer] {
            assert!(Record::parse(text).is_err(), "{text:.40}");
        }
    }
}
